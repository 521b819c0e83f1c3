"""The trees of a run, one per agent: what their nodes know, a search, and two versions side by side."""

from collections.abc import Sequence

from nicegui import ui

from hydraviper import Run, Tree
from hydraviper.runs import nodes
from hydraviper.runs.draw import drawn
from hydraviper.runs.nodes import NodeFacts
from hydraviper.studio.frame import Words, away, button, line, paper, run_page, safely, text
from hydraviper.studio.shelf import Shelf
from hydraviper.studio.tree_view import TreeView, tree_of
from hydraviper.studio.window import Builder


def pages(shelf: Shelf) -> dict[str, Builder]:
    """The page, by its address."""

    async def trees(name: str) -> None:
        async with run_page(shelf, name, "trees") as run:
            if run is not None:
                _Trees(shelf, name, run)

    return {"/run/{name}/trees": trees}


class _Trees:
    """The page of one visitor."""

    def __init__(self, shelf: Shelf, name: str, run: Run) -> None:
        self.shelf, self.name, self.run = shelf, name, run
        self.place, self.samples = 0, {}
        self.versions = nodes.versions(run)
        agents = [agent.name for agent in run.trees.agents]
        with line():
            ui.select(agents, label="Agent", value=agents[0], on_change=lambda e: self.turn(agents.index(e.value)))
            self.search = ui.input("Search a feature or an action", on_change=lambda e: self.find(e.value or ""))
            self.other = ui.select(
                self._others(), label="Side by side with", value="", on_change=safely(lambda e: self.draw())
            )
        self.hits = Words("p", "").classes("soft").props('role="status"')
        self.room = ui.element("div").classes("side")
        self.details = ui.element("section").classes("panel").props('aria-label="The chosen node" aria-live="polite"')
        self.turn(0)

    def _others(self) -> dict[str, str]:
        """What a tree can be compared with: earlier versions of it, and other runs of the game."""
        own = {f"version:{k}": f"this run {words}" for k, (words, _) in enumerate(self.versions[:-1])}
        game = self.run.trees.game
        runs = {
            f"run:{one.name}": one.name
            for one in self.shelf.runs()
            if one.game == game and one.name != self.name and one.state == "finished"
        }
        return {"": "nothing", **own, **runs}

    def turn(self, place: int) -> None:
        """Show another agent's tree."""
        self.place = place
        self.draw()

    def draw(self) -> None:
        """Draw the tree, and the other version beside it."""
        agent, tree = self.run.trees.agents[self.place], self.run.trees.trees[self.place]
        against = self._against(agent.name)
        self.room.clear()
        self.room.classes(**({"remove": "twins"} if against is None else {"add": "twins"}))
        with self.room:
            self.view = TreeView(tree_of(self.run, self.place), f"Tree of {agent.name}", self.choose)
            if against is not None:
                words, other = against
                beside = TreeView(drawn(self.run, self.place, other), f"Tree of {agent.name}, {words}")
                here, there = nodes.differing(agent, tree, other)
                self.view.show(marked=here)
                beside.show(marked=there)
                self.hits.say(f"{len(here)} nodes differ here, {len(there)} there: they have a broken violet edge.")
        self.details.clear()
        with self.details:
            text("Choose a node of the tree to see who gets there and what the expert does there.", "p", "soft")

    def _against(self, agent: str) -> tuple[str, Tree] | None:
        kind, _, which = str(self.other.value or "").partition(":")
        if kind == "version":
            words, trees = self.versions[int(which)]
            return words, trees[self.place]
        if kind == "run":
            other = self.shelf.open(which).trees
            return which, other.trees[other.place(agent)]
        return None

    def find(self, words: str) -> None:
        """Mark the nodes that ask for a feature or answer with an action."""
        agent, tree = self.run.trees.agents[self.place], self.run.trees.trees[self.place]
        found = nodes.searched(agent, tree, words)
        self.view.show(found=found)
        self.hits.say(f"{len(found)} of {len(tree)} nodes: they have a thick green edge." if words.strip() else "")

    def choose(self, node: int) -> None:
        """Show what is known of a node."""
        agent, tree = self.run.trees.agents[self.place], self.run.trees.trees[self.place]
        if not 0 <= node < len(tree):
            return
        self.view.show(selected=node)
        facts = nodes.node_facts(agent, tree, node, self.samples.get(agent.name))
        self.details.clear()
        with self.details:
            describe(facts)
            if not self.samples:
                button("Play episodes to see how its samples spread", safely(lambda: self.play(node)))

    async def play(self, node: int) -> None:
        """Play episodes, and show the node with them."""
        self.samples = await away(nodes.samples, self.run)
        self.choose(node)


def describe(facts: NodeFacts) -> None:
    """A node in words, as a table, and how its samples spread as a chart."""
    text(f"Node {facts.node}: {facts.words}", "h2")
    text("always" if not facts.way else "Reached when " + " and ".join(facts.way) + ".")
    text(
        f"{100 * facts.share:.1f} % of the data gets here; the expert answers as the tree does on "
        f"{100 * facts.agreement:.1f} % of it."
    )
    rows = sorted(facts.expert.items(), key=lambda pair: -pair[1])
    table("What the expert does here", ("action", "share"), [(name, f"{100 * share:.1f} %") for name, share in rows])
    if facts.of:
        text(f"{facts.reached:,} of {facts.of:,} observations of the episodes played now get here.")
    if facts.spread is not None:
        spread = facts.spread
        text(
            f"{spread.feature}: from {spread.edges[0]:.3g} to {spread.edges[-1]:.3g}, asked at {spread.threshold:.3g}."
        )
        with paper("How the values of the feature spread at this node"):
            ui.echart(
                {
                    "animation": False,
                    "tooltip": {},
                    "xAxis": {"type": "category", "data": [f"{edge:.3g}" for edge in spread.edges[:-1]]},
                    "yAxis": {"type": "value"},
                    "series": [{"type": "bar", "data": list(spread.counts)}],
                }
            ).style("height: 220px")


def table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table with a caption."""
    with ui.element("table").classes("plain"):
        text(caption, "caption").style("text-align: left; font-weight: 600")
        with ui.element("thead"), ui.element("tr"):
            for head in heads:
                text(head, "th").props('scope="col"')
        with ui.element("tbody"):
            for row in rows:
                with ui.element("tr"):
                    for cell in row:
                        text(cell, "td")
