"""Distil into a run's folder: settings.json, ledger.jsonl, trees.json, summary.json and report.html.

While it is under way, rollouts that took seconds each are kept there, too, so that a run that was killed goes on where
it was.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import structs

from hydraviper.algorithm import Distilled, distill
from hydraviper.data import Estimate, InputError, JobError, Progress
from hydraviper.drawing.pages.report import render_report
from hydraviper.engines.counted import counted
from hydraviper.engines.remembered import QUICK, PiecewiseEngine, RememberedEngine
from hydraviper.experts import store
from hydraviper.experts.store import StoredExpert
from hydraviper.experts.worth import AnyExpert
from hydraviper.expressions.features import features_of
from hydraviper.ledger import Ledger
from hydraviper.logs import Log
from hydraviper.profile import Profile
from hydraviper.protocols import Engine, Expert, Game, offers
from hydraviper.records import (
    ConstraintsRecord,
    Evaluation,
    Gain,
    Making,
    Recipe,
    Refinement,
    Selection,
    Summary,
    encode,
    from_json,
)
from hydraviper.refine.records import Refined
from hydraviper.runs import draw, own_expert
from hydraviper.runs import evaluate as evaluation
from hydraviper.runs import price as pricing
from hydraviper.runs.opening import EXPERT, Tell, episodes_for, is_kept, playing
from hydraviper.runs.recipe import JOURNAL, claimed, recipe_of, rewrite, subject
from hydraviper.runs.remarks import remarks
from hydraviper.runs.run import Run, expert_hash, read_recipe, trees_of
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.settings import Settings
from hydraviper.trees import file
from hydraviper.trees.tree import Tree
from hydraviper.variants import Variant
from hydraviper.verify.constraints import Constraints
from hydraviper.verify.prover.proof import verify
from hydraviper.verify.verdicts import HOLDS, NOWHERE
from hydraviper.version import __version__

PRICES = ("each", "all", "none")


@dataclass(frozen=True)
class Plan:
    """What a run is made of, before it is run."""

    game: Game
    expert: AnyExpert | Making  # one that is at hand, or how the run makes one for itself
    variant: Variant
    settings: Settings
    expert_file: str | None = None  # None for the one that ships
    constraints: Constraints | None = None  # what the trees must keep to
    price: str = "each"  # which constraints' costs are measured: each, all together, none

    def __post_init__(self) -> None:
        if self.price not in PRICES:
            raise InputError(f"--price {self.price!r} is unknown: choose one of {', '.join(PRICES)}.")
        features_of(self.game, self.settings.features)  # refuses what cannot be read, before anything is played

    @property
    def recipe(self) -> Recipe:
        """settings.json: enough to make the run again."""
        constraints = None if self.constraints is None else self.constraints.source
        settings = self.settings.to_json()
        return recipe_of(self.game, self.expert, self.expert_file, self.variant.name, settings, constraints=constraints)


def execute(
    plan: Plan,
    folder: Path,
    engine: Engine,
    *,
    episodes: int,
    command: str | None = None,
    progress: Progress = lambda step, done, of: None,
    references: Callable[[], evaluation.References] | None = None,
    shared: Path | None = None,
    tell: Tell = lambda sentence: None,
    pictures: bool = True,
    log: Log | None = None,
) -> Summary:
    """Distil into a claimed folder and evaluate on unseen seeds; make an expert first where none is at hand.

    `references` gives the expert's and the yardsticks' rollouts where somebody has them already. `shared` is a folder
    where runs leave their rollouts for one another. Without `pictures`, the report shows no episode.
    """
    start = time.perf_counter()
    ledger = Ledger(folder / "ledger.jsonl", log)
    keep(plan.expert, folder)
    for note in notes_of(plan.expert):
        ledger.note(note)
    remembered = _remembered(plan, folder, engine, ledger, shared)
    engine = remembered or engine
    expert = _expert(plan, folder, engine, ledger, episodes, progress, tell)
    telling = counted(plan.game, engine, _budget_told(plan.settings, progress))
    result = distill(plan.game, expert, plan.settings, plan.variant, telling, ledger, progress, plan.constraints)
    seconds = {"total": time.perf_counter() - start + ledger.seconds_before, **ledger.seconds}
    played = None if references is None else references()
    scores = evaluation.evaluate_profile(
        plan.game, result.profile, engine, episodes, references=played, watch=played is None, progress=progress
    )
    if remembered is not None:
        _note_remembered(ledger, remembered)
    summary = _summary(result, scores, seconds, engine, episodes, folder, command)
    if plan.constraints is not None:
        constraints = _constraints(plan, plan.constraints, result, engine, episodes, progress)
        summary = structs.replace(summary, constraints=constraints)
    _write(result, summary, folder, None if plan.constraints is None else plan.constraints.source, pictures)
    if shared is not None and (folder / JOURNAL).exists():
        shared.mkdir(parents=True, exist_ok=True)
        (folder / JOURNAL).replace(shared / f"{folder.name}.journal")
    (folder / JOURNAL).unlink(missing_ok=True)
    return summary


def _budget_told(settings: Settings, progress: Progress) -> Callable[[int], None]:
    """Tells how much of a run's budget is played; what a search plays beyond it, the search tells itself."""
    of = settings.rollouts_per_iteration + settings.train_budget + settings.valid_budget

    def tell(played: int) -> None:
        if played <= of:
            progress("rollouts", played, of)

    return tell


