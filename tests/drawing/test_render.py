"""Trees as text and drawings, and the report: what a reader sees is what the tree does."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from hydraviper.data import Agent, Derived, Estimate, InputError, Term
from hydraviper.drawing.icons import SIDE, Icons
from hydraviper.drawing.pages.report import render_report
from hydraviper.drawing.pages.scores import scores, verdict
from hydraviper.drawing.panels import script
from hydraviper.drawing.svg import document, hatch, paint, text
from hydraviper.drawing.trees import to_svg
from hydraviper.records import Evaluation, Iteration, Summary, from_json
from hydraviper.trees.text import to_text
from hydraviper.trees.tree import LEAF, Tree
from hydraviper.trees.words import agreement, number, percent, threshold_texts
from tests.helpers.trees import random_tree

NAVIGATOR = Agent("agent-0", ("velocity x", "landmark 0 dx", "landmark 0 dy"), ("stay", "left", "right", "down", "up"))
SVG = "{http://www.w3.org/2000/svg}"


def rounded_tree(agent: Agent, depth: int, seed: int) -> Tree:
    """A full-grown random tree with thresholds of two decimals, which every drawing can show."""
    draws = np.random.default_rng(seed)
    return random_tree(agent, draws, depth, splits=1.0, thresholds=lambda size: draws.normal(size=size).round(2))


def read_back(agent: Agent, rules: str):
    """A function of an observation that follows the text alone."""
    question = re.compile(r"^ *(\d+)  (?:[│ ]*[├└]─ (?:yes|no): )?(.+) ≤ (\S+)\?\s")
    answer = re.compile(r"^ *(\d+)  (?:[│ ]*[├└]─ (?:yes|no) )?→ (.+?)\s{2,}")
    lines = iter(rules.splitlines()[3:])

    def build():
        line = next(lines)
        if match := question.match(line):
            return int(match[1]), agent.features.index(match[2]), np.float32(match[3]), build(), build()
        match = answer.match(line)
        assert match, line
        return int(match[1]), agent.actions.index(match[2])

    def act(observation: np.ndarray) -> tuple[int, int]:
        here = root
        while len(here) > 2:
            here = here[3] if observation[here[1]] <= here[2] else here[4]
        return here

    root = build()
    assert next(lines, None) is None
    return act


@pytest.mark.parametrize("depth", [1, 3, 5])
def test_the_text_decides_as_the_tree_does(depth: int):
    tree = rounded_tree(NAVIGATOR, depth, seed=depth)
    act = read_back(NAVIGATOR, to_text(NAVIGATOR, tree))
    observations = np.random.default_rng(9).normal(size=(200, 3)).round(2).astype(np.float32)
    for observation in observations:
        leaf = tree.path(observation)[-1]
        assert act(observation) == (leaf, tree.action[leaf])


def test_the_text_tells_share_and_agreement_and_fits_a_terminal():
    counts = np.array([[3.0, 1.0], [2.0, 1.0], [1.0, 0.0]])
    tree = Tree(
        np.array([0, -1, -1]),
        np.array([0.5, 0, 0], np.float32),
        np.array([1, -1, -1]),
        np.array([2, -1, -1]),
        np.array([0, 0, 1]),
        counts,
    )
    rules = to_text(Agent("one", ("speed",), ("go", "stop")), tree)
    assert re.search(r"0  speed ≤ 0\.5\? +4 +100% +50%", rules)  # what reaches a question agrees with the tree or not
    assert re.search(r"1  ├─ yes → go +3 +75% +67% +■+", rules)
    assert re.search(r"2  └─ no → stop +1 +25% +0% +■+", rules)  # a leaf that was edited against its data
    deep = to_text(NAVIGATOR, rounded_tree(NAVIGATOR, 5, seed=1))
    assert max(map(len, deep.splitlines())) <= 100


def test_thresholds_of_a_feature_never_look_alike():
    tree = rounded_tree(NAVIGATOR, 2, seed=0)
    inner = np.flatnonzero(tree.feature != LEAF)
    close = replace(tree, feature=np.minimum(tree.feature, 0))
    close.threshold[inner] = np.array([0.12311, 0.12314, 0.5], np.float32)
    texts = threshold_texts(close)
    assert [texts[node] for node in inner] == ["0.12311", "0.12314", "0.5"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        *[(0.0, "0"), (-0.0, "0"), (-0.12345, "-0.123"), (0.1, "0.1"), (2.5, "2.5"), (1234.0, "1230")],
        *[(-1e-9, "-1e-9"), (0.9999, "1"), (99.96, "100"), (1.5e9, "1.5e9"), (float(np.float32(0.1)), "0.1")],
    ],
)
def test_numbers_have_three_digits(value: float, shown: str):
    assert number(value) == shown


def test_shares_never_round_to_all_or_nothing():
    shown = [percent(share) for share in (0.0, 0.0001, 0.031, 0.5, 0.9999, 1.0, float("nan"))]
    assert shown == ["0%", "<0.1%", "3.1%", "50%", "99.9%", "100%", "–"]


def drawn_words(svg: str) -> Counter[str]:
    return Counter("".join(element.itertext()) for element in ElementTree.fromstring(svg).iter(SVG + "text"))


def test_the_drawing_holds_every_question_and_every_answer():
    tree = rounded_tree(NAVIGATOR, 5, seed=2)
    words, inner = drawn_words(to_svg(NAVIGATOR, tree)), tree.feature != LEAF
    shown = Counter("≤ " + label.replace("-", "−") for label in threshold_texts(tree) if label)
    assert {label: words[label] for label in shown} == dict(shown)
    answers = Counter(NAVIGATOR.actions[action] for action in tree.action[~inner])
    assert {action: words[action] for action in answers} == dict(answers)
    assert words["yes"] == words["no"] == inner.sum()


def test_boxes_of_a_drawing_do_not_overlap_and_stay_inside():
    tree = rounded_tree(NAVIGATOR, 5, seed=3)
    root = ElementTree.fromstring(to_svg(NAVIGATOR, tree))
    width, height = (float(part) for part in root.attrib["viewBox"].split()[2:])
    boxes = [group.find(SVG + "rect") for group in root.iter(SVG + "g") if group.get("class") == "node"]
    corners = [[float(box.attrib[key]) for key in ("x", "y", "width", "height")] for box in boxes if box is not None]
    assert len(corners) == len(tree)
    for k, (x, y, wide, high) in enumerate(corners):
        assert x >= 0
        assert y >= 0
        assert x + wide <= width
        assert y + high <= height
        for other_x, other_y, other_wide, other_high in corners[:k]:
            apart = x >= other_x + other_wide or other_x >= x + wide or y >= other_y + other_high or other_y >= y + high
            assert apart


def test_yes_stands_left_of_no():
    tree = rounded_tree(NAVIGATOR, 4, seed=5)
    root = ElementTree.fromstring(to_svg(NAVIGATOR, tree))
    labels = [(e.text, float(e.attrib["x"])) for e in root.iter(SVG + "text") if e.text in ("yes", "no")]
    for (yes, left), (no, right) in zip(labels[::2], labels[1::2], strict=True):
        assert (yes, no) == ("yes", "no")
        assert left < right


def test_tooltips_tell_the_path_and_the_counts():
    tree = rounded_tree(NAVIGATOR, 2, seed=6)
    titles = [e.text or "" for e in ElementTree.fromstring(to_svg(NAVIGATOR, tree)).iter(SVG + "title")]
    first = NAVIGATOR.features[tree.feature[0]]
    assert sum(title.startswith(f"{first} ≤ {threshold_texts(tree)[0]}\nand ") for title in titles) == 2
    heaviest = f"{NAVIGATOR.actions[tree.counts[0].argmax()]} {number(tree.counts[0].max(), 4)}"
    assert any(title.startswith("always") and heaviest in title for title in titles)


def test_names_are_escaped():
    agent = Agent('<b>&"me"', ("a<b", "c&d"), ("<go>", "st&p"))
    tree = rounded_tree(agent, 2, seed=0)
    svg, page = to_svg(agent, tree), report(agents=[agent], trees=[tree]).replace(script(), "")
    assert "<go>" in drawn_words(svg)
    for made in (svg, page):
        assert "<go>" not in made
        assert "<b>&" not in made
        assert not re.search(r"&(?!amp;|lt;|gt;|quot;|#)", made)


def test_a_drawing_is_well_formed_whatever_is_written_in_it():
    odd = "a\x1b[31m\x00\ud800\uffff\x85≤"
    made = ElementTree.fromstring(document(10, 10, odd, text(1, 1, odd, class_=odd)).encode())
    assert made.attrib["aria-label"] == made[0].text == made[2].text == "a�[31m����≤"


@pytest.mark.parametrize(
    "name", ["", " ", "a\x1b", "\x85", "a\nb", "\ud800", "\uffff", "a\u2028b", "\u202eab", None, 3]
)
def test_names_that_cannot_be_shown_are_refused(name):
    for call in (
        lambda: Agent(name, ("a",), ("b",)),
        lambda: Agent("agent", ("a", name), ("b",)),
        lambda: Agent("agent", ("a",), (name, "b")),
        lambda: Derived(name, (Term("value", (0,)),)),
    ):
        with pytest.raises(InputError, match="has the name") as refused:
            call()
        assert str(refused.value).isprintable()


def test_an_agreement_next_to_nothing_is_well_formed():
    none = np.array([LEAF])
    tree = Tree(none, np.zeros(1, np.float32), none, none, np.array([0]), np.array([[1.0, 1e6, 0, 0, 0]]))
    drawn = "".join(ElementTree.fromstring(to_svg(NAVIGATOR, tree)).itertext())
    assert "agrees with the expert on <0.1% of the data" in drawn


def test_a_single_leaf_without_data_works():
    for counts in (np.zeros((1, 5)), np.array([[1.0, 3, 0, 0, 0]])):
        none = np.array([LEAF])
        tree = Tree(none, np.zeros(1, np.float32), none, none, np.array([1]), counts)
        assert "left" in drawn_words(to_svg(NAVIGATOR, tree))
        assert "   0  → left" in to_text(NAVIGATOR, tree)
        assert "nan" not in to_svg(NAVIGATOR, tree) + to_text(NAVIGATOR, tree)


def test_nodes_carry_their_numbers_and_pictures():
    tree = rounded_tree(NAVIGATOR, 3, seed=8)
    plain = drawn_words(to_svg(NAVIGATOR, tree))
    assert all(plain[str(node)] == 1 for node in range(len(tree)))
    drawn = to_svg(NAVIGATOR, tree, Icons(tuple(f'<circle cx="24" cy="24" r="{k + 5}"/>' for k in range(5)), ""))
    circles = Counter(e.attrib["r"] for e in ElementTree.fromstring(drawn).iter(SVG + "circle"))
    leaves = tree.action[tree.feature == LEAF]
    assert circles == Counter(str(action + 5) for action in [*leaves, *range(5)])  # and the legend
    heights = [float(ElementTree.fromstring(svg).attrib["height"]) for svg in (to_svg(NAVIGATOR, tree), drawn)]
    assert heights[1] - heights[0] >= SIDE


def test_actions_can_be_told_apart_without_colours():
    hatches = [hatch(k, 0, 0, 60, 9) for k in range(16)]
    assert len(set(hatches)) == 15  # the first of every round is plain, but for the dashes around it
    assert (paint(0).dash, hatches[0]) != (paint(8).dash, hatches[8])
    for lines in hatches:  # nothing sticks out
        for x, y in re.findall(r"[ML]([-\d.]+) ([-\d.]+)", lines):
            assert 0 <= float(x) <= 60.05
            assert 0 <= float(y) <= 9.05


def test_agreement_of_a_question_is_that_of_its_leaves():
    tree = rounded_tree(NAVIGATOR, 4, seed=9)
    assert agreement(tree)[0] == pytest.approx(tree.fidelity)


def test_many_actions_look_different():
    agent = Agent("many", ("x", "y"), tuple(f"action {k}" for k in range(12)))
    words = drawn_words(to_svg(agent, rounded_tree(agent, 4, seed=1)))
    assert all(any(word.startswith(f"{action} ") for word in words) for action in agent.actions)  # the legend
    assert len({paint(k) for k in range(24)}) == 24


SUMMARY = {
    "game": "cooperative-navigation",
    "algorithm": "hydraviper",
    "seed": 7,
    "score": {"name": "total penalty", "mean": 145.231, "ci95": 0.61, "episodes": 2000, "lower_is_better": True},
    "expert": {"mean": 121.93, "ci95": 0.42},
    "yardsticks": {"random": {"mean": 231.8, "ci95": 1.3}},
    "measures": {"collisions": {"trees": {"mean": 1.21, "ci95": 0.05}, "expert": {"mean": 0.62, "ci95": 0.03}}},
    "opponents": {"a chaser": {"trees": {"mean": 5.2, "ci95": 0.3}, "expert": {"mean": 6.1, "ci95": 0.4}}},
    "rollouts": {"warmup": 50, "train": 500, "valid": 1300},
    "seconds": {"total": 12.5, "partition": 0.01, "collect": 3.21, "resample": 1.1, "train": 2.2, "select": 1.9},
    "selection": [{"team": ["agent-0"], "chosen": 2, "means": [None, -2.5, -2.75], "pulls": [0, 30, 5]}],
    "settings": {"iterations": 3, "depth": 4, "exploration": 1.25, "partition": None, "resume": True},
    "version": "9.8.7",
    "expert_hash": "sha256:abc123",
    "command": "hydraviper distill cooperative-navigation --seed 7",
    "out": "runs/here",
}
LEDGER = [
    {"iteration": k, "rollouts": 25 + k, "samples": 1250 * k, "dropped": None, "accuracy": {"agent-0": 0.5 + k / 10}}
    for k in (1, 2, 3)
]


def report(summary=SUMMARY, agents=(NAVIGATOR,), trees=None, ledger=LEDGER, notes=("Mind the <gap>.",)) -> str:
    return render_report(
        from_json(Summary, summary, "the summary"),
        agents=agents,
        trees=trees or [rounded_tree(NAVIGATOR, 3, seed=4)],
        ledger=[from_json(Iteration, line, "the ledger") for line in ledger],
        notes=notes,
    )


def told(**fields) -> Evaluation:
    return from_json(Evaluation, fields, "the evaluation")


class Reader(HTMLParser):
    """Checks that what is opened is closed; collects words and whatever a browser would load."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.open.append(tag)
        self.loads += [name for name, _ in attrs if name in ("src", "href", "xlink:href", "srcset", "data")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_data(self, data):
        self.words.append(data)


def read(page: str) -> str:
    reader = Reader()
    reader.feed(page)
    assert not reader.open
    assert not reader.loads
    return " ".join(reader.words)


def test_the_report_tells_everything_and_loads_nothing():
    page = report()
    words = read(page)
    for part in ("145.2 ± 0.6", "121.9 ± 0.4", "231.8 ± 1.3", "1.21 ± 0.05", "0.62 ± 0.03", "5.2 ± 0.3", "6.1 ± 0.4"):
        assert part in words
    for part in ("2,000 unseen episodes", "1,300", "1,850 episodes", "3.21", "4.08", "12.50", "chosen: 2", "← better"):
        assert part in words
    for part in ("9.8.7", "sha256:abc123", "--seed 7", "runs/here", "1.25", "none", "yes", "Mind the <gap>.", "3,750"):
        assert part in words
    assert to_text(NAVIGATOR, rounded_tree(NAVIGATOR, 3, seed=4)) in words
    assert not re.search(r"https?:|src=|@import|url\(|nan", page)


def test_the_report_is_content_with_little():
    little = {"game": "a game", "algorithm": "hydraviper"}
    words = read(report(summary=little, ledger=[], notes=[]))
    assert "not been scored" in words
    score = {"name": "points", "mean": -0.00001, "ci95": None, "episodes": 1, "lower_is_better": False}
    odd = {**little, "score": score, "expert": {"mean": 2.0, "ci95": float("nan")}}
    words = read(report(summary=odd, ledger=[{"iteration": 1, "accuracy": {"agent-0": None}}]))
    assert "The tree scores 0.00 points, the expert 2.00 (higher is better), over 1 unseen episode." in words
    many = [dict(line, accuracy={f"agent-{k}": 0.5 for k in range(9)}) for line in LEDGER]
    assert "mean of 9" in read(report(ledger=many))


@pytest.mark.parametrize(
    ("ours", "lower", "ending"),
    [
        (145.2, True, "The expert is ahead by 23.3."),
        (145.2, False, "The trees are ahead by 23.3."),
        (122.0, True, "That is too close to call."),
    ],
)
def test_the_verdict_says_who_is_ahead(ours: float, lower: bool, ending: str):
    score = {"name": "total penalty", "mean": ours, "ci95": 0.6, "episodes": 2000, "lower_is_better": lower}
    apart = {"mean": ours - 121.9, "ci95": 0.7}
    words = verdict(told(score=score, expert={"mean": 121.9, "ci95": 0.4}, difference=apart), 3)
    assert words.startswith(f"The three trees score {ours} ± 0.6 total penalty, the expert 121.9 ± 0.4 (")
    assert words.endswith(ending)


def test_who_pays_is_told_after_an_edit_as_well():
    """Nobody else has played again, so there are no differences; jams and waits are known all the same."""
    side = {"mean": 30.0, "ci95": 1.0, "median": 30.0, "worst": 40.0, "jammed": 0, "nearly_jammed": 0}
    score = {**side, "name": "delay", "episodes": 30, "lower_is_better": True, "jam_threshold": 90.0}
    waits = {"longest wait, s": {"trees": {"mean": 111.0, "ci95": 5.0}, "expert": {"mean": 95.0, "ci95": 4.0}}}
    page = scores(told(score=score, expert=side, yardsticks={"actuated": side}, measures=waits), 3, tuple(waits))
    assert "111 ± 5" in page
    assert "0 of 30" in page
    assert "trees less this" not in page


def test_the_verdict_is_by_the_difference_on_common_episodes():
    """The luck of the episode is not the trees', and two episodes tell next to nothing."""
    lucky = {"name": "total penalty", "mean": 130.0, "ci95": 20.0, "episodes": 40, "lower_is_better": True}
    known = {"score": lucky, "expert": {"mean": 125.0, "ci95": 20.0}}
    assert verdict(told(**known), 3).endswith("The difference from the expert, episode by episode, was not measured.")
    assert verdict(told(**known, difference={"mean": 5.0, "ci95": 1.0}), 3).endswith("The expert is ahead by 5.")
    assert verdict(told(**known, difference={"mean": 5.0, "ci95": 6.0}), 3).endswith("That is too close to call.")
    few = Estimate.of(np.array([3.0, 4.0]))  # with 1.96 standard errors this would be certain
    assert abs(few.mean) < few.ci95
