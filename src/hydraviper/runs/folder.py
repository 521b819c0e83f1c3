"""Folders and files that are claimed before the work begins, so that nothing is lost when it ends."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hydraviper.data import InputError


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Let no other process write to a folder meanwhile; one that is in use is refused."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):  # else: this file system knows no locks
                raise InputError(
                    f"another process is writing to {folder}: wait for it or pass another --out."
                ) from None
        yield
    finally:
        os.close(handle)


@contextmanager
def new_folder(folder: Path | None, parent: Path, name: str) -> Iterator[Path]:
    """An empty folder that nobody else gets, as given or parent/NAME-1, -2, ...; removed if nothing comes of it."""
    folder = numbered(parent, name) if folder is None else _empty(folder)
    with held(folder):
        if any(folder.iterdir()):  # somebody was quicker
            raise InputError(f"{folder} already holds something: pass a new folder with --out.")
        try:
            yield folder
        finally:
            with suppress(OSError):
                folder.rmdir()  # only if nothing is in it


def numbered(parent: Path, name: str) -> Path:
    """Make parent/NAME-1, or -2, ...: the first that is not there; two processes never get the same."""
    with as_input_error(parent):
        parent.mkdir(parents=True, exist_ok=True)
        number = 1
        while True:
            with suppress(FileExistsError):
                folder = parent / f"{name}-{number}"
                folder.mkdir()
                return folder
            number += 1


def _empty(folder: Path) -> Path:
    with as_input_error(folder):
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(f"{folder} already holds something, or is a file: pass a new folder with --out.")
        folder.mkdir(parents=True, exist_ok=True)
        check_file(folder / "trees.json")
    return folder


@contextmanager
def as_input_error(path: Path) -> Iterator[None]:
    """What cannot be made or written is the caller's choice."""
    try:
        str(path).encode()
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be used ({error.strerror}): pass another --out.") from None
    except UnicodeEncodeError:
        raise InputError(f"{str(path)!r} is no name in UTF-8: pass another --out.") from None


def check_file(path: Path) -> None:
    """Refuse a file that could not be written in the end; nothing is left behind."""
    missing = [folder for folder in path.parents if not folder.exists()]
    half = path.with_name(path.name + ".part")
    with as_input_error(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            half.touch()
            half.unlink()
        finally:
            for folder in missing:
                with suppress(OSError):
                    folder.rmdir()


def check_new_file(path: Path) -> None:
    """Refuse a file that is there already, or that could not be written in the end."""
    with as_input_error(path):
        if path.exists() or path.is_symlink():
            raise InputError(f"{path} already exists: pass another file with --out.")
    check_file(path)


def point_to_latest(folder: Path) -> None:
    """Let runs/latest be this run, wherever it lies; somebody else's `latest` is left alone."""
    link = Path("runs") / "latest"
    if link.exists() and not link.is_symlink():
        return
    half = link.with_name(f".latest-{os.getpid()}")
    with suppress(OSError):  # a place that cannot be written has no `latest`; the run is made all the same
        link.parent.mkdir(exist_ok=True)
        half.unlink(missing_ok=True)
        half.symlink_to(os.path.relpath(folder.resolve(), link.parent.resolve()))
        half.replace(link)  # in one step: there is always a `latest`
