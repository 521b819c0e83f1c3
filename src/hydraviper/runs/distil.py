"""A run is a folder: settings.json, ledger.jsonl, trees.json, summary.json and report.html.

While it is under way, rollouts that took seconds each are kept there, too, so that a run that was killed goes on where
it was.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hydraviper.algorithm import Distilled, distill
from hydraviper.data import Estimate, InputError, JobError, Ledger, Progress
from hydraviper.drawing.report import render_report
from hydraviper.engines.remembered import PiecewiseEngine, RememberedEngine
from hydraviper.experts import store
from hydraviper.experts.store import StoredExpert
from hydraviper.profile import Profile
from hydraviper.protocols import Engine, Game, offers
from hydraviper.refine.records import Allowed, Refined, RefineSettings
from hydraviper.refine.search import refine
from hydraviper.runs import evaluate as evaluation
from hydraviper.runs import folder as folders
from hydraviper.runs import price as pricing
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.settings import Settings
from hydraviper.trees import file
from hydraviper.trees.tree import Tree
from hydraviper.variants import Variant
from hydraviper.verify.constraints import Constraints
from hydraviper.verify.prover.proof import verify
from hydraviper.verify.verdicts import HOLDS, NOWHERE
from hydraviper.version import __version__

JOURNAL = "rollouts.journal"
PRICES = ("each", "all", "none")


@dataclass(frozen=True)
class Run:
    """What a run is made of, before it is run."""

    game: Game
    expert: StoredExpert
    variant: Variant
    settings: Settings
    expert_file: str | None = None  # None for the one that ships
    constraints: Constraints | None = None  # what the trees must keep to
    price: str = "each"  # which constraints' costs are measured: each, all together, none

    def to_json(self) -> dict[str, Any]:
        """settings.json: enough to make the run again."""
        return {
            "game": _identity(self.game),
            "algorithm": self.variant.name,
            "expert": {"hash": store.digest(self.expert), "file": self.expert_file},
            "settings": self.settings.to_json(),
            "version": __version__,
        } | ({} if self.constraints is None else {"constraints": self.constraints.source})


@contextmanager
def claimed(run: Run, folder: Path | None, parent: Path = Path("runs")) -> Iterator[Path]:
    """Hold a folder for a run, as given or runs/GAME-ALGORITHM-1, -2, ...; an impossible run leaves nothing behind."""
    if folder is None:
        folder = folders.numbered(parent, f"{run.game.name}-{run.variant.name}")
    with folders.as_input_error(folder):
        _check_folder(run, folder)
        folder.mkdir(parents=True, exist_ok=True)
        folders.check_file(folder / "settings.json")
    with folders.held(folder):
        _check_folder(run, folder)  # what another process left there meanwhile
        resumed = (folder / "settings.json").is_file()
        file.write_whole(folder / "settings.json", json.dumps(run.to_json(), indent=1))
        (folder / "ledger.jsonl").write_text("")
        try:
            yield folder
        except InputError:
            if not resumed:  # else what was played before is still worth something
                for name in ("settings.json", "ledger.jsonl", JOURNAL):
                    (folder / name).unlink(missing_ok=True)
                with suppress(OSError):
                    folder.rmdir()  # only if nothing else is in it
            raise


def _check_folder(run: Run, folder: Path) -> None:
    """A new or empty folder, or the one where the same run was interrupted."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: pass a folder with --out.")
    noted = folder / "settings.json"
    if folder.is_dir() and not _is_unused(folder):
        if not noted.is_file():
            raise InputError(f"{folder} holds something that is not a run: pass an empty or a new folder with --out.")
        same = settings_in(folder) == run.to_json()
        finished = "trees.json" if run.settings.learner == "tree" else "summary.json"  # what is written last
        if same and (folder / finished).exists():
            raise InputError(f"{folder} already holds this run, finished: pass a new folder with --out.")
        if not same:
            raise InputError(f"{folder} already holds another run: pass a new folder with --out.")


def _is_unused(folder: Path) -> bool:
    """Tell whether nothing is in a folder, or only what a run leaves that was killed while it claimed it."""
    beginnings = {"ledger.jsonl", "settings.json.part"}
    inside = list(folder.iterdir())
    ledger = folder / "ledger.jsonl"
    return {path.name for path in inside} <= beginnings and not (ledger.is_file() and ledger.stat().st_size)


def subject(game: Game) -> str:
    """What rollouts of a game are remembered under."""
    return json.dumps([_identity(game), __version__], sort_keys=True)


def _identity(game: Game) -> dict[str, Any]:
    """A game by name, by parameters, and by the content of the files that it was made from."""
    content = offers(game).content
    files = {} if content is None else {"content": content}
    return {"name": game.name, "parameters": dict(game.parameters), **files}


