"""Rollouts on a Ray cluster: actors on its nodes keep a game warm; seeds go there, rollouts come back.

An actor or a node that is lost is replaced, and what it played is played again: rollouts depend on their seeds alone,
so the trees are the same as with worker processes on one machine. Ray is imported when an engine is made, not before.
"""

from __future__ import annotations

import os
import pickle
import platform
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hydraviper.data import InputError, JobError, Rollouts
from hydraviper.engines.pieces import ATTEMPTS, Done, PieceEngine, Work
from hydraviper.engines.workers import KEPT_POLICIES, Pickled, keep
from hydraviper.memory import peak_megabytes
from hydraviper.protocols import Game, Policy
from hydraviper.rollout import play
from hydraviper.version import __version__

REACHED = 5.0  # seconds in which a cluster must answer
LOOK = 5.0  # seconds between two looks at actors that start
NOBODY = 300.0  # seconds without any actor until a run gives up: so long nodes may take to come back
STILL_AT_LEAST, STILL_TIMES = 600.0, 20.0  # seconds, or times the longest piece, after which a piece counts as lost
ADVICE = "look for a crash of the simulator or too little memory on a node"


class RayEngine(PieceEngine):
    """Plays with actors of a Ray cluster, as many as are asked for or as its nodes have cores.

    Without an address, a cluster of this machine is started, and ended when the engine is closed.
    """

    def __init__(self, make_game: Callable[[], Game], address: str | None = None, workers: int | None = None) -> None:
        game = make_game()
        self._ray = _CLUSTER.join(address)
        self._actors: list[_Actor] = []
        _ENGINES.add(self)
        try:
            cores = int(self._ray.cluster_resources().get("CPU", 0))
            if not cores:
                raise InputError("the Ray cluster has no cores to play with: start its nodes with --num-cpus.")
            super().__init__(game, max(1, min(workers or cores, cores)))
            self._actor_class = self._ray.remote(num_cpus=1, max_restarts=0)(Player)
            self._make_game = pickle.dumps(make_game)
            self._policies: dict[str, object] = {}  # digest -> where the cluster keeps the policy
            self._longest = 0.0  # seconds that a piece took
        except BaseException:
            self.close()
            raise

    def each(self, pieces: Sequence[Work], done: Done | None = None) -> list[Rollouts]:
        """Play pieces of work; `done` is told of each as soon as it is played, in whatever order that is."""
        call = _Call(pieces, deque(range(len(pieces))), [0] * len(pieces))
        try:
            while len(call.rollouts) < len(pieces):
                self._employ(call)
                for actor in self._heard(call):
                    number = self._answer(actor, call)
                    if number is not None and done is not None:
                        done(number, call.rollouts[number])
        except BaseException:  # also Ctrl-C
            self.close()
            raise
        for digest in [*self._policies][:-KEPT_POLICIES]:  # the cluster's memory is not for every student there was
            del self._policies[digest]
        return [call.rollouts[number] for number in range(len(pieces))]

    def close(self) -> None:
        """End the actors, and the cluster if it was started here."""
        if self in _ENGINES:
            self._dismiss(self._actors)
            _ENGINES.remove(self)
            _CLUSTER.leave()

    def _dismiss(self, actors: Sequence[_Actor]) -> None:
        for actor in tuple(actors):
            self._actors.remove(actor)
            self._ray.kill(actor.handle)

    def _employ(self, call: _Call) -> None:
        """As many actors as there is work for; a piece for everyone who has none and is ready."""
        while len(self._actors) < min(self.workers, len(call.waiting) + sum(a.busy for a in self._actors)):
            for other in _ENGINES - {self}:  # whoever waits holds a core
                other._dismiss([actor for actor in other._actors if not actor.busy])
            handle = self._actor_class.options(scheduling_strategy="SPREAD").remote(self._make_game)
            self._actors.append(_Actor(handle, handle.about.remote()))
        for actor in self._actors:
            if actor.answer is None and call.waiting:
                number = call.waiting.popleft()
                policy, seeds, record = call.pieces[number]
                digest = self._kept(call, policy)
                actor.answer = actor.handle.play.remote(digest, [self._policies[digest]], seeds, record)
                actor.number, actor.since = number, time.monotonic()

    def _kept(self, call: _Call, policy: Policy) -> str:
        """The digest of a policy that lies in the cluster's memory, put there once."""
        digest = call.digests.get(id(policy))
        if digest is None:
            pickled = Pickled.of(policy)
            digest = call.digests[id(policy)] = pickled.digest
            if digest not in self._policies:
                self._policies[digest] = self._ray.put(pickled.body)
        return digest

    def _heard(self, call: _Call) -> list[_Actor]:
        """Wait until somebody answers: those who did, and those who have been silent for too long."""
        by_answer = {actor.answer: actor for actor in self._actors if actor.answer is not None}
        ready, _ = self._ray.wait([*by_answer], num_returns=1, timeout=LOOK)
        if ready:
            call.since = time.monotonic()
            return [by_answer[one] for one in ready]
        now, limit = time.monotonic(), max(STILL_AT_LEAST, STILL_TIMES * self._longest)
        if not any(actor.ready for actor in self._actors) and now - call.since > NOBODY:
            raise JobError(
                f"no node of the cluster has had room for a worker for {NOBODY:.0f} seconds: see `ray status`."
            )
        return [actor for actor in self._actors if actor.number is not None and now - actor.since > limit]

    def _answer(self, actor: _Actor, call: _Call) -> int | None:
        """The number of the piece that an actor has played, if it has; one that is lost is played again."""
        answer, number, actor.answer, actor.number = actor.answer, actor.number, None, None
        lost = self._ray.exceptions
        try:
            result = self._ray.get(answer, timeout=LOOK)
        except (lost.RayActorError, lost.WorkerCrashedError, lost.OutOfMemoryError, lost.ObjectLostError) as error:
            return self._lost(actor, number, call, type(error).__name__)
        except lost.GetTimeoutError:
            return self._lost(actor, number, call, "no answer")
        except lost.RayTaskError as error:
            raise _told(error) from None
        if number is None:
            actor.ready, call.stillborn = True, 0
            _check(result)
            return None
        self._longest = max(self._longest, time.monotonic() - actor.since)
        call.rollouts[number], actor.megabytes = result
        self.megabytes = max(self.megabytes, sum(one.megabytes for one in self._actors))
        return number

    def _lost(self, actor: _Actor, number: int | None, call: _Call, what: str) -> None:
        self._dismiss([actor])
        if number is None:  # another one is started in its place
            call.stillborn += 1
            if call.stillborn >= ATTEMPTS * self.workers:
                raise JobError(f"workers of the cluster end before they can play ({what}): {ADVICE}.")
            return
        call.attempts[number] += 1
        call.waiting.appendleft(number)
        if call.attempts[number] >= ATTEMPTS:
            seed = call.pieces[number][1][0]
            raise JobError(f"a worker was lost {ATTEMPTS} times at the same rollout (seed {seed}, {what}): {ADVICE}.")


