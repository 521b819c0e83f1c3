"""The command line: `hydraviper games | train | distill | evaluate | compare | show`."""

from __future__ import annotations

import json
import math
import os
import shlex
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import click
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from hydraviper import comparison, evaluation, runs
from hydraviper.data import InputError, JobError
from hydraviper.engines.local import LocalEngine
from hydraviper.experts import store
from hydraviper.games import catalogue
from hydraviper.protocols import Game
from hydraviper.settings import Settings, check_seed
from hydraviper.trees import file, render
from hydraviper.variants import VARIANTS, Variant
from hydraviper.version import __version__

app = typer.Typer(
    help="Small decision trees, one per agent, that coordinate, from any trained multi-agent policy.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
out = Console(markup=False)
err = Console(stderr=True, markup=False)


class Budget(StrEnum):
    """The paper's two budgets."""

    low = "low"
    high = "high"


class Format(StrEnum):
    """How a tree is shown."""

    text = "text"
    svg = "svg"


GameName = Annotated[str, typer.Argument(metavar="GAME", help="A game by name, e.g. cooperative-navigation:agents=4.")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, or a trees.json.")]
ExpertFile = Annotated[
    Path | None, typer.Option("--expert", help="An expert made by `train`; default: the shipped one.")
]
Workers = Annotated[int, typer.Option(help="Cores to use; the result does not depend on it.")]
Seed = Annotated[int, typer.Option(help="Names every random choice.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
BudgetChoice = Annotated[Budget, typer.Option(help="The game's low or high budget of rollouts.")]
TrainBudget = Annotated[int | None, typer.Option(help="Training rollouts, instead of --budget's.")]
ValidBudget = Annotated[int | None, typer.Option(help="Validation rollouts, instead of --budget's.")]
Iterations = Annotated[int, typer.Option(help="Students per agent, of which one is chosen.")]
Depth = Annotated[int, typer.Option(help="The most questions a tree may ask.")]
Episodes = Annotated[int | None, typer.Option(help="Unseen episodes to score on; default: what suits the game.")]
FeatureChoice = Annotated[str, typer.Option(help="plain, or derived: distances, differences of distances or queues.")]
DropQuantile = Annotated[float, typer.Option(help="The paper's epsilon as a quantile of the first weights.")]
CORES = os.cpu_count() or 1


@app.command()
def games(as_json: AsJson = False) -> None:
    """List what can be distilled, with sizes."""
    rows, missing = [], {}
    for name in catalogue.GAMES:
        try:
            rows.append(_describe(catalogue.make(name)))
        except InputError as error:
            missing[name] = str(error)
    families = list(catalogue.EXAMPLES.values())
    if as_json:
        print(json.dumps({"games": rows, "families": families, "missing": missing}))
        return
    table = Table(Column("game", no_wrap=True, min_width=22), "agents", "joint actions", "score", "expert")
    for row in rows:
        score = f"{row['score']} ({row['better']} is better)"
        table.add_row(row["game"], str(row["agents"]), f"{row['joint actions']:,}", score, row["expert"])
    out.print(table)
    out.print(f"and others by what they are given: {', '.join(families)}", highlight=False)
    for name, reason in missing.items():
        out.print(f"{name}: {reason}", highlight=False)


@app.command()
def train(
    game: GameName,
    algorithm: Annotated[str | None, typer.Option(help="maddpg, idqn, mplight; default: what suits the game.")] = None,
    episodes: Annotated[int | None, typer.Option(help="Episodes to train for.")] = None,
    seed: Seed = 0,
    workers: Workers = CORES,
    out_file: Annotated[Path | None, typer.Option("--out", help="Where the expert goes.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train an expert for a game."""
    if algorithm not in (None, *TRAINERS):
        raise InputError(f"there is no way to train called {algorithm!r}: choose one of {', '.join(TRAINERS)}.")
    check_seed(seed)
    if episodes is not None and episodes < 1:
        raise InputError(f"--episodes must be at least 1, not {episodes}.")
    made = catalogue.make(game)
    # a game that steps many episodes at once feeds joint critics; one that does not must learn from few samples
    algorithm = algorithm or ("maddpg" if made.width is None else "idqn")
    path = out_file or Path(f"{made.name}-{algorithm}-{seed}.safetensors")
    if path.exists():
        raise InputError(f"{path} already exists: pass another file with --out.")
    changed = {"seed": seed} | ({} if episodes is None else {"episodes": episodes})
    with _progress(as_json) as show, _engine(made, workers) as engine:
        try:
            expert, curve = TRAINERS[algorithm](made, changed, engine, show)
        except ImportError as error:
            raise InputError(f"training needs the package {error.name}: install hydraviper[train].") from None
        store.save(expert, path)
        count = 10_000 if made.width is None else made.recommended.evaluation_episodes
        fields = evaluation.evaluate(made, expert, {}, engine, count)
    report = {"game": made.name, "algorithm": algorithm, "seed": seed, **fields, "curve": curve, "out": str(path)}
    if as_json:
        print(json.dumps(report))
    else:
        _print_scores(report, trees=False)
        out.print(f"saved as {path}")


Trained = tuple[store.StoredExpert, list[dict[str, Any]]]  # the expert, and its learning curve


def _train_maddpg(
    game: Game, changed: dict[str, Any], engine: LocalEngine, show: Callable[[str, int, int], None]
) -> Trained:
    from hydraviper.experts import maddpg

    del engine  # the games of a round are stepped at once, here
    settings = replace(maddpg.recommended(game), **changed)
    training = maddpg.train(game, settings, lambda point: show("episodes", point.episodes, settings.episodes))
    return training.expert, [asdict(point) for point in training.curve]


def _train_idqn(
    game: Game, changed: dict[str, Any], engine: LocalEngine, show: Callable[[str, int, int], None]
) -> Trained:
    from hydraviper.experts import dqn

    settings = replace(dqn.DqnSettings(), **changed)
    training = dqn.train(game, settings, lambda point: show("episodes", point.episodes, settings.episodes), engine)
    return training.expert, [asdict(point) for point in training.curve]


def _train_mplight(
    game: Game, changed: dict[str, Any], engine: LocalEngine, show: Callable[[str, int, int], None]
) -> Trained:
    from hydraviper.experts import dqn, mplight

    settings, model = replace(mplight.RECOMMENDED, **changed), mplight.Mplight.of(game)
    training = dqn.train(
        game, settings, lambda point: show("episodes", point.episodes, settings.episodes), engine, model
    )
    return training.expert, [asdict(point) for point in training.curve]


TRAINERS = {"maddpg": _train_maddpg, "idqn": _train_idqn, "mplight": _train_mplight}


@app.command()
def distill(
    game: GameName,
    algorithm: Annotated[str, typer.Option(help=f"One of {', '.join(VARIANTS)}.")] = "hydraviper",
    budget: BudgetChoice = Budget.low,
    train_budget: TrainBudget = None,
    valid_budget: ValidBudget = None,
    iterations: Iterations = 100,
    depth: Depth = 4,
    leaves: Annotated[int | None, typer.Option(help="The most leaves of a tree.")] = None,
    features: FeatureChoice = Settings.features,
    seed: Seed = 0,
    partition: Annotated[
        str, typer.Option(help="How agents are split into teams; none keeps the game's own.")
    ] = "none",
    teams: Annotated[int, typer.Option(help="Teams that a partition makes.")] = 2,
    selection: Annotated[str, typer.Option(help="race, ucb1 (the paper's), ucb1-normal or uniform.")] = "race",
    ucb_scale: Annotated[float | None, typer.Option(help="The paper's c; default: what suits the game.")] = None,
    drop_quantile: DropQuantile = Settings.drop_quantile,
    expert: ExpertFile = None,
    engine: Annotated[str, typer.Option(help="Where rollouts are played: local.")] = "local",
    workers: Workers = CORES,
    episodes: Episodes = None,
    out_folder: Annotated[
        Path | None, typer.Option("--out", help="The run's folder; default: a new one in runs/.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Distill an expert into small trees, score them on unseen episodes and write a report."""
    made, teacher = _game_and_expert(game, expert, workers)
    if engine != "local":
        raise InputError(f"there is no engine {engine!r}: choose local.")
    settings = _settings(
        made,
        budget,
        train_budget,
        valid_budget,
        seed=seed,
        iterations=iterations,
        depth=depth,
        most_leaves=leaves,
        features=features,
        partition=partition,
        teams=teams,
        selection=selection,
        drop_quantile=drop_quantile,
        **({} if ucb_scale is None else {"ucb_scale": ucb_scale}),
    )
    run = runs.Run(made, teacher, _variant(algorithm), settings, None if expert is None else str(expert.resolve()))
    folder = out_folder or runs.free_folder(run, Path("runs"))
    episodes = made.recommended.evaluation_episodes if episodes is None else episodes
    _check_episodes(episodes)
    with runs.claimed(run, folder), _progress(as_json) as show, _engine(made, workers) as place:
        summary = runs.execute(run, folder, place, episodes, _command(), show)
    if out_folder is None:
        _point_to_latest(folder)
    print(json.dumps(summary)) if as_json else _print_summary(summary)


@app.command()
def evaluate(
    run: RunPath,
    episodes: Episodes = None,
    seed: Seed = 0,
    expert: ExpertFile = None,
    workers: Workers = CORES,
    as_json: AsJson = False,
) -> None:
    """Score trees, expert and yardsticks on the same unseen episodes."""
    trees = file.load(run)
    made = catalogue.make(trees.game, trees.parameters)
    students = trees.students(made)
    teacher = _expert_of(run, trees, made, expert, workers)
    check_seed(seed)
    with _engine(made, workers) as place:
        count = made.recommended.evaluation_episodes if episodes is None else episodes
        fields = evaluation.evaluate(made, teacher, students, place, count, seed)
    summary = {"game": made.name, "algorithm": trees.made["algorithm"], "seed": seed, **fields, "run": str(run)}
    print(json.dumps(summary)) if as_json else _print_scores(summary)


@app.command()
def compare(
    game: GameName,
    algorithms: Annotated[str, typer.Option(help="Names with commas between.")] = "imitation,iviper,maviper,hydraviper",
    seeds: Annotated[int, typer.Option(help="How many seeds each.")] = 3,
    budget: BudgetChoice = Budget.low,
    train_budget: TrainBudget = None,
    valid_budget: ValidBudget = None,
    iterations: Iterations = 100,
    depth: Depth = 4,
    selection: Annotated[str, typer.Option(help="How HYDRAVIPER selects.")] = "race",
    drop_quantile: DropQuantile = Settings.drop_quantile,
    expert: ExpertFile = None,
    workers: Workers = CORES,
    episodes: Episodes = None,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the table as FILE.json and FILE.md.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare algorithms side by side, with intervals over seeds."""
    made, teacher = _game_and_expert(game, expert, workers)
    variants = [_variant(name.strip()) for name in algorithms.split(",")]
    settings = _settings(
        made,
        budget,
        train_budget,
        valid_budget,
        iterations=iterations,
        depth=depth,
        selection=selection,
        drop_quantile=drop_quantile,
    )
    count = made.recommended.evaluation_episodes if episodes is None else episodes
    _check_episodes(count)
    if seeds < 1:
        raise InputError(f"--seeds must be at least 1, not {seeds}.")
    target = None if out_file is None else comparison.target(out_file)
    with _progress(as_json) as show:
        result = comparison.compare(made, teacher, variants, settings, seeds, count, workers, show)
    if target is not None:
        comparison.save(result, target, _command())
    print(json.dumps(result)) if as_json else out.print(comparison.to_markdown(result, _command()), highlight=False)


@app.command()
def show(
    run: RunPath,
    agent: Annotated[str | None, typer.Option(help="One agent; default: all.")] = None,
    form: Annotated[Format, typer.Option("--format", help="text or svg.")] = Format.text,
) -> None:
    """Show trees as text or as a picture (SVG)."""
    trees = file.load(run)
    names = [own.name for own in trees.agents]
    if agent is not None and agent not in names:
        raise InputError(f"there is no tree for {agent!r}: choose one of {', '.join(names)}.")
    if form is Format.svg and agent is None and len(names) > 1:
        raise InputError(f"an SVG shows one tree: choose an --agent of {', '.join(names)}.")
    for own, tree in zip(trees.agents, trees.trees, strict=True):
        if agent in (None, own.name):
            print(render.to_text(own, tree) if form is Format.text else render.to_svg(own, tree))


def main() -> None:
    """Run the command line: 0 done, 1 the job failed, 2 the call or its input was wrong, 130 stopped by Ctrl-C."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    if arguments == ["--version"]:
        print(f"hydraviper {__version__}")
        return
    try:
        sys.exit(app(arguments, standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (InputError, JobError) as error:
        _fail(error, debug, 2 if isinstance(error, InputError) else 1, str(error))
    except (KeyboardInterrupt, click.Abort):
        _fail(None, False, 130, "stopped.")
    except OSError as error:
        _fail(error, debug, 1, f"{error.strerror or error}: {error.filename or 'a file'}.")
    except Exception as error:
        _fail(error, debug, 1, f"{type(error).__name__}: {error} (repeat with --debug to see where)")


def _fail(error: BaseException | None, debug: bool, code: int, sentence: str) -> None:
    if debug and error is not None:
        traceback.print_exception(error)
    err.print(f"hydraviper: {sentence}", highlight=False, soft_wrap=True)
    sys.exit(code)


def _game_and_expert(spec: str, path: Path | None, workers: int) -> tuple[Game, store.StoredExpert]:
    if workers < 1:
        raise InputError(f"--workers must be at least 1, not {workers}.")
    game = catalogue.make(spec)
    expert = store.shipped(game) if path is None else store.load(path, game)
    if expert.about.get("parameters", dict(game.parameters)) != dict(game.parameters):
        err.print(f"Note: the expert was trained with {expert.about['parameters']}, not {dict(game.parameters)}.")
    return game, replace(expert, workers=workers)


def _expert_of(run: Path, trees: file.TreesFile, game: Game, path: Path | None, workers: int) -> store.StoredExpert:
    """The expert that made the trees: as given, as the run's folder says, or the shipped one."""
    if workers < 1:
        raise InputError(f"--workers must be at least 1, not {workers}.")
    if path is None:
        noted = runs.settings_in(run if run.is_dir() else run.parent).get("expert")
        named = noted.get("file") if isinstance(noted, dict) and noted.get("hash") == trees.made["expert"] else None
        path = None if named is None else Path(named)
    expert = store.shipped(game) if path is None else store.load(path, game)
    if store.digest(expert) != trees.made["expert"]:
        err.print("Note: the trees were made from another expert than the one they are compared with.", style="yellow")
    return replace(expert, workers=workers)


def _engine(game: Game, workers: int) -> LocalEngine:
    return LocalEngine(catalogue.maker(game), workers)


def _settings(game: Game, budget: Budget, train: int | None, valid: int | None, **others: Any) -> Settings:
    suits = game.recommended
    default = suits.low if budget is Budget.low else suits.high
    return Settings(
        **{
            "ucb_scale": suits.ucb_scale,
            "rollouts_per_iteration": suits.rollouts_per_iteration,
            "train_budget": default[0] if train is None else train,
            "valid_budget": default[1] if valid is None else valid,
            **others,
        }
    )


def _variant(name: str) -> Variant:
    if name not in VARIANTS:
        raise InputError(f"there is no algorithm {name!r}: choose one of {', '.join(VARIANTS)}.")
    return VARIANTS[name]


def _check_episodes(episodes: int) -> None:
    if episodes < 2:
        raise InputError(f"--episodes must be at least 2, not {episodes}: one episode has no interval.")


def _command() -> str:
    return shlex.join(["hydraviper", *sys.argv[1:]])


def _describe(game: Game) -> dict[str, Any]:
    try:
        expert = str(store.shipped(game).about.get("algorithm", "yes"))
    except InputError:
        expert = "none"
    counts = {len(agent.actions) for agent in game.agents}
    sizes = {len(agent.features) for agent in game.agents}
    return {
        "game": game.name,
        "agents": len(game.agents),
        "features": "-".join(str(size) for size in sorted(sizes)),
        "actions": "-".join(str(count) for count in sorted(counts)),
        "joint actions": max(math.prod(len(game.agents[i].actions) for i in team) for team in game.teams),
        "steps": game.horizon,
        "score": game.score.name,
        "better": "lower" if game.score.lower_is_better else "higher",
        "expert": expert,
    }


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A bar on stderr per kind of work."""
    columns = (TextColumn("{task.description:>12}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=err, transient=True, disable=quiet)
    tasks: dict[str, Any] = {}

    def show(step: str, done: int, of: int) -> None:
        bar.start()
        if step not in tasks:
            tasks[step] = bar.add_task(step, total=of)
        bar.update(tasks[step], completed=done)

    try:
        yield show
    finally:
        if tasks:
            bar.stop()


def _point_to_latest(folder: Path) -> None:
    link = folder.parent / "latest"
    if link.is_symlink() or not link.exists():
        link.unlink(missing_ok=True)
        link.symlink_to(folder.name)


def _with_interval(value: dict[str, float]) -> str:
    return f"{value['mean']:.2f} ± {value['ci95']:.2f}"


def _print_scores(summary: dict[str, Any], trees: bool = True) -> None:
    score = summary["score"]
    better = "lower" if score["lower_is_better"] else "higher"
    out.print(f"\n{summary['game']}: {score['name']} ({better} is better), {score['episodes']:,} unseen episodes")
    beside = [key for key in ("median", "worst", "jammed") if key in score]
    table = Table("policy", "mean ± 95 %", *beside)

    def add(name: str, value: dict[str, float], style: str | None = None) -> None:
        table.add_row(name, _with_interval(value), *(f"{value[key]:.4g}" for key in beside), style=style)

    if trees:
        add(f"trees ({summary['algorithm']})", score, "bold")
    add("expert" if trees else f"expert ({summary['algorithm']})", summary["expert"])
    for name, value in summary.get("yardsticks", {}).items():
        add(f"script: {name}", value)
    out.print(table)
    if "jam_threshold" in score:
        out.print(f"jammed: episodes with a {score['name']} above {score['jam_threshold']:.1f}", highlight=False)
    _print_beside(summary, {"trees": "trees", "expert": "expert"} if trees else {"expert": "expert"})


def _print_beside(summary: dict[str, Any], who: dict[str, str]) -> None:
    for field, words in (("measures", "{}"), ("opponents", "against the scripted adversary “{}”")):
        for name, values in summary.get(field, {}).items():
            scripts = {key: key for key in values if key not in ("trees", "expert")}
            parts = ", ".join(f"{label} {_with_interval(values[key])}" for key, label in (who | scripts).items())
            out.print(f"{words.format(name)}: {parts}", highlight=False)


def _print_summary(summary: dict[str, Any]) -> None:
    _print_scores(summary)
    spent, seconds = summary["rollouts"], summary["seconds"]
    steps = ", ".join(f"{step} {seconds[step]:.2f}" for step in seconds if step != "total" and seconds[step] >= 0.005)
    out.print(
        f"rollouts: {spent['warmup']} warm-up, {spent['train']} training, {spent['valid']} validation\n"
        f"seconds: {seconds['total']:.2f} ({steps})",
        highlight=False,
    )
    for note in summary["notes"]:
        out.print(f"note: {note}", highlight=False)
    folder = summary["out"]
    out.print(f"trees: {folder}/trees.json\nreport: {folder}/report.html", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
