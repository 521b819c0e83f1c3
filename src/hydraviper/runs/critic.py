"""Fit joint critics to a policy and save them as an expert."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from msgspec import Struct

from hydraviper.data import InputError, Progress
from hydraviper.engines.pieces import PieceEngine
from hydraviper.engines.remembered import QUICK, RememberedEngine
from hydraviper.experts import store
from hydraviper.protocols import Engine, Game, Policy, offers
from hydraviper.runs.folder import check_new_file, plain
from hydraviper.runs.opening import Tell, engine_for, game_and_expert, game_named
from hydraviper.runs.recipe import subject


class CriticReport(Struct, frozen=True, kw_only=True):
    """How well critics fit: per agent, on held-out targets and on rollouts of their own."""

    game: str
    policy: str
    seed: int
    agents: tuple[str, ...]
    rollouts: int
    samples: int
    held_out_error: tuple[float, ...]
    held_out_explained: tuple[float, ...]  # share of the targets' variance
    correlation_with_returns: tuple[float | None, ...]
    discount: float
    out: str


def policy_named(
    spec: str, expert_name: str | None, yardstick: str | None, *, workers: int, tell: Tell, trust_code: bool = False
) -> tuple[Game, Policy]:
    """Whom critics are fitted to: an expert, or one of the game's own rules."""
    if yardstick is None:
        game, expert = game_and_expert(spec, expert_name, workers=workers, tell=tell, trust_code=trust_code)
        # a critic is replaced by the new one: what is valued is the policy that it was fitted to
        return game, getattr(expert, "policy", None) or expert
    if expert_name is not None:
        raise InputError("critics are fitted to one policy: pass --expert or --yardstick, not both.")
    game = game_named(spec)
    return game, store.yardstick(game, yardstick)


def fit_critics(
    game: Game,
    policy: Policy,
    *,
    name: str | None = None,
    rollouts: int | None = None,
    updates: int | None = None,
    hops: int | None = None,
    seed: int = 0,
    workers: int = 1,
    out: Path | None = None,
    progress: Progress = lambda step, done, of: None,
) -> CriticReport:
    """Fit joint critics to a policy, so that it can be split into teams and weighed as one, and save both."""
    about = getattr(policy, "about", {})
    try:
        from hydraviper.experts import critics
    except ImportError as error:
        raise InputError(f"fitting critics needs the package {error.name}: install hydraviper[train].") from None
    changes = {"updates": updates, "rollouts": rollouts, "hops": hops}
    asked_for = {name: value for name, value in changes.items() if value is not None}
    name = name or str(about.get("algorithm", "expert"))
    path = out or Path(f"{plain(game.name)}-{plain(name)}-critic-{seed}.safetensors")
    check_new_file(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    journal = path.with_name(path.name + ".rollouts")
    with engine_for(game, workers) as engine:
        settings = critics.settings_for(game, policy, seed, engine, **asked_for)
        fit = critics.fit(game, policy, settings, _remembered(game, engine, journal), progress)
    quality = {
        "rollouts": fit.rollouts,
        "samples": fit.samples,
        "held_out_error": list(fit.error),
        "held_out_explained": list(fit.explained),
        "correlation_with_returns": [None if np.isnan(one) else one for one in fit.correlation],
    }
    store.save(replace(fit.expert, about={**fit.expert.about, "fit": quality}), path)
    journal.unlink(missing_ok=True)
    names = tuple(agent.name for agent in game.agents)
    return CriticReport(
        game=game.name, policy=name, seed=seed, agents=names, discount=settings.gamma, out=str(path), **quality
    )


def _remembered(game: Game, engine: PieceEngine, journal: Path) -> Engine:
    """Where rollouts take seconds, those of an interrupted fit are not played again."""
    if offers(game).compiled:
        return engine
    return RememberedEngine(engine, journal, subject(game), store.policy_digest, least_seconds=QUICK)
