"""What is true of every observation in the particle worlds, for proofs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from hydraviper.data import Domain, Fact, Knowledge

AXES = ("x", "y")


def farthest(horizon: int, force: float, time_step: float, damping: float) -> tuple[float, float]:
    """The largest coordinate and speed of an agent that starts at rest within [-1, 1] under a constant force."""
    position, speed = 1.0, 0.0
    for _ in range(horizon):
        speed = speed * (1.0 - damping) + force * time_step
        position += speed * time_step
    # a little more than physics allows, because floating point rounds
    return position * (1 + 1e-6), speed * (1 + 1e-6)


def navigation(agents: int, position: float, speed: float) -> Knowledge:
    """Cooperative navigation, for agents whose coordinates and speeds stay within these limits."""
    domains = (
        Domain(("position *",), least=-position, most=position),
        Domain(("velocity *",), least=-speed, most=speed),
        Domain(tuple(f"landmark {k} d*" for k in range(agents)), least=-position - 1, most=position + 1),
        *(
            Domain(names, least=low, most=high)
            for i in range(agents)
            for names, low, high in (
                ((f"agent {i} d*",), -2 * position, 2 * position),
                ((f"agent {i} word *",), 0.0, 0.0),  # nobody speaks
            )
            if agents > 1
        ),
    )
    facts: list[str] = []
    for d in AXES:
        for i in range(agents):
            me = f"agent-{i}"
            # landmarks lie in the arena
            facts += [f"-1 <= [{me}: landmark {k} d{d}] + [{me}: position {d}] <= 1" for k in range(agents)]
        for i, j in combinations(range(agents), 2):
            me, other = f"agent-{i}", f"agent-{j}"
            facts.append(f"[{me}: agent {j} d{d}] == - [{other}: agent {i} d{d}]")
            facts.append(f"[{me}: agent {j} d{d}] == [{other}: position {d}] - [{me}: position {d}]")
            things = [f"landmark {k}" for k in range(agents)] + [f"agent {m}" for m in range(agents) if m not in (i, j)]
            facts += [
                f"[{me}: {thing} d{d}] + [{me}: position {d}] == [{other}: {thing} d{d}] + [{other}: position {d}]"
                for thing in things
            ]
    return Knowledge(domains, tuple(Fact(((text,),)) for text in facts))


def deception(defenders: Sequence[int], landmarks: int, position: float) -> Knowledge:
    """Physical deception, for the defenders of these numbers, who see everything relative to themselves."""
    domains = (
        Domain(("goal d*", *(f"landmark {k} d*" for k in range(landmarks))), least=-position - 1, most=position + 1),
        Domain(
            ("adversary d*", *(f"defender {k} d*" for k in defenders if len(defenders) > 1)),
            least=-2 * position,
            most=2 * position,
        ),
    )
    who = ("defender-*",)
    facts = [
        Fact(tuple(tuple(f"[goal d{d}] == [landmark {k} d{d}]" for d in AXES) for k in range(landmarks)), who),
        *(
            Fact(((f"-2 <= [landmark {k} d{d}] - [landmark {m} d{d}] <= 2",),), who)  # the arena is 2 wide
            for k, m in combinations(range(landmarks), 2)
            for d in AXES
        ),
    ]
    for i, j in combinations(defenders, 2):
        me, other = f"defender-{i}", f"defender-{j}"
        things = ["goal", "adversary", *(f"landmark {k}" for k in range(landmarks))]
        things += [f"defender {m}" for m in defenders if m not in (i, j)]
        for d in AXES:
            way = f"[{me}: defender {j} d{d}]"
            facts.append(Fact(((f"{way} == - [{other}: defender {i} d{d}]",),)))
            facts += [Fact(((f"[{me}: {thing} d{d}] == {way} + [{other}: {thing} d{d}]",),)) for thing in things]
    return Knowledge(domains, tuple(facts))
