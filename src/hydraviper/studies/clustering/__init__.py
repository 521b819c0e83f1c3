"""Figure on agent clustering: six ways to put the signals of the Ingolstadt corridor into two teams."""

from collections.abc import Iterator, Sequence

from hydraviper.settings import PARTITIONS
from hydraviper.studies.claims import FAILS, HOLDS, Claim, Question, not_worse, quicker, scope_of
from hydraviper.studies.clustering.published import SECONDS, WORST
from hydraviper.studies.design import Arm, titled
from hydraviper.studies.figures import step_seconds, tradeoff
from hydraviper.studies.paper import INGOLSTADT
from hydraviper.studies.rows import Row, by_game
from hydraviper.studies.study import Study
from hydraviper.studies.tables import Table, steps

PREDICTS = 0.5  # the least correlation of values with returns that teams by influence should rest on


def keeps_performance(rows: Sequence[Row]) -> Iterator[Claim]:
    """Clustered teams are as good as one team and quicker, in resampling and in all."""
    for (game, expert), game_rows in by_game(rows).items():
        one_team = {row.arm.level: row for row in game_rows if row.arm.name == "none"}
        for row in game_rows:
            if row.arm.name in ("graph-metis", "marginal-kmeans", "marginal-metis") and row.arm.level in one_team:
                scope, other = scope_of(game, expert, row.arm.level), one_team[row.arm.level]
                yield not_worse(scope, row, other, "one team")
                yield quicker(scope, row, other, "one team", "resample")
                yield quicker(scope, row, other, "one team")


def critics_predict(rows: Sequence[Row]) -> Iterator[Claim]:
    """Teams by influence rest on critics whose values go with the returns that follow."""
    for (game, expert), game_rows in by_game(rows).items():
        if found := _correlations(game_rows[0]):
            mean = sum(found) / len(found)
            numbers = f"{mean:.2f} in the mean, from {min(found):.2f} to {max(found):.2f}"
            what = f"the critics' values correlate with returns by at least {PREDICTS} on average"
            yield Claim(scope_of(game, expert), what, HOLDS if mean >= PREDICTS else FAILS, numbers)


def _correlations(row: Row) -> list[float]:
    """The correlation of each signal's values with the returns that followed, where it is known."""
    fit = row.results[0].critics
    return [] if fit is None else [one for one in fit.correlation_with_returns if one is not None]


def critics(rows: Sequence[Row]) -> list[Table]:
    """How well the expert's critics predict, signal by signal."""
    tables = []
    for (game, expert), game_rows in by_game(rows).items():
        fit = game_rows[0].results[0].critics
        if fit is not None and fit.correlation_with_returns:
            columns = {"correlation with returns": fit.correlation_with_returns, "explained": fit.held_out_explained}
            lines = tuple(
                (name, *("" if one is None else f"{one:.2f}" for one in values))
                for name, values in columns.items()
                if len(values) == len(fit.correlation_with_returns)
            )
            heads = ("", *(f"signal {k + 1}" for k in range(len(fit.correlation_with_returns))))
            tables.append(Table(f"{titled(game, expert)}: critics fitted to {fit.rollouts} rollouts", heads, lines))
    return tables


def worst_teams(rows: Sequence[Row]) -> list[Table]:
    """The partition of the worst seed, beside the paper's; signals are numbered in the game's own order."""
    tables = []
    for (game, expert), game_rows in by_game(rows).items():
        signals = next((row.first.teams[0] for row in game_rows if len(row.first.teams) == 1), ())
        lines = []
        for row in game_rows:
            pick = max if row.lower_is_better else min
            worst = pick(row.results, key=lambda result: result.score)
            teams = [
                sorted(signals.index(name) + 1 if name in signals else 0 for name in team)
                for team in worst.summary.teams
            ]
            lines.append((row.arm.name, row.budget, str(teams), str([list(team) for team in WORST[row.arm.name]])))
        heads = ("", "rollouts", "ours", "published (high budget)")
        tables.append(Table(f"{titled(game, expert)}: teams of the worst seed", heads, tuple(lines), numbers=0))
    return tables


STUDY = Study(
    name="clustering",
    title="Agent clustering on the Ingolstadt corridor",
    about="HYDRAVIPER with all seven signals in one team, and with two teams found in five ways.",
    arms=tuple(
        Arm(
            "hydraviper",
            level,
            level,
            {"partition": partition},
            label=partition,
            published_seconds=SECONDS[partition] if level == "high" else None,
        )
        for level in ("high", "low")
        for partition in PARTITIONS
    ),
    games=(INGOLSTADT,),
    experts={INGOLSTADT: ("idqn-joint",)},  # local values cannot tell who influences whom
    figures=(tradeoff, step_seconds),
    tables=(critics, steps, worst_teams),
    reference="none",
    questions=(
        Question("RQ3: does clustering the agents keep HYDRAVIPER's performance, and save time?", keeps_performance),
        Question("Do the joint critics predict what follows?", critics_predict),
    ),
    timed=True,
)
