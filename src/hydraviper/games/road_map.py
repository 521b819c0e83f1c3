"""Where the roads and signals of a network lie, for whoever draws a map."""

from __future__ import annotations

from hydraviper.games.road_network import RoadNetwork
from hydraviper.games.sumo import Sumo
from hydraviper.geometry import Lane, MapSignal, RoadMap

_DRIVEN = {"passenger", "bus", "delivery", "truck", "private", "taxi"}  # who makes a lane a road


def read(library: Sumo, network: RoadNetwork) -> RoadMap:
    """The geometry of the network that is loaded, without footpaths, cycle tracks and rails."""
    lanes = {}
    for name in library.lane.getIDList():
        allowed = library.lane.getAllowed(name)  # none: everybody
        if not name.startswith(":") and (not allowed or _DRIVEN & set(allowed)):
            lanes[name] = Lane(tuple(library.lane.getShape(name)), library.lane.getWidth(name))
    junctions = [name for name in library.junction.getIDList() if not name.startswith(":")]
    signals = []
    for i, signal in enumerate(network.signals):
        seen = dict.fromkeys(lane for group in signal.groups for lane in (*group.lanes, *group.before) if lane in lanes)
        signals.append(MapSignal(f"signal-{i + 1}", signal.identifier, signal.position, signal.phases, tuple(seen)))
    return RoadMap(lanes, tuple(tuple(library.junction.getShape(name)) for name in junctions), tuple(signals))
