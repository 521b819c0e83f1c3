"""What stands out in trees: phases that are never shown, and trees that ignore what they see."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from hydraviper.data import Agent, StreetRecord
from hydraviper.games import traffic_facts
from hydraviper.protocols import Graph, Offers
from hydraviper.records import Evaluation
from hydraviper.runs.remarks import remarks
from hydraviper.trees.tree import LEAF, Tree
from tests.helpers.trees import leaf

FEATURES = ("phase 1 is green", "phase 2 is green", "phase 1 has been red for, s", "queue from west")
ACTIONS = ("phase 1: east-west straight+right", "phase 2: north-south straight+right", "phase 3: left")
SIGNAL = Agent("signal-1", FEATURES, ACTIONS, traffic_facts.values(FEATURES))
LIGHT, RED_FOR, QUEUE = 0, 2, 3


@dataclass
class Crossing:
    agents: tuple = (SIGNAL, Agent("signal-2", FEATURES, ACTIONS, SIGNAL.values))
    offers: Offers = field(default_factory=lambda: Offers(graph=Graph(served=(np.ones((3, 1), bool),) * 2)))


def asks(feature: int, yes: int, no: int) -> Tree:
    """A tree of one question."""
    columns = [np.array(values) for values in ([feature, LEAF, LEAF], [1, -1, -1], [2, -1, -1], [yes, yes, no])]
    return Tree(columns[0], np.array([0.5, 0, 0], np.float32), *columns[1:], np.ones((3, 3)))


def full() -> Tree:
    """A tree that looks at the queue and has a leaf for every phase."""
    columns = [[QUEUE, LEAF, LIGHT, LEAF, LEAF], [1, -1, 3, -1, -1], [2, -1, 4, -1, -1], [0, 0, 1, 1, 2]]
    feature, left, right, action = map(np.array, columns)
    return Tree(feature, np.array([0.5, 0, 0.5, 0, 0], np.float32), left, right, action, np.ones((5, 3)))


def shares(*each: float) -> dict[str, float]:
    return dict(zip(ACTIONS, each, strict=True))


def street(**changes) -> StreetRecord:
    known = {"mean_wait": 12.0, "longest_wait": 40.0, "level_of_service": "B", "served": 90.0, "outside": 0.0}
    return StreetRecord(**{"street": "signal-1 from west (Station Road)", "agent": "signal-1", **known, **changes})


def test_nothing_to_say_of_a_tree_that_looks_and_chooses():
    everything = Evaluation(shown={"signal-1": shares(0.5, 0.3, 0.2)}, streets={"trees": (street(),)})
    assert remarks(Crossing(), {0: full()}, everything) == ()
    assert remarks(Crossing(), {0: full()}) == ()


@pytest.mark.parametrize("tree", [leaf(1, 3), asks(QUEUE, 1, 1)])
def test_one_phase_for_ever(tree):
    said = remarks(Crossing(), {0: tree})
    assert said == (
        "The tree of signal-1 ignores what it sees: it always answers phase 2.",
        "No leaf chooses: phase 1 and phase 3 of signal-1.",
    )


@pytest.mark.parametrize("feature", [LIGHT, RED_FOR])
def test_taking_turns(feature):
    said = remarks(Crossing(), {0: asks(feature, 0, 1)})[0]
    assert said.startswith("The tree of signal-1 ignores what it sees: it asks only for its own state (phase 1 ")
    assert said.endswith("so it merely takes turns.")
    assert "ignores" not in "".join(remarks(Crossing(), {0: asks(QUEUE, 0, 1)}))


def test_never_shown_by_leaves_and_by_episodes():
    students = {0: asks(QUEUE, 0, 1), 1: asks(QUEUE, 0, 1)}
    shown = {"signal-1": shares(0.6, 0.4, 0.0), "signal-2": shares(1.0, 0.0, 0.01)}
    assert remarks(Crossing(), students) == ("No leaf chooses: phase 3 of signal-1; phase 3 of signal-2.",)
    assert remarks(Crossing(), students, Evaluation(shown=shown)) == (
        "Never shown, since no leaf chooses it: phase 3 of signal-1.",
        "No leaf chooses, but the rules of safety showed: phase 3 of signal-2.",
        "Never shown in these episodes, though a leaf chooses it: phase 2 of signal-2.",
    )


def test_long_waits_are_told_the_longest_first():
    quiet, starved = street(), street(street="b", mean_wait=1307.0, longest_wait=2487.0, level_of_service="F")
    long = street(street="c", longest_wait=130.0)
    said = remarks(Crossing(), {0: full()}, Evaluation(streets={"trees": (quiet, long, starved)}))
    assert said == (
        "Long waits: b, level of service F, mean 1307 s, longest 2487 s; "
        "c, level of service B, mean 12 s, longest 130 s.",
    )
    many = remarks(Crossing(), {0: full()}, Evaluation(streets={"trees": (long,) * 5}))[0]
    assert many.endswith("; and 2 more in report.html and --json.")


def test_other_games_need_not_use_every_action(navigation):
    assert remarks(navigation, {0: asks(LIGHT, 0, 1)}) == ()
    assert remarks(navigation, {0: leaf(0)}) == ("The tree of agent-0 ignores what it sees: it always answers stay.",)
