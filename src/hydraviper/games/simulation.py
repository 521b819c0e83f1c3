"""The one SUMO simulation that a process can hold: loading, clean restarts and SUMO's own complaints."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import cache
from importlib import import_module
from typing import Any, cast

from hydraviper.data import InputError, JobError
from hydraviper.games.scenario import ExtraPhase, Extras, Scenario
from hydraviper.games.sumo import Sumo

INSTALL = "pip install 'hydraviper[traffic]'"
SYSTEM = "install the missing library, on Debian and Ubuntu by apt install libgl1 libx11-6 libxext6 libxrender1"


def sumo() -> Sumo:
    """The libsumo package, or what plays in its place; or one sentence that says how to get it."""
    if _instead is not None:
        return _instead
    try:
        if "libsumo" in sys.modules:  # by import_module, which waits for another thread that is loading it
            return cast(Sumo, import_module("libsumo"))
        with redirect_stdout(sys.stderr):  # it may warn of other packages, and stdout may be read by programs
            return cast(Sumo, import_module("libsumo"))
    except ModuleNotFoundError:
        raise InputError(f"traffic games need SUMO, which is not installed: run {INSTALL}.") from None
    except ImportError as error:  # its wheel counts on libraries that servers and containers may lack
        raise InputError(f"SUMO is installed but does not load ({error}): {SYSTEM}.") from None


_instead: Sumo | None = None


@contextmanager
def played_by(library: Sumo) -> Iterator[None]:
    """Play meanwhile with something that has the names of libsumo."""
    global _instead
    _instead = library
    try:
        yield
    finally:
        _instead = None


class WindowClosedError(JobError):
    """Somebody closed the window in which an episode was played."""


_holder: object | None = None  # whose episode the process's simulation plays


def load(scenario: Scenario, seed: int, holder: object, extras: Extras | None = None) -> Sumo:
    """Start the scenario from its first second; whoever held the simulation before has lost it."""
    global _holder
    library = sumo()
    arguments = scenario.arguments(seed, extras)
    copies = {file.opened: str(file.path) for file in scenario.inputs.all_files()}
    _holder = None
    with complaints(f"SUMO rejects {scenario.file}", listen=True, called=copies):
        if library.isLoaded():
            library.load(arguments)
        else:
            library.start(["sumo", *arguments])
        for phase in scenario.extra_phases:
            _add(library, phase)
    _holder = holder
    return library


@cache
def question(library: Sumo, domain: str, name: str) -> Callable[..., Any]:
    """What libsumo's compiled part answers about a vehicle or a lane, in half the time of its Python names."""
    compiled = getattr(library, "_libsumo", None)  # TraCI has none
    return getattr(compiled, f"{domain}_{name}", None) or getattr(getattr(library, domain), name)


def check_held(holder: object) -> None:
    """Make sure that nobody else has loaded a simulation into this process since."""
    if _holder is not holder:
        raise JobError("another traffic game took over SUMO in this process: finish an episode before the next one.")


@contextmanager
def complaints(what: str, listen: bool = False, called: Mapping[str, str] | None = None) -> Iterator[None]:
    """Turn SUMO's own errors into one sentence; with `listen`, also what it would print on stderr meanwhile.

    Files go by the names that `called` gives them.
    """
    printed: list[str] = []
    try:
        if listen:
            with _stderr_into(printed):
                yield
        else:
            yield
    except Exception as error:
        library = sumo()
        if not isinstance(error, (library.TraCIException, library.FatalTraCIError)):
            raise
        if _instead is not None and isinstance(error, library.FatalTraCIError):
            raise WindowClosedError("the window was closed before the episode had ended.") from None
        known = _reasons(printed, str(error)) or "it gives no reason"
        for opened, name in (called or {}).items():
            known = known.replace(opened, name)
        raise InputError(f"{what}: {known}.") from None


def _reasons(printed: Sequence[str], raised: str) -> str:
    """What SUMO printed and raised, once each; lines that are indented belong to the one before."""
    said: list[str] = []
    for line in printed:
        if line.startswith("Error: "):
            said.append(line.removeprefix("Error: "))
        elif said and line[:1].isspace():
            said[-1] += line
    reasons = [" ".join(text.split()).rstrip(".") for text in (*said, raised)]
    empty = {"", "Process Error"} if said else {""}  # SUMO's word for "as I said"
    return "; ".join(reason for reason in dict.fromkeys(reasons) if reason not in empty)


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


def _add(library: Sumo, extra: ExtraPhase) -> None:
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


def active_program(library: Sumo, signal: str) -> Any:
    """The program that a signal runs at the moment."""
    logics: Sequence[Any] = library.trafficlight.getAllProgramLogics(signal)
    current = library.trafficlight.getProgram(signal)
    return next((logic for logic in logics if logic.programID == current), logics[0])
