"""An episode as a film: the road map with every vehicle and light, written as GIF, or by ffmpeg as MP4 or WebM."""

from __future__ import annotations

import math
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from html import escape
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydraviper.data import InputError, JobError
from hydraviper.drawing.maps import ROAD, names_with_room, window_of
from hydraviper.drawing.svg import INK, PALETTE, SOFT, line, tag, text
from hydraviper.geometry import Car, Frame, Point, RoadMap

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

KINDS = (".gif", ".mp4", ".webm")
_WIDE, _TALLEST, _HEAD = 960, 900, 34  # pixels: the picture's width, its greatest height, the line of words above
_SHARPER = 2  # drawn so many times larger, and made smaller
_AROUND = 120.0  # metres around a signal that is looked at by itself
STANDS = 0.1  # m/s
GOES, WAITS = PALETTE[0], PALETTE[6]  # vehicles that roll, and those that stand
LIGHTS = {"G": "#00a651", "g": "#00a651", "y": "#f2a900", "Y": "#f2a900", "u": "#f2a900"}  # all others: red
RED = "#d0021b"
_INSTALL = "pip install 'hydraviper[video]'"


class Film:
    """Draws the pictures of one episode."""

    def __init__(self, road_map: RoadMap, title: str, around: Point | None = None) -> None:
        """The whole map, or what lies around a point."""
        self._map, self._title = road_map, title
        self._image, self._draw, self._font = (_pillow(name) for name in ("Image", "ImageDraw", "ImageFont"))
        if around is None:
            (left, low), (right, high) = window_of(road_map)
        else:
            (left, low), (right, high) = ([at + sign * _AROUND for at in around] for sign in (-1, 1))
        self._corner = left, high
        wide, tall = right - left, high - low
        self._scale = min(_WIDE / wide, (_TALLEST - _HEAD) / tall)
        self.size = _even(wide * self._scale), _even(tall * self._scale + _HEAD)
        self._roads = self._background()

    def picture(self, frame: Frame) -> Image:
        """One picture."""
        picture = self._roads.copy()
        pen = self._draw.Draw(picture)
        for car in frame.cars:
            self._car(pen, car)
        for lane, light in frame.lights.items():
            if lane in self._map.lanes:
                self._light(pen, lane, light)
        self._head(pen, picture)
        pen.text((picture.width - 10, _HEAD / 2), told(frame), fill=SOFT, font=self._font.load_default(15), anchor="rm")
        return picture

    def ground(self) -> Image:
        """What all pictures share: roads, names of signals, the title."""
        picture = self._roads.copy()
        self._head(self._draw.Draw(picture), picture)
        return picture

    def _head(self, pen: ImageDraw, picture: Image) -> None:
        pen.rectangle((0, 0, picture.width, _HEAD), fill="#ffffff")
        pen.text((10, _HEAD / 2), self._title, fill=INK, font=self._font.load_default(15), anchor="lm")

    def above(self, frame: Frame, label: str) -> str:
        """What lies on the ground at a moment, as SVG of the same size: a hundredth of a picture's bytes."""
        bars: dict[tuple[str, int], list[str]] = {}
        for car in frame.cars:
            colour = WAITS if car.speed < STANDS else GOES
            bars.setdefault((colour, max(3, round(2.0 * self._scale))), []).append(line(map(self._place, _ends(car))))
        for lane, light in frame.lights.items():
            if lane in self._map.lanes:
                key = LIGHTS.get(light, RED), max(3, round(1.6 * self._scale))
                bars.setdefault(key, []).append(line(map(self._place, stop_line(self._map, lane))))
        wide, tall = self.size
        paths = [tag("path", d="".join(d), stroke=colour, stroke_width=width) for (colour, width), d in bars.items()]
        for signal in self._map.signals:
            x, y = self._place(signal.position)
            paths.append(tag("circle", tag("title", escape(signal.agent)), cx=x, cy=y, r=16, fill="#ffffff00"))
        words = text(wide - 10, _HEAD / 2 + 5, told(frame), font_size=15, text_anchor="end", fill=SOFT)
        look = {"viewBox": f"0 0 {wide} {tall}", "role": "img", "aria_label": label, "style": "display: block"}
        return tag("svg", "".join([*paths, words]), xmlns="http://www.w3.org/2000/svg", width="100%", **look)

    def _place(self, point: Point, larger: int = 1) -> Point:
        """Metres to the right and up -> pixels to the right and down."""
        left, high = self._corner
        return (point[0] - left) * self._scale * larger, ((high - point[1]) * self._scale + _HEAD) * larger

    def _background(self) -> Image:
        """Roads and the names of signals; drawn larger and made smaller, so that edges are smooth."""
        picture = self._image.new("RGB", [side * _SHARPER for side in self.size], "#ffffff")
        pen = self._draw.Draw(picture)
        for outline in self._map.junctions:
            if len(outline) > 2:
                pen.polygon([self._place(point, _SHARPER) for point in outline], fill=ROAD)
        for lane in self._map.lanes.values():
            width = max(2, round(lane.width * self._scale * _SHARPER))
            pen.line([self._place(point, _SHARPER) for point in lane.line], fill=ROAD, width=width, joint="curve")
        picture = picture.resize(self.size, self._image.Resampling.LANCZOS)
        self._names(self._draw.Draw(picture), picture.width)
        return picture

    def _names(self, pen: ImageDraw, wide: int) -> None:
        """The names of signals where there is room; `above` tells all of them under the pointer."""
        font = self._font.load_default(13)
        places = {signal.agent: self._place(signal.position) for signal in self._map.signals}
        for name, left, top in names_with_room(places, wide, font.getlength, 16):
            pen.text((left, top), name, fill=INK, font=font, stroke_width=2, stroke_fill="#ffffff")

    def _car(self, pen: ImageDraw, car: Car) -> None:
        """A bar from its front to its back, wide enough to be seen."""
        colour = WAITS if car.speed < STANDS else GOES
        pen.line([self._place(end) for end in _ends(car)], fill=colour, width=max(3, round(2.0 * self._scale)))

    def _light(self, pen: ImageDraw, lane: str, light: str) -> None:
        """A bar across the end of a lane."""
        ends = [self._place(point) for point in stop_line(self._map, lane)]
        pen.line(ends, fill=LIGHTS.get(light, RED), width=max(3, round(1.6 * self._scale)))


