"""Derived features of signals, against the sums that their names tell of."""

from __future__ import annotations

import re

import numpy as np
import pytest

import hydraviper
from hydraviper.trees.derived import extend


@pytest.mark.parametrize("spec", ["cologne-corridor:steps=1", "resco:grid4x4,steps=1", "resco:arterial4x4,steps=1"])
def test_a_difference_is_what_its_name_says(spec):
    game = hydraviper.make(spec)
    draws, rounds = np.random.default_rng(0), 0
    for agent, signal, derived in zip(game.agents, game.network.signals, game.offers.search.derived, strict=True):
        seen = draws.integers(0, 9, (12, len(agent.features))).astype(np.float32)
        columns = dict(zip(agent.features, seen.T, strict=True))

        def served(phase, *kinds, signal=signal, columns=columns):
            groups = [group.name for group in signal.groups if phase in group.phases]
            return sum((columns[f"{kind} from {group}"] for group in groups for kind in kinds), np.zeros(12))

        values = extend(seen, derived)[:, len(agent.features) :].T
        for feature, value in zip(derived, values, strict=True):
            if match := re.fullmatch(r"(queue|vehicles) of phase (\d+) less phase (\d+)", feature.name):
                kinds = ("queue",) if match[1] == "queue" else ("queue", "moving")
                first, second = (served(int(number) - 1, *kinds) for number in (match[2], match[3]))
            else:
                rounds += 1
                words = feature.name.removeprefix("most vehicles (twice if standing) of ").split(" less ")
                ends = [[int(number) for number in re.findall(r"\d+", side)] for side in words]
                first, second = (
                    np.max([served(k - 1, "queue", "queue", "moving") for k in range(end[0], end[-1] + 1)], axis=0)
                    for end in ends
                )
            assert value.tolist() == (first - second).tolist()
        knockout = [one.name for one in derived if one.name.startswith("most ")]
        assert len(knockout) == (len(signal.greens) - 1 if len(signal.greens) > 4 else 0)
    assert bool(rounds) == spec.startswith("resco")
