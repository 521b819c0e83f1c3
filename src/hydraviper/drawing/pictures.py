"""What a game can draw of itself, for reports and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hydraviper.data import Icons, Team
from hydraviper.protocols import Game, HasPictures


@dataclass(frozen=True)
class Pictures:
    """A map of the agents and drawings of what they can do."""

    map: str  # an SVG document
    icons: Mapping[str, Icons]  # agent's name -> a drawing of each action


def draw(game: Game, teams: Sequence[Team]) -> Pictures | None:
    """Draw a game with its agents in teams; None if it cannot be drawn."""
    if not isinstance(game, HasPictures):
        return None
    icons = {agent.name: game.action_icons(i) for i, agent in enumerate(game.agents)}
    return Pictures(game.map_svg(teams), icons)
