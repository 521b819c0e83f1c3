"""What a study has to say: Markdown, CSV and one self-contained HTML page; figures as files of their own."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path

import msgspec

from hydraviper.data import InputError
from hydraviper.drawing.charts import figure, table
from hydraviper.drawing.pages.style import page
from hydraviper.studies import figures, tables
from hydraviper.studies.cells import BUSY, Result
from hydraviper.studies.claims import Finding
from hydraviper.studies.figures import Drawing
from hydraviper.studies.rows import Row, RowRecord, record, rows_of
from hydraviper.studies.study import Study
from hydraviper.studies.tables import Table
from hydraviper.trees.file import write_whole

NO_FIGURES = "figures need matplotlib: pip install 'hydraviper[studies]'"


@dataclass(frozen=True)
class Report:
    """All that is told of a study, before it is put into a format."""

    study: Study
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]
    scale: float

    @staticmethod
    def of(study: Study, results: Sequence[Result], scale: float) -> Report:
        """The report on what is finished."""
        games = {game: study.identity(game) for game in study.games}
        rows = rows_of(study.arms, games, study.experts, results, scale)
        return Report(study, tuple(rows), tuple(question.answer(rows) for question in study.questions), scale)

    @property
    def records(self) -> list[RowRecord]:
        """The rows as plain values."""
        return [record(self.study.reference, row, self.rows) for row in self.rows]

    @property
    def drawings(self) -> list[Drawing]:
        """The figures; ImportError without matplotlib."""
        return [one for draw in (figures.scores, *self.study.figures) for one in draw(self.rows)]

    @property
    def further_tables(self) -> list[Table]:
        """All tables but the scores."""
        rows, study = self.rows, self.study
        usual = [*tables.seeds(study.reference, rows), *tables.jams(rows)]
        return [*usual, *(one for make in study.tables for one in make(rows)), *tables.claims(self.findings)]

    def save(self, folder: Path) -> list[Path]:
        """Write the three files; a quick look does not touch those of the whole study."""
        name = "report" if self.scale == 1 else f"report-scale-{self.scale:g}"
        texts = {".md": to_markdown(self), ".csv": to_csv(self), ".html": to_html(self)}
        for ending, words in texts.items():
            write_whole(folder / f"{name}{ending}", words)
        return [folder / f"{name}{ending}" for ending in texts]

    def save_figures(self, folder: Path) -> list[Path]:
        """Write every figure as PDF, for a paper, and as SVG."""
        try:
            drawings = self.drawings
        except ImportError:
            raise InputError(f"{NO_FIGURES}.") from None
        folder.mkdir(parents=True, exist_ok=True)
        files = {folder / f"{one.name}.{ending}": one.save(ending) for one in drawings for ending in ("pdf", "svg")}
        for path, content in files.items():
            path.write_bytes(content)
        return list(files)

    def to_json(self) -> dict[str, object]:
        """What `--json` says of it."""
        answers = [{**asdict(finding), "sentence": finding.sentence} for finding in self.findings]
        return {"rows": msgspec.to_builtins(self.records), "answers": answers}


def to_csv(report: Report) -> str:
    """A line per row."""
    if not report.rows:
        return ""
    lines = io.StringIO()
    writer = csv.DictWriter(lines, RowRecord.__struct_fields__, lineterminator="\n")
    writer.writeheader()
    writer.writerows(msgspec.structs.asdict(row) for row in report.records)
    return lines.getvalue()


def to_markdown(report: Report) -> str:
    """The report for a repository: the answer first, how it was made last."""
    parts = [f"# {report.study.title}", *_short_facts(report)]
    parts += [f"**{finding.question}** {_sentence(finding.sentence)}" for finding in report.findings]
    parts.append(report.study.about)
    for part in [*report.study.scores(report.rows), *report.further_tables]:
        head = [f"| {' | '.join(part.heads)} |", f"|{'---|' * len(part.heads)}"]
        body = [f"| {' | '.join(line)} |" for line in part.lines]
        parts += [f"## {part.title}", "\n".join([*head, *body])]
    parts += ["## How this was made", *_facts(report)] if report.rows else []
    return "\n\n".join(parts) + "\n"


def to_html(report: Report) -> str:
    """The report as one page that needs no other file."""
    answers = "".join(
        f'<p class="verdict"><b>{escape(finding.question)}</b> {escape(_sentence(finding.sentence))}</p>'
        for finding in report.findings
    )
    short = "".join(f"<p>{escape(words)}</p>" for words in _short_facts(report))
    about = f'<p class="soft">{escape(report.study.about)}</p>'
    body = f"<header><h1>{escape(report.study.title)}</h1>{short}{answers}{about}</header>"
    body += "".join(map(_html_table, report.study.scores(report.rows)))
    if report.rows:
        body += f"<h2>Figures</h2>{_html_figures(report)}"
    body += "".join(map(_html_table, report.further_tables))
    if report.rows:
        facts = "".join(f"<p class='soft'>{_code(escape(words))}</p>" for words in _facts(report))
        body += f"<h2>How this was made</h2>{facts}"
    return page(report.study.title, body)


def _html_table(part: Table) -> str:
    return f"<h2>{escape(part.title)}</h2>{table(part.heads, part.lines, part.numbers)}"


def _html_figures(report: Report) -> str:
    try:
        return "".join(figure(drawing.svg, drawing.caption) for drawing in report.drawings)
    except ImportError:
        return f"<p class='soft'>{_sentence(NO_FIGURES)}.</p>"


# --------------------------------------------------------------------------- words


def _code(words: str) -> str:
    """Markdown's backticks as HTML."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", words)


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _short_facts(report: Report) -> list[str]:
    """What must be known before the numbers are read."""
    if not report.rows:
        return ["No cell is finished yet."]
    quick = f"A quick look at the scale {report.scale:g}: these numbers say nothing about the paper."
    return [] if report.scale == 1 else [quick]