@dataclass(eq=False)
class _Actor:
    """A worker of the cluster, as the driver sees it."""

    handle: Any
    answer: Any  # what it has been asked last: about itself at first
    number: int | None = None  # of the piece that it plays
    since: float = 0.0  # when it was given the piece
    ready: bool = False  # has told about itself
    megabytes: float = 0.0  # the most memory that it has held, as it tells with each answer

    @property
    def busy(self) -> bool:
        return self.number is not None


@dataclass
class _Call:
    """One call of `each`: the pieces, and how far they are."""

    pieces: Sequence[Work]
    waiting: deque[int]
    attempts: list[int]
    rollouts: dict[int, Rollouts] = field(default_factory=dict)
    digests: dict[int, str] = field(default_factory=dict)
    since: float = field(default_factory=time.monotonic)  # when somebody answered last
    stillborn: int = 0  # actors that were lost before they told about themselves, since the last that did


class Player:
    """An actor: a game, and the policies that it was asked to play last."""

    def __init__(self, make_game: bytes) -> None:
        self._make_game, self._game = make_game, None
        self._policies: dict[str, Policy] = {}

    def about(self) -> tuple[str, str, str]:
        """Which machine, and which versions, it is."""
        return platform.node(), __version__, platform.python_version()

    def play(self, digest: str, body: list[Any], seeds: np.ndarray, record: bool) -> tuple[Rollouts, float]:
        """Play one episode per seed; the policy is fetched from the cluster's memory unless it is at hand.

        The rollouts, and the most megabytes that this actor has held.
        """
        import ray

        if self._game is None:
            self._game = _made(self._make_game)
        if digest not in self._policies:
            keep(self._policies, digest, pickle.loads(ray.get(body[0])))
        return play(self._game, self._policies[digest], seeds, record), peak_megabytes()


def _made(make_game: bytes) -> Game:
    try:
        return pickle.loads(make_game)()
    except (InputError, ImportError) as error:
        raise InputError(f"the node {platform.node()} cannot play: {error}") from None


def _told(error: Any) -> Exception:
    """What went wrong on a node, in one sentence if a user can do something about it."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, InputError | JobError):
        return type(cause)(str(cause))
    return JobError(f"a worker of the cluster failed with {type(cause).__name__}: {cause}")


def _check(about: tuple[str, str, str]) -> None:
    """Refuse a node that might play another game under the same name."""
    node, version, python = about
    here = platform.python_version()
    if version != __version__ or python.split(".")[:2] != here.split(".")[:2]:
        raise InputError(
            f"the node {node} has hydraviper {version} on Python {python}, this machine {__version__} on {here}: "
            "install the same on all."
        )


class _Cluster:
    """The cluster that engines of this process share; the last one leaves it, and ends it if it was started here."""

    def __init__(self) -> None:
        self._engines, self._ours = 0, False

    def join(self, address: str | None) -> Any:
        """Ray, connected to the cluster at an address, or to one that is started on this machine."""
        try:
            import ray
        except ImportError:
            raise InputError("--engine ray needs the package ray: install hydraviper[ray].") from None
        if not ray.is_initialized():  # else it is another engine's, or the caller's own
            _connect(ray, address)
            self._ours = True
        self._engines += 1
        return ray

    def leave(self) -> None:
        """One engine less."""
        import ray

        self._engines -= 1
        if self._ours and not self._engines:
            ray.shutdown()
            self._ours = False


_CLUSTER = _Cluster()
_ENGINES: set[RayEngine] = set()  # that are open


def _connect(ray: Any, address: str | None) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address is not None and address != "auto":
        _reach(address)
    place: dict[str, str | bool] = {"address": address or "local"} | ({} if address else {"include_dashboard": False})
    try:
        ray.init(**place, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        ray.shutdown()
        words = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(
            f"there is no Ray cluster to be had ({words[0]}): start one with `ray start --head`."
        ) from None


def _reach(address: str) -> None:
    """Refuse an address where nobody answers, before Ray waits for it."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise InputError(f"--address must be HOST:PORT, as `ray start --head` prints it, or auto; not {address!r}.")
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACHED).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"nobody answers at {address} ({error}): start a cluster with `ray start --head`.") from None
