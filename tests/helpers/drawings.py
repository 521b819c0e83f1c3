"""What drawings hold, read back from their SVG."""

from __future__ import annotations

from xml.etree import ElementTree

from hydraviper.drawing.icons import draw_icons
from hydraviper.drawing.maps import draw_map

SVG = "{http://www.w3.org/2000/svg}"


def icons_of(game, agent: int):
    return draw_icons(game.offers.drawing.intersections[game.agents[agent].name])


def map_of(game, teams) -> str:
    return draw_map(game.offers.drawing.road_map(), teams)


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def words(svg: str) -> list[str]:
    return ["".join(element.itertext()) for element in parsed(svg).iter(SVG + "text")]


def marks(svg: str) -> dict[int, tuple[float, float]]:
    """The numbered marks of a map: number -> where, y downwards."""
    found = {}
    for element in parsed(svg).iter(SVG + "text"):
        if (element.text or "").isdigit():
            found[int(element.text)] = (float(element.attrib["x"]), float(element.attrib["y"]))
    return found
