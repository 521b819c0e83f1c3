"""Environments of Gymnasium and PettingZoo as games: what they show, who acts, what is refused."""

from __future__ import annotations

import pickle
from functools import partial

import gymnasium
import mpe2.simple_spread_v3
import numpy as np
import pettingzoo
import pytest

import hydraviper
from hydraviper.data import InputError
from hydraviper.games import catalogue
from hydraviper.games.environments.choices import next_allowed
from hydraviper.protocols import offers
from hydraviper.runs.opening import engine_for
from tests.helpers.environments import Crowd, Forgetful, Growing, Leaving, Nameless, Rooms, Steering

SEEDS = np.arange(5, dtype=np.uint64)


class First:
    """Always takes the first action, which a mask may forbid."""

    def act(self, observations, agents=None):
        return np.zeros((len(observations[0]), len(observations)), np.int64)


# ------------------------------------------------------------------------------------- what is shown


def test_a_dict_becomes_named_numbers_and_back():
    game = hydraviper.from_gymnasium(Rooms)
    (agent,) = game.agents
    assert agent.features[:5] == ("bag 0 0", "bag 0 1", "bag 1 0", "doors 0", "doors 1")
    assert agent.features[5:10] == ("place 0 0", "place 0 1", "place 1 0", "place 1 1", "room")
    assert agent.features[10:] == tuple(f"may {name}" for name in agent.actions)
    assert agent.actions == ("actions 0 0", "actions 0 1", "actions 0 2", "actions 1 0", "actions 1 1", "actions 1 2")
    env, (seen,) = Rooms(), game.reset(SEEDS)
    for row, seed in zip(seen, SEEDS, strict=True):
        shown, _ = env.reset(seed=int(seed))
        back = pickle.loads(pickle.dumps(offers(game).foreign)).unflatten(0, row[None])
        assert back["room"] == shown["room"]
        np.testing.assert_array_equal(back["bag"][1][0], shown["bag"][1])
        np.testing.assert_array_equal(back["bag"][0][0], shown["bag"][0])
        np.testing.assert_allclose(back["place"][0], shown["place"], rtol=1e-6)
        assert back["place"].dtype == np.float64


def test_one_of_several_values_as_flags():
    game = hydraviper.from_gymnasium(Rooms, discrete="flags")
    names = game.agents[0].features
    assert names[9:12] == ("room is 5", "room is 6", "room is 7")
    (seen,) = game.reset(SEEDS)
    assert (seen[:, 9:12].sum(axis=1) == 1).all()
    shown = [Rooms().reset(seed=int(seed))[0]["room"] for seed in SEEDS]
    assert offers(game).foreign.unflatten(0, seen)["room"].tolist() == shown


def test_actions_of_the_environment_get_the_games_numbers():
    game = hydraviper.from_gymnasium(Rooms)
    own = np.array([[0, 0], [0, 2], [1, 1]])
    np.testing.assert_array_equal(offers(game).foreign.numbers(0, own), [0, 2, 4])


def test_names_from_a_file(tmp_path):
    file = tmp_path / "names.toml"
    file.write_text(
        'actions = ["go", "stay"]\n[features]\n"observation 0" = "speed"\n'
        '[agent.bee]\nfeatures = ["a", "b", "c"]\nactions = ["n", "e", "s", "w"]\n'
    )
    game = hydraviper.from_pettingzoo(Leaving, names=str(file))
    ant, _, bee = game.agents
    assert (ant.features, ant.actions) == (("speed", "observation 1"), ("go", "stay"))
    assert (bee.features, bee.actions) == (("a", "b", "c"), ("n", "e", "s", "w"))
    assert offers(game).content != offers(hydraviper.from_pettingzoo(Leaving)).content


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("features = ['x']", "names 1 features of ant_0, which has 2"),
        ("[features]\n'speed' = 'x'", "names 'speed' anew, but no agent of .* has it"),
        ("[agent.wasp]\nfeatures = ['x']", "names things of 'wasp'"),
        ("colours = ['x']", "says 'colours'"),
        ("actions = [1, 2]", "must give actions as a list of names"),
        ("features =", "is no TOML"),
        ("features = ['x', 'x']\n[agent.bee]\nfeatures = ['a', 'b', 'c']", "features of the same name"),
    ],
)
def test_files_of_names_that_do_not_fit(tmp_path, text, sentence):
    file = tmp_path / "names.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=sentence):
        hydraviper.from_pettingzoo(Leaving, names=str(file))


