"""The tables of a study's report; a study may add some of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

from hydraviper.data import Estimate
from hydraviper.studies import paper, statistics
from hydraviper.studies.claims import Finding
from hydraviper.studies.design import titled
from hydraviper.studies.rows import STEPS, Row, by_game, reference_of


@dataclass(frozen=True)
class Table:
    """A title, names of columns, and lines of text; the first column names the line."""

    title: str
    heads: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    words: bool = False  # sentences rather than numbers


def scores(rows: Sequence[Row]) -> list[Table]:
    """For each game, our scores and seconds beside the published ones."""
    tables = []
    for (game, expert), game_rows in by_game(rows).items():
        first = game_rows[0]
        ours = Estimate(first.first.expert.mean, first.first.expert.ci95)
        published = paper.EXPERT.get(game) if first.of_the_paper else None
        lines = [("expert", "", f"{ours:,.2f}", told(published), "", "", "")]
        for row in game_rows:
            values = (f"{row.score:,.2f}", told(row.published), str(row.score.count))
            lines.append((row.name, row.budget, *values, f"{row.spent():,.1f}", told(row.published_seconds, 1)))
        title = f"{titled(game, expert)}: {first.score_name}, {first.episodes:,} unseen episodes per seed"
        heads = ("", "rollouts", "score", "published", "seeds", "seconds", "published seconds")
        tables.append(Table(title, heads, tuple(lines)))
    return tables


def seeds(reference: str, rows: Sequence[Row]) -> list[Table]:
    """For each game, interquartile means, and differences to the reference on common seeds."""
    tables = []
    for (game, expert), game_rows in by_game(rows).items():
        lines = []
        for row in game_rows:
            middle = statistics.interquartile_mean(list(row.scores.values()))
            lines.append((row.name, row.budget, f"{middle:z,.2f}", *_against(row, reference_of(reference, row, rows))))
        heads = ("", "rollouts", "interquartile mean", f"minus {reference}", "better seeds")
        tables.append(Table(f"{titled(game, expert)}: over seeds", heads, tuple(lines)))
    return tables


def _against(row: Row, other: Row | None) -> tuple[str, str]:
    """The difference to another row on common seeds, and on how many of them the row is better."""
    differences = statistics.differences(row.scores, other.scores) if other else []
    if not differences:
        return "", ""
    sign = 1 if row.lower_is_better else -1
    better = sum(sign * difference < 0 for difference in differences)
    return f"{Estimate.of(differences):+,.2f}", f"{better} of {len(differences)}"


def jams(rows: Sequence[Row]) -> list[Table]:
    """Median, worst and jammed episodes, where a game can jam."""
    tables = []
    for (game, expert), game_rows in by_game(rows).items():
        lines = []
        for row in game_rows:
            found = [result.summary.score for result in row.results if result.summary.score.jammed is not None]
            if len(found) < len(row.results):
                continue
            median = Estimate.of([score.median or 0.0 for score in found]).mean
            worst, jammed = max(score.worst or 0.0 for score in found), sum(score.jammed or 0 for score in found)
            played = f"{jammed:g} of {row.episodes * len(found)}"
            lines.append((row.name, row.budget, f"{median:.2f}", f"{worst:.2f}", played))
        heads = ("", "rollouts", "median", "worst episode", "jammed episodes")
        tables += [Table(f"{titled(game, expert)}: jams", heads, tuple(lines))] * bool(lines)
    return tables


def steps(rows: Sequence[Row]) -> list[Table]:
    """For each game, the seconds of each step of the algorithm."""
    tables = []
    for (game, expert), game_rows in by_game(rows).items():
        lines = [(row.name, row.budget, *(f"{row.spent(step):,.2f}" for step in STEPS)) for row in game_rows]
        heads = ("", "rollouts", *STEPS.values())
        tables.append(Table(f"{titled(game, expert)}: seconds by step", heads, tuple(lines)))
    return tables


def claims(findings: Sequence[Finding]) -> list[Table]:
    """For each question, every comparison that its answer rests on."""
    heads = ("where", "claim", "verdict", "numbers")
    return [
        Table(
            finding.question,
            heads,
            tuple((claim.where, claim.what, claim.verdict, claim.numbers) for claim in finding.claims),
            words=True,
        )
        for finding in findings
        if finding.claims
    ]


def told(value: Estimate | None, digits: int = 2) -> str:
    """A published number with its interval, or nothing."""
    return "" if value is None else f"{value:,.{digits}f}"
