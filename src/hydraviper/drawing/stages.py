"""The game's own picture of an episode, as a page moves it: what stands still once, what moves in small numbers."""

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Required, TypedDict

import numpy as np

from hydraviper.drawing.charts import inline
from hydraviper.drawing.film import GOES, LIGHTS, RED, STANDS, WAITS, stop_line, told
from hydraviper.drawing.maps import Place, draw_roads, names_with_room, placed
from hydraviper.drawing.pictures import smaller, to_png
from hydraviper.drawing.scenes import draw_scene, scene_place, scene_window
from hydraviper.drawing.svg import document, line, tag, text, text_width
from hydraviper.geometry import Car, Frame, Point, RoadMap, Scene

_FINE = 4  # parts of a pixel in which vehicles are placed
_LONGEST = 2_000_000  # characters that the vehicles, or the pictures, of an episode may take in a page
_AROUND = 110.0  # metres around a signal that is looked at from close
_SIDE = 320  # pixels of the longer side of an environment's own picture


class Moment(TypedDict, total=False):
    """A frame of an episode: its step, and where it differs from others."""

    step: Required[int]
    at: list[list[float]]  # where each mark is
    d: list[str]  # the paths of vehicles
    lights: str  # a letter each
    picture: int  # which of the pictures
    words: str


@dataclass(frozen=True)
class Stage:
    """A picture and how it moves; there is a frame for every step, and one for the end; a step may have more."""

    html: str
    frames: tuple[Moment, ...]
    pictures: tuple[str, ...] = ()
    near: Mapping[str, str] = field(default_factory=dict)  # agent -> the picture's viewBox from close


def plane_stage(scenes: Sequence[Scene], label: str) -> Stage:
    """Agents and landmarks on a plane; one scene per step, and one for the end."""
    window = scene_window(scenes)
    frames = tuple(
        Moment(step=step, at=[[round(way, 1) for way in scene_place(window, mark.position)] for mark in scene.marks])
        for step, scene in enumerate(scenes)
    )
    return Stage(inline(draw_scene(scenes[0], window, label)), frames)


def road_stage(road_map: RoadMap, frames: Sequence[Frame], seconds: float, steps: int, label: str) -> Stage:
    """Vehicles and lights on the road map; `seconds` is how long a step takes."""
    place, scale, (wide, tall) = placed(road_map)
    shown = [lane for lane in road_map.lanes if any(lane in frame.lights for frame in frames)]
    near = {signal.agent: place(signal.position) for signal in road_map.signals}
    pen = {"font_size": 15, "stroke": "#ffffff", "stroke_width": 4, "paint_order": "stroke"}
    room = names_with_room(near, wide, lambda name: text_width(name, 15), 17)
    names = [text(left, top + 13, name, **pen) for name, left, top in room]
    names += [
        tag("circle", tag("title", escape(name)), cx=x, cy=y, r=14, fill="#ffffff00") for name, (x, y) in near.items()
    ]
    bars = [_bar(road_map, lane, place, scale) for lane in shown]
    look = {"fill": "none", "stroke_width": _FINE * max(4.5, 2.2 * scale)}
    cars = [tag("path", **look, stroke=colour, data_path=k) for k, colour in enumerate((GOES, WAITS))]
    moving = tag("g", "".join(cars), transform=f"scale({1 / _FINE})")
    svg = document(wide, tall, label, *draw_roads(road_map, place, scale), *bars, moving, *names)
    taken = _thinned([_road_frame(frame, shown, place, (wide, tall), seconds, steps) for frame in frames])
    half = min(_AROUND * scale, wide / 2, tall / 2)
    views = {name: f"{x - half:.0f} {y - half:.0f} {2 * half:.0f} {2 * half:.0f}" for name, (x, y) in near.items()}
    return Stage(inline(svg), tuple(taken), near=views)


def _bar(road_map: RoadMap, lane: str, place: Place, scale: float) -> str:
    """The light of a lane, as a bar across its end."""
    ends = map(place, stop_line(road_map, lane))
    return tag("path", d=line(ends), stroke_width=max(4.0, 1.6 * scale), data_light="r")


def _road_frame(frame: Frame, lanes: Sequence[str], place: Place, size: Point, seconds: float, steps: int) -> Moment:
    there = [
        car for car in frame.cars if all(0 <= way <= most for way, most in zip(place(car.position), size, strict=True))
    ]
    ways = [[car for car in there if (car.speed < STANDS) == stands] for stands in (False, True)]
    return {
        "step": min(int(frame.seconds / seconds + 1e-6), steps),
        "d": ["".join(_dash(car, place) for car in cars) for cars in ways],
        "lights": "".join(frame.lights.get(lane, "r") for lane in lanes),
        "words": told(frame),
    }


def _dash(car: Car, place: Place) -> str:
    """A vehicle from its front to its back."""
    angle, (x, y) = math.radians(car.angle), car.position
    back = x - math.sin(angle) * car.length, y - math.cos(angle) * car.length
    (x, y), (u, v) = (tuple(round(_FINE * way) for way in place(point)) for point in ((x, y), back))
    return f"M{x} {y}l{u - x} {v - y}"


def _thinned(frames: list[Moment]) -> list[Moment]:
    """Fewer frames where all would take too much room; the first of every step stays."""
    room = sum(len(d) for frame in frames for d in frame.get("d", ()))
    if room <= _LONGEST:
        return frames
    firsts = {frame["step"]: k for k, frame in reversed(list(enumerate(frames)))}
    keep = set(firsts.values()) | set(range(0, len(frames), math.ceil(room / _LONGEST)))
    return [frame for k, frame in enumerate(frames) if k in keep]


def picture_stage(taken: Sequence[tuple[int, np.ndarray]], steps: int) -> Stage:
    """An environment's own pictures, each with its step; a step without one shows the picture before it."""
    pictures = [f"data:image/png;base64,{base64.b64encode(to_png(smaller(p, _SIDE))).decode()}" for _, p in taken]
    every = math.ceil(sum(map(len, pictures)) / _LONGEST)
    kept = [k for k in range(len(taken)) if k % every == 0]
    starts = [taken[k][0] for k in kept]
    which = np.searchsorted(starts, np.arange(steps + 1), side="right") - 1
    frames = tuple(
        Moment(step=step, picture=max(int(k), 0))
        if starts[k] == step
        else Moment(step=step, picture=max(int(k), 0), words=f"picture of step {starts[k]}")
        for step, k in enumerate(which)
    )
    height, width, _ = smaller(taken[0][1], _SIDE).shape
    html = f'<img width="{width}" height="{height}" alt="the game at this step">'
    return Stage(html, frames, tuple(pictures[k] for k in kept))


def blank_stage(steps: int) -> Stage:
    """Nothing to see of a game that cannot be drawn: the trees alone tell what goes on."""
    return Stage("", tuple({"step": step} for step in range(steps + 1)))


STYLE = "".join(f'[data-light="{light}"] {{ stroke: {colour}; }}\n' for light, colour in {**LIGHTS, "r": RED}.items())
