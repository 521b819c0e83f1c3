"""The XML files that SUMO reads, looked through before it may: no entities, no includes, nothing that is written.

Networks, routes and additional files can name files that SUMO writes: detectors, edge data, timed events, actuated
signals, devices of vehicles. A file that does is played from a copy in memory in which these lead nowhere.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import tempfile
import weakref
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from hydraviper.data import InputError

NOWHERE = "/dev/null"
LARGEST = 2**30  # bytes of one file, unpacked
DEEPEST = 100  # elements inside one another; SUMO's files have a handful
_CHUNK = 2**20
_READ = {("rerouter", "file"), ("variableSpeedSign", "file")}  # these attributes name files that SUMO reads
_WRITTEN = re.compile(r"(?<!pro)(?<!img)(?<!osg)file(name)?$|output$|^dest$", re.IGNORECASE)
_SPLITS = re.compile(r"[,;$~]")  # what SUMO does not leave alone in a path

Element = Callable[[str, list[str]], None]


@dataclass(frozen=True)
class InputFile:
    """A file for SUMO: the user's own, or a copy in memory that writes nothing."""

    path: Path
    opened: str  # the path that SUMO opens
    digest: str  # of the user's file
    left_out: tuple[str, ...] = ()  # the files that SUMO would have written
    reads: tuple[InputFile, ...] = ()  # the files that this one names
    copy: IO[bytes] | None = None  # it is there as long as this is

    def __post_init__(self) -> None:
        if self.copy is not None:
            weakref.finalize(self, self.copy.close)


def prepare(path: Path, needs: str = "", may_read: bool = True) -> InputFile:
    """Look through a file; what is not safe to load or lacks the element that it `needs` is refused in a sentence."""
    content = _Content(path)
    found = _Findings(path)
    content.parse(found.element, found.end)
    if needs not in found.elements | {""}:
        raise InputError(f"{path} has no <{needs}> in it: pass another network.")
    if found.reads and not may_read:
        raise InputError(f"{path} is named by another file and names files in turn: put them into one.")
    reads = tuple(prepare(other, may_read=False) for other in dict.fromkeys(found.reads))
    needs_copy = found.left_out or reads or _SPLITS.search(str(path))
    copy = _write(content, {str(file.path): file.opened for file in reads}) if needs_copy else None
    opened = str(path) if copy is None else address(copy)
    return InputFile(path, opened, content.digest, tuple(dict.fromkeys(found.left_out)), reads, copy)


def visit(file: InputFile, element: Element) -> None:
    """Tell of every element of a file, with its attributes [name, value, ...]."""
    _Content(file.path).parse(element)


class _Findings:
    """What a file asks SUMO to write and to read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._plain: set[tuple[str, ...]] = set()  # kinds of elements that name no file: most, so they are remembered
        self.left_out: list[str] = []
        self.reads: list[Path] = []
        self._depth = 0

    @property
    def elements(self) -> set[str]:
        """The names of its elements."""
        return {kind[0] for kind in self._plain}

    def end(self, _: str) -> None:
        self._depth -= 1

    def element(self, name: str, attributes: list[str]) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise InputError(
                f"{self._path} has more than {DEEPEST} elements inside one another: it is no file of SUMO."
            )
        kind = (name, *attributes[::2])
        if kind in self._plain:
            return
        if name == "include":
            raise InputError(f"{self._path} includes another file: put that file's content in its place.")
        named = list(_named(name, attributes))
        if not named and name != "param":
            self._plain.add(kind)
        for k in named:
            if (name, attributes[k - 1]) in _READ:
                self.reads.append(_beside(self._path, attributes[k]))
            elif attributes[k] != NOWHERE:
                self.left_out.append(attributes[k])


def _named(name: str, attributes: list[str]) -> list[int]:
    """Where in an element's attributes [name, value, ...] files are named."""
    if name == "param":
        pairs = dict(zip(attributes[::2], range(1, len(attributes), 2), strict=True))
        about = "key" in pairs and "value" in pairs and _WRITTEN.search(attributes[pairs["key"]])
        return [pairs["value"]] if about else []
    return [k + 1 for k in range(0, len(attributes), 2) if _WRITTEN.search(attributes[k])]


