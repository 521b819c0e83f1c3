"""Experts from elsewhere by name: `sb3:FILE.zip`, `onnx:FILE`, ...; `AGENT=KIND:FILE,AGENT=random` for one each."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hydraviper.data import InputError
from hydraviper.experts import callables, onnx_policies, recorded, rllib_policies, sb3_policies, torch_policies
from hydraviper.experts.adapted import PREFERENCES, VALUES, AdaptedQ, ways
from hydraviper.experts.exploring import RandomQ
from hydraviper.experts.found import Found, Wanted
from hydraviper.experts.local_q import LocalQ, LocalQExpert
from hydraviper.kernels.chains import ACTIVATIONS
from hydraviper.outside import EXPERTS, added, loaded
from hydraviper.protocols import Game, offers

READERS: dict[str, Callable[[Path, Wanted], Found]] = {
    "sb3": sb3_policies.read,
    "torch": torch_policies.read,
    "onnx": onnx_policies.read,
    "rllib": rllib_policies.read,
    "rollouts": recorded.read,
}
PYTHON, RANDOM = "python", "random"
OPTIONS = {  # what may be written behind a file's name, for which kinds, and its values if they are few
    "activation": (("torch",), ACTIVATIONS),
    "answers": (("torch", "onnx"), (PREFERENCES, VALUES)),
    "output": (("onnx",), ()),
    "module": (("rllib",), ()),
}
RUNS_CODE = (PYTHON, "rllib")  # kinds that always do


@dataclass(frozen=True)
class Part:
    """Who plays some of the agents."""

    agents: str  # a name or a pattern
    kind: str  # of READERS, PYTHON, RANDOM, or added by another package
    place: str = ""  # a file, a folder or a name
    options: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        options = "".join(f",{key}={value}" for key, value in self.options.items())
        return self.kind if self.kind == RANDOM else f"{self.kind}:{self.place}{options}"

    @property
    def whole(self) -> "Part":
        """The same with the whole path of its file, if it has one."""
        if self.kind not in READERS or not Path(self.place).exists():
            return self
        return replace(self, place=str(Path(self.place).resolve()))


def is_name(text: str) -> bool:
    """Tell whether --expert names an expert from elsewhere, and no file of ours or expert that ships."""
    return not Path(text).exists() and (":" in text or "=" in text or text == RANDOM)


def parts_of(text: str) -> tuple[Part, ...]:
    """Read `KIND:PLACE` or `AGENT=KIND:PLACE,AGENT=random`, with options behind each place."""
    if re.match(r"[\w.-]+:", text) or text == RANDOM:
        place, options = text, {}
        while found := re.fullmatch(rf"(.*),({'|'.join(OPTIONS)})=([^,]*)", place):
            place, options[found[2]] = found[1], found[3]
        return (_part("*", place, options),)
    parts: list[Part] = []
    for word in text.split(","):
        key, equals, value = word.partition("=")
        if not equals or not key or not value:
            raise InputError(f"{word!r} does not say who plays whom: write AGENT=KIND:FILE, with commas between.")
        if key in OPTIONS and parts:
            last = parts.pop()
            parts.append(_part(last.agents, f"{last.kind}:{last.place}", {**last.options, key: value}))
        else:
            parts.append(_part(key, value, {}))
    return tuple(parts)


def _part(agents: str, text: str, options: Mapping[str, str]) -> Part:
    kind, _, place = text.partition(":")
    known = (*READERS, PYTHON)
    if text != RANDOM and kind not in known:
        known = (*known, *added(EXPERTS))
    if text != RANDOM and (kind not in known or not place):
        raise InputError(f"there is no expert {text!r}: write {RANDOM} or KIND:FILE, of the kinds {', '.join(known)}.")
    for name, value in options.items():
        kinds, values = OPTIONS[name]
        if kind not in kinds:
            raise InputError(f"{kind} experts have no {name}: write {kind}:{place} without it.")
        if values and value not in values:
            raise InputError(f"{name} {value!r} is unknown: choose one of {', '.join(values)}.")
    return Part(agents, kind, place, options)


def absolute(text: str) -> str:
    """The same expert with whole paths, so that a later command finds it from any folder."""
    parts = parts_of(text)
    return str(parts[0].whole) if parts[0].agents == "*" else ",".join(f"{one.agents}={one.whole}" for one in parts)


def runs_code(text: str) -> bool:
    """Tell whether an expert cannot be opened without running somebody's code."""
    return any(part.kind not in READERS or part.kind in RUNS_CODE for part in parts_of(text) if part.kind != RANDOM)


