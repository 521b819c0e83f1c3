"""Worker processes that keep a game warm: seeds in, rollouts out, in order, whichever worker played them."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from hydraviper.data import JobError, Observations, Rollouts
from hydraviper.engines.pieces import ATTEMPTS, Done, Work
from hydraviper.engines.pool import Pool
from hydraviper.protocols import Game, Policy, SeededPolicy
from hydraviper.rollout import Watched, play

KEPT_POLICIES = 8  # unpickled policies that a worker keeps


class Workers:
    """A fixed number of processes, each with a game of its own."""

    def __init__(self, make_game: Callable[[], Game], count: int) -> None:
        self._pool = Pool(partial(_Player, make_game), count, _message, watched=True)

    def run(self, pieces: Sequence[Work], done: Done | None = None) -> list[Rollouts]:
        """Play every piece; if one fails, the error is raised here and the workers are gone."""
        pickled = {id(policy): Pickled.of(policy) for policy in {id(work[0]): work[0] for work in pieces}.values()}
        rollouts: dict[int, Rollouts] = {}
        attempts = [0] * len(pieces)

        def played(number: int, answer: Rollouts) -> None:
            rollouts[number] = answer
            if done is not None:
                done(number, answer)

        def lost(number: int, what: str, advice: str) -> bool:
            attempts[number] += 1
            if attempts[number] >= ATTEMPTS:
                seed = pieces[number][1][0]
                raise JobError(
                    f"a worker process {what}, {ATTEMPTS} times at the same rollout (seed {seed}): {advice}."
                )
            return True

        self._pool.run([(pickled[id(policy)], seeds, record) for policy, seeds, record in pieces], played, lost)
        return [rollouts[number] for number in range(len(pieces))]

    @property
    def megabytes(self) -> float:
        """The most memory that the workers have held, all together."""
        return self._pool.megabytes

    def close(self) -> None:
        """End all workers."""
        self._pool.close()


Kept = TypeVar("Kept")


@dataclass(frozen=True)
class Pickled:
    """A policy as bytes, and their hash: a worker that has the hash need not be sent the bytes again."""

    digest: str
    body: bytes

    @staticmethod
    def of(policy: Policy) -> Pickled:
        """A policy as bytes."""
        body = pickle.dumps(policy, pickle.HIGHEST_PROTOCOL)
        return Pickled(hashlib.sha256(body).hexdigest(), body)


def _message(piece: tuple[Pickled, np.ndarray, bool], sent: dict[str, None]) -> Any:
    """A piece of work, with the policy only if the worker has not seen it or keeps it no longer."""
    policy, seeds, record = piece
    new = policy.digest not in sent
    keep(sent, policy.digest, None)
    return policy.digest, policy.body if new else None, seeds, record


def keep(kept: dict[str, Kept], name: str, value: Kept) -> None:
    """Add to what is kept, in the worker as in the names that were sent to it; the oldest goes."""
    kept.setdefault(name, value)
    while len(kept) > KEPT_POLICIES:
        kept.pop(next(iter(kept)))


class _Player:
    """What answers in a worker: a game, and the policies that were sent last."""

    def __init__(self, make_game: Callable[[], Game], steps: Any) -> None:
        self._game, self._steps = make_game(), steps
        self._policies: dict[str, Policy] = {}

    def __call__(self, message: tuple[str, bytes | None, np.ndarray, bool]) -> Rollouts:
        digest, body, seeds, record = message
        if body is not None:
            keep(self._policies, digest, pickle.loads(body))
        self._steps.value += 1
        policy = self._policies[digest]
        counted = _Counted(policy.policy if isinstance(policy, Watched) else policy, self._steps)
        return play(self._game, Watched(counted) if isinstance(policy, Watched) else counted, seeds, record)


@dataclass(frozen=True)
class _Counted:
    """A policy that counts its steps where the process that waits for it can see them."""

    policy: Policy
    steps: Any  # a number in shared memory

    def begin(self, seeds: np.ndarray) -> Policy:
        return _Counted(self.policy.begin(seeds) if isinstance(self.policy, SeededPolicy) else self.policy, self.steps)

    def act(self, observations: Observations) -> np.ndarray:
        self.steps.value += 1
        return self.policy.act(observations)