def execute(
    run: Run,
    folder: Path,
    engine: Engine,
    episodes: int,
    command: str,
    progress: Progress,
    references: Callable[[], evaluation.References] | None = None,
    shared: Path | None = None,
) -> dict[str, Any]:
    """Distill into a claimed folder and evaluate on unseen seeds; returns the object that `--json` prints.

    `references` gives the expert's and the yardsticks' rollouts where somebody has them already. `shared` is a folder
    where runs leave their rollouts for one another.
    """
    start = time.perf_counter()
    ledger = Ledger(folder / "ledger.jsonl")
    place = engine
    if isinstance(engine, PiecewiseEngine) and not offers(run.game).compiled:  # else playing is quicker
        others = () if shared is None else sorted(shared.glob("*.journal"))
        about = subject(run.game), store.policy_digest, ledger.charge
        place = RememberedEngine(engine, folder / JOURNAL, *about, others)
    result = distill(run.game, run.expert, run.settings, run.variant, place, ledger, progress, run.constraints)
    seconds = {"total": time.perf_counter() - start + ledger.seconds_before, **ledger.seconds}
    known = None if references is None else references()
    fields = evaluation.evaluate(run.game, run.expert, result.profile.students, place, episodes, references=known)
    if result.refined is not None:
        fields["refined"] = refined_fields(run.game, run.expert, result.refined, place, episodes, 0)
    if isinstance(place, RememberedEngine) and place.resumed:
        ledger.note(
            f"The run was interrupted and took {place.resumed} rollouts from before; its seconds count those, too."
        )
    if isinstance(place, RememberedEngine) and place.borrowed:
        ledger.note(f"{place.borrowed} rollouts were taken from runs that had played them; their seconds count, too.")
    if isinstance(place, RememberedEngine):
        changed, again = place.play_again()
        if changed:
            ledger.note(
                f"{changed} of {again} rollouts came out differently when they were played again: episodes of this "
                "game depend on more than their seeds, so the same command may end with other trees."
            )
    progress("evaluated", 1, 1)
    summary = {
        "game": run.game.name,
        "algorithm": run.variant.name,
        "seed": run.settings.seed,
        **fields,
        "rollouts": ledger.rollouts,
        "seconds": seconds,
        "out": str(folder),
        "teams": [[run.game.agents[i].name for i in team] for team in result.teams],
        "selection": _selection(run, result),
        "settings": result.settings.to_json(),
        "notes": ledger.notes,
        "version": __version__,
        "expert_hash": store.digest(run.expert),
        "command": command,
    }
    if run.constraints is not None:
        summary["constraints"] = _constraints(run, run.constraints, result, place, episodes, progress)
    _write(run, result, summary, folder)
    if shared is not None and (folder / JOURNAL).exists():
        shared.mkdir(parents=True, exist_ok=True)
        (folder / JOURNAL).replace(shared / f"{folder.name}.journal")
    (folder / JOURNAL).unlink(missing_ok=True)
    return summary


def _constraints(
    run: Run, constraints: Constraints, result: Distilled, engine: Engine, episodes: int, progress: Progress
) -> dict[str, Any]:
    """Whether the trees have every property, proved once more, and what that costs."""
    students = {i: tree for i, tree in result.profile.students.items() if isinstance(tree, Tree)}
    answers = verify(constraints.obligations, students)
    if broken := [answer.property for answer in answers if answer.outcome not in (HOLDS, NOWHERE)]:
        raise JobError(f"the trees do not have the property {broken[0]!r}, though they should: please report this.")
    fields: dict[str, Any] = {"properties": {answer.property: answer.holds for answer in answers}}
    if run.price != "none":
        given = run.game, run.expert, result.settings, run.variant, engine, constraints, students, episodes
        fields["price"] = pricing.price(*given, run.price == "each", progress)
    return fields


def trees_of(run: Run, result: Distilled, score: Mapping[str, Any] | None) -> file.TreesFile:
    """The distilled trees as a document."""
    students = sorted(result.profile.students.items())
    for i, student in students:
        if not isinstance(student, Tree):
            raise InputError(f"the student of {run.game.agents[i].name} is no tree and cannot be saved as trees.json.")
    made = {
        "algorithm": result.algorithm,
        "settings": result.settings.to_json(),
        "seed": result.settings.seed,
        "expert": store.digest(run.expert),
        "version": __version__,
    } | ({} if run.constraints is None else {"constraints": run.constraints.source})
    if result.refined is not None:
        made["refined"] = [result.refined.to_json()]
    return file.TreesFile(
        game=run.game.name,
        parameters=dict(run.game.parameters),
        agents=tuple(run.game.agents[i] for i, _ in students),
        trees=tuple(student for _, student in students if isinstance(student, Tree)),
        made=made,
        score=score,
    )


