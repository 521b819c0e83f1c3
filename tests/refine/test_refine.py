"""Refining: the arena against `rollout.play`, changes that stay trees, and results that repeat and are never worse."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import hydraviper
from hydraviper.engines.counted import counted
from hydraviper.experts import store
from hydraviper.games import catalogue
from hydraviper.games.particle_arena import FIRST_LOOK
from hydraviper.refine import annealing, budget, crossover, experience, islands, starts
from hydraviper.refine.moves import Mover, SizeLimits, Wishes
from hydraviper.refine.records import RefineSettings
from hydraviper.refine.search import refine, search_state
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.trees.counts import recount
from hydraviper.trees.packed import Vocabulary, pack, unpack
from hydraviper.trees.tree import LEAF, Tree
from tests.helpers.command_line import refuses
from tests.helpers.experts import random_expert
from tests.helpers.street import LongestQueue, street_with
from tests.helpers.trees import random_tree

SEEDS = rollout_seeds(3, Purpose.REFINE, 0, 60)


def near_zero(draws: np.random.Generator):
    """Thresholds that split what particles see."""
    return lambda size: draws.normal(size=size) * 0.3


def team_of(name: str, seed: int = 0):
    """A game, an expert, random trees for its team, and what they may ask for."""
    game, draws = hydraviper.make(name), np.random.default_rng(seed)
    team = [i for own in game.teams for i in own]
    derived = tuple(game.offers.search.derived[i] for i in team)
    plain = tuple(len(game.agents[i].features) for i in team)
    trees = {
        i: random_tree(game.agents[i], draws, derived=known, thresholds=near_zero(draws))
        for i, known in zip(team, derived, strict=True)
    }
    return game, random_expert(game), trees, Vocabulary(plain, derived)


@pytest.mark.parametrize(
    "name",
    [
        "cooperative-navigation",
        "cooperative-navigation:agents=2,physics=mpe2,horizon=7",
        "physical-deception",
        "physical-deception:defenders=3,physics=mpe2",
    ],
)
def test_an_arena_plays_as_the_game_does(name):
    game, expert, trees, vocabulary = team_of(name)
    packed = pack(list(trees.values()), vocabulary, 31)
    arena = game.arena(expert, vocabulary, packed, SEEDS, np.array(game.score.weights))
    played = hydraviper.play(game, hydraviper.Profile(expert, trees), SEEDS)
    np.testing.assert_array_equal(arena.returns, played.returns)
    # a changed tree: the differences, and the log once it is adopted, are those of playing it from the start
    _, _, others, _ = team_of(name, seed=1)
    mixed = [others[i] if a == 0 else trees[i] for a, i in enumerate(trees)]
    changed, which = pack(mixed, vocabulary, 31), np.arange(len(trees)) == 0
    fresh = game.arena(expert, vocabulary, changed, SEEDS, np.array(game.score.weights))
    gains = arena.compare(changed, which, -np.inf)
    np.testing.assert_array_equal(gains, fresh.scores - arena.scores)
    arena.adopt(changed, which)
    for own, expected in ((arena.views, fresh.views), (arena.played, fresh.played), (arena.states, fresh.states)):
        np.testing.assert_array_equal(own, expected)


def test_a_hopeless_race_ends_after_the_first_look():
    game, expert, trees, vocabulary = team_of("cooperative-navigation")
    packed, seeds = pack(list(trees.values()), vocabulary, 31), rollout_seeds(3, Purpose.REFINE, 0, 2 * FIRST_LOOK)
    arena = game.arena(expert, vocabulary, packed, seeds, np.array(game.score.weights))
    _, _, others, _ = team_of("cooperative-navigation", seed=1)
    changed, which = pack(list(others.values()), vocabulary, 31), np.ones(3, bool)
    assert len(arena.compare(changed, which, -np.inf)) == 2 * FIRST_LOOK
    assert len(arena.compare(changed, which, 1e9)) == FIRST_LOOK


def test_packed_trees_are_the_same_trees():
    game, _, trees, vocabulary = team_of("cooperative-navigation")
    seen = game.reset(SEEDS)
    again = unpack(pack(list(trees.values()), vocabulary, 31), vocabulary, [5, 5, 5])
    for i, tree in enumerate(again):
        np.testing.assert_array_equal(tree.predict(seen[i]), trees[i].predict(seen[i]))
        asked = {int(f) for f in tree.feature if f >= len(game.agents[i].features)}
        assert len(tree.derived) == len(asked)  # nothing is kept that is not asked for


@pytest.mark.slow
@pytest.mark.parametrize("leaves", [None, 9])
def test_changes_stay_trees_within_the_limits(leaves):
    game, _, trees, vocabulary = team_of("cooperative-navigation")
    draws, limits = np.random.default_rng(0), SizeLimits(4, leaves)
    seen = np.concatenate(game.reset(SEEDS))
    leafy = Tree(*(np.array(x) for x in ([-1], [0.0], [-1], [-1], [2])), np.zeros((1, 5)))
    packed = pack([leafy] * 3, vocabulary, limits.nodes) if leaves else pack(list(trees.values()), vocabulary, 31)
    mover = Mover(vocabulary.tables(), [np.arange(size) for size in vocabulary.sizes], [5] * 3, limits, draws)
    mover.meet(seen, len(SEEDS), [Wishes(np.array([a * len(SEEDS)]), np.array([1])) for a in range(3)])
    kinds = set()
    for step in range(3000):
        changed = mover.change(packed, step % 3)
        if changed is None:
            continue
        for a, tree in enumerate(unpack(changed, vocabulary, [5] * 3)):  # a Tree checks itself
            assert tree.depth <= 4
            assert leaves is None or tree.leaves <= leaves
            assert tree.action.max() < 5
            kinds.add((a, tree.leaves))
        packed = changed
    assert len(kinds) > 10  # it does grow and shrink


def test_counts_are_made_again():
    game, expert, trees, _ = team_of("cooperative-navigation")
    played = hydraviper.play(game, hydraviper.Profile(expert, trees), SEEDS[:5], record=True)
    seen, labels = played.observations[0], expert.act(played.observations)[:, 0]
    tree = recount(trees[0], seen, labels)
    expected = np.zeros_like(tree.counts)
    for row, label in zip(seen, labels, strict=True):
        for node in tree.path(row):
            expected[node, label] += 1
    np.testing.assert_array_equal(tree.counts, expected)
    np.testing.assert_array_equal(tree.predict(seen), trees[0].predict(seen))


@pytest.fixture(scope="module")
def distilled():
    game = hydraviper.make("cooperative-navigation")
    expert = hydraviper.shipped_expert(game)
    settings = hydraviper.Settings(iterations=4, train_budget=30, valid_budget=40)
    return game, expert, hydraviper.distill(game, expert, settings).profile.students


@pytest.mark.slow
@pytest.mark.parametrize("length", ["short", "long"])
def test_it_gains_repeats_and_keeps_to_its_budget(distilled, monkeypatch, length):
    game, expert, trees = distilled
    settings = RefineSettings(rollouts=20_000 if length == "short" else 600_000, seed=1)
    if length == "long":
        monkeypatch.setattr(budget, "LONG", (60.0, settings.rollouts))
    alone = refine(game, expert, trees, hydraviper.LocalEngine(lambda: game), settings)
    with hydraviper.LocalEngine(catalogue.maker(game), 2) as engine:
        together = refine(game, expert, trees, engine, settings)
    assert [tree.to_json() for tree in alone.students.values()] == [t.to_json() for t in together.students.values()]
    assert alone.rollouts == together.rollouts <= settings.rollouts
    assert alone.kept
    unseen = rollout_seeds(9, Purpose.EVALUATE, 0, 2000)
    before, after = (
        game.score.of(hydraviper.play(game, hydraviper.Profile(expert, own), unseen).returns).mean()
        for own in (trees, alone.students)
    )
    assert after < before - 1
    for i, tree in alone.students.items():
        assert tree.depth <= max(own.depth for own in trees.values())
        assert tree.counts[0].sum() > 0
        assert not tree.derived
        assert set(tree.feature.tolist()) <= {LEAF, *range(len(game.agents[i].features))}


def test_islands_take_from_each_other_what_is_better(distilled):
    """Two islands with one useless tree each become trees that are as good as those without any."""
    game, expert, trees = distilled
    settings = RefineSettings(rollouts=1_000_000)
    search = search_state(game, expert, trees, None, settings)
    whole = search.pack(trees)
    first, second = whole.copy(), whole.copy()
    for island, agent in ((first, 0), (second, 1)):
        island.nodes[agent, 0] = (LEAF, LEAF, LEAF, 0)  # it always stays
    mixed, spent = crossover.mixed(search, first, [second], 0)
    assert 0 < spent <= budget.OF_MIXING * settings.rollouts
    useless, found, good = (islands.arena_of(search, own, 1, 2000).scores.mean() for own in (first, mixed, whole))
    assert useless < good - 1
    assert found > good - 0.3
    forbidden = replace(search, allowed=lambda own: own[0].leaves == 1)
    kept, _ = crossover.mixed(forbidden, first, [second], 0)
    assert kept.nodes[0, 0, 0] == LEAF


@pytest.mark.parametrize("name", ["cooperative-navigation", "cooperative-navigation:agents=5", "physical-deception"])
def test_alike_agents_see_the_same_when_they_change_places(name):
    game, draws = hydraviper.make(name), np.random.default_rng(4)
    agents, landmarks = game.sizes
    where, marks = draws.normal(size=(1, agents, 2)), draws.normal(size=(1, landmarks, 2))
    team = [i for own in game.teams for i in own]
    checked = 0
    for source, target in itertools.product(team, team):
        seen = game.place(where, marks, np.zeros(1, int))[source][0]
        swapped = where.copy()
        swapped[:, [source, target]] = where[:, [target, source]]
        for way in game.alike(source, target):
            first = game.agents[source].features.index("landmark 0 dx")
            order = (way[first : first + 2 * landmarks : 2] - first) // 2
            moved = np.empty_like(marks)
            moved[:, order] = marks
            other = game.place(swapped, moved, np.array([order[0]]))[target][0]
            assert other[way] == pytest.approx(seen)
            checked += 1
    assert checked == len(team) ** 2 * {2: 2, 3: 6, 5: 11}[landmarks]
    if "deception" in name:
        assert game.alike(0, 1) == []


@pytest.mark.slow
def test_derived_features_come_in_and_nothing_forbidden_does(distilled):
    game, expert, trees = distilled

    def allowed(own):
        return all((tree.action[tree.feature == LEAF] != 0).all() for tree in own.values())  # nobody ever stays

    moving = {i: replace(tree, action=np.maximum(tree.action, 1)) for i, tree in trees.items()}
    settings = RefineSettings(rollouts=10_000, features="derived")
    found = refine(game, expert, moving, hydraviper.LocalEngine(lambda: game), settings, allowed=allowed)
    assert found.kept
    assert allowed(found.students)
    assert any(tree.derived for tree in found.students.values())
    with pytest.raises(hydraviper.InputError, match="repair them first"):
        refine(game, expert, moving, hydraviper.LocalEngine(lambda: game), settings, allowed=lambda own: False)


@pytest.mark.slow
def test_what_is_worse_is_not_returned(distilled, monkeypatch):
    game, expert, trees = distilled

    def worse(search):
        found = annealing_search(search)
        return replace(found, trees=dict.fromkeys(trees, trees[0]), after=found.before + 1)

    annealing_search = annealing.search
    monkeypatch.setattr(annealing, "search", worse)
    found = refine(game, expert, trees, hydraviper.LocalEngine(lambda: game), RefineSettings(rollouts=2000))
    assert not found.kept
    assert found.students == trees
    assert found.before == found.after
    assert "nothing better" in found.sentence()


@pytest.mark.slow
@pytest.mark.parametrize("looked_at", [1000, 300], ids=["all steps", "some steps"])
def test_experience_values_actions_as_the_equations_do(monkeypatch, looked_at):
    """A world of two places whose values can be written down: agent 0 earns 1 by going to the other place."""
    monkeypatch.setattr(experience, "SWEEPS", 30)
    monkeypatch.setattr(experience, "LOOKED_AT", looked_at)
    assert len(np.arange(1000)[experience.thinning(1000)]) == {1000: 1000, 300: 250}[looked_at]
    draws, steps = np.random.default_rng(0), 1000
    place, moves = np.zeros(steps + 1, int), draws.integers(2, size=steps)
    for t, move in enumerate(moves):
        place[t + 1] = move
    paid = (moves != place[:-1]).astype(float)
    always_to_one = Tree(*(np.array([value]) for value in (LEAF, 0.0, LEAF, LEAF, 1)), np.ones((1, 2)))
    agents = [SimpleNamespace(actions=("to 0", "to 1")), SimpleNamespace(actions=("wait",))]
    search = SimpleNamespace(game=SimpleNamespace(agents=agents), engine=None, team=(0,), settings=RefineSettings())
    known = experience.Experience(search)
    seen, nothing = place[:-1, None].astype(np.float32), np.zeros((steps, 1), np.float32)
    following = np.append(np.arange(1, steps), -2)
    earned = np.stack([paid, np.full(steps, -1.0)], axis=1)  # somebody else loses 1 in every step
    actions = np.stack([moves, np.zeros(steps, int)], axis=1)
    everybody = np.ones(steps, bool), np.ones((steps, 2), bool)
    known._episodes.append(experience._Episodes((seen, nothing), actions, earned, following, *everybody))
    worth = known.worth({0: always_to_one})
    for view, later in (("own reward", 0.8), ("own reward, later too", 0.9)):
        # from 0 the policy earns 1 once, from 1 nothing; Q(place, move) = paid + later * V(move)
        exact = {(0, 0): later, (0, 1): 1.0, (1, 0): 1.0 + later, (1, 1): 0.0}
        for (where, move), value in exact.items():
            assert worth[view][0][place[:-1] == where, move] == pytest.approx(value, abs=0.05)
    assert (worth["own and the team's"][0].argmax(axis=1) == 1 - place[:-1]).all()


@pytest.mark.slow
def test_signals_are_refined_within_their_rollouts(monkeypatch):
    monkeypatch.setattr(experience, "FOREST", 10)
    game = hydraviper.make(street_with(steps=6, reach=100))
    expert = LongestQueue(game.offers.scoring.yardsticks["longest queue"])
    draws = np.random.default_rng(0)
    poor = {i: random_tree(agent, draws, 3, thresholds=near_zero(draws)) for i, agent in enumerate(game.agents)}
    settings = RefineSettings(rollouts=60, depth=3)
    engine = hydraviper.LocalEngine(lambda: game)
    found = refine(game, expert, poor, engine, settings)
    again = refine(game, expert, poor, engine, settings)
    assert found.rollouts <= 60
    assert found.kept
    assert found.gain.mean > 0
    assert [t.to_json() for t in found.students.values()] == [t.to_json() for t in again.students.values()]
    assert all(tree.depth <= 3 for tree in found.students.values())


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.01, 6.0])
def test_signals_are_refined_within_their_seconds(monkeypatch, seconds):
    """However few they are: then the given trees come back."""
    monkeypatch.setattr(experience, "FOREST", 10)
    game = hydraviper.make(street_with(steps=6, reach=100))
    expert = LongestQueue(game.offers.scoring.yardsticks["longest queue"])
    draws = np.random.default_rng(0)
    poor = {i: random_tree(agent, draws, 3, thresholds=near_zero(draws)) for i, agent in enumerate(game.agents)}
    remembering = SimpleNamespace(direct=hydraviper.LocalEngine(lambda: game))  # it could answer without playing
    found = refine(game, expert, poor, counted(game, remembering, print), RefineSettings(seconds=seconds, depth=3))
    assert seconds > 1 or not found.kept
    assert found.seconds < seconds + 10


@pytest.mark.slow
def test_the_command_writes_a_run_of_its_own(call, distilled):
    quick = ["--iterations", "2", "--train-budget", "4", "--valid-budget", "4", "--episodes", "20"]
    code, printed, complaint = call(
        "distill", "cooperative-navigation", *quick, "--out", "run", "--refine", "1", "--json"
    )
    assert code == 0, complaint
    assert json.loads(printed)["seconds"]["refine"] > 0
    assert "unseen" in json.loads(printed)["refined"]
    code, printed, complaint = call("refine", "run", "--rollouts", "3000", "--episodes", "20", "--out", "new", "--json")
    assert code == 0, complaint
    summary = json.loads(printed)
    assert set(summary["refined"]["unseen"]) == {"episodes", "before", "after", "gain"}
    made = json.loads(Path("new/trees.json").read_text())["made"]["refined"]
    assert [entry["rollouts"] for entry in made] == [None, 3000]
    assert made[1]["held_out"]["after"]["mean"] <= made[1]["held_out"]["before"]["mean"]
    assert "<h2>Refined</h2>" in Path("new/report.html").read_text()
    assert call("evaluate", "new", "--episodes", "20")[0] == 0
    other = hydraviper.shipped_expert(hydraviper.make("cooperative-navigation"), "maddpg-seed-1")
    store.save(other, Path("other.safetensors"))
    options = ["--rollouts", "3000", "--episodes", "20", "--expert", "other.safetensors", "--out", "by-another"]
    assert call("refine", "run", *options)[0] == 0
    code, _, complaint = call("evaluate", "by-another", "--episodes", "20")
    assert (code, "another expert" in complaint) == (0, False)
    assert store.digest(hydraviper.load_run("by-another").expert) == store.digest(other)
    refuses(call, "already holds something", "refine", "run", "--rollouts", "3000", "--out", "new")
    refuses(call, "--rollouts must be at least", "refine", "run", "--rollouts", "5")
    refuses(call, "is unknown", "refine", "run", "--features", "none")
    refuses(call, "--seconds must be at least 0.001", "refine", "run", "--seconds", "-3")
    refuses(call, "does not cut trees", "refine", "run", "--depth", "1", "--rollouts", "3000")
    refuses(call, "there are no trees", "refine", "nowhere")


@pytest.mark.slow
def test_a_rule_that_assigns_landmarks_becomes_a_tree():
    """CART alone never asks first who is nearer; looking one question ahead does."""
    game = hydraviper.make("physical-deception")
    expert = hydraviper.shipped_expert(game)
    given = hydraviper.distill(game, expert, hydraviper.Settings(iterations=2, train_budget=4, valid_budget=4)).profile
    engine = hydraviper.LocalEngine(lambda: game)
    settings = RefineSettings(seconds=1.0, features="derived", depth=4)
    search = search_state(game, expert, given.students, engine, settings)
    found, _ = starts.script_starts(search)
    trees = found["script: best assignment"]
    names = [*game.agents[1].features, *(one.name for one in game.offers.search.derived[1])]
    assert names[trees[1].feature[0]] == "landmark 0 here and 1 for defender 2 less swapped"
    seeds = rollout_seeds(0, Purpose.EVALUATE, 0, 2000)
    who = {"expert": {}, "tree": trees, "rule": game.offers.scoring.team_rules["best assignment"]}
    score = {
        name: game.score.of(engine.play(hydraviper.Profile(expert, students), seeds).returns).mean()
        for name, students in who.items()
    }
    assert score["rule"] > score["expert"]
    assert score["tree"] > score["expert"]
    assert all(tree.depth <= 4 for tree in trees.values())


@pytest.mark.parametrize(("features", "count"), [("plain", 0), ("derived", 0), ("shipped", 3)])
def test_trees_with_features_of_people_are_chosen_against_several_adversaries(features, count):
    game, expert, trees, _ = team_of("physical-deception")
    state = search_state(
        game, expert, trees, hydraviper.LocalEngine(lambda: game), RefineSettings(rollouts=100, features=features)
    )
    assert len(state.adversaries) == count
    assert all(set(one).isdisjoint(state.team) for one in state.adversaries)
