"""A place for compiled kernels, also where neither the package's folder nor the user's own can be written."""

import os
import sys
from pathlib import Path

note: str | None = None  # what a user should know: that kernels have to be compiled anew


def ensure() -> None:
    """Let numba keep kernels in a temporary folder if it finds no other; without any it would refuse to start."""
    global note
    beside, chosen = Path(__file__).parent / "__pycache__", os.environ.get("NUMBA_CACHE_DIR")
    if os.access(beside, os.W_OK):  # as nearly always
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
