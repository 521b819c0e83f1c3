"""Figure on agent clustering: six ways to put the signals of the Ingolstadt corridor into two teams."""

from collections.abc import Iterator, Sequence

from hydraviper.settings import PARTITIONS
from hydraviper.studies.claims import Claim, Question, not_worse, quicker, scope_of
from hydraviper.studies.clustering.published import SECONDS, WORST
from hydraviper.studies.design import Arm, titled
from hydraviper.studies.figures import step_seconds, tradeoff
from hydraviper.studies.paper import INGOLSTADT
from hydraviper.studies.rows import Row, by_game
from hydraviper.studies.study import Study
from hydraviper.studies.tables import Table, steps


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
        tables.append(Table(f"{titled(game, expert)}: teams of the worst seed", heads, tuple(lines), words=True))
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
    experts={INGOLSTADT: ("mplight-joint",)},  # local values cannot tell who influences whom
    figures=(tradeoff, step_seconds),
    tables=(steps, worst_teams),
    reference="none",
    questions=(
        Question("RQ3: does clustering the agents keep HYDRAVIPER's performance, and save time?", keeps_performance),
    ),
    timed=True,
)
