"""What a study has to say: Markdown, CSV and one self-contained HTML page."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from math import isfinite
from pathlib import Path
from typing import Any

from hydraviper.drawing.charts import figure, fixed, table
from hydraviper.drawing.pages.style import STYLE
from hydraviper.studies import pooled, published, questions, statistics
from hydraviper.studies.design import Study, titled
from hydraviper.studies.figures import FIGURES
from hydraviper.studies.questions import Answer
from hydraviper.studies.results import BUSY, Result
from hydraviper.studies.tables import STEPS, Row, by_game, reference_of, rows_of, to_json
from hydraviper.trees.file import write_whole


@dataclass(frozen=True)
class Table:
    """A heading, lines of text, and cells; the first column names the row."""

    title: str
    heads: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    words: bool = False  # sentences rather than numbers


@dataclass(frozen=True)
class Report:
    """All that is told of a study, before it is put into a format."""

    study: Study
    rows: tuple[Row, ...]
    answers: tuple[Answer, ...]
    scale: float

    @staticmethod
    def of(study: Study, results: Sequence[Result], scale: float) -> Report:
        """The report on what is finished."""
        rows = rows_of(study, results, scale)
        return Report(study, tuple(rows), tuple(questions.answer(name, rows) for name in study.questions), scale)

    @property
    def values(self) -> list[dict[str, Any]]:
        """The rows as plain values."""
        return [to_json(self.study, row, self.rows) for row in self.rows]

    def save(self, folder: Path) -> list[Path]:
        """Write the three files; a quick look does not touch those of the whole study."""
        name = "report" if self.scale == 1 else f"report-scale-{self.scale:g}"
        texts = {".md": to_markdown(self), ".csv": to_csv(self), ".html": to_html(self)}
        for ending, words in texts.items():
            write_whole(folder / f"{name}{ending}", words)
        return [folder / f"{name}{ending}" for ending in texts]


def to_csv(report: Report) -> str:
    """A line per row."""
    lines = io.StringIO()
    values = report.values
    if values:
        writer = csv.DictWriter(lines, list(values[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(values)
    return lines.getvalue()


def to_markdown(report: Report) -> str:
    """The report for a repository."""
    parts = [f"# {report.study.title}", report.study.about, *_facts(report)]
    for answer in report.answers:
        parts.append(f"**{answer.question}** {_sentence(answer.sentence)}")
    for part in _tables(report):
        head = [f"| {' | '.join(part.heads)} |", f"|{'---|' * len(part.heads)}"]
        body = [f"| {' | '.join(line)} |" for line in part.lines]
        parts += [f"## {part.title}", "\n".join([*head, *body])]
    return "\n\n".join(parts) + "\n"


def to_html(report: Report) -> str:
    """The report as one page that needs no other file."""
    verdicts = "".join(
        f'<p class="verdict"><b>{escape(answer.question)}</b> {escape(_sentence(answer.sentence))}</p>'
        for answer in report.answers
    )
    facts = "".join(f"<p class='soft'>{_code(escape(words))}</p>" for words in _facts(report))
    drawings = [
        figure(drawing.svg, drawing.caption) for name in report.study.figures for drawing in FIGURES[name](report.rows)
    ]
    body = f"<header><h1>{escape(report.study.title)}</h1><p>{escape(report.study.about)}</p>{verdicts}{facts}</header>"
    body += "<h2>Figures</h2>" + "".join(drawings) if drawings else ""
    body += "".join(
        f"<h2>{escape(part.title)}</h2>{table(part.heads, part.lines, 0 if part.words else None)}"
        for part in _tables(report)
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(report.study.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n"
        "<footer>Made by hydraviper. This page needs no other file.</footer>\n</main>\n</body>\n</html>\n"
    )


# --------------------------------------------------------------------------- words


def _code(words: str) -> str:
    """Markdown's backticks as HTML."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", words)


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _facts(report: Report) -> list[str]:
    """Seeds, episodes, intervals, commit, machine, and how runtime was measured."""
    if not report.rows:
        return ["No cell is finished yet."]
    every = [result for row in report.rows for result in row.results]
    seeds = sorted({len(row.results) for row in report.rows})
    count = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    facts = [
        f"{len(every):,} cells. Means over {count} seeds with 95 % t-intervals; every seed's trees are scored on the "
        "same unseen episodes as all others of the game. The paper's values are means over 10 seeds of 10 episodes, "
        'with its own experts. "Comparable" means not worse by more than 5 %, with 95 % confidence, on common seeds.'
    ]
    if report.scale != 1:
        facts.append(f"A quick look at the scale {report.scale:g}: these numbers say nothing about the paper.")
    facts.append(_timing(every))
    machines = Counter(
        f"{one['processor']}, {one['cores']} cores" for one in (result.machine for result in every) if one
    )
    commits = Counter(map(_commit, every))
    facts.append(
        f"Machine: {'; '.join(machines)}. Commit: {', '.join(commits)}. Made by: {'; '.join(_commands(every))}."
    )
    return facts


