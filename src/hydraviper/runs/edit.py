"""Edits of a run: what a change costs on the same episodes, its record in trees.json, undoing it, a fresh report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hydraviper.data import Estimate, InputError, Rollouts
from hydraviper.drawing.report import render_report
from hydraviper.profile import Profile
from hydraviper.protocols import Engine, Expert, Game, offers
from hydraviper.runs.evaluate import over_time, score_fields
from hydraviper.runs.folder import held
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.settings import EPISODES
from hydraviper.trees import edit, file
from hydraviper.trees.counts import recount
from hydraviper.trees.edit import Wish
from hydraviper.trees.file import TreesFile
from hydraviper.trees.tree import Tree
from hydraviper.version import __version__

PENDING = "edit.pending"  # what stands beside trees.json after an edit that is under way
BESIDE = ("summary.json", "report.html")
RUN_FILES = ("settings.json", "ledger.jsonl", *BESIDE, "trees.json")
LEFTOVERS = (*(f"{name}.part" for name in ("trees.json", *BESIDE, PENDING)), PENDING)  # of an edit that was killed
_MEASURED = ("score", "expert", "difference", "yardsticks", "measures", "opponents", "over_time")  # of a summary


@dataclass(frozen=True)
class Bench:
    """Where edits are measured."""

    game: Game
    expert: Expert
    engine: Engine
    episodes: int
    seed: int = 0  # as of `evaluate`


@dataclass(frozen=True)
class Measured:
    """The trees after an edit, and the fields of the summary that changed with them."""

    trees: TreesFile
    fields: Mapping[str, Any]


def usual_episodes(trees: TreesFile, game: Game) -> int:
    """As many as the trees were scored on before their first edit, or what suits the game."""
    score = trees.edits[0]["undo"]["score"] if trees.edits else trees.score
    episodes = score.get("episodes") if isinstance(score, Mapping) else None
    if isinstance(episodes, int) and EPISODES.least <= episodes <= EPISODES.most:
        return episodes
    return game.recommended.evaluation_episodes


def measure(trees: TreesFile, agent: str, wish: Wish, bench: Bench, summary: Mapping[str, Any]) -> Measured:
    """Apply an edit and play the trees before and after it on the same episodes.

    The edited tree's counts come from the episodes that the edited trees play, labelled by the expert.
    """
    EPISODES.check("--episodes", bench.episodes)
    place, students = trees.place(agent), trees.students(bench.game)
    member = [own.name for own in bench.game.agents].index(agent)
    derived = offers(bench.game).search.derived
    offered = derived[member] if derived else ()
    edited = edit.apply(wish, trees.agents[place], trees.trees[place], offered)
    seeds = rollout_seeds(bench.seed, Purpose.EVALUATE, 0, bench.episodes)
    before = bench.engine.play(Profile(bench.expert, students), seeds)
    after = bench.engine.play(Profile(bench.expert, {**students, member: edited.tree}), seeds, record=True)
    seen = after.observations or ()
    labels = bench.expert.act(seen, (member,))[:, member]
    tree = recount(edited.tree, seen[member], labels)
    with odd_files(Path(str(summary.get("out", "the run's folder")))):
        fields = _fields(summary, bench, {**students, member: tree}, after)
    record = {
        "agent": agent,
        "node": wish.node,
        "what": edited.what,
        "before": edited.before,
        "after": edited.after,
        "counts": f"the edited trees played {bench.episodes} episodes (seed {bench.seed}), labelled by the expert",
        "score": _compared(bench, before, after),
        "agreement": {
            "observations": len(labels),
            "before": _agreement(students[member], seen[member], labels),
            "after": _agreement(tree, seen[member], labels),
        },
        "undo": {"tree": trees.trees[place].to_json(), "score": trees.score, "mark": _mark(tree)},
        "version": __version__,
    }
    changed = (*trees.trees[:place], tree, *trees.trees[place + 1 :])
    return Measured(replace(trees, trees=changed, score=fields["score"], edits=(*trees.edits, record)), fields)


def undo(trees: TreesFile) -> TreesFile:
    """The trees as they were before the last edit, bit for bit."""
    if not trees.edits:
        raise InputError("these trees have not been edited: there is nothing to undo.")
    last = trees.edits[-1]
    place, kept = trees.place(last["agent"]), last["undo"]
    if _mark(trees.trees[place]) != kept["mark"]:
        raise InputError(
            f"the tree of {last['agent']} was changed after its last edit by something else: undo that first."
        )
    changed = (*trees.trees[:place], Tree.from_json(kept["tree"]), *trees.trees[place + 1 :])
    return replace(trees, trees=changed, score=kept["score"], edits=trees.edits[:-1])


def in_words(record: Mapping[str, Any]) -> str:
    """An edit and what it cost as one sentence."""
    score = record["score"]
    before, after, difference = (Estimate(**score[k], count=0) for k in ("before", "after", "difference"))
    return (
        f"{record['agent']}, node {record['node']}: {record['before']!r} became {record['after']!r}; {score['name']} "
        f"{before} before, {after} after, {verdict(score)} ({difference.mean:+.2f} ± {difference.ci95:.2f})"
        f"{_agreement_in_words(record.get('agreement'))}."
    )


def _agreement(tree: Tree, seen: np.ndarray, labels: np.ndarray) -> float:
    return float((tree.predict(seen) == labels).mean())


def _agreement_in_words(known: Mapping[str, Any] | None) -> str:
    """How often the expert agrees before and after, on the same data; an edit of an older version does not know."""
    if not known:
        return ""
    before, after = (f"{100 * known[when]:.1f} %" for when in ("before", "after"))
    return (
        f"; the expert agrees on {before} before and {after} after, of the same {known['observations']:,} observations"
    )


def verdict(score: Mapping[str, Any]) -> str:
    """Better, worse, or no difference that the episodes show."""
    mean, ci95 = score["difference"]["mean"], score["difference"]["ci95"]
    if abs(mean) <= ci95:
        return "no difference that these episodes show"
    return "better" if (mean < 0) == score["lower_is_better"] else "worse"


# --------------------------------------------------------------------------- the run's folder


def home(run: Path) -> Path:
    """The run's folder, also where its trees.json was named; a trees.json elsewhere stands for itself."""
    is_inside = run.name == "trees.json" and (run.parent / "summary.json").is_file()
    return run.parent if run.is_file() and is_inside else run


