"""Correct a tree: change a node and see what that costs on common seeds; undo, save, repair, refine, export."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from nicegui import ui

from hydraviper import InputError, RefineSettings, Run, Wish, edit, repair
from hydraviper.runs import edit as edits
from hydraviper.runs import nodes
from hydraviper.runs.edit import Edited
from hydraviper.runs.export import FORMATS, export
from hydraviper.runs.folder import numbered
from hydraviper.runs.opening import playing
from hydraviper.runs.refine import refine
from hydraviper.studio.frame import (
    SOON,
    GoneError,
    Words,
    address,
    away,
    button,
    line,
    run_page,
    safely,
    tell,
    text,
    whole,
)
from hydraviper.studio.jobs import Job
from hydraviper.studio.shelf import Shelf
from hydraviper.studio.tree_view import TreeView, tree_of
from hydraviper.studio.window import Builder

EVERY = 0.5  # seconds between two looks at work that goes on
LAST = 50  # edits that are listed
QUICK = 200  # episodes on which a change is tried; it is judged by as many as the run was scored on


def pages(shelf: Shelf) -> dict[str, Builder]:
    """The page, by its address."""

    async def correct(name: str, agent: str = "", node: str = "") -> None:
        async with run_page(shelf, name, "correct") as run:
            if run is not None:
                correction = _Correction(shelf, name, run, agent, whole(node))
                await asyncio.sleep(SOON)
                correction.beyond()

    return {"/run/{name}/correct": correct}


class _Correction:
    """The page of one visitor; `run` is the version that is shown, and edits of another one are refused."""

    def __init__(self, shelf: Shelf, name: str, run: Run, agent: str, node: int) -> None:
        self.shelf, self.name, self.run, self.node = shelf, name, run, node
        agents = [one.name for one in run.trees.agents]
        first = agent if agent in agents else agents[0]
        with line():
            self.agent = ui.select(agents, label="Agent", value=first, on_change=lambda e: self.draw())
            button("Undo the last edit", safely(self.undo))
            self.into = ui.select({"here": "this run", "new": "a new run"}, label="Apply edits to", value="here")
        self.outcome = (
            Words("p", "Choose a node, change it, and see what that costs.")
            .classes("panel")
            .props('role="status" tabindex="-1"')
        )
        with ui.element("div").classes("side form"):
            self.tree, side = ui.element("div"), ui.element("div")
            with side:
                self.form = ui.element("section").classes("panel").props('aria-label="Change the chosen node"')
                text("History", "h2")
                self.history = ui.element("ol").style("padding-left: 20px; list-style: decimal")
        self.watch = ui.timer(EVERY, self._follow, active=False)
        self.draw()
        self.job = shelf.jobs.get(name)
        self._follow()

    # ------------------------------------------------------------------- what is shown

    @property
    def place(self) -> int:
        """Of the agent that is shown."""
        return self.run.trees.place(str(self.agent.value))

    def draw(self) -> None:
        """Show the tree of the chosen agent, and what was done to the run."""
        tree = self.run.trees.trees[self.place]
        self.tree.clear()
        with self.tree:
            self.view = TreeView(tree_of(self.run, self.place), f"Tree of {self.agent.value}", self.choose)
        self.history.clear()
        with self.history:
            for number, record in list(enumerate(self.run.trees.edits, 1))[-LAST:]:
                Words("li", edits.in_words(record)).props(f"value={number}")
        self.choose(min(self.node, len(tree) - 1))

    def choose(self, node: int) -> None:
        """Show what can be changed at a node."""
        agent, tree = self.run.trees.agents[self.place], self.run.trees.trees[self.place]
        if not 0 <= node < len(tree):
            return
        self.node = node
        self.view.show(selected=node)
        self.form.clear()
        with self.form:
            text(f"Node {node}: {nodes.in_words(agent, tree, node)}", "h2")
            if tree.feature[node] < 0:
                self._leaf(agent.actions, int(tree.action[node]))
            else:
                self._question(tree.names(agent), int(tree.feature[node]), float(tree.threshold[node]), agent.actions)
            self._split(tree.names(agent), agent.actions)

    def _leaf(self, actions: tuple[str, ...], action: int) -> None:
        chosen = ui.select(list(actions), label="Action", value=actions[action])
        self._buttons(lambda: Wish(self.node, action=str(chosen.value)), "action")

    def _question(self, names: tuple[str, ...], feature: int, threshold: float, actions: tuple[str, ...]) -> None:
        reach = max(1.0, abs(threshold))
        text("Threshold: drag it, or write it", "p", "soft")
        value = ui.number("Threshold", value=float(f"{threshold:.6g}"), format="%.6g")
        slider = ui.slider(min=threshold - reach, max=threshold + reach, step=reach / 100, value=threshold)
        slider.props('aria-label="Threshold"')
        slider.on_value_change(lambda e: value.set_value(float(f"{e.value:.6g}")))
        slider.on("change", safely(lambda: self.attempt(Wish(self.node, threshold=float(value.value or 0)))))
        asked = ui.select(list(names), label="Feature", value=names[feature], with_input=True)

        def wish() -> Wish:
            other = str(asked.value) if asked.value != names[feature] else None
            now = threshold if value.value is None else float(value.value)
            moved = now if abs(now - threshold) > 1e-6 * reach else None
            return Wish(self.node, threshold=moved, feature=other)

        self._buttons(wish, "question")
        leaf = ui.select(
            {"": "what most of its data gets", **{one: one for one in actions}}, label="Cut to the action", value=""
        )
        self._buttons(lambda: Wish(self.node, cut=True, action=str(leaf.value) or None), "cut")

    def _split(self, names: tuple[str, ...], actions: tuple[str, ...]) -> None:
        """A form for a new question; it is made when somebody opens it."""

        def fill() -> None:
            if not len(room.default_slot.children):
                with room:
                    self._split_form(names, actions)

        with ui.expansion("Ask a new question here", on_value_change=fill).style("width: 100%"):
            room = ui.element("div")

    def _split_form(self, names: tuple[str, ...], actions: tuple[str, ...]) -> None:
        feature = ui.select(list(names), label="Feature", value=names[0], with_input=True)
        limit = ui.number("at most", value=0.0)
        sides = {"": "as before", **{one: one for one in actions}}
        yes, no = (ui.select(sides, label=label, value="") for label in ("If yes", "If no"))

        def wish() -> Wish:
            question = f"{feature.value} <= {float(limit.value or 0)}"
            return Wish(self.node, split=question, left=str(yes.value) or None, right=str(no.value) or None)

        self._buttons(wish, "split")

    def _buttons(self, wish: Callable[[], Wish], what: str) -> None:
        with line():
            button(f"Try the {what}", safely(lambda: self.attempt(wish())))
            button(f"Apply the {what}", safely(lambda: self.apply(wish())))

    # ------------------------------------------------------------------- what is done

    async def attempt(self, wish: Wish) -> None:
        """Play both versions on the same episodes; nothing is written."""
        episodes = min(QUICK, edits.usual_episodes(self.run.trees, self.run.game))
        await self._measured(wish, f"Tried, not written, on {episodes} episodes", episodes=episodes, dry_run=True)

    async def apply(self, wish: Wish) -> None:
        """Change the run, or make a new one with the change."""
        self._check_idle()
        out = None if self.into.value == "here" else self._new("edited")
        done = await self._measured(wish, f"Written to {self.name if out is None else out.name}", out=out)
        if out is not None:
            ui.navigate.to(address(done.path.name, "correct"))

    async def _measured(
        self, wish: Wish, told: str, *, episodes: int | None = None, out: Path | None = None, dry_run: bool = False
    ) -> Edited:
        """Play both versions; the page tells how far that is, also one that is opened meanwhile."""
        self._check_idle()
        episodes = edits.usual_episodes(self.run.trees, self.run.game) if episodes is None else episodes
        job, agent = Job("Both versions play the same episodes", 2 * episodes), str(self.agent.value)

        def act(run: Run) -> Edited:
            try:
                with playing(run.game, None, run.workers, job.reach) as engine:
                    done = edit(run, agent, wish, episodes=episodes, out=out, dry_run=dry_run, engine=engine)
            except BaseException:
                job.outcome = "Nothing was changed."
                if out is not None:
                    with suppress(OSError):
                        out.rmdir()  # only if nothing is in it
                raise
            job.outcome = f"{told}: {done}"
            return done

        self.job = self.shelf.jobs[self.name] = job
        self._follow()
        try:
            return await away(act, self.run)
        finally:
            self._follow()

    def _follow(self) -> None:
        """Say how far the work on this run is, now and as long as it goes on; then show what came of it, once."""
        if self.job is None or self.outcome.is_deleted:
            return
        self.outcome.say(str(self.job))
        self.watch.active = not self.job.outcome
        if not self.job.outcome:
            return
        if self.shelf.jobs.get(self.name) is self.job:
            del self.shelf.jobs[self.name]
        if self.shelf.known(self.name) is not self.run:
            self._again()

    def _check_idle(self) -> None:
        under_way = self.shelf.jobs.get(self.name)
        if under_way is not None and not under_way.outcome:
            raise InputError(f"{self.name} is busy: wait until its episodes are played.")

    async def undo(self) -> None:
        """Take back the last edit."""
        done = await away(edits.undo, self.run)
        self.outcome.say(f"Taken back: {done.record.agent}, node {done.record.node} is {done.record.before!r} again.")
        self._again()

    def _again(self) -> None:
        self.run = self.shelf.open(self.name)
        self.draw()
        self.outcome.focus()  # the button that was pressed is gone

    def _new(self, what: str) -> Path:
        return numbered(self.shelf.folder, f"{self.name}-{what}")

    # ------------------------------------------------------------------- beyond single nodes

    def beyond(self) -> None:
        """What is done to all trees, or with them."""
        text("More", "h2")
        with line():
            button("Repair: keep to the game's properties", safely(self.repair))
            seconds = ui.number("Seconds", value=10, min=1)
            button("Refine: search for better trees", safely(lambda: self.refine(float(seconds.value or 10))))
            form = ui.select(list(FORMATS), label="Format", value="python")
            button("Export", safely(lambda: self.export(str(form.value))))

    async def repair(self) -> None:
        """Repair into a new run."""
        self.outcome.say("The trees are being repaired ...")
        await self._made(repair, self.run, None, out=self._new("repaired"))

    async def refine(self, seconds: float) -> None:
        """Refine into a new run."""
        self.outcome.say(f"The search takes {seconds:.0f} s, and the scores some more ...")
        await self._made(refine, self.run, RefineSettings(seconds=seconds), out=self._new("refined"))

    async def _made(self, function: Callable[..., Run], *arguments: object, out: Path) -> None:
        try:
            made = await away(function, *arguments, out=out)
        except GoneError:
            raise
        except Exception:
            self.outcome.say("Nothing was made.")
            with suppress(OSError):
                out.rmdir()  # only if nothing is in it
            raise
        assert made.folder is not None
        tell(f"Made {made.folder.name}.", "positive")
        ui.navigate.to(address(made.folder.name))

    async def export(self, to: str) -> None:
        """Turn the trees into code or a model, and hand it to the browser."""
        files = await away(export, self.run, to)
        for path, content in files.items():
            ui.download.content(content, path.name)
        self.outcome.say(f"Exported: {', '.join(path.name for path in files)}.")
