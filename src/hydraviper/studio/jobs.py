"""Work on a run that takes a while: how far it is, for every page that asks, also if the first one was left."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hydraviper.data import Rollouts
from hydraviper.protocols import Engine, Policy


@dataclass
class Job:
    """Work under way, and in the end what came of it."""

    words: str  # what is being done
    of: int  # episodes, or so
    done: int = 0
    began: float = field(default_factory=time.monotonic)
    outcome: str = ""  # nothing: it is under way

    def __str__(self) -> str:
        if self.outcome:
            return self.outcome
        if self.done >= self.of:
            return f"{self.words}: all {self.of} episodes are played, the rest is being written ..."
        spent = time.monotonic() - self.began
        left = f", about {spent / self.done * (self.of - self.done):.0f} s left" if self.done else ""
        return f"{self.words}: {self.done} of {self.of} episodes{left}. This goes on if you leave the page."


class Counted:
    """An engine that tells a job how many episodes it has played; it plays `at_once` of them at a time."""

    def __init__(self, engine: Engine, job: Job, at_once: int) -> None:
        self._engine, self._job, self._at_once = engine, job, max(at_once, 1)

    def play(self, policy: Policy, seeds: np.ndarray, record: bool = False) -> Rollouts:
        """As the engine does; no episode depends on those beside it."""
        parts = []
        for start in range(0, max(len(seeds), 1), self._at_once):
            some = seeds[start : start + self._at_once]
            parts.append(self._engine.play(policy, some, record))
            self._job.done = min(self._job.of, self._job.done + len(some))
        return Rollouts.join(parts)

    def play_many(self, policies: Sequence[Policy], seeds: Sequence[np.ndarray]) -> list[Rollouts]:
        """One after the other."""
        return [self.play(*both) for both in zip(policies, seeds, strict=True)]