def read_summary(run: Path) -> dict[str, Any]:
    """summary.json of a run's folder; nothing for a bare trees.json or if it cannot be read."""
    try:
        summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return summary if isinstance(summary, dict) else {}


def save(run: Path, old: TreesFile, new: TreesFile, summary: Mapping[str, Any], game: Game | None) -> Path | None:
    """Write the trees, with summary and report where the run has them; returns the report's path.

    The edit happens when trees.json gets its new content, in one step. What stands beside it is noted before, so that
    `finish` completes an edit that was interrupted just then.
    """
    path = run / "trees.json" if run.is_dir() else run
    text = json.dumps(new.to_json(), indent=1)
    beside = {}
    if summary and game is not None:
        with odd_files(run):
            beside = {"summary.json": json.dumps(summary, indent=1), "report.html": _report(run, new, summary, game)}
    with held(path.parent):
        if file.load(path).to_json() != old.to_json():
            raise InputError(f"{path} was changed by something else meanwhile: nothing was written, repeat the edit.")
        if beside:
            file.write_whole(run / PENDING, json.dumps({"trees": _digest(text), "files": beside}))
        file.write_whole(path, text)
        if beside:
            _complete(run)
    return run / "report.html" if beside else None


def copy(run: Path, folder: Path) -> None:
    """Let a new folder hold what a run's folder holds, so that the edit leaves the run as it is."""
    sources = {"trees.json": run} if run.is_file() else {name: run / name for name in RUN_FILES}
    for name, source in sources.items():
        if source.is_file():
            file.write_whole(folder / name, source.read_bytes())


def finish(run: Path) -> None:
    """Complete an edit that was interrupted behind its trees; forget one whose trees were never written."""
    if run.is_dir() and any((run / name).exists() for name in LEFTOVERS):
        with held(run):
            _complete(run)


def _complete(run: Path) -> None:
    try:
        noted = json.loads((run / PENDING).read_text(encoding="utf-8"))
        if noted["trees"] == _digest((run / "trees.json").read_text(encoding="utf-8")):
            for name in BESIDE:
                file.write_whole(run / name, str(noted["files"][name]))
    except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
        pass  # nothing under way, or nothing that an edit left
    for name in LEFTOVERS:
        (run / name).unlink(missing_ok=True)


@contextmanager
def odd_files(run: Path) -> Iterator[None]:
    """Whatever the files beside the trees say that no run says is the input's fault."""
    try:
        yield
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError) as error:
        raise InputError(
            f"the files in {run} do not say what a run's say ({type(error).__name__}: {error}): move its summary.json "
            "and ledger.jsonl away, or edit a copy of its trees.json."
        ) from error


