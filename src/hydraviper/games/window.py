"""SUMO's own window: the same game, the same rules, played where people can look at it."""

from __future__ import annotations

import io
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from hydraviper.data import InputError
from hydraviper.games import simulation
from hydraviper.games.sumo import Sumo
from hydraviper.geometry import Point

PROGRAM = "sumo-gui"
INSTALL = "pip install eclipse-sumo traci"
MILLISECONDS = 60  # that a second of traffic takes on the screen
_VIEW, _METRES = "View #0", 90.0  # the only view that SUMO opens; what it shows on each side of a point


@contextmanager
def opened(corners: tuple[Point, Point] | None = None, around: Point | None = None) -> Iterator[None]:
    """While this is open, episodes are played in a window that shows what lies between corners, or around a point.

    If somebody closes the window before the episode is over, that is a `simulation.WindowClosedError`.
    """
    program = _program()
    if find_spec("traci") is None:
        raise InputError(f"a window of SUMO needs the package traci: run {INSTALL}, or pass --out FILE for a film.")
    if around is not None:
        (x, y), far = around, _METRES
        corners = (x - far, y - far), (x + far, y + far)
    library = cast(Sumo, _Window(import_module("traci"), program, corners))
    try:
        with simulation.played_by(library):
            yield
    finally:
        with suppress(Exception):  # it may be closed already
            library.close()


def _program() -> str:
    """Where sumo-gui is: in the wheel of eclipse-sumo, or on the path."""
    wheel = find_spec("sumo")
    inside = [Path(place) / "bin" / PROGRAM for place in (wheel.submodule_search_locations or ())] if wheel else []
    found = next((str(path) for path in inside if path.is_file()), None) or shutil.which(PROGRAM)
    if found is None:
        raise InputError(f"there is no {PROGRAM} here: run {INSTALL}, or pass --out FILE for a film.")
    return found


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return free.getsockname()[1]


class _Window:
    """TraCI with the names of libsumo, so that a game does not notice."""

    def __init__(self, traci: Any, program: str, corners: tuple[Point, Point] | None) -> None:
        self._traci, self._program, self._corners = traci, program, corners

    def __getattr__(self, name: str) -> Any:
        return getattr(self._traci if hasattr(self._traci, name) else self._traci.constants, name)

    def start(self, command: list[str]) -> None:
        """Open the window with a scenario; files in the memory of this process are opened by its number."""
        arguments = [argument.replace("/proc/self/", f"/proc/{os.getpid()}/") for argument in command[1:]]
        shown = ["--start", "--quit-on-end", "--delay", str(MILLISECONDS), "--window-size", "1200,900"]
        try:
            with redirect_stdout(io.StringIO()):  # it tells how often it tries to connect
                self._traci.start([self._program, *arguments, *shown], port=_free_port())
        except (self._traci.TraCIException, self._traci.FatalTraCIError):
            where = os.environ.get("DISPLAY", "none")
            raise InputError(
                f"SUMO's window did not open: check the screen (DISPLAY is {where}), or pass --out FILE for a film."
            ) from None
        self._traci.gui.setSchema(_VIEW, "real world")
        if self._corners is not None:
            (left, low), (right, high) = self._corners
            self._traci.gui.setBoundary(_VIEW, left, low, right, high)

    def load(self, arguments: list[str]) -> None:
        """Show another episode, in a new window."""
        self._traci.close()
        self.start([self._program, *arguments])
