"""Selection: which iteration's trees to keep (VR-UCB), and better ways to spend the validation rollouts.

Every way returns the student with the best mean worth, which is the reported score, within the validation budget. The
k-th rollout of every student has the same seed, so that students are compared on the same episodes.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hydraviper.data import Team
from hydraviper.profile import Profile
from hydraviper.protocols import Game, Student
from hydraviper.seeding import Purpose
from hydraviper.steps.task import Task

Students = dict[int, Student]
LEAST_IN_A_RACE = 8  # rollouts per student on average; with fewer, luck alone would decide the first round
PULLS_AT_ONCE = 16  # pulls per batch, whatever the number of workers, so that workers do not change the result
NORMAL_SCALE = 16  # UCB1-Normal's factor of the variance
EXPERT_SHARE = 20  # one in 20 validation rollouts measures the variance of the expert's returns


@dataclass(frozen=True)
class Choice:
    """The chosen student, and what validation says about each."""

    chosen: int  # index into the students
    means: list[float | None]  # mean worth, see `worth`
    pulls: list[int]  # validation rollouts


def worth(game: Game, team: Team, returns: np.ndarray) -> np.ndarray:
    """What episodes are worth to a team, [E, N] -> [E]: its part of the score, higher is better, per step.

    Where the score weighs all members alike, this is their mean return divided by the horizon, also for episodes that
    end early. A team that the score leaves out, or counts against another, is judged by its own returns.
    """
    signed = np.array(game.score.weights) * (-1.0 if game.score.lower_is_better else 1.0)
    own = signed[list(team)]
    opposed = (own <= 0).all() and (signed > 0).any()
    shares = np.ones(len(team)) if opposed or not own.any() else own / np.abs(own).max()
    return (returns[:, team] * shares).mean(axis=1) / game.horizon


class Arms:
    """Students whose mean worth is being estimated, as arms of a bandit."""

    def __init__(self, task: Task, team: Team, students: Sequence[Students], first_episode: int = 0) -> None:
        self.task, self.team, self.first_episode = task, team, first_episode
        self.profiles = [Profile(task.expert, members) for members in students]
        self.count = np.zeros(len(students), np.int64)
        self.beside = 0  # rollouts of the budget that no student played
        self.sum = np.zeros(len(students))
        self.squares = np.zeros(len(students))

    def __len__(self) -> int:
        return len(self.profiles)

    @property
    def mean(self) -> np.ndarray:
        """Mean worth, -inf for a student that never played."""
        return np.where(self.count > 0, self.sum / np.maximum(self.count, 1), -np.inf)

    @property
    def left(self) -> int:
        """Rollouts of the budget that remain."""
        return self.task.settings.valid_budget - int(self.count.sum()) - self.beside

    def pull(self, arms: Sequence[int], times: int) -> None:
        """Play `times` more rollouts of each of the arms."""
        starts = [self.first_episode + int(self.count[arm]) for arm in arms]
        seeds = [self.task.seeds(Purpose.SELECT, self.team[0], times, start) for start in starts]
        for arm, rollouts in zip(
            arms, self.task.engine.play_many([self.profiles[a] for a in arms], seeds), strict=True
        ):
            gained = worth(self.task.game, self.team, rollouts.returns)
            self.count[arm] += times
            self.sum[arm] += gained.sum()
            self.squares[arm] += (gained**2).sum()
        self.task.ledger.rollouts["valid"] += times * len(arms)

    def expert_variance(self, times: int) -> float:
        """The variance of the expert's worth, from some rollouts of the budget."""
        seeds = self.task.seeds(Purpose.SELECT, self.team[0], times)
        (played,) = self.task.engine.play_many([Profile(self.task.expert)], [seeds])
        self.beside += times
        self.task.ledger.rollouts["valid"] += times
        return float(worth(self.task.game, self.team, played.returns).var(ddof=1))

    def choice(self) -> Choice:
        """The arm with the best mean so far."""
        means = [float(mean) if count else None for mean, count in zip(self.mean, self.count, strict=True)]
        return Choice(int(np.argmax(self.mean)), means, self.count.tolist())


def by_settings(task: Task, team: Team, students: Sequence[Students]) -> Choice:
    """The way of selection that the settings name."""
    return WAYS[task.settings.selection](task, team, students)


