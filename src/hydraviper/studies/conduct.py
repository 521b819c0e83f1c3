"""A study in one call: adopt what is finished elsewhere, run what is missing, report what is there."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from hydraviper.runs.opening import is_elsewhere
from hydraviper.studies import adopting, results, runner
from hydraviper.studies.cells import Cell
from hydraviper.studies.design import Arm
from hydraviper.studies.expert_files import ExpertFiles
from hydraviper.studies.report import Report
from hydraviper.studies.runner import CellProgress, Job
from hydraviper.studies.study import Study


@dataclass(frozen=True)
class Call:
    """What is to be done with a study's cells, and where."""

    study: Study
    folder: Path
    cells: Sequence[tuple[Cell, Arm]]  # that are wanted
    files: ExpertFiles
    workers: int
    scale: float = 1.0
    command: str = ""  # noted in every result
    adopt: Sequence[Path] = ()  # folders with runs, or with results of a study
    commit: str | None = None  # that adopted runs were made from
    run: bool = True  # otherwise only adopt and report
    pack: bool = False  # put all cells into one file
    figures: Path | None = None  # a folder for the figures as files


@dataclass(frozen=True)
class Outcome:
    """What came of a call."""

    report: Report  # on the games and experts that were asked for; the files tell of the whole folder
    counts: dict[str, int]
    files: list[Path]
    left: list[str] = field(default_factory=list)  # runs that were not adopted, with the reason
    shared: bool = False  # other processes still work in the folder


def conduct(call: Call, progress: CellProgress) -> Outcome:
    """Do what a call asks for."""
    study, folder = call.study, call.folder
    measuring = runner.measuring(folder) if study.timed and call.run else nullcontext()
    with results.joined(study.name, folder) as alone, measuring:
        with results.writing(folder):
            adopted = [adopting.adopt(folder, call.cells, source, call.commit) for source in call.adopt]
        try:
            ran = _run(call, progress) if call.run else 0
        finally:  # also a study that is stopped, or of which a cell failed, reports what it has
            with results.writing(folder):
                finished = results.load(folder)
                report = Report.of(study, list(finished.values()), call.scale)
                files = report.save(folder)
                if call.figures is not None:
                    files += report.save_figures(call.figures)
        missing = sum(cell.key not in finished for cell, _ in call.cells)
        shared = not alone()
        if not shared and not missing:
            results.clean(folder)
        if not shared and call.pack:
            results.archive(folder)
    asked = {(cell.game.key, cell.expert.name) for cell, _ in call.cells}
    shown = [result for result in finished.values() if (result.cell.game.key, result.cell.expert.name) in asked]
    taken = sum(len(one.results) for one in adopted)
    counts = {"wanted": len(call.cells), "adopted": taken, "ran": ran, "missing": missing}
    left = [name for one in adopted for name in one.left]
    return Outcome(Report.of(study, shown, call.scale), counts, files, left, shared)


def _run(call: Call, progress: CellProgress) -> int:
    """Run what is missing; how many cells that were."""
    finished = results.load(call.folder)
    # a cluster plays the rollouts of one cell after the other
    one_by_one = call.study.timed or is_elsewhere()
    at_once, inside = (1, call.workers) if one_by_one else (call.workers, 1)
    timed, folder = call.study.timed, call.folder.resolve()
    jobs = [
        Job(cell, arm.key, folder, call.files, call.command, alone=timed, workers=inside, shares=not timed)
        for cell, arm in call.cells
        if cell.key not in finished
    ]
    return runner.run(jobs, min(at_once, len(jobs)), progress, list(finished.values()))
