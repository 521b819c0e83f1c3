"""The paper's numbers, read off twice: ours against a second reader's copy, and against what the text says of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hydraviper.data import Estimate
from hydraviper.studies import paper as published
from hydraviper.studies.clustering import published as clustering
from hydraviper.studies.resco import published as resco
from hydraviper.studies.sensitivity import BEST_DEPTH

SECOND = json.loads((Path(__file__).parents[1] / "data" / "published_second.json").read_text())


def pair(values):
    return None if values is None else Estimate(*values, published.SEEDS)


@pytest.mark.parametrize("game", published.GAMES)
def test_table_1(game):
    second = SECOND["table1"][game]
    for ours, theirs in ((published.TABLE1_SCORE, second["score"]), (published.TABLE1_SECONDS, second["runtime"])):
        assert ours[game] == {name.replace("-low", " low"): pair(v) for name, v in theirs.items() if v is not None}
    assert published.EXPERT[game] == pair(second["score"]["expert"])


@pytest.mark.parametrize("game", published.GAMES)
def test_full_table(game):
    budgets = published.CORRIDOR_BUDGETS if "corridor" in game else published.PARTICLE_BUDGETS
    assert [(row["train"], row["valid"]) for row in SECOND["budgets"][game]] == list(budgets.values())
    for algorithm, tables in published.FULL.items():
        second = dict(zip(budgets, (pair(row[algorithm]) for row in SECOND["budgets"][game]), strict=True))
        assert tables[game] == {level: value for level, value in second.items() if value is not None}
    assert pair(SECOND["budgets"][game][0]["expert"]) == published.EXPERT[game]


def test_clustering_and_hyperparameters():
    second = SECOND["clustering"]
    methods = {name.replace("hydraviper", "none"): method for name, method in second["methods"].items()}
    assert {name: pair(method["runtime"]) for name, method in methods.items()} == clustering.SECONDS
    worst = {name: tuple(map(tuple, method["worst_clustering"])) for name, method in methods.items()}
    assert worst == clustering.WORST
    sizes = second["largest_joint_action_set_unclustered"], second["largest_joint_action_set_clustered"]
    assert sizes == tuple(clustering.JOINT_ACTIONS.values())
    assert second["runtime_reduction_up_to_percent"] / 100 == clustering.SAVES
    other = SECOND["other"]
    assert other["ucb"]["best_c"] == published.BEST_UCB_SCALE
    assert other["max_tree_depth"] == BEST_DEPTH
    assert (other["seeds"], other["evaluation_rollouts_per_run"]) == (published.SEEDS, published.EPISODES)


def test_the_copies_hold_the_same_count_of_numbers():
    """Nothing is left out: the paper's two tables and its table on clustering have so many pairs."""
    ours = [
        value for table in (published.TABLE1_SCORE, published.TABLE1_SECONDS) for v in table.values() for value in v
    ]
    full = [value for tables in published.FULL.values() for table in tables.values() for value in table]
    assert len(ours) == 4 * 5 + 4 * 4
    assert len(full) == 4 * (3 + 3 * 6)
    second = re.findall(
        r"\[\d+\.\d+, \d+\.\d+\]", json.dumps({k: SECOND[k] for k in ("table1", "budgets", "clustering")})
    )
    assert len(second) == len(ours) + len(full) + 4 + 6  # the experts, again in the full table, and the clusterings


def test_lookups():
    assert published.score("cooperative-navigation", "hydraviper", "low", "low") == pair([144.84, 2.12])
    assert published.score("cooperative-navigation", "imitation", "low", "low") is None
    assert published.seconds("cologne-corridor", "maviper", "high", "high") == pair([37503.8, 834.8])
    assert published.seconds("cologne-corridor", "maviper", "low", "low") is None


def test_tables_agree_with_each_other_but_for_one_interval():
    """Table 1 repeats rows of the full table; the paper has two intervals for IVIPER on the Ingolstadt corridor."""
    differing = []
    for game, row in published.TABLE1_SCORE.items():
        for name, value in row.items():
            level = "low/low" if name.endswith(" low") else "high/high"
            algorithm = name.removesuffix(" low")
            full = published.EXPERT[game] if name == "expert" else published.FULL[algorithm][game][level]
            if full != value:
                differing.append((game, name, full.mean == value.mean))
    assert differing == [("ingolstadt-corridor", "iviper", True)]


def test_resco_figures_are_those_of_its_own_file():
    """Against a copy that was computed from RESCO's list of every episode, and what the best of them are."""
    second = json.loads((Path(__file__).parents[1] / "data" / "resco_second.json").read_text())
    names = {"FIXED": "fixed time"}
    theirs = {(map_name, names.get(who, who)): pair for map_name, of in second.items() for who, pair in of.items()}
    ours = {(name, who): tuple(pair) for who, figures in resco.FIGURES.items() for name, pair in figures.items()}
    assert ours.keys() == theirs.keys()
    assert all(pair == pytest.approx(theirs[key], abs=0.0051) for key, pair in ours.items())
    best = {"cologne1": 25.8, "cologne3": 19.4, "cologne8": 20.9, "ingolstadt1": 20.9}
    best |= {"ingolstadt7": 31.2, "ingolstadt21": 59.6, "grid4x4": 33.0, "arterial4x4": 654.1}
    assert {name: resco.best(name)[1] for name in resco.MAPS} == pytest.approx(best, abs=0.0501)