def race(task: Task, team: Team, students: Sequence[Students]) -> Choice:
    """Successive halving: the remaining students play the same new seeds, and the better half stays."""
    arms = Arms(task, team, students)
    if len(arms) == 1:
        return arms.choice()
    running = _screened(arms, LEAST_IN_A_RACE)
    while len(running) > 1 and arms.left >= len(running):
        rounds = math.ceil(math.log2(len(running)))
        arms.pull(running, max(1, arms.left // (rounds * len(running))))
        # those that are still running have played the same seeds, so their sums are comparable
        order = sorted(running, key=lambda arm: (-arms.sum[arm], arm))
        running = sorted(order[: math.ceil(len(running) / 2)])
    best = max(running, key=lambda arm: arms.mean[arm])
    choice = arms.choice()
    return Choice(int(best), choice.means, choice.pulls)


def ucb1(task: Task, team: Team, students: Sequence[Students]) -> Choice:
    """VR-UCB: a few rollouts each, then the highest upper confidence bound each time, until the budget is spent."""
    return _ucb(Arms(task, team, students), task.settings.ucb_scale)


def ucb1_expert(task: Task, team: Team, students: Sequence[Students]) -> Choice:
    """VR-UCB with c = 16 times the variance of the expert's worth, the factor of UCB1-Normal."""
    arms = Arms(task, team, students)
    rollouts = min(task.settings.rollouts_per_iteration, task.settings.valid_budget // EXPERT_SHARE)
    if rollouts < 2 or len(arms) == 1:
        return _ucb(arms, task.settings.ucb_scale)
    scale = NORMAL_SCALE * arms.expert_variance(rollouts)
    task.ledger.note(f"The constant c of UCB was {scale:.3g}, from {rollouts} rollouts of the expert.")
    return _ucb(arms, scale)


def _ucb(arms: Arms, c: float) -> Choice:
    if len(arms) == 1:
        return arms.choice()
    budget = arms.task.settings.valid_budget
    _warm_up(arms, max(1, math.ceil(2 * math.log(budget))))  # lines 2-3
    scale = c * math.log(budget)
    while arms.left > 0:  # line 4
        _pull_highest(
            arms, lambda count: np.where(arms.count > 0, arms.mean + np.sqrt(scale / np.maximum(count, 1)), -np.inf)
        )
    return arms.choice()  # the best mean, not the arm pulled last


def ucb1_normal(task: Task, team: Team, students: Sequence[Students]) -> Choice:
    """UCB1-Normal (Auer et al. 2002): the width of the bound follows the variance of the student's own returns."""
    arms = Arms(task, team, students)
    if len(arms) == 1:
        return arms.choice()
    _warm_up(arms, 2 if task.settings.valid_budget >= 2 * len(arms) else 1)

    def bound(count: np.ndarray) -> np.ndarray:
        total = max(int(count.sum()), 2)
        few = count < math.ceil(8 * math.log(total))
        spread = np.maximum(arms.squares - arms.count * arms.mean**2, 0) / np.maximum(arms.count - 1, 1)
        index = arms.mean + np.sqrt(
            NORMAL_SCALE * spread * math.log(total - 1 if total > 2 else 2) / np.maximum(count, 1)
        )
        return np.where(arms.count > 0, np.where(few, 1e9 - count, index), -np.inf)

    while arms.left > 0:
        _pull_highest(arms, bound)
    return arms.choice()


def uniform(task: Task, team: Team, students: Sequence[Students]) -> Choice:
    """The same number of rollouts for every student (IVIPER, MAVIPER)."""
    arms = Arms(task, team, students)
    if len(arms) > 1:
        running = _screened(arms)
        arms.pull(running, arms.left // len(running))
    return arms.choice()


def _screened(arms: Arms, least: int = 1) -> list[int]:
    """All arms; or, without `least` rollouts for each, fewer arms, evenly spaced, the last included."""
    if arms.left >= least * len(arms):
        return list(range(len(arms)))
    affordable = max(arms.left // least, min(2, arms.left))
    running = np.unique(np.linspace(len(arms) - 1, 0, affordable).round().astype(int)).tolist()
    if len(running) < len(arms):
        arms.task.ledger.note(
            f"The validation budget of {arms.task.settings.valid_budget} is too small for {len(arms)} students: "
            f"only {len(running)} of them, evenly spaced, were validated."
        )
    return running


def _warm_up(arms: Arms, pulls: int) -> None:
    """The first rollouts of every arm; fewer where the paper's number would take more than half of the budget."""
    running = _screened(arms)
    affordable = max(1, arms.left // (2 * len(running)))
    if pulls > affordable:
        arms.task.ledger.note(
            f"A warm-up of {pulls} rollouts for each of {len(running)} students does not fit half of the validation "
            f"budget of {arms.task.settings.valid_budget}: each got {affordable} first."
        )
    arms.pull(running, min(pulls, affordable))


def _pull_highest(arms: Arms, bound: Callable[[np.ndarray], np.ndarray]) -> None:
    """Pull a small batch: each time the arm with the highest bound, given the pulls chosen so far."""
    count = arms.count.astype(float)
    chosen: dict[int, int] = {}
    for _ in range(min(PULLS_AT_ONCE, arms.left)):
        arm = int(np.argmax(bound(count)))
        count[arm] += 1
        chosen[arm] = chosen.get(arm, 0) + 1
    for times in sorted(set(chosen.values())):
        arms.pull([arm for arm, pulls in chosen.items() if pulls == times], times)


WAYS: dict[str, Callable[[Task, Team, Sequence[Students]], Choice]] = {
    "race": race,
    "ucb1": ucb1,
    "ucb1-normal": ucb1_normal,
    "ucb1-expert": ucb1_expert,
    "uniform": uniform,
}
