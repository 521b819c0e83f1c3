"""A network that imitates recorded actions (behaviour cloning)."""

import warnings
from typing import Any

import numpy as np

from hydraviper.experts.chains import Chain

HIDDEN = (64, 64)  # units of the network's layers
HELD_OUT = 10  # every tenth episode (of few episodes, every tenth step) tells how well the network imitates
MOST_SAMPLES, LEAST_EPOCHS, MOST_EPOCHS = 6_000_000, 10, 200  # to learn from, repeated ones included
UNSEEN = 0.01  # how much less an action that was never taken is preferred than the rarest one


def imitate(inputs: np.ndarray, actions: np.ndarray, count: int, lengths: np.ndarray) -> tuple[Chain, float]:
    """A network that takes the recorded actions [S] at inputs [S, I], and how often it does where it has not learnt."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier
    from threadpoolctl import threadpool_limits

    groups = np.repeat(np.arange(len(lengths)), lengths) if len(lengths) >= HELD_OUT else np.arange(len(inputs))
    held_out = groups % HELD_OUT == HELD_OUT - 1
    mean, spread = inputs.mean(axis=0), inputs.std(axis=0)
    spread = np.where(spread < 1e-6, 1.0, spread)
    times = np.bincount(actions[~held_out], minlength=count)
    if np.count_nonzero(times) == 1:
        chain = _constant(inputs.shape[1], count, int(times.argmax()))
    else:
        epochs = int(np.clip(MOST_SAMPLES // len(inputs), LEAST_EPOCHS, MOST_EPOCHS))
        model = MLPClassifier(HIDDEN, max_iter=epochs, n_iter_no_change=10, early_stopping=True, random_state=0)
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(((inputs - mean) / spread)[~held_out], actions[~held_out])
        chain = _folded(model, mean, spread, int(np.where(times, times, len(inputs)).argmin()), count)
    tested = held_out if held_out.any() else ~held_out
    return chain, float((chain(inputs[tested]).argmax(axis=1) == actions[tested]).mean())


def _folded(model: Any, mean: np.ndarray, spread: np.ndarray, rarest: int, count: int) -> Chain:
    """A classifier's layers as a chain that takes plain inputs and has an output for every action."""
    weights, biases = list(map(np.array, model.coefs_)), list(map(np.array, model.intercepts_))
    biases[0] = biases[0] - (mean / spread) @ weights[0]
    weights[0] = weights[0] / spread[:, None]
    if len(model.classes_) == 2:  # one output: how much rather the second than the first
        weights[-1], biases[-1] = np.hstack([0 * weights[-1], weights[-1]]), np.array([0.0, biases[-1][0]])
    known = list(model.classes_)
    columns = [known.index(action if action in known else rarest) for action in range(count)]
    weights[-1], biases[-1] = weights[-1][:, columns], biases[-1][columns]
    biases[-1] -= np.where(np.isin(np.arange(count), known), 0.0, UNSEEN)
    return Chain.of([(weight.T, bias) for weight, bias in zip(weights, biases, strict=True)], "relu")


def _constant(inputs: int, count: int, action: int) -> Chain:
    """A network that always prefers one action."""
    return Chain.of([(np.zeros((count, inputs)), 1.0 * (np.arange(count) == action))], "identity")
