"""Edits of a run: what a change costs on the same episodes, its record in trees.json, undoing it, a fresh report."""

import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from msgspec import structs

from hydraviper.data import Estimate, InputError, Rollouts
from hydraviper.expressions.features import nameable
from hydraviper.profile import Profile
from hydraviper.protocols import Engine, Expert, Game, Student, offers
from hydraviper.records import Agreement, Edit, EditScore, Evaluation, OverTime, Summary, Undo, encode
from hydraviper.rollout import Watched
from hydraviper.runs import draw
from hydraviper.runs.edit_files import copy, digest, save
from hydraviper.runs.evaluate import closer_look, outcome, over_time, score_record
from hydraviper.runs.folder import new_folder
from hydraviper.runs.opening import playing
from hydraviper.runs.remarks import remarks
from hydraviper.runs.run import Run, Source, opened, read_ledger
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.settings import EPISODES
from hydraviper.trees import edit as tree_edit
from hydraviper.trees.counts import recount
from hydraviper.trees.edit import Wish
from hydraviper.trees.file import TreesFile
from hydraviper.trees.tree import Tree
from hydraviper.version import __version__


@dataclass(frozen=True)
class Edited:
    """The trees after an edit or its undoing, and where they were written."""

    trees: TreesFile
    record: Edit  # what was changed, or what was taken back
    path: Path  # the run's folder or trees.json
    report: Path | None = None  # the fresh report; None if nothing was written or there is no summary to make it from

    def __str__(self) -> str:
        return in_words(self.record)


def edit(
    run: Source,
    agent: str,
    wish: Wish,
    *,
    episodes: int | None = None,
    seed: int = 0,
    out: Path | str | None = None,
    dry_run: bool = False,
    engine: Engine | None = None,
) -> Edited:
    """Change a tree, play both on the same episodes, and write the trees with a record of the edit.

    They go to the run itself, or to a new folder `out`; with `dry_run` nothing is written.
    """
    run = opened(run)
    path = _path(run)
    trees, summary, game = run.trees, run.summary if path.is_dir() else None, run.game
    trees.place(agent)
    expert = run.expert
    episodes = usual_episodes(trees, game) if episodes is None else episodes
    target = nullcontext() if out is None or dry_run else new_folder(Path(out), Path("runs"), "edited")
    with target as folder, playing(game, engine, run.workers) as engine:
        bench = Bench(game, expert, engine, episodes, seed)
        changed, evaluation = measure(trees, agent, wish, bench, summary)
        if folder is not None:
            copy(path, folder)
            path = folder
    if dry_run:
        return Edited(changed, changed.edits[-1], path)
    beside = {}
    if summary is not None:
        notes = _notes(summary, evaluation, game, trees.students(game), changed.students(game))
        beside = _beside(path, changed, structs.replace(after_edit(summary, evaluation), notes=notes), run)
    report = save(path, trees, changed, beside)
    return Edited(changed, changed.edits[-1], path, report)


def _notes(
    summary: Summary, evaluation: Evaluation, game: Game, old: Mapping[int, Tree], new: Mapping[int, Tree]
) -> tuple[str, ...]:
    """The notes of a run, with what stands out in the edited trees instead of those before."""
    outdated = remarks(game, old, summary)
    kept = [note for note in summary.notes or () if note not in outdated]
    return (*kept, *remarks(game, new, evaluation))


def undo(run: Run) -> Edited:
    """Take back the last edit of a run: its trees, score, summary and report are as before, bit for bit."""
    path, trees = _path(run), run.trees
    back = undone(trees)
    summary = run.summary if path.is_dir() else None
    beside = {} if summary is None else _beside(path, back, after_undo(summary, back), run)
    report = save(path, trees, back, beside)
    return Edited(back, trees.edits[-1], path, report)


def _path(run: Run) -> Path:
    if run.path is None:
        raise InputError("these trees were not saved: save the run first, then edit it.")
    return run.path


@dataclass(frozen=True)
class Bench:
    """Where edits are measured."""

    game: Game
    expert: Expert
    engine: Engine
    episodes: int
    seed: int = 0  # as of `evaluate`