def _facts(report: Report) -> list[str]:
    """Seeds, episodes, intervals, how runtime was measured, commit and machine."""
    every = [result for row in report.rows for result in row.results]
    seeds = sorted({len(row.results) for row in report.rows})
    count = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    machines = Counter(f"{result.machine.processor}, {result.machine.cores} cores" for result in every)
    commits = Counter(map(_commit, every))
    return [
        f"{len(every):,} cells. Means over {count} seeds with 95 % t-intervals; every seed's trees are scored on the "
        f"same unseen episodes as all others of the game. {_published(report)}"
        '"Comparable" means not worse by more than 5 %, with 95 % confidence, on common seeds.',
        _timing(every),
        f"Machine: {'; '.join(machines)}. Commit: {', '.join(commits)}. Made by: {'; '.join(_commands(every))}.",
    ]


def _published(report: Report) -> str:
    """What the paper's values are, if some are shown."""
    shown = [row for row in report.rows if (row.as_published or row).published]
    words = "The paper's values are means over 10 seeds of 10 episodes, with its own experts. " if shown else ""
    if any(row.as_published for row in shown):
        words += (
            "On the corridors they are numbers of stopped vehicles, which we count in the whole network; our trees are "
            "chosen by delay, and answers are judged by it. "
        )
    return words


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
    alone = [result for result in every if result.timing.alone]
    loads = [result.timing.load for result in every if result.timing.load is not None]
    workers = sorted({result.timing.workers for result in every if result.timing.workers})
    words = f"Seconds: {len(alone)} of {len(every)} cells are known to have run without another beside them"
    if workers:
        words += f", with {' or '.join(map(str, workers))} {'core' if workers == [1] else 'cores'} each"
    cores = next((result.machine.cores for result in every if result.machine.cores), 1)
    busy = [load for load in loads if load > max(workers or [1]) + BUSY]
    if busy:
        words += (
            f"; the machine was busy with other work when {len(busy)} of the cells began (load up to "
            f"{max(loads):.1f} on {cores} cores), so take their seconds as disturbed"
        )
    return words + "."
