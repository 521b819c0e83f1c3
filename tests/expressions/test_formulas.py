"""Features in people's own words: what lines define, for whom, and what is refused in one sentence."""

import itertools
import re
from fractions import Fraction

import numpy as np
import pytest

import hydraviper
from hydraviper.data import Agent, InputError
from hydraviper.expressions.features import chosen, features_of, read_lines
from hydraviper.expressions.names import points_of
from hydraviper.expressions.parser import parse_conditions
from hydraviper.trees.derived import extend
from hydraviper.verify.scene import Scene

FEATURES = ("speed", "goal dx", "goal dy", "wall dx", "wall dy", "queue a", "queue b", "queue c")
AGENTS = (Agent("one", FEATURES, ("stay", "go")), Agent("two", FEATURES[:3], ("stay", "go")))
ROW = np.array([[2.0, 3.0, 4.0, -3.0, 12.0, 5.0, 1.0, 7.0]], np.float32)
MEANINGS = {
    "[speed] - 2 * [queue a] + 1": -7.0,
    "2 [speed] / 4 - [queue b]": 0.0,
    "abs([goal dx] - [goal dy])": 1.0,
    "|[wall dx]|": 3.0,
    "-min([goal dx], [goal dy], 10)": -3.0,
    "max([queue *])": 7.0,
    "sum [queue *]": 13.0,
    "sum max([queue *], 4)": 16.0,
    "distance([goal])": 5.0,
    "distance([goal], [wall])": 10.0,
    "distance(([goal dx] + 9, [goal dy]), ([speed] - 2, -1))": 13.0,
    "min(distance([*]))": 5.0,
    "[speed] * [goal dx] * [goal dy]": 24.0,
    "1/3 * 3 * [speed]": 2.0,
    "([speed] - ([goal dx] - [goal dy]))": 3.0,
    "-(-[speed])": 2.0,
}


def read(lines: str) -> tuple:
    return read_lines(lines, AGENTS, ((), ()))


@pytest.mark.parametrize("formula", MEANINGS)
def test_what_formulas_mean(formula):
    (feature,), _ = read_lines(f"for one:\nx = {formula}", AGENTS, ((), ()))
    assert extend(ROW, (feature,))[0, -1] == pytest.approx(MEANINGS[formula])
    assert feature.formula == formula


def test_a_line_is_for_those_who_see_all_that_it_names():
    both, one = "near = distance([goal])", "gap = [queue a] - [queue b]"
    first, second = read(f"# a comment\n\n{both}\n{one}\ntwice = 2 * [gap]")
    assert [feature.name for feature in first] == ["near", "gap", "twice"]
    assert [feature.name for feature in second] == ["near"]
    assert extend(ROW, first)[0, -1] == 8  # a line may name those above it
    first, second = read(f"for t*:\n{both}\nfor *:\nspeed 2 = 2 * [speed]")
    assert [len(first), len(second)] == [1, 2]


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ("x = [spede]", "line 1 of the features: one has no feature 'spede': did you mean 'speed'?"),
        ("x = distance([gaol])", "one has no point 'gaol': did you mean 'goal'"),
        ("x = [speed]\nx = [goal dx]", "line 2 of the features: one already has a feature 'x'"),
        ("speed = [goal dx]", "already has a feature 'speed'"),
        ("x = [speed] / 0", "it divides by 0"),
        ("x = [speed] / (1 - 1)", "it divides by 0"),
        ("x = [speed] / [goal dx]", "it divides by a feature, which may be 0"),
        ("x = 3", "it names no feature"),
        ("x = speed + 1", "names stand in square brackets"),
        ("x = [speed] +", "cannot be read"),
        ("x = min([speed])", "min needs several numbers"),
        ("x = sum [speed]", "sum needs one name with *"),
        ("x = [queue *]", "stands for several"),
        ("x = distance([speed] + 1)", "distance is of points"),
        ("x = distance([goal], [wall], [goal])", "of two"),
        ("x = min(([speed], [speed]), 1)", "only distance is of points"),
        ("x = abs([speed], 1)", "abs is of one number"),
        ("x = 1e-50 * [speed]", "single precision"),
        ("x = 1e30 * 1e30 * [speed]", "single precision"),
        ("x = [two: speed]", "no tree is for 'two'"),
        ("x " + "y" * 80, "write name = formula"),
        ("a [b] = [speed]", "without brackets"),
        ("for three:\nx = [speed]", "no agent is 'three'"),
        (f"x = {'(' * 30}[speed]{')' * 30}", "more than 20 brackets"),
        (f"x = {' + '.join(['[speed]'] * 3000)}", "more than 20,000 characters"),
        ("x = " + "min(1, " * 12 + "[speed] * [goal dx]" + ")" * 12, "nests too deeply"),
    ],
)
def test_one_sentence_says_what_is_wrong(lines, complaint):
    with pytest.raises(InputError, match=re.escape(complaint)) as caught:
        read(lines)
    assert "\n" not in str(caught.value)


