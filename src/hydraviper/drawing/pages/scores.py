"""How good the trees are: the verdict, scores beside those of others, and what else was measured."""

from collections.abc import Mapping, Sequence
from html import escape
from math import isfinite

from hydraviper.data import Estimate
from hydraviper.drawing.charts import Dot, DotRow, dot_plot, figure, fixed, places, table
from hydraviper.drawing.pages.words import count, listed
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
    if score.unit:
        words = f"{who} a {score.name} of {score:,.{digits}f} {score.unit}"
    words += f", the expert {expert:,.{digits}f}" if expert else ""
    words += f" ({'lower' if score.lower_is_better else 'higher'} is better)"
    words += f", over {score.episodes:,} unseen episode{'s' * (score.episodes != 1)}." if score.episodes else "."
    words += _beaten(evaluation, "it is" if tree_count == 1 else "they are")
    if expert is None or not isfinite(score.ci95 + expert.ci95):
        return words
    if evaluation.difference is None:  # after an edit the others are not played again
        return f"{words} The difference from the expert, episode by episode, was not measured."
    gap = (score.mean - expert.mean) * (-1 if score.lower_is_better else 1)
    if abs(gap) <= evaluation.difference.ci95:
        told = "That is" if not evaluation.differences else "The difference from the expert is"
        return f"{words} {told} too close to call."
    ahead = "expert is" if gap < 0 else "tree is" if tree_count == 1 else "trees are"
    behind = " of the expert" if gap > 0 and evaluation.differences else ""
    return f"{words} The {ahead} ahead{behind} by {fixed(abs(gap), digits)}."


def _beaten(evaluation: Evaluation, who: str) -> str:
    """Which yardsticks the trees beat on the same episodes, and which not."""
    sign = 1 if evaluation.score.lower_is_better else -1
    sides: dict[str, list[str]] = {"better than": [], "worse than": [], "hardly to be told from": []}
    for name, difference in evaluation.differences.items():
        if not isfinite(difference.ci95) or abs(difference.mean) <= difference.ci95:
            sides["hardly to be told from"].append(name)
        else:
            sides["better than" if sign * difference.mean < 0 else "worse than"].append(name)
    told = [f"{how} {listed(names)}" for how, names in sides.items() if names]
    return f" Episode by episode {who} {'; '.join(told)}." if told else ""


def scores(evaluation: Evaluation, tree_count: int, foremost: Sequence[str] = ()) -> str:
    """The section about scores, with the measures that belong beside them; nothing if nobody was scored."""
    score, expert = evaluation.score, evaluation.expert
    rated: list[tuple[str, Estimate, str]] = [("this tree" if tree_count == 1 else "these trees", score, TREES)]
    rated += [("expert", expert, EXPERT)] if expert else []
    digits = places([value for _, value, _ in rated])
    rated += [(name, value, YARDSTICK) for name, value in evaluation.yardsticks.items()]
    rows = [DotRow(name, (_dot(value, colour, digits),)) for name, value, colour in rated if isfinite(value.mean)]
    if not rows:
        return ""
    unit = f", {score.unit}" if score.unit else ""
    words = [f"Mean {score.name} of an episode{unit}."]
    if any(isfinite(dot.ci95) for row in rows for dot in row.dots):
        words.append("The lines are 95% intervals: where two of them are apart, the difference is hardly chance.")
    if evaluation.yardsticks:
        words.append("Yardsticks in grey are simple policies, to compare with.")
    parts = [
        "<h2>How good the trees are</h2>",
        f"<p>{escape(' '.join(words))}</p>",
        figure(dot_plot(f"{score.name}{unit}", rows, score.lower_is_better)),
        _against(evaluation, rated[0][0], foremost),
    ]
    return "\n".join(filter(None, parts))


def more_scores(evaluation: Evaluation, foremost: Sequence[str] = ()) -> str:
    """All else that was measured on the same episodes: through an episode, against other opponents, other measures."""
    others = {name: sides for name, sides in evaluation.measures.items() if name not in foremost}
    parts = [_over_time(evaluation), _opponents(evaluation.opponents, evaluation.score), _measures(others)]
    found = list(filter(None, parts))
    return "\n".join(["<h2>More about these episodes</h2>", *found]) if found else ""


def _against(evaluation: Evaluation, trees: str, foremost: Sequence[str]) -> str:
    """Everybody's score with the difference from the trees on the same episodes, jams, and the foremost measures."""
    apart = evaluation.differences | ({"expert": evaluation.difference} if evaluation.difference else {})
    score, measures = evaluation.score, [name for name in foremost if name in evaluation.measures]
    if not (evaluation.differences or measures):
        return ""
    everybody: dict[str, Outcome] = {"trees": score}
    everybody |= {"expert": evaluation.expert} if evaluation.expert else {}
    everybody |= evaluation.yardsticks
    digits = places([one for one in everybody.values() if isfinite(one.mean)])
    jams = score.jammed is not None
    rows = []
    for name, outcome in everybody.items():
        row = [trees if name == "trees" else name, written(outcome, digits)]
        row += [_signed(apart.get(name), digits)] if apart else []
        row += [_jams(outcome, score.episodes)] if jams else []
        for measure in measures:
            sides = evaluation.measures[measure]
            row.append(written(sides.get(name), places([one for one in sides.values() if isfinite(one.mean)])))
        rows.append(row)
    heads = [
        "",
        f"mean {score.name}",
        *(["trees less this, on the same episodes"] if apart else ()),
        *(["jammed"] if jams else ()),
        *measures,
    ]
    words = "± is the 95% interval. "
    if jams and score.jam_threshold is not None:
        limit = f"{score.jam_threshold:,.1f}"
        words += f"An episode is jammed if its {score.name} is above {limit}, nearly jammed above half of that."
    return f'<p class="soft">{escape(words)}</p>\n{table(heads, rows)}'


def _jams(outcome: Outcome, episodes: int) -> str:
    nearly = f", {outcome.nearly_jammed} nearly" if outcome.nearly_jammed else ""
    return f"{outcome.jammed} of {episodes:,}{nearly}"


def _signed(value: Estimate | None, digits: int) -> str:
    return "–" if value is None or not isfinite(value.mean) else f"{value:+,.{digits}f}"


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
    return "<h3>Other measures</h3>\n" + table(("", *columns), rows) if rows else ""


def _dot(value: Estimate, colour: str, digits: int, prefix: str = "") -> Dot:
    return Dot(value.mean, value.ci95, f"{prefix}{value:,.{digits}f}", colour)
