"""The prover against means that share nothing with it: random cases, and every shipped property proved again.

`python -m benchmarks.soundness` is the long way.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from benchmarks.soundness.checks import one
from benchmarks.soundness.kinds import KINDS

import hydraviper
from hydraviper.data import Agent, Fact
from hydraviper.rollout import play
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.trees.tree import LEAF, Tree
from hydraviper.verify.facts import RandomisedTrees, check_facts
from hydraviper.verify.obligations import obligations_for
from hydraviper.verify.prover.proof import verify
from hydraviper.verify.repair import repair
from tests.helpers.trees import random_tree

pytestmark = pytest.mark.slow

GAMES = (
    "cooperative-navigation",
    "cooperative-navigation:agents=1",
    "cooperative-navigation:agents=2,physics=mpe2",
    "cooperative-navigation:agents=3,horizon=200",
    "cooperative-navigation:agents=5",
    "physical-deception",
    "physical-deception:defenders=1",
    "physical-deception:defenders=3",
    "physical-deception:horizon=200",
)


@pytest.mark.parametrize("kind", KINDS)
def test_random_cases(kind):
    verdicts = [verdict for seed in range(6) for verdict in one((kind, 50_000 + seed))]
    assert [verdict for verdict in verdicts if verdict.wrong] == []
    assert {verdict.answer for verdict in verdicts} - {"undecided", "refused"}


# --------------------------------------------------------------------------- what games say of their values


def full_tree(agent: Agent, draw: np.random.Generator) -> Tree:
    return random_tree(agent, draw, 3, splits=1.0, thresholds=lambda size: draw.uniform(-1.5, 1.5, size).round(2))


def trees_for(game: hydraviper.Game, draw: np.random.Generator) -> dict[int, Tree]:
    members = sorted(i for team in game.teams for i in team)
    return {i: full_tree(game.agents[i], draw) for i in members}


def observations_of(game: hydraviper.Game, students: Mapping[int, Tree], episodes: int = 20) -> list[np.ndarray]:
    """By agent, [S, F]: half of the actions at random, half by the trees."""
    policy = RandomisedTrees(game, students, np.random.default_rng(5))
    rollouts = play(game, policy, rollout_seeds(5, Purpose.VERIFY, 0, episodes), record=True)
    assert rollouts.observations is not None
    return [np.asarray(seen, np.float32) for seen in rollouts.observations]


def fits(pattern: str, name: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".+"), name) is not None


def limits(game: Any, i: int, name: str) -> tuple[float, float]:
    """A feature's least and largest value, by the game's own word."""
    low, high = -1e6, 1e6
    for domain in game.offers.knowledge.domains:
        whose = any(fits(pattern, game.agents[i].name) for pattern in domain.agent)
        if whose and any(fits(pattern, name) for pattern in domain.features):
            low = max(low, -1e6 if domain.least is None else float(np.float32(domain.least)))
            high = min(high, 1e6 if domain.most is None else float(np.float32(domain.most)))
    return low, high


def comparisons(game: Any, fact: Fact) -> Iterator[list[list[tuple[str, str, str, list[tuple[int, str]]]]]]:
    """A fact's cases: lists of alternatives, each a list of comparisons (left, operator, right, names), as Python."""
    named = any(": " in text for part in fact.either for text in part)
    distilled = sorted(i for team in game.teams for i in team)
    owners = [i for i in distilled if any(fits(p, game.agents[i].name) for p in fact.agent)]
    names = [agent.name for agent in game.agents]
    for owner in [None] if named else owners:
        case = []
        for part in fact.either:
            made = []
            for text in part:
                pieces = re.split(r"(<=|==)", text)
                for left, sign, right in zip(pieces[::2], pieces[1::2], pieces[2::2], strict=False):
                    found = []
                    for name in re.findall(r"\[(.+?)\]", left + right):
                        agent, _, feature = name.rpartition(": ")
                        found.append((names.index(agent) if agent else owner, feature))
                    sides = [re.sub(r"\[(?:.+?: )?(.+?)\]", "v[{}]", side) for side in (left, right)]
                    numbers = itertools.count()
                    sides = [re.sub(r"\{\}", lambda _, n=numbers: str(next(n)), side).strip() for side in sides]
                    made.append((sides[0], sign, sides[1], found))
            case.append(made)
        yield case


