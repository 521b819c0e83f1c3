"""MPLight's network: the kernel that plays against the one that learns, written apart from each other."""

from __future__ import annotations

import numpy as np
import pytest

mplight = pytest.importorskip("hydraviper.experts.mplight", exc_type=ImportError)

from dataclasses import replace  # noqa: E402

import hydraviper  # noqa: E402
from hydraviper.experts import dqn, store  # noqa: E402
from hydraviper.experts.local_q import LocalQExpert  # noqa: E402
from tests.helpers.street import STREET  # noqa: E402

pytestmark = pytest.mark.slow

SERVED = (
    np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]], bool),
    np.array([[1, 0], [0, 1]], bool),
)


@pytest.fixture(scope="module")
def scene():
    """Two signals of unlike sizes: phases, queues, pressures."""
    served = tuple(tuple(tuple(map(bool, phase)) for phase in own.tolist()) for own in SERVED)
    model = mplight.Mplight(served, (11, 6))
    draws = np.random.default_rng(1)
    parameters = {
        name: np.asarray(layer) + 0.1 * draws.normal(size=layer.shape).astype(np.float32)
        for name, layer in model.fresh(draws).items()
    }
    observations = []
    for own, features in zip(SERVED, model.features, strict=True):
        seen = draws.integers(-5, 9, (200, features)).astype(np.float32)
        seen[:, : len(own)] = np.eye(len(own))[draws.integers(0, len(own), 200)]
        observations.append(seen)
    return model, parameters, observations, LocalQExpert(model.q_functions(parameters, []), {"game": "street"})


def test_what_plays_is_what_learned(scene):
    model, parameters, observations, expert = scene
    for i, seen in enumerate(observations):
        learned = np.asarray(model.values(parameters, i, seen))
        np.testing.assert_allclose(expert.q_functions[i].values(seen), learned, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(expert.q_functions[i].values(seen[7:8]), expert.q_functions[i].values(seen)[7:8])


def test_saved_and_loaded_it_is_the_same(scene, tmp_path):
    _, _, observations, expert = scene
    store.save(expert, tmp_path / "expert.safetensors")
    again = store.load(tmp_path / "expert.safetensors")
    assert again.observation_sizes == (11, 6)
    assert again.action_counts == (3, 2)
    actions = expert.act(observations)
    np.testing.assert_array_equal(again.q(observations, actions), expert.q(observations, actions))
    assert store.digest(again) == store.digest(expert)


def test_signals_learn_from_the_pressure_that_is_left(scene):
    model, _, observations, _ = scene
    expected = -np.stack([observations[0][:, 7:].sum(1), observations[1][:, 4:].sum(1)], 1)
    np.testing.assert_array_equal(model.rewards(np.zeros((200, 2)), observations), expected)


def test_a_short_training_of_a_street(navigation):
    street = hydraviper.make(STREET)
    assert [own.shape for own in street.offers.graph.served] == [
        (len(agent.actions), (len(agent.features) - len(agent.actions)) // 3) for agent in street.agents
    ]
    settings = replace(mplight.RECOMMENDED, episodes=3, evaluation_episodes=1, finalists=1)
    training = dqn.train(street, settings, model=mplight.Mplight.of(street))
    assert store.fits(training.expert, street)
    assert training.expert.about["algorithm"] == "mplight"
    with pytest.raises(hydraviper.InputError, match="mplight trains traffic signals"):
        mplight.Mplight.of(navigation)
