"""What a signal engineer sees in a road network: signals, approaches, turning movements, green phases, neighbours.

It is read from the loaded simulation, not from the map's file: programs may come from additional files, and what
SUMO plays is what must be named. Lanes of one approach that serve the same turns in the same phases are one group,
so a group's queue is an exact count that a detector could make.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from hydraviper.games.simulation import active_program
from hydraviper.games.sumo import Sumo
from hydraviper.geometry import GREEN, Movement, Point

TURNS = {
    "l": "left",
    "L": "slight left",
    "s": "straight",
    "R": "slight right",
    "r": "right",
    "t": "turning back",
    "T": "turning back",
}
_ORDER = (
    *("left", "slight left", "keeping left", "straight", "keeping right", "slight right", "right"),
    "turning back",
)
COMPASS = ("north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest")
YELLOW = frozenset("yYu")
LOOK_BACK = 50.0  # metres before the stop line that decide where an approach comes from
LOOK_AHEAD = 10.0  # metres behind the junction that decide where a road goes: it may bend soon


@dataclass(frozen=True)
class Link:
    """One way across a junction that a signal controls."""

    index: int  # position in the signal's states
    lane: str
    to_lane: str
    turn: str


@dataclass(frozen=True)
class LaneGroup:
    """Lanes of one approach that serve the same turns in the same phases."""

    name: str  # "west, straight+right"
    lanes: tuple[str, ...]
    to_lanes: tuple[str, ...]  # where their vehicles go, each once
    before: tuple[str, ...]  # lanes further up the same road whose vehicles queue for them
    phases: tuple[int, ...]  # indices of the green phases that let some of them go
    starts: tuple[tuple[str, float], ...] = ()  # of lanes that are longer than the sight, the metre where it begins
    close: tuple[tuple[str, float], ...] = ()  # as `in_sight`, of those who are near the stop line
    # The phases that let each of their turns go, those with the same once: those without yielding, where there are any.
    ways: tuple[tuple[int, ...], ...] = ()

    @property
    def side(self) -> str:
        """Where its vehicles come from."""
        return self.name.partition(",")[0]

    @property
    def in_sight(self) -> tuple[tuple[str, float], ...]:
        """The lanes that hold its vehicles, and the metre of each from which on they are seen."""
        starts = dict(self.starts)
        return tuple((lane, starts.get(lane, 0.0)) for lane in (*self.lanes, *self.before))


@dataclass(frozen=True)
class Signal:
    """A traffic signal: where it stands, its green phases and the lanes that lead to it."""

    identifier: str  # SUMO's
    position: Point  # the middle of its stop lines
    greens: tuple[str, ...]  # states of the green phases
    phases: tuple[str, ...]  # their names: "east-west straight+right (left yields)"
    groups: tuple[LaneGroup, ...]
    movements: tuple[Movement, ...] = ()  # one per approach and road that it leads into
    keeps_left: bool = False  # whether people drive on the left
    inside: tuple[str, ...] = ()  # lanes inside the junction
    speed: float = 0.0  # m/s that are allowed on its fastest approach
    links: tuple[str, ...] = ()  # what each letter of its states is about
    across: tuple[tuple[str, ...], ...] = ()  # per letter, the lanes inside the junction that it lets vehicles onto
    walked: bool = False  # whether it controls crossings of pedestrians


@dataclass(frozen=True)
class LaneDemand:
    """What a lane into a signal has to take."""

    vehicles: float
    lights: str  # one letter per green phase: G goes, g goes but yields, r waits


@dataclass(frozen=True)
class RoadNetwork:
    """Signals that can choose, numbered along the longer side of the network, and who is next to whom."""

    signals: tuple[Signal, ...]  # south to north, or west to east
    neighbours: tuple[tuple[int, int], ...]  # pairs of signals with a road between them and no third signal on it
    alone: tuple[str, ...]  # identifiers of signals with fewer than two green phases
    walked: tuple[str, ...] = ()  # of signals that could choose, but would have to mind those who walk


def read(library: Sumo, reach: float = 0.0, near: float = 0.0) -> RoadNetwork:
    """Read the network that is loaded; an approach goes on up the road until it is `reach` metres long.

    Who is at most `near` metres away is told apart, unless that is 0 or as far as is seen.
    """
    names = library.trafficlight.getIDList()
    signals = [_signal(library, name) for name in names]
    if reach > 0:
        signals = _reaching(library, signals, reach, near if near < reach else 0.0)
    choosing = [signal for signal in signals if len(signal.greens) > 1 and signal.groups]
    ordered = _along([signal for signal in choosing if not signal.walked])
    alone = tuple(signal.identifier for signal in signals if signal not in choosing)
    walked = tuple(signal.identifier for signal in choosing if signal.walked)
    return RoadNetwork(ordered, _neighbours(library, ordered), alone, walked)


def turns(library: Sumo, signals: Sequence[Signal]) -> dict[tuple[str, str], int]:
    """The signal, by its index, that stands between two edges."""
    edge = library.lane.getEdgeID
    between: dict[tuple[str, str], int] = {}
    for i, signal in enumerate(signals):
        for link in _links(library, signal.identifier):
            between.setdefault((edge(link.lane), edge(link.to_lane)), i)
    return between


def lane_demands(library: Sumo, signal: Signal, counts: Mapping[tuple[str, str], float]) -> list[LaneDemand]:
    """The lanes into a signal, by the vehicles that turn between two edges; lanes of one way share them evenly."""
    edge, links = library.lane.getEdgeID, _links(library, signal.identifier)
    ways: dict[tuple[str, str], set[str]] = {}
    for link in links:
        ways.setdefault((edge(link.lane), edge(link.to_lane)), set()).add(link.lane)
    demands = []
    for lane in dict.fromkeys(link.lane for link in links):
        vehicles = sum(counts.get(turn, 0.0) / len(lanes) for turn, lanes in ways.items() if lane in lanes)
        shown = [{state[link.index] for link in links if link.lane == lane} for state in signal.greens]
        demands.append(LaneDemand(vehicles, _freest(shown)))
    return demands


def _signal(library: Sumo, name: str) -> Signal:
    links = _links(library, name)
    states = dict.fromkeys(phase.state for phase in active_program(library, name).phases)
    letters = len(next(iter(states), ""))  # SUMO takes states that have more than there are links
    controlled = [*library.trafficlight.getControlledLinks(name)]
    controlled += [()] * (letters - len(controlled))
    used = {link.index for link in links}  # SUMO takes greens for links that are not there
    greens = tuple(state for state in states if any(state[k] in GREEN for k in used) and not set(state) & YELLOW)
    lanes = dict.fromkeys(link.lane for link in links)
    shapes = {lane: library.lane.getShape(lane) for lane in lanes}
    edges = {lane: library.lane.getEdgeID(lane) for lane in lanes}
    approaches = _approach_names({edge: shapes[lane] for lane, edge in edges.items()})
    sides = {lane: approaches[edge] for lane, edge in edges.items()}
    ends = [shape[-1] for shape in shapes.values()]
    middle = (sum(x for x, _ in ends) / max(len(ends), 1), sum(y for _, y in ends) / max(len(ends), 1))
    phases = tuple(_phase_name(state, links, sides) for state in greens)
    return Signal(
        name,
        middle,
        greens,
        phases,
        _groups(links, sides, greens),
        _movements(library, links, sides, greens),
        _keeps_left(library, links),
        _inside(library, controlled),
        max(map(library.lane.getMaxSpeed, lanes), default=0.0),
        tuple(_link_name(index, links, sides) for index in range(letters)),
        tuple(_across(library, ways) for ways in controlled),
        any(lane.startswith(":") for ways in controlled for lane, _, _ in ways),
    )


def _inside(library: Sumo, controlled: Sequence[Sequence[tuple[str, str, str]]]) -> tuple[str, ...]:
    """The lanes inside the junctions that a signal controls, but for those of pedestrians."""
    junctions = {way.rsplit("_", 2)[0] for ways in controlled for _, _, way in ways if way.startswith(":")}
    lanes = (lane for lane in library.lane.getIDList() if lane.rsplit("_", 2)[0] in junctions)
    return tuple(lane for lane in lanes if not re.search(r"_[cw]\d+_\d+$", lane))


def _across(library: Sumo, ways: Sequence[tuple[str, str, str]]) -> tuple[str, ...]:
    """The lanes that lead across a junction; those who yield have a second one, behind where they wait."""
    lanes = [way for lane, _, way in ways if way and not lane.startswith(":")]
    for lane in lanes:
        lanes += [after[4] for after in library.lane.getLinks(lane) if after[4] and after[4] not in lanes]
    return tuple(lanes)


def _link_name(index: int, links: Sequence[Link], sides: Mapping[str, str]) -> str:
    """What one letter of a signal's states is about, in words and in the names of the network."""
    own = [link for link in links if link.index == index]
    return "; ".join(f"{sides[way.lane]}, {way.turn} ({way.lane} to {way.to_lane})" for way in own) or "no vehicles"


