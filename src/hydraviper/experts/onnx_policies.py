"""ONNX models, by onnxruntime: a file holds a graph of known operations, so that loading it runs no code."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hydraviper.data import InputError
from hydraviper.experts.adapted import CHOICES, PREFERENCES, RowByRow
from hydraviper.experts.found import Found, Wanted, contents, needed

NUMBERS = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}
NUMBERS |= {"tensor(int32)": np.int32, "tensor(uint8)": np.uint8, "tensor(float16)": np.float16}


def read(path: Path, wanted: Wanted) -> Found:
    """A model with one input, an observation, and one output that counts: a number per action, or the action itself."""
    name = wanted.options.get("output")
    session = _session(str(path))
    inputs, outputs = session.get_inputs(), session.get_outputs()
    if len(inputs) != 1:
        names = ", ".join(one.name for one in inputs)
        raise InputError(f"{path} has {len(inputs)} inputs ({names}), not one: export what maps one observation.")
    if name is not None and name not in [one.name for one in outputs]:
        raise InputError(f"{path} has no output {name!r}: choose one of {', '.join(one.name for one in outputs)}.")
    output = next(one for one in outputs if name in (None, one.name))
    whole = "int" in output.type
    network = RowByRow(partial(_answering, str(path), output.name))
    sizes = [size for size in inputs[0].shape[1:] if isinstance(size, int)]
    known = len(sizes) == len(inputs[0].shape) - 1
    last = output.shape[-1] if output.shape and not whole else None
    return Found(
        network,
        CHOICES if whole else wanted.options.get("answers", PREFERENCES),
        contents(path) + output.name,
        int(np.prod(sizes)) if known else None,
        last if isinstance(last, int) else None,
    )


def _session(path: str) -> Any:
    """A session of one thread: sums are then made in one order."""
    runtime = needed("onnxruntime", "onnx")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise InputError(f"{path} cannot be read as an ONNX model ({error}): export it again.") from None


def _answering(path: str, output: str) -> Callable[[np.ndarray], np.ndarray]:
    session = _session(path)
    shown = session.get_inputs()[0]
    kind = NUMBERS.get(shown.type, np.float32)
    sizes = [size if isinstance(size, int) else -1 for size in shown.shape[1:]]

    def answer(row: np.ndarray) -> np.ndarray:
        return np.asarray(session.run([output], {shown.name: row.astype(kind).reshape(1, *sizes)})[0])[0]

    return answer
