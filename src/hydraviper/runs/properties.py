"""Properties that a user names: those of a file, or those that ship for a game."""

from collections.abc import Callable, Mapping
from pathlib import Path

from hydraviper.data import InputError
from hydraviper.expressions.features import features_of
from hydraviper.protocols import Game
from hydraviper.settings import Settings
from hydraviper.trees.file import TreesFile
from hydraviper.trees.tree import Tree
from hydraviper.verify import properties as book
from hydraviper.verify.constraints import Constraints, guard
from hydraviper.verify.obligations import obligations_for
from hydraviper.verify.properties import Properties


def read_properties(path: Path | str | None) -> Properties | None:
    """The properties of a file; None stands for those that ship."""
    return None if path is None else book.load(Path(path))


def constraints_for(game: Game, path: Path | str, settings: Settings) -> Constraints:
    """The properties of a file, or those that ship, as constraints that trees with these settings can keep."""
    shipped = str(path) == "shipped" and not Path(path).exists()
    properties = None if shipped else book.load(Path(path))
    obligations = obligations_for(game, properties).of_trees()
    if not obligations.names:
        raise InputError(f"{path} has no property to keep to: write a [[property]] of trees (docs/verify.md).")
    constraints = Constraints(obligations, "shipped" if properties is None else properties.source)
    derived = dict(enumerate(features_of(game, settings.features)))
    constraints.check(settings.depth, settings.most_leaves, derived)
    return constraints


def kept_by(trees: TreesFile, game: Game) -> Callable[[Mapping[int, Tree]], bool] | None:
    """A check of what trees were made to keep to; None if nothing was asked of them."""
    source = trees.made.get("constraints")
    if not source:
        return None
    shipped = source == "shipped"
    return guard(
        obligations_for(game, None if shipped else book.read(str(source), "what the trees were made to keep to"))
    )