def true(comparison: tuple[str, str, str, list[tuple[int, str]]], value: Any) -> bool:
    """Whether a fact's comparison is true up to one float32 step of each feature."""
    left, sign, right, names = comparison
    seen = [value(*name) for name in names]
    v = [Fraction(float(x)) for x in seen]
    room = sum((Fraction(float(np.spacing(np.abs(x)))) for x in seen), Fraction(0))
    away = Fraction(eval(left, {"v": v})) - Fraction(eval(right, {"v": v}))
    return abs(away) <= room if sign == "==" else away <= room


@pytest.mark.parametrize("spec", GAMES)
def test_what_a_game_says_of_its_values_is_true(spec):
    game: Any = hydraviper.make(spec)
    students = trees_for(game, np.random.default_rng(1))
    assert check_facts(obligations_for(game, students=students), game, students, 20) > 0
    seen = observations_of(game, students)
    for i in students:
        for k, name in enumerate(game.agents[i].features):
            low, high = limits(game, i, name)
            assert low <= seen[i][:, k].min()
            assert seen[i][:, k].max() <= high
    cases = [case for fact in game.offers.knowledge.facts for case in comparisons(game, fact)]
    columns = {i: {name: k for k, name in enumerate(game.agents[i].features)} for i in students}
    for row in np.random.default_rng(2).choice(len(seen[0]), 25):
        for case in cases:
            at = partial(_value, seen, columns, row)
            assert any(all(true(each, at) for each in part) for part in case), case


def _value(seen: list[np.ndarray], columns: Mapping[int, Mapping[str, int]], row: int, i: int, name: str) -> np.float32:
    return seen[i][row, columns[i][name]]


# --------------------------------------------------------------------------- shipped properties, proved again


@dataclass(frozen=True)
class Plain:
    """A shipped rule, written here a second time: limits of features, and who must not do what at once."""

    property: str
    when: tuple[tuple[int, str, str, float], ...]  # agent, feature, operator, number
    bad: Mapping[int, str]


FURTHER = (("x", ">", "right", "left"), ("y", ">", "up", "down"))


def navigation(agents: int) -> Iterator[Plain]:
    for i, (axis, _, up, down) in itertools.product(range(agents), FURTHER):
        yield Plain("outside", ((i, f"position {axis}", ">", 1.0),), {i: up})
        yield Plain("outside", ((i, f"position {axis}", "<", -1.0),), {i: down})
    for i, j in itertools.permutations(range(agents), 2):
        for along, across, up, down in (("x", "y", "right", "left"), ("y", "x", "up", "down")):
            ahead, beside = f"agent {j} d{along}", f"agent {j} d{across}"
            near = ((i, ahead, ">", 0.0), (i, ahead, "<=", 0.35), (i, beside, ">=", -0.1), (i, beside, "<=", 0.1))
            yield Plain("side by side", near, {i: up, j: down})
    for team in itertools.combinations(range(agents), 3):
        far = tuple((i, f"landmark {k} dx", ">=", 0.5) for i in team for k in range(agents))
        yield Plain("three", far, dict.fromkeys(team, "left"))


def deception(defenders: list[int], landmarks: int) -> Iterator[Plain]:
    for i, k, (axis, _, up, down) in itertools.product(defenders, range(landmarks), FURTHER):
        yield Plain("outside", ((i, f"landmark {k} d{axis}", "<", -2.0),), {i: up})
        yield Plain("outside", ((i, f"landmark {k} d{axis}", ">", 2.0),), {i: down})
    for (i, j), (axis, _, up, down) in itertools.product(itertools.combinations(defenders, 2), FURTHER):
        yield Plain("both run", tuple((n, f"goal d{axis}", ">=", 0.5) for n in (i, j)), {i: down, j: down})
        yield Plain("both run", tuple((n, f"goal d{axis}", "<=", -0.5) for n in (i, j)), {i: up, j: up})


def plain_rules(game: Any) -> list[Plain]:
    if game.name == "cooperative-navigation":
        return list(navigation(len(game.agents)))
    defenders = sorted(i for team in game.teams for i in team)
    landmarks = sum(name.startswith("landmark") for name in game.agents[defenders[0]].features) // 2
    return list(deception(defenders, landmarks))


