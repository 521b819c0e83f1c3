"""Questions to a tree: what it does with an observation and what flips it, and whether it keeps to a property."""

import json
import tempfile
from pathlib import Path

import numpy as np
from nicegui import ui

from hydraviper import Run, explain
from hydraviper.runs import nodes
from hydraviper.runs.draw import drawn
from hydraviper.runs.verify import verify
from hydraviper.studio.frame import Words, away, button, prepared, run_page, safely, text
from hydraviper.studio.shelf import Shelf
from hydraviper.studio.tree_view import TreeView

SEEN = 10  # episodes that tell how far the sliders go


def add(shelf: Shelf) -> None:
    """Add the page."""

    @ui.page("/run/{name}/questions")
    async def questions(name: str) -> None:
        with run_page(shelf, name, "questions") as run:
            if run is None:
                return
            seen = await prepared("Episodes are being played, to see what agents see ...", nodes.samples, run, SEEN)
            if seen is not None:
                _Observation(run, seen)
            _Property(run)


class _Observation:
    """Sliders for what an agent sees."""

    def __init__(self, run: Run, seen: dict[str, np.ndarray]) -> None:
        self.run, self.seen = run, seen
        agents = [agent.name for agent in run.trees.agents]
        text("What would it do?", "h2")
        self.agent = ui.select(agents, label="Agent", value=agents[0], on_change=lambda e: self.turn())
        with ui.element("div").style(
            "display: grid; gap: 16px; grid-template-columns: minmax(280px, 380px) minmax(0, 1fr)"
        ):
            self.room = ui.element("div")
            with ui.element("div"):
                self.tree = ui.element("div")
                self.words = (
                    Words("pre", "").classes("panel").props('aria-live="polite"').style("white-space: pre-wrap")
                )
        self.turn()

    def turn(self) -> None:
        """Show the sliders and the tree of an agent."""
        name = str(self.agent.value)
        place = self.run.trees.place(name)
        agent, tree, rows = self.run.trees.agents[place], self.run.trees.trees[place], self.seen[name]
        low, high = rows.min(axis=0), rows.max(axis=0)
        asked = {k for k in tree.feature.tolist() if k >= 0}
        derived = {i for k in asked if k >= len(agent.features) for i in tree.derived[k - len(agent.features)].inputs}
        self.values = dict(zip(agent.features, map(float, rows[0]), strict=True))
        self.room.clear()
        with self.room:
            ranked = sorted(range(len(agent.features)), key=lambda k: (k not in asked | derived, k))
            for k in ranked:
                self._slider(agent.features[k], float(low[k]), float(high[k]), k in asked | derived)
        self.tree.clear()
        with self.tree:
            self.view = TreeView(drawn(self.run, place, tree), f"Tree of {name}")
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
            step=0.01,
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


class _Property:
    """A property that somebody writes, and the prover's answer."""

    def __init__(self, run: Run) -> None:
        self.run = run
        agents = [agent.name for agent in run.trees.agents]
        first = run.trees.agents[0]
        text("Does it always hold?", "h2")
        text(
            "Write when, in the names of features, and what must never be done then; or ask for the game's own.",
            "p",
            "soft",
        )
        with ui.row().classes("items-end"):
            self.agent = ui.select(
                {"*": "every agent", **dict(zip(agents, agents, strict=True))}, label="Whose", value=agents[0]
            )
            self.when = ui.input("When", value=f"[{first.features[0]}] > 1").style("min-width: 320px")
            self.never = ui.select(list(first.actions), label="It never does", value=first.actions[0])
            button("Prove it", safely(self.prove))
            button("Prove the game's own properties", safely(lambda: self.ask(None)))
        self.answers = ui.element("div").props('role="status"')

    async def prove(self) -> None:
        """Prove what was written."""
        name = f"never {self.never.value} when {self.when.value}"
        lines = {"name": name, "agent": self.agent.value, "when": self.when.value, "never": self.never.value}
        await self.ask(
            "[[property]]\n" + "\n".join(f"{key} = {json.dumps(str(value))}" for key, value in lines.items())
        )

    async def ask(self, source: str | None) -> None:
        """Prove properties and show each answer."""
        with tempfile.TemporaryDirectory() as folder:
            path = None if source is None else Path(folder, "property.toml")
            if path is not None and source is not None:
                path.write_text(source, encoding="utf-8")
            answer = await away(verify, self.run, path)
        self.answers.clear()
        with self.answers:
            for one in answer.properties:
                word = "proved" if one.holds else "undecided" if one.holds is None else "broken"
                text(f"{word}: {one.property} ({one.cases} cases, {one.seconds:.1f} s)", "h3").style("font-weight: 600")
                for example in one.counterexamples[:1]:
                    text(f"Counterexample: {example.words or example.case}")
                for problem in one.problems[:1]:
                    text(problem)
