"""An episode on the game's own picture, beside the trees whose paths light up."""

from urllib.parse import urlencode

from nicegui import ui
from nicegui.events import ValueChangeEventArguments

from hydraviper import Run, explain
from hydraviper.runs.episodes import Episode, Moment, episode
from hydraviper.studio.frame import Words, address, button, line, prepared, run_page, safely, tell, whole
from hydraviper.studio.shelf import Shelf
from hydraviper.studio.tree_view import TreeView, tree_of
from hydraviper.studio.window import Builder

SHOWN = 4  # trees at once, at most
SPEEDS = {0.5: "half speed", 1: "normal speed", 2: "double speed", 5: "five times"}
STEP = 0.6  # seconds of a step at normal speed
KINDS = {"disagree": "trees and expert disagree", "loss": "the score is lost", "wait": "somebody waits long"}


def pages(shelf: Shelf) -> dict[str, Builder]:
    """The page, by its address."""

    async def replay(name: str, number: str = "", step: str = "") -> None:
        async with run_page(shelf, name, "replay") as run:
            if run is None:
                return
            played = await prepared("The episode is being played ...", episode, run, whole(number))
            if played is not None:
                _Replay(name, run, played).go(whole(step))

    return {"/run/{name}/replay": replay}


class _Replay:
    """The replay of one visitor."""

    def __init__(self, name: str, run: Run, played: Episode) -> None:
        self.name, self.run, self.played, self.step, self.plays = name, run, played, 0, False
        self._controls()
        with ui.element("div").classes("side picture").style("margin-top: 8px"):
            with ui.element("div"):
                with ui.element("div").style("position: relative; max-width: 960px"):
                    if played.ground:  # sent once
                        ui.html(f'<img src="{played.ground}" alt="" style="width: 100%">', sanitize=False)
                    self.picture = ui.html("", sanitize=False)
                    self.picture.style("position: absolute; inset: 0" if played.ground else "")
                self.told = Words("p", "").props('role="status"')
                self.rows = ui.element("ul").style("padding-left: 18px; list-style: disc")
                self.why = Words("pre", "").classes("panel").props('aria-live="polite"').style("white-space: pre-wrap")
            self.trees = ui.element("div").classes("many")
        self.views: dict[str, TreeView] = {}
        self.deeds: dict[str, tuple[Words, ui.link]] = {}
        self._show(list(played.agents[:SHOWN]))
        self.timer = ui.timer(STEP, self._tick, active=False)

    def _controls(self) -> None:
        played = self.played
        with line():
            button("First", lambda: self.go(0))
            button("Back", lambda: self.go(self.step - 1))
            self.pause = button("Play", self._turn)
            button("Step", lambda: self.go(self.step + 1))
            ui.select(SPEEDS, label="Speed", value=1, on_change=lambda e: self._speed(e.value))
            self.slider = ui.slider(min=0, max=len(played), value=0, on_change=lambda e: self._slid(int(e.value or 0)))
            self.slider.props('aria-label="Step"').style("width: 260px")
            ui.number("Episode", value=played.number, min=0, step=1, on_change=safely(self._other)).style(
                "width: 110px"
            )
        with line():
            for kind, words in KINDS.items():
                found = [moment for moment in played.moments if moment.kind == kind]
                if found:
                    button(f"Next where {words} ({len(found)})", lambda kind=kind: self._jump(kind))
            if len(played.agents) > SHOWN:
                ui.select(
                    list(played.agents), label="Trees shown", value=list(played.agents[:SHOWN]), multiple=True,
                    on_change=lambda e: self._show(list(e.value)[:SHOWN]),
                )  # fmt: skip

    def _show(self, agents: list[str]) -> None:
        """Show the trees of some agents, and what they do."""
        self.trees.clear()
        self.views = {}
        self.rows.clear()
        self.deeds = {}
        with self.rows:
            for name in agents:
                with ui.element("li").style("margin: 3px 0"):
                    said = Words("span", "").style("margin-right: 8px")
                    button("Why?", lambda name=name: self._explain(name)).props(f'aria-label="{_why(name)}"')
                    link = ui.link("Correct this leaf", address(self.name, "correct")).style("margin-left: 8px")
                    self.deeds[name] = said, link
        with self.trees:
            for name in agents:
                place = self.run.trees.place(name)
                svg = tree_of(self.run, place)
                self.views[name] = TreeView(svg, f"Tree of {name}", lambda node, name=name: self._visit(name, node))
        self._light()
        self._tell()

    def go(self, step: int) -> None:
        """Show a step."""
        self.step = min(max(step, 0), len(self.played))
        if self.slider.value != self.step:
            self.slider.value = self.step
        self.picture.set_content(self.played.picture(self.step))
        self._light()
        self._tell()

    def _slid(self, step: int) -> None:
        if step != self.step:  # else the page itself has moved the slider
            self.go(step)

    def _light(self) -> None:
        for name, view in self.views.items():
            paths = self.played.paths[name]
            view.show(lit=paths[self.step] if self.step < len(paths) else ())

    def _tell(self) -> None:
        score = sum(self.played.scores[: self.step])
        here = [moment for moment in self.played.moments if moment.step == self.step]
        self.told.say(f"step {self.step} of {len(self.played)}, score so far {score:.2f}{_sentences(here)}")
        self.why.set_visibility(False)
        self.rows.set_visibility(self.step < len(self.played))
        for name, (words, link) in self.deeds.items() if self.step < len(self.played) else ():
            did, leaf = self.played.actions[name][self.step], self.played.paths[name][self.step][-1]
            better = self.played.expert[name][self.step] if name in self.played.expert else None
            same = "; the expert, too" if did == better else f"; the expert would do {better}"
            words.say(f"{name} does {did}{same if better is not None else ''}")
            target = f"{address(self.name, 'correct')}?{urlencode({'agent': name, 'node': leaf})}"
            if link.props["href"] != target:
                link.props["href"] = target
                link.update()

    def _explain(self, name: str) -> None:
        """Say why an agent does what it does at this step, and what would change that."""
        self.why.say(str(explain(self.run, agent=name, observation=self.played.seen[name][self.step].tolist())))
        self.why.set_visibility(True)

    def _visit(self, name: str, node: int) -> None:
        """Go to the next step at which an agent's path passes a node, and from the last one to the first."""
        steps = [step for step, path in enumerate(self.played.paths[name]) if node in path]
        if not steps:
            tell(f"{name} never gets to node {node} in this episode.")
        else:
            self.go(next((step for step in steps if step > self.step), steps[0]))

    def _turn(self) -> None:
        """Play or pause."""
        self.plays = not self.plays and self.step < len(self.played)
        self.timer.active = self.plays
        self.pause.say("Pause" if self.plays else "Play")

    def _speed(self, factor: float) -> None:
        self.timer.interval = STEP / factor

    def _tick(self) -> None:
        self.go(self.step + 1)
        if self.step == len(self.played):
            self._turn()

    def _jump(self, kind: str) -> None:
        """Go to the next moment of a kind, and from the last one to the first."""
        steps = [moment.step for moment in self.played.moments if moment.kind == kind]
        self.go(next((step for step in steps if step > self.step), steps[0]))

    def _other(self, event: ValueChangeEventArguments) -> None:
        if event.value is not None and int(event.value) != self.played.number:
            ui.navigate.to(f"{address(self.name, 'replay')}?number={max(0, int(event.value))}")


def _why(name: str) -> str:
    return f"Why does {name} do this?".replace('"', "'")


def _sentences(moments: list[Moment]) -> str:
    return "".join(f". {moment.words}" for moment in moments if moment.kind != "disagree")
