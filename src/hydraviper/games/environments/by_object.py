"""Environments by object: a game of what a user has made, or of a function that makes it."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from hydraviper.data import InputError
from hydraviper.games.environments.by_name import DRAWN, accepted, called, first_line, kind_of, package, parallel
from hydraviper.games.environments.by_name import registered as make_registered
from hydraviper.games.environments.game import Environments, Source
from hydraviper.games.environments.kinds import GymnasiumGame, PettingZooGame
from hydraviper.games.environments.options import NAMES, EnvironmentOptions, joined
from hydraviper.games.environments.repeats import check_repeats
from hydraviper.protocols import Game


def from_gymnasium(env: object, **options: object) -> Game:
    """A game of a Gymnasium environment, or of a function that makes one; options as in `gymnasium:ID,name=value`.

    steps: the longest episode; names: a file of names; discrete: number or flags; instances: how many one process
    plays in turn. A registered environment, or a function that can be imported, gives the game its name, so that run
    folders open again by themselves; else pass the game to `load_run`.
    """
    return _adapted(env, GymnasiumGame, options)


def from_pettingzoo(env: object, **options: object) -> Game:
    """A game of a PettingZoo environment (parallel or AEC), or of a function that makes one.

    Options as in `pettingzoo:MODULE,name=value`. distil: who gets trees; score: mean, total, penalty or lead; and
    those of `from_gymnasium`.
    """
    return _adapted(env, PettingZooGame, options)


def _adapted(env: Any, kind: type[Environments], options: Mapping[str, object]) -> Game:
    if unknown := [name for name in options if name not in NAMES]:
        raise InputError(f"there is no option {unknown[0]!r}: choose among {', '.join(NAMES)}.")
    chosen = EnvironmentOptions.of(options)
    is_object = hasattr(env, "step") and not isinstance(env, type)
    if not is_object and not callable(env):
        raise InputError(f"{env!r} is no environment and makes none: pass an environment or a function.")
    game = _game(env, chosen) if is_object else _game_of_factory(env, chosen)
    if not isinstance(game, kind):
        other = "from_gymnasium" if kind is PettingZooGame else "from_pettingzoo"
        raise InputError(f"{game.name} is an environment of the other kind: pass it to {other}.")
    check_repeats(game)
    return game


def _game_of_factory(make: Callable[[], Any], options: EnvironmentOptions) -> Environments:
    """A game of what a user's function makes; one that can be imported gives the game its name."""
    module, inside = getattr(make, "__module__", None), getattr(make, "__qualname__", "")
    importable = module not in (None, "__main__") and inside and "<" not in inside
    name = f"python:{module}:{inside}" if importable else inside.rpartition(".")[2].strip("<>") or type(make).__name__
    render = partial(called, make, name, DRAWN) if "render_mode" in accepted(make)[0] else None
    first = called(make, name, {})
    return kind_of(first, name)(Source(name, options.changed(), partial(called, make, name, {}), render), options)


def _game(env: object, options: EnvironmentOptions) -> Environments:
    """A game of instances like a user's object."""
    return _registered(env, options) or _copied(env, options)


def _registered(env: object, options: EnvironmentOptions) -> Environments | None:
    """A game of an environment that Gymnasium has made, without wrappers of the user's own: it has a name."""
    spec: Any = getattr(env, "spec", None)
    if not hasattr(spec, "id") or getattr(spec, "additional_wrappers", ()):
        return None
    own = {key: value for key, value in spec.kwargs.items() if key != "render_mode"}
    if not all(isinstance(value, str | int | float | bool | None) for value in own.values()):
        return None
    usual = package("gymnasium", spec.id).spec(spec.id).max_episode_steps
    if options.steps is None and spec.max_episode_steps != usual:
        options = EnvironmentOptions(**{**options.changed(), "steps": spec.max_episode_steps})
    make = partial(make_registered, spec.id, options.steps)
    source = Source(f"gymnasium:{spec.id}", joined(options, own), partial(make, own), partial(make, {**own, **DRAWN}))
    return GymnasiumGame(source, options)


def _copied(env: object, options: EnvironmentOptions) -> Environments:
    """A game of copies of an object, which itself is left alone."""
    inner = getattr(env, "unwrapped", env)
    name = str((getattr(env, "metadata", None) or {}).get("name") or type(inner).__name__)
    converted = parallel(env, name)
    make = partial(copy.deepcopy, converted)
    try:
        make()
    except Exception as error:  # whatever its author did not think of
        raise InputError(
            f"{name} cannot be copied ({first_line(error)}), and several are played in turn: pass a function that "
            "makes it instead."
        ) from None
    render = make if getattr(inner, "render_mode", None) == "rgb_array" else None
    again = partial(_copied, env, options) if _can_be_sent(env) else None
    return kind_of(converted, name)(Source(name, options.changed(), make, render, again), options)


def _can_be_sent(env: object) -> bool:
    """Whether an environment can be sent to another process; a script's own classes would run the script again."""
    if type(getattr(env, "unwrapped", env)).__module__ == "__main__":
        return False
    try:
        return bool(pickle.dumps(env))
    except Exception:  # whatever its author did not think of
        return False
