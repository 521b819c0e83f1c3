"""`hydraviper verify` and `hydraviper repair`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from hydraviper.cli import options
from hydraviper.cli.application import app
from hydraviper.cli.common import command_line, open_run, out
from hydraviper.cli.options import number
from hydraviper.cli.printing import print_files
from hydraviper.records import PropertyAnswer, Summary, encode
from hydraviper.runs import repair as repairing
from hydraviper.runs import verify as verifying
from hydraviper.runs.counterexamples import write_pictures
from hydraviper.runs.folder import point_to_latest
from hydraviper.settings import DEPTH, FACTS_EPISODES, SOME_SECONDS
from hydraviper.verify.prover.proof import SECONDS
from hydraviper.verify.verdicts import NOWHERE

_SHOWN = 3  # counterexamples of a property
PropertiesFile = Annotated[
    Path | None, typer.Argument(metavar="[PROPERTIES]", help="A TOML file; default: what ships for the game.")
]
Seconds = Annotated[float, number("--seconds", SOME_SECONDS, "The most that one property may take.")]
AllowEmpty = Annotated[bool, typer.Option("--allow-empty", help="Exit with 0 also where a property applies nowhere.")]
FactsEpisodes = Annotated[
    int | None,
    number(
        "--episodes",
        FACTS_EPISODES,
        "Episodes on which the facts about the game are checked; default: 50, none in simulators.",
    ),
]
Pictures = Annotated[
    Path | None,
    typer.Option("--pictures", help="A folder: draw the first counterexample of every broken property into it."),
]
Depth = Annotated[int | None, number("--depth", DEPTH, "The most questions a tree may ask; default: up to four more.")]
Out = Annotated[Path | None, typer.Option("--out", help="Where the repaired run goes; default: beside.")]


@app.command()
def verify(
    run: options.RunPath,
    properties: PropertiesFile = None,
    seconds: Seconds = SECONDS,
    allow_empty: AllowEmpty = False,
    episodes: FactsEpisodes = None,
    pictures: Pictures = None,
    as_json: options.AsJson = False,
) -> None:
    """Prove properties of trees, or show observations at which they break: 0 all hold, 1 some do not."""
    opened = open_run(run)
    found = verifying.verify(opened, properties, seconds=seconds, episodes=episodes, allow_empty=allow_empty)
    print(encode(found)) if as_json else _print_answers(found.properties)
    drawn = [] if pictures is None else write_pictures(opened, found.properties, pictures)
    if drawn and not as_json:
        out.print("drawn: " + ", ".join(map(str, drawn)), soft_wrap=True)
    if not found.holds:
        raise typer.Exit(1)


@app.command()
def repair(
    run: options.RunPath,
    properties: PropertiesFile = None,
    depth: Depth = None,
    episodes: options.Episodes = None,
    expert: options.ExpertName = None,
    workers: options.Workers = options.CORES,
    out_folder: Out = None,
    as_json: options.AsJson = False,
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


def _print_answers(answers: Sequence[PropertyAnswer]) -> None:
    table = Table("property", "answer", "cases", "broken", "seconds")
    for one in answers:
        table.add_row(one.property, one.answer, str(one.cases), str(one.broken), f"{one.seconds:.2f}")
    out.print(table)
    for one in answers:
        if one.answer == NOWHERE:
            out.print(
                f"\n{one.property}: no observation fits its conditions, so it says nothing about the trees: "
                "check its conditions (--allow-empty takes it for kept).",
                soft_wrap=True,
            )
        for example in one.counterexamples[:_SHOWN]:
            out.print(f"\n{one.property}\n  {example.case}\n  but {example.words}", soft_wrap=True)
        if (left := len(one.counterexamples) - _SHOWN) > 0:
            out.print(f"  ... and {left} more cases (see --json)")
        for problem in one.problems[:5]:
            out.print(f"\n{one.property}: {problem}", soft_wrap=True)


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
