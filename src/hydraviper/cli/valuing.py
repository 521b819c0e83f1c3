"""`hydraviper critic`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from hydraviper.cli import options
from hydraviper.cli.application import app
from hydraviper.cli.common import out, progress_bar, tell, trusted
from hydraviper.cli.options import number
from hydraviper.records import encode
from hydraviper.runs.critic import CriticReport, fit_critics, policy_named
from hydraviper.runs.opening import play_on
from hydraviper.settings import CRITIC_ROLLOUTS, HOPS, UPDATES


@app.command()
def critic(
    spec: options.GameName,
    expert_name: options.ExpertName = None,
    yardstick: Annotated[
        str | None, typer.Option(help="Fit to one of the game's own rules instead, by its name in `evaluate`.")
    ] = None,
    rollouts: Annotated[
        int | None, number("--rollouts", CRITIC_ROLLOUTS, "Rollouts to fit to; default: 2,000, or 60 in traffic.")
    ] = None,
    updates: Annotated[int | None, number("--updates", UPDATES, "Steps of learning.")] = None,
    hops: Annotated[
        int | None,
        number("--hops", HOPS, "Critics look at agents so many steps away on the game's graph; default: at everybody."),
    ] = None,
    seed: options.Seed = 0,
    engine: options.EngineName = "local",
    address: options.Address = None,
    workers: options.Workers = options.CORES,
    out_file: Annotated[Path | None, typer.Option("--out", help="Where the expert with its critics goes.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Fit joint critics to an expert or a rule, so that it can be split into teams and weighed as one."""
    play_on(engine, address)
    game, policy = policy_named(spec, expert_name, yardstick, workers=workers, tell=tell, trust_code=trusted())
    with progress_bar(as_json) as show:
        report = fit_critics(
            game,
            policy,
            name=yardstick,
            rollouts=rollouts,
            updates=updates,
            hops=hops,
            seed=seed,
            workers=workers,
            out=out_file,
            progress=show,
        )
    print(encode(report)) if as_json else _print(report)


def _print(report: CriticReport) -> None:
    table = Table("agent", "held-out error", "explained", "correlation with returns")
    for name, *row in zip(
        report.agents, report.held_out_error, report.held_out_explained, report.correlation_with_returns, strict=True
    ):
        table.add_row(name, *("-" if value is None else f"{value:.3f}" for value in row))
    out.print(f"\n{report.game}, {report.policy}: {report.samples:,} steps of {report.rollouts} rollouts")
    out.print(table)
    out.print("explained: of the held-out targets' variance; returns: of rollouts of their own, without random actions")
    out.print(f"saved as {report.out}", soft_wrap=True)