COMPARE = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


def violated(game: Any, rule: Plain, seen: Mapping[int, np.ndarray], students: Mapping[int, Tree]) -> np.ndarray:
    """At which rows a rule is violated; trees are walked here, one question after the other."""
    total = np.ones(len(next(iter(seen.values()))), bool)
    for i, name, sign, number in rule.when:
        total &= COMPARE[sign](seen[i][:, game.agents[i].features.index(name)].astype(np.float64), number)
    for i, action in rule.bad.items():
        total &= np.array([walked(students[i], row) for row in seen[i]]) == game.agents[i].actions.index(action)
    return total


def walked(tree: Tree, row: np.ndarray) -> int:
    node = 0
    while tree.feature[node] != LEAF:
        node = tree.left[node] if row[tree.feature[node]] <= tree.threshold[node] else tree.right[node]
    return int(tree.action[node])


class Geometry:
    """A game's observations as real numbers for z3: surely outside of what can occur, or surely within."""

    def __init__(self, game: Any, students: Mapping[int, Tree], margin: float) -> None:
        import z3

        self.z3, self.game, self.students, self.margin = z3, game, students, margin
        self.solver = z3.Solver()
        self.solver.set("timeout", 20_000)
        self.names = {i: {n: z3.Real(f"{i} {n}") for n in game.agents[i].features} for i in students}
        for i, own in self.names.items():
            for name, variable in own.items():
                low, high = limits(game, i, name)
                self.solver.add(variable >= low, variable <= high)
        room = 0.0 if margin > 0 else 1e-3  # far more than rounding
        for fact in game.offers.knowledge.facts:
            for case in comparisons(game, fact):
                self.solver.add(z3.Or(*(z3.And(*(self._fact(one, room) for one in part)) for part in case)))

    def _fact(self, comparison: tuple[str, str, str, list[tuple[int, str]]], room: float) -> Any:
        left, sign, right, names = comparison
        v = [self.names[i][name] for i, name in names]
        away = eval(left, {"v": v}) - eval(right, {"v": v})
        if sign == "==":
            return self.z3.And(away <= room, away >= -room)
        # a fact that is a limit: within it by the margin, so that rounding breaks nothing
        return away <= room - self.margin

    def possible(self, rule: Plain) -> str:
        z3, parts = self.z3, []
        for i, name, sign, number in rule.when:
            here = self.names[i][name]
            parts.append(here >= number + self.margin if sign[0] == ">" else here <= number - self.margin)
        for i, action in rule.bad.items():
            parts.append(self._answers(i, 0, self.game.agents[i].actions.index(action)))
        return str(self.solver.check(*(z3.And(part) for part in parts)))

    def _answers(self, i: int, node: int, action: int) -> Any:
        z3, tree = self.z3, self.students[i]
        if tree.feature[node] == LEAF:
            return z3.BoolVal(int(tree.action[node]) == action)
        here = self.names[i][self.game.agents[i].features[tree.feature[node]]]
        border = z3.Q(*Fraction(float(tree.threshold[node])).as_integer_ratio())
        left, right = (self._answers(i, int(side[node]), action) for side in (tree.left, tree.right))
        beyond = here > border + self.margin if self.margin > 0 else here >= border
        return z3.Or(z3.And(here <= border - self.margin, left), z3.And(beyond, right))


@pytest.mark.parametrize("spec", [game for game in GAMES if "agents=5" not in game])
def test_shipped_properties_are_proved_again(spec):
    game: Any = hydraviper.make(spec)
    students = trees_for(game, np.random.default_rng(3))
    rules = obligations_for(game, students=students)
    seen = observations_of(game, students)
    mended = repair(rules, students, dict(enumerate(seen)), 8).students
    plain = plain_rules(game)
    for trees in (students, mended):
        wide, narrow = Geometry(game, trees, 0.0), Geometry(game, trees, 1e-3)
        for answer, name in zip(verify(rules, trees), dict.fromkeys(rule.property for rule in plain), strict=False):
            own = [rule for rule in plain if rule.property == name]
            assert answer.cases == len(own)
            for example in answer.counterexamples:
                rows = {i: row[None] for i, row in example.observations.items()}
                involved = [r for r in own if {*r.bad, *(w[0] for w in r.when)} <= set(rows)]
                assert any(violated(game, rule, rows, trees)[0] for rule in involved)
            real = dict(enumerate(seen))
            if answer.outcome in ("holds", "applies nowhere"):
                assert not any(violated(game, rule, real, trees).any() for rule in own)
                assert "sat" not in [narrow.possible(rule) for rule in own]
            if answer.outcome == "broken":
                assert "sat" in [wide.possible(rule) for rule in own]
            assert answer.outcome != "undecided"
    assert "broken" not in [answer.outcome for answer in verify(rules, mended)]


