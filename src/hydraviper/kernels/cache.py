"""A place for compiled kernels, also where neither the package's folder nor the user's own can be written.

Numba compiles a kernel again when its own file has changed, but not when a kernel that it calls has, in another file.
Such a kernel would read memory as it was laid out before. So when any file with kernels has changed, all are compiled
again.
"""

import hashlib
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

SOURCES = "sources.json"  # in __pycache__ beside this file: what the kernels were compiled from

note: str | None = None  # what a user should know: that kernels have to be compiled anew


def ensure() -> None:
    """Let numba keep kernels in a temporary folder if it finds no other; without any it would refuse to start."""
    global note
    beside, chosen = Path(__file__).parent / "__pycache__", os.environ.get("NUMBA_CACHE_DIR")
    if os.access(beside, os.W_OK):  # as nearly always
        with suppress(OSError):  # a file that somebody replaces meanwhile
            forget_stale(Path(__file__).parents[1], beside / SOURCES)
        return
    import tempfile

    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "numba"
    if any(_can_hold(folder) for folder in (chosen and Path(chosen), beside, home) if folder):
        return
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"hydraviper-kernels-{user}"
    # kernels are code: a folder that anybody else could have filled is not used
    if not _can_hold(folder) or not _is_own(folder, user):
        folder = Path(tempfile.mkdtemp(prefix="hydraviper-kernels-"))
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    if "numba" in sys.modules:  # it has read the environment already
        sys.modules["numba"].config.CACHE_DIR = str(folder)
    if not any(folder.rglob("*.nbi")):  # none was compiled yet
        note = (
            f"kernels are compiled anew, which takes up to a minute, and kept in {folder}: neither the package's "
            "folder nor your cache folder can be written (NUMBA_CACHE_DIR names another place)."
        )


def forget_stale(package: Path, record: Path) -> bool:
    """Remove compiled kernels if a file with kernels is not as it was recorded; tell whether one was not."""
    try:
        found = json.loads(record.read_bytes())
        before = {name: entry for name, entry in found.items() if len(entry) == 3}
    except (OSError, ValueError, AttributeError, TypeError):
        before = {}
    now = {}
    for path in sorted(package.rglob("*.py")):
        about, name = path.stat(), str(path.relative_to(package))
        stamp = [about.st_size, about.st_mtime_ns]
        if before.get(name, [])[:2] == stamp:
            now[name] = before[name]  # not read again
        else:
            source = path.read_bytes()
            now[name] = [*stamp, hashlib.sha256(source).hexdigest() if b"njit" in source else ""]
    if now == before:
        return False
    kernels = [{name: entry[2] for name, entry in one.items() if entry[2]} for one in (before, now)]
    stale = kernels[0] != kernels[1]
    if stale:
        for compiled in package.rglob("__pycache__/*.nb[ic]"):
            compiled.unlink(missing_ok=True)
    scratch = record.with_name(f"{SOURCES}.{os.getpid()}")
    scratch.write_text(json.dumps(now))
    scratch.replace(record)
    return stale


def _can_hold(folder: Path) -> bool:
    import tempfile

    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _is_own(folder: Path, user: int) -> bool:
    about = folder.lstat()
    return folder.is_dir() and not folder.is_symlink() and about.st_uid == user and not about.st_mode & 0o022
