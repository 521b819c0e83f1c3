"""Wrong answers that the prover once gave, each as the smallest case that shows it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

import hydraviper
from hydraviper.data import Agent, Derived, InputError, Term
from hydraviper.trees import file
from hydraviper.trees.tree import LEAF, Tree
from hydraviper.verify import properties
from hydraviper.verify.obligations import Obligations, resolve
from hydraviper.verify.prover.proof import verify
from hydraviper.verify.scene import Scene
from tests.helpers.command_line import refuses
from tests.helpers.trees import save_constant_trees

HOLDS, BROKEN, NOWHERE = "holds", "broken", "applies nowhere"
GO, WAIT = 0, 1


def tree(*questions: tuple[int, float], derived: tuple[Derived, ...] = ()) -> Tree:
    """Go where every feature is at most its threshold, else wait."""
    count = len(questions)
    feature = [k for k, _ in questions] + [LEAF] * (count + 1)
    threshold = [value for _, value in questions] + [0.0] * (count + 1)
    left = [*range(1, count), count, *[LEAF] * (count + 1)] if count else [LEAF]
    right = [*range(count + 1, 2 * count + 1), *[LEAF] * (count + 1)]
    action = [WAIT] * count + [GO] + [WAIT] * count
    arrays = np.array(feature), np.array(threshold, np.float32), np.array(left), np.array(right), np.array(action)
    return Tree(*arrays, np.ones((len(feature), 2)), derived)


def scene(features: tuple[str, ...], derived: tuple[Derived, ...] = (), names: tuple[str, ...] = ("agent-0",)) -> Scene:
    agents = tuple(Agent(name, features, ("go", "wait")) for name in names)
    return Scene(agents, (derived,) * len(names), tuple(range(len(names))), "there are no signals")


def rules_of(text: str, where: Scene) -> Obligations:
    return resolve(properties.read(text, "the test"), where)


def said(text: str, where: Scene, *trees: Tree) -> str:
    (answer,) = verify(rules_of(text, where), dict(enumerate(trees)))
    return answer.outcome


def rule(*when: str, never: str = "go", more: str = "") -> str:
    return f"[[property]]\nname = 'p'\nwhen = {json.dumps(list(when))}\nnever = '{never}'\n{more}"


COUNTS = "[[domain]]\nfeatures = '*'\nvalues = 'count'\nmost = 4\n"
REAL = "[[domain]]\nfeatures = '*'\nleast = -5\nmost = 5\n"


# --------------------------------------------------------------------------- holds, though it is broken


def test_a_derived_feature_that_repeats_a_term():
    three = (Derived("three x", (Term("value", (0,)),) * 3),)
    asks = tree((1, 3.0), derived=three)
    assert said(rule("1.5 <= x <= 2", never="wait", more=REAL), scene(("x",), three), asks) == BROKEN
    assert said(rule("1.5 <= x <= 2", never="go", more=REAL), scene(("x",), three), asks) == HOLDS


def test_a_factor_behind_the_star():
    # only x = 4 is meant
    assert said(rule("[x] * 2 >= 7", more=COUNTS), scene(("x",)), tree()) == BROKEN
    assert said(rule("[x] * 2 >= 9", more=COUNTS), scene(("x",)), tree()) == NOWHERE


@pytest.mark.parametrize("text", ["[x] * [y] >= 1", "[x] [y] >= 1", "[x] * 2 [y] >= 1", "([x] + 1) * ([y] + 1) > 0"])
def test_products_of_features_are_refused(text):
    with pytest.raises(InputError, match=r"cannot be read"):
        rules_of(rule(text), scene(("x", "y")))


def test_a_sum_of_sizes_keeps_its_bars():
    text = rule("sum |[velocity *]| >= 3", more=REAL)
    where = scene(("velocity x", "velocity y"))
    assert said(text, where, tree((0, 0.0), (1, 0.0))) == BROKEN


def test_every_other_size_leaves_out_what_is_named():
    text = rule("queue a >= 2", "every other |[queue *]| <= 0", more=COUNTS)
    assert said(text, scene(("queue a", "queue b")), tree()) == BROKEN


def test_a_pattern_that_only_derived_features_match():
    far = tuple(Derived(f"distance to landmark {k}", (Term("distance", (2 * k, 2 * k + 1)),)) for k in range(2))
    where = scene(("a", "b", "c", "d"), far)
    assert said(rule("some distance to landmark * <= 0.5", more=REAL), where, tree()) == BROKEN
    assert said(rule("every distance to landmark * >= 8", more=REAL), where, tree()) == NOWHERE


def test_agents_whose_stars_agree_are_still_two():
    text = """
        [[property]]
        name = "p"
        for_each = { i = { agent = "predator-*" }, j = { agent = "prey-*" } }
        agents = ["predator-{i}", "prey-{j}"]
        never = { "predator-{i}" = "go", "prey-{j}" = "go" }
    """
    where = scene(("x",), names=("predator-0", "predator-1", "prey-0"))
    # only predator-0 goes, and so does prey-0
    assert said(text, where, tree(), tree((0, -2e6)), tree()) == BROKEN


@pytest.mark.parametrize(
    "known", ["[[fact]]\nholds = '[x] == 0.1'\n", "[[domain]]\nfeatures='x'\nleast=0.1\nmost=0.1\n"]
)
def test_a_number_that_is_no_float32_does_not_empty_the_world(known):
    assert said(rule("x > 0", more=known), scene(("x",)), tree()) == BROKEN


def test_whole_sums_that_float32_rounds():
    both = (Derived("both", (Term("value", (0,)), Term("value", (1,)))),)
    most = "[[domain]]\nfeatures = '*'\nvalues = 'count'\nmost = 33554432\n"
    text = rule("[a] + [b] > 16777216", "b == 1", more=most)
    assert said(text, scene(("a", "b"), both), tree((2, 2.0**24), derived=both)) == BROKEN


def test_distances_of_denormals():
    far = (Derived("far", (Term("distance", (0, 1)),)),)
    text = rule("x >= 1e-45", "y >= 1e-45", more=REAL)
    assert said(text, scene(("x", "y"), far), tree((2, 2.0**-149), derived=far)) == BROKEN


@pytest.mark.parametrize("fact", ["|10 [x]| <= 0", "|1000 [x]| <= 0", "|100 [x] - 100 [y]| <= 0"])
def test_a_fact_about_denormals_has_room_for_a_step_of_each(fact):
    # the smallest float32 is one step away from 0, and so is 10 times it from 10 times 0
    text = rule("x > 0", "y == 0", more=f"[[domain]]\nfeatures='*'\nleast=0\nmost=1\n[[fact]]\nholds='{fact}'\n")
    assert said(text, scene(("x", "y")), tree()) in (BROKEN, "undecided")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (rule("x > 1", "x < 1"), ("agent-0",)),
        (rule("x > 2e6"), ("agent-0",)),
        (rule("[x] - [x] > 0"), ("agent-0",)),
        (
            "[[property]]\nname = 'p'\nfor_each = { i = { agent = 'agent-*' }, j = { agent = 'agent-*' } }\n"
            "agents = ['agent-{i}', 'agent-{j}']\nnever = { 'agent-{i}' = 'go', 'agent-{j}' = 'go' }\n",
            ("agent-0",),
        ),
    ],
)
def test_what_applies_nowhere_does_not_hold(text, names):
    assert said(text, scene(("x",), names=names), tree()) == NOWHERE


# --------------------------------------------------------------------------- broken, though it is not


def test_a_fact_that_ties_in_an_agent_outside_the_rule():
    text = """
        [[property]]
        name = "p"
        agents = ["agent-0", "agent-1"]
        when = "[agent-0: x] >= [agent-1: x] + 1"
        never = { agent-0 = "go" }

        [[fact]]
        holds = ["[agent-0: x] == [agent-2: x]", "[agent-1: x] == [agent-2: x]"]

        [[domain]]
        features = "x"
        values = "count"
        most = 9
    """
    where = scene(("x",), names=("agent-0", "agent-1", "agent-2"))
    assert said(text, where, tree(), tree(), tree()) == NOWHERE
    # and where the tied agent lets it happen, its observation is shown as well
    loose = text.replace("[agent-1: x] ==", "[agent-1: x] <=")
    (answer,) = verify(rules_of(loose, where), dict.fromkeys(range(3), tree()))
    assert answer.outcome == BROKEN
    seen = answer.counterexamples[0].observations
    assert seen[0][0] == seen[2][0] >= seen[1][0] + 1


def test_an_own_domain_does_not_undo_the_games():
    game = hydraviper.data.Knowledge((hydraviper.data.Domain(("queue *",), "count"),))
    counts = scene(("queue a",))
    known = Scene(counts.agents, counts.derived, counts.distilled, counts.served, game)
    own = "[[domain]]\nfeatures = 'queue *'\nleast = -5\nmost = 5\n"
    assert said(rule("0 < queue a < 1", more=own), known, tree()) == NOWHERE
    assert said(rule("queue a < 0", more=own), known, tree()) == NOWHERE
    assert said("game_facts = false\n" + rule("0 < queue a < 1", more=own), known, tree()) == BROKEN


def test_rules_on_one_derived_feature_do_not_leave_no_action():
    from hydraviper.verify.bounds import bounds_of, by_agent, check_possible

    gap = (Derived("gap", (Term("value", (0,)), Term("value", (1,), -1))),)
    both = "{ when = 'gap >= 2', never = 'go' }, { when = 'gap <= 1', never = 'wait' }"
    text = f"[[property]]\nname = 'p'\nrules = [{both}]\n"
    rules = rules_of(text + REAL, scene(("x", "y"), gap))
    own = by_agent(rules, {})[0]
    check_possible(bounds_of(rules, 0, own, gap), "agent-0", 3, None)  # a tree that may ask for it can keep both
    with pytest.raises(InputError, match="cannot be kept apart"):
        check_possible(bounds_of(rules, 0, own, ()), "agent-0", 3, None)
    clash = text.replace("<= 1", "<= 3")
    rules = rules_of(clash + REAL, scene(("x", "y"), gap))
    with pytest.raises(InputError, match="no action is left where these meet"):
        check_possible(bounds_of(rules, 0, by_agent(rules, {})[0], gap), "agent-0", 3, None)


def test_a_counterexample_tells_the_inputs_of_derived_features():
    from hydraviper.verify.verdicts import in_words

    gap = (Derived("gap", (Term("value", (0,)), Term("value", (1,), -1))),)
    where, asks = scene(("left side", "right side"), gap), tree((2, -1.0), derived=gap)
    rules = rules_of(rule(more=REAL), where)
    (answer,) = verify(rules, {0: asks})
    words = in_words(rules, answer.counterexamples[0], {0: asks})
    assert "left side" in words
    assert "right side" in words


# --------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("number", ["1e39", "1e99999999", "1e-99999999", "9" * 400, "1" + "0" * 39, "1e+0039"])
def test_numbers_beyond_every_float_are_refused_at_once(number):
    start = time.monotonic()
    with pytest.raises(InputError, match="1e38"):
        rules_of(rule(f"x <= {number}"), scene(("x",)))
    assert time.monotonic() - start < 2


@pytest.mark.parametrize("limit", ["nan", "inf", "-inf", "1e300", "true", "'a'"])
def test_limits_that_are_no_numbers(limit):
    with pytest.raises(InputError, match="least"):
        rules_of(rule("x > 0", more=f"[[domain]]\nfeatures='x'\nleast = {limit}\n"), scene(("x",)))


def test_many_stars_take_no_time():
    start = time.monotonic()
    with pytest.raises(InputError, match="no feature"):
        rules_of(rule("some " + "*a" * 25 + "*c > 0"), scene(("a" * 200 + "b", "b" * 60)))
    assert time.monotonic() - start < 2


def test_eight_variables_take_no_time():
    each = ", ".join(f"v{k} = {{ feature = 'f *' }}" for k in range(8))
    text = f"[[property]]\nname = 'p'\nfor_each = {{ {each} }}\nwhen = 'f {{v0}} > 0'\nnever = 'go'\n"
    start = time.monotonic()
    with pytest.raises(InputError, match="for_each makes"):
        rules_of(text, scene(tuple(f"f {k}" for k in range(30))))
    assert time.monotonic() - start < 2


@pytest.mark.parametrize("text", ["(" * 3000 + "[x]" + ")" * 3000 + " > 0", "|" * 80 + "[x]" + "|" * 80 + " > 0"])
def test_deep_nesting_is_refused(text):
    with pytest.raises(InputError, match="cannot be read"):
        rules_of(rule(text), scene(("x",)))


def test_nesting_that_is_allowed_is_understood():
    text = "(" * 20 + "[x]" + ")" * 20 + " > 3"
    assert said(rule(text, more=COUNTS), scene(("x",)), tree((0, 3.0))) == HOLDS
    assert said(rule("|||[x]| - 2| - 1| >= 1.5", more=COUNTS), scene(("x",)), tree()) == NOWHERE
    assert said(rule("|||[x]| - 2| - 1| >= 1", "x < 4", "x > 0", more=COUNTS), scene(("x",)), tree((0, 1.0))) == HOLDS


def test_another_agents_feature_in_a_rule_of_one_agent():
    text = "[[property]]\nname='p'\nagent='agent-0'\nwhen=['[agent-1: x] > 2', '[x] < 1']\nnever='go'\n" + COUNTS
    where = scene(("x",), names=("agent-0", "agent-1"))
    assert said(text, where, tree(), tree()) == BROKEN
    assert said(text, where, tree((0, -1.0)), tree()) == HOLDS
    tied = text + "[[fact]]\nholds = '[agent-0: x] == [agent-1: x]'\n"
    assert said(tied, where, tree(), tree()) == NOWHERE


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("agents = ['agent-0', 'agent-0']\nnever = { agent-0 = 'go' }", "twice"),
        ("agents = ['agent-{i}', 'agent-0']\nfor_each = { i = ['0'] }\nnever = { agent-0 = 'go' }", "twice"),
        ("agents = ['agent-0', 'agent-1']\nserves = 'x'", "serves is about one signal"),
        ("agents = ['agent-0', 'agent-1']\nnever = 'go'", "by agent"),
        ("agents = ['agent-0', 'agent-1']\nwhen = 'x > 1'\nnever = { agent-0 = 'go' }", "say whose"),
    ],
)
def test_agents_that_are_named_badly(text, sentence):
    with pytest.raises(InputError, match=sentence):
        rules_of(f"[[property]]\nname = 'p'\n{text}\n", scene(("x",), names=("agent-0", "agent-1")))


def test_trees_that_lack_an_agent():
    rules = rules_of(rule("x > 0"), scene(("x",), names=("agent-0", "agent-1")))
    with pytest.raises(InputError, match="no tree for agent-1"):
        verify(rules, {0: tree()})


# --------------------------------------------------------------------------- by the command line


EMPTY = "[[property]]\nname = 'p'\nwhen = ['position x > 1', 'position x < 1']\nnever = 'left'\n"


@pytest.mark.slow
def test_exit_codes(call):
    save_constant_trees(Path("run"))
    once = "[[property]]\nname = 'p'\nwhen = 'position x < -1'\nnever = '{}'\n"
    for text, code, answer in ((once.format("right"), 0, HOLDS), (once.format("left"), 1, BROKEN), (EMPTY, 1, NOWHERE)):
        Path("p.toml").write_text(text)
        found, printed, _ = call("verify", "run", "p.toml", "--json", "--episodes", 2)
        assert found == code
        assert json.loads(printed)["properties"][0]["answer"] == answer
    assert call("verify", "run", "p.toml", "--allow-empty", "--episodes", 2)[0] == 0


def test_a_file_without_a_property_proves_nothing(call):
    save_constant_trees(Path("run"))
    Path("p.toml").write_text("")
    code, printed, complaint = call("verify", "run", "p.toml", "--episodes", 2)
    assert code != 0
    assert "holds" not in printed
    assert printed + complaint


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (EMPTY.replace("position x > 1", "position x > 1e39"), "(1e39 is no number"),
        (EMPTY + "[[domain]]\nfeatures = '*'\nleast = nan\n", "p.toml: a domain: least"),
        (EMPTY.replace("position x > 1", "[position x] * [position y] > 1"), "it multiplies features"),
    ],
)
def test_bad_files_are_one_sentence(call, text, sentence):
    save_constant_trees(Path("run"))
    Path("p.toml").write_text(text)
    refuses(call, sentence, "verify", "run", "p.toml")


@pytest.mark.slow
def test_a_run_that_lacks_an_agent(call):
    game = hydraviper.make("cooperative-navigation")
    always = Tree(*(np.array([v]) for v in (LEAF, 0.0, LEAF, LEAF, 1)), np.ones((1, 5)))
    made = {"algorithm": "by hand", "settings": {}, "seed": 0, "expert": "none", "version": "0"}
    trees = file.TreesFile(game.name, game.parameters, game.agents[:2], (always,) * 2, made)
    file.save(trees, Path("run/trees.json"))
    refuses(call, "agent-2", "verify", "run")


# --------------------------------------------------------------------------- repair


def test_repair_says_smallest_only_where_it_is():
    from hydraviper.verify.repair import repair

    where, always_wait = scene(("a", "b")), tree((0, -1.0))
    text = rule("[a] - [b] >= 3", never="wait", more=COUNTS)
    seen = np.array([[a, b] for a in range(5) for b in range(5)], np.float32)
    fixed = repair(rules_of(text, where), {0: always_wait}, {0: seen}, 4)
    assert said(text, where, fixed.students[0]) == HOLDS
    changed = int((fixed.students[0].predict(seen) != always_wait.predict(seen)).sum())
    # go at (3, 0), (4, 0) and (4, 1), and nowhere else
    feature = [0, LEAF, 1, LEAF, 0, LEAF, 1, LEAF, LEAF]
    threshold = np.array([2.5, 0, 0.5, 0, 3.5, 0, 1.5, 0, 0], np.float32)
    left, right = [1, LEAF, 3, LEAF, 5, LEAF, 7, LEAF, LEAF], [2, LEAF, 4, LEAF, 6, LEAF, 8, LEAF, LEAF]
    action = [WAIT, WAIT, WAIT, GO, WAIT, WAIT, WAIT, GO, WAIT]
    least = Tree(*map(np.array, (feature, threshold, left, right, action)), np.ones((9, 2)))
    assert said(text, where, least) == HOLDS
    assert int((least.predict(seen) != always_wait.predict(seen)).sum()) == 3
    assert changed >= 3
    assert fixed.smallest == (changed == 3)
