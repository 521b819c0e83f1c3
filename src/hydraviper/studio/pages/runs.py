"""The first page: the runs of the folder, and which of them to compare."""

import time
from urllib.parse import quote

from nicegui import ui

from hydraviper.runs.following import FINISHED
from hydraviper.runs.listing import Listed
from hydraviper.studio.frame import address, button, page, tell, text
from hydraviper.studio.shelf import Shelf


def add(shelf: Shelf) -> None:
    """Add the page."""

    @ui.page("/")
    def runs() -> None:
        with page("Runs"):
            found = shelf.runs()
            text(
                f"{len(found)} in {shelf.folder}. Choose some to compare them, or open one to see its trees.",
                "p",
                "soft",
            )
            chosen: dict[str, ui.checkbox] = {}

            def compare() -> None:
                names = [name for name, box in chosen.items() if box.value]
                if len(names) < 2:
                    tell("Choose two runs or more to compare them.")
                else:
                    ui.navigate.to(f"/compare?runs={quote(','.join(names), safe=',')}")

            with ui.row():
                button("Compare the chosen runs", compare)
                button("New run", lambda: ui.navigate.to("/new"))
            _table(found, chosen)


def _table(found: list[Listed], chosen: dict[str, ui.checkbox]) -> None:
    with ui.element("table").classes("plain"):
        with ui.element("thead"), ui.element("tr"):
            for head in ("compare", "run", "state", "game", "algorithm", "depth", "seed", "score", "expert", "when"):
                text(head, "th").props('scope="col"')
        with ui.element("tbody"):
            for one in found:
                with ui.element("tr"):
                    _row(one, chosen)


def _row(one: Listed, chosen: dict[str, ui.checkbox]) -> None:
    with ui.element("td"):
        if one.score is not None:
            chosen[one.name] = ui.checkbox().props(f'dense aria-label="{_attribute(f"compare {one.name}")}"')
    with ui.element("th").props('scope="row"'):
        ui.link(one.name, address(one.name, "trees" if one.state == FINISHED else "follow"))
    score = "" if one.score is None else f"{one.score.name} {one.score.mean:.2f} ± {one.score.ci95:.2f}"
    expert = "" if one.expert is None else f"{one.expert.mean:.2f}"
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.changed))
    depth, seed = ("" if value is None else str(value) for value in (one.depth, one.seed))
    state = one.problem or one.state
    for words in (state, one.game, one.algorithm, depth, seed, score, expert, when):
        text(words, "td")


def _attribute(words: str) -> str:
    """Words inside the quotes of a property."""
    return words.replace("\\", "").replace('"', "'")