def test_the_page_s_example_is_read_with_its_comments():
    text = "# all\nfar = distance([goal])  # how far\n\nfor t*:   # the lines below\n  fast = 2 * [speed]\n"
    first, second = read(text)
    assert [[one.name for one in own] for own in (first, second)] == [["far"], ["far", "fast"]]


def test_points_are_named_by_their_coordinates():
    agent = Agent("a", ("goal dx", "goal dy", "position x", "position y", "lone dx"), ("stay",))
    assert points_of(agent) == {"goal": (0, 1), "position": (2, 3)}


def test_conditions_have_the_same_functions():
    scene = Scene(AGENTS, ((), ()), (0, 1), "there are no signals")

    def true(text: str) -> bool:
        condition = parse_conditions([text], scene.scope, 0)
        return condition.holds(lambda feature: _exactly(feature[1]))

    def _exactly(which):
        return Fraction(float(ROW[0, which] if isinstance(which, int) else extend(ROW, (which,))[0, -1]))

    assert true("distance([goal]) == 5")
    assert true("2 * min([speed], [goal dx]) < 5")
    assert true("max([queue *]) / 7 <= [speed] - 1")
    assert true("abs([wall dx]) = 3")
    assert not true("distance([goal], [wall]) < 10")
    with pytest.raises(InputError, match="mixes what two agents see"):
        parse_conditions(["min([one: speed], [two: speed]) < 1"], scene.scope, None)
    with pytest.raises(InputError, match="divides by 0"):
        parse_conditions(["[speed] / 0 < 1"], scene.scope, 0)


def test_words_and_files(tmp_path):
    file = tmp_path / "mine.txt"
    file.write_text("near = distance([goal])\n")
    assert chosen(None) is None
    assert chosen("found") == "found"
    assert chosen(str(file)) == file.read_text()
    for text, complaint in (("derved", "choose one of plain, derived"), (str(tmp_path), "there is no file")):
        with pytest.raises(InputError, match=complaint):
            chosen(text)
    file.write_text("# nothing\n")
    with pytest.raises(InputError, match="has no line"):
        chosen(str(file))
    file.write_bytes(b"x = [\xff\xfe]")
    with pytest.raises(InputError, match="cannot be read"):
        chosen(str(file))


@pytest.mark.parametrize(
    "name", ["cooperative-navigation:agents=2", "cooperative-navigation", "physical-deception:defenders=3"]
)
def test_what_ships_can_be_read(name):
    game = hydraviper.make(name)
    features = features_of(game, "shipped")
    assert all(len(features[i]) > len(game.offers.search.derived[i]) for team in game.teams for i in team)


def test_what_it_costs_the_team_if_i_take_a_landmark():
    game = hydraviper.make("cooperative-navigation")
    seen = game.reset(np.arange(20, dtype=np.uint64))
    ways = np.linalg.norm(game.positions[:, :, None] - game.landmarks[:, None], axis=3)  # [B, agents, landmarks]
    for i in range(3):
        features = {one.name: one for one in features_of(game, "shipped")[i]}
        for k in range(3):
            orders = [order for order in itertools.permutations(range(3)) if order[i] == k]
            least = np.min([sum(ways[:, a, m] for a, m in enumerate(order)) for order in orders], axis=0)
            told = extend(seen[i], (features[f"team's way if I take landmark {k}"],))[:, -1]
            np.testing.assert_allclose(told, least, atol=1e-5)
