"""`hydraviper verify` and `hydraviper repair`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from hydraviper.cli.application import app
from hydraviper.cli.common import (
    CORES,
    AsJson,
    Episodes,
    ExpertName,
    RunPath,
    Workers,
    command_line,
    open_run,
    out,
    within,
)
from hydraviper.cli.printing import print_files
from hydraviper.records import Summary, encode
from hydraviper.runs import repair as repairing
from hydraviper.runs import verify as verifying
from hydraviper.runs.folder import point_to_latest
from hydraviper.runs.verify import Proofs
from hydraviper.settings import DEPTH, FACTS_EPISODES, SOME_SECONDS
from hydraviper.verify.prover.proof import SECONDS
from hydraviper.verify.verdicts import NOWHERE

_SHOWN = 3  # counterexamples of a property
PropertiesFile = Annotated[
    Path | None, typer.Argument(metavar="[PROPERTIES]", help="A TOML file; default: what ships for the game.")
]


@app.command()
def verify(
    run: RunPath,
    properties: PropertiesFile = None,
    seconds: Annotated[
        float, typer.Option(help="The most that one property may take.", callback=within("--seconds", SOME_SECONDS))
    ] = SECONDS,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="Exit with 0 also where a property applies nowhere.")
    ] = False,
    episodes: Annotated[
        int | None,
        typer.Option(
            help="Episodes on which the facts about the game are checked; default: 50, none in simulators.",
            callback=within("--episodes", FACTS_EPISODES),
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Prove properties of trees, or show observations at which they break: 0 all hold, 1 some do not."""
    proofs = verifying.proofs(open_run(run), properties, seconds=seconds, episodes=episodes, allow_empty=allow_empty)
    print(encode(proofs.record)) if as_json else _print_proofs(proofs)
    if not proofs.record.holds:
        raise typer.Exit(1)


@app.command()
def repair(
    run: RunPath,
    properties: PropertiesFile = None,
    depth: Annotated[
        int | None,
        typer.Option(
            help="The most questions a tree may ask; default: up to four more.", callback=within("--depth", DEPTH)
        ),
    ] = None,
    episodes: Episodes = None,
    expert: ExpertName = None,
    workers: Workers = CORES,
    out_folder: Annotated[
        Path | None, typer.Option("--out", help="Where the repaired run goes; default: beside.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Change trees as little as lets them have all properties, and say what that costs; RUN itself stays as it is."""
    repaired = repairing.repair(
        open_run(run, expert, workers),
        properties,
        depth=depth,
        episodes=episodes,
        out=out_folder,
        command=command_line(),
    )
    folder, summary = repaired.saved
    point_to_latest(folder)
    print(encode(summary)) if as_json else _print_repair(summary)


def _print_proofs(proofs: Proofs) -> None:
    table = Table("property", "answer", "cases", "broken", "seconds")
    for verdict in proofs.verdicts:
        table.add_row(
            verdict.property, verdict.outcome, str(verdict.cases), str(verdict.broken), f"{verdict.seconds:.2f}"
        )
    out.print(table)
    if not proofs.verdicts:
        out.print("There is no property in the file, so nothing was proved: write [[property]] (docs/verify.md).")
    for verdict in proofs.verdicts:
        if verdict.outcome == NOWHERE:
            out.print(
                f"\n{verdict.property}: no observation fits its conditions, so it says nothing about the trees: "
                "check its conditions (--allow-empty takes it for kept).",
                soft_wrap=True,
            )
        for case, words in proofs.counterexamples(verdict, _SHOWN):
            out.print(f"\n{verdict.property}\n  {case}", soft_wrap=True)
            out.print(f"  but {words}", soft_wrap=True)
        if (left := len(verdict.counterexamples) - _SHOWN) > 0:
            out.print(f"  ... and {left} more cases (see --json)")
        for problem in verdict.problems[:5]:
            out.print(f"\n{verdict.property}: {problem}", soft_wrap=True)


def _print_repair(summary: Summary) -> None:
    table = Table("agent", "observations with another action", "nodes before", "nodes after")
    for name, share in summary.changed.items():
        before, after = summary.nodes[name]
        table.add_row(name, f"{100 * share:.2f} %", str(before), str(after))
    out.print(table)
    score = summary.score
    better = "lower" if score.lower_is_better else "higher"
    out.print(
        f"{score.name} ({better} is better): before {summary.before}, "
        f"after {score}, cost on the same seeds {summary.cost}",
        soft_wrap=True,
    )
    if not summary.smallest:
        out.print("note: a smaller change may exist; only changes at the borders of rules were looked for.")
    print_files(summary, "trees: {}/trees.json")