def save_run(
    result: Distilled,
    folder: Path | str | None = None,
    *,
    episodes: int | None = None,
    engine: Engine | None = None,
    workers: int = 1,
) -> Run:
    """Score what `distill` returned on unseen episodes and write the folder that `hydraviper distill` writes.

    The folder is a new one in runs/ unless it is given. A report lies in it; `load_run` opens it again.
    """
    episodes = episodes_for(result.game, episodes)
    expert = result.profile.expert
    own = None
    if isinstance(expert, StoredExpert) and store.can_save(expert) and not store.ships(expert, result.game):
        own = EXPERT
    recipe = recipe_of(result.game, expert, own, result.algorithm, result.settings.to_json())
    target = claimed(recipe, None if folder is None else Path(folder))
    with target as path, playing(result.game, engine, workers) as engine:
        scores = evaluation.evaluate_profile(result.game, result.profile, engine, episodes)
        seconds = {"total": sum(result.ledger.seconds.values()), **result.ledger.seconds}
        summary = _summary(result, scores, seconds, engine, episodes, path, None)
        (path / "ledger.jsonl").write_text("".join(encode(line) + "\n" for line in result.ledger.lines))
        if own is not None and isinstance(expert, StoredExpert):
            store.save(expert, path / own)
        _write(result, summary, path, None)
    trees = replace(trees_of(result), score=summary.score)
    return Run(trees, path=path, game=result.game, expert=expert, workers=workers)


def notes_of(expert: Expert | Making) -> tuple[str, ...]:
    """Sentences about where an expert comes from."""
    notes = getattr(expert, "about", {}).get("notes", ())
    return tuple(map(str, notes)) if isinstance(notes, list | tuple) else ()


def keep(expert: Expert | Making, folder: Path) -> str | None:
    """Keep a copy of an expert from elsewhere, so that later commands need neither its file nor its framework.

    The copy's name; None if a file of ours cannot hold it, or need not.
    """
    if not isinstance(expert, StoredExpert) or not is_kept(expert):
        return None
    store.save(expert, folder / EXPERT)
    return EXPERT


def _remembered(
    plan: Plan, folder: Path, engine: Engine, ledger: Ledger, shared: Path | None
) -> RememberedEngine | None:
    """An engine that keeps rollouts in the folder, where playing them again takes longer than reading them."""
    if not isinstance(engine, PiecewiseEngine) or offers(plan.game).compiled:
        return None
    others = () if shared is None else sorted(shared.glob("*.journal"))
    return RememberedEngine(
        engine, folder / JOURNAL, subject(plan.game), store.policy_digest, ledger.charge, others, QUICK
    )


def _expert(
    plan: Plan, folder: Path, engine: Engine, ledger: Ledger, episodes: int, progress: Progress, tell: Tell
) -> AnyExpert:
    """The plan's expert; or one that is made in the folder, or that was made there before the run was interrupted."""
    if not isinstance(making := plan.expert, Making):
        return making
    recipe, path, game = read_recipe(folder) or plan.recipe, folder / EXPERT, plan.game
    known = None if recipe.expert.made is None else recipe.expert.made.episodes

    def decided(count: int) -> None:  # a run that is resumed trains for as long
        made = structs.replace(making, episodes=count)
        rewrite(folder, structs.replace(recipe, expert=structs.replace(recipe.expert, made=made)))

    settings = plan.settings
    following = settings.rollouts_per_iteration + settings.train_budget + settings.valid_budget
    following += episodes * (2 + len(offers(game).scoring.yardsticks))
    ledger.seconds["expert"] = 0.0
    with ledger.time("expert"):
        if path.exists():
            expert = store.load(path, game)
        else:
            maker = own_expert.Maker(game, engine, making.minutes, settings.seed, tell, progress, following)
            expert = maker.make(path, known, decided)
    recipe = read_recipe(folder) or recipe
    rewrite(folder, structs.replace(recipe, expert=structs.replace(recipe.expert, hash=expert_hash(expert))))
    ledger.note(own_expert.how_made(game, expert))
    return expert