def test_known_environments_ship_with_names():
    spread = hydraviper.make("pettingzoo:mpe2.simple_spread_v3")
    ours = hydraviper.make("cooperative-navigation")
    assert [agent.features for agent in spread.agents] == [agent.features for agent in ours.agents]
    assert spread.agents[0].actions == ours.agents[0].actions
    listener = hydraviper.make("pettingzoo:mpe2.simple_speaker_listener_v4").agents[1]
    assert listener.features[-1] == "speaker 0 word 2"
    pole = hydraviper.make("gymnasium:CartPole-v1").agents[0]
    assert pole.features[2] == "pole angle"
    assert pole.actions == ("push left", "push right")


@pytest.mark.slow
def test_every_world_of_mpe2_is_named():
    names = "simple_v3 simple_adversary_v3 simple_crypto_v3 simple_push_v3 simple_reference_v3 simple_tag_v3"
    more = "simple_world_comm_v3 simple_formation_v1 simple_line_v1 collect_treasure_v1"
    for name in [*names.split(), *more.split()]:
        game = hydraviper.make(f"pettingzoo:mpe2.{name}")
        unnamed = [word for agent in game.agents for word in agent.features if word.startswith("observation")]
        assert unnamed == [], name
        assert not any(word.startswith("action") for agent in game.agents for word in agent.actions), name


# ------------------------------------------------------------------------------------- masks, turns, leaving, limits


def test_an_action_that_is_not_allowed_gives_way_to_the_next():
    allowed = np.array([[0, 1, 1], [0, 0, 1], [1, 0, 0], [0, 0, 0]], bool)
    np.testing.assert_array_equal(next_allowed(np.array([0, 1, 2, 1]), allowed), [1, 2, 0, 1])


def test_masked_actions_are_never_taken():
    played = hydraviper.play(hydraviper.from_gymnasium(Rooms), First(), SEEDS)  # the environment asserts it
    assert played.lengths.min() >= 2
    assert (played.returns[:, 0] >= 1).any()  # where action 0 0 was forbidden, 0 1 was taken


def test_agents_that_leave_neither_act_nor_earn():
    game = hydraviper.from_pettingzoo(Leaving)
    assert game.horizon == 1000  # it names no limit
    assert game.teams == ((0, 1),)  # the ants
    played = hydraviper.play(game, First(), SEEDS, record=True)
    assert set(played.lengths) == {4}
    np.testing.assert_array_equal(played.returns, [[1, 2, 4]] * 5)
    gone = [[1, 1, 1], [0, 1, 1], [0, 0, 1], [0, 0, 1]]
    np.testing.assert_array_equal(played.acting, gone * 5)
    assert played.cut.all()  # the last one by the time limit


def test_time_limits_are_told_apart_from_ends():
    game = hydraviper.from_gymnasium(Rooms, steps=4)
    played = hydraviper.play(game, First(), np.arange(30, dtype=np.uint64))
    np.testing.assert_array_equal(played.cut, [length_of(seed) > 4 for seed in range(30)])
    np.testing.assert_array_equal(played.ended(game.horizon), ~played.cut)
    assert 0 < played.cut.sum() < 30
    assert played.lengths.max() == 4
    share = played.measures["share of episodes that end before a time limit"]
    np.testing.assert_array_equal(share, ~played.cut)


def length_of(seed):
    env = Rooms()
    env.reset(seed=seed)
    return env.left


def test_whoever_is_not_to_move_does_not_act():
    game = hydraviper.make("pettingzoo:classic/tictactoe-v3")
    assert game.teams == ((0,),)
    played = hydraviper.play(game, First(), SEEDS[:1], record=True)
    turns = np.arange(len(played.acting)) % 2
    np.testing.assert_array_equal(played.acting, np.stack([turns == 0, turns == 1], axis=1))
    assert played.ended(game.horizon).all()
    assert played.returns[0, 0] == -played.returns[0, 1]
    # squares 0, 1, 2, ... in turn: the first player's third is square 4, its fourth 6: a diagonal
    assert played.returns[0, 0] == 1
    assert played.lengths[0] == 7


@pytest.mark.slow
def test_students_learn_from_their_own_turns_alone():
    game = hydraviper.make("pettingzoo:classic/tictactoe-v3")
    settings = hydraviper.Settings(iterations=3, train_budget=10, valid_budget=6, rollouts_per_iteration=5)
    result = hydraviper.distill(game, _Perfect(), settings)
    tree = result.profile.students[0]
    assert tree.fidelity == 1  # 1 where it is to move; in the other's turns nobody knows what to do
    scores = hydraviper.evaluate(result, episodes=10)
    assert scores.score.mean == scores.expert.mean


class _Perfect(First):
    """Takes the first free square when it is to move, and an impossible one when it is not."""

    def act(self, observations, agents=None):
        masks = [seen[:, 18:] for seen in observations]
        return np.stack([np.where(mask.any(axis=1), mask.argmax(axis=1), 8) for mask in masks], axis=1)

    def q(self, observations, actions):
        return np.zeros(actions.shape)

    def worst_team_q(self, observations, actions, team, judges=None):
        return -np.ones(len(actions))


