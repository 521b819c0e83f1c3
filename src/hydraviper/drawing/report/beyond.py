"""What was asked of trees beyond imitation, for the report: what they keep to, and how much better they became."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from hydraviper.drawing.charts import interval, places, plus_minus, table
from hydraviper.drawing.report.words import duration, without


def constraints(summary: Mapping[str, Any]) -> str:
    """What the trees were made to keep to, and what each constraint cost."""
    known = summary.get("constraints") or {}
    if not known:
        return ""
    costs, score = known.get("price") or {}, summary.get("score") or {}
    rows = []
    for name, own in [
        *((name, costs.get("each", {}).get(name, {})) for name in known["properties"]),
        *([("all together", costs["all"])] if costs else []),
    ]:
        before = without(own) or "–"
        parts = [own.get(key) or {} for key in ("without", "with", "cost")]
        digits = places([part for part in parts if interval(part)])
        rows.append([name, before, *(plus_minus(part, digits) if interval(part) else "–" for part in parts)])
    words = (
        "The trees were grown to have these properties, and each was proved for them. "
        f"The scores ({score.get('name', 'score')}) are those of trees distilled alike without and with the "
        "constraint, on the same episodes; the cost is the loss from one to the other."
    )
    head = ("property", "also without it", "score without", "score with", "cost")
    return f"<h2>What the trees keep to</h2>\n<p>{escape(words)}</p>\n{table(head, rows, numbers=3)}"


def refined(summary: Mapping[str, Any]) -> str:
    """What the search for better trees gained."""
    refined = summary.get("refined")
    if not refined:
        return ""
    unseen, held = refined["unseen"], refined["held_out"]
    rows = [
        [
            words,
            plus_minus(part["before"], 2),
            plus_minus(part["after"], 2),
            plus_minus(part["gain"], 2),
            f"{part['episodes']:,}",
        ]
        for words, part in (("unseen episodes", unseen), ("held-out episodes of the search", held))
    ]
    spent = refined["spent"]
    outcome = (
        f"The best trees came from: {refined['start']}."
        if refined["kept"]
        else "Nothing better was found, so the trees are those that the search was given."
    )
    return "\n".join(
        [
            "<h2>Refined</h2>",
            f"<p>After imitating the expert, the trees were changed directly for a better score: {spent['rollouts']:,} "
            f"episodes in {duration(spent['seconds'])}. {escape(outcome)} The gain is paired: the same episodes "
            "before and after; positive is better.</p>",
            table(("measured on", "before", "after", "gain", "episodes"), rows, numbers=4),
        ]
    )
