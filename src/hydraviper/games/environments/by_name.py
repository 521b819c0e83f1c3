"""Environments by name: `gymnasium:ID`, `pettingzoo:MODULE`, `python:PACKAGE.MODULE:CALLABLE`."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any

from hydraviper.data import InputError
from hydraviper.games.environments.game import Environments, Source
from hydraviper.games.environments.kinds import GymnasiumGame, PettingZooGame
from hydraviper.games.environments.named import named
from hydraviper.games.environments.options import NAMES, OWN, EnvironmentOptions, divided, joined
from hydraviper.outside import callable_named, module_named
from hydraviper.protocols import Game

INSTALL = "pip install 'hydraviper[games]'"
DRAWN = {"render_mode": "rgb_array"}


def gymnasium(id: str, **parameters: object) -> Game:
    """An environment that is registered with Gymnasium."""
    options, own = divided(parameters)
    make = partial(registered, id, options.steps)
    source = Source(f"gymnasium:{id}", joined(options, own), partial(make, own), partial(make, {**own, **DRAWN}))
    return GymnasiumGame(source, options)


def registered(id: str, steps: int | None, own: Mapping[str, object]) -> Any:
    """A new instance of an environment that is registered with Gymnasium."""
    gym = package("gymnasium", f"gymnasium:{id}")
    limit = {} if steps is None else {"max_episode_steps": steps}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an old version says so; one that is too old is refused
            return gym.make(id, **{"disable_env_checker": True, **limit, **own})
    except gym.error.DependencyNotInstalled as error:
        raise InputError(f"gymnasium:{id} needs a package that is not installed: {_sentence(error)}") from None
    except (gym.error.Error, ModuleNotFoundError) as error:
        raise InputError(f"Gymnasium cannot make {id!r}: {_sentence(error)}") from None
    except (TypeError, ValueError, AssertionError) as error:
        raise _refused(f"gymnasium:{id}", own, error) from None


def pettingzoo(module: str, **parameters: object) -> Game:
    """An environment of a module with PettingZoo's interfaces, or of PettingZoo's registry (classic/tictactoe-v3)."""
    options, own = divided(parameters)
    make = partial(_of_pettingzoo, module)
    source = Source(f"pettingzoo:{module}", joined(options, own), partial(make, own), partial(make, {**own, **DRAWN}))
    return PettingZooGame(source, options)


def _of_pettingzoo(name: str, own: Mapping[str, object]) -> Any:
    full = f"pettingzoo:{name}"
    library = package("pettingzoo", full)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PettingZoo's own modules ask for its registry
        make = _from_registry(library, name) if "/" in name else _from_module(name, full)
        try:
            return parallel(make(**own), full)
        except ImportError as error:
            raise InputError(f"{full} needs a package that is not installed: {_sentence(error)}") from None
        except (TypeError, ValueError, AssertionError) as error:
            raise _refused(full, own, error) from None


def _from_registry(library: Any, name: str) -> Callable[..., Any]:
    for kind in ("parallel", "aec"):
        if name in getattr(library, f"{kind}_registry", ()):
            return partial(library.make, kind, name)
    raise InputError(f"PettingZoo has no {name!r} in its registry: name a module such as mpe2.simple_tag_v3.")


def _from_module(name: str, full: str) -> Callable[..., Any]:
    module = module_named(name, full)
    make = getattr(module, "parallel_env", None) or getattr(module, "env", None)
    if make is None:
        raise InputError(f"the module {name} has neither parallel_env nor env: name one such as mpe2.simple_tag_v3.")
    return make


def parallel(env: Any, name: str) -> Any:
    """An environment with PettingZoo's parallel interface, converted by PettingZoo where it has the other one (AEC)."""
    if not hasattr(env, "agent_iter"):
        return env
    package("pettingzoo", name)
    from pettingzoo.utils import conversions

    if (getattr(env, "metadata", None) or {}).get("is_parallelizable"):
        return conversions.aec_to_parallel(env)
    return conversions.turn_based_aec_to_parallel(env)


# ---------------------------------------------------------------------------------------- a user's own code


def python(callable: str, **parameters: object) -> Game:
    """What a function or class of a user makes: a game, or an environment of Gymnasium or PettingZoo."""
    return made_by(f"python:{callable}", callable_named(callable), parameters)


def made_by(name: str, make: Callable[..., Any], parameters: Mapping[str, object]) -> Game:
    """The game that a callable makes, under a name; what the callable does not ask for are options of environments."""
    known, takes_all = accepted(make)
    own = {key.removeprefix(OWN): value for key, value in parameters.items() if key in known or key.startswith(OWN)}
    rest = {key: value for key, value in parameters.items() if key not in known and not key.startswith(OWN)}
    if takes_all:
        own |= {key: rest.pop(key) for key in list(rest) if key not in NAMES}
    if unknown := [key for key in [*rest, *own] if key not in NAMES and key not in known and not takes_all]:
        raise InputError(f"{name} has no parameter {unknown[0]!r}: it knows {', '.join([*known, *NAMES])}.")
    first = called(make, name, own)
    if isinstance(first, Game):
        if rest:
            raise InputError(f"{name} is a game with parameters of its own: {next(iter(rest))} is for environments.")
        return named(first, name, parameters)
    draws = "render_mode" in known or takes_all
    render = partial(called, make, name, {**own, **DRAWN}) if draws else None
    source = Source(name, dict(parameters), partial(called, make, name, own), render)
    return kind_of(first, name)(source, EnvironmentOptions.of(rest))


def accepted(make: Callable[..., Any]) -> tuple[list[str], bool]:
    """The names of a callable's parameters, and whether it takes any other."""
    try:
        parameters = inspect.signature(make).parameters.values()
    except (ValueError, TypeError):
        return [], True
    single = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = [parameter.name for parameter in parameters if parameter.kind in single]
    return names, any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)


def called(make: Callable[..., Any], name: str, own: Mapping[str, object]) -> Any:
    """What a user's callable makes, with PettingZoo's parallel interface if it is one of theirs."""
    try:
        made = make(**own)
    except TypeError as error:
        raise _refused(name, own, error) from None
    return parallel(made, name)


def kind_of(env: object, name: str) -> type[Environments]:
    """Which kind of environment something is."""
    if callable(getattr(env, "step", None)) and callable(getattr(env, "reset", None)):
        if callable(getattr(env, "observation_space", None)):
            return PettingZooGame
        if hasattr(env, "observation_space") and hasattr(env, "action_space"):
            return GymnasiumGame
    raise InputError(
        f"{name} made a {type(env).__name__}, which is neither a game nor an environment of Gymnasium or PettingZoo: "
        "see docs/games.md."
    )


def package(name: str, wanted_by: str) -> Any:
    """Gymnasium or PettingZoo, if it is installed."""
    if find_spec(name) is None:
        raise InputError(f"{wanted_by} needs the package {name}: run {INSTALL}.")
    return module_named(name, wanted_by)


def _refused(name: str, own: Mapping[str, object], error: BaseException) -> InputError:
    given = ", ".join(f"{key}={value!r}" for key, value in own.items()) or "no parameters"
    return InputError(f"{name} cannot be made with {given} ({first_line(error)}): check its parameters.")


def first_line(error: BaseException) -> str:
    """The beginning of an error's message."""
    return str(error).strip().partition("\n")[0].rstrip(".:")


def _sentence(error: BaseException) -> str:
    return f"{' '.join(str(error).split()).rstrip('.')}."
