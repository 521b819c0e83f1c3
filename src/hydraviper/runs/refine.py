"""Search for better trees than those of a run, into a folder of their own."""

import time
from pathlib import Path

from msgspec import structs

from hydraviper.data import Progress
from hydraviper.profile import Profile
from hydraviper.protocols import Engine
from hydraviper.records import Refinement, Summary, encode, from_json
from hydraviper.refine import search
from hydraviper.refine.records import RefineSettings
from hydraviper.runs import draw
from hydraviper.runs import evaluate as evaluation
from hydraviper.runs.distil import keep, refinement
from hydraviper.runs.folder import new_folder
from hydraviper.runs.opening import episodes_for, playing
from hydraviper.runs.properties import kept_by
from hydraviper.runs.recipe import recipe_of
from hydraviper.runs.remarks import remarks
from hydraviper.runs.run import Run, Source, expert_hash, opened
from hydraviper.trees import file
from hydraviper.version import __version__


def refine(
    run: Source,
    settings: RefineSettings,
    *,
    episodes: int | None = None,
    out: Path | str | None = None,
    expert_file: str | None = None,
    engine: Engine | None = None,
    command: str | None = None,
    progress: Progress = lambda step, done, of: None,
) -> Run:
    """Search directly for better trees; never worse on held-out episodes than those of the run.

    The refined run goes to a new folder (default: one in runs/); `episodes` are unseen ones, to score both on.
    """
    run = opened(run)
    students = run.students  # refuses trees of another game before anything is played
    game, expert = run.game, run.expert
    episodes = episodes_for(game, episodes)
    target = new_folder(None if out is None else Path(out), Path("runs"), f"{game.name}-refined")
    with target as folder, playing(game, engine, run.workers) as engine:
        start = time.perf_counter()
        found = search.refine(
            game, expert, students, engine, settings, allowed=kept_by(run.trees, game), progress=progress
        )
        seconds = {"total": time.perf_counter() - start, "refine": found.seconds}
        scores = evaluation.evaluate_profile(game, Profile(expert, found.students), engine, episodes, progress=progress)
        summary = Summary(
            **structs.asdict(scores),
            game=game.name,
            algorithm=run.trees.made["algorithm"],
            seed=settings.seed,
            refined=refinement(game, expert, found, engine, episodes),
            rollouts={"refine": found.rollouts},
            seconds=seconds,
            out=str(folder),
            settings=run.trees.made["settings"],
            notes=(found.sentence(), *remarks(game, found.students, scores)),
            version=__version__,
            expert_hash=expert_hash(expert),
            command=command,
        )
        earlier = run.trees.made.get("refined")
        searches = [*(earlier if isinstance(earlier, list) else ()), found.to_json()]
        made = {"refined": searches, "expert": expert_hash(expert)}  # perhaps another than the trees were made with
        refined = run.changed(found.students, folder, made=made, score=summary.score)
        _write(refined, summary, folder, expert_file or run.hand_on_expert(folder))
    return refined


def _write(run: Run, summary: Summary, folder: Path, expert_file: str | None) -> None:
    made, expert_file = run.trees.made, keep(run.expert, folder) or expert_file
    refined = from_json(Refinement, made["refined"][-1], "the search")
    recipe = recipe_of(run.game, run.expert, expert_file, made["algorithm"], made["settings"], refined=refined)
    file.write_whole(folder / "settings.json", encode(recipe, indent=1))
    file.write_whole(folder / "summary.json", encode(summary, indent=1))
    page = draw.report(run.game, run.trees, summary, lambda: run.expert, notes=summary.notes or ())
    file.write_whole(folder / "report.html", page)
    file.save(run.trees, folder / "trees.json")
