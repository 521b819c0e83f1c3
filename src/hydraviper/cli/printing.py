"""Scores as tables for a terminal."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from hydraviper.cli.common import out
from hydraviper.drawing.report.words import without


def with_interval(value: dict[str, float]) -> str:
    """A mean with its interval."""
    return f"{value['mean']:.2f} ± {value['ci95']:.2f}"


def print_scores(summary: dict[str, Any], trees: bool = True) -> None:
    """A table of who scored what."""
    score = summary["score"]
    better = "lower" if score["lower_is_better"] else "higher"
    out.print(f"\n{summary['game']}: {score['name']} ({better} is better), {score['episodes']:,} unseen episodes")
    beside = [key for key in ("median", "worst", "jammed") if key in score]
    table = Table("policy", "mean ± 95 %", *beside)

    def add(name: str, value: dict[str, float], style: str | None = None) -> None:
        table.add_row(name, with_interval(value), *(f"{value[key]:.4g}" for key in beside), style=style)

    if trees:
        learner = summary.get("settings", {}).get("learner", "tree")
        add(f"{learner}s ({summary['algorithm']})", score, "bold")
    add("expert" if trees else f"expert ({summary['algorithm']})", summary["expert"])
    for name, value in summary.get("yardsticks", {}).items():
        add(f"script: {name}", value)
    out.print(table)
    if "jam_threshold" in score:
        out.print(f"jammed: episodes with a {score['name']} above {score['jam_threshold']:.1f}", highlight=False)
    print_beside(summary, {"trees": "trees", "expert": "expert"} if trees else {"expert": "expert"})


def print_beside(summary: dict[str, Any], who: dict[str, str]) -> None:
    """What is told beside the score, a line each."""
    for field, words in (("measures", "{}"), ("opponents", "against the scripted adversary “{}”")):
        for name, values in summary.get(field, {}).items():
            scripts = {key: key for key in values if key not in ("trees", "expert")}
            parts = ", ".join(f"{label} {with_interval(values[key])}" for key, label in (who | scripts).items())
            out.print(f"{words.format(name)}: {parts}", highlight=False)


def print_refined(summary: dict[str, Any]) -> None:
    """Before and after, where trees were refined."""
    if "refined" in summary:
        unseen = summary["refined"]["unseen"]
        parts = ", ".join(f"{name} {with_interval(unseen[name])}" for name in ("before", "after", "gain"))
        out.print(f"refined (started from {summary['refined']['start']}): {parts}", highlight=False)


def print_summary(summary: dict[str, Any]) -> None:
    """What a run has to say at its end."""
    print_scores(summary)
    print_refined(summary)
    if "constraints" in summary:
        print_constraints(summary["constraints"])
    spent, seconds = summary["rollouts"], summary["seconds"]
    steps = ", ".join(f"{step} {seconds[step]:.2f}" for step in seconds if step != "total" and seconds[step] >= 0.005)
    out.print(
        f"rollouts: {spent['warmup']} warm-up, {spent['train']} training, {spent['valid']} validation\n"
        f"seconds: {seconds['total']:.2f} ({steps})",
        highlight=False,
    )
    for note in summary["notes"]:
        out.print(f"note: {note}", highlight=False)
    folder = summary["out"]
    made = (
        ("trees", "trees.json") if summary["settings"].get("learner", "tree") == "tree" else ("score", "summary.json")
    )
    out.print(f"{made[0]}: {folder}/{made[1]}\nreport: {folder}/report.html", highlight=False, soft_wrap=True)


def print_constraints(known: dict[str, Any]) -> None:
    """What the trees keep to, and what it costs."""
    costs = known.get("price")
    if costs is None:
        out.print(f"the trees have these properties: {', '.join(known['properties'])}", highlight=False)
        return
    table = Table("constraint (holds)", "also without it", "without", "with", "cost")
    for name, own in [*costs["each"].items(), ("all together", costs["all"])]:
        before = without(own)
        numbers = (with_interval(own[key]) if key in own else "" for key in ("without", "with", "cost"))
        table.add_row(name, before, *numbers)
    out.print(table)
