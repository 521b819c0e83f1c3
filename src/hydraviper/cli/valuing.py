"""`hydraviper critic`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from hydraviper.cli.application import app
from hydraviper.cli.common import (
    CORES,
    AsJson,
    ExpertFile,
    GameName,
    Seed,
    Workers,
    engine_for,
    game_and_expert,
    game_named,
    out,
    progress_bar,
    within,
)
from hydraviper.data import InputError
from hydraviper.engines.local import LocalEngine
from hydraviper.engines.remembered import RememberedEngine
from hydraviper.experts import store
from hydraviper.experts.networks import CriticExpert
from hydraviper.protocols import Engine, Game, Policy, offers
from hydraviper.runs.distil import subject
from hydraviper.runs.folder import check_new_file
from hydraviper.settings import CRITIC_ROLLOUTS, UPDATES


@app.command()
def critic(
    game: GameName,
    expert: ExpertFile = None,
    yardstick: Annotated[
        str | None, typer.Option(help="Fit to one of the game's own rules instead, by its name in `evaluate`.")
    ] = None,
    rollouts: Annotated[
        int | None,
        typer.Option(
            help="Rollouts to fit to; default: 2,000, or 60 in traffic.", callback=within("--rollouts", CRITIC_ROLLOUTS)
        ),
    ] = None,
    updates: Annotated[
        int | None, typer.Option(help="Steps of learning.", callback=within("--updates", UPDATES))
    ] = None,
    seed: Seed = 0,
    workers: Workers = CORES,
    out_file: Annotated[Path | None, typer.Option("--out", help="Where the expert with its critics goes.")] = None,
    as_json: AsJson = False,
) -> None:
    """Fit joint critics to an expert or a rule, so that it can be split into teams and weighed as one."""
    made, policy = _policy(game, expert, yardstick, workers)
    about = getattr(policy, "about", {})
    try:
        from hydraviper.experts import critics
    except ImportError as error:
        raise InputError(f"fitting critics needs the package {error.name}: install hydraviper[train].") from None
    quick = made.width is None
    counts = {"rollouts": (2000 if quick else 60) if rollouts is None else rollouts, "checks": 200 if quick else 6}
    changed: dict[str, Any] = counts | _gamma(about) | ({} if updates is None else {"updates": updates})
    settings = critics.CriticSettings(seed=seed, **changed)
    name = yardstick or str(about.get("algorithm", "expert"))
    path = out_file or Path(f"{made.name}-{name.replace(' ', '-')}-critic-{seed}.safetensors")
    check_new_file(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    journal = path.with_name(path.name + ".rollouts")
    with progress_bar(as_json) as show, engine_for(made, workers) as place:
        fit = critics.fit(made, policy, settings, _remembered(made, place, journal), show)
    fitted = replace(fit.expert, about={**fit.expert.about, "fit": _quality(fit)})
    store.save(fitted, path)
    journal.unlink(missing_ok=True)
    report = {
        "game": made.name,
        "policy": name,
        "seed": seed,
        "agents": [agent.name for agent in made.agents],
        **_quality(fit),
        "discount": settings.gamma,
        "out": str(path),
    }
    print(json.dumps(report)) if as_json else _print(report)


def _policy(game: str, expert: Path | None, yardstick: str | None, workers: int) -> tuple[Game, Policy]:
    """Whom the critics are for."""
    if yardstick is None:
        made, teacher = game_and_expert(game, expert, workers)
        # a critic is replaced by the new one: what is valued is the policy that it was fitted to
        return made, teacher.policy if isinstance(teacher, CriticExpert) else teacher
    if expert is not None:
        raise InputError("critics are fitted to one policy: pass --expert or --yardstick, not both.")
    made = game_named(game)
    return made, store.yardstick(made, yardstick)


def _gamma(about: Mapping[str, Any]) -> dict[str, float]:
    """The discount that the policy was trained with, if it says so."""
    settings = about.get("settings", {})
    names = ("gamma", "discount")  # the second in older files
    gamma = next((settings[name] for name in names if name in settings), None) if isinstance(settings, dict) else None
    return {"gamma": float(gamma)} if isinstance(gamma, int | float) and 0 <= gamma < 1 else {}


def _remembered(game: Game, engine: LocalEngine, journal: Path) -> Engine:
    """Where rollouts take seconds, those of an interrupted fit are not played again."""
    if offers(game).compiled:
        return engine
    return RememberedEngine(engine, journal, subject(game), store.policy_digest)


def _quality(fit: Any) -> dict[str, Any]:
    return {
        "rollouts": fit.rollouts,
        "samples": fit.samples,
        "held_out_error": list(fit.error),
        "held_out_explained": list(fit.explained),
        "correlation_with_returns": [None if np.isnan(one) else one for one in fit.correlation],
    }


def _print(report: dict[str, Any]) -> None:
    table = Table("agent", "held-out error", "explained", "correlation with returns")
    for name, *row in zip(
        report["agents"],
        report["held_out_error"],
        report["held_out_explained"],
        report["correlation_with_returns"],
        strict=True,
    ):
        table.add_row(name, *("-" if value is None else f"{value:.3f}" for value in row))
    out.print(f"\n{report['game']}, {report['policy']}: {report['samples']:,} steps of {report['rollouts']} rollouts")
    out.print(table)
    out.print(
        "explained: of the held-out targets' variance; returns: of rollouts of their own, without random actions",
        highlight=False,
    )
    out.print(f"saved as {report['out']}", highlight=False, soft_wrap=True)
