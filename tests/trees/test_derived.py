"""Derived features: the same numbers as obvious NumPy, in trees as in files."""

import numpy as np
import pytest

import hydraviper
from hydraviper.data import Derived, InputError, Term
from hydraviper.trees.derived import extend
from hydraviper.trees.tree import Tree


def obvious(observation, feature):
    """A slow twin, one float32 at a time."""
    total = None
    for term in feature.terms:
        x = observation[list(term.inputs)]
        if term.kind == "distance":
            if len(x) == 4:
                x = np.array([x[0] - x[2], x[1] - x[3]], np.float32)
            x = x.astype(np.float64)
            value = np.float32(np.sqrt(x[0] * x[0] + x[1] * x[1]))
        else:
            value = np.abs(x[0]) if term.kind == "size" else x[0]
        signed = value if term.sign > 0 else -value
        total = signed if total is None else np.float32(total + signed)
    return total


@pytest.mark.parametrize("name", ["cooperative-navigation:agents=4", "physical-deception:defenders=3"])
def test_against_an_obvious_twin(name):
    game = hydraviper.make(name)
    random = np.random.default_rng(0)
    for agent, derived in zip(game.agents, game.offers.search.derived, strict=True):
        seen = random.normal(size=(50, len(agent.features))).astype(np.float32)
        out = extend(seen, derived)
        np.testing.assert_array_equal(out[:, : seen.shape[1]], seen)
        expected = np.array([[obvious(row, feature) for feature in derived] for row in seen])
        np.testing.assert_array_equal(out[:, seen.shape[1] :], expected)


def test_distances_are_what_their_names_say():
    game = hydraviper.make("cooperative-navigation")
    seen = game.reset(np.arange(20, dtype=np.uint64))
    names = [feature.name for feature in game.offers.search.derived[0]]
    values = dict(zip(names, extend(seen[0], game.offers.search.derived[0])[:, seen[0].shape[1] :].T, strict=True))
    own = np.linalg.norm(game.landmarks[:, 2] - game.positions[:, 0], axis=1)
    other = np.linalg.norm(game.landmarks[:, 2] - game.positions[:, 1], axis=1)
    np.testing.assert_allclose(values["distance to landmark 2"], own, rtol=1e-5)
    np.testing.assert_allclose(values["agent 1's distance to landmark 2 less own"], other - own, atol=1e-5)


def test_a_tree_asks_for_them_and_keeps_them_in_its_file():
    settings = hydraviper.Settings(iterations=3, train_budget=20, valid_budget=20, features="derived")
    game = hydraviper.make("cooperative-navigation")
    trees = hydraviper.distill(game, hydraviper.shipped_expert(game), settings).profile.students
    asked = {int(f) for tree in trees.values() for f in tree.feature}
    assert max(asked) >= len(game.agents[0].features)
    seen = game.reset(np.arange(100, dtype=np.uint64))[0]
    again = Tree.from_json(trees[0].to_json())
    np.testing.assert_array_equal(again.predict(seen), trees[0].predict(seen))
    assert [trees[0].action[trees[0].path(row)[-1]] for row in seen] == trees[0].predict(seen).tolist()


def test_what_makes_no_sense_is_refused():
    with pytest.raises(InputError, match="cannot be made"):
        Term("distance", (1,))
    with pytest.raises(InputError, match="no terms"):
        Derived("nothing", ())
