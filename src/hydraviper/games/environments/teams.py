"""Who is distilled in an environment of several agents, and how its episodes are scored."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from hydraviper.data import InputError, Score, Team

SCORES = ("mean", "total", "penalty", "lead")


def group(name: str) -> str:
    """What agents that play the same part have in common: their name without the number behind it."""
    return re.sub(r"[_\- ]*\d+$", "", name) or name


def teams_of(game: str, names: Sequence[str], distil: str | None) -> tuple[Team, ...]:
    """The teams that are distilled; default: the agents that play the same part as the first one.

    `adversary` stands for adversary_0, adversary_1, ... `a+b` is one team, `a/b` are two, `all` is a team of everybody.
    """
    if distil is None:
        return (tuple(i for i, name in enumerate(names) if group(name) == group(names[0])),)
    if distil == "all":
        return (tuple(range(len(names))),)
    teams = []
    for words in distil.split("/"):
        members = [i for word in words.split("+") for i in _meant(game, names, word.strip())]
        teams.append(tuple(sorted(set(members))))
    return tuple(teams)


def _meant(game: str, names: Sequence[str], word: str) -> list[int]:
    """The agents that a word stands for."""
    meant = [i for i, name in enumerate(names) if name == word] or [
        i for i, name in enumerate(names) if group(name) == word
    ]
    if not meant:
        known = list(dict.fromkeys([*map(group, names), *names, "all"]))
        close = difflib.get_close_matches(word, known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"distil some of {', '.join(known[:12])}."
        raise InputError(f"{game} has no agent {word!r}: {hint}")
    return meant


def scored(kind: str, agents: int, teams: Sequence[Team]) -> Score:
    """What people read: the distilled agents' mean or total return, its negative, or their lead over all others."""
    distilled = {i for team in teams for i in team}
    share = 1.0 if kind in ("total", "penalty") else 1.0 / len(distilled)
    sign = -1.0 if kind == "penalty" else 1.0
    weights = [sign * share if i in distilled else 0.0 for i in range(agents)]
    if kind == "lead":
        others = agents - len(distilled)
        if not others:
            raise InputError("score=lead compares with agents that are not distilled, but all are: see distil=NAME.")
        weights = [weight or -1.0 / others for weight in weights]
    name = {"mean": "mean return", "total": "total return", "penalty": "total penalty", "lead": "lead in mean return"}
    words = "return" if agents == 1 and kind in ("mean", "total") else name[kind]
    return Score(words, "", lower_is_better=kind == "penalty", weights=tuple(weights))
