"""Where things lie: roads, signals and their movements, agents and landmarks; what pictures are drawn from."""

from collections.abc import Mapping
from dataclasses import dataclass

from hydraviper.data import InputError

Point = tuple[float, float]  # metres to the east and to the north
GREEN = "Gg"  # lights that let a movement go: before others, or yielding to them


@dataclass(frozen=True)
class Movement:
    """A way across an intersection, from an approach into a road, and the phases of the signal that let it go."""

    side: str  # where it comes from: "west"
    turn: str
    source: float  # degrees clockwise from north in which the approach lies, seen from the signal
    target: float  # the same of the road that it leads into, where that begins
    lights: str  # one letter per green phase: G goes, g goes but yields, r waits


@dataclass(frozen=True)
class Intersection:
    """What a signal lets go in each of its green phases, for drawings of the phases."""

    phases: int
    movements: tuple[Movement, ...]
    keeps_left: bool = False  # whether people drive on the left

    def __post_init__(self) -> None:
        for way in self.movements:
            if len(way.lights) != self.phases or not set(way.lights) <= set(GREEN + "r"):
                raise InputError(f"a movement from {way.side} has the lights {way.lights!r}, not {self.phases} of Ggr.")


@dataclass(frozen=True)
class Lane:
    """A lane of a road map."""

    line: tuple[Point, ...]  # its middle
    width: float  # metres


@dataclass(frozen=True)
class MapSignal:
    """A signal on a road map."""

    agent: str  # the agent's name
    identifier: str  # what the network's own file calls it
    position: Point
    phases: tuple[str, ...]  # names of its green phases
    lanes: tuple[str, ...]  # names of the lanes that it looks at


@dataclass(frozen=True)
class Car:
    """A vehicle on a road map."""

    position: Point  # the middle of its front
    angle: float  # degrees clockwise from north in which it drives
    length: float  # metres
    speed: float  # metres per second


@dataclass(frozen=True)
class Frame:
    """A moment of an episode on a road map."""

    seconds: float  # since the episode began
    cars: tuple[Car, ...]
    lights: Mapping[str, str]  # lane -> what its signal shows: G or g go, y yellow, r wait
    outside: int  # vehicles that wait to enter


@dataclass(frozen=True)
class RoadMap:
    """Where roads and signals lie."""

    lanes: Mapping[str, Lane]
    junctions: tuple[tuple[Point, ...], ...]  # outlines
    signals: tuple[MapSignal, ...]  # one per agent, in the order of the agents

    def __post_init__(self) -> None:
        if unknown := [name for signal in self.signals for name in signal.lanes if name not in self.lanes]:
            raise InputError(f"a signal of the map looks at the lane {unknown[0]!r}, which the map does not have.")


@dataclass(frozen=True)
class Mark:
    """Something on a plane."""

    name: str
    kind: str  # agent, landmark or goal
    position: Point
    size: float  # its radius


@dataclass(frozen=True)
class Scene:
    """A moment of an episode on a plane."""

    marks: tuple[Mark, ...]
