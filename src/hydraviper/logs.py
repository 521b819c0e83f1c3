"""The numbers of a run while it goes on: rows of a CSV file, or curves that TensorBoard shows."""

import csv
import io
import math
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from hydraviper.data import InputError, naming


class Log(Protocol):
    """Takes the numbers of a step, such as an iteration, when it has ended."""

    def write(self, step: int, values: Mapping[str, object]) -> None:
        """Add a step; values may hold mappings and sequences of numbers, and None where nothing is known."""
        ...


def open_log(target: Path | str, run: str, *, resumed: bool = False) -> Log:
    """A log of one run: FILE.csv gets a row per step, any other name is a folder for TensorBoard.

    What is there already stays: other runs may share the file or the folder, and a run that is `resumed` goes on behind
    its last row. A run of a name that is taken is refused.
    """
    path = Path(target)
    try:
        if path.suffix.lower() == ".csv":
            return CsvLog(path, run, resumed)
        if path.is_file():
            raise InputError(f"{path} is a file: pass FILE.csv, or a folder for TensorBoard, with --log.")
        return TensorBoardLog(path / Path(run).name, resumed)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        words = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be used ({words}): pass another --log.") from None


class CsvLog:
    """A row per step: the run, then the step's numbers; the first row names them."""

    def __init__(self, path: Path, run: str, resumed: bool = False) -> None:
        self.path, self.run = path, run
        if path.is_dir():
            raise InputError(f"{path} is a folder: pass FILE.csv with --log.")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+", newline="", encoding="utf-8") as file:  # refuses a place that cannot be written
            file.seek(0)
            text = file.read()
            if text and not text.startswith("run,step"):
                raise InputError(f"{path} holds something that is not a log: pass another file with --log.")
            if not text.endswith("\n"):  # half a row of a run that was killed
                text = text[: text.rfind("\n") + 1]
                file.truncate(len(text.encode()))
        rows = list(csv.reader(io.StringIO(text, newline="")))
        self._columns = rows[0] if rows else None
        own = [row for row in rows[1:] if row[:1] == [run]]
        if own and not resumed:
            raise InputError(f"{path} already holds rows of {run}: pass another file with --log.")
        self._last = max((int(row[1]) for row in own), default=-1)

    def write(self, step: int, values: Mapping[str, object]) -> None:
        """Add a row, unless it was written before the run was interrupted."""
        if step <= self._last:
            return
        numbers = {"run": self.run, "step": step, **flat(values)}
        if self._columns not in (None, list(numbers)):
            raise InputError(f"{self.path} has other columns than this run: pass another file with --log.")
        rows = [list(numbers)] if self._columns is None else []
        rows.append(["" if value is None else value for value in numbers.values()])
        with naming(self.path), self.path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
        self._columns, self._last = list(numbers), step


class TensorBoardLog:
    """Curves in a folder of the run's own; of a run that is resumed, TensorBoard shows the later file alone."""

    def __init__(self, folder: Path, resumed: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()) and not resumed:
            raise InputError(f"{folder} already holds something: pass another folder with --log.")
        started = time.time_ns()  # a name that no earlier file has, and that sorts behind them
        self.path = folder / f"events.out.tfevents.{started // 10**9}.{started % 10**9:09}"
        self._add(_event(0, 3, b"brain.Event:2"))
        self._add(_event(0, 7, b"\x08\x01"))  # a start at step 0: curves of before stay in their files, but are hidden

    def write(self, step: int, values: Mapping[str, object]) -> None:
        """Add a point to every curve."""
        known = {name: value for name, value in flat(values).items() if value is not None}
        points = (_piece(1, name.encode()) + b"\x15" + struct.pack("<f", value) for name, value in known.items())
        self._add(_event(step, 5, b"".join(_piece(1, point) for point in points)))

    def _add(self, event: bytes) -> None:
        """One record of an event file: length, content, and a checksum of either."""
        length = struct.pack("<Q", len(event))
        with naming(self.path), self.path.open("ab") as file:
            file.write(length + _checksum(length) + event + _checksum(event))


def _event(step: int, field: int, content: bytes) -> bytes:
    """TensorBoard's message Event: the time, the step, and one field of bytes."""
    return b"\x09" + struct.pack("<d", time.time()) + b"\x10" + _varint(step) + _piece(field, content)


def _piece(field: int, content: bytes) -> bytes:
    """A field of bytes, text or a message, as protocol buffers write it."""
    return bytes([field << 3 | 2]) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _checksum(content: bytes) -> bytes:
    """CRC-32C, turned and shifted as event files want it."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc = crc >> 8 ^ _CRC[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _crc_of(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_CRC = tuple(map(_crc_of, range(256)))


def flat(values: Mapping[str, Any]) -> dict[str, float | None]:
    """Numbers by name; those inside get the names of both: "accuracy/agent-0"."""
    found: dict[str, float | None] = {}
    for name, value in values.items():
        if isinstance(value, list | tuple):
            value = {str(k): one for k, one in enumerate(value)}
        if isinstance(value, Mapping):
            found |= {f"{name}/{inner}": one for inner, one in flat(value).items()}
        else:
            found[name] = None if value is None or not math.isfinite(value) else value
    return found