# ------------------------------------------------------------------------------------- teams and scores


@pytest.mark.parametrize(
    ("options", "teams", "name", "weights"),
    [
        ("", ((0, 1, 2),), "mean return", (1 / 3,) * 3 + (0,)),
        (",distil=agent", ((3,),), "mean return", (0, 0, 0, 1)),
        (",distil=all,score=total", ((0, 1, 2, 3),), "total return", (1,) * 4),
        (",distil=adversary_0+adversary_2/agent_0", ((0, 2), (3,)), "mean return", (1 / 3, 0, 1 / 3, 1 / 3)),
        (",score=lead", ((0, 1, 2),), "lead in mean return", (1 / 3,) * 3 + (-1,)),
        (",score=penalty", ((0, 1, 2),), "total penalty", (-1,) * 3 + (0,)),
    ],
)
def test_who_is_distilled_and_how_it_is_scored(options, teams, name, weights):
    game = hydraviper.make(f"pettingzoo:mpe2.simple_tag_v3{options}")
    assert game.teams == teams
    assert game.score.name == name
    assert game.score.lower_is_better == (name == "total penalty")
    np.testing.assert_allclose(game.score.weights, weights)
    assert hydraviper.make(game.name, game.parameters).teams == teams


# ------------------------------------------------------------------------------------- batches, workers, objects


def test_batches_do_not_matter():
    game = hydraviper.make("pettingzoo:mpe2.simple_spread_v3,instances=4")
    whole = hydraviper.play(game, First(), SEEDS, record=True)
    for k, seed in enumerate(SEEDS):
        alone = hydraviper.play(game, First(), SEEDS[k : k + 1], record=True)
        np.testing.assert_array_equal(alone.returns[0], whole.returns[k])
        (part,) = [one for j, one in enumerate(whole.each()) if j == k]
        np.testing.assert_array_equal(part.observations[1], alone.observations[1])
        assert int(seed) == k


@pytest.mark.slow
@pytest.mark.parametrize(
    "game",
    [partial(catalogue.make, "gymnasium:CartPole-v1"), partial(hydraviper.from_gymnasium, Rooms())],
    ids=["by name", "by object"],
)
def test_workers_do_not_matter(game, monkeypatch):
    monkeypatch.setattr("hydraviper.engines.local.STARTING", 0.0)  # play in processes from the start
    made = game()
    with engine_for(made, 1) as one, engine_for(made, 2) as two:
        assert two.workers == 2
        first, second = (engine.play(First(), SEEDS, record=True) for engine in (one, two))
    np.testing.assert_array_equal(first.observations[0], second.observations[0])
    np.testing.assert_array_equal(first.returns, second.returns)


def test_objects_are_left_alone_and_named_where_they_can_be():
    env = gymnasium.make("CartPole-v1", max_episode_steps=40)
    env.reset(seed=3)
    state = env.unwrapped.state
    game = hydraviper.from_gymnasium(env)
    assert (game.name, dict(game.parameters), game.horizon) == ("gymnasium:CartPole-v1", {"steps": 40}, 40)
    assert env.unwrapped.state is state
    assert hydraviper.make(game.name, game.parameters).horizon == 40
    assert hydraviper.from_gymnasium(Rooms).name == "python:tests.helpers.environments:Rooms"
    assert hydraviper.from_pettingzoo(mpe2.simple_spread_v3.parallel_env()).name == "simple_spread_v3"
    wrapped = gymnasium.wrappers.TimeAwareObservation(gymnasium.make("CartPole-v1"))
    assert len(hydraviper.from_gymnasium(wrapped).agents[0].features) == 5
    assert hydraviper.from_pettingzoo(pettingzoo.make("aec", "classic/tictactoe-v3")).teams == (
        (0,),
    )  # AEC, as an object


def test_a_game_of_a_users_own_by_the_name_of_its_class():
    game = hydraviper.make("python:tests.test_borders:Walk")
    assert (game.name, dict(game.parameters)) == ("python:tests.test_borders:Walk", {})
    assert isinstance(game, hydraviper.Game)
    assert catalogue.maker(game)().agents == game.agents


def test_a_callable_gets_its_own_parameters():
    game = hydraviper.make("python:tests.helpers.environments:Rooms,longest=3,steps=9")
    assert game.horizon == 9
    assert hydraviper.play(game, First(), SEEDS).lengths.max() == 2
    assert dict(game.parameters) == {"longest": 3, "steps": 9}


