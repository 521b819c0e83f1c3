"""Rollouts that are never played twice: every one goes into a journal as soon as it is played.

Where a rollout takes seconds, a run that was killed must not start from its beginning. Rollouts depend on the game,
the policy and the seed alone, so a journal that knows them by these three answers in place of the simulator, bit for
bit. A record is written in one piece and checked when the journal is opened; whatever comes behind the first broken
one (a process that died while it wrote) is dropped.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import struct
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from hydraviper.data import Rollouts, naming
from hydraviper.engines.workers import Done, Work
from hydraviper.protocols import Engine, Policy

PLAYED_AGAIN = 4  # rollouts of a run that are played once more, to see whether seeds repeat
_MAGIC = b"ROLL"
_HEAD = struct.Struct("<4s32sQI")  # magic, key, length and checksum of what follows


@runtime_checkable
class PiecewiseEngine(Engine, Protocol):
    """An engine that tells of every piece of work as soon as it is played."""

    @property
    def workers(self) -> int:
        """How many games it plays at once."""
        ...

    def each(self, pieces: Sequence[Work], done: Done | None = None) -> list[Rollouts]:
        """Play pieces of work."""
        ...


def pickled_digest(policy: Policy) -> str:
    """A name for any policy that can be pickled, by its content."""
    return hashlib.sha256(pickle.dumps(policy, pickle.HIGHEST_PROTOCOL)).hexdigest()


class RememberedEngine:
    """Plays what the journal does not know by another engine, one rollout per piece of work."""

    def __init__(
        self,
        engine: PiecewiseEngine,
        path: Path,
        subject: str,
        digest: Callable[[Policy], str] = pickled_digest,
        charge: Callable[[float], None] = lambda seconds: None,
        others: Sequence[Path] = (),
    ) -> None:
        """`charge` is told the seconds of every rollout that is taken from before this engine was made, once.

        `others` are journals of finished runs; they are only read.
        """
        self._engine, self._subject, self._digest, self._charge = engine, subject, digest, charge
        self._journal = Journal(path)
        self._others = [Journal(other) for other in others]
        self.workers = engine.workers
        self.played = 0  # rollouts that had to be played
        self.remembered = 0  # rollouts that had not
        self.resumed = len(self._journal)  # rollouts that were there at the start
        self.borrowed = 0  # rollouts that another run had played
        self._samples: list[tuple[Work, Rollouts]] = []  # the first ones that were played here
        self._not_charged = set(self._journal.keys()).union(*(journal.keys() for journal in self._others))

    def play(self, policy: Policy, seeds: np.ndarray, record: bool = False) -> Rollouts:
        """Play one episode per seed; with `record`, keep the observations."""
        return self._answer([(policy, seeds, record)])[0]

    def play_many(self, policies: Sequence[Policy], seeds: Sequence[np.ndarray]) -> list[Rollouts]:
        """Play several policies, each on its own seeds, as one piece of work."""
        return self._answer([(policy, own, False) for policy, own in zip(policies, seeds, strict=True)])

    def _answer(self, groups: Sequence[Work]) -> list[Rollouts]:
        known: list[list[Rollouts | None]] = []
        missing: list[tuple[int, int]] = []  # group, episode
        names = [self._digest(policy) for policy, _, _ in groups]
        for group, (name, (_, seeds, record)) in enumerate(zip(names, groups, strict=True)):
            known.append([self._recall(name, int(seed), record) for seed in seeds])
            missing += [(group, episode) for episode, one in enumerate(known[-1]) if one is None]
        self.remembered += sum(len(own) for own in known) - len(missing)

        last = time.perf_counter()

        def remember(number: int, rollouts: Rollouts) -> None:
            nonlocal last
            group, episode = missing[number]
            _, seeds, record = groups[group]
            before, last = last, time.perf_counter()  # with several workers, its share of the time that passed
            key = self._key(names[group], int(seeds[episode]), record)
            self._journal.write(key, pack(rollouts, last - before))
            known[group][episode] = rollouts
            self.played += 1
            if len(self._samples) < PLAYED_AGAIN:
                self._samples.append((pieces[number], rollouts))

        pieces = [(groups[g][0], groups[g][1][e : e + 1], groups[g][2]) for g, e in missing]
        if missing:
            self._engine.each(pieces, remember)
        return [
            Rollouts.join([one for one in own if one is not None]) if own else self._engine.play(*work)
            for own, work in zip(known, groups, strict=True)
        ]

    def play_again(self) -> tuple[int, int]:
        """Play a few rollouts of before once more: how many came out differently, and of how many."""
        again = self._engine.each([work for work, _ in self._samples]) if self._samples else []
        changed = [pack(now) != pack(before) for now, (_, before) in zip(again, self._samples, strict=True)]
        return sum(changed), len(changed)

    def _recall(self, name: str, seed: int, record: bool) -> Rollouts | None:
        keys = [self._key(name, seed, wanted) for wanted in ((True,) if record else (False, True))]
        known = ((journal, key) for key in keys for journal in (self._journal, *self._others) if key in journal)
        journal, key = next(known, (None, b""))
        if journal is None:
            return None
        whole, seconds = unpack(journal.read(key))
        if key in self._not_charged:
            self._not_charged.remove(key)
            self._charge(seconds)
            self.borrowed += journal is not self._journal
        return whole if record else Rollouts(whole.returns, whole.lengths, measures=whole.measures, trace=whole.trace)

    def _key(self, name: str, seed: int, record: bool) -> bytes:
        return hashlib.sha256(f"{self._subject}\n{name}\n{seed}\n{record}".encode()).digest()


class Journal:
    """A file of checked records by their keys; it grows at the end only."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._at: dict[bytes, tuple[int, int]] = {}  # where each record's content is, and how long
        end = self._scan()
        if path.exists() and path.stat().st_size > end:
            with path.open("r+b") as file:
                file.truncate(end)

    def __len__(self) -> int:
        return len(self._at)

    def __contains__(self, key: bytes) -> bool:
        return key in self._at

    def keys(self) -> Iterator[bytes]:
        """The names of all records."""
        return iter(self._at)

    def write(self, key: bytes, content: bytes) -> None:
        """Add a record; it is in the file, and not in this process only, when this returns."""
        with naming(self.path), self.path.open("ab") as file:
            start = file.tell() + _HEAD.size
            file.write(_HEAD.pack(_MAGIC, key, len(content), zlib.crc32(key + content)) + content)
        self._at[key] = start, len(content)

    def read(self, key: bytes) -> bytes:
        """The content of a record that is there."""
        start, length = self._at[key]
        with self.path.open("rb") as file:
            file.seek(start)
            return file.read(length)

    def _scan(self) -> int:
        """Find all sound records; returns where they end."""
        if not self.path.exists():
            return 0
        with self.path.open("rb") as file:
            end = 0
            while len(head := file.read(_HEAD.size)) == _HEAD.size:
                magic, key, length, checksum = _HEAD.unpack(head)
                content = file.read(length) if magic == _MAGIC else b""
                if magic != _MAGIC or len(content) < length or zlib.crc32(key + content) != checksum:
                    break
                self._at[key] = end + _HEAD.size, length
                end += _HEAD.size + length
        return end


