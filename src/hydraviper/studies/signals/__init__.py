"""Both corridors as an engineer would judge them: the default command's trees against everything that runs today."""

from collections.abc import Iterator, Sequence
from math import hypot

from hydraviper.data import Estimate
from hydraviper.games.delays import LONG_WAIT, LONG_WAITS
from hydraviper.studies.claims import (
    FAILS,
    FEW,
    HOLDS,
    MARGIN,
    OPEN,
    Claim,
    Question,
    enough,
    every_seed,
    scope_of,
    title,
)
from hydraviper.studies.design import Arm
from hydraviper.studies.paper import COLOGNE, INGOLSTADT
from hydraviper.studies.resco import DIFFERENCES, REFINED, TREES, below_yardsticks
from hydraviper.studies.rows import Row, by_game
from hydraviper.studies.statistics import over_seeds
from hydraviper.studies.study import Study
from hydraviper.studies.summaries import BEFORE, Summary
from hydraviper.studies.tables import Table, jammed, jams_of

QUICK = {f"{name} every 5 s": f"{name}:steps=500,seconds_per_step=5" for name in (COLOGNE, INGOLSTADT)}
FIXED = "fixed time"
OUTSIDE, WAIT = "vehicles that could not enter", "longest wait, s"
SEARCH = 600  # rollouts of the search; it repeats


def as_good_as_the_expert(rows: Sequence[Row]) -> Iterator[Claim]:
    """No seed's trees are certainly worse than their expert on the same episodes, or may be so by more than MARGIN."""
    for row in rows:
        apart = [one for result in row.results if (one := result.summary.against_expert)]
        worse, margin = any(one.low > 0 for one in apart), MARGIN * row.expert_score.mean
        verdict = FAILS if worse else OPEN if any(one.high > margin for one in apart) else HOLDS
        what = f"{title(row)}: no worse than their expert in any seed; a loss of {100 * MARGIN:g} % would show"
        numbers = "by seed " + ", ".join(f"{one:+,.2f} s" for one in apart)
        found = verdict if worse else enough(over_seeds(apart), verdict)
        yield Claim(scope_of(row.game, row.expert), what, found, numbers)


def better_after_the_search(rows: Sequence[Row]) -> Iterator[Claim]:
    """Refined trees have less delay than the trees that they came from."""
    for row in rows:
        if row.arm.name == REFINED:
            differences = [one for result in row.results if (one := result.summary.against(BEFORE))]
            yield every_seed(scope_of(row.game, row.expert), "less delay than before the search", differences, "s")


def expert_beats_yardsticks(rows: Sequence[Row]) -> Iterator[Claim]:
    """The expert has less delay than each yardstick on the same episodes."""
    for (game, expert), (row, *_) in by_game(rows).items():
        ours = row.first.expert.estimate
        for name, side in row.first.yardsticks.items():
            theirs = side.estimate
            apart = Estimate(ours.mean - theirs.mean, hypot(ours.ci95, theirs.ci95))
            what = f"the expert: less delay than {name}, by the intervals of the two"
            yield every_seed(scope_of(game, expert), what, [apart], "s")


def nobody_pays(rows: Sequence[Row]) -> Iterator[Claim]:
    """No jam, nobody kept outside who could enter with fixed time, and no wait beyond what people accept."""
    for row in rows:
        scope, who = scope_of(row.game, row.expert), title(row)
        jams = sum(result.summary.score.jammed or 0 for result in row.results)
        episodes = row.episodes * len(row.results)
        yield Claim(scope, f"{who}: no jam", FAILS if jams else HOLDS, f"{jams:g} of {episodes} episodes")
        ours, fixed = (_over_seeds(row, OUTSIDE, side) for side in ("trees", FIXED))
        what = f"{who}: no more vehicles outside at the end than with {FIXED}"
        yield Claim(scope, what, _at_most(ours, fixed.mean), f"{ours.mean:.2f} and {fixed.mean:.2f}")
        wait = _over_seeds(row, WAIT, "trees")
        what = f"{who}: the longest wait of an episode is, on average, at most {LONG_WAIT:g} s"
        yield Claim(scope, what, _at_most(wait, LONG_WAIT), f"{wait.mean:.0f} s")
        long = _over_seeds(row, LONG_WAITS, "trees")
        numbers = f"{long.mean * episodes / 100:.0f} of {episodes} episodes" if long.count else "not measured"
        yield Claim(scope, f"{who}: nobody waits above {LONG_WAIT:g} s in any episode", _at_most(long, 0.0), numbers)


