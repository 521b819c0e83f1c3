"""Where the rollouts and the seconds of a run went, written down as it happens, so not frozen."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hydraviper.data import STEPS, naming
from hydraviper.logs import Log
from hydraviper.memory import peak_megabytes
from hydraviper.records import Iteration, encode, to_json


class Ledger:
    """Rollouts by purpose, seconds by step and a line per iteration; with a path, the lines go to that file, too.

    With a `log`, as `open_log` makes one, the numbers of every iteration go there as well.
    """

    def __init__(self, path: Path | str | None = None, log: Log | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.log = log
        self.lines: list[Iteration] = []
        self.notes: list[str] = []  # what a user should know: budgets left, warm-ups cut
        self.seconds: dict[str, float] = dict.fromkeys(STEPS, 0.0)
        self.rollouts: dict[str, int] = {"warmup": 0, "train": 0, "valid": 0}
        self.score: float | None = None  # mean of the episodes that the iteration under way collected
        self.megabytes: dict[str, float] = {}  # the most memory that was held, as far as it was looked at
        self.seconds_before = 0.0  # of these, what was spent before the run was interrupted
        self._step: str | None = None  # under way

    @contextmanager
    def time(self, step: str) -> Iterator[None]:
        """Charge the enclosed work to one step of the algorithm."""
        start, self._step = time.perf_counter(), step
        try:
            yield
        finally:
            self.seconds[step] += time.perf_counter() - start
            self._step = None

    def charge(self, seconds: float) -> None:
        """Charge work that was done before, by a run that was interrupted, to the step under way."""
        if self._step is not None:
            self.seconds[self._step] += seconds
            self.seconds_before += seconds

    def weigh(self, engine: object) -> dict[str, float]:
        """The most memory that this process and an engine's workers have held, in megabytes."""
        now = {"process": peak_megabytes(), "workers": getattr(engine, "megabytes", 0.0)}
        self.megabytes = {who: round(max(most, self.megabytes.get(who, 0.0)), 1) for who, most in now.items()}
        return self.megabytes

    def note(self, sentence: str) -> None:
        """Add a sentence for the user, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def write(self, line: Iteration) -> None:
        """Add the line of an iteration that has ended."""
        self.lines.append(line)
        if self.path is not None:
            with naming(self.path), self.path.open("a") as file:
                file.write(encode(line) + "\n")
        if self.log is not None:
            numbers = {k: v for k, v in to_json(line).items() if k not in ("iteration", "megabytes")}
            self.log.write(line.iteration, numbers)
