"""Names that people understand for environments that many use: of Gymnasium, PettingZoo's classic set and mpe2."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hydraviper.games.environments import particles


@dataclass(frozen=True)
class Known:
    """What is known of an environment."""

    seen: Mapping[str, Sequence[str]] = field(default_factory=dict)  # agent ("" for all) -> features, without a mask
    done: Mapping[str, Sequence[str]] = field(default_factory=dict)  # agent ("" for all) -> actions
    distil: str | None = None  # who gets trees if nobody says it
    steps: int | None = None  # after so many an episode is over

    def features(self, agent: str) -> Sequence[str]:
        """The names of an agent's features; none if they are not known."""
        return self.seen.get(agent, self.seen.get("", ()))

    def actions(self, agent: str) -> Sequence[str]:
        """The names of an agent's actions; none if they are not known."""
        return self.done.get(agent, self.done.get("", ()))


def _single(features: Sequence[str], actions: Sequence[str]) -> Known:
    return Known({"": features}, {"": actions})


GYMNASIUM: dict[str, Known] = {
    "CartPole": _single(
        ("cart position", "cart velocity", "pole angle", "pole turning speed"), ("push left", "push right")
    ),
    "Acrobot": _single(
        (
            *("cosine of upper angle", "sine of upper angle", "cosine of bend", "sine of bend"),
            *("upper turning speed", "bend turning speed"),
        ),
        ("turn back", "let go", "turn forth"),
    ),
    "MountainCar": _single(("position", "velocity"), ("push left", "let roll", "push right")),
    "LunarLander": _single(
        ("x", "height", "velocity x", "velocity y", "angle", "turning speed", "left leg down", "right leg down"),
        ("no engine", "left engine", "main engine", "right engine"),
    ),
    "FrozenLake": _single(("place",), ("left", "down", "right", "up")),
    "CliffWalking": _single(("place",), ("up", "right", "down", "left")),
    "Taxi": _single(("state",), ("south", "north", "east", "west", "pick up", "drop off")),
    "Blackjack": Known({"": ("own sum", "dealer's card", "usable ace")}, {"": ("stick", "hit")}, steps=21),
}


def known(instance: object) -> Known:
    """What is known of an environment, by the name that it bears; nothing of a stranger."""
    spec = getattr(instance, "spec", None)
    if spec is not None:
        return GYMNASIUM.get(re.sub(r"-v\d+$", "", str(getattr(spec, "id", "")).rpartition("/")[2]), Known())
    name = re.sub(r"_v\d+$", "", str((getattr(instance, "metadata", None) or {}).get("name", "")))
    if name in CLASSIC:
        return CLASSIC[name]()
    inner = getattr(instance, "unwrapped", None)
    world, scenario = getattr(inner, "world", None), getattr(inner, "scenario", None)
    if name not in particles.WORLDS or world is None:
        return Known()
    done = {agent.name: particles.done(world, agent) for agent in world.agents}
    limits = (getattr(scenario, f"num_{what}_neighbors", None) for what in ("agent", "landmark"))
    if any(limit is not None for limit in limits):  # what is seen is then sorted by nearness
        return Known({}, done, particles.WORLDS[name][1])
    seen = {agent.name: particles.seen(name, world, agent) for agent in world.agents}
    return Known(seen, done, particles.WORLDS[name][1])


def _tictactoe() -> Known:
    squares = [f"{column} {row}" for column in ("left", "middle", "right") for row in ("top", "centre", "bottom")]
    seen = [f"{whose} {square}" for square in squares for whose in ("mine", "theirs")]
    return Known({"": seen}, {"": squares}, "player_1", 9)


def _connect_four() -> Known:
    places = [f"column {column} height {height}" for height in range(6, 0, -1) for column in range(1, 8)]
    seen = [f"{whose} {place}" for place in places for whose in ("mine", "theirs")]
    return Known({"": seen}, {"": [f"column {column}" for column in range(1, 8)]}, "player_0", 42)


CLASSIC: dict[str, Callable[[], Known]] = {"tictactoe": _tictactoe, "connect_four": _connect_four}