def _at_most(found: Estimate, limit: float) -> str:
    return FEW if not found.count else HOLDS if found.mean <= limit else FAILS


def _over_seeds(row: Row, measure: str, side: str) -> Estimate:
    return over_seeds(result.summary.measured(measure, side) for result in row.results)


def beside_yardsticks(rows: Sequence[Row]) -> list[Table]:
    """For each game the trees, their expert and every yardstick, with what others pay."""
    return [_whole(of_game) for of_game in by_game(rows).values()]


def _whole(rows: Sequence[Row]) -> Table:
    first, lines = rows[0], []
    for row in rows:
        seeds = [result.summary.score.estimate for result in row.results]
        by_seed = ", ".join(f"{one.mean:,.2f}" for one in seeds)
        lines.append((row.arm.name, f"{over_seeds(seeds):,.2f}", *jams_of(row), *_paid(row, "trees"), by_seed))
    for name, side in {"expert": first.first.expert, **first.first.yardsticks}.items():
        apart = [_difference(result.summary, name) for result in first.results]
        by_seed = "trees less that: " + ", ".join(f"{one:+,.2f}" for one in apart if one is not None)
        who = f"expert ({first.expert})" if name == "expert" else name
        lines.append((who, f"{side.estimate:,.2f}", *jammed(side, first.episodes), *_paid(first, name), by_seed))
    jams = ("median", "worst episode", "jammed episodes")
    heads = ("", "delay, s per vehicle", *jams, "outside", WAIT, LONG_WAITS, "by seed")
    name = f"{first.game}: delay of every vehicle that was due (lower is better)"
    return Table(name, heads, tuple(lines), numbers=len(heads) - 2)


def _paid(row: Row, side: str) -> list[str]:
    found = [_over_seeds(row, measure, side) for measure in (OUTSIDE, WAIT, LONG_WAITS)]
    return [f"{one.mean:,.1f}" if one.count else "" for one in found]


def _difference(summary: Summary, name: str) -> Estimate | None:
    return summary.against_expert if name == "expert" else summary.against(name)


STUDY = Study(
    name="signals",
    title="Signals: the corridors against everything that runs today",
    about="Trees of depth 4 as the default command distils them, and the same trees after a search of 600 rollouts, "
    "scored by the delay of every vehicle that was due on 100 unseen episodes; decisions every 20 s, as in the paper, "
    "and every 5 s. ± is over these episodes, which all seeds share; differences are taken episode by episode.",
    arms=(
        Arm("hydraviper", "low", "low", DIFFERENCES, label=TREES),
        Arm("hydraviper", "low", "low", DIFFERENCES, label=REFINED, refine_rollouts=SEARCH),
    ),
    games=(COLOGNE, INGOLSTADT, *QUICK),
    specs=QUICK,
    experts={},  # whichever ships
    episodes=100,
    scores=beside_yardsticks,
    reference=TREES,
    questions=(
        Question("Do the trees beat every yardstick?", below_yardsticks),
        Question("Are the trees as good as their expert?", as_good_as_the_expert),
        Question("Does the search make them better?", better_after_the_search),
        Question("Does the expert beat every yardstick?", expert_beats_yardsticks),
        Question("Does nobody pay for it?", nobody_pays),
    ),
)
