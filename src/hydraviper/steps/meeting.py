"""A last round of selection, beyond the paper: trees of different teams meet before they are trusted.

Where a game's own team was split, each part was chosen while experts played the others. So whatever its trees do that
only an expert can make up for goes unnoticed. In the last round the parts play together. Those that were chosen defend
their place against the same with one part's trees exchanged for its next best ones, all on the same new episodes.
"""

from collections.abc import Sequence
from dataclasses import replace

from hydraviper.data import Team
from hydraviper.steps.select import LEAST_IN_A_RACE, Arms, Choice, Students
from hydraviper.steps.task import Task

SHARE = 4  # one in four validation rollouts is for the last round
ROUNDS = 2  # times that every part may be exchanged
RIVALS = 2  # of a part's students, beside the chosen one
LEAST = 2 * LEAST_IN_A_RACE  # rollouts of a round: two play often enough


def budgets(task: Task, teams: Sequence[Team], meets: bool) -> tuple[int, int]:
    """How many validation rollouts each team has for itself, and each of the game's own teams for its last round."""
    whole, split = task.settings.valid_budget, [own for own in task.game.teams if len(_parts(own, teams)) > 1]
    last = whole // SHARE // len(split) if meets and split else 0
    if last < LEAST:
        last = 0
    return max(1, (whole - last * len(split)) // len(teams)), last


def meet(
    task: Task, teams: Sequence[Team], students: Sequence[Sequence[Students]], choices: Sequence[Choice], budget: int
) -> tuple[Choice, ...]:
    """The choices [teams] after the last round, which has a budget of rollouts for each of the game's own teams."""
    chosen, changed = [choice.chosen for choice in choices], set[int]()
    rounds = min(ROUNDS, budget // LEAST)
    for own in task.game.teams:
        parts = _parts(own, teams)
        for sweep in range(rounds if len(parts) > 1 else 0):
            lines = [list(chosen)] + [
                [*chosen[:part], rival, *chosen[part + 1 :]]
                for part in parts
                for rival in by_merit(choices[part], chosen[part])[1 : 1 + RIVALS]
            ]
            # as many as can play often enough, those of every part in turn
            lines = [lines[0], *lines[1::RIVALS], *lines[2::RIVALS]][: budget // rounds // LEAST_IN_A_RACE]
            together = [{i: tree for part in parts for i, tree in students[part][line[part]].items()} for line in lines]
            best = lines[_defended(task, own, together, budget // rounds, sweep)]
            changed |= {part for part in parts if best[part] != chosen[part]}
            if best == chosen:
                break
            chosen = best
    if changed:
        names = ", ".join(task.game.agents[i].name for part in sorted(changed) for i in teams[part])
        task.ledger.note(f"When the teams played together, other trees proved better for {names}.")
    return tuple(replace(choice, chosen=number) for choice, number in zip(choices, chosen, strict=True))


def by_merit(choice: Choice, first: int) -> list[int]:
    """The validated students, a given one first."""
    known = [k for k, mean in enumerate(choice.means) if mean is not None and k != first]
    # those that played most lasted longest in the race
    return [first, *sorted(known, key=lambda k: (-choice.pulls[k], -(choice.means[k] or 0.0), k))]


def _parts(own: Team, teams: Sequence[Team]) -> list[int]:
    """Which of the teams are parts of one of the game's own."""
    return [number for number, team in enumerate(teams) if set(team) <= set(own)]


def _defended(task: Task, team: Team, students: Sequence[Students], budget: int, sweep: int) -> int:
    """The best of some students on the same episodes; the first stays to the end and is kept if none is better."""
    episodes = task.settings.valid_budget * (1 + sweep)  # none that selection has seen
    arms = Arms(replace(task, settings=replace(task.settings, valid_budget=budget)), team, students, episodes)
    running = list(range(len(arms)))
    while len(running) > 1 and arms.left >= len(running):
        rounds = max(1, (len(running) - 1).bit_length())
        arms.pull(running, max(1, arms.left // (rounds * len(running))))
        order = sorted(running[1:], key=lambda arm: (-arms.sum[arm], arm))
        if len(running) == 2:
            break
        running = [0, *sorted(order[: len(running) // 2])]
    return max(running, key=lambda arm: (arms.mean[arm], arm == 0))
