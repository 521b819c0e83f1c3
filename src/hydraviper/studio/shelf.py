"""The runs that a studio shows: those that lie in its folder, and nothing else on the machine."""

import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path

from hydraviper import InputError, Run, load_run
from hydraviper.runs import following, listing, starting
from hydraviper.runs.folder import plain
from hydraviper.runs.following import Status
from hydraviper.runs.listing import Listed
from hydraviper.runs.starting import NewRun, Started
from hydraviper.studio.jobs import Job

FILES = ("settings.json", "summary.json", "trees.json", "progress.json", "ledger.jsonl")
LARGEST_FILE = 20_000_000  # bytes
LARGEST_TREE = 2**11 - 1  # nodes: ten questions deep
LONGEST_NAME = 400  # letters


class Shelf:
    """The folder of runs; keeps what it has read until the files change."""

    def __init__(self, folder: Path, trust_path: bool = False) -> None:
        self.folder = folder.resolve()
        self._trust_path = trust_path  # open games that only a run's files name
        self._listed: dict[str, tuple[object, Listed]] = {}
        self._runs: dict[str, tuple[object, Run]] = {}
        self._started: dict[str, Started] = {}
        self._said: Path | None = None  # what they say
        self.jobs: dict[str, Job] = {}  # run -> the last work on it

    def path(self, name: str) -> Path:
        """The folder of a run; refuses names that lead elsewhere."""
        path = self.folder / name
        if name in ("", ".", "..") or Path(name).name != name or "\0" in name or path.is_symlink():
            raise InputError(f"{name!r} is no run of this folder.")
        return path

    def runs(self) -> list[Listed]:
        """All runs, the newest first; only those whose files have changed are read again."""
        places = [path for path in self.folder.iterdir() if path.is_dir() and not path.is_symlink()]
        found = [self._remembered(path) for path in places if listing.is_run(path)]
        return sorted(found, key=lambda run: (-run.changed, run.name))

    def _remembered(self, path: Path) -> Listed:
        mark = _mark(path)
        known = self._listed.get(path.name)
        if known is None or known[0] != mark or known[1].state == following.RUNNING:
            try:
                check_files(path)
                known = mark, listing.listed(path)
            except InputError as error:
                known = mark, Listed(path.name, following.STOPPED, problem=str(error))
            self._listed[path.name] = known
        return known[1]

    def status(self, name: str) -> Status:
        """How far a run is."""
        return following.status(self.path(name))

    def failure(self, name: str) -> str | None:
        """Why a run that was started here has ended without a result."""
        started = self._started.get(name)
        return None if started is None else started.failed

    def known(self, name: str) -> Run | None:
        """A run that was opened before, if its files are still the same."""
        kept = self._runs.get(name)
        return kept[1] if kept is not None and kept[0] == _mark(self.path(name)) else None

    def open(self, name: str) -> Run:
        """A run with its trees, as its files are now."""
        path, run = self.path(name), self.known(name)
        if not (path / "trees.json").is_file():
            raise InputError(f"{name} has no trees: it is under way, or was stopped.")
        if run is None:
            mark = _mark(path)
            check_files(path)
            run = load_run(path, workers=os.cpu_count() or 1, tell=lambda sentence: None, trust_path=self._trust_path)
            check_trees(run)
            self._runs[name] = mark, run
        return run

    def start(self, wish: NewRun) -> str:
        """Start a run in a process of its own; its name."""
        head, number = f"{plain(wish.game)}-{plain(wish.algorithm)}", 1
        while (self.folder / f"{head}-{number}").exists() or f"{head}-{number}" in self._started:
            number += 1
        return self._start(wish, f"{head}-{number}")

    def go_on(self, name: str) -> str:
        """Go on with a run that was stopped."""
        return self._start(starting.again(self.path(name)), name)

    def _start(self, wish: NewRun, name: str) -> str:
        if self._said is None:
            self._said = Path(tempfile.mkdtemp(prefix="hydraviper-studio-"))
            weakref.finalize(self, shutil.rmtree, self._said, ignore_errors=True)  # gone with the studio
        self._started[name] = starting.start(wish, self.path(name), self._said / f"{name}.txt")
        return name

    def stop(self, name: str) -> None:
        """Stop a run that is under way."""
        following.stop(self.path(name))

    def is_starting(self, name: str) -> bool:
        """Tell whether a process was started for a run and has not ended."""
        started = self._started.get(name)
        return started is not None and started.process.poll() is None


def check_files(folder: Path) -> None:
    """Refuse a run whose files would keep the page waiting."""
    for name in FILES:
        path = folder / name
        if path.is_file() and path.stat().st_size > LARGEST_FILE:
            size, most = path.stat().st_size / 1e6, LARGEST_FILE / 1e6
            raise InputError(f"{name} of {folder.name} has {size:,.0f} MB: the studio reads {most:,.0f} at most.")


def check_trees(run: Run) -> None:
    """Refuse trees that no page could show."""
    for agent, tree in zip(run.trees.agents, run.trees.trees, strict=True):
        if len(tree) > LARGEST_TREE:
            raise InputError(
                f"the tree of {agent.name} has {len(tree):,} nodes: the studio draws {LARGEST_TREE:,} at most; "
                "`hydraviper show` prints it."
            )
        if long := [name for name in (agent.name, *tree.names(agent), *agent.actions) if len(name) > LONGEST_NAME]:
            raise InputError(
                f"a name of {len(long[0]):,} letters is too long to be drawn ({long[0][:40]}...): "
                f"the studio takes {LONGEST_NAME} at most."
            )


def _mark(path: Path) -> Sequence[object]:
    """What tells whether a run's files have changed."""
    marks = []
    for name in FILES:
        try:
            found = (path / name).stat()
            marks.append((found.st_mtime_ns, found.st_size, found.st_ino))
        except OSError:
            marks.append(None)
    return tuple(marks)