def _links(library: Sumo, signal: str) -> list[Link]:
    """Everything the signal controls, but for pedestrians' crossings."""
    links = []
    for index, ways in enumerate(library.trafficlight.getControlledLinks(signal)):
        for lane, to_lane, _ in ways:
            if lane.startswith(":"):
                continue
            turns = {after[0]: after[6] for after in library.lane.getLinks(lane)}
            links.append(Link(index, lane, to_lane, TURNS.get(turns.get(to_lane, "s"), "straight")))
    return _forked(library, links)


def _forked(library: Sumo, links: list[Link]) -> list[Link]:
    """Where straight on leads into several roads, call the outer ones by the side that drivers keep to."""
    forks: dict[str, dict[str, float]] = {}  # approach -> road -> degrees to the right
    for link in links:
        if link.turn == "straight":
            ahead = library.lane.getShape(link.to_lane)[::-1]
            right = _bearing(ahead) - _bearing(library.lane.getShape(link.lane)) + 180
            road = library.lane.getEdgeID(link.to_lane)
            forks.setdefault(library.lane.getEdgeID(link.lane), {})[road] = (right + 180) % 360
    words = {}
    for approach, roads in forks.items():
        if len(roads) > 1:
            words[approach, min(roads, key=roads.__getitem__)] = "keeping left"
            words[approach, max(roads, key=roads.__getitem__)] = "keeping right"

    def renamed(link: Link) -> Link:
        key = (library.lane.getEdgeID(link.lane), library.lane.getEdgeID(link.to_lane))
        return replace(link, turn=words[key]) if link.turn == "straight" and key in words else link

    return [renamed(link) for link in links]


