"""Traffic games by name: the two corridors of the paper, every RESCO map, and anybody's own network.

The maps are not part of this package: the `sumo-rl` wheel carries them. It is never imported (that needs SUMO_HOME);
its files are found where it is installed. Licences: the Cologne maps CC BY-NC-SA 3.0 (TAPASCologne), the Ingolstadt
maps GPL-3 (InTAS); RESCO distributes the grids "under their original licenses".
"""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path

from hydraviper.data import InputError
from hydraviper.games import grids
from hydraviper.games.scenario import ExtraPhase, Scenario, seconds_of
from hydraviper.games.simulation import INSTALL
from hydraviper.games.traffic import RECOMMENDED, Traffic
from hydraviper.games.traffic_options import DEFAULTS, OWN_NETWORK, RESCO, RESCO_DIFFERENCES, Options, parametrised

MAPS = ("cologne1", "cologne3", "cologne8", "ingolstadt1", "ingolstadt7", "ingolstadt21", "grid4x4", "arterial4x4")
# commented out in sumo-rl's file; with it the signal's cycle is 90 s, as at all others, and joint actions are 1,944
_EXTRA_PHASES = {"ingolstadt7": (ExtraPhase("cluster_306484187", 2, 25.0, "rrrrrrGGGGrr"),)}
# SUMO 1.28 settles some conflicts of this map in the order of their addresses in memory, which no seed decides.
_UNSTEADY = {"cologne1": "SUMO does not repeat episodes of cologne1: runs with the same seed may end with other trees."}


@parametrised(DEFAULTS)
def cologne_corridor(options: Options) -> Traffic:
    """Three signals in Cologne, 7:00 (RESCO's cologne3)."""
    return Traffic("cologne-corridor", _scenario("cologne3"), {}, options, replace(RECOMMENDED, ucb_scale=16.0))


@parametrised(DEFAULTS)
def ingolstadt_corridor(options: Options) -> Traffic:
    """Seven signals in Ingolstadt, 16:00, south to north (RESCO's ingolstadt7)."""
    return Traffic("ingolstadt-corridor", _scenario("ingolstadt7"), {}, options)


@parametrised(RESCO, differences=lambda map: RESCO_DIFFERENCES.get(map, {}))
def resco(map: str, options: Options) -> Traffic:
    """Any map of the RESCO benchmark by its name, in RESCO's own settings."""
    if map not in MAPS:
        raise InputError(f"there is no RESCO map {map!r}: choose one of {', '.join(MAPS)}.")
    game = Traffic("resco", _scenario(map), {"map": map}, options)
    if map in _UNSTEADY:
        game.offers = replace(game.offers, notes=(*game.offers.notes, _UNSTEADY[map]))
    return game


@parametrised(OWN_NETWORK, lambda file: seconds_of(place(file)))
def own_network(file: str, options: Options) -> Traffic:
    """Anybody's network, by the path of its .sumocfg."""
    path = place(file)
    return Traffic("traffic", Scenario(path), {"file": str(path)}, options)


@parametrised(OWN_NETWORK, lambda *shape, **named: float(grids.HOUR))
def grid(
    options: Options,
    rows: int = 3,
    columns: int = 3,
    spacing: int = 200,
    lanes: int = 1,
    vehicles: int = 0,
    demand_seed: int = 1,
) -> Traffic:
    """A grid of signals with random traffic, made by SUMO's own tools."""
    shape = grids.Grid(rows, columns, spacing, lanes, vehicles, demand_seed)
    return Traffic("grid", Scenario(shape.configuration()), asdict(shape), options)


def place(file: str) -> Path:
    """Where a file lies that a user names; unlike Path's own way, it takes names that lead nowhere as well."""
    return Path(os.path.realpath(os.path.expanduser(file)))


def _scenario(name: str) -> Scenario:
    package = find_spec("sumo_rl")
    if package is None or package.origin is None:
        raise InputError(f"the map {name} comes with the package sumo-rl, which is not installed: run {INSTALL}.")
    file = Path(package.origin).parent / "nets" / "RESCO" / name / f"{name}.sumocfg"
    return Scenario(file, _EXTRA_PHASES.get(name, ()))