def _commit(result: Result) -> str:
    """A commit's first digits, and whether there were changes beside it."""
    if result.commit is None:
        return "not known"
    return result.commit[:7] + (" with changes" if result.commit.endswith("+changes") else "")


def _commands(every: Sequence[Result]) -> list[str]:
    commands = [f"`{command}`" for command in dict.fromkeys(result.command for result in every)]
    return commands if len(commands) <= 4 else [*commands[:3], f"{len(commands) - 3} more calls"]


def _timing(every: Sequence[Result]) -> str:
    """Whether seconds may be trusted."""
    alone = [result for result in every if result.timing["alone"]]
    loads = [float(result.timing["load"]) for result in every if result.timing["load"] is not None]
    workers = sorted({int(result.timing["workers"]) for result in every if result.timing["workers"]})
    words = f"Seconds: {len(alone)} of {len(every)} cells are known to have run without another beside them"
    if workers:
        words += f", with {' or '.join(map(str, workers))} {'core' if workers == [1] else 'cores'} each"
    cores = next((int(result.machine["cores"]) for result in every if result.machine.get("cores")), 1)
    busy = [load for load in loads if load > max(workers or [1]) + BUSY]
    if busy:
        words += (
            f"; the machine was busy with other work when {len(busy)} of the cells began (load up to "
            f"{max(loads):.1f} on {cores} cores), so take their seconds as disturbed"
        )
    return words + "."


# --------------------------------------------------------------------------- tables


def _tables(report: Report) -> list[Table]:
    tables = []
    for (game, expert), rows in by_game(report.rows).items():
        title = titled(game, expert)
        tables += [_scores(title, rows), _spread(title, rows, report)]
        for part in (_beside(title, rows), _steps(title, rows, report), _teams(title, rows)):
            if part.lines:
                tables.append(part)
    if report.study.pooled:
        tables += _over_experts(report)
    for answer in report.answers:
        if answer.claims:
            lines = tuple((claim.where, claim.what, claim.verdict, claim.numbers) for claim in answer.claims)
            tables.append(Table(answer.question, ("where", "claim", "verdict", "numbers"), lines, words=True))
    return tables


def _scores(title: str, rows: Sequence[Row]) -> Table:
    """Ours beside the published ones."""
    score, expert = rows[0].first["score"], rows[0].first["expert"]
    theirs = published.EXPERT.get(rows[0].game, {}).get("expert") if rows[0].of_the_paper else None
    lines = [("expert", "", _pm(expert["mean"], expert["ci95"]), _theirs(theirs), "", "", "")]
    for row in rows:
        value, spent = (statistics.t_interval(list(by.values())) for by in (row.scores, row.seconds))
        ours, seconds = _pm(value.mean, value.half), _pm(spent.mean, spent.half, 1)
        rest = (str(value.count), seconds, _theirs(row.published_seconds, 1))
        lines.append((_name(row), row.budget, ours, _theirs(row.published), *rest))
    better = "lower" if score["lower_is_better"] else "higher"
    heading = f"{title}: {score['name']} ({better} is better), {rows[0].episodes:,} unseen episodes per seed"
    heads = ("", "rollouts", "score", "published", "seeds", "seconds", "published seconds")
    return Table(heading, heads, tuple(lines))


def _over_experts(report: Report) -> list[Table]:
    """What each arm loses to its expert, and to the reference, with intervals over experts."""
    tables = []
    heads = ("", "worse than each expert, %", "mean over experts, %", f"worse than {report.study.reference}, %")
    for game, at in pooled.of_game(pooled.pool(report.rows)).items():
        lines, other = [], at.get(report.study.reference)
        for name, own in at.items():
            each = ", ".join(
                f"{fixed(100 * lost, 1)} ({row.expert})" for lost, row in zip(own.lost, own.rows, strict=True)
            )
            against = "" if other in (None, own) else _share(own.worsening(other))
            lines.append((name, each, _share(own.lost_to_experts), against))
        tables.append(Table(f"{game}: over experts", heads, tuple(lines)))
    return tables


