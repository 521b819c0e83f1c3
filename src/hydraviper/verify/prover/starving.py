"""Whether signals can starve anybody: an answer for whole controllers, trees and state machines together.

With a max_red the state machine alone is proved to serve whoever waits. Without one the trees decide: a tree that keeps
to the phase that is green, choice after choice, starves whoever this phase does not serve.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hydraviper.controllers import LONGEST_MEMORY, Controller
from hydraviper.data import InputError
from hydraviper.expressions.parser import parse_conditions
from hydraviper.trees.tree import Tree
from hydraviper.verify import meaning
from hydraviper.verify.obligations import Obligation, Obligations, Service
from hydraviper.verify.prover.deadline import Deadline, OutOfTime
from hydraviper.verify.prover.machine import keeps_max_red
from hydraviper.verify.prover.search import SearchResult, find
from hydraviper.verify.verdicts import BROKEN, HOLDS, UNDECIDED, Counterexample, Verdict


@dataclass(frozen=True)
class Movement:
    """A movement at a signal."""

    feature: int  # that is above 0 while vehicles wait
    phases: frozenset[int]  # that serve it


@dataclass(frozen=True)
class Answer:
    """What is known of one movement."""

    outcome: str
    example: Counterexample | None = None
    problem: str | None = None


def verdict(obligations: Obligations, students: Mapping[int, Tree], deadline: Deadline) -> Verdict:
    """The verdict on the only property of the obligations, which is that nobody starves."""
    start = time.perf_counter()
    proofs: dict[object, bool | str] = {}  # signals that are alike are proved once
    answers = []
    for service in obligations.services:
        signal = _Signal(obligations, service, students[service.agent], deadline)
        answers += [signal.answer(movement, proofs) for movement in signal.movements]
    broken = sum(one.outcome == BROKEN for one in answers)
    kept = HOLDS if all(one.outcome == HOLDS for one in answers) else UNDECIDED
    unlimited = any(not service.controller.timing.max_red for service in obligations.services)
    problems = [_NO_LIMIT] if unlimited and (broken or kept == UNDECIDED) else []
    problems += dict.fromkeys(one.problem for one in answers if one.problem is not None)
    examples = tuple(one.example for one in answers if one.example is not None)
    spent = time.perf_counter() - start
    return Verdict(
        obligations.names[0], BROKEN if broken else kept, len(answers), broken, 0, examples, tuple(problems), spent
    )


class _Signal:
    """One signal's controller and tree."""

    def __init__(self, obligations: Obligations, service: Service, tree: Tree, deadline: Deadline) -> None:
        self.obligations, self.service, self.tree, self.deadline = obligations, service, tree, deadline
        self.controller: Controller = service.controller
        self.agent = obligations.scene.agents[service.agent]
        columns = zip(self.controller.seen_by, self.controller.served.T, strict=True)
        served = (Movement(seen, frozenset(column.nonzero()[0].tolist())) for seen, column in columns)
        self.movements = list(dict.fromkeys(served))

    def answer(self, movement: Movement, proofs: dict[object, bool | str]) -> Answer:
        """Whether whoever waits for a movement gets green."""
        words, name = self.words(movement), self.agent.features[movement.feature]
        if not movement.phases:
            return Answer(BROKEN, problem=f"{self.agent.name}: no phase lets somebody in {name!r} go")
        try:
            return self._by_machine(words, proofs) if self.controller.timing.max_red else self._by_tree(movement)
        except OutOfTime:
            return Answer(UNDECIDED, problem=f"undecided: {words}")

    def words(self, movement: Movement) -> str:
        """A movement, as a user knows it."""
        phases = " or ".join(str(phase + 1) for phase in sorted(movement.phases))
        return f"{self.agent.name}: somebody in {self.agent.features[movement.feature]!r} waits for phase {phases}"

    def _by_machine(self, words: str, proofs: dict[object, bool | str]) -> Answer:
        key = self.controller.served.tobytes(), self.controller.served.shape, self.controller.timing
        if key not in proofs:
            try:
                proofs[key] = keeps_max_red(self.controller, self.deadline)
            except InputError as error:  # z3 is not installed
                proofs[key] = str(error)
        proved = proofs[key]
        if proved is True:
            return Answer(HOLDS)
        return Answer(UNDECIDED, problem=proved if isinstance(proved, str) else f"undecided: {words}")

    def _by_tree(self, movement: Movement) -> Answer:
        """Follow the tree from choice to choice, while vehicles wait for a movement."""
        without = [phase for phase in range(len(self.controller.greens)) if phase not in movement.phases]
        settled = True
        for phase in without:
            obligation, found = self._search(movement, phase, phase, red_for=LONGEST_MEMORY)
            if found.seen is not None and self._stays(movement, phase, found.seen[self.service.agent]):
                actions = meaning.actions(obligation, found.seen, {self.service.agent: self.tree})
                return Answer(BROKEN, Counterexample(obligation, found.seen, actions))
            settled = settled and found.empty
        ways = {
            phase: {other for other in without if other != phase and not self._search(movement, phase, other)[1].empty}
            for phase in without
        }
        if settled and not _circles(ways):
            return Answer(HOLDS)
        return Answer(UNDECIDED, problem=f"undecided: {self.words(movement)}")

    def _stays(self, movement: Movement, phase: int, seen: np.ndarray) -> bool:
        """Whether the tree keeps to a phase from the moment it takes over, all detectors as seen or as it may be."""
        phases = len(self.controller.greens)
        for seconds in range(0, LONGEST_MEMORY, self.controller.timing.step) if self.controller.memory else ():
            earlier = seen.copy()
            earlier[phases : 2 * phases] = seconds
            earlier[phases + phase] = 0
            if self.tree.predict(earlier[None])[0] != phase:
                _, found = self._search(movement, phase, phase, red_for=seconds)
                if found.seen is None:
                    return False
        return True

    def _search(
        self, movement: Movement, shown: int, chosen: int, red_for: int | None = None
    ) -> tuple[Obligation, SearchResult]:
        """An observation at which the tree chooses one phase while another one is shown and vehicles wait.

        `red_for` is how long all phases but the one that is shown have been red; None: for any time.
        """
        features, phases = self.agent.features, range(len(self.controller.greens))
        texts = [f"[{features[movement.feature]}] >= 1"]
        texts += [f"[{features[phase]}] == {int(phase == shown)}" for phase in phases]
        if self.controller.memory and red_for is not None:
            names = features[len(phases) : 2 * len(phases)]
            texts += [f"[{name}] == {0 if phase == shown else red_for}" for phase, name in enumerate(names)]
        when = parse_conditions(texts, self.obligations.scene.scope, self.service.agent)
        words = f"{self.words(movement)}, and phase {shown + 1} may stay for ever"
        bad = frozenset({chosen})
        obligation = Obligation(self.service.property, words, (self.service.agent,), when, (bad,))
        trees, forbidden = {self.service.agent: self.tree}, [(self.service.agent, bad)]
        return obligation, find(self.obligations.world, obligation, trees, forbidden, self.deadline)


_NO_LIMIT = "max_red is 0, so only the trees end a red: make the game with a max_red, such as max_red=120"


def _circles(ways: Mapping[int, set[int]]) -> bool:
    """Whether one can walk for ever."""
    left = dict(ways)
    while ends := [place for place, others in left.items() if not others & set(left)]:
        for place in ends:
            del left[place]
    return bool(left)
