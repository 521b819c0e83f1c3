"""Scores as tables for a terminal."""

from functools import partial

from rich.box import SIMPLE_HEAD
from rich.table import Table

from hydraviper.cli.common import out
from hydraviper.data import Estimate
from hydraviper.drawing.pages.words import without
from hydraviper.records import ConstraintsRecord, Evaluation, Outcome, Paired, PropertyPrice, Summary
from hydraviper.runs.evaluate import NEARLY

narrow = partial(Table, box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))  # fits into 80 columns
MANY = 3  # yardsticks; a line cannot tell of more
JAMS = {"median": "median", "worst": "worst", "jammed": "jammed", "nearly_jammed": "nearly"}


def print_scores(summary: Summary, trees: bool = True) -> None:
    """Tables of who scored what, one per demand."""
    _print_table(summary, summary, summary.title, trees)
    for other in summary.demand:
        if other.factor != 1:
            _print_table(summary, other, f"{summary.title} with {other.factor:g} times the traffic", trees)


def _print_table(summary: Summary, scores: Evaluation, what: str, trees: bool) -> None:
    score = scores.score
    better = "lower" if score.lower_is_better else "higher"
    unit = f" in {score.unit}" if score.unit else ""
    about = f"{score.name}{unit} ({better} is better), {score.episodes:,} unseen episodes"
    out.print(f"\n{what}, {summary.algorithm}: {about}")
    jams = JAMS if score.jammed is not None else {}
    paired = ("trees less this",) if scores.differences else ()  # on the same episodes
    table = narrow("policy", "mean ± 95 %", *jams.values(), *paired)

    def add(name: str, outcome: Outcome, apart: Estimate | None = None, style: str | None = None) -> None:
        numbers = (getattr(outcome, key) for key in jams)
        worst = ("-" if one is None else f"{one:.4g}" for one in numbers)
        difference = ("" if apart is None else f"{apart:+.2f}",) if paired else ()
        table.add_row(name, str(outcome), *worst, *difference, style=style)

    if trees:
        add(f"{summary.settings.get('learner', 'tree')}s", score, style="bold")
    if scores.expert is not None:
        add("expert", scores.expert, scores.difference)
    for name, outcome in scores.yardsticks.items():
        add(name, outcome, scores.differences.get(name))
    out.print(table)
    if (jam := score.jam_threshold) is not None:
        out.print(f"jammed: {score.name} above {jam:.1f} (by the best yardstick); nearly: above {NEARLY * jam:.1f}")
    if scores is summary:
        print_notes(summary)
    _print_beside(scores, ("trees", "expert") if trees else ("expert",))


def _print_advice(summary: Summary) -> None:
    """Which yardsticks score better than the trees, why that may be, and what to try next."""
    sign = 1 if summary.score.lower_is_better else -1
    apart = {name: one for name, one in summary.differences.items() if name in summary.yardsticks}
    better = [name for name, one in apart.items() if sign * one.mean > one.ci95]
    if not better:
        return
    lines = [
        f"Better than the trees: {', '.join(better)}. A rule written by hand may compute what no feature shows, or act",
        "at other times than the trees do; a question of a tree compares one feature with a number.",
    ]
    if summary.settings.get("features", "plain") == "plain":
        lines.append("next: the same command with --features derived    lets trees ask for differences and sums")
    if summary.refined is None and summary.out:
        lines.append(
            f"next: hydraviper refine {summary.out} --seconds 60    searches for better trees of the same depth"
        )
    out.print("\n".join(lines), soft_wrap=True)


def _print_beside(summary: Evaluation, policies: tuple[str, ...]) -> None:
    """What is told beside the score, a line each; of many yardsticks, from where to where they reach."""
    against = {f"against the scripted adversary “{name}”": sides for name, sides in summary.opponents.items()}
    beside = {**summary.measures, **against}
    scripts = {name: [who for who in sides if who not in ("trees", "expert")] for name, sides in beside.items()}
    many = max(map(len, scripts.values()), default=0) > MANY
    if many:
        table = narrow("beside it", *policies, "yardsticks")
        for name, sides in beside.items():
            means = [f"{mean:.2f}" for mean in sorted(sides[who].mean for who in scripts[name])]
            reach = " to ".join(dict.fromkeys((means[0], means[-1]))) if means else ""
            table.add_row(name, *(str(sides[who]) for who in policies), reach)
        out.print(table)
        return
    for name, sides in beside.items():
        parts = ", ".join(f"{who} {sides[who]}" for who in (*policies, *scripts[name]))
        out.print(f"{name}: {parts}")


def print_refined(summary: Summary) -> None:
    """Before and after, where trees were refined."""
    refined = summary.refined
    if refined is not None and refined.unseen is not None:
        unseen = refined.unseen
        words = f"before {unseen.before}, after {unseen.after}, gain {unseen.gain}"
        out.print(f"refined (started from {refined.start}): {words}")


def print_summary(summary: Summary) -> None:
    """What a run has to say at its end."""
    print_scores(summary)
    _print_advice(summary)
    print_refined(summary)
    if summary.constraints is not None:
        _print_constraints(summary.constraints)
    spent, seconds = summary.rollouts, summary.seconds
    steps = ", ".join(f"{step} {seconds[step]:.2f}" for step in seconds if step != "total" and seconds[step] >= 0.005)
    out.print(
        f"rollouts: {spent['warmup']} warm-up, {spent['train']} training, {spent['valid']} validation\n"
        f"seconds: {seconds['total']:.2f} ({steps})"
    )
    has_trees = summary.settings.get("learner", "tree") == "tree"
    print_files(summary, "trees: {}/trees.json" if has_trees else "score: {}/summary.json", "report: {}/report.html")


def print_notes(summary: Summary) -> None:
    """What a user should know."""
    for note in summary.notes or ():
        out.print(f"note: {note}")


def print_files(summary: Summary, *lines: str) -> None:
    """Where things lie; {} stands for the run's folder."""
    out.print("\n".join(line.format(summary.out) for line in lines), soft_wrap=True)


def _print_constraints(constraints: ConstraintsRecord) -> None:
    """What the trees keep to, and what it costs."""
    price = constraints.price
    if price is None:
        out.print(f"the trees have these properties: {', '.join(constraints.properties)}")
        return
    table = Table("constraint (holds)", "also without it", "without", "with", "cost")
    costs: dict[str, PropertyPrice | Paired] = {**price.each, "all together": price.all}
    for name, cost in costs.items():
        numbers = (cost.without, cost.with_, cost.cost)
        table.add_row(name, without(cost), *("" if number is None else str(number) for number in numbers))
    out.print(table)
