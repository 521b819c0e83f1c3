"""hydraviper: small decision trees, one per agent, that coordinate, from any trained multi-agent policy.

Three lines from game and expert to trees:

    game = hydraviper.make("cooperative-navigation")
    expert = hydraviper.shipped_expert(game)
    trees = hydraviper.distill(game, expert).profile
"""

from hydraviper.algorithm import Distilled, distill
from hydraviper.data import Agent, Dataset, Estimate, InputError, JobError, Ledger, Recommended, Rollouts, Score, Team
from hydraviper.engines.local import LocalEngine
from hydraviper.evaluation import evaluate
from hydraviper.experts.local_q import LocalQ, LocalQExpert
from hydraviper.experts.networks import CriticExpert, NetworkExpert
from hydraviper.experts.store import load as load_expert
from hydraviper.experts.store import save as save_expert
from hydraviper.experts.store import shipped as shipped_expert
from hydraviper.games.catalogue import make
from hydraviper.profile import Profile
from hydraviper.protocols import Engine, Expert, Game, Policy, Student
from hydraviper.rollout import play
from hydraviper.settings import Settings
from hydraviper.steps.refine import Refined, RefineSettings, refine
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