def usual_episodes(trees: TreesFile, game: Game) -> int:
    """As many as the trees were scored on before their first edit, or what suits the game."""
    first = trees.edits[0].undo if trees.edits else None
    score = trees.score if first is None else first.score
    if score is not None and EPISODES.least <= score.episodes <= EPISODES.most:
        return score.episodes
    return game.recommended.evaluation_episodes


def measure(
    trees: TreesFile, agent: str, wish: Wish, bench: Bench, summary: Summary | None
) -> tuple[TreesFile, Evaluation]:
    """Apply an edit and play the trees before and after it on the same episodes.

    The edited tree's counts come from the episodes that the edited trees play, labelled by the expert.
    """
    EPISODES.check("--episodes", bench.episodes)
    position, students = trees.place(agent), trees.students(bench.game)
    member = [one.name for one in bench.game.agents].index(agent)
    offered = nameable(bench.game, trees.made)[member]
    edited = tree_edit.apply(wish, trees.agents[position], trees.trees[position], offered)
    seeds = rollout_seeds(bench.seed, Purpose.EVALUATE, 0, bench.episodes)
    before = bench.engine.play(Profile(bench.expert, students), seeds)
    after = bench.engine.play(Watched(Profile(bench.expert, {**students, member: edited.tree})), seeds, record=True)
    rows = after.moments(member)
    labels = bench.expert.act(after.observations or (), (member,))[rows, member]
    seen = (after.observations or ())[member][rows]
    tree = recount(edited.tree, seen, labels)
    evaluation = _evaluation(summary, bench, {**students, member: tree}, after)
    record = Edit(
        agent=agent,
        node=wish.node,
        what=edited.what,
        before=edited.before,
        after=edited.after,
        counts=f"the edited trees played {bench.episodes} episodes (seed {bench.seed}), labelled by the expert",
        score=_compared(bench, before, after),
        agreement=Agreement(
            observations=len(labels),
            before=_agreement(students[member], seen, labels),
            after=_agreement(tree, seen, labels),
        ),
        undo=Undo(tree=trees.trees[position].to_json(), score=trees.score, mark=_mark(tree)),
        version=__version__,
    )
    changed = (*trees.trees[:position], tree, *trees.trees[position + 1 :])
    return replace(trees, trees=changed, score=evaluation.score, edits=(*trees.edits, record)), evaluation


def undone(trees: TreesFile) -> TreesFile:
    """The trees as they were before the last edit, bit for bit."""
    if not trees.edits or trees.edits[-1].undo is None:
        raise InputError("these trees have not been edited: there is nothing to undo.")
    last, kept = trees.edits[-1], trees.edits[-1].undo
    position = trees.place(last.agent)
    if _mark(trees.trees[position]) != kept.mark:
        raise InputError(
            f"the tree of {last.agent} was changed after its last edit by something else: undo that first."
        )
    changed = (*trees.trees[:position], Tree.from_json(kept.tree), *trees.trees[position + 1 :])
    return replace(trees, trees=changed, score=kept.score, edits=trees.edits[:-1])


def in_words(record: Edit) -> str:
    """An edit and what it cost as one sentence."""
    score = record.score
    return (
        f"{record.agent}, node {record.node}: {record.before!r} became {record.after!r}; {score.name} "
        f"{score.before} before, {score.after} after, {verdict(score)} ({score.difference:+.2f})"
        f"{_agreement_in_words(record.agreement)}."
    )


def _agreement(tree: Tree, seen: np.ndarray, labels: np.ndarray) -> float:
    return float((tree.predict(seen) == labels).mean())


def _agreement_in_words(agreement: Agreement | None) -> str:
    """How often the expert agrees before and after, on the same data; an edit of an older version does not know."""
    if agreement is None:
        return ""
    return (
        f"; the expert agrees on {100 * agreement.before:.1f} % before and {100 * agreement.after:.1f} % after, "
        f"of the same {agreement.observations:,} observations"
    )


