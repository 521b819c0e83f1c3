"""How good the trees are: the verdict, scores beside those of others, and what else was measured."""

from collections.abc import Mapping, Sequence
from html import escape
from math import hypot, isfinite

from hydraviper.data import Estimate
from hydraviper.drawing.charts import Dot, DotRow, dot_plot, figure, fixed, places, table
from hydraviper.drawing.pages.words import count
from hydraviper.drawing.svg import PALETTE
from hydraviper.drawing.timeline import time_chart
from hydraviper.records import Evaluation, Outcome, ScoreRecord

TREES, EXPERT, YARDSTICK = PALETTE[0], PALETTE[6], PALETTE[7]


def verdict(evaluation: Evaluation, tree_count: int) -> str:
    """The outcome in words, with the numbers."""
    score, expert = evaluation.score, evaluation.expert
    if not isfinite(score.mean):
        return "The trees have not been scored."
    rated = [score] if expert is None else [score, expert]
    digits = places(rated)
    who = (
        "The tree scores" if tree_count == 1 else f"The {count(tree_count, 'tree') if tree_count else 'students'} score"
    )
    words = f"{who} {score:,.{digits}f} {score.name}"
    words += f", the expert {expert:,.{digits}f}" if expert else ""
    words += f" ({'lower' if score.lower_is_better else 'higher'} is better)"
    words += f", over {score.episodes:,} unseen episode{'s' * (score.episodes != 1)}." if score.episodes else "."
    if expert is None or not isfinite(score.ci95 + expert.ci95):
        return words
    gap = (score.mean - expert.mean) * (-1 if score.lower_is_better else 1)
    # older runs know the two intervals alone
    margin = evaluation.difference.ci95 if evaluation.difference else hypot(score.ci95, expert.ci95)
    if abs(gap) <= margin:
        return f"{words} That is too close to call."
    ahead = "expert is" if gap < 0 else "tree is" if tree_count == 1 else "trees are"
    return f"{words} The {ahead} ahead by {fixed(abs(gap), digits)}."


def scores(evaluation: Evaluation, tree_count: int) -> str:
    """The section about scores; nothing if nobody was scored."""
    score, expert = evaluation.score, evaluation.expert
    rated: list[tuple[str, Estimate, str]] = [("this tree" if tree_count == 1 else "these trees", score, TREES)]
    rated += [("expert", expert, EXPERT)] if expert else []
    digits = places([value for _, value, _ in rated])
    rated += [(name, value, YARDSTICK) for name, value in evaluation.yardsticks.items()]
    rows = [DotRow(name, (_dot(value, colour, digits),)) for name, value, colour in rated if isfinite(value.mean)]
    if not rows:
        return ""
    words = [f"Mean {score.name} of an episode."]
    if any(isfinite(dot.ci95) for row in rows for dot in row.dots):
        words.append("The lines are 95% intervals: where two of them are apart, the difference is hardly chance.")
    if evaluation.yardsticks:
        words.append("Yardsticks in grey are simple policies, to compare with.")
    parts = [
        "<h2>How good the trees are</h2>",
        f"<p>{escape(' '.join(words))}</p>",
        figure(dot_plot(score.name, rows, score.lower_is_better)),
        _over_time(evaluation),
        _opponents(evaluation.opponents, score),
        _measures(evaluation.measures),
    ]
    return "\n".join(filter(None, parts))


def written(value: Estimate | None, digits: int) -> str:
    """An estimate in a table's cell, or a dash where there is none."""
    return f"{value:,.{digits}f}" if value is not None and isfinite(value.mean) else "–"


def _over_time(evaluation: Evaluation) -> str:
    over_time, score = evaluation.over_time, evaluation.score
    if over_time is None or not over_time.policies:
        return ""
    words = (
        f"The {score.name} after each step, on the same {score.episodes:,} episodes. "
        "A line that climbs and stays up is a jam."
    )
    if over_time.smoothed_minutes:
        words += (
            " Signals make queues come and go, so each episode is smoothed over "
            f"{over_time.smoothed_minutes:g} minutes."
        )
    chart = time_chart(score.name.capitalize(), over_time)
    return f"<h3>Through the episode</h3>\n<p>{escape(words)}</p>\n{figure(chart)}"


def _opponents(opponents: Mapping[str, Mapping[str, Outcome]], score: ScoreRecord) -> str:
    rows = []
    for name, sides in opponents.items():
        known = {who: sides[who] for who in ("trees", "expert") if who in sides and isfinite(sides[who].mean)}
        digits = places(list(known.values()))
        colours = {"trees": TREES, "expert": EXPERT}
        dots = tuple(_dot(value, colours[who], digits, f"{who} ") for who, value in known.items())
        rows += [DotRow(f"against {name}", dots)] if dots else []
    if not rows:
        return ""
    return (
        "<h3>Against other opponents</h3>\n<p>The same trees and expert when the other side plays a fixed script."
        f"</p>\n{figure(dot_plot(score.name, rows, score.lower_is_better))}"
    )


def _measures(measures: Mapping[str, Mapping[str, Estimate]]) -> str:
    columns: Sequence[str] = list(
        dict.fromkeys(["trees", "expert", *(who for sides in measures.values() for who in sides)])
    )
    rows = []
    for name, sides in measures.items():
        digits = places([value for value in sides.values() if isfinite(value.mean)])
        rows.append([name, *(written(sides.get(who), digits) for who in columns)])
    return "<h3>What else was measured</h3>\n" + table(("", *columns), rows) if rows else ""


def _dot(value: Estimate, colour: str, digits: int, prefix: str = "") -> Dot:
    return Dot(value.mean, value.ci95, f"{prefix}{value:,.{digits}f}", colour)
