"""A tree on a page: the report's drawing, whose nodes can be chosen, lit up and marked."""

from collections.abc import Callable, Collection
from weakref import WeakKeyDictionary

from nicegui.element import Element

from hydraviper import Run
from hydraviper.runs.draw import drawn

_DRAWN: WeakKeyDictionary[Run, dict[int, str]] = WeakKeyDictionary()


def tree_of(run: Run, place: int) -> str:
    """The drawing of a tree of a run, which is made once."""
    known = _DRAWN.setdefault(run, {})
    if place not in known:
        known[place] = drawn(run, place, run.trees.trees[place])
    return known[place]


class TreeView(Element, component="tree_view.js"):
    """A tree's drawing; `chosen` is told the number of a node that somebody chooses."""

    def __init__(self, svg: str, label: str, chosen: Callable[[int], object] | None = None) -> None:
        super().__init__()
        self._props |= {"svg": svg, "label": label, "lit": [], "marked": [], "found": [], "selected": -1}
        if chosen is not None:
            self.on("node", lambda event: chosen(int(event.args)))

    def show(self, **parts: Collection[int] | int) -> None:
        """Change which nodes are `lit`, `marked`, `found` or `selected`; the drawing is not sent again."""
        told = {name: value if isinstance(value, int) else sorted(value) for name, value in parts.items()}
        self._props |= told
        if self.client.has_socket_connection:
            self.run_method("change", told)

    def draw(self, svg: str, **parts: Collection[int] | int) -> None:
        """Show another drawing."""
        self._props |= {"svg": svg, "lit": [], "marked": [], "found": [], "selected": -1}
        self.show(**parts)
        self.update()