def verdict(score: EditScore) -> str:
    """Better, worse, or no difference that the episodes show."""
    if abs(score.difference.mean) <= score.difference.ci95:
        return "no difference that these episodes show"
    return "better" if (score.difference.mean < 0) == score.lower_is_better else "worse"


def after_edit(summary: Summary, evaluation: Evaluation) -> Summary:
    """The summary with what was measured; behind it, the summaries before each edit."""
    earlier = (*summary.before_edits, structs.replace(summary, before_edits=()))
    return structs.replace(summary, **structs.asdict(evaluation), before_edits=earlier)


def after_undo(summary: Summary, trees: TreesFile) -> Summary:
    """The summary as it was before the last edit; if it does not know that, with the trees' score alone."""
    if not summary.before_edits:
        remaining = Evaluation() if trees.score is None else Evaluation(score=trees.score)
        return structs.replace(summary, **structs.asdict(remaining))
    *earlier, last = summary.before_edits
    return structs.replace(last, before_edits=tuple(earlier))


def _beside(folder: Path, trees: TreesFile, summary: Summary, run: Run) -> dict[str, str]:
    """summary.json and report.html of the edited trees."""
    notes = [f"Edited by hand: {in_words(record)}" for record in trees.edits]
    if notes:
        notes.append(
            "The score is that of the episodes by which the edits were judged: `hydraviper evaluate RUN --seed 1` "
            "scores on others. An edited tree's counts are those of the episodes that it played then."
        )
    notes = [*(summary.notes or ()), *notes]
    report = draw.report(run.game, trees, summary, lambda: run.expert, ledger=read_ledger(folder), notes=notes)
    return {"summary.json": encode(summary, indent=1), "report.html": report}


# --------------------------------------------------------------------------- numbers


def _evaluation(summary: Summary | None, bench: Bench, students: Mapping[int, Student], played: Rollouts) -> Evaluation:
    """What is measured anew; what was measured on other episodes is left out, not compared with."""
    earlier = [] if summary is None else [summary, *reversed(summary.before_edits)]
    same = [old for old in earlier if old.expert is not None and old.score.episodes == bench.episodes]
    if not same or bench.seed != 0:  # a run is scored with seed 0
        return Evaluation(score=score_record(bench.game, played), **closer_look(bench.game, {"trees": played}))
    old, scripts = same[0], offers(bench.game).scoring.opponents
    seeds = rollout_seeds(bench.seed, Purpose.EVALUATE, 0, bench.episodes)
    return Evaluation(
        score=score_record(bench.game, played, old.score.jam_threshold),
        expert=old.expert,
        yardsticks=old.yardsticks,
        measures={
            name: {**sides, "trees": Estimate.of(played.measures[name])} if name in played.measures else sides
            for name, sides in old.measures.items()
        },
        opponents={
            name: {
                **sides,
                "trees": outcome(
                    bench.game, bench.engine.play(Profile(bench.expert, {**students, **scripts[name]}), seeds)
                ),
            }
            for name, sides in old.opponents.items()
            if name in scripts
        },
        over_time=None if old.over_time is None else _over_time(old.over_time, bench.game, played),
        **closer_look(bench.game, {"trees": played}, old.streets),
    )


def _over_time(old: OverTime, game: Game, played: Rollouts) -> OverTime | None:
    minutes = offers(game).scoring.step_minutes
    if minutes is None:
        return None
    return structs.replace(old, policies={**old.policies, **over_time(game, minutes, {"trees": played}).policies})


def _compared(bench: Bench, before: Rollouts, after: Rollouts) -> EditScore:
    score = bench.game.score
    first, second = score.of(before.returns), score.of(after.returns)
    return EditScore(
        name=score.name,
        episodes=bench.episodes,
        seed=bench.seed,
        lower_is_better=score.lower_is_better,
        before=Estimate.of(first),
        after=Estimate.of(second),
        difference=Estimate.of(second - first),
    )


def _mark(tree: Tree) -> str:
    """A short name for exactly this tree."""
    return digest(json.dumps(tree.to_json()))[:16]