def _write(run: Run, result: Distilled, summary: dict[str, Any], folder: Path) -> None:
    if run.settings.learner != "tree":
        page = render_report(summary, (), (), result.ledger.lines, result.ledger.notes)
        file.write_whole(folder / "report.html", page)
        file.write_whole(folder / "summary.json", json.dumps(summary, indent=1))
        return
    trees = trees_of(run, result, summary["score"])
    file.write_whole(folder / "summary.json", json.dumps(summary, indent=1))
    lines, notes, drawing = result.ledger.lines, result.ledger.notes, offers(run.game).drawing
    page = render_report(summary, trees.agents, trees.trees, lines, notes, drawing, result.teams)
    file.write_whole(folder / "report.html", page)
    file.save(trees, folder / "trees.json")  # last: a folder with trees.json is a finished run


def refined_fields(
    game: Game, expert: StoredExpert, refined: Refined, engine: Engine, episodes: int, seed: int
) -> dict[str, Any]:
    """How refining went, and what it gained on the unseen episodes of the evaluation."""
    seeds = rollout_seeds(seed, Purpose.EVALUATE, 0, episodes)
    before, after = (
        game.score.of(engine.play(Profile(expert, trees), seeds).returns) for trees in (refined.given, refined.students)
    )
    gain = Estimate.of((before - after) if game.score.lower_is_better else (after - before))
    estimates = {"before": Estimate.of(before), "after": Estimate.of(after), "gain": gain}
    unseen = {name: {"mean": own.mean, "ci95": own.ci95} for name, own in estimates.items()}
    return {**refined.to_json(), "unseen": {"episodes": episodes, **unseen}}


def refine_run(
    trees: file.TreesFile,
    game: Game,
    expert: StoredExpert,
    settings: RefineSettings,
    engine: Engine,
    episodes: int,
    expert_file: str | None,
    folder: Path,
    command: str,
    progress: Progress,
    allowed: Allowed | None = None,
) -> dict[str, Any]:
    """Refine trees into a new folder and evaluate both on unseen seeds; returns the object that `--json` prints."""
    start = time.perf_counter()
    found = refine(game, expert, trees.students(game), engine, settings, allowed=allowed, progress=progress)
    seconds = {"total": time.perf_counter() - start, "refine": found.seconds}
    fields = evaluation.evaluate(game, expert, found.students, engine, episodes)
    before = trees.made.get("refined")
    made = {**trees.made, "refined": [*(before if isinstance(before, list) else ()), found.to_json()]}
    summary = {
        "game": game.name,
        "algorithm": trees.made["algorithm"],
        "seed": settings.seed,
        **fields,
        "refined": refined_fields(game, expert, found, engine, episodes, 0),
        "rollouts": {"refine": found.rollouts},
        "seconds": seconds,
        "out": str(folder),
        "settings": trees.made["settings"],
        "notes": [found.sentence()],
        "version": __version__,
        "expert_hash": store.digest(expert),
        "command": command,
    }
    order = {game.agents[i].name: tree for i, tree in found.students.items()}
    document = replace(
        trees, trees=tuple(order[agent.name] for agent in trees.agents), made=made, score=summary["score"]
    )
    noted = {
        "game": _identity(game),
        "algorithm": trees.made["algorithm"],
        "expert": {"hash": store.digest(expert), "file": expert_file},
        "settings": trees.made["settings"],
        "refined": found.to_json(),
        "version": __version__,
    }
    file.write_whole(folder / "settings.json", json.dumps(noted, indent=1))
    file.write_whole(folder / "summary.json", json.dumps(summary, indent=1))
    page = render_report(
        summary, document.agents, document.trees, [], summary["notes"], offers(game).drawing, game.teams
    )
    file.write_whole(folder / "report.html", page)
    file.save(document, folder / "trees.json")
    return summary


def _selection(run: Run, result: Distilled) -> list[dict[str, Any]]:
    return [
        {
            "team": [run.game.agents[i].name for i in team],
            "chosen": choice.chosen + 1,
            "means": choice.means,
            "pulls": choice.pulls,
        }
        for team, choice in zip(result.teams, result.choices, strict=True)
    ]


def expert_file_in(folder: Path, digest: str) -> str | None:
    """The expert's file that a run's settings.json names, if it is that of the expert with this hash."""
    noted = settings_in(folder).get("expert")
    named = noted.get("file") if isinstance(noted, dict) and noted.get("hash") == digest else None
    return named if isinstance(named, str) else None


def settings_in(folder: Path) -> dict[str, Any]:
    """What a run's settings.json says; nothing if there is none or if it cannot be read."""
    try:
        noted = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return noted if isinstance(noted, dict) else {}
