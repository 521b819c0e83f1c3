"""Torch: a state dict of a chain of layers, TorchScript, and with --trust whatever else torch loads.

State dicts are read as weights only and TorchScript holds tensor operations, so neither runs Python code. A module that
was pickled whole does, and so may a program of torch.export: both are refused unless they are trusted.
"""

import itertools
import pickle
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from hydraviper.data import InputError
from hydraviper.experts.adapted import CHOICES, PREFERENCES, RowByRow
from hydraviper.experts.chains import Chain, chain_like
from hydraviper.experts.found import Found, Wanted, contents, needed, refuse_pickle

Layers = list[tuple[np.ndarray, np.ndarray]]  # weight [out, in] and bias [out] of each


def read(path: Path, wanted: Wanted) -> Found:
    """A network that maps an observation to one number per action, or to an action."""
    answers = wanted.options.get("answers", PREFERENCES)
    load = partial(_program if _is_program(path) else _loaded, str(path), wanted.trust)
    loaded = load()
    if not isinstance(loaded, Mapping):
        return _of_module(load, answers, contents(path))
    chain = _chain(path, loaded, wanted.options.get("activation"))
    return Found(chain, answers, contents(path), chain.inputs, chain.outputs)


@runtime_checkable
class Tensor(Protocol):
    """What torch computes with, as far as it is asked here."""

    def numpy(self) -> np.ndarray:
        """The same numbers as an array."""
        ...


def _torch() -> Any:
    return needed("torch", "torch")


def _of_module(load: Callable[[], Any], answers: str, digest: str) -> Found:
    """A module that is asked row by row; one that turns out to be a chain of layers is read into one."""
    module = load()
    layers, answer = _linear_layers(module), _answering(load)
    inputs = layers[0][0].shape[1] if layers else None
    told = None
    if inputs is not None:
        try:
            told = answer(np.zeros(inputs, np.float32))
        except (RuntimeError, ValueError, TypeError, IndexError):
            inputs = None  # it wants to be shown something else
    if told is not None and np.asarray(told).dtype.kind in "iu":
        return Found(RowByRow(partial(_answering, load)), CHOICES, digest, inputs)
    chain = None if told is None else chain_like(layers, answer)
    network = RowByRow(partial(_answering, load)) if chain is None else chain
    return Found(network, answers, digest, inputs, None if told is None else len(np.atleast_1d(told)))


def _answering(load: Callable[[], Any]) -> Callable[[np.ndarray], np.ndarray]:
    """What a module answers to a row, by one thread: sums are then made in one order."""
    torch, module = _torch(), load()

    def answer(row: np.ndarray) -> np.ndarray:
        with torch.no_grad(), one_thread():
            told = module(torch.from_numpy(np.array(row, np.float32))[None])
        return (told[0] if isinstance(told, tuple | list) else told)[0].numpy()

    return answer


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch with one thread, and as it was afterwards."""
    torch = _torch()
    threads = torch.get_num_threads()
    if threads == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _is_program(path: Path) -> bool:
    """Whether a file holds TorchScript or a program of torch.export, and not what torch.save writes."""
    if not zipfile.is_zipfile(path):
        return False
    names = zipfile.ZipFile(path).namelist()
    return any("/code/" in name or name.endswith("/archive_format") for name in names)


def _program(path: str, trust: bool) -> Any:
    """TorchScript, or what torch.export saved."""
    exported = any(name.endswith("/archive_format") for name in zipfile.ZipFile(path).namelist())
    if exported and not trust:
        refuse_pickle(path, "a program of torch.export, which torch may unpickle parts of")
    with _as_input_error(path), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of TorchScript, which is still read
        if exported:
            return _torch().export.load(path).module()
        return _torch().jit.load(path, map_location="cpu").eval()


def _loaded(path: str, trust: bool) -> Any:
    """What torch.save has saved: a state dict, or with trust anything."""
    torch = _torch()
    with _as_input_error(path):
        try:
            loaded: Any = torch.load(path, map_location="cpu", weights_only=True)
        except pickle.UnpicklingError:
            if not trust:
                refuse_pickle(path, "more than weights (a module that was pickled whole)")
            loaded = torch.load(path, map_location="cpu", weights_only=False)
    if isinstance(loaded, Mapping) and isinstance(loaded.get("state_dict"), Mapping):
        loaded = loaded["state_dict"]
    if not isinstance(loaded, Mapping) and not callable(loaded):
        raise InputError(f"{path} holds neither a state dict nor a module: save `module.state_dict()`.")
    module: Any = loaded
    return module.eval() if isinstance(module, torch.nn.Module) else module


@contextmanager
def _as_input_error(path: str) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        words = str(error).split("\n")[0][:200]
        raise InputError(f"{path} cannot be read by torch ({words}): save it again.") from None


def _chain(path: Path, weights: Mapping[str, object], activation: str | None) -> Chain:
    """A state dict as a chain of layers."""
    layers = _layers(weights)
    shapes = [weight.shape for weight, _ in layers]
    if not layers or any(before[0] != after[1] for before, after in itertools.pairwise(shapes)):
        raise InputError(
            f"the layers of {path} are no single chain ({[shape[::-1] for shape in shapes]}): save the state dict of "
            "the policy's network alone, or export it as TorchScript or ONNX."
        )
    if activation is None and len(layers) > 1:
        raise InputError(
            f"{path} does not say what lies between its layers: write torch:{path},activation=relu (or tanh, ...)."
        )
    return Chain.of(layers, activation or "identity")


def _linear_layers(module: Any) -> Layers:
    """The layers of a module in the order in which they were made."""
    weights = module.state_dict() if hasattr(module, "state_dict") else {}
    return _layers(weights)


def _layers(weights: Mapping[str, object]) -> Layers:
    """Two-dimensional weights with their biases, in order; nothing if there are weights of any other kind."""
    arrays = {name: value.numpy() for name, value in weights.items() if isinstance(value, Tensor)}
    matrices = {name: array for name, array in arrays.items() if name.endswith("weight") and array.ndim == 2}
    biases = {name: f"{name.removesuffix('weight')}bias" for name in matrices}
    if set(arrays) - set(matrices) - set(biases.values()):
        return []
    return [(matrix, arrays.get(biases[name], np.zeros(len(matrix)))) for name, matrix in matrices.items()]
