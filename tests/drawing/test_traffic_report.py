"""The report of traffic signals: delay against every yardstick, then the rules, then the streets."""

from __future__ import annotations

import re

import pytest

from hydraviper.data import Agent
from hydraviper.drawing.pages.report import render_report
from hydraviper.drawing.pages.scores import verdict
from hydraviper.drawing.pages.streets import streets
from hydraviper.records import Evaluation, Summary, from_json
from tests.helpers.trees import leaf

SIGNAL = Agent("signal-1", ("phase 1 is green", "queue from west"), ("phase 1", "phase 2"))
FOREMOST = ("vehicles that could not enter", "longest wait, s")
QUIET = {"agent": "signal-1", "served": 412.5, "mean_wait": 12.34, "longest_wait": 61.0, "outside": 0.0}
STARVED = {"agent": "signal-1", "served": 0.0, "mean_wait": 1307.3, "longest_wait": 2487.0, "outside": 219.2}
STREETS = {
    "trees": [
        {"street": "signal-1 from west (Station Road)", "level_of_service": "B", **QUIET},
        {"street": "signal-1 from east <10425609#1>", "level_of_service": "F", **STARVED},
        {"street": "signal-1 from south (Mill Lane)", "level_of_service": None, **QUIET, "served": 0.0},
    ],
    "fixed time": [
        {"street": "signal-1 from west (Station Road)", "level_of_service": "C", **QUIET, "mean_wait": 30.0}
    ],
}
SUMMARY = {
    **{"game": "a corridor", "algorithm": "hydraviper", "streets": STREETS},
    "score": {
        **{"name": "delay", "unit": "s per vehicle", "mean": 22.59, "ci95": 0.5, "episodes": 30},
        **{"lower_is_better": True, "median": 22.3, "worst": 24.9, "jammed": 0, "jam_threshold": 64.1},
    },
    "expert": {"mean": 23.7, "ci95": 0.6, "median": 23.9, "worst": 25.0, "jammed": 1},
    "difference": {"mean": -1.1, "ci95": 0.4},
    "yardsticks": {
        "fixed time": {"mean": 39.5, "ci95": 0.7, "median": 38.9, "worst": 42.4, "jammed": 0},
        "max-pressure": {"mean": 22.4, "ci95": 0.6, "median": 21.4, "worst": 22.3, "jammed": 0},
        "actuated": {"mean": 20.0, "ci95": 0.6, "median": 21.4, "worst": 22.3, "jammed": 1, "nearly_jammed": 2},
    },
    "differences": {
        "fixed time": {"mean": -16.9, "ci95": 0.8},
        "max-pressure": {"mean": 0.2, "ci95": 0.3},
        "actuated": {"mean": 2.6, "ci95": 0.3},
    },
    "measures": {
        "longest wait, s": {"trees": {"mean": 171.8, "ci95": 18.2}, "fixed time": {"mean": 118.0, "ci95": 30.0}},
        "stops per vehicle": {"trees": {"mean": 0.86, "ci95": 0.08}, "fixed time": {"mean": 1.04, "ci95": 0.04}},
    },
}


def page(**changes) -> str:
    summary = from_json(Summary, {**SUMMARY, **changes}, "the summary")
    return render_report(summary, agents=[SIGNAL], trees=[leaf(0, 2)], foremost=FOREMOST)


def told(**fields) -> Evaluation:
    return from_json(Evaluation, fields, "the evaluation")


def cells(html: str, row: str) -> list[str]:
    """The cells of the table's row that begins with a name."""
    found = next(line for line in re.findall(r"<tr>(.*?)</tr>", html, re.S) if f">{row}</th>" in line)
    return re.findall(r"<td[^>]*>(.*?)</td>", found)


def test_the_order_is_that_of_questions():
    order = re.findall(r"<h[23]>(.*?)</h[23]>", page())
    assert order[:3] == ["How good the trees are", "The tree", "Street by street"]
    assert order.index("Other measures") > 2


def test_everybody_beside_the_trees_on_the_same_episodes():
    html = page()
    assert cells(html, "this tree") == ["22.6 ± 0.5", "–", "0 of 30", "172 ± 18"]
    assert cells(html, "fixed time")[:4] == ["39.5 ± 0.7", "-16.9 ± 0.8", "0 of 30", "118 ± 30"]
    assert cells(html, "actuated")[2] == "1 of 30, 2 nearly"
    assert cells(html, "expert")[:3] == ["23.7 ± 0.6", "-1.1 ± 0.4", "1 of 30"]
    assert "stops per vehicle" in html.partition("Other measures")[2]
    assert "longest wait, s" not in html.partition("Other measures")[2]


def test_the_verdict_says_who_is_beaten():
    words = verdict(from_json(Summary, SUMMARY, "the summary"), 3)
    assert words == (
        "The three trees score a delay of 22.6 ± 0.5 s per vehicle, the expert 23.7 ± 0.6 (lower is better), over 30 "
        "unseen episodes. Episode by episode they are better than fixed time; worse than actuated; hardly to be told "
        "from max-pressure. The trees are ahead of the expert by 1.1."
    )


def test_a_starved_street_catches_the_eye():
    html = page().partition("Street by street")[2]
    assert "1 of 3 streets stands out" in html
    assert cells(html, "signal-1 from west (Station Road)") == ["412.5", "12.3", "B", "61", "0.0", "30.0 C"]
    assert cells(html, "signal-1 from east &lt;10425609#1&gt;") == ["0.0", "1,307.3", "F", "2,487", "219.2", "–"]
    assert cells(html, "signal-1 from south (Mill Lane)")[2] == "–"
    marked = re.findall(r'class="(?:n )?bad">(.*?)<', html)
    assert marked == ["signal-1 from east &lt;10425609#1&gt;", "1,307.3", "F", "2,487", "219.2"]


@pytest.mark.parametrize(("wait", "level", "longest", "poor"), [(40, "D", 120, 0), (60, "E", 90, 1), (12, "B", 121, 1)])
def test_what_stands_out(wait, level, longest, poor):
    known = {**QUIET, "street": "a", "mean_wait": wait, "level_of_service": level, "longest_wait": longest}
    html = streets(told(streets={"trees": [known]}))
    assert ("On no street" in html) == (poor == 0)
    assert ("1 of 1 streets stands out" in html) == (poor == 1)


def test_without_streets_there_is_no_section():
    assert "Street by street" not in page(streets={})
    assert streets(told()) == ""
