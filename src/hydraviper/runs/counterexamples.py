"""A counterexample on the game's own picture: where everybody is when trees break a property."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from io import BytesIO
from pathlib import Path

from hydraviper.data import InputError
from hydraviper.drawing.film import Film
from hydraviper.drawing.scenes import draw_scene, scene_window
from hydraviper.geometry import Scene
from hydraviper.protocols import Drawing, offers
from hydraviper.records import Counterexample, PropertyAnswer
from hydraviper.runs.run import Source, opened


@dataclass(frozen=True)
class Picture:
    """A picture as a file: its name's ending, and what is in it."""

    suffix: str  # .svg or .png
    content: bytes

    def html(self, label: str) -> str:
        """The picture inside a page."""
        if self.suffix == ".svg":
            return self.content.decode()
        data = base64.b64encode(self.content).decode()
        return f'<img alt="{escape(label)}" style="max-width: 100%" src="data:image/png;base64,{data}">'


def picture(run: Source, example: Counterexample) -> Picture | None:
    """What the agents of a counterexample see; None if their game cannot be drawn from that."""
    run = opened(run)
    try:
        drawing = offers(run.game).drawing
    except InputError:  # properties can be decided without the game
        return None
    label = f"{run.trees.game}: {_told(example)}"
    if not example.observations:
        return None
    if drawing.scene_of is not None:
        scene = _doing(drawing.scene_of(example.observations), example)
        return Picture(".svg", draw_scene(scene, scene_window([scene]), label).encode())
    if drawing.frame_of is not None and drawing.road_map is not None:
        return Picture(".png", _roads(drawing, example, label))
    return None


def write_pictures(run: Source, answers: Sequence[PropertyAnswer], folder: Path) -> list[Path]:
    """Draw the first counterexample of every broken property into a folder; the files that were written."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for number, one in enumerate(answers, 1):
        drawn = picture(run, one.counterexamples[0]) if one.counterexamples else None
        if drawn is not None:
            written.append(folder / f"property-{number}{drawn.suffix}")
            written[-1].write_bytes(drawn.content)
    return written


def _told(example: Counterexample) -> str:
    return ", ".join(f"{name} does {action}" for name, action in example.actions.items())


def _doing(scene: Scene, example: Counterexample) -> Scene:
    """The scene with what agents do beside their names."""
    named = [
        replace(mark, name=f"{mark.name}: {example.actions[mark.name]}") if mark.name in example.actions else mark
        for mark in scene.marks
    ]
    return Scene(tuple(named))


def _roads(drawing: Drawing, example: Counterexample, title: str) -> bytes:
    """The whole map, or the surroundings of the one signal that sees anything."""
    assert drawing.road_map is not None
    assert drawing.frame_of is not None
    road_map = drawing.road_map()
    places = [signal.position for signal in road_map.signals if signal.agent in example.observations]
    film = Film(road_map, title, places[0] if len(places) == 1 else None)
    content = BytesIO()
    film.picture(drawing.frame_of(example.observations, road_map)).save(content, "PNG")
    return content.getvalue()
