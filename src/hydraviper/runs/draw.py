"""Drawings of a run: its report, a tree, the map, the queues through an episode."""

from collections.abc import Callable, Sequence

from hydraviper.data import InputError, Team
from hydraviper.drawing import notebooks
from hydraviper.drawing.icons import Icons, draw_icons
from hydraviper.drawing.maps import draw_map
from hydraviper.drawing.pages.report import render_report, trees_beside
from hydraviper.drawing.pages.scores import verdict
from hydraviper.drawing.pages.style import page
from hydraviper.drawing.panels import TREE_STYLE as TREE_STYLE
from hydraviper.drawing.panels import panel
from hydraviper.drawing.panels import tree_script as tree_script
from hydraviper.drawing.timeline import time_chart
from hydraviper.drawing.trees import to_svg
from hydraviper.export.common import heading
from hydraviper.protocols import Drawing, Expert, Game, offers
from hydraviper.records import Iteration, Summary
from hydraviper.runs.pictured import pictured
from hydraviper.runs.run import Run
from hydraviper.trees import shown
from hydraviper.trees.file import TreesFile
from hydraviper.trees.tree import Tree
from hydraviper.version import __version__


def tree_svg(run: Run, trees: TreesFile, tell: Callable[[str], None]) -> str:
    """One agent's tree as SVG, with pictures of its actions where the game has them."""
    if len(trees.agents) > 1:
        names = ", ".join(agent.name for agent in trees.agents)
        raise InputError(f"an SVG shows one tree: choose an --agent of {names}.")
    agent, tree = next(zip(trees.agents, trees.trees, strict=True))
    return to_svg(agent, tree, _icons(run, trees, tell), "\n".join(heading(trees))) + "\n"


def drawn(run: Run, place: int, tree: Tree, lit: Sequence[int] = ()) -> str:
    """A tree of one of a run's agents as SVG: the run's own, or another version of it."""
    agent, look = run.trees.agents[place], _look(run, run.trees, lambda sentence: None)
    return to_svg(agent, tree, panel(agent, tree, look).icons, lit=lit)


def report(
    game: Game,
    trees: TreesFile,
    summary: Summary,
    expert: Callable[[], Expert] | None = None,
    *,
    ledger: Sequence[Iteration] = (),
    notes: Sequence[str] = (),
) -> str:
    """report.html of a run; with a way to get the expert, it shows an episode."""
    return render_report(
        summary,
        agents=trees.agents,
        trees=trees.trees,
        ledger=ledger,
        notes=notes,
        drawing=offers(game).drawing,
        foremost=offers(game).scoring.foremost,
        teams=teams_of(game, summary),
        episode=None if expert is None else pictured(game, trees, expert),
    )


def copied_page(title: str, above: str, run: Run | None = None) -> str:
    """A page of its own: HTML, and of a run every tree beside an episode that plays."""
    if run is None:
        return page(title, above, __version__)
    look = _look(run, run.trees, lambda sentence: None)
    played = None if look is None else pictured(run.game, run.trees, lambda: run.expert)
    below, style = trees_beside(run.trees.agents, run.trees.trees, look or Drawing(), played)
    return page(title, above + below, __version__, style)


def map_svg(game: Game, teams: Sequence[Team] | None = None) -> str:
    """A road network with its signals numbered, coloured by teams (default: the game's own)."""
    road_map = offers(game).drawing.road_map
    if road_map is None:
        raise InputError(f"{game.name} has no map: only traffic games have one.")
    return draw_map(road_map(), game.teams if teams is None else teams)


def queues_svg(run: Run) -> str:
    """How the score runs through an episode, of a run that knows it."""
    summary = run.summary
    if summary is None or summary.over_time is None or not summary.over_time.policies:
        raise InputError(f"{run.path} holds no queues over time: pass the folder of a traffic run that `distill` made.")
    return time_chart(summary.score.name.capitalize(), summary.over_time)


def teams_of(game: Game, summary: Summary | None) -> Sequence[Team]:
    """The teams that a run was made with, as its summary names them; else the game's own."""
    numbers = {agent.name: i for i, agent in enumerate(game.agents)}
    try:
        teams = () if summary is None else tuple(tuple(numbers[name] for name in team) for team in summary.teams)
    except KeyError:
        return game.teams
    return teams or game.teams


def run_cell(run: Run) -> str:
    """A run as notebooks show it."""
    trees, summary = run.trees, run.summary
    look = _look(run, trees, lambda sentence: None)
    panels = [panel(agent, tree, look) for agent, tree in zip(trees.agents, trees.trees, strict=True)]
    sentence = "" if summary is None else verdict(summary, len(panels))
    return notebooks.cell(panels, f"{trees.game}: {trees.made['algorithm']}", sentence)


def explained_cell(run: Run, place: int, path: Sequence[int], words: str) -> str:
    """One tree of a run with a path lit up and words beneath, as notebooks show it."""
    agent, tree, look = run.trees.agents[place], run.trees.trees[place], _look(run, run.trees, lambda sentence: None)
    return notebooks.cell([panel(agent, tree, look, lit=path, words=words)])


def _icons(run: Run, trees: TreesFile, tell: Callable[[str], None]) -> Icons | None:
    """What the game draws for an agent's actions; nothing if it cannot draw, or cannot be made here."""
    look = _look(run, trees, tell)
    intersection = None if look is None else look.intersections.get(trees.agents[0].name)
    return None if intersection is None else draw_icons(intersection)


def _look(run: Run, trees: TreesFile, tell: Callable[[str], None]) -> Drawing | None:
    """The geometry of the game that the trees play; nothing if it cannot be made here."""
    try:
        game = run.game
        trees.students(game)  # raises if the trees belong to another version of the game
    except InputError as error:
        tell(f"Note: the drawing has no pictures of the actions ({error})")
        return None
    return offers(game).drawing


shown.drawers[Run] = run_cell
