"""Scores in a terminal: what is told of few yardsticks and of many, and when a script is called better."""

from __future__ import annotations

import msgspec
import pytest

from hydraviper.cli import printing
from hydraviper.data import Estimate
from hydraviper.records import Outcome, ScoreRecord, Summary


def summary(scripts: dict[str, float], apart: float = 1.0) -> Summary:
    """Trees that lose 10 s, plus or minus 1, and scripts that wait as long as they say."""
    waits = {"trees": Estimate(5.0, 0.5), "expert": Estimate(6.0, 0.5)}
    waits |= {name: Estimate(wait, 0.1) for name, wait in scripts.items()}
    return Summary(
        game="street",
        algorithm="hydraviper",
        score=ScoreRecord(name="delay", mean=10.0, ci95=1.0, lower_is_better=True, episodes=30),
        expert=Outcome(mean=11.0, ci95=1.0),
        yardsticks={name: Outcome(mean=10 - apart, ci95=1.0) for name in scripts},
        differences={name: Estimate(apart, 1.5) for name in scripts},
        measures={"longest wait, s": waits},
    )


def test_of_many_yardsticks_it_is_told_how_far_they_reach(capsys):
    printing.print_scores(summary({"a": 7.0, "b": 9.5}))
    assert "longest wait, s: trees 5.00 ± 0.50, expert 6.00 ± 0.50, a 7.00 ± 0.10, b 9.50 ± 0.10" in _one_line(capsys)
    printing.print_scores(summary({"a": 7.0, "b": 9.5, "c": 1.25, "d": 3.0}))
    assert "longest wait, s 5.00 ± 0.50 6.00 ± 0.50 1.25 to 9.50" in _one_line(capsys)
    printing.print_scores(summary(dict.fromkeys("abcd", 2.0)))
    assert "longest wait, s 5.00 ± 0.50 6.00 ± 0.50 2.00" in _one_line(capsys)


@pytest.mark.parametrize(
    ("command", "title"),
    [
        ("hydraviper distill street --seed 0", "street"),
        ("hydraviper distill street:old/town.sumocfg,steps=9 --seed 0", "street:old/town.sumocfg"),
        (None, "street"),
    ],
)
def test_a_network_of_ones_own_is_called_by_its_file(command, title):
    assert msgspec.structs.replace(summary({}), command=command).title == title


@pytest.mark.parametrize(("apart", "better"), [(2.0, True), (1.0, False), (-2.0, False)])
def test_a_script_is_called_better_only_where_that_is_certain(capsys, apart, better):
    printing._print_advice(summary({"a": 1.0}, apart))
    assert ("Better than the trees: a." in _one_line(capsys)) == better


def _one_line(capsys) -> str:
    return " ".join(capsys.readouterr().out.split())
