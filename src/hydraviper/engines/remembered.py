"""Rollouts that are never played twice: every one goes into a journal as soon as it is played.

Where a rollout takes seconds, a run that was killed must not start from its beginning. Rollouts depend on the game,
the policy and the seed alone, so a journal that knows them by these three answers in place of the simulator, bit for
bit.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from hydraviper.data import Rollouts
from hydraviper.engines.journal import Journal, decode_rollouts, encode_rollouts
from hydraviper.engines.pieces import Done, Work
from hydraviper.protocols import Engine, Policy

QUICK = 0.02  # seconds: rollouts that take less are played again as quickly as they are read
PLAYED_AGAIN = 4  # rollouts of a run that are played once more, to see whether seeds repeat


@runtime_checkable
class PiecewiseEngine(Engine, Protocol):
    """An engine that reports every piece of work as soon as it is played."""

    @property
    def workers(self) -> int:
        """How many games it plays at once."""
        ...

    def parts(self, seeds: np.ndarray) -> list[np.ndarray]:
        """Seeds [E] as pieces of work."""
        ...

    def each(self, pieces: Sequence[Work], done: Done | None = None) -> list[Rollouts]:
        """Play pieces of work."""
        ...


class RememberedEngine:
    """Answers from a journal; what is not in it, another engine plays."""

    def __init__(
        self,
        engine: PiecewiseEngine,
        path: Path,
        subject: str,
        digest: Callable[[Policy], str],
        charge: Callable[[float], None] = lambda seconds: None,
        others: Sequence[Path] = (),
        least_seconds: float = 0.0,
    ) -> None:
        """`charge` is called once with the seconds of every rollout that was played before this engine was made.

        `others` are journals of finished runs; they are only read. Rollouts that take fewer than `least_seconds` are
        not written down: they are played again as quickly.
        """
        self._engine, self._subject, self._digest, self._charge = engine, subject, digest, charge
        self._least_seconds = least_seconds
        self._journal = Journal(path)
        self._others = [Journal(other) for other in others]
        self.workers = engine.workers
        self.played = 0  # rollouts that had to be played
        self.remembered = 0  # rollouts that had not
        self.resumed = len(self._journal)  # rollouts that were there at the start
        self.borrowed = 0  # rollouts that another run had played
        self._samples: list[tuple[Work, Rollouts]] = []  # the first ones that were played here
        self._not_charged = set(self._journal.keys()).union(*(journal.keys() for journal in self._others))

    @property
    def direct(self) -> Engine:
        """The engine that plays, for work that is limited by seconds: its answers must take their time."""
        return self._engine

    @property
    def megabytes(self) -> float:
        """The most memory that other processes have held for the engine that plays."""
        return getattr(self._engine, "megabytes", 0.0)

    def play(self, policy: Policy, seeds: np.ndarray, record: bool = False) -> Rollouts:
        """Play one episode per seed; with `record`, keep the observations."""
        return self._answer([(policy, seeds, record)])[0]

    def play_many(self, policies: Sequence[Policy], seeds: Sequence[np.ndarray]) -> list[Rollouts]:
        """Play several policies, each on its own seeds, as one piece of work."""
        return self._answer([(policy, part, False) for policy, part in zip(policies, seeds, strict=True)])

    def _answer(self, groups: Sequence[Work]) -> list[Rollouts]:
        names = [self._digest(policy) for policy, _, _ in groups]
        answers = [
            {int(seed): self._recall(name, int(seed), record) for seed in seeds}
            for name, (_, seeds, record) in zip(names, groups, strict=True)
        ]
        pieces: list[Work] = []
        owners: list[int] = []  # the group of each piece
        for group, (policy, seeds, record) in enumerate(groups):
            missing = np.array(
                [seed for seed in dict.fromkeys(seeds.tolist()) if answers[group][seed] is None], np.uint64
            )
            parts = self._engine.parts(missing) if len(missing) else []
            pieces += [(policy, part, record) for part in parts]
            owners += [group] * len(parts)
        self.remembered += sum(map(len, answers)) - sum(len(seeds) for _, seeds, _ in pieces)
        last = time.perf_counter()

        def remember(number: int, rollouts: Rollouts) -> None:
            nonlocal last
            before, last = last, time.perf_counter()  # with several workers, their share of the time that passed
            self._remember(names[owners[number]], pieces[number], rollouts, last - before, answers[owners[number]])

        if pieces:
            self._engine.each(pieces, remember)
        return [
            Rollouts.join([one for seed in work[1].tolist() if (one := found[seed]) is not None])
            if found
            else self._engine.play(*work)
            for found, work in zip(answers, groups, strict=True)
        ]

    def _remember(
        self, name: str, work: Work, rollouts: Rollouts, seconds: float, answers: dict[int, Rollouts | None]
    ) -> None:
        """Write down what was played, episode by episode."""
        policy, seeds, record = work
        for seed, one in zip(seeds.tolist(), rollouts.each(), strict=True):
            if seconds / len(seeds) >= self._least_seconds:
                self._journal.write(self._key(name, seed, record), encode_rollouts(one, seconds / len(seeds)))
            answers[seed] = one
            if len(self._samples) < PLAYED_AGAIN:
                self._samples.append(((policy, np.array([seed], np.uint64), record), one))
        self.played += len(seeds)

    def play_again(self) -> tuple[int, int]:
        """Play the first few rollouts once more: how many came out differently, and of how many."""
        again = self._engine.each([work for work, _ in self._samples]) if self._samples else []
        both = zip(again, (rollouts for _, rollouts in self._samples), strict=True)
        changed = [encode_rollouts(now) != encode_rollouts(before) for now, before in both]
        return sum(changed), len(changed)

    def _recall(self, name: str, seed: int, record: bool) -> Rollouts | None:
        keys = [self._key(name, seed, wanted) for wanted in ((True,) if record else (False, True))]
        journals = (self._journal, *self._others)
        journal, key = next(((one, key) for key in keys for one in journals if key in one), (None, b""))
        if journal is None:
            return None
        whole, seconds = decode_rollouts(journal.read(key))
        if key in self._not_charged:
            self._not_charged.remove(key)
            self._charge(seconds)
            self.borrowed += journal is not self._journal
        return whole if record else replace(whole, observations=None, rewards=None, acting=None)

    def _key(self, name: str, seed: int, record: bool) -> bytes:
        return hashlib.sha256(f"{self._subject}\n{name}\n{seed}\n{record}".encode()).digest()