def _share(value: statistics.Interval) -> str:
    return _pm(100 * value.mean, 100 * value.half, 1)


def _spread(title: str, rows: Sequence[Row], report: Report) -> Table:
    """Other ways to look at the same seeds, and differences on common ones."""
    lines = []
    for row in rows:
        values, other = list(row.scores.values()), reference_of(report.study, row, report.rows)
        middle, ends = fixed(statistics.interquartile_mean(values), 2), _ends(statistics.bootstrap_interval(values))
        lines.append((_name(row), row.budget, middle, ends, *_against(row, other)))
    difference = f"minus {report.study.reference}"
    heads = ("", "rollouts", "interquartile mean", "bootstrap 95 %", difference, "bootstrap 95 %", "better seeds")
    return Table(f"{title}: over seeds", heads, tuple(lines))


def _name(row: Row) -> str:
    return f"{row.arm.group} {row.arm.name}".strip()


def _against(row: Row, other: Row | None) -> tuple[str, str, str]:
    """The difference to the reference on common seeds, with both intervals, and on how many the row is better."""
    pair = None if other is None else statistics.paired(row.scores, other.scores)
    if pair is None or pair.difference.count == 0:
        return "", "", ""
    count = pair.difference.count
    better = pair.smaller if row.lower_is_better else pair.larger
    sign = "+" if pair.difference.mean >= 0 else ""
    return sign + _pm(pair.difference.mean, pair.difference.half), _ends(pair.bootstrap), f"{better} of {count}"


def _ends(value: statistics.Interval) -> str:
    return f"{fixed(value.low, 2)} to {fixed(value.high, 2)}" if value.count > 1 else ""


def _beside(title: str, rows: Sequence[Row]) -> Table:
    """Median, worst and jammed episodes, where a game can jam."""
    lines = []
    for row in rows:
        scores = [result.summary["score"] for result in row.results]
        if all("jammed" in score for score in scores):
            median = statistics.t_interval([score["median"] for score in scores]).mean
            jammed, played = sum(score["jammed"] for score in scores), row.episodes * len(scores)
            worst = max(score["worst"] for score in scores)
            lines.append((_name(row), row.budget, f"{median:.2f}", f"{worst:.2f}", f"{jammed} of {played}"))
    return Table(f"{title}: jams", ("", "rollouts", "median", "worst episode", "jammed episodes"), tuple(lines))


def _steps(title: str, rows: Sequence[Row], report: Report) -> Table:
    if "steps" not in report.study.figures:
        return Table("", (), ())
    lines = []
    for row in rows:
        spent = (statistics.t_interval(list(row.step(step).values())) for step in STEPS)
        lines.append((row.arm.name, row.budget, *(_pm(value.mean, value.half, 2) for value in spent)))
    return Table(f"{title}: seconds by step", ("", "rollouts", *STEPS.values()), tuple(lines))


def _teams(title: str, rows: Sequence[Row]) -> Table:
    """The partition of the worst seed, beside the paper's."""
    lines = []
    for row in rows:
        if "partition" in row.arm.settings:
            sign = 1 if row.lower_is_better else -1
            worst = max(row.results, key=lambda result: sign * result.score)
            names = [name for team in worst.summary["teams"] for name in team]
            order = {name: k + 1 for k, name in enumerate(sorted(names, key=lambda name: _place(rows, name)))}
            ours = [sorted(order[name] for name in team) for team in worst.summary["teams"]]
            theirs = [list(team) for team in published.CLUSTERING_WORST[row.arm.name]]
            lines.append((row.arm.name, row.budget, str(ours), str(theirs)))
    return Table(
        f"{title}: teams of the worst seed",
        ("", "rollouts", "ours", "published (high budget)"),
        tuple(lines),
        words=True,
    )


def _place(rows: Sequence[Row], name: str) -> int:
    """An agent's place in the game's own order: that of a run with one team."""
    for row in rows:
        if len(row.first["teams"]) == 1:
            return row.first["teams"][0].index(name)
    return 0


def _theirs(value: published.Published | None, digits: int = 2) -> str:
    return "" if value is None else _pm(value.mean, value.ci95, digits)


def _pm(mean: float, half: float | None, digits: int = 2) -> str:
    return fixed(mean, digits) + (f" ± {fixed(half, digits)}" if half is not None and isfinite(half) else "")


def printed(report: Report) -> Mapping[str, Any]:
    """What `--json` says of the report."""
    return {
        "rows": report.values,
        "answers": [{**asdict(answer), "sentence": answer.sentence} for answer in report.answers],
    }
