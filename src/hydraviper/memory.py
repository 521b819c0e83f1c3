"""Arrays that grow, in memory or beyond a limit in files that the system maps; and how much memory was held."""

import mmap
import os
import sys
import tempfile

import numpy as np
from numpy.typing import DTypeLike

from hydraviper.data import InputError, JobError

LIMIT_SETTING = "HYDRAVIPER_MEMORY_MEGABYTES"
LIMIT = 4096.0  # megabytes that a run's samples may hold in memory, unless the user says otherwise
MEGABYTE = 2**20


class Room:
    """The bytes that growing arrays may still hold in memory; arrays that find no room lie in files."""

    def __init__(self, megabytes: float | None = None) -> None:
        self._left = int((limit() if megabytes is None else megabytes) * MEGABYTE)

    def take(self, size: int) -> bool:
        """Take so many bytes if there are as many; a number below 0 gives bytes back."""
        if size > self._left:
            return False
        self._left -= size
        return True


class GrowingArray:
    """An array that grows at its end; its capacity doubles when it is full.

    An array that finds no room in memory moves into a file without a name, which the system removes when nobody holds
    it any more, however the process ends.
    """

    def __init__(self, shape: tuple[int, ...], dtype: DTypeLike, room: Room | None = None) -> None:
        self._file: int | None = None  # its descriptor, if it lies in one
        self._array = np.empty((0, *shape), dtype)
        self._count = 0
        self._room = room or Room()

    def append(self, rows: np.ndarray) -> None:
        """Add rows at the end."""
        needed = self._count + len(rows)
        if needed > len(self._array):
            self._grow(max(needed, 2 * len(self._array)))
        self._array[self._count : needed] = rows
        self._count = needed

    def _grow(self, capacity: int) -> None:
        shape = (capacity, *self._array.shape[1:])
        size = int(np.prod(shape)) * self._array.itemsize
        if self._file is None and self._room.take(size - self._array.nbytes):
            grown = np.empty(shape, self._array.dtype)
            grown[: self._count] = self._array[: self._count]
        else:
            grown = self._mapped(size).view(self._array.dtype).reshape(shape)
        self._array = grown

    def _mapped(self, size: int) -> np.ndarray:
        """So many bytes of the array's file, which begins with what the array holds."""
        try:
            if self._file is None:
                with tempfile.TemporaryFile() as file:
                    file.write(self._array[: self._count].data)
                    file.flush()
                    self._file = os.dup(file.fileno())
                self._room.take(-self._array.nbytes)
            if hasattr(os, "posix_fallocate"):  # a full disk is an error here, and not a crash when bytes are written
                os.posix_fallocate(self._file, 0, size)
            else:
                os.ftruncate(self._file, size)
            return np.frombuffer(mmap.mmap(self._file, size), np.uint8)
        except OSError as error:
            raise JobError(
                f"samples found no room in {tempfile.gettempdir()} ({error.strerror or error}): set TMPDIR to a larger "
                f"disk, or {LIMIT_SETTING} to more than {limit():g}."
            ) from None

    def __del__(self) -> None:
        if self._file is None:
            self._room.take(-self._array.nbytes)
        else:
            os.close(self._file)

    @property
    def array(self) -> np.ndarray:
        """All rows so far, as a view."""
        return self._array[: self._count]

    @property
    def mapped(self) -> bool:
        """Whether it lies in a file."""
        return self._file is not None


def limit() -> float:
    """Megabytes that a run's samples may hold in memory: the user's own number, or ours."""
    setting = os.environ.get(LIMIT_SETTING, "")
    try:
        megabytes = float(setting) if setting else LIMIT
    except ValueError:
        megabytes = -1.0
    if not 0 <= megabytes < float("inf"):
        raise InputError(f"{LIMIT_SETTING} must be a number of megabytes, 0 or more, not {setting!r}.")
    return megabytes


def peak_megabytes() -> float:
    """The most memory that this process has held so far."""
    try:  # not `getrusage`: what it says of a child may be its parent's
        with open("/proc/self/status") as status:
            line = next(line for line in status if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    except (OSError, StopIteration):
        return _peak_by_usage()


def _peak_by_usage() -> float:
    try:
        import resource
    except ImportError:  # Windows does not tell
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / MEGABYTE if sys.platform == "darwin" else peak / 1024