def test_games_of_other_packages(monkeypatch):
    from importlib.metadata import EntryPoint

    entry = EntryPoint("rooms", "tests.helpers.environments:Rooms", "hydraviper.games")
    monkeypatch.setattr("hydraviper.outside.entry_points", lambda group: [entry] * (group == "hydraviper.games"))
    game = hydraviper.make("rooms:longest=3")
    assert (game.name, dict(game.parameters)) == ("rooms", {"longest": 3})
    assert catalogue.maker(game)().agents == game.agents
    with pytest.raises(InputError, match="did you mean rooms"):
        hydraviper.make("roms")


def test_a_strip_of_pictures():
    game = hydraviper.from_gymnasium(Rooms)
    pictures = offers(game).drawing.pictures(First(), 3, 3)
    length = int(hydraviper.play(game, First(), np.array([3], np.uint64)).lengths[0])
    assert [step for step, _ in pictures] == [0, round(length / 2), length]
    assert [picture[0, 0, 0] for _, picture in pictures] == [20 * (length - step) for step, _ in pictures]
    assert offers(hydraviper.from_pettingzoo(Leaving)).drawing.pictures is None


# ------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            partial(hydraviper.from_gymnasium, Forgetful),
            "does not repeat itself.*at step 0 in 'observation 0' of agent",
        ),
        (partial(hydraviper.from_gymnasium, Growing), r"of shape \(3,\), but its space says \(2,\)"),
        (partial(hydraviper.from_gymnasium, Steering), "continuous actions .*continuous=false"),
        (partial(hydraviper.from_pettingzoo, Crowd), "let in 'stranger_.*', which is not among its possible_agents"),
        (partial(hydraviper.from_pettingzoo, Nameless), "does not say which agents there can be"),
        (partial(hydraviper.from_pettingzoo, Rooms), "of the other kind: pass it to from_gymnasium"),
        (partial(hydraviper.from_gymnasium, 3), "is no environment and makes none"),
        (partial(hydraviper.from_gymnasium, Rooms, stepps=3), "there is no option 'stepps'"),
        (partial(hydraviper.make, "gymnasium:CartPoll-v1"), "Gymnasium cannot make 'CartPoll-v1'.*CartPole"),
        (partial(hydraviper.make, "gymnasium:CartPole-v1,wings=2"), "cannot be made with wings=2"),
        (partial(hydraviper.make, "gymnasium:CartPole-v1,steps=0"), "steps must be at least 1"),
        (partial(hydraviper.make, "gymnasium:CartPole-v1,steps=many"), "steps must be a whole number"),
        (partial(hydraviper.make, "gymnasium:CartPole-v1,score=best"), "there is no score 'best'"),
        (partial(hydraviper.make, "gymnasium:CartPole-v1,score=lead"), "score=lead compares with agents"),
        (partial(hydraviper.make, "gymnasium:Pendulum-v1"), "continuous actions"),
        (partial(hydraviper.make, "gymnasium:"), "gymnasium needs a id: write gymnasium:CartPole-v1"),
        (partial(hydraviper.make, "pettingzoo:mpe2.simple_tag_v9"), "needs the module mpe2.simple_tag_v9"),
        (partial(hydraviper.make, "pettingzoo:classic/chess-v99"), "has no 'classic/chess-v99' in its registry"),
        (partial(hydraviper.make, "pettingzoo:json"), "has neither parallel_env nor env"),
        (partial(hydraviper.make, "pettingzoo:mpe2.simple_tag_v3,distil=agnet"), "did you mean agent"),
        (
            partial(hydraviper.make, "pettingzoo:mpe2.simple_tag_v3,continuous_actions=true"),
            "continuous actions .*continuous_actions=false",
        ),
        (partial(hydraviper.make, "python:json"), "names no callable"),
        (partial(hydraviper.make, "python:json:lods"), "has no 'lods'"),
        (partial(hydraviper.make, "python:nowhere.at_all:x"), "needs the module nowhere"),
        (partial(hydraviper.make, "python:math:tau"), "cannot be called"),
        (partial(hydraviper.make, "python:builtins:dict"), "made a dict, which is neither a game nor an environment"),
        (partial(hydraviper.make, "python:tests.helpers.environments:Rooms,wings=2"), "has no parameter 'wings'"),
        (partial(hydraviper.make, "python:tests.test_borders:Walk,steps=2"), "steps is for environments"),
    ],
)
def test_what_cannot_be_played_is_refused_in_one_sentence(make, sentence):
    with pytest.raises(InputError, match=sentence) as refused:
        make()
    assert "\n" not in str(refused.value)


def test_a_package_that_is_missing(monkeypatch):
    monkeypatch.setattr("hydraviper.games.environments.by_name.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"needs the package gymnasium: run pip install 'hydraviper\[games\]'"):
        hydraviper.make("gymnasium:CartPole-v1")
