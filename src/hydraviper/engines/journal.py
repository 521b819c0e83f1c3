"""Rollouts in a file, by their keys: every record is written in one piece and checked when the file is opened.

Whatever comes behind the first broken record (a process died while it wrote) is dropped.
"""

import io
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hydraviper.data import Rollouts, naming

_MAGIC = b"ROLL"
OPTIONAL = ("rewards", "trace", "acting", "cut")  # arrays that not all rollouts have
_HEAD = struct.Struct("<4s32sQI")  # magic, key, length and checksum of what follows


class Journal:
    """A file of checked records by their keys; it grows at the end only."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._at: dict[bytes, tuple[int, int]] = {}  # where each record's content is, and how long
        end = self._scan()
        if path.exists() and path.stat().st_size > end:
            with path.open("r+b") as file:
                file.truncate(end)

    def __len__(self) -> int:
        return len(self._at)

    def __contains__(self, key: bytes) -> bool:
        return key in self._at

    def keys(self) -> Iterator[bytes]:
        """The names of all records."""
        return iter(self._at)

    def write(self, key: bytes, content: bytes) -> None:
        """Add a record; it is in the file, and not in this process only, when this returns."""
        with naming(self.path), self.path.open("ab") as file:
            start = file.tell() + _HEAD.size
            file.write(_HEAD.pack(_MAGIC, key, len(content), zlib.crc32(key + content)) + content)
        self._at[key] = start, len(content)

    def read(self, key: bytes) -> bytes:
        """The content of a record that is there."""
        start, length = self._at[key]
        with self.path.open("rb") as file:
            file.seek(start)
            return file.read(length)

    def _scan(self) -> int:
        """Find all sound records; returns where they end."""
        if not self.path.exists():
            return 0
        with self.path.open("rb") as file:
            end = 0
            while len(head := file.read(_HEAD.size)) == _HEAD.size:
                magic, key, length, checksum = _HEAD.unpack(head)
                content = file.read(length) if magic == _MAGIC else b""
                if magic != _MAGIC or len(content) < length or zlib.crc32(key + content) != checksum:
                    break
                self._at[key] = end + _HEAD.size, length
                end += _HEAD.size + length
        return end


def count(path: Path) -> int:
    """How many records a file seems to have, while somebody may be writing another; they are not checked."""
    records, end = 0, path.stat().st_size
    with path.open("rb") as file:
        while len(head := file.read(_HEAD.size)) == _HEAD.size and file.tell() <= end:
            magic, _, length, _ = _HEAD.unpack(head)
            if magic != _MAGIC or file.seek(length, os.SEEK_CUR) > end:
                break
            records += 1
    return records


def encode_rollouts(rollouts: Rollouts, seconds: float = 0.0) -> bytes:
    """Rollouts as bytes, every bit of them, and the seconds that they took; nothing is pickled."""
    arrays = {"returns": rollouts.returns, "lengths": rollouts.lengths, "names": np.array(list(rollouts.measures), str)}
    arrays |= {f"measure.{k}": values for k, values in enumerate(rollouts.measures.values())}
    arrays |= {f"seen.{i}": seen for i, seen in enumerate(rollouts.observations or ())}
    arrays |= {name: values for name in OPTIONAL if (values := getattr(rollouts, name)) is not None}
    arrays["seconds"] = np.array(seconds)
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def decode_rollouts(content: bytes) -> tuple[Rollouts, float]:
    """The rollouts that `encode_rollouts` wrote, and their seconds."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        seen = tuple(arrays[f"seen.{i}"] for i in range(sum(name.startswith("seen.") for name in arrays.files)))
        measures = {str(name): arrays[f"measure.{k}"] for k, name in enumerate(arrays["names"])}
        optional = {name: arrays[name] for name in OPTIONAL if name in arrays.files}
        seconds = float(arrays["seconds"]) if "seconds" in arrays.files else 0.0  # a journal of an older version
        return Rollouts(arrays["returns"], arrays["lengths"], seen or None, measures, **optional), seconds
