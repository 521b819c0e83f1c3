"""Tree training: one CART per agent, MAVIPER's trees together, or any scikit-learn classifier."""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from hydraviper.data import Derived, InputError
from hydraviper.dataset import Dataset
from hydraviper.expressions.features import features_of
from hydraviper.protocols import Student
from hydraviper.seeding import Purpose, generator
from hydraviper.steps.found import find
from hydraviper.steps.task import Task
from hydraviper.trees import cart, ensembles, joint
from hydraviper.trees.ahead import Memory, grow_ahead
from hydraviper.trees.bins import Bins
from hydraviper.trees.derived import extend
from hydraviper.trees.scikit_learn import is_tree
from hydraviper.trees.tree import Tree
from hydraviper.verify.bounds import Bounds
from hydraviper.verify.growth import grow_within
from hydraviper.verify.mending import mend

FOUND_AGAIN = 4  # times the data, and features are looked for again
WORTH_THREADS = 20_000  # new samples; with fewer, starting threads takes longer than binning
LEARNERS = {"forest": ensembles.grow_forest, "mixture": ensembles.grow_mixture}  # beside the tree
Train = Callable[[Task, Dataset, np.ndarray, int], dict[int, Student]]


def independent(task: Task, dataset: Dataset, counts: np.ndarray, iteration: int) -> dict[int, Student]:
    """TrainDT: one tree per member, each on its own observations and the jointly drawn counts [A, S]."""
    if task.settings.learner != "tree":
        return _ensembles(task, dataset, counts, iteration)
    bins = _binned(task, dataset)

    def one(member: int, constrained: Mapping[int, Bounds]) -> Tree:
        i = dataset.team[member]
        actions = len(task.game.agents[i].actions)
        size = task.settings.depth, task.settings.most_leaves
        if (bounds := constrained.get(i)) is not None:
            tree = grow_within(bounds, bins[i], dataset.actions[:, i], counts[member], *size)
        elif task.settings.features in ("plain", "derived") or task.settings.most_leaves is not None:
            tree = cart.grow(bins[i], dataset.actions[:, i], counts[member], actions, *size)
        else:
            plain, draws = len(task.game.agents[i].features), generator(task.settings.seed, Purpose.TRAIN, iteration, i)
            memory = dataset.scratch.setdefault("ahead", {}).setdefault(i, Memory())
            tree = grow_ahead(
                memory, bins[i], plain, dataset.actions[:, i], counts[member], actions, task.settings.depth, draws
            )
        return replace(tree, derived=asked(task, dataset, i)).merged()

    def grown(agents: Collection[int], constrained: Mapping[int, Bounds]) -> dict[int, Tree]:
        members = [member for member, i in enumerate(dataset.team) if i in agents]
        trees = _each(task, members, lambda member: one(member, constrained))
        return {dataset.team[member]: tree for member, tree in zip(members, trees, strict=True)}

    if task.constraints is None:
        return dict(grown(dataset.team, {}))
    # obligations about the team as a whole are enforced only where its trees do not happen to keep them
    team_obligations, joint = task.constraints.joint(dataset.team)
    trees = grown(dataset.team, _bounds(task, dataset, joint))
    while broken := task.constraints.broken(team_obligations - joint, trees):
        joint |= broken
        keepers = {task.constraints.keeper(number) for number in broken}
        trees |= grown(keepers, _bounds(task, dataset, joint))
    return dict(trees)


def _ensembles(task: Task, dataset: Dataset, counts: np.ndarray, iteration: int) -> dict[int, Student]:
    """A forest or a mixture of trees per member."""
    if task.constraints is not None:
        raise InputError(
            f"only single trees can keep to constraints: choose --learner tree, not {task.settings.learner}."
        )
    bins, grow = _binned(task, dataset), LEARNERS[task.settings.learner]

    def one(member: int) -> Student:
        i = dataset.team[member]
        draws = generator(task.settings.seed, Purpose.TRAIN, iteration, i)
        size = len(task.game.agents[i].actions), task.settings.depth, task.settings.most_leaves
        return replace(
            grow(bins[i], dataset.actions[:, i], counts[member], *size, draws), derived=asked(task, dataset, i)
        )

    return dict(zip(dataset.team, _each(task, range(len(dataset.team)), one), strict=True))


def on_a_share(task: Task, dataset: Dataset, counts: np.ndarray, iteration: int) -> dict[int, Student]:
    """One tree per member on a random part of the data, as the authors of IVIPER do (`training_share`)."""
    draws = generator(task.settings.seed, Purpose.TRAIN, iteration, dataset.team[0])
    return independent(task, dataset, _share(task, counts, draws), iteration)


