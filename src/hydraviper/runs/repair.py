"""Repair a run: change its trees as little as lets them have all properties, into a folder of their own."""

from collections.abc import Mapping
from pathlib import Path

from hydraviper.data import InputError
from hydraviper.profile import Profile
from hydraviper.protocols import Engine
from hydraviper.records import Summary, encode, to_json
from hydraviper.runs.evaluate import score_record
from hydraviper.runs.folder import new_folder, plain
from hydraviper.runs.opening import episodes_for, playing
from hydraviper.runs.price import paired
from hydraviper.runs.properties import read_properties
from hydraviper.runs.run import Run, Source, opened
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.settings import DEPTH
from hydraviper.trees import file
from hydraviper.trees.tree import Tree
from hydraviper.verify.obligations import obligations_for
from hydraviper.verify.properties import Properties
from hydraviper.verify.repair import refuse_impossible
from hydraviper.verify.repair import repair as mend
from hydraviper.version import __version__

MORE_QUESTIONS = 4  # that a repaired tree may ask, unless the user says how many
SAMPLED = 100  # episodes, at most, on whose observations changes are counted


def repair(
    run: Source,
    properties: Path | str | None = None,
    *,
    depth: int | None = None,
    episodes: int | None = None,
    out: Path | str | None = None,
    engine: Engine | None = None,
    command: str | None = None,
) -> Run:
    """Change trees as little as lets them have all properties, and measure what that costs; the run stays as it is.

    `properties` is a TOML file (default: what ships for the game), `depth` the most questions a tree may ask (default:
    up to four more than now). The repaired run goes to a new folder (default: beside the run); its summary says what
    was changed and what it costs on unseen episodes.
    """
    run = opened(run)
    wanted = read_properties(properties)
    game, students = run.game, run.students
    obligations = obligations_for(game, wanted, students).of_trees()
    if not obligations.names:
        raise InputError(f"{properties} has no property to repair: write a [[property]] of trees (docs/verify.md).")
    refuse_impossible(obligations, students)
    depth = _depth_for(run, depth)
    episodes = episodes_for(game, episodes)
    beside = (run.folder or Path("runs", plain(game.name))).resolve()
    target = new_folder(None if out is None else Path(out), beside.parent, f"{beside.name}-repaired")
    with target as folder, playing(game, engine, run.workers) as engine:
        expert = run.expert
        seeds = rollout_seeds(0, Purpose.REFINE, 0, min(episodes, SAMPLED))
        seen = engine.play(Profile(expert, students), seeds, record=True).observations or ()
        mended = mend(obligations, students, {i: seen[i] for i in students}, depth)
        scored = rollout_seeds(0, Purpose.EVALUATE, 0, episodes)
        played = engine.play_many([Profile(expert, students), Profile(expert, mended.students)], [scored, scored])
        costs = paired(game, *(game.score.of(rollouts.returns) for rollouts in played))
        summary = Summary(
            game=game.name,
            algorithm=run.trees.made["algorithm"],
            score=score_record(game, played[1]),
            before=costs.without,
            cost=costs.cost,
            **mended.to_json(obligations),
            properties=tuple(obligations.names),
            version=__version__,
            out=str(folder),
            command=command,
        )
        return _written(run, mended.students, summary, wanted, folder)


NOTED = ("properties", "changed", "nodes", "smallest", "before", "cost", "version")  # in trees.json, of a summary


def _depth_for(run: Run, asked: int | None) -> int:
    """The most questions in a row that repaired trees may ask."""
    deepest = max(tree.depth for tree in run.trees.trees)
    if asked is None:
        return max(deepest, min(deepest + MORE_QUESTIONS, int(DEPTH.most)))
    if asked < deepest:
        raise InputError(f"--depth {asked} is less than a given tree has ({deepest}): repairing does not cut trees.")
    return asked


def _written(
    run: Run, students: Mapping[int, Tree], summary: Summary, properties: Properties | None, folder: Path
) -> Run:
    """Write the repaired run; its trees.json comes last."""
    note = {key: to_json(summary)[key] for key in NOTED}
    repaired = run.changed(students, folder, made={"repair": note}, score=summary.score)
    settings = None if run.folder is None else run.folder / "settings.json"
    if settings is not None and settings.is_file():
        file.write_whole(folder / "settings.json", settings.read_bytes())
        run.hand_on_expert(folder)
    if properties is not None:
        file.write_whole(folder / "properties.toml", properties.source)
    file.write_whole(folder / "summary.json", encode(summary, indent=1))
    file.save(repaired.trees, folder / "trees.json")
    return repaired
