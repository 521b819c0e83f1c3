"""Arguments and options that several commands have, as types for their parameters."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from hydraviper.settings import BUDGET, DEPTH, EPISODES, ITERATIONS, LEAVES, VALIDATION, WORKERS, Range, check_seed

CORES = os.cpu_count() or 1


def number(name: str, allowed: Range, meaning: str, **more: Any) -> Any:
    """An option whose number must lie in a range, which is checked before any work is done."""

    def check(value: Any) -> Any:
        allowed.check(name, value)
        return value

    return typer.Option(name, help=meaning, callback=check, **more)


GameName = Annotated[str, typer.Argument(metavar="GAME", help="A game by name, e.g. cooperative-navigation:agents=4.")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, or a trees.json.")]
AgentName = Annotated[str | None, typer.Option("--agent", help="One agent's tree; default: all.")]
Workers = Annotated[int, number("--workers", WORKERS, "Cores to use; the result does not depend on it.")]
EngineName = Annotated[str, typer.Option("--engine", help="Where rollouts are played: local, or ray (a cluster).")]
Address = Annotated[
    str | None, typer.Option(help="Of the Ray cluster, HOST:PORT or auto; default: one on this machine, for this call.")
]
Seed = Annotated[int, typer.Option(help="Names every random choice.", callback=check_seed)]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
TrainBudget = Annotated[int | None, number("--train-budget", BUDGET, "Training rollouts, instead of --budget's.")]
ValidBudget = Annotated[int | None, number("--valid-budget", VALIDATION, "Validation rollouts, instead of --budget's.")]
Iterations = Annotated[int, number("--iterations", ITERATIONS, "Students per agent, of which one is chosen.")]
Depth = Annotated[int, number("--depth", DEPTH, "The most questions a tree may ask.")]
LogTarget = Annotated[
    str | None,
    typer.Option("--log", metavar="FILE.csv|DIR", help="Also write the numbers of each step: CSV, or for TensorBoard."),
]
Leaves = Annotated[int | None, number("--leaves", LEAVES, "The most leaves of a tree.")]
Features = Annotated[
    str | None,
    typer.Option(
        help="What trees may ask for: plain; or also derived (distances, differences), shipped (what people of the "
        "field ask), found (by the search), or a FILE of lines name = formula; default: what suits."
    ),
]
Episodes = Annotated[
    int | None, number("--episodes", EPISODES, "Unseen episodes to score on; default: what suits the game.")
]
ExpertName = Annotated[
    str | None,
    typer.Option(
        "--expert",
        help="A file made by `train`, the name of one that ships (idqn, mplight, ...), or one from elsewhere: "
        "sb3:FILE.zip, torch:FILE, onnx:FILE, rllib:DIR, rollouts:FILE, python:MODULE:NAME, or AGENT=... for each.",
    ),
]
Values = Annotated[
    str | None,
    typer.Option(
        help="What an expert's actions are worth: fitted (by playing), policy (its log-probabilities) or none; "
        "default: what it says itself."
    ),
]