def _approach_names(shapes: Mapping[str, Sequence[Point]]) -> dict[str, str]:
    """Where each edge comes from: four compass points if they tell the edges apart, else eight, else numbered."""
    angles = {edge: _bearing(shape) for edge, shape in shapes.items()}
    for points in (4, 8):
        names = {
            edge: COMPASS[round(angle / (360 / points)) % points * (8 // points)] for edge, angle in angles.items()
        }
        if len(set(names.values())) == len(names):
            return names
    return _numbered({edge: names[edge] for edge in sorted(names, key=lambda edge: angles[edge])})


def _bearing(shape: Sequence[Point], far: float = LOOK_BACK) -> float:
    """Degrees clockwise from north in which a lane lies, seen from its stop line."""
    end, back = shape[-1], shape[-1]
    for back in reversed(shape[:-1]):
        if math.dist(back, end) >= far:
            break
    return math.degrees(math.atan2(back[0] - end[0], back[1] - end[1])) % 360


def _numbered(names: Mapping[str, str]) -> dict[str, str]:
    """The same names, with a number behind those that occur more than once."""
    kept = list(names.values())
    seen: dict[str, int] = {}
    result = {}
    for key, name in names.items():
        seen[name] = seen.get(name, 0) + 1
        result[key] = f"{name} {seen[name]}" if kept.count(name) > 1 else name
    return result


def _groups(links: Sequence[Link], sides: Mapping[str, str], greens: Sequence[str]) -> tuple[LaneGroup, ...]:
    own = {lane: [link for link in links if link.lane == lane] for lane in sides}
    goes = {link: tuple(k for k, state in enumerate(greens) if state[link.index] in GREEN) for link in links}
    first = {link: tuple(k for k in phases if greens[k][link.index] == "G") for link, phases in goes.items()}
    served = {lane: tuple(sorted({k for link in ways for k in goes[link]})) for lane, ways in own.items()}
    members: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for lane, ways in own.items():
        name = f"{sides[lane]}, {_join(link.turn for link in ways)}"
        members.setdefault((name, served[lane]), []).append(lane)
    names = _numbered({str(key): key[0] for key in members})
    return tuple(
        LaneGroup(
            names[str(key)],
            tuple(lanes),
            tuple(dict.fromkeys(link.to_lane for lane in lanes for link in own[lane])),
            (),
            key[1],
            ways=tuple(dict.fromkeys(first[link] or goes[link] for lane in lanes for link in own[lane])),
        )
        for key, lanes in members.items()
    )


def _movements(
    library: Sumo, links: Sequence[Link], sides: Mapping[str, str], greens: Sequence[str]
) -> tuple[Movement, ...]:
    """What a phase's name tells, with angles: of several lanes that go the same way, the freest decides."""
    roads: dict[tuple[str, str], list[Link]] = {}
    for link in links:
        road = library.lane.getEdgeID(link.to_lane)
        roads.setdefault((sides[link.lane], road), []).append(link)
    made = []
    for (side, _), ways in roads.items():
        lights = _freest([{state[way.index] for way in ways} for state in greens])
        source = _bearing(library.lane.getShape(ways[-1].lane))
        target = _bearing(library.lane.getShape(ways[-1].to_lane)[::-1], LOOK_AHEAD)
        made.append(Movement(side, ways[-1].turn, source, target, lights))
    return tuple(made)


def _freest(shown: Sequence[set[str]]) -> str:
    """Of several lights at a time, the one that lets most go: one letter per phase."""
    return "".join(next((light for light in GREEN if light in lights), "r") for lights in shown)


def _keeps_left(library: Sumo, links: Sequence[Link]) -> bool:
    """Whether those who come meet those who leave on their right, over all roads that have both."""
    votes = 0
    shapes = library.lane.getShape
    for lane in dict.fromkeys(link.lane for link in links):
        (x, y), angle = shapes(lane)[-1], math.radians(_bearing(shapes(lane), LOOK_AHEAD))
        for to_lane in dict.fromkeys(link.to_lane for link in links):
            away = math.radians(_bearing(shapes(to_lane)[::-1], LOOK_AHEAD))
            if math.cos(away - angle) > 0.9:
                to_x, to_y = shapes(to_lane)[0]
                right = math.sin(angle) * (to_y - y) - math.cos(angle) * (to_x - x)
                votes += 1 if right > 0 else -1
    return votes > 0


def _join(turns: Iterable[str]) -> str:
    """Turns from left to right; turning back is not worth a word beside another turn."""
    kinds = sorted(set(turns), key=_ORDER.index)
    return "+".join([turn for turn in kinds if turn != "turning back"] or kinds)


def _phase_name(state: str, links: Sequence[Link], sides: Mapping[str, str]) -> str:
    """Who may go: "east-west straight+right (left yields)"."""
    words: dict[str, str] = {}  # approach -> what it may do
    for side in dict.fromkeys(sides.values()):
        own = [link for link in links if sides[link.lane] == side and link.turn != "turning back"]
        first = {link.turn for link in own if state[link.index] == "G"}
        yielding = {link.turn for link in own if state[link.index] == "g"} - first
        if first:
            words[side] = _join(first) + (f" ({_join(yielding)} yields)" if yielding else "")
        elif yielding:
            words[side] = f"{_join(yielding)} yielding"
    parts = []
    by_words = sorted(words, key=lambda side: (list(words.values()).index(words[side]), _point(side)))
    for what, group in groupby(by_words, key=words.__getitem__):
        parts.append(f"{'-'.join(group)} {what}")
    return ", ".join(parts) or "turning back only"


def _point(side: str) -> int:
    return COMPASS.index(side.split()[0])


def _along(signals: Sequence[Signal]) -> tuple[Signal, ...]:
    """Numbered along the longer side of the network: south to north, or west to east."""
    if not signals:
        return ()
    xs, ys = zip(*(signal.position for signal in signals), strict=True)
    northward = max(ys) - min(ys) >= max(xs) - min(xs)
    return tuple(sorted(signals, key=lambda signal: signal.position[::-1] if northward else signal.position))


def _neighbours(library: Sumo, signals: Sequence[Signal]) -> tuple[tuple[int, int], ...]:
    """Pairs with a road from one to the other on which no third signal stands."""
    at = {lane: i for i, signal in enumerate(signals) for group in signal.groups for lane in group.lanes}
    pairs: set[tuple[int, int]] = set()
    for i, signal in enumerate(signals):
        waiting = [lane for group in signal.groups for lane in group.to_lanes]
        seen = set(waiting)
        while waiting:
            lane = waiting.pop()
            if lane in at:
                if at[lane] != i:
                    pairs.add((min(i, at[lane]), max(i, at[lane])))
                continue
            for after in library.lane.getLinks(lane):
                if after[0] not in seen:
                    seen.add(after[0])
                    waiting.append(after[0])
    return tuple(sorted(pairs))


def _reaching(library: Sumo, signals: Sequence[Signal], reach: float, near: float) -> list[Signal]:
    """The same signals, their lane groups continued up the road, but not past another signal."""
    before, length = continued(library, signals), library.lane.getLength

    def further(lanes: Iterable[str], reach: float) -> dict[str, float]:
        """The lanes in sight, and the metre of each where the sight begins."""
        starts: dict[str, float] = {}
        waiting = [(lane, reach) for lane in lanes]
        while waiting:
            lane, left = waiting.pop()
            start = max(0.0, length(lane) - left)
            if start < starts.get(lane, math.inf):
                starts[lane] = start
                if length(lane) < left:
                    waiting += [(other, left - length(lane)) for other in before.get(lane, ())]
        return starts

    def seeing(group: LaneGroup) -> LaneGroup:
        starts = further(group.lanes, reach)
        clipped = tuple((lane, start) for lane, start in starts.items() if start > 0)
        before = tuple(lane for lane in starts if lane not in group.lanes)
        close = tuple(further(group.lanes, near).items()) if near else ()
        return replace(group, before=before, starts=clipped, close=close)

    return [replace(signal, groups=tuple(map(seeing, signal.groups))) for signal in signals]


def continued(library: Sumo, signals: Sequence[Signal]) -> dict[str, list[str]]:
    """Per lane, the lanes whose vehicles drive on into it: straight on, or round a bend.

    A bend is where a lane has no other way on and nobody comes straight on from elsewhere: side streets are none. The
    ways across a junction are lanes as well. Nothing leads on across a signal.
    """
    stops = {lane for signal in signals for group in signal.groups for lane in group.lanes}
    links, leaves, straight = [], {}, set()
    for lane in library.lane.getIDList():
        for after in () if lane.startswith(":") else library.lane.getLinks(lane):
            if TURNS.get(after[6]) == "turning back" or after[0].startswith(":"):
                continue
            there = library.lane.getEdgeID(after[0])
            links.append((lane, after, there))
            leaves.setdefault(lane, set()).add(there)
            straight |= {there} if after[6] == "s" else set()
    before: dict[str, list[str]] = {}
    for lane, after, there in links:
        if lane not in stops and (after[6] == "s" or (len(leaves[lane]) == 1 and there not in straight)):
            way = [*filter(None, (after[4],)), after[0]]
            for first, second in zip([lane, *way], way, strict=False):
                before.setdefault(second, []).append(first)
    return before