# --------------------------------------------------------------------------- signals


class Crossing:
    """What one signal can see, as whole numbers for z3, and the two shipped properties, written a second time."""

    def __init__(self, game: Any, i: int, tree: Tree) -> None:
        import z3

        self.z3, self.tree, self.served = z3, tree, np.asarray(game.offers.graph.served[i])
        phases, movements = self.served.shape
        names = [z3.Int(name) for name in game.agents[i].features]
        self.names, self.queues = names, names[phases : phases + movements]
        self.solver = z3.Solver()
        self.solver.add(z3.Sum(names[:phases]) <= 1, *(z3.And(one >= 0, one <= 1) for one in names[:phases]))
        for queue, moving, pressure in zip(
            self.queues, names[phases + movements :], names[phases + 2 * movements :], strict=False
        ):
            self.solver.add(queue >= 0, queue <= 10**6, moving >= 0, moving <= 10**6)
            self.solver.add(pressure >= -(10**6), pressure <= queue)

    def cases(self, heavy: bool) -> list[bool]:
        """For every movement that some phase lets go: whether the tree can starve it."""
        found = []
        for g in np.flatnonzero(self.served.any(axis=0)):
            others = [queue for k, queue in enumerate(self.queues) if k != g]
            when = [self.queues[g] >= 20, self.z3.Sum(others) <= 2] if heavy else [self.queues[g] >= 10]
            when += [] if heavy else [other == 0 for other in others]
            starving = self._answers(0, set(np.flatnonzero(~self.served[:, g]).tolist()))
            found.append(str(self.solver.check(*when, starving)) == "sat")
        return found

    def _answers(self, node: int, actions: set[int]) -> Any:
        tree, z3 = self.tree, self.z3
        if tree.feature[node] == LEAF:
            return z3.BoolVal(int(tree.action[node]) in actions)
        left = self.names[tree.feature[node]] <= int(np.floor(float(tree.threshold[node])))
        return z3.If(left, *(self._answers(int(side[node]), actions) for side in (tree.left, tree.right)))


def test_signals_are_proved_again():
    game: Any = hydraviper.make("ingolstadt-corridor:memory=0")
    draw = np.random.default_rng(4)
    students = {}
    for i, agent in enumerate(game.agents):
        tree = full_tree(agent, draw)
        students[i] = replace(tree, threshold=np.where(tree.feature == LEAF, 0, tree.threshold * 8 + 8).astype("f"))
    seen = observations_of(game, students, 1)
    for i, (phases, movements) in enumerate(np.asarray(served).shape for served in game.offers.graph.served):
        flags, counts = seen[i][:, :phases], seen[i][:, phases:]
        assert set(np.unique(flags)) <= {0, 1}
        assert (flags.sum(axis=1) <= 1).all()
        assert (counts % 1 == 0).all()
        assert (counts[:, : 2 * movements] >= 0).all()
        assert (counts[:, 2 * movements :] <= counts[:, :movements]).all()
    rules = obligations_for(game, students=students)
    mended = repair(rules, students, dict(enumerate(seen)), 8).students
    for trees in (students, mended):
        crossings = [Crossing(game, i, trees[i]) for i in sorted(trees)]
        for heavy, answer in enumerate(verify(rules.of_trees(), trees)):
            cases = [case for crossing in crossings for case in crossing.cases(bool(heavy))]
            assert answer.cases == len(cases)
            assert answer.broken == sum(cases)
            assert answer.outcome == ("broken" if any(cases) else "holds")
