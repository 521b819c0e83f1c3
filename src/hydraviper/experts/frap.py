"""FRAP, the network of MPLight: phases compete in pairs; all signals share the layers. Plays without JAX.

A movement's state (its pressure, and whether it is green) becomes a vector; a phase is the sum of the movements that
it serves; every ordered pair of phases goes through the same layers, scaled by whether the two share a movement; a
phase's value is the sum over its rivals.
"""

from dataclasses import dataclass

import numba as nb
import numpy as np

from hydraviper.data import InputError

# The shared layers by name, with their shapes, the input's first.
SHAPES: dict[str, tuple[int, ...]] = {
    "green": (2, 4),  # embedding of a red movement, of a green one
    "demand.weight": (1, 4),
    "demand.bias": (4,),
    "movement.weight": (8, 16),
    "movement.bias": (16,),
    "pair.weight": (32, 20),
    "pair.bias": (20,),
    "relation": (2, 4),  # embedding of two phases that share no movement, of two that do
    "relation.weight": (4, 20),
    "relation.bias": (20,),
    "hidden.weight": (20, 20),
    "hidden.bias": (20,),
    "value.weight": (20, 1),
    "value.bias": (1,),
}


@dataclass(frozen=True)
class FrapNetwork:
    """The weights that all signals share."""

    arrays: tuple[np.ndarray, ...]  # float32, in the order of SHAPES

    def __post_init__(self) -> None:
        shapes = tuple(array.shape for array in self.arrays)
        if shapes != tuple(SHAPES.values()):
            raise InputError(f"a FRAP network's layers do not have the right shapes: {list(shapes)}.")
        if not all(np.isfinite(array).all() for array in self.arrays):
            raise InputError("a network holds weights that are not numbers: train the expert again.")


@dataclass(frozen=True)
class FrapQ:
    """One signal's Q-function: the first features say which phase is green, the last are the movements' pressures."""

    network: FrapNetwork
    served: np.ndarray  # bool [A, G], the movements that each phase lets go
    features: int

    @property
    def actions(self) -> int:
        """How many phases there are."""
        return self.served.shape[0]

    def values(self, observations: np.ndarray) -> np.ndarray:
        """The Q-value of every phase, [B, F] -> [B, A]."""
        out = np.zeros((len(observations), self.actions), np.float32)
        _values(observations, self.served, relations(self.served), out, *self.network.arrays)
        return out


def relations(served: np.ndarray) -> np.ndarray:
    """1 where two phases share a movement, else 0: [A, A]."""
    counts = served.astype(np.int64)
    return (counts @ counts.T > 0).astype(np.int64)


@nb.njit(cache=True, nogil=True)
def _dense(out, inputs, weight, bias, rectify):
    """out = inputs @ weight + bias, in a fixed order, and rectified if asked."""
    out[:] = bias
    for k in range(inputs.shape[0]):
        for j in range(out.shape[0]):
            out[j] += inputs[k] * weight[k, j]
    if rectify:
        for j in range(out.shape[0]):
            out[j] = np.float32(0.0) if out[j] <= 0.0 else out[j]


@nb.njit(cache=True, nogil=True)
def _sigmoid(value):
    return np.float32(1.0) / (np.float32(1.0) + np.exp(-value))


@nb.njit(cache=True, nogil=True)
def _values(features, served, relation_of, out, green, dw, db, mw, mb, pw, pb, relation, rw, rb, hw, hb, vw, vb):
    """Add the value of every phase to out [B, A]; the layers are in the order of SHAPES."""
    phases, movements = served.shape
    state, movement = np.empty(8, np.float32), np.empty(16, np.float32)
    phase = np.empty((phases, 16), np.float32)
    pair, first, second = np.empty(32, np.float32), np.empty(20, np.float32), np.empty(20, np.float32)
    scales, value, kind = np.empty((2, 20), np.float32), np.empty(1, np.float32), np.empty(4, np.float32)
    for r in range(2):  # how two phases relate does not depend on what is seen
        for j in range(4):
            kind[j] = max(relation[r, j], np.float32(0.0))
        _dense(scales[r], kind, rw, rb, True)
    for b in range(features.shape[0]):
        phase[:] = 0.0
        for g in range(movements):
            on = 0
            for p in range(phases):
                if served[p, g] and features[b, p] > 0.5:
                    on = 1
            pressure = features[b, features.shape[1] - movements + g]
            for j in range(4):
                state[j] = _sigmoid(green[on, j])
                state[4 + j] = _sigmoid(pressure * dw[0, j] + db[j])
            _dense(movement, state, mw, mb, True)
            for p in range(phases):
                if served[p, g]:
                    for j in range(16):
                        phase[p, j] += movement[j]
        for p in range(phases):
            for rival in range(phases):
                if rival == p:
                    continue
                pair[:16] = phase[p]
                pair[16:] = phase[rival]
                _dense(first, pair, pw, pb, True)
                for j in range(20):
                    first[j] *= scales[relation_of[p, rival], j]
                _dense(second, first, hw, hb, True)
                _dense(value, second, vw, vb, False)
                out[b, p] += value[0]