def together(task: Task, dataset: Dataset, counts: np.ndarray, iteration: int) -> dict[int, Student]:
    """MAVIPER's joint training: trees grow level by level; each node keeps the samples that the team can get right."""
    if task.settings.learner != "tree":
        raise InputError(
            f"trees that grow together are single trees: choose --learner tree, not {task.settings.learner}."
        )
    bins = _binned(task, dataset)
    draws = generator(task.settings.seed, Purpose.TRAIN, iteration, dataset.team[0])
    counts = _share(task, counts, draws)
    trees = joint.grow_together(
        [bins[i] for i in dataset.team],
        [np.ascontiguousarray(dataset.actions[:, i]) for i in dataset.team],
        list(counts),
        [len(task.game.agents[i].actions) for i in dataset.team],
        task.settings.depth,
        draws,
    )
    grown = {
        i: replace(tree, derived=asked(task, dataset, i)).merged() for i, tree in zip(dataset.team, trees, strict=True)
    }
    return _mended(task, dataset, grown)


def with_classifier(classifier: object) -> Train:
    """Train any scikit-learn classifier instead; a decision tree becomes one of ours."""

    def train(task: Task, dataset: Dataset, counts: np.ndarray, iteration: int) -> dict[int, Student]:
        from sklearn.base import clone

        students: dict[int, Student] = {}
        for member, i in enumerate(dataset.team):
            # repeat rows as often as they were drawn: not every classifier takes weights
            drawn = np.repeat(np.arange(len(dataset)), counts[member].astype(int))
            model: Any = clone(classifier)
            model.fit(dataset.observations[i][drawn], dataset.actions[drawn, i])
            students[i] = Tree.from_sklearn(model, len(task.game.agents[i].actions)) if is_tree(model) else model
            if task.constraints is not None and not is_tree(model):
                raise InputError("only trees can keep to constraints: choose a decision tree as the classifier.")
        return _mended(task, dataset, students)

    return train


def _each(task: Task, items: Sequence[int], work: Callable[[int], Any]) -> list[Any]:
    """The results of the work on each item, in threads if the engine has workers."""
    workers = getattr(task.engine, "workers", 1)
    if workers == 1 or len(items) == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))


def asked(task: Task, dataset: Dataset, agent: int) -> tuple[Derived, ...]:
    """The derived features that an agent's tree may ask for."""
    if task.settings.features == "found":
        return dataset.scratch["found"][agent]
    return features_of(task.game, task.settings.features)[agent]


def _find(task: Task, dataset: Dataset) -> None:
    """Look for features worth asking for, at first and when there is much more to judge them by."""
    if task.settings.features != "found" or len(dataset) < FOUND_AGAIN * dataset.scratch.get("found at", 0):
        return
    for name in ("bins", "ahead"):  # they are of other features
        dataset.scratch.pop(name, None)
    draws = generator(task.settings.seed, Purpose.TRAIN, 0, dataset.team[0])
    found = {i: find(task.game.agents[i], dataset.observations[i], dataset.actions[:, i], draws) for i in dataset.team}
    dataset.scratch |= {"found": found, "found at": len(dataset)}


def _share(task: Task, counts: np.ndarray, draws: np.random.Generator) -> np.ndarray:
    """The counts [A, S] with 0 for all but a random part of the samples; unchanged where nothing would be left."""
    kept = draws.random(counts.shape[1]) < task.settings.training_share
    return np.stack([member * kept if (member * kept).any() else member for member in counts])


def _bounds(task: Task, dataset: Dataset, joint: frozenset[int] | None = None) -> dict[int, Bounds]:
    """The bounds on the members' trees, with some of the joint obligations, for members that are constrained."""
    if task.constraints is None:
        return {}
    task.constraints.assign(dataset.observations, dataset.actions)
    size = task.settings.depth, task.settings.most_leaves
    bounds = {i: task.constraints.bounds(i, asked(task, dataset, i), *size, joint) for i in dataset.team}
    return {i: bound for i, bound in bounds.items() if bound is not None}


def _mended(task: Task, dataset: Dataset, students: Mapping[int, Student]) -> dict[int, Student]:
    """Trees that were grown without regard to constraints, mended to satisfy them."""
    mended = dict(students)
    for i, bounds in _bounds(task, dataset).items():
        tree = students[i]
        if isinstance(tree, Tree):
            mended[i] = mend(bounds, tree, dataset.observations[i], task.settings.depth)
    return mended


def _binned(task: Task, dataset: Dataset) -> dict[int, Bins]:
    """The members' observations as bins; only rows that are new since the last call are binned."""
    _find(task, dataset)
    extra = {i: asked(task, dataset, i) for i in dataset.team}
    if "bins" not in dataset.scratch:
        dataset.scratch["bins"] = {i: _bins(dataset, i, len(extra[i])) for i in dataset.team}
    bins: dict[int, Bins] = dataset.scratch["bins"]

    def bin_new(i: int) -> None:
        if extra[i]:
            bins[i].append(extend(dataset.observations[i][len(bins[i]) :], extra[i]))
        else:
            bins[i].catch_up()

    new = sum(len(dataset.observations[i]) - len(columns) for i, columns in bins.items())
    if new < WORTH_THREADS:
        for i in bins:
            bin_new(i)
    else:
        _each(task, list(bins), bin_new)
    return bins


def _bins(dataset: Dataset, agent: int, extra: int) -> Bins:
    """An agent's bins; without derived features beside, the values are those of the data set, which keeps them."""
    size = dataset.observations[agent].shape[1]
    return Bins(size + extra, None if extra else dataset.column(agent), dataset.room)
