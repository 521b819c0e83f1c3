"""What files say: records that read what they wrote, and what older versions wrote."""

import json
import math
from importlib import resources

import jsonschema
import pytest

from hydraviper import records
from hydraviper.data import Estimate, InputError
from hydraviper.records import Evaluation, Iteration, Outcome, ScoreRecord, Summary, decode, encode, to_json

SCORE = ScoreRecord(name="delay", mean=12.5, ci95=math.nan, episodes=1, lower_is_better=True, count=1)


@pytest.mark.parametrize("name", records.PUBLISHED)
def test_published_schemas_are_current(name):
    published = (resources.files("hydraviper") / "schema" / f"{name}.json").read_text()
    assert json.loads(published) == records.schemas()[name], "run python -m hydraviper.records"


def test_a_summary_fits_its_schema_and_comes_back():
    summary = Summary(
        game="g", algorithm="a", score=SCORE, expert=Outcome(1.0, 0.5, 9), difference=Estimate(1.0, 2.0), notes=()
    )
    text = encode(summary)
    value = json.loads(text)
    jsonschema.validate(value, records.schemas()["summary"])
    assert value["score"] == {"name": "delay", "mean": 12.5, "ci95": None, "episodes": 1, "lower_is_better": True}
    assert value["expert"] == {"mean": 1.0, "ci95": 0.5}  # counts stand elsewhere, what is not known is left out
    assert value["notes"] == []
    again = decode(Summary, text, "summary.json")
    assert math.isnan(again.score.ci95)
    assert to_json(again) == value


def test_old_files_say_nan_and_less_and_more():
    old = '{"score": {"name": "n", "mean": NaN, "ci95": NaN, "episodes": 2, "lower_is_better": true}, "newer": [1]}'
    assert math.isnan(decode(Evaluation, old, "old.json").score.mean)
    assert decode(Iteration, '{"iteration": 3}', "ledger.jsonl").accuracy == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "x.json is not JSON"),
        ('{"score": 3}', r"x.json does not fit this version of hydraviper: .* at `\$.score`\.$"),
        ("[" * 100_000, "x.json is not JSON"),
    ],
)
def test_what_does_not_fit_is_a_sentence(text, words):
    with pytest.raises(InputError, match=words):
        decode(Evaluation, text, "x.json")


def test_records_are_frozen():
    with pytest.raises(AttributeError):
        SCORE.mean = 1.0
