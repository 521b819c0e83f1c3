"""Experts from elsewhere that are chains of layers as arrays, so that a file of ours can hold them."""

import json
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from hydraviper.experts.adapted import AdaptedQ
from hydraviper.experts.chains import Chain
from hydraviper.experts.exploring import RandomQ
from hydraviper.experts.local_q import LocalQExpert
from hydraviper.protocols import Game, offers


def can_hold(expert: LocalQExpert) -> bool:
    """Tell whether every agent plays a chain of layers that came from elsewhere, or at random."""
    return all(
        isinstance(q, RandomQ) or (isinstance(q, AdaptedQ) and isinstance(q.network, Chain)) for q in expert.q_functions
    )


def to_arrays(expert: LocalQExpert) -> dict[str, np.ndarray]:
    """The layers by name, `q.0.weight.0`, `q.0.bias.0`, ..., and per agent what else there is to know, `q.0.head`."""
    arrays: dict[str, np.ndarray] = {}
    for i, q in enumerate(expert.q_functions):
        head: dict[str, object] = {"features": q.features, "actions": q.actions}
        if isinstance(q, AdaptedQ) and isinstance(q.network, Chain):
            head |= {"answers": q.answers, "weighed": q.weighed, "shown": q.shown}
            head["activations"] = q.network.activations
            for k, (weight, bias) in enumerate(zip(q.network.weights, q.network.biases, strict=True)):
                arrays |= {f"q.{i}.weight.{k}": weight, f"q.{i}.bias.{k}": bias}
        arrays[f"q.{i}.head"] = np.frombuffer(json.dumps(head, sort_keys=True).encode(), np.uint8).copy()
    return arrays


def from_arrays(arrays: Mapping[str, np.ndarray], about: Mapping[str, object]) -> LocalQExpert:
    """The expert again, not yet bound to a game."""
    count = sum(name.endswith(".head") for name in arrays)
    return LocalQExpert(tuple(_q(arrays, i) for i in range(count)), dict(about))


def _q(arrays: Mapping[str, np.ndarray], i: int) -> AdaptedQ | RandomQ:
    head = json.loads(arrays[f"q.{i}.head"].astype(np.uint8).tobytes())
    sizes = int(head["features"]), int(head["actions"])
    if "answers" not in head:
        return RandomQ(i, *sizes)
    layers = range(len(head["activations"]) + 1)
    weights, biases = (
        tuple(np.ascontiguousarray(arrays[f"q.{i}.{what}.{k}"], np.float32) for k in layers)
        for what in ("weight", "bias")
    )
    chain = Chain(weights, biases, tuple(head["activations"]))
    return AdaptedQ(chain, *sizes, str(head["answers"]), bool(head["weighed"]), str(head["shown"]), agent=i)


def bound(expert: LocalQExpert, game: Game) -> LocalQExpert:
    """The expert with the environment that its agents see through, if the game is one of another package."""
    foreign = offers(game).foreign
    q_functions = (replace(q, foreign=foreign) if isinstance(q, AdaptedQ | RandomQ) else q for q in expert.q_functions)
    return replace(expert, q_functions=tuple(q_functions))