def stop_line(road_map: RoadMap, lane: str) -> tuple[Point, Point]:
    """Where vehicles of a lane stop at its end, from one side to the other."""
    (u, v), (x, y) = road_map.lanes[lane].line[-2:]
    far = math.dist((u, v), (x, y)) or 1.0
    side = road_map.lanes[lane].width / 2
    across = (y - v) / far * side, (u - x) / far * side
    return (x - across[0], y - across[1]), (x + across[0], y + across[1])


def _ends(car: Car) -> tuple[Point, Point]:
    """Its front and its back."""
    angle, (x, y) = math.radians(car.angle), car.position
    return (x, y), (x - math.sin(angle) * car.length, y - math.cos(angle) * car.length)


def check(path: Path) -> None:
    """Refuse a file that no film can be written to, before anything is played."""
    if path.suffix.lower() not in KINDS:
        raise InputError(f"{path} is no film: pass a name that ends in {', '.join(KINDS[:-1])} or {KINDS[-1]}.")
    _pillow("Image")
    if path.suffix.lower() != ".gif":
        _ffmpeg(path)


def write(path: Path, pictures: Iterable[Image], size: tuple[int, int], per_second: float) -> None:
    """Write pictures of one size into a file, whole or not at all."""
    half = path.with_name(f"{path.stem}.part{path.suffix}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        if path.suffix.lower() == ".gif":
            _write_gif(half, iter(pictures), per_second)
        else:
            _write_by_ffmpeg(half, pictures, size, per_second)
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)


def _write_gif(path: Path, pictures: Iterator[Image], per_second: float) -> None:
    """With one palette for all pictures, so that what stays the same takes no room."""
    image = _pillow("Image")
    first = next(pictures)
    shown = [INK, SOFT, ROAD, "#ffffff", GOES, WAITS, RED, *dict.fromkeys(LIGHTS.values())]
    sample = image.new("RGB", (len(shown) * 40, 40))
    for k, colour in enumerate(shown):  # their shades on roads and on white as well
        for row, share in enumerate((0.0, 0.25, 0.5, 0.75)):
            for ground, at in ((ROAD, 0), ("#ffffff", 20)):
                mixed = image.blend(image.new("RGB", (20, 10), colour), image.new("RGB", (20, 10), ground), share)
                sample.paste(mixed, (40 * k + at, 10 * row))
    palette = sample.quantize(64)
    few = (one.quantize(palette=palette, dither=image.Dither.NONE) for one in chain([first], pictures))
    start = next(few)
    start.save(path, save_all=True, append_images=few, duration=round(1000 / per_second), loop=0, optimize=False)


def _write_by_ffmpeg(path: Path, pictures: Iterable[Image], size: tuple[int, int], per_second: float) -> None:
    codec = ("libvpx-vp9", "-b:v", "0", "-crf", "34") if path.suffix.lower() == ".webm" else ("libx264", "-crf", "24")
    given = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}", "-r", f"{per_second:g}", "-i", "-")
    command = [_ffmpeg(path), "-y", "-loglevel", "error", *given, "-c:v", *codec, "-pix_fmt", "yuv420p", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        try:
            for picture in pictures:
                process.stdin.write(picture.tobytes())
        except BrokenPipeError:
            pass  # it says why below
        _, said = process.communicate()
    if process.returncode:
        reason = " ".join(said.decode(errors="replace").split()) or f"exit code {process.returncode}"
        raise JobError(f"ffmpeg could not write {path}: {reason}")


def _ffmpeg(path: Path) -> str:
    """The program that writes other films than GIF: that of the machine, or the one in a Python package."""
    found = shutil.which("ffmpeg")
    if found is None and find_spec("imageio_ffmpeg") is not None:
        found = import_module("imageio_ffmpeg").get_ffmpeg_exe()
    if found is None:
        raise InputError(
            f"{path.suffix} needs ffmpeg: run pip install imageio-ffmpeg, or pass a name that ends in .gif."
        )
    return found


def _pillow(module: str) -> Any:
    try:
        return import_module(f"PIL.{module}")
    except ModuleNotFoundError:
        raise InputError(f"films need the package pillow, which is not installed: run {_INSTALL}.") from None


def told(frame: Frame) -> str:
    """A moment of traffic in words."""
    standing = sum(car.speed < STANDS for car in frame.cars)
    minutes, seconds = divmod(round(frame.seconds), 60)
    words = f"{minutes:02}:{seconds:02}   {len(frame.cars)} vehicles, {standing} standing"
    return f"{words} (orange){f', {frame.outside} waiting to enter' * (frame.outside > 0)}"


def _even(pixels: float) -> int:
    """A whole number that films can have as a side."""
    return 2 * round(pixels / 2)
