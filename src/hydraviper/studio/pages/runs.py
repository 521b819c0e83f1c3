"""The first page: the runs of the folder, and which of them to compare."""

from urllib.parse import quote

from nicegui import ui

from hydraviper.studio.frame import button, line, page, tell, text
from hydraviper.studio.run_table import RunTable
from hydraviper.studio.shelf import Shelf
from hydraviper.studio.window import Builder


def pages(shelf: Shelf) -> dict[str, Builder]:
    """The page, by its address."""

    def runs() -> None:
        with page("Runs"):
            found = shelf.runs()
            text(
                f"{len(found)} in {shelf.folder}. Choose some to compare them, or open one to see its trees.",
                "p",
                "soft",
            )
            chosen: list[str] = []

            def compare() -> None:
                if len(chosen) < 2:
                    tell("Choose two runs or more to compare them.")
                else:
                    ui.navigate.to(f"/compare?runs={quote(','.join(chosen), safe=',')}")

            def choose(names: list[str]) -> None:
                chosen[:] = names

            with line():
                button("Compare the chosen runs", compare)
                button("New run", lambda: ui.navigate.to("/new"))
            with ui.element("div").classes("scroll"):
                RunTable(found, choose)

    return {"/": runs}
