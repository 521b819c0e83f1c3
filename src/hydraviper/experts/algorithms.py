"""Ways to train an expert, by name. JAX is imported when one of them is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from hydraviper.data import InputError, Progress
from hydraviper.logs import Log
from hydraviper.protocols import Engine, Game

if TYPE_CHECKING:
    from hydraviper.experts.training import Training

Told = Callable[[Any, int], None]  # a point of the learning curve, and how many episodes there will be


def choose(game: Game, name: str | None = None) -> str:
    """The name of an algorithm, or of the one that suits a game.

    Joint critics need many episodes, which a game has that steps many at once; else each agent learns alone.
    """
    if name not in (None, *ALGORITHMS):
        raise InputError(f"there is no way to train called {name!r}: choose one of {', '.join(ALGORITHMS)}.")
    return name or ("maddpg" if game.width is None else "idqn")


def train(
    game: Game,
    algorithm: str,
    changes: Mapping[str, Any],
    engine: Engine | None,
    on_progress: Progress,
    log: Log | None = None,
) -> Training:
    """Train an expert with the algorithm's recommended settings, some of them changed."""

    def told(status: Any, of: int) -> None:
        on_progress("episodes", status.episodes, of)
        if log is not None:
            log.write(status.episodes, {k: v for k, v in asdict(status).items() if k != "episodes"})

    try:
        return ALGORITHMS[algorithm](game, changes, engine, told)
    except ImportError as error:
        raise InputError(f"training needs the package {error.name}: install hydraviper[train].") from None


def _maddpg(game: Game, changes: Mapping[str, object], engine: Engine | None, told: Told) -> Training:
    from hydraviper.experts import maddpg

    del engine  # the games of a round are stepped at once, here
    settings = replace(maddpg.recommended(game), **changes)
    return maddpg.train(game, settings, lambda status: told(status, settings.episodes))


def _idqn(game: Game, changes: Mapping[str, object], engine: Engine | None, told: Told) -> Training:
    from hydraviper.experts import dqn

    settings = replace(dqn.DqnSettings(), **changes)
    return dqn.train(game, settings, lambda status: told(status, settings.episodes), engine)


def _mplight(game: Game, changes: Mapping[str, Any], engine: Engine | None, told: Told) -> Training:
    from hydraviper.experts import dqn, mplight

    settings = replace(mplight.RECOMMENDED, **changes)
    return dqn.train(game, settings, lambda status: told(status, settings.episodes), engine, mplight.Mplight.of(game))


def _linear(game: Game, changes: Mapping[str, object], engine: Engine | None, told: Told) -> Training:
    from hydraviper.experts import linear

    settings = replace(linear.LinearSettings(), **changes)
    return linear.train(game, settings, lambda status: told(status, settings.episodes), engine)


ALGORITHMS: dict[str, Callable[..., Training]] = {
    "maddpg": _maddpg,
    "idqn": _idqn,
    "mplight": _mplight,
    "linear": _linear,
}
