"""Explain an answer of a run's tree: to an observation, or to what it saw in an episode."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hydraviper.data import InputError
from hydraviper.profile import Profile
from hydraviper.rollout import play
from hydraviper.runs.draw import explained_cell
from hydraviper.runs.run import Run, Source, opened
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.trees.explain import Explanation, in_words
from hydraviper.trees.explain import explain as explain_tree
from hydraviper.trees.observation import from_values, read_observation


@dataclass(frozen=True)
class Moment:
    """A step of an episode that the trees play, and what the expert would do there."""

    episode: int
    step: int
    seed: int
    expert: str


@dataclass(frozen=True)
class Explained:
    """Why a tree answers as it does, and to what."""

    explanation: Explanation
    observation: Mapping[str, float]  # by feature
    moment: Moment | None = None
    run: Run | None = field(default=None, repr=False, compare=False)  # whose tree it is

    def _repr_html_(self) -> str | None:
        """What notebooks show: the tree with the observation's path lit up, and the words."""
        if self.run is None:
            return None
        path = [*(step.node for step in self.explanation.path), self.explanation.leaf]
        return explained_cell(self.run, self.run.trees.place(self.explanation.agent), path, str(self))

    def __str__(self) -> str:
        words = in_words(self.explanation)
        if self.moment is None:
            return words
        moment = self.moment
        return f"episode {moment.episode}, step {moment.step}: the expert would do {moment.expert}\n{words}"

    def to_json(self) -> dict[str, object]:
        """Plain values by name."""
        moment = {} if self.moment is None else vars(self.moment)
        return {**moment, **self.explanation.to_json(), "observation": dict(self.observation)}


def explain(
    run: Source,
    *,
    agent: str,
    observation: str | Mapping[str, float] | Sequence[float] | None = None,
    episode: int | None = None,
    step: int | None = None,
    seed: int = 0,
) -> Explained:
    """Say why a tree answers as it does: the path in words, how sure it is, and the smallest change that flips it.

    Either pass an `observation` (by feature names, in their order, or as JSON or CSV text), or an `episode` of
    `evaluate` and a `step` of it, both from 0.
    """
    run = opened(run)
    position = run.trees.place(agent)
    if (observation is None) == (episode is None) or (episode is None) != (step is None):
        raise InputError("say what to explain: either --observation FILE, or --episode and --step.")
    owner, moment = run.trees.agents[position], None
    if observation is None:
        seen, moment = _replayed(run, agent, int(episode or 0), int(step or 0), seed)
    elif isinstance(observation, str):
        seen = read_observation(observation, owner)
    else:
        seen = from_values(observation, owner)
    explanation = explain_tree(owner, run.trees.trees[position], seen)
    return Explained(explanation, dict(zip(owner.features, seen.tolist(), strict=True)), moment, run)


def _replayed(run: Run, agent: str, episode: int, step: int, seed: int) -> tuple[np.ndarray, Moment]:
    """What an agent saw at a step of an episode that the trees play, on the seeds of `evaluate`."""
    game, students, expert = run.game, run.students, run.expert
    seeds = rollout_seeds(seed, Purpose.EVALUATE, 0, 1, episode)
    played = play(game, Profile(expert, students), seeds, record=True)
    length = int(played.lengths[0])
    if step >= length:
        raise InputError(f"episode {episode} has {length} steps: pass a --step from 0 to {length - 1}.")
    seen = [rows[step : step + 1] for rows in played.observations or ()]
    member = [one.name for one in game.agents].index(agent)
    action = game.agents[member].actions[int(expert.act(seen)[0, member])]
    return seen[member][0], Moment(episode, step, seed, action)
