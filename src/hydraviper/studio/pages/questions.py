"""Questions to a tree: what it does with an observation and what flips it, and whether it keeps to a property."""

import asyncio
from collections.abc import Mapping

import numpy as np
from nicegui import ui

from hydraviper import Run, explain
from hydraviper.runs import nodes
from hydraviper.studio.frame import SOON, Words, prepared, run_page, text
from hydraviper.studio.pages.properties import PropertyForm
from hydraviper.studio.shelf import Shelf
from hydraviper.studio.tree_view import TreeView, tree_of
from hydraviper.studio.window import Builder

STEP = 0.01  # of a slider
SEEN = 10  # episodes that tell how far the sliders go


def pages(shelf: Shelf) -> dict[str, Builder]:
    """The page, by its address."""

    async def questions(name: str) -> None:
        async with run_page(shelf, name, "questions") as run:
            if run is None:
                return
            seen = await prepared("Episodes are being played, to see what agents see ...", nodes.samples, run, SEEN)
            if seen is not None:
                observation = _Observation(run, seen)
                await asyncio.sleep(SOON)
                PropertyForm(run, observation.put)

    return {"/run/{name}/questions": questions}


class _Observation:
    """Sliders for what an agent sees."""

    def __init__(self, run: Run, seen: dict[str, np.ndarray]) -> None:
        self.run, self.seen = run, seen
        agents = [agent.name for agent in run.trees.agents]
        text("What would it do?", "h2")
        self.agent = ui.select(agents, label="Agent", value=agents[0], on_change=lambda e: self.turn(str(e.value)))
        with ui.element("div").classes("side sliders"):
            self.room = ui.element("div")
            with ui.element("div"):
                self.tree = ui.element("div")
                self.words = (
                    Words("pre", "").classes("panel").props('aria-live="polite"').style("white-space: pre-wrap")
                )
        self.turn(agents[0])

    def put(self, name: str, values: Mapping[str, float]) -> None:
        """Set the sliders to what an agent sees."""
        self.agent.value = name
        self.turn(name, values)
        ui.run_javascript("scrollTo(0, 0)")

    def turn(self, name: str, values: Mapping[str, float] | None = None) -> None:
        """Show the sliders and the tree of an agent, at some values or at what it saw first."""
        place = self.run.trees.place(name)
        agent, tree, rows = self.run.trees.agents[place], self.run.trees.trees[place], self.seen[name]
        first = rows[0] if values is None else np.array([values[feature] for feature in agent.features])
        low, high = np.minimum(rows.min(axis=0), first), np.maximum(rows.max(axis=0), first)
        asked = {k for k in tree.feature.tolist() if k >= 0}
        derived = {i for k in asked if k >= len(agent.features) for i in tree.derived[k - len(agent.features)].inputs}
        self.values = dict(zip(agent.features, map(float, first), strict=True))
        self.room.clear()
        with self.room:
            ranked = sorted(range(len(agent.features)), key=lambda k: (k not in asked | derived, k))
            for k in ranked:
                self._slider(agent.features[k], float(low[k]), float(high[k]), k in asked | derived)
        self.tree.clear()
        with self.tree:
            self.view = TreeView(tree_of(self.run, place), f"Tree of {name}")
        self.answer()

    def _slider(self, feature: str, low: float, high: float, asked: bool) -> None:
        """A feature's slider; those that the tree does not look at are paler, and come last."""
        whole = float(np.ceil(high)) if high > low else low + 1.0
        label = Words("div", "").classes("" if asked else "soft")

        def moved(value: float) -> None:
            self.values[feature] = value
            label.say(f"{feature}: {value:.3g}{'' if asked else ' (not asked)'}")

        def slid(value: float) -> None:
            moved(value)
            self.answer()

        slider = ui.slider(
            min=float(np.floor(low)),
            max=whole,
            step=STEP,
            value=self.values[feature],
            on_change=lambda e: slid(float(e.value or 0)),
        )
        slider.props(f'aria-label="{feature.replace(chr(34), chr(39))}"')
        moved(self.values[feature])

    def answer(self) -> None:
        """Light the path up, and say what would flip the answer."""
        told = explain(self.run, agent=str(self.agent.value), observation=self.values)
        path = [*(step.node for step in told.explanation.path), told.explanation.leaf]
        self.view.show(lit=path)
        self.words.say(str(told))
