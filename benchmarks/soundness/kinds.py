"""The kinds of cases, each drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.soundness.cases import SIGNS, Case, Draft, FactDraft, RuleDraft, Writer
from benchmarks.soundness.sums import Condition, Name, Plus
from benchmarks.soundness.worlds import ACTIONS, Being, Draw, Feature, Points, World, draw_derived, draw_tree, limits
from hydraviper.data import Knowledge

# kind -> whether every joint observation is tried, whether conditions are about one feature each
KINDS = {
    "counts": (True, False),  # whole numbers, few values
    "counts, distances": (True, False),
    "counts, facts": (True, False),
    "floats": (True, False),  # a few neighbouring float32
    "floats, distances": (True, False),
    "floats, facts": (True, False),
    "denormals": (True, False),
    "denormals, facts": (True, False),
    "large whole numbers": (False, False),  # up to 1000: z3 and samples
    "real, simple": (False, True),  # z3's floating point and samples
    "real, linear": (False, False),  # samples
    "real, distances": (False, False),
    "real, facts": (False, False),
    "counts, huge": (True, False),  # about 2**24, where float32 has no longer every whole number
}


def make(kind: str, seed: int) -> Case:
    """The case of a kind with a seed."""
    draw = np.random.default_rng([seed, list(KINDS).index(kind)])
    _, simple = KINDS[kind]
    world = _world(draw, kind)
    numbers = _numbers(draw, world)
    for being in world.beings:
        being.tree = draw_tree(draw, _thresholds(draw, world, being), int(draw.integers(1, 5)))
    anchor = _sample(draw, world, 1)  # most conditions and facts are true there, so that some rules apply
    properties = [_anchored(draw, _property(draw, world, numbers, simple, k), anchor) for k in range(2)]
    facts = []
    if kind.endswith("facts"):
        drawn = [_fact(draw, world, numbers) for _ in range(int(draw.integers(1, 4)))]
        facts = [fact for one in drawn if (fact := _true_fact(draw, one, anchor)) is not None]
    return Case(kind, seed, world, properties, facts)


def _anchored(draw: Draw, draft: Draft, anchor: Points) -> Draft:
    """The property with comparisons turned around where they are false at an observation, mostly."""
    cases = list(draft.cases(anchor.world.beings))
    if not cases or draw.random() < 0.15:
        return draft
    team, values, _ = cases[int(draw.integers(0, len(cases)))]
    at = replace(anchor.place(), owner=team[0], values=values)
    for rule in draft.rules:
        for k, one in enumerate(rule.when):
            others = [other for other in rule.when if other is not one]
            rule.when[k] = _turned(draw, one, lambda turned, others=others: turned.holds(at, others))
    return draft


def _turned(draw: Draw, one: Condition, true: Callable[[Condition], Any]) -> Condition:
    for _ in range(8):
        if bool(np.all(true(one))):
            return one
        one = replace(one, operators=tuple(str(s) for s in draw.choice(SIGNS[:4], len(one.operators))))
    return one


def _true_fact(draw: Draw, fact: FactDraft, anchor: Points) -> FactDraft | None:
    """The fact with comparisons turned so that it is true at an observation; None if that does not help."""
    for part in fact.either:
        for k, one in enumerate(part):

            def true(turned: Condition) -> Any:
                alone = replace(fact, either=[[turned]])
                places = (replace(anchor.place(), owner=o, values=v) for o, v in fact.cases(anchor.world.beings))
                return np.array([bool(alone.true(at, "strict")[0]) for at in places])

            part[k] = _turned(draw, one, true)
            if not true(part[k]).all() and draw.random() < 0.9:
                return None
    return fact


def _world(draw: Draw, kind: str) -> World:
    count = int(draw.choice([1, 2, 3], p=[0.5, 0.35, 0.15]))
    names = ["cat-0", "cat-1", "dog-0"] if draw.random() < 0.7 else ["cat-0", "dog-0", "cat-1"]
    world = World([], "")
    features = _features(draw, kind, count)
    domains = []
    for i in range(count):
        own = [Feature(f.name, f.values, f.low, f.high) for f in features]
        derived = draw_derived(draw, len(own), kind.endswith("distances") or draw.random() < 0.1)
        if kind == "real, simple":
            derived = [one for one in derived if all(term[0] != "distance" for term in one[1])]
        world.beings.append(Being(names[i], own, derived, None))  # type: ignore[arg-type]
    if count > 1:  # what every agent has by name
        world.beings = [Being(b.name, b.features, world.beings[0].derived, b.tree) for b in world.beings]
    for feature in features:
        text, known = limits(draw, feature, "*")
        world.domains += text
        domains += [] if known is None else [known]
    world.knowledge = Knowledge(tuple(domains))
    return world


def _features(draw: Draw, kind: str, agents: int) -> list[Feature]:
    most = {1: 3, 2: 3, 3: 2}[agents]
    width = int(draw.integers(2, most + 1))
    if kind.startswith("counts"):
        values = {1: 6, 2: 3, 3: 3}[agents]
        names = ["queue a", "queue b", "light"][:width]
        made = []
        for name in names:
            values_kind = "flag" if name == "light" else str(draw.choice(["count", "whole"]))
            low = 0 if values_kind != "whole" else int(draw.integers(-3, 2))
            if kind.endswith("huge") and values_kind == "count" and draw.random() < 0.7:
                low = 2**24 + int(draw.choice([-2, 0, 2]))
            high = 1 if values_kind == "flag" else low + int(draw.integers(1, values))
            high += high % 2 if high > 2**24 else 0
            made.append(Feature(name, values_kind, float(low), float(high)))
        return made
    if kind == "large whole numbers":
        size = float(draw.choice([50, 200, 1000]))
        low = -size if draw.random() < 0.5 else 0.0
        return [Feature(name, "whole", low, size) for name in ["queue a", "queue b", "light"][:width]]
    names = ["place x", "place y", "queue a"][:width]
    if kind.startswith("real"):
        size = float(draw.choice([1, 2, 20]))
        made = [Feature(name, "real", -size if draw.random() < 0.7 else 0.0, size) for name in names]
    else:
        steps = {1: 6, 2: 4, 3: 2}[agents]
        made = [_floats(draw, name, kind, steps) for name in names]
    if draw.random() < 0.4:
        made[-1] = Feature(names[-1], "count", 0.0, float(draw.integers(1, 3)))
    return made


def _floats(draw: Draw, name: str, kind: str, most: int) -> Feature:
    """A feature of a few neighbouring float32."""
    around = (
        0.0
        if kind.startswith("denormals")
        else float(draw.choice([0.0, 1.0, 0.1, -1.0, 3.0, 2.0**24, -0.1, 1e6, 0.5, 2.0]))
    )
    low = high = np.float32(around)
    for _ in range(int(draw.integers(1, most + 1))):
        if draw.random() < 0.5:
            low = np.nextafter(low, np.float32(-np.inf))
        else:
            high = np.nextafter(high, np.float32(np.inf))
    return Feature(name, "real", float(low), float(high))


def _sample(draw: Draw, world: World, count: int) -> Points:
    rows = {}
    for i, being in enumerate(world.beings):
        columns = []
        for f in being.features:
            if f.whole:
                columns.append(draw.integers(int(f.low), int(f.high) + 1, count).astype(np.float32))
            else:
                raw = draw.uniform(f.low, f.high, count)
                raw = np.where(draw.random(count) < 0.5, raw, np.round(raw * 4) / 4).astype(np.float32)
                columns.append(np.clip(raw, np.float32(f.low), np.float32(f.high)))
        rows[i] = np.stack(columns, axis=1)
    return Points(world, rows)


def _numbers(draw: Draw, world: World) -> list[float]:
    """Numbers near which something happens: values of features and what derives from them."""
    points = _sample(draw, world, 8)
    values = np.concatenate([points.columns[i].ravel() for i in points.columns])
    ends = [v for being in world.beings for f in being.features for v in (f.low, f.high)]
    return [float(v) for v in draw.choice(values, 12)] + ends + [0.0, 1.0, -1.0]


def _thresholds(draw: Draw, world: World, being: Being) -> list[list[float]]:
    points = _sample(draw, world, 12)
    i = world.beings.index(being)
    made = []
    for k in range(len(being.names)):
        column = points.columns[i][:, k]
        ends = [being.features[k].low, being.features[k].high] if k < len(being.features) else [0.0]
        half = [float(v) + 0.5 for v in column[:3]] if being.whole(k) else []
        made.append([*column.tolist(), *ends, *half])
    return made


def _property(draw: Draw, world: World, numbers: list[float], simple: bool, k: int) -> Draft:
    writer = Writer(draw, world, numbers, simple)
    names = [being.name for being in world.beings]
    features = world.beings[0].names
    each: dict[str, tuple[str, list[str]]] = {}
    together = len(names) > 1 and draw.random() < 0.5
    extra: list[str] = []
    if draw.random() < 0.2:
        pattern = str(draw.choice([p for p in ("queue *", "place *", "gap *") if world.beings[0].members(p)] or ["*"]))
        each["m"] = ("feature", [pattern])
        extra.append(pattern.replace("*", "{m}"))
    if draw.random() < 0.15:
        each["w"] = ("word", [str(n) for n in draw.choice(features, 2)])
        extra.append("{w}")
    own = [*features, *extra * 3]
    agent = agents = None
    if together:
        agents = _team(draw, names, each)
        writer.words = [(one, own) for one in agents]
        if draw.random() < 0.15:
            writer.words.append((names[int(draw.integers(0, len(names)))], list(features)))
    else:
        agent = [None, ["cat-*"], [names[0]], ["*"], ["cat-*", "*-0"]][int(draw.integers(0, 5))]
        writer.words = [(None, own)] * 3
        if len(names) > 1 and draw.random() < 0.3:  # another agent's feature in a rule of its own
            writer.words.append((names[int(draw.integers(0, len(names)))], list(features)))
    rules = []
    for _ in range(int(draw.choice([1, 1, 1, 2]))):
        mode = str(draw.choice(["never", "action"]))
        if agents is None:
            actions = {"": _actions(draw)}
        else:
            chosen = [one for one in agents if draw.random() < 0.8] or agents[:1]
            actions = {one: _actions(draw) for one in chosen}
        rules.append(RuleDraft(writer.when(), mode, actions))
    return Draft(f"property {k}", each, agent, agents, rules, bool(draw.random() < 0.5))


def _team(draw: Draw, names: list[str], each: dict[str, tuple[str, list[str]]]) -> list[str]:
    """Who a property is about together, by name or by variables; adds these to `each`."""
    cats = [name for name in names if name.startswith("cat")]
    way = draw.random()
    if way < 0.35 and len(cats) > 1:
        each |= {"i": ("agent", ["cat-*"]), "j": ("agent", ["cat-*"])}
        return ["cat-{i}", "cat-{j}"]
    if way < 0.6 and len(cats) < len(names):
        each |= {"i": ("agent", ["cat-*"]), "j": ("agent", ["dog-*"])}
        return ["cat-{i}", "dog-{j}"]
    if way < 0.7 and len(names) > 1:
        each |= {"i": ("agent", ["*-0"]), "j": ("agent", ["cat-*"])}
        return ["dog-0", "cat-{j}"] if "dog-0" in names else ["cat-0", "cat-1"]
    return [str(name) for name in draw.permutation(names)[: int(draw.integers(2, len(names) + 1))]]


def _actions(draw: Draw) -> list[str]:
    return [str(a) for a in draw.choice([*ACTIONS, "go *"], int(draw.integers(1, 3)))]


def _fact(draw: Draw, world: World, numbers: list[float]) -> FactDraft:
    writer = Writer(draw, world, numbers, False)
    names = [being.name for being in world.beings]
    features = world.beings[0].names
    if len(names) > 1 and draw.random() < 0.7:  # a tie between agents
        each: dict[str, tuple[str, list[str]]] = {"i": ("agent", ["*"]), "j": ("agent", ["*"])}
        way = draw.random()
        one, two = (Name("{i}", str(draw.choice(features))), Name("{j}", str(draw.choice(features))))
        if way < 0.4:
            made = Condition((Plus(((1, one),)), Plus(((1, Name("{j}", one.feature)),))), ("==",))
        elif way < 0.7:
            made = Condition((Plus(((1, one), (-1, two))), writer.side()), writer.signs(1))
        else:
            writer.words = [("{i}", features), ("{j}", features)]
            made = writer.condition()
            if not list(made.sides[0].names()) and not list(made.sides[1].names()):
                made = Condition((Plus(((1, one), (-1, two))), writer.side()), ("<=",))
        return FactDraft(each, None, [[made]])
    writer.words = [(None, features)]
    either = [
        [writer.condition(str(draw.choice(["", "", "every", "some"]))) for _ in range(int(draw.integers(1, 3)))]
        for _ in range(int(draw.choice([1, 1, 2])))
    ]
    return FactDraft({}, [str(draw.choice(["*", "cat-*"]))], either)