def pack(rollouts: Rollouts, seconds: float = 0.0) -> bytes:
    """Rollouts as bytes, every bit of them, and the seconds that they took; nothing is pickled."""
    arrays = {"returns": rollouts.returns, "lengths": rollouts.lengths, "names": np.array(list(rollouts.measures), str)}
    arrays |= {f"measure.{k}": values for k, values in enumerate(rollouts.measures.values())}
    arrays |= {f"seen.{i}": seen for i, seen in enumerate(rollouts.observations or ())}
    optional = {"rewards": rollouts.rewards, "trace": rollouts.trace}
    arrays |= {name: values for name, values in optional.items() if values is not None}
    arrays["seconds"] = np.array(seconds)
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def unpack(content: bytes) -> tuple[Rollouts, float]:
    """The rollouts that `pack` wrote, and their seconds."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        seen = tuple(arrays[f"seen.{i}"] for i in range(sum(name.startswith("seen.") for name in arrays.files)))
        measures = {str(name): arrays[f"measure.{k}"] for k, name in enumerate(arrays["names"])}
        rewards, trace = (arrays[name] if name in arrays.files else None for name in ("rewards", "trace"))
        seconds = float(arrays["seconds"]) if "seconds" in arrays.files else 0.0  # a journal of an older version
        return Rollouts(arrays["returns"], arrays["lengths"], seen or None, measures, rewards, trace), seconds
