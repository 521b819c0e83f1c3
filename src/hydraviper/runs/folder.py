"""Claim output folders and files before the work begins, so that no result is lost when it ends."""

import errno
import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hydraviper.data import InputError


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Lock a folder against other processes; refuse one that another process has locked."""
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
    """Lock a new folder, as given or parent/NAME-1, -2, ...; remove it again if it stays empty."""
    folder = numbered(parent, name) if folder is None else _empty(folder)
    with held(folder):
        if any(folder.iterdir()):  # another process wrote here since it was made
            raise InputError(f"{folder} already holds something: pass a new folder with --out.")
        try:
            yield folder
        finally:
            with suppress(OSError):
                folder.rmdir()  # only if nothing is in it


def plain(name: str) -> str:
    """A game's name as a part of a file's name: gymnasium-CartPole-v1 for gymnasium:CartPole-v1."""
    return re.sub(r"[^\w.+-]+", "-", name).strip("-")


def numbered(parent: Path, name: str) -> Path:
    """Make the first of parent/NAME-1, -2, ... that does not exist; two processes never get the same."""
    with as_input_error(parent):
        parent.mkdir(parents=True, exist_ok=True)
        number = 1
        while True:
            with suppress(FileExistsError):
                folder = parent / f"{plain(name)}-{number}"
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
    """Turn an error of the file system about an output path into a sentence: the caller chose that path."""
    try:
        str(path).encode()
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be used ({error.strerror}): pass another --out.") from None
    except UnicodeEncodeError:
        raise InputError(f"{str(path)!r} is no name in UTF-8: pass another --out.") from None


def check_file(path: Path) -> None:
    """Refuse a path that cannot be written, before any work is done; leave nothing behind."""
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
    """Refuse a path that exists or that cannot be written, before any work is done."""
    with as_input_error(path):
        if path.exists() or path.is_symlink():
            raise InputError(f"{path} already exists: pass another file with --out.")
    check_file(path)


def point_to_latest(folder: Path) -> None:
    """Let the link runs/latest point to this run; leave a `latest` alone that is not a link."""
    link = Path("runs") / "latest"
    if link.exists() and not link.is_symlink():
        return
    half = link.with_name(f".latest-{os.getpid()}")
    with suppress(OSError):  # a place that cannot be written has no `latest`; the run is made all the same
        link.parent.mkdir(exist_ok=True)
        half.unlink(missing_ok=True)
        half.symlink_to(os.path.relpath(folder.resolve(), link.parent.resolve()))
        half.replace(link)  # in one step: there is always a `latest`
