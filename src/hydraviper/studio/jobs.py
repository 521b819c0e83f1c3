"""Work on a run that takes a while: how far it is, for every page that asks, also if the first one was left."""

import time
from dataclasses import dataclass, field


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

    def reach(self, done: int) -> None:
        """So many episodes are played."""
        self.done = min(self.of, done)
