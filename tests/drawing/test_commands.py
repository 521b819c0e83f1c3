"""Commands that draw: reports, trees with icons, maps and queues over time."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

import hydraviper
from hydraviper.drawing.icons import GO
from hydraviper.drawing.trees import to_svg
from hydraviper.experts import store
from tests.helpers.command_line import QUICK, refuses
from tests.helpers.drawings import marks, words
from tests.helpers.experts import random_expert
from tests.helpers.street import FOLDER, STREET, configuration


@pytest.mark.slow
def test_a_run_draws_everything(call, street, monkeypatch):
    store.save(random_expert(street), Path("expert.safetensors"))
    budget = ["--iterations", 2, "--train-budget", 2, "--valid-budget", 2, "--episodes", 2, "--workers", 1]
    split = ["--partition", "contiguous", "--teams", 2, "--expert", "expert.safetensors", "--out", "run", "--json"]
    code, printed, complaint = call("distill", STREET, *budget, *split)
    assert code == 0, complaint
    shown = json.loads(printed)["over_time"]["policies"]
    rules = ["fixed time", "longest queue", "max-pressure", "actuated", "delay-based", "Webster's plan"]
    assert list(shown) == ["trees", "expert", *rules]
    page = Path("run/report.html").read_text()
    for part in ("<h2>The map</h2>", "team 2", "Through the episode", "north is up", "two teams"):
        assert part in page
    assert not re.search(r"https?:|src=|url\(|nan", page)
    tree, drawn, queues = (call("show", "run", *options)[1] for options in SHOWN)
    assert GO in tree
    assert list(marks(drawn)) == [1, 2]
    assert "team 1" in words(drawn)
    assert "max-pressure" in words(queues)

    Path("run/trees.json").rename("alone.json")
    code, printed, _ = call("show", "alone.json", "--format", "map")
    assert code == 0
    assert "team 1" not in words(printed)  # the game's own team
    refuses(call, "holds no queues over time", "show", "alone.json", "--format", "queues")
    monkeypatch.setitem(sys.modules, "libsumo", None)
    code, printed, complaint = call("show", "alone.json", "--format", "svg", "--agent", "signal-1")
    assert code == 0
    assert "hydraviper[traffic]" in complaint
    assert GO not in printed
    assert "signal-1" in words(printed)[0]
    refuses(call, "hydraviper[traffic]", "show", "alone.json", "--format", "map")


SHOWN = (("--format", "svg", "--agent", "signal-1"), ("--format", "map"), ("--format", "queues"))


def test_particle_games_are_shown_as_before(call):
    code, printed, _ = call("distill", "cooperative-navigation", *QUICK, "--json", "--out", "run")
    assert code == 0
    assert "over_time" not in json.loads(printed)
    page = Path("run/report.html").read_text()
    assert "The map" not in page
    assert "Through the episode" not in page
    refuses(call, "has no map", "show", "run", "--format", "map")
    refuses(call, "holds no queues over time", "show", "run", "--format", "queues")
    code, printed, complaint = call("show", "run", "--format", "svg", "--agent", "agent-0")
    assert code == 0
    assert complaint == ""
    trees = hydraviper.load_trees(Path("run"))
    drawn = re.sub("<desc>.*?</desc>\n", "", printed.strip(), flags=re.DOTALL)
    assert drawn == to_svg(trees.agents[0], trees.trees[0])


def test_a_map_needs_no_run(call, tmp_path):
    file = configuration(tmp_path, additional_files=FOLDER / "one-phase.add.xml")
    code, printed, _ = call("map", f"traffic:{file},steps=3")
    assert code == 0
    assert list(marks(printed)) == [1]  # the other signal has one phase
    refuses(call, "has no map", "map", "cooperative-navigation")
