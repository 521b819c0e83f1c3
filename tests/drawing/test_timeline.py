"""A score over time: what rollouts keep, quantiles, and lines that are told apart without colour."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import hydraviper
from hydraviper.data import Rollouts
from hydraviper.drawing.timeline import time_chart
from hydraviper.protocols import Drawing
from hydraviper.records import Course, OverTime
from hydraviper.runs.evaluate import over_time
from tests.helpers.drawings import SVG, parsed, words
from tests.helpers.street import street_with

SEEDS = np.arange(3, dtype=np.uint64)


def test_the_score_of_each_step_is_kept(street):
    rule = street.offers.scoring.yardsticks["longest queue"]
    here = hydraviper.play(street, rule, SEEDS)
    assert here.trace.shape == (3, 8)
    np.testing.assert_allclose(here.trace.mean(axis=1), street.score.of(here.returns))
    street.reset(SEEDS[:1])
    counted = []
    for _ in range(8):
        _, rewards, _ = street.step(np.zeros((1, 2), int))
        counted.append(-rewards.sum())
    always_first = hydraviper.play(street, First(), SEEDS[:1])
    np.testing.assert_allclose(always_first.trace[0], counted)
    parts = [pickle.loads(pickle.dumps(hydraviper.play(street, rule, SEEDS[k : k + 1]))) for k in range(3)]
    np.testing.assert_array_equal(Rollouts.join(parts).trace, here.trace)  # as worker processes send them


class First:
    def act(self, observations):
        return np.zeros((len(observations[0]), len(observations)), int)


def test_other_games_keep_no_trace(navigation):
    assert hydraviper.play(navigation, First(), SEEDS).trace is None
    assert navigation.offers.drawing == Drawing(scene=navigation.scene, scene_of=navigation.scene_of)


def test_lines_over_time_are_quantiles_of_smoothed_episodes(street):
    draws = np.random.default_rng(1)
    trace = draws.uniform(0, 30, size=(5, 125))
    game = hydraviper.make(street_with(steps=125))
    returns = -np.stack([trace.sum(axis=1), np.zeros(5)], axis=1)
    shown = over_time(game, 1 / 3, {"trees": Rollouts(returns, np.full(5, 125), trace=trace)})
    smooth = np.array([[row[max(0, k - 4) : k + 5].mean() for k in range(125)] for row in trace])
    course = shown.policies["trees"]
    assert shown.smoothed_minutes == pytest.approx(3)
    np.testing.assert_allclose(course.median, np.median(smooth, axis=0), atol=0.006)
    np.testing.assert_allclose(course.worst, smooth[trace.mean(axis=1).argmax()], atol=0.006)
    np.testing.assert_allclose(course.high, np.percentile(smooth, 90, axis=0), atol=0.006)
    trace[0, 100:] = np.nan  # an episode that ended early
    shown = over_time(game, 1 / 3, {"trees": Rollouts(returns, np.full(5, 125), trace=trace)})
    assert None not in shown.policies["trees"].median
    assert words(time_chart("Stopped vehicles", shown))


def test_the_chart_tells_policies_apart_without_colour():
    course = Course(low=(1, 2), median=(2, 3), high=(3, 4), worst=(3, 40))
    names = ("trees", "expert", "fixed time", "longest queue", "max-pressure")
    svg = time_chart("Stopped vehicles", OverTime(step_minutes=1, policies=dict.fromkeys(names, course)))
    assert all(words(svg).count(name) == 2 for name in names)  # in the common chart, and above its own
    strokes = [
        (path.attrib["stroke-width"], path.attrib["stroke-dasharray"])
        for path in parsed(svg).iter(SVG + "path")
        if path.attrib["d"].endswith("h18")
    ]
    assert len(set(strokes)) == len(names)
