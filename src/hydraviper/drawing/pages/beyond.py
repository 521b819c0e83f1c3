"""Sections of the report beyond imitation: constraints with their costs, and what refining gained."""

from html import escape

from hydraviper.data import Estimate
from hydraviper.drawing.charts import places, table
from hydraviper.drawing.pages.scores import written
from hydraviper.drawing.pages.words import duration, without
from hydraviper.records import Paired, PropertyPrice, Summary


def constraints(summary: Summary) -> str:
    """The properties that the trees were grown to have, and what each cost."""
    if summary.constraints is None:
        return ""
    price = summary.constraints.price
    costs: dict[str, PropertyPrice | Paired | None] = dict.fromkeys(summary.constraints.properties)
    if price is not None:
        costs |= {**{name: price.each.get(name) for name in costs}, "all together": price.all}
    rows = []
    for name, cost in costs.items():
        parts: list[Estimate | None] = [None] * 3 if cost is None else [cost.without, cost.with_, cost.cost]
        digits = places([part for part in parts if part is not None])
        rows.append([name, without(cost) or "–", *(written(part, digits) for part in parts)])
    words = (
        "The trees were grown to have these properties, and each was proved for them. "
        f"The scores ({summary.score.name}) are those of trees distilled alike without and with the "
        "constraint, on the same episodes; the cost is the loss from one to the other."
    )
    head = ("property", "also without it", "score without", "score with", "cost")
    return f"<h2>What the trees keep to</h2>\n<p>{escape(words)}</p>\n{table(head, rows, numbers=3)}"


def refined(summary: Summary) -> str:
    """What the search for better trees gained."""
    refinement = summary.refined
    if refinement is None:
        return ""
    measured = {"unseen episodes": refinement.unseen, "held-out episodes of the search": refinement.held_out}
    rows = [
        [words, *(f"{value:,.2f}" for value in (part.before, part.after, part.gain)), f"{part.episodes:,}"]
        for words, part in measured.items()
        if part is not None
    ]
    spent = refinement.spent
    outcome = (
        f"The best trees came from: {refinement.start}."
        if refinement.kept
        else "Nothing better was found, so the trees are those that the search was given."
    )
    return "\n".join(
        [
            "<h2>Refined</h2>",
            f"<p>After imitating the expert, the trees were changed directly for a better score: {spent.rollouts:,} "
            f"episodes in {duration(spent.seconds)}. {escape(outcome)} The gain is paired: the same episodes "
            "before and after; positive is better.</p>",
            table(("measured on", "before", "after", "gain", "episodes"), rows, numbers=4),
        ]
    )
