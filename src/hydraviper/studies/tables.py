"""The tables of a study's report; a study may add some of its own."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hydraviper.data import Estimate
from hydraviper.studies import paper, statistics
from hydraviper.studies.claims import Finding
from hydraviper.studies.design import titled
from hydraviper.studies.rows import STEPS, Row, by_game, reference_of
from hydraviper.studies.summaries import ExpertSummary


@dataclass(frozen=True)
class Table:
    """A title, names of columns, and lines of text; the first column names the line."""

    title: str
    heads: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    numbers: int | None = None  # how many of the columns after the first hold numbers rather than words; None: all


def scores(rows: Sequence[Row]) -> list[Table]:
    """For each game, our scores and seconds beside the published ones; where those tell something else, both."""
    tables = []
    for (game, expert), game_rows in by_game(rows).items():
        first, other = game_rows[0], game_rows[0].as_published
        published = paper.EXPERT.get(game) if first.of_the_paper else None
        experts = [f"{first.expert_score:,.2f}", *([told(other.expert_score)] if other else [])]
        lines: list[tuple[str, ...]] = [("expert", "", *experts, told(published), "", "", "")]
        for row in game_rows:
            beside = row.as_published
            values = [f"{row.score:,.2f}", *([told(beside.score if beside else None)] if other else [])]
            values += [told((beside or row).published), str(row.score.count)]
            lines.append((row.name, row.budget, *values, f"{row.spent():,.1f}", told(row.published_seconds, 1)))
        names = (first.first.score.name, other.measure) if other else ("score",)
        title = f"{titled(game, expert)}: {first.score_name}, {first.episodes:,} unseen episodes per seed"
        heads = ("", "rollouts", *names, "published", "seeds", "seconds", "published seconds")
        tables.append(Table(title, heads, tuple(lines)))
    return tables


def yardsticks(rows: Sequence[Row]) -> list[Table]:
    """For each game that has some, the expert and its own rules on the unseen episodes."""
    tables = []
    for (game, expert), game_rows in by_game(rows).items():
        summary, other = game_rows[0].first, paper.MEASURES.get(game)
        if not summary.yardsticks:
            continue
        jams = ("median", "worst episode", "jammed episodes") if summary.score.jammed is not None else ()
        lines = []
        for name, side in {"expert": summary.expert, **summary.yardsticks}.items():
            beside = [told(summary.measured(other, name))] if other else []
            told_jams = jammed(side, summary.score.episodes) if jams else ()
            lines.append((name, f"{side.estimate:,.2f}", *beside, *told_jams))
        heads = ("", summary.score.name, *([other] if other else []), *jams)
        tables.append(Table(f"{titled(game, expert)}: expert and yardsticks", heads, tuple(lines)))
    return tables


def jammed(side: ExpertSummary, episodes: int) -> tuple[str, str, str]:
    """Median, worst and jammed episodes, where a game can jam."""
    if side.median is None or side.worst is None or side.jammed is None:
        return "", "", ""
    return f"{side.median:,.2f}", f"{side.worst:,.2f}", f"{side.jammed:g} of {episodes:,}"


def seeds(reference: str, rows: Sequence[Row]) -> list[Table]:
    """For each game, interquartile means, and differences to the reference on common seeds."""
    tables = []
    for (game, expert), game_rows in by_game(rows).items():
        beside = [other for row in game_rows if (other := row.as_published)]
        for told_rows, of in ((game_rows, ""), (beside, f", {beside[0].measure}" if beside else "")):
            lines = []
            for row in told_rows:
                middle = statistics.interquartile_mean(list(row.scores.values()))
                against = _against(row, reference_of(reference, row, told_rows))
                lines.append((row.name, row.budget, f"{middle:z,.2f}", *against))
            heads = ("", "rollouts", "interquartile mean", f"minus {reference}", "better seeds")
            tables += [Table(f"{titled(game, expert)}{of}: over seeds", heads, tuple(lines))] * bool(lines)
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
        lines = [(row.name, row.budget, *found) for row in game_rows if any(found := jams_of(row))]
        heads = ("", "rollouts", "median", "worst episode", "jammed episodes")
        tables += [Table(f"{titled(game, expert)}: jams", heads, tuple(lines))] * bool(lines)
    return tables


def jams_of(row: Row) -> tuple[str, str, str]:
    """The mean of the seeds' medians, the worst episode of all, and how many jammed; nothing if it cannot jam."""
    found = [result.summary.score for result in row.results if result.summary.score.jammed is not None]
    if len(found) < len(row.results):
        return "", "", ""
    median = Estimate.of([score.median or 0.0 for score in found]).mean
    worst, jammed = max(score.worst or 0.0 for score in found), sum(score.jammed or 0 for score in found)
    return f"{median:.2f}", f"{worst:.2f}", f"{jammed:g} of {row.episodes * len(found)}"


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
            numbers=0,
        )
        for finding in findings
        if finding.claims
    ]


def told(value: Estimate | None, digits: int = 2) -> str:
    """A published number with its interval, or nothing."""
    return "" if value is None or not math.isfinite(value.mean) else f"{value:,.{digits}f}"
