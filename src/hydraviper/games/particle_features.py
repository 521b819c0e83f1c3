"""What the agents of particle worlds see: the names of their features, and derived ones worth asking for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, permutations

from hydraviper.data import Agent, Derived, Term

ACTIONS = ("stay", "left", "right", "down", "up")
MOST_MATCHED = 5  # agents among whom landmarks are divided in all ways: 24 of them for each landmark
COASTING = (3, 5, 8)  # how many times the way to a landmark is set against an agent's speed


def navigator(i: int, agents: int) -> Agent:
    """An agent of cooperative navigation, among as many landmarks as agents."""
    others = [f"agent {j}" for j in range(agents) if j != i]
    features = (
        *("velocity x", "velocity y", "position x", "position y"),
        *_pairs(*(f"landmark {k}" for k in range(agents)), *others),
        *(f"{other} word {w}" for other in others for w in (0, 1)),
    )
    return Agent(f"agent-{i}", features, ACTIONS)


def deceiver(i: int, names: Sequence[str], landmarks: int) -> Agent:
    """An agent of physical deception: the adversary is number 0, the others see the goal as well."""
    goal = ["goal"] if i > 0 else []
    others = [name.replace("-", " ") for j, name in enumerate(names) if j != i]
    return Agent(names[i], _pairs(*goal, *(f"landmark {k}" for k in range(landmarks)), *others), ACTIONS)


def _pairs(*names: str) -> tuple[str, ...]:
    return tuple(f"{name} {axis}" for name in names for axis in ("dx", "dy"))


def derived(agent: Agent, landmarks: int) -> tuple[Derived, ...]:
    """Numbers that help to divide landmarks among agents, and to stop at one where agents see their velocity."""
    first_columns = {name.removesuffix(" dx"): k for k, name in enumerate(agent.features) if name.endswith(" dx")}
    marks = [first_columns.pop(f"landmark {k}") for k in range(landmarks)]
    first_columns.pop("goal", None)
    return _dividing(marks, first_columns) + (_coasting(marks) if "velocity x" in agent.features else ())


def navigation_lines(agents: int) -> str:
    """What to ask in cooperative navigation: what it costs the team if I take a landmark, and which way to go."""
    marks, lines = range(agents), ["# What it costs the team if I take a landmark: the least sum of all ways then."]
    for i in marks if 1 < agents <= MOST_MATCHED else ():
        others = [j for j in marks if j != i]
        lines += [f"for agent-{i}:", *(f"{COST} {k} = {_team_cost(k, others)}" for k in marks)]
    lines.append("for *:")
    if 1 < agents <= MOST_MATCHED:
        for k in marks:
            rest = ", ".join(f"[{COST} {m}]" for m in marks if m != k)
            lines.append(f"{COST} {k} less the best other = [{COST} {k}] - {f'min({rest})' if agents > 2 else rest}")
        pairs = combinations(marks, 2) if agents > 2 else ()
        lines += [f"{COST} {k} less {m} = [{COST} {k}] - [{COST} {m}]" for k, m in pairs]
    lines.append(
        "# Which way to go: along which axis a landmark is farther, and on which side, speed taken into account."
    )
    for k in marks:
        lines += _ways(f"landmark {k}", *(f"8 * [landmark {k} d{axis}] - [velocity {axis}]" for axis in "xy"))
    return "\n".join(lines)


def deception_lines(defenders: int) -> str:
    """What to ask in physical deception: who covers the goal, who draws the adversary away, and which way to go.

    With two landmarks the decoy is the one that is not the goal; among more it is the middle of those.
    """
    share = f" / {defenders - 1}" if defenders > 2 else ""
    lines = ["# The decoy is the landmark that is not the goal, or the middle of those.", "for defender-*:"]
    lines += [f"decoy d{axis} = (sum [landmark * d{axis}] - [goal d{axis}]){share}" for axis in "xy" if defenders > 1]
    lines.append("# Who covers the goal: my way there and another's to the decoy, less both swapped.")
    decoy, way = "([decoy dx], [decoy dy])", "distance([goal])"
    for j in range(1, defenders + 1) if defenders > 1 else ():
        other = f"distance([goal], [defender {j}])"
        lines.append(f"my way to the goal less defender {j}'s = {way} - {other}")
        swapped = f"distance({decoy}) - {other}"
        lines.append(
            f"goal for me, decoy for defender {j}, less swapped = {way} + distance({decoy}, [defender {j}]) - {swapped}"
        )
    lines.append("# Whether the adversary is on to the goal.")
    spied = "distance([goal], [adversary])"
    lines += [f"adversary's way to the goal = {spied}", f"adversary's way to the goal less mine = {spied} - {way}"]
    lured = f"adversary's way to the goal less to the decoy = {spied} - distance({decoy}, [adversary])"
    lines += [lured] if defenders > 1 else []
    lines.append("# Which way to go.")
    lines += _ways("goal", "[goal dx]", "[goal dy]")
    lines += _ways("decoy", "[decoy dx]", "[decoy dy]") if defenders > 1 else []
    return "\n".join(lines)


def _ways(name: str, x: str, y: str) -> list[str]:
    """Two questions that tell the best of four directions: right, left, up or down."""
    y = f"({y})" if "-" in y else y
    return [f"{name} right plus up = {x} + {y}", f"{name} right less up = {x} - {y}"]


COST = "team's way if I take landmark"


def _team_cost(k: int, others: Sequence[int]) -> str:
    """The least total distance over all assignments of landmarks that give me landmark k."""
    marks = [m for m in (*others, *_missing(others)) if m != k]
    ways = [
        " + ".join(f"distance([landmark {m}], [agent {j}])" for j, m in zip(others, order, strict=True))
        for order in permutations(marks)
    ]
    rest = ways[0] if len(ways) == 1 else f"min({', '.join(ways)})"
    return f"distance([landmark {k}]) + {rest}"


def _missing(others: Sequence[int]) -> list[int]:
    """The number that is left out."""
    return [j for j in range(len(others) + 1) if j not in others]


def _dividing(landmarks: Sequence[int], others: Mapping[str, int]) -> tuple[Derived, ...]:
    """What tells who should take which landmark, from the first columns of landmarks and of other agents.

    Per landmark: its distance, how much farther each other agent is from it, along which axis it is farther away. Per
    two landmarks: how much farther the first is, and how much longer two ways are, one's own to the first and another
    agent's to the second, than swapped.
    """
    features = []
    for k, at in enumerate(landmarks):
        features.append(Derived(f"distance to landmark {k}", (_distance(at),)))
        for name, other in others.items():
            terms = _distance(at, other), _distance(at, sign=-1)
            features.append(Derived(f"{name}'s distance to landmark {k} less own", terms))
        features.append(Derived(f"landmark {k} |dx| less |dy|", (Term("size", (at,)), Term("size", (at + 1,), -1))))
    for (k, first), (m, second) in combinations(enumerate(landmarks), 2):
        terms = _distance(first), _distance(second, sign=-1)
        features.append(Derived(f"distance to landmark {k} less to landmark {m}", terms))
        for name, other in others.items():
            here = _distance(first), _distance(second, other)
            swapped = _distance(second, sign=-1), _distance(first, other, sign=-1)
            features.append(Derived(f"landmark {k} here and {m} for {name} less swapped", here + swapped))
    return tuple(features)


def _coasting(landmarks: Sequence[int]) -> tuple[Derived, ...]:
    """Where a landmark will lie as seen from where an agent's speed carries it, some of it braked away.

    An agent that does nothing coasts 0.3 seconds of its speed: 3 times the way less the speed is 0 where it would stop
    just there. Larger multiples leave room for braking.
    """
    return tuple(
        Derived(
            f"{n} times landmark {k} d{axis} less velocity {axis}",
            (*(Term("value", (at + d,)),) * n, Term("value", (d,), -1)),
        )
        for k, at in enumerate(landmarks)
        for d, axis in enumerate("xy")
        for n in COASTING
    )


def _distance(point: int, other: int | None = None, sign: int = 1) -> Term:
    """How far away a point is, from oneself or from another one, by their first columns."""
    columns = (point, point + 1) if other is None else (point, point + 1, other, other + 1)
    return Term("distance", columns, sign)
