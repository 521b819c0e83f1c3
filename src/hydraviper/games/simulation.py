"""The one SUMO simulation that a process can hold: loading, clean restarts and SUMO's own complaints."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from hydraviper.data import InputError, JobError

INSTALL = "pip install 'hydraviper[traffic]'"
SYSTEM = "install the missing library, on Debian and Ubuntu by apt install libgl1 libx11-6 libxext6 libxrender1"
# What every episode is played with; it comes behind the user's own configuration and wins over it.
OPTIONS = (
    *("--no-step-log", "true", "--no-warnings", "true", "--verbose", "false", "--duration-log.disable", "true"),
    *("--time-to-teleport", "-1", "--max-depart-delay", "-1", "--waiting-time-memory", "10000"),
    *("--device.tripinfo.probability", "1"),  # SUMO adds up time loss and travel time by itself
)
MOST_SEEDS = 2**31  # SUMO's seeds are signed and of 32 bits


@dataclass(frozen=True)
class ExtraPhase:
    """A phase that a map's file lacks: where in its signal's program it belongs."""

    signal: str  # how the signal's identifier begins
    position: int
    seconds: float
    state: str


@dataclass(frozen=True)
class Scenario:
    """What SUMO loads: a configuration file, and phases to add."""

    file: Path
    extra_phases: tuple[ExtraPhase, ...] = ()

    def arguments(self, seed: int) -> list[str]:
        """SUMO's command line, without the program's name."""
        outputs = [argument for name in _outputs(self.file) for argument in (f"--{name}", "/dev/null")]
        return ["-c", str(self.file), *OPTIONS, *outputs, "--seed", str(seed % MOST_SEEDS)]


def sumo() -> Any:
    """The libsumo package, or one sentence that says how to get it."""
    try:
        return import_module("libsumo")
    except ModuleNotFoundError:
        raise InputError(f"traffic games need SUMO, which is not installed: run {INSTALL}.") from None
    except ImportError as error:  # its wheel counts on libraries that servers and containers may lack
        raise InputError(f"SUMO is installed but does not load ({error}): {SYSTEM}.") from None


_holder: object | None = None  # whose episode the process's simulation plays


def load(scenario: Scenario, seed: int, holder: object) -> Any:
    """Start the scenario from its first second; whoever held the simulation before has lost it."""
    global _holder
    library = sumo()
    if not scenario.file.is_file():
        raise InputError(f"there is no file {scenario.file}: pass the path of a .sumocfg.")
    _holder = None
    with complaints(f"SUMO rejects {scenario.file}", listen=True):
        if library.simulation.isLoaded():
            library.load(scenario.arguments(seed))
        else:
            library.start(["sumo", *scenario.arguments(seed)])
        for phase in scenario.extra_phases:
            _add(library, phase)
    _holder = holder
    return library


def check_held(holder: object) -> None:
    """Make sure that nobody else has loaded a simulation into this process since."""
    if _holder is not holder:
        raise JobError("another traffic game took over SUMO in this process: finish an episode before the next one.")


@contextmanager
def complaints(what: str, listen: bool = False) -> Iterator[None]:
    """Turn SUMO's own errors into one sentence; with `listen`, also what it would print on stderr meanwhile."""
    library = sumo()
    printed: list[str] = []
    try:
        with _stderr_into(printed) if listen else nullcontext():
            yield
    except (library.TraCIException, library.FatalTraCIError) as error:
        said = [line.removeprefix("Error: ") for line in printed if line.startswith("Error: ")]
        reasons = [" ".join(text.split()).rstrip(".") for text in (*said, str(error))]
        known = "; ".join(filter(None, dict.fromkeys(reasons))) or "it gives no reason"
        raise InputError(f"{what}: {known}.") from None


@contextmanager
def _stderr_into(lines: list[str]) -> Iterator[None]:
    """Catch what this process, compiled code included, writes to stderr."""
    with tempfile.TemporaryFile("w+", errors="replace") as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            lines += file.read().splitlines()


def _add(library: Any, extra: ExtraPhase) -> None:
    """Run the signal's own program with one more phase, from its beginning."""
    lights = library.trafficlight
    names = [name for name in lights.getIDList() if name.startswith(extra.signal)]
    if not names:
        raise InputError(f"the map has no signal {extra.signal}: install the version of sumo-rl that the lock names.")
    logic = active_program(library, names[0])
    phases: list[Any] = list(logic.phases)
    if any(phase.state == extra.state for phase in phases):
        return
    phases.insert(extra.position, lights.Phase(extra.seconds, extra.state, extra.seconds, extra.seconds))
    lights.setProgramLogic(names[0], lights.Logic("with-extra-phase", 0, 0, phases))


def active_program(library: Any, signal: str) -> Any:
    """The program that a signal runs at the moment."""
    logics: Sequence[Any] = library.trafficlight.getAllProgramLogics(signal)
    current = library.trafficlight.getProgram(signal)
    return next((logic for logic in logics if logic.programID == current), logics[0])


def _outputs(file: Path) -> list[str]:
    """The files that a configuration asks SUMO to write; thousands of rollouts must not write them."""
    try:
        tags = [element.tag for element in ElementTree.parse(file).iter() if element.get("value")]
    except ElementTree.ParseError:
        return []  # SUMO says what is wrong with it
    return sorted({tag for tag in tags if tag.endswith("-output") or tag in ("log", "message-log", "error-log")})
