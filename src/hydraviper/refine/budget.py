"""The budget of an annealing: how its seconds and rollouts are divided among legs and decisions."""

from typing import NamedTuple

from hydraviper.refine.records import SearchState

LONG = 60.0, 20_000_000  # a search of at least this many seconds or rollouts is long
SEARCHED, TIDIED = 0.9, 0.95  # shares of the seconds after which searching and tidying end
LEAST_ROLLOUTS = 2000
EPISODES = 500  # of an arena at first
JUDGED, MIXED, CHECKED = 2000, 4000, 8192  # episodes to compare islands, to mix their trees, for the held-out check
# Shares of a budget of rollouts: the least for the islands, and the most for an arena, a decision, mixing trees into
# one island, the held-out check and tidying.
FOR_ISLANDS, OF_ARENA, OF_DECISION, OF_MIXING, OF_CHECK, OF_TIDYING = 0.5, 1 / 400, 1 / 200, 1 / 50, 1 / 20, 1 / 20
WARM, COLD = 0.004, 0.0003  # first and last temperature, in standard deviations of the score


class Leg(NamedTuple):
    """A part of the search: how many islands run, between which shares of the search, and at which temperatures."""

    islands: int
    first: float
    last: float
    warm: float
    cold: float


_LUKEWARM = WARM * (COLD / WARM) ** 0.15
SHORT_LEGS = (Leg(4, 0.0, 0.15, WARM, _LUKEWARM), Leg(2, 0.15, 1.0, _LUKEWARM, COLD))
# a long search gains more from many islands that cool down, and from reheating the best, than from cooling slowly
LONG_LEGS = (Leg(16, 0.0, 0.6, WARM, COLD), Leg(4, 0.6, 0.8, WARM / 2, COLD), Leg(2, 0.8, 1.0, WARM / 2, COLD))


def legs(state: SearchState) -> tuple[Leg, ...]:
    """The legs of a search, by its length."""
    seconds, rollouts = state.settings.seconds, state.settings.rollouts
    long = (seconds is None or seconds >= LONG[0]) and (rollouts is None or rollouts >= LONG[1])
    return LONG_LEGS if long else SHORT_LEGS


def affordable(state: SearchState, episodes: int, share: float) -> int:
    """This many episodes, or fewer if they would exceed a share of the budget of rollouts."""
    budget = state.settings.rollouts
    return episodes if budget is None else max(2, min(episodes, int(budget * share)))


def for_islands(state: SearchState, budget: int) -> float:
    """The rollouts that a budget leaves for annealing; an island may overrun a leg by an arena, a race and a check."""
    sizes = [leg.islands for leg in legs(state)] + [1]
    overrun = 20 * sum(sizes) * affordable(state, EPISODES, OF_ARENA)
    decisions = 20 * affordable(state, JUDGED, OF_DECISION) + 2 * affordable(state, CHECKED, OF_CHECK)
    mixing = sum(sizes[1:]) * OF_MIXING * budget
    return max(FOR_ISLANDS * budget, budget * (1 - 2 * OF_TIDYING) - overrun - decisions - mixing)


def tidying_ends(state: SearchState, spent: int) -> bool:
    """Whether tidying has used up its seconds or rollouts."""
    seconds, rollouts = state.settings.seconds, state.settings.rollouts
    late = seconds is not None and state.left() < (1 - TIDIED) * seconds
    return late or (rollouts is not None and spent >= OF_TIDYING * rollouts)
