"""Grids of signals with random traffic, made by SUMO's own tools and kept in the user's cache folder."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import astuple, dataclass
from importlib.util import find_spec
from pathlib import Path

from hydraviper.data import InputError, JobError
from hydraviper.settings import Range

SIDE = Range(1, 50, "a grid has rows and columns of signals", "SUMO would take hours for an episode")
SPACING = Range(50, 2000, "it is in metres", "it is in metres")
VEHICLES = Range(1, 200_000, "it is a number of vehicles in an hour", "no grid holds so many")
LANES = Range(1, 4, "somebody has to drive", "signals of our grids have no more")
HOUR = 3600
INSTALL = "install eclipse-sumo (pip install eclipse-sumo)"


@dataclass(frozen=True)
class Grid:
    """Rows and columns of signals, so many metres apart, and vehicles that go from border to border in an hour."""

    rows: int
    columns: int
    spacing: int
    lanes: int
    vehicles: int  # 0: 200 for each road into the grid
    demand_seed: int

    def __post_init__(self) -> None:
        for name, range_ in (("rows", SIDE), ("columns", SIDE), ("spacing", SPACING), ("lanes", LANES)):
            range_.check(name, getattr(self, name))
        if self.vehicles:
            VEHICLES.check("vehicles", self.vehicles)

    @property
    def entering(self) -> int:
        """Vehicles in an hour."""
        return self.vehicles or 200 * 2 * (self.rows + self.columns)

    def configuration(self) -> Path:
        """The .sumocfg; network and trips are made when they are asked for first."""
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "hydraviper" / "grids"
        folder = home / "-".join(map(str, (*astuple(self), _version())))
        if not (folder / "grid.sumocfg").exists():
            home.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=home) as scratch:
                self._make(Path(scratch))
                try:
                    Path(scratch).rename(folder)  # whole or not at all
                    Path(scratch).mkdir()
                except OSError:
                    pass  # somebody else was quicker
        return folder / "grid.sumocfg"

    def _make(self, folder: Path) -> None:
        net, trips, routes = (str(folder / f"grid.{kind}.xml") for kind in ("net", "trips", "rou"))
        shape = f"--grid.x-number={self.columns} --grid.y-number={self.rows}".split()
        shape += [f"--grid.{name}length={self.spacing}" for name in ("", "attach-")]
        more = f"--default.lanenumber={self.lanes} --default-junction-type=traffic_light --no-turnarounds.tls".split()
        _call([str(_home() / "bin" / "netgenerate"), "--grid", *shape, *more, "-o", net])
        demand = f"-e {HOUR} -p {HOUR / self.entering} --fringe-factor max --seed {self.demand_seed} --validate".split()
        tool = str(_home() / "tools" / "randomTrips.py")
        _call([sys.executable, tool, "-n", net, "-o", trips, "-r", routes, *demand])
        lines = f'<net-file value="grid.net.xml"/><route-files value="grid.rou.xml"/><end value="{HOUR}"/>'
        (folder / "grid.sumocfg").write_text(f"<configuration>{lines}</configuration>")


def _home() -> Path:
    """Where SUMO's programs and tools are."""
    package = find_spec("sumo")
    if package is None or package.origin is None:
        raise InputError(f"grids are made by SUMO's netgenerate, which is not installed: {INSTALL}.")
    return Path(package.origin).parent


def _version() -> str:
    from importlib.metadata import version

    return version("eclipse-sumo") if find_spec("sumo") else "none"


def _call(command: list[str]) -> None:
    path = os.pathsep.join([str(_home() / "bin"), os.environ.get("PATH", "")])
    environment = {**os.environ, "SUMO_HOME": str(_home()), "PATH": path}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        words = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        program = next(part for part in map(Path, command) if part.stem in ("netgenerate", "randomTrips"))
        raise JobError(f"SUMO's {program.stem} failed: {words}")
