"""hydraviper: small decision trees, one per agent, that coordinate, from any trained multi-agent policy.

Three lines from game and expert to trees:

    game = hydraviper.make("cooperative-navigation")
    expert = hydraviper.shipped_expert(game)
    trees = hydraviper.distill(game, expert).profile
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hydraviper.kernels import cache as kernel_cache

if TYPE_CHECKING:
    from hydraviper.algorithm import Distilled, distill
    from hydraviper.data import (
        Agent,
        Dataset,
        Estimate,
        InputError,
        JobError,
        Ledger,
        Recommended,
        Rollouts,
        Score,
        Team,
    )
    from hydraviper.engines.local import LocalEngine
    from hydraviper.experts.local_q import LocalQ, LocalQExpert
    from hydraviper.experts.networks import CriticExpert, NetworkExpert
    from hydraviper.experts.store import load as load_expert
    from hydraviper.experts.store import save as save_expert
    from hydraviper.experts.store import shipped as shipped_expert
    from hydraviper.games.catalogue import make
    from hydraviper.profile import Profile
    from hydraviper.protocols import Engine, Expert, Game, Policy, Student
    from hydraviper.refine.records import Refined, RefineSettings
    from hydraviper.refine.search import refine
    from hydraviper.rollout import play
    from hydraviper.runs.evaluate import evaluate
    from hydraviper.settings import Settings
    from hydraviper.trees.file import load as load_trees
    from hydraviper.trees.file import save as save_trees
    from hydraviper.trees.tree import Tree
    from hydraviper.variants import VARIANTS, Variant
    from hydraviper.version import __version__

__all__ = [
    "VARIANTS",
    "Agent",
    "CriticExpert",
    "Dataset",
    "Distilled",
    "Engine",
    "Estimate",
    "Expert",
    "Game",
    "InputError",
    "JobError",
    "Ledger",
    "LocalEngine",
    "LocalQ",
    "LocalQExpert",
    "NetworkExpert",
    "Policy",
    "Profile",
    "Recommended",
    "RefineSettings",
    "Refined",
    "Rollouts",
    "Score",
    "Settings",
    "Student",
    "Team",
    "Tree",
    "Variant",
    "__version__",
    "distill",
    "evaluate",
    "load_expert",
    "load_trees",
    "make",
    "play",
    "refine",
    "save_expert",
    "save_trees",
    "shipped_expert",
]

# Where the names live. They are looked up when first used: the command line must answer Ctrl-C and --version at once.
_HOMES = {
    "algorithm": ("Distilled", "distill"),
    "data": (
        *("Agent", "Dataset", "Estimate", "InputError", "JobError"),
        *("Ledger", "Recommended", "Rollouts", "Score", "Team"),
    ),
    "engines.local": ("LocalEngine",),
    "runs.evaluate": ("evaluate",),
    "experts.local_q": ("LocalQ", "LocalQExpert"),
    "experts.networks": ("CriticExpert", "NetworkExpert"),
    "experts.store": ("load_expert", "save_expert", "shipped_expert"),
    "games.catalogue": ("make",),
    "profile": ("Profile",),
    "protocols": ("Engine", "Expert", "Game", "Policy", "Student"),
    "refine.records": ("RefineSettings", "Refined"),
    "refine.search": ("refine",),
    "rollout": ("play",),
    "settings": ("Settings",),
    "trees.file": ("load_trees", "save_trees"),
    "trees.tree": ("Tree",),
    "variants": ("VARIANTS", "Variant"),
    "version": ("__version__",),
}
_SHORTER = {  # their names at home
    "load_expert": "load",
    "save_expert": "save",
    "shipped_expert": "shipped",
    "load_trees": "load",
    "save_trees": "save",
}

kernel_cache.ensure()  # before the first kernel is made
for room in ("refine",):  # loaded once, so that no later import puts the room in the place of the function of its name
    import_module(f"hydraviper.{room}")
    del globals()[room]


def __getattr__(name: str) -> Any:
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'hydraviper' has no attribute {name!r}")
    value = getattr(import_module(f"hydraviper.{home}"), _SHORTER.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
