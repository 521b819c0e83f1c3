"""hydraviper: small decision trees, one per agent, that coordinate, from any trained multi-agent policy.

Three lines from game and expert to trees:

    game = hydraviper.make("cooperative-navigation")
    expert = hydraviper.shipped_expert(game)
    result = hydraviper.distill(game, expert)  # result.profile is a policy: act(observations)

What `distill` returns, a run's folder or a trees.json can then be scored, saved, explained, proved, repaired, refined
and exported: `evaluate`, `save_run`, `explain`, `verify`, `repair`, `refine`, `export`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hydraviper.kernels import cache as kernel_cache

if TYPE_CHECKING:
    from hydraviper.algorithm import Distilled, distill
    from hydraviper.data import Agent, Estimate, InputError, JobError, Recommended, Rollouts, Score, Team, Values
    from hydraviper.dataset import Dataset
    from hydraviper.engines.cluster import RayEngine
    from hydraviper.engines.local import LocalEngine
    from hydraviper.experts.local_q import LocalQ, LocalQExpert
    from hydraviper.experts.networks import CriticExpert, NetworkExpert
    from hydraviper.experts.store import save as save_expert
    from hydraviper.experts.store import shipped as shipped_expert
    from hydraviper.experts.worth import expert_from, load_expert
    from hydraviper.games.catalogue import make
    from hydraviper.games.environments.by_object import from_gymnasium, from_pettingzoo
    from hydraviper.ledger import Ledger
    from hydraviper.logs import Log, open_log
    from hydraviper.profile import Profile
    from hydraviper.protocols import Engine, Expert, Game, Policy, Student
    from hydraviper.records import Evaluation, Summary, Verification
    from hydraviper.refine.records import Refined, RefineSettings
    from hydraviper.rollout import play
    from hydraviper.runs.distil import save_run
    from hydraviper.runs.edit import edit
    from hydraviper.runs.evaluate import evaluate
    from hydraviper.runs.explain import explain
    from hydraviper.runs.export import export
    from hydraviper.runs.opening import play_on
    from hydraviper.runs.own_expert import make_expert
    from hydraviper.runs.refine import refine
    from hydraviper.runs.repair import repair
    from hydraviper.runs.replay import replay
    from hydraviper.runs.run import Run, load_run
    from hydraviper.runs.train import Trained, train
    from hydraviper.runs.verify import verify
    from hydraviper.settings import Settings, settings_for
    from hydraviper.trees.edit import Wish
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
    "Evaluation",
    "Expert",
    "Game",
    "InputError",
    "JobError",
    "Ledger",
    "LocalEngine",
    "LocalQ",
    "LocalQExpert",
    "Log",
    "NetworkExpert",
    "Policy",
    "Profile",
    "RayEngine",
    "Recommended",
    "RefineSettings",
    "Refined",
    "Rollouts",
    "Run",
    "Score",
    "Settings",
    "Student",
    "Summary",
    "Team",
    "Trained",
    "Tree",
    "Values",
    "Variant",
    "Verification",
    "Wish",
    "__version__",
    "distill",
    "edit",
    "evaluate",
    "expert_from",
    "explain",
    "export",
    "from_gymnasium",
    "from_pettingzoo",
    "load_expert",
    "load_run",
    "load_trees",
    "make",
    "make_expert",
    "open_log",
    "play",
    "play_on",
    "refine",
    "repair",
    "replay",
    "save_expert",
    "save_run",
    "save_trees",
    "settings_for",
    "shipped_expert",
    "train",
    "verify",
]

# Where the names live. They are looked up when first used: the command line must answer Ctrl-C and --version at once.
_HOMES = {
    "algorithm": ("Distilled", "distill"),
    "data": ("Agent", "Estimate", "InputError", "JobError", "Recommended", "Rollouts", "Score", "Team", "Values"),
    "dataset": ("Dataset",),
    "engines.cluster": ("RayEngine",),
    "engines.local": ("LocalEngine",),
    "experts.local_q": ("LocalQ", "LocalQExpert"),
    "experts.networks": ("CriticExpert", "NetworkExpert"),
    "experts.store": ("save_expert", "shipped_expert"),
    "experts.worth": ("expert_from", "load_expert"),
    "games.catalogue": ("make",),
    "games.environments.by_object": ("from_gymnasium", "from_pettingzoo"),
    "ledger": ("Ledger",),
    "logs": ("Log", "open_log"),
    "profile": ("Profile",),
    "protocols": ("Engine", "Expert", "Game", "Policy", "Student"),
    "refine.records": ("RefineSettings", "Refined"),
    "records": ("Evaluation", "Summary", "Verification"),
    "rollout": ("play",),
    "runs.distil": ("save_run",),
    "runs.edit": ("edit",),
    "runs.evaluate": ("evaluate",),
    "runs.explain": ("explain",),
    "runs.export": ("export",),
    "runs.opening": ("play_on",),
    "runs.own_expert": ("make_expert",),
    "runs.refine": ("refine",),
    "runs.repair": ("repair",),
    "runs.replay": ("replay",),
    "runs.run": ("Run", "load_run"),
    "runs.train": ("Trained", "train"),
    "runs.verify": ("verify",),
    "settings": ("Settings", "settings_for"),
    "trees.edit": ("Wish",),
    "trees.file": ("load_trees", "save_trees"),
    "trees.tree": ("Tree",),
    "variants": ("VARIANTS", "Variant"),
    "version": ("__version__",),
}
_SHORTER = {name: name.partition("_")[0] for home in ("experts.store", "trees.file") for name in _HOMES[home]}

kernel_cache.ensure()  # before the first kernel is made


class _Face(ModuleType):
    """The package as users see it: importing a room does not put it in the place of the function of its name."""

    def __setattr__(self, name: str, value: object) -> None:
        if name not in __all__ or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face


def __getattr__(name: str) -> Any:
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'hydraviper' has no attribute {name!r}")
    value = getattr(import_module(f"hydraviper.{home}"), _SHORTER.get(name, name))
    for room, artist in (("trees.", "drawing.notebooks"), ("runs.", "runs.draw")):
        if home.startswith(room):
            import_module(f"hydraviper.{artist}")  # which lends them the drawings that notebooks show
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