def _note_remembered(ledger: Ledger, engine: RememberedEngine) -> None:
    if engine.resumed:
        ledger.note(
            f"The run was interrupted and took {engine.resumed} rollouts from before; its seconds count those, too."
        )
    if engine.borrowed:
        ledger.note(f"{engine.borrowed} rollouts were taken from runs that had played them; their seconds count, too.")
    changed, again = engine.play_again()
    if changed:
        ledger.note(
            f"{changed} of {again} rollouts came out differently when they were played again: episodes of this "
            "game depend on more than their seeds, so the same command may end with other trees."
        )


def _summary(
    result: Distilled,
    scores: Evaluation,
    seconds: dict[str, float],
    engine: Engine,
    episodes: int,
    folder: Path,
    command: str | None,
) -> Summary:
    game, ledger, refined = result.game, result.ledger, result.refined
    teams = tuple(tuple(game.agents[i].name for i in team) for team in result.teams)
    return Summary(
        **structs.asdict(scores),
        refined=None if refined is None else refinement(game, result.profile.expert, refined, engine, episodes),
        game=game.name,
        algorithm=result.algorithm,
        seed=result.settings.seed,
        rollouts=ledger.rollouts,
        seconds=seconds,
        megabytes=ledger.weigh(engine),
        out=str(folder),
        teams=teams,
        selection=tuple(
            Selection(team=team, chosen=choice.chosen + 1, means=tuple(choice.means), pulls=tuple(choice.pulls))
            for team, choice in zip(teams, result.choices, strict=True)
        ),
        settings=result.settings.to_json(),
        notes=(*ledger.notes, *remarks(game, result.profile.students, scores)),
        version=__version__,
        expert_hash=expert_hash(result.profile.expert),
        command=command,
    )


def _constraints(
    plan: Plan, constraints: Constraints, result: Distilled, engine: Engine, episodes: int, progress: Progress
) -> ConstraintsRecord:
    """Whether the trees have every property, proved once more, and what that costs."""
    students = {i: tree for i, tree in result.profile.students.items() if isinstance(tree, Tree)}
    verdicts = verify(constraints.obligations, students)
    if broken := [verdict.property for verdict in verdicts if verdict.outcome not in (HOLDS, NOWHERE)]:
        raise JobError(f"the trees do not have the property {broken[0]!r}, though they should: please report this.")
    price = None
    if plan.price != "none":
        price = pricing.price(
            plan.game,
            result.profile.expert,
            result.settings,
            plan.variant,
            engine,
            constraints,
            students,
            episodes=episodes,
            each=plan.price == "each",
            progress=progress,
        )
    return ConstraintsRecord(properties={verdict.property: verdict.holds for verdict in verdicts}, price=price)


def _write(result: Distilled, summary: Summary, folder: Path, constraints: str | None, pictures: bool = True) -> None:
    ledger, expert = result.ledger, (lambda: result.profile.expert) if pictures else None
    if result.settings.learner != "tree":
        file.write_whole(folder / "report.html", render_report(summary, ledger=ledger.lines, notes=summary.notes or ()))
        file.write_whole(folder / "summary.json", encode(summary, indent=1))
        return
    trees = replace(trees_of(result, constraints), score=summary.score)
    file.write_whole(folder / "summary.json", encode(summary, indent=1))
    page = draw.report(result.game, trees, summary, expert, ledger=ledger.lines, notes=summary.notes or ())
    file.write_whole(folder / "report.html", page)
    file.save(trees, folder / "trees.json")  # last: a folder with trees.json is a finished run


def refinement(game: Game, expert: Expert, refined: Refined, engine: Engine, episodes: int) -> Refinement:
    """How refining went, and what it gained on the unseen episodes of the evaluation."""
    seeds = rollout_seeds(0, Purpose.EVALUATE, 0, episodes)
    before, after = (
        game.score.of(engine.play(Profile(expert, trees), seeds).returns) for trees in (refined.given, refined.students)
    )
    gain = Estimate.of((before - after) if game.score.lower_is_better else (after - before))
    unseen = Gain(episodes=episodes, before=Estimate.of(before), after=Estimate.of(after), gain=gain)
    return structs.replace(from_json(Refinement, refined.to_json(), "the search"), unseen=unseen)
