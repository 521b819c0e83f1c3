"""What a game offers beside the protocol is optional, and checked."""

from __future__ import annotations

import numpy as np
import pytest

import hydraviper
from hydraviper.data import Agent, Derived, InputError, Recommended, Score, Term
from hydraviper.geometry import Intersection, Lane, MapSignal, Movement, RoadMap
from hydraviper.protocols import Drawing, Graph, Offers, Scoring, Search, check_game, offers

SETTINGS = hydraviper.Settings(iterations=3, train_budget=20, valid_budget=20, rollouts_per_iteration=10, depth=3)


class Pump:
    """Two pumps keep two tanks half full: the fewest lines that make a game."""

    name, parameters = "pumps", {}
    agents = tuple(Agent(f"pump-{k}", ("level", "level of the other"), ("rest", "pump")) for k in range(2))
    teams = ((0, 1),)
    horizon, width = 6, None
    score = Score("distance from half full", "", lower_is_better=True, weights=(-1.0, -1.0))
    recommended = Recommended()

    def reset(self, seeds):
        self.levels = np.stack([np.random.default_rng(int(seed)).uniform(size=2) for seed in seeds])
        self.clock = 0
        return self.show()

    def step(self, actions):
        self.levels = self.levels - 0.1 + 0.25 * actions
        self.clock += 1
        return self.show(), -np.abs(self.levels - 0.5), np.full(len(self.levels), self.clock == self.horizon)

    def show(self):
        return [self.levels, self.levels[:, ::-1]]

    def measures(self):
        return {}


class Careful:
    """Pumps below a level; an action is worth how near it comes to half full."""

    def act(self, observations, agents=None):
        return np.stack([(seen[:, 0] < 0.5).astype(int) for seen in observations], axis=1)

    def q(self, observations, actions):
        levels = np.stack([seen[:, 0] for seen in observations], axis=1)
        return -np.abs(levels - 0.1 + 0.25 * actions - 0.5)

    def worst_team_q(self, observations, actions, team, judges=None):
        both = np.minimum(*(self.q(observations, np.full_like(actions, action)) for action in (0, 1)))
        return both[:, list(judges or team)].mean(axis=1)


def test_a_game_without_offers_is_complete():
    game = Pump()
    check_game(game)
    assert offers(game) == Offers()
    assert offers(game).scoring.yardsticks == {}
    assert not offers(game).compiled
    assert offers(game).content is None


@pytest.mark.parametrize("algorithm", ["hydraviper", "maviper", "iviper", "imitation"])
def test_a_game_without_offers_is_distilled(algorithm):
    result = hydraviper.distill(Pump(), Careful(), SETTINGS, hydraviper.VARIANTS[algorithm])
    assert sorted(result.profile.students) == [0, 1]


@pytest.mark.slow
def test_a_game_without_offers_is_evaluated_refined_and_reported(tmp_path):
    result = hydraviper.distill(Pump(), Careful(), SETTINGS)
    scores = hydraviper.evaluate(result, episodes=30)
    assert scores.score.mean == pytest.approx(scores.expert.mean, rel=0.2)
    assert not scores.yardsticks
    assert scores.over_time is None
    assert not scores.opponents
    run = hydraviper.save_run(result, tmp_path / "run", episodes=30)
    page = (tmp_path / "run" / "report.html").read_text()
    assert "pump-1" in page
    assert "The map" not in page
    settings = hydraviper.RefineSettings(rollouts=400)
    found = hydraviper.refine(run, settings, episodes=30, out=tmp_path / "refined")
    assert sorted(found.students) == [0, 1]


@pytest.mark.parametrize(
    ("change", "words"),
    [({"features": "derived"}, "names no derived features"), ({"partition": "graph-metis", "teams": 2}, "no graph of")],
)
def test_what_is_not_offered_is_refused_where_it_is_asked_for(change, words):
    settings = hydraviper.Settings(**{**SETTINGS.to_json(), **change})
    with pytest.raises(InputError, match=words):
        hydraviper.distill(Pump(), Careful(), settings)


LEVEL = Derived("twice the level", (Term("value", (0,)), Term("value", (0,))))


@pytest.mark.parametrize(
    ("offered", "words"),
    [
        (Offers(search=Search(derived=((LEVEL,),))), "derived features for 1 agents, but has 2"),
        (Offers(graph=Graph(served=(np.ones((2, 3), bool),))), "phases for 1 agents"),
        (Offers(graph=Graph(served=(np.ones((2, 3), bool), np.ones((3, 3), bool)))), "3 phases of pump-1"),
        (Offers(graph=Graph(neighbours=((0, 2),))), r"neighbours \(0, 2\)"),
        (Offers(drawing=Drawing(intersections={"pump-0": Intersection(3, ())})), "3 phases of pump-0"),
    ],
)
def test_offers_that_do_not_fit_are_refused(offered, words):
    game = Pump()
    game.offers = offered
    with pytest.raises(InputError, match=words):
        check_game(game)


def test_offers_of_ones_own_are_used():
    game = Pump()
    game.offers = Offers(
        Scoring(yardsticks={"careful": Careful()}, step_minutes=2.0),
        Search(derived=((LEVEL,), (LEVEL,))),
        Graph(neighbours=((0, 1),)),
        notes=("Tanks leak.",),
    )
    settings = hydraviper.Settings(**{**SETTINGS.to_json(), "features": "derived", "partition": "graph-metis"})
    result = hydraviper.distill(game, Careful(), settings)
    assert "Tanks leak." in result.ledger.notes
    assert hydraviper.play(game, Careful(), np.arange(3, dtype=np.uint64)).trace.shape == (3, 6)


def test_geometry_is_checked():
    with pytest.raises(InputError, match="from west has the lights 'GG'"):
        Intersection(3, (Movement("west", "left", 270.0, 0.0, "GG"),))
    with pytest.raises(InputError, match="of Ggr"):
        Intersection(2, (Movement("west", "left", 270.0, 0.0, "Gx"),))
    signal = MapSignal("signal-1", "A", (0.0, 0.0), ("all",), ("in", "out"))
    with pytest.raises(InputError, match="the lane 'out'"):
        RoadMap({"in": Lane(((0.0, 0.0), (1.0, 0.0)), 3.2)}, (), (signal,))
