"""Runs side by side: their scores with intervals, and what they were made with."""

from nicegui import ui

from hydraviper.runs.listing import Listed
from hydraviper.studio.frame import address, page, paper, text
from hydraviper.studio.shelf import Shelf
from hydraviper.studio.window import Builder


def pages(shelf: Shelf) -> dict[str, Builder]:
    """The page, by its address."""

    def compare(runs: str = "") -> None:
        with page("Compare runs", view="compare"):
            names = runs.split(",")
            found = [one for one in shelf.runs() if one.name in names and one.score is not None]
            for game, score in dict.fromkeys((one.game, one.score.name) for one in found if one.score is not None):
                side = [one for one in found if one.score is not None and (one.game, one.score.name) == (game, score)]
                _scores(f"{game}: {score}", side)
            if not found:
                text("None of these runs has a score.")

    return {"/compare": compare}


def _scores(title: str, side: list[Listed]) -> None:
    lower = any(one.score is not None and one.score.lower_is_better for one in side)
    text(title, "h2")
    text(f"{'Lower' if lower else 'Higher'} is better; lines are 95 % intervals.", "p", "soft")
    with paper("Scores as points; the same numbers are in the table below"):
        ui.echart(_chart(side)).style("height: 320px")
    with ui.element("div").classes("scroll"), ui.element("table").classes("plain"):
        with ui.element("thead"), ui.element("tr"):
            for head in (
                "run",
                "score",
                "±",
                "episodes",
                "expert",
                "algorithm",
                "depth",
                "features",
                "seed",
                "seconds",
            ):
                text(head, "th").props('scope="col"')
        with ui.element("tbody"):
            for one in side:
                _row(one)


def _row(one: Listed) -> None:
    assert one.score is not None
    with ui.element("tr"):
        with ui.element("th").props('scope="row"'):
            ui.link(one.name, address(one.name))
        values = (
            f"{one.score.mean:.2f}",
            f"{one.score.ci95:.2f}",
            one.score.episodes,
            "" if one.expert is None else f"{one.expert.mean:.2f}",
            one.algorithm,
            one.depth,
            one.features,
            one.seed,
            "" if one.seconds is None else f"{one.seconds:.0f}",
        )
        for value in values:
            text("" if value is None else str(value), "td")


def _chart(side: list[Listed]) -> dict[str, object]:
    """Points with intervals: bars would have to begin at 0, where no score of interest lies."""
    names = [one.name for one in side]
    points = [[k, one.score.mean] for k, one in enumerate(side) if one.score is not None]
    lines = [
        [{"coord": [k, one.score.mean - one.score.ci95]}, {"coord": [k, one.score.mean + one.score.ci95]}]
        for k, one in enumerate(side)
        if one.score is not None
    ]
    whiskers = {"silent": True, "symbol": "none", "lineStyle": {"type": "solid", "width": 3}, "data": lines}
    experts = [[k, one.expert.mean] for k, one in enumerate(side) if one.expert is not None]
    return {
        "animation": False,
        "legend": {},
        "tooltip": {},
        "xAxis": {"type": "category", "data": names},
        "yAxis": {"type": "value", "scale": True},
        "series": [
            {"name": "trees", "type": "scatter", "symbolSize": 14, "data": points, "markLine": whiskers},
            {"name": "expert", "type": "scatter", "symbol": "diamond", "symbolSize": 14, "data": experts},
        ],
    }
