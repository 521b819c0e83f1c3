"""Names that people understand for what agents see and do in the worlds of mpe2, taken from the world itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

MOVES = ("stay", "left", "right", "down", "up")
COLOURS = ("red", "green", "blue")
# What an agent sees in each world, in its order (see PARTS), and who gets trees if nobody says it.
WORLDS: dict[str, tuple[str, str]] = {
    "simple": ("velocity landmarks", "agent"),
    "simple_adversary": ("goal landmarks others", "agent"),
    "simple_crypto": ("", "bob+alice"),
    "simple_push": ("velocity goal colour landmarks colours others", "agent"),
    "simple_reference": ("velocity landmarks aim words", "all"),
    "simple_speaker_listener": ("velocity landmarks words", "all"),
    "simple_spread": ("velocity position landmarks others words", "agent"),
    "simple_tag": ("velocity position landmarks others speeds", "adversary"),
    "simple_world_comm": ("velocity position landmarks others speeds forests word", "leadadversary+adversary"),
    "simple_formation": ("velocity position landmarks", "agent"),
    "simple_line": ("velocity position landmarks", "agent"),
    "collect_treasure": ("position velocity load neighbours treasures", "all"),
}


def seen(name: str, world: Any, agent: Any) -> list[str]:
    """What an agent of a world sees."""
    if name == "simple_crypto":
        return _crypto(world, agent)
    if not agent.movable:  # a speaker sees nothing but what it is to tell
        return _pairs(["goal"], COLOURS)
    parts = WORLDS[name][0].split()
    if getattr(agent, "adversary", False):  # it must find out which the goal is
        parts = [part for part in parts if part not in ("goal", "colour", "colours")]
    elif name == "simple_world_comm":  # the prey hears no word of the leader's
        parts = ["velocity", "position", "landmarks", "others", "forests", "speeds"]
    others = [other for other in world.agents if other is not agent]
    return [words for part in parts for words in PARTS[part](world, agent, others)]


def done(world: Any, agent: Any) -> list[str]:
    """What an agent can do: move, say a word, or both at once (the move counts up first)."""
    words = [] if agent.silent else [f"say {word}" for word in range(world.dim_c)]
    if not agent.movable:
        return words
    return [f"{move}, {word}" for word in words for move in MOVES] if words else list(MOVES)


def _crypto(world: Any, agent: Any) -> list[str]:
    """Alice turns a message into words by a key that Bob has, too; Eve has only the words."""
    words, key = _words("alice 0", world.dim_c), [f"key {k}" for k in range(world.dim_c)]
    if agent.speaker:
        return [*(f"message {k}" for k in range(world.dim_c)), *key]
    return words if agent.adversary else [*key, *words]


def _pairs(names: Sequence[str], axes: Sequence[str] = ("dx", "dy")) -> list[str]:
    return [f"{name} {axis}" for name in names for axis in axes]


def _words(name: str, count: int) -> list[str]:
    return [f"{name} word {word}" for word in range(count)]


def _spoken(things: Sequence[Any]) -> list[str]:
    return [thing.name.replace("_", " ") for thing in things if not getattr(thing, "boundary", False)]


def _types(world: Any, name: str) -> list[str]:
    return [f"{name} {kind}" for kind in range(len(world.treasure_types))]


def _neighbours(world: object, agent: object, others: Sequence[object]) -> list[str]:
    """The other agents, the nearest one first: where, how fast, what they take or hold."""
    names: list[str] = []
    for k in range(1, len(others) + 1):
        near = f"neighbour {k}"
        names += [*_pairs([near]), *_pairs([near], ("velocity x", "velocity y"))]
        names += [*_types(world, f"{near} takes"), *_types(world, f"{near} holds")]
    return names


def _treasures(world: Any, agent: Any, others: Sequence[Any]) -> list[str]:
    """The treasures, the nearest one first: where, and of which kind."""
    count = sum(one.name.startswith("treasure") for one in world.landmarks)
    near = [f"treasure {k}" for k in range(1, count + 1)]
    return [words for name in near for words in (*_pairs([name]), *_types(world, f"{name} is of kind"))]


Part = Callable[[Any, Any, Sequence[Any]], list[str]]  # world, agent, others -> names
PARTS: dict[str, Part] = {
    "velocity": lambda world, agent, others: ["velocity x", "velocity y"],
    "position": lambda world, agent, others: ["position x", "position y"],
    "goal": lambda world, agent, others: _pairs(["goal"]),
    "colour": lambda world, agent, others: _pairs(["own"], COLOURS),
    "aim": lambda world, agent, others: _pairs(["other's goal"], COLOURS),
    "landmarks": lambda world, agent, others: _pairs(_spoken(world.landmarks)),
    "colours": lambda world, agent, others: _pairs(_spoken(world.landmarks), COLOURS),
    "others": lambda world, agent, others: _pairs(_spoken(others)),
    "words": lambda world, agent, others: [word for name in _spoken(others) for word in _words(name, world.dim_c)],
    "word": lambda world, agent, others: _words(_spoken(world.agents)[0], world.dim_c),
    "speeds": lambda world, agent, others: _pairs(
        _spoken([other for other in others if not other.adversary]), ("velocity x", "velocity y")
    ),
    "forests": lambda world, agent, others: [f"in {name}" for name in _spoken(world.forests)],
    "load": lambda world, agent, others: _types(world, "holds") if agent.collector else [],
    "neighbours": _neighbours,
    "treasures": _treasures,
}