def load(text: str, game: Game, trust: bool = False) -> LocalQExpert | Any:
    """An expert from elsewhere, fitted to a game; files that run code when they are loaded only if they are trusted.

    What is returned is a `LocalQExpert`, or a policy that a package or a module of the user's makes for all agents.
    """
    parts = parts_of(text)
    made = {part: _made(part, game) for part in parts if part.kind not in READERS and part.kind != RANDOM}
    if len(parts) == 1 and hasattr(made.get(parts[0]), "act"):
        return made[parts[0]]
    players = [_player(game, i, parts) for i in range(len(game.agents))]
    found: dict[str, str] = {}
    notes, gammas, q_functions = [], [], []
    for i, part in enumerate(players):
        q, about = _q_of(game, i, part, made.get(part), trust)
        q_functions.append(q)
        if about is not None:
            found[str(part.whole)] = about.contents
            notes += [about.note] if about.note else []
            gammas += [about.gamma] if about.gamma is not None else []
    about = {"game": game.name, "parameters": dict(game.parameters), "algorithm": _kinds(players)}
    about |= {"name": absolute(text), "contents": found, "notes": notes}
    if gammas:
        about["settings"] = {"gamma": min(gammas)}
    return LocalQExpert(tuple(q_functions), about)


def _kinds(players: list[Part]) -> str:
    return ", ".join(dict.fromkeys(part.kind for part in players))


def _player(game: Game, i: int, parts: tuple[Part, ...]) -> Part:
    """Who plays agent i: the first whose pattern fits its name."""
    foreign = offers(game).foreign
    names = {game.agents[i].name, *((foreign.agents[i],) if foreign is not None else ())}
    part = next((part for part in parts if any(fnmatchcase(name, part.agents) for name in names)), None)
    if part is None:
        raise InputError(f"nobody plays {game.agents[i].name} of {game.name}: add {game.agents[i].name}=KIND:FILE.")
    if part.kind == RANDOM and any(i in team for team in game.teams):
        raise InputError(
            f"{game.agents[i].name} would act at random, and there is nothing to distil in that: leave it out of the "
            "game's teams (distil=NAME), or name its expert."
        )
    return part


def _made(part: Part, game: Game) -> Any:
    """What a module of the user's or another package makes."""
    if part.kind == PYTHON:
        return callables.named(part.place)
    return loaded(added(EXPERTS)[part.kind])(game, part.place)


def _q_of(game: Game, i: int, part: Part, made: object, trust: bool) -> tuple[LocalQ, Found | None]:
    """Agent i's policy, and what was found in its file."""
    agent, foreign = game.agents[i], offers(game).foreign
    sizes = len(agent.features), len(agent.actions)
    if part.kind == RANDOM:
        return RandomQ(i, *sizes, foreign), None
    if part.kind not in READERS:
        if not callable(made):
            raise InputError(f"{part} is no function of an observation, and cannot play {agent.name} alone.")
        load = partial(callables.named, part.place) if part.kind == PYTHON else partial(callables.itself, made)
        q = callables.adapt(game, i, load, callables.contents(part.place))
        return q, Found(q.network, q.answers, q.digest)
    path = Path(part.place)
    if not path.exists() and part.kind != "rollouts":
        raise InputError(f"there is no file {path}: check the path of the expert {part}.")
    found = READERS[part.kind](path, Wanted(game, i, part.options, trust))
    return _fitted_to(game, i, part, found), found


def _fitted_to(game: Game, i: int, part: Part, found: Found) -> AdaptedQ:
    """A policy that was found, shown what it was trained on; refuses one whose sizes do not fit the agent's."""
    agent, foreign = game.agents[i], offers(game).foreign
    possible = ways(foreign, i, len(agent.features))
    fitting = [way for way, size in possible.items() if found.inputs in (None, size)]
    shown = found.shown or (fitting[0] if fitting else None)
    if shown is None or found.outputs not in (None, len(agent.actions)):
        raise _does_not_fit(game, i, part, found)
    sizes = len(agent.features), len(agent.actions)
    digest = f"{found.contents} {part.options}"
    q = AdaptedQ(found.network, *sizes, found.answers, shown=shown, agent=i, foreign=foreign, digest=digest)
    if found.inputs is None or found.outputs is None:
        _try(game, i, part, q)
    return q


def _does_not_fit(game: Game, i: int, part: Part, found: Found) -> InputError:
    agent, foreign = game.agents[i], offers(game).foreign
    sees = " or ".join(map(str, dict.fromkeys(ways(foreign, i, len(agent.features)).values())))
    inputs = "any number of" if found.inputs is None else found.inputs
    outputs = "any number of" if found.outputs is None else found.outputs
    return InputError(
        f"{part} takes {inputs} numbers and chooses among {outputs} actions, but {agent.name} of {game.name} sees "
        f"{sees} and has {len(agent.actions)}: pass an expert of this game, or say who plays whom "
        f"({agent.name}=KIND:FILE,...)."
    )


def _try(game: Game, i: int, part: Part, q: AdaptedQ) -> None:
    """Ask once where a policy does not say its sizes."""
    try:
        q.asked(np.zeros((1, q.features), np.float32), np.ones((1, q.actions), bool))
    except InputError:
        raise
    except Exception as error:
        words = " ".join(str(error).split())[:200]
        raise InputError(f"{part} cannot be asked what {game.agents[i].name} of {game.name} does ({words}).") from None