def after_edit(summary: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The summary with what was measured; behind it, the summaries before each edit."""
    if not summary:
        return {}
    kept = {name: value for name, value in summary.items() if name != "before_edits"}
    rest = {name: value for name, value in kept.items() if name not in _MEASURED}
    return {**rest, **fields, "before_edits": [*summary.get("before_edits", ()), kept]}


def after_undo(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The summary as it was before the last edit; without its scores if it does not know them."""
    if not summary.get("before_edits"):
        return {name: value for name, value in summary.items() if name not in _MEASURED}
    *stack, kept = summary["before_edits"]
    return {**kept, **({"before_edits": stack} if stack else {})}


def _report(run: Path, trees: TreesFile, summary: Mapping[str, Any], game: Game) -> str:
    ledger = run / "ledger.jsonl"
    lines = _ledger_lines(ledger) if ledger.is_file() else []
    notes = [f"Edited by hand: {in_words(record)}" for record in trees.edits]
    if notes:
        notes.append(
            "The score is that of the episodes by which the edits were judged: `hydraviper evaluate RUN --seed 1` "
            "scores on others. An edited tree's counts are those of the episodes that it played then."
        )
    places = {agent.name: i for i, agent in enumerate(game.agents)}
    teams = [tuple(places[name] for name in team) for team in summary.get("teams", ())] or game.teams
    notes = [*summary.get("notes", ()), *notes]
    return render_report(summary, trees.agents, trees.trees, lines, notes, offers(game).drawing, teams)


def _ledger_lines(ledger: Path) -> list[dict[str, Any]]:
    """The ledger's lines up to the first that is torn: a run that was killed ends in the middle of one."""
    lines = []
    for line in ledger.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            lines.append(json.loads(line))
        except (ValueError, RecursionError):
            break
    return lines


# --------------------------------------------------------------------------- numbers


def _fields(summary: Mapping[str, Any], bench: Bench, students: Mapping[int, Tree], played: Rollouts) -> dict[str, Any]:
    """The measured fields of the summary; what was measured on other episodes is left out, not compared with."""
    earlier = [summary, *reversed(summary.get("before_edits", ()))]
    same = [old for old in earlier if "expert" in old and old["score"].get("episodes") == bench.episodes]
    if not same or bench.seed != 0:  # a run is scored with seed 0
        return {"score": score_fields(bench.game, played)}
    summary = same[0]
    fields: dict[str, Any] = {"score": score_fields(bench.game, played, summary["score"].get("jam_threshold"))}
    fields |= {name: summary[name] for name in ("expert", "yardsticks") if name in summary}
    if "measures" in summary:
        fields["measures"] = {
            name: {**sides, "trees": _plain(Estimate.of(played.measures[name]))} if name in played.measures else sides
            for name, sides in summary["measures"].items()
        }
    scoring = offers(bench.game).scoring
    if "over_time" in summary and scoring.step_minutes is not None:
        new, old = over_time(bench.game, scoring.step_minutes, {"trees": played}), summary["over_time"]
        fields["over_time"] = {**old, "policies": {**old["policies"], **new["policies"]}}
    if "opponents" in summary:
        seeds = rollout_seeds(bench.seed, Purpose.EVALUATE, 0, bench.episodes)
        fields["opponents"] = {
            name: {**sides, "trees": _score(bench, {**students, **scoring.opponents[name]}, seeds)}
            for name, sides in summary["opponents"].items()
            if name in scoring.opponents
        }
    return fields


def _score(bench: Bench, students: Mapping[int, Any], seeds: Any) -> dict[str, float]:
    played = bench.engine.play(Profile(bench.expert, students), seeds)
    return _plain(Estimate.of(bench.game.score.of(played.returns)))


def _compared(bench: Bench, before: Rollouts, after: Rollouts) -> dict[str, Any]:
    score = bench.game.score
    first, second = score.of(before.returns), score.of(after.returns)
    return {
        "name": score.name,
        "episodes": bench.episodes,
        "seed": bench.seed,
        "lower_is_better": score.lower_is_better,
        "before": _plain(Estimate.of(first)),
        "after": _plain(Estimate.of(second)),
        "difference": _plain(Estimate.of(second - first)),
    }


def _plain(estimate: Estimate) -> dict[str, float]:
    return {"mean": estimate.mean, "ci95": estimate.ci95}


def _mark(tree: Tree) -> str:
    """A short name for exactly this tree."""
    return _digest(json.dumps(tree.to_json()))[:16]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