def _beside(file: Path, name: str) -> Path:
    return (file.parent / name).resolve()


def is_plain(path: Path) -> bool:
    """Whether it is a file that has an end: no pipe, no device, nothing that the system makes up."""
    try:
        return path.is_file() and not str(path.resolve()).startswith(("/proc/", "/sys/", "/dev/"))
    except OSError:  # a name that is too long, say
        return False


def shorten(text: str) -> str:
    """A path that fits into a sentence."""
    return text if len(text) <= 200 else f"{text[:90]}...{text[-90:]}"


class _Content:
    """A file's content, unpacked where it is packed, in pieces."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not is_plain(path):
            raise InputError(f"'{shorten(str(path))}' is not accessible: correct the path of the file for SUMO.")
        self.digest = ""

    def parse(self, start: Element, end: Callable[[str], object] | None = None, text: Any = None) -> None:
        """Tell of every element; a document type, which could declare entities without end, is refused."""
        parser = expat.ParserCreate()
        parser.ordered_attributes = True
        parser.StartElementHandler = start
        parser.EndElementHandler, parser.CharacterDataHandler = end, text
        parser.StartDoctypeDeclHandler = self._refuse
        hashed, size = hashlib.sha256(), 0
        try:
            with self.path.open("rb") as raw:
                packed = raw.read(2) == b"\x1f\x8b"
                raw.seek(0)
                with gzip.open(raw) if packed else raw as file:
                    while piece := file.read(_CHUNK):
                        size += len(piece)
                        if size > LARGEST:
                            raise InputError(f"{self.path} is larger than {LARGEST >> 20} MB: cut it down.")
                        hashed.update(piece)
                        parser.Parse(piece, False)
            parser.Parse(b"", True)
        except InputError:
            raise
        except (expat.ExpatError, ValueError, LookupError) as error:
            raise InputError(f"SUMO rejects {self.path}: it is no sound XML ({error}).") from None
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{self.path} cannot be read ({error}): check the file.") from None
        self.digest = hashed.hexdigest()

    def _refuse(self, *_: object) -> None:
        raise InputError(f"{self.path} has a document type (<!DOCTYPE>), which SUMO's files do not need: remove it.")


def _write(content: _Content, reads: dict[str, str]) -> IO[bytes]:
    """A copy in memory that names no file to write, and those that are read by the paths of their own copies."""
    copy = in_memory()

    def start(name: str, attributes: list[str]) -> None:
        for k in _named(name, attributes):
            if (name, attributes[k - 1]) in _READ:
                attributes[k] = reads[str(_beside(content.path, attributes[k]))]
            else:
                attributes[k] = NOWHERE
        pairs = zip(attributes[::2], attributes[1::2], strict=True)
        copy.write(f"<{name}{''.join(f' {key}={quoteattr(value)}' for key, value in pairs)}>".encode())

    content.parse(start, lambda name: copy.write(f"</{name}>".encode()), lambda text: copy.write(escape(text).encode()))
    copy.flush()
    return copy


def in_memory(content: str = "") -> IO[bytes]:
    """A file that is gone with this process, however that ends."""
    file = _nameless()
    file.write(content.encode())
    file.flush()
    return file


def _nameless() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("hydraviper"), "w+b")
    return tempfile.NamedTemporaryFile(suffix=".xml")


def address(copy: IO[bytes]) -> str:
    """The path by which SUMO opens a file in memory."""
    return f"/proc/self/fd/{copy.fileno()}" if hasattr(os, "memfd_create") else str(copy.name)


def seconds(text: str) -> float | None:
    """A time as SUMO writes it: seconds, or hours, minutes and seconds; None for words such as `triggered`."""
    try:
        total = 0.0
        for part in text.split(":"):
            total = 60 * total + float(part)
        return total
    except ValueError:
        return None
