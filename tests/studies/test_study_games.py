"""Games with parameters of their own in a study: told apart, from any expert, yardsticks once, searches that go on."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import hydraviper
from hydraviper.data import InputError
from hydraviper.experts import store
from hydraviper.experts.exploring import Exploring
from hydraviper.games import catalogue
from hydraviper.games.traffic_rules import LeaveTo, PhaseRule
from hydraviper.studies import conduct, expert_files, results
from hydraviper.studies.catalogue import STUDIES
from hydraviper.studies.design import Arm
from hydraviper.studies.planning import Wanted, plan
from hydraviper.studies.report import Report
from hydraviper.studies.runner import SEARCHED
from hydraviper.studies.study import Study
from tests.helpers.experts import random_expert
from tests.helpers.street import FOLDER

FILE = FOLDER / "street.sumocfg"
SHORT = {"iterations": 2, "train_budget": 4, "valid_budget": 4, "rollouts_per_iteration": 2}
SCALE = 0.02
OWN = Study(
    name="own",
    title="A street",
    about="Two lengths of an episode.",
    arms=(Arm("hydraviper", label="trees"), Arm("hydraviper", label="refined", refine_rollouts=200)),
    games=("short", "long"),
    specs={"short": f"traffic:{FILE},steps=4", "long": f"traffic:{FILE},steps=6"},
    settings={"short": SHORT, "long": {**SHORT, "train_budget": 300}},
    experts={},
)


@pytest.fixture
def files(tmp_path):
    """An untrained expert for the street, as if it had been passed with --expert."""
    game = hydraviper.make(OWN.spec("short"))
    about = {"game": game.name, "parameters": dict(game.parameters), "algorithm": "chance"}
    store.save(replace(random_expert(game), about=about), tmp_path / "chance.safetensors")
    return expert_files.read([tmp_path / "chance.safetensors"])


class Played(list):
    """The policies of all rollouts, one by one."""

    most = None  # after so many, whoever plays is interrupted


@pytest.fixture
def played(monkeypatch):
    play, seen = hydraviper.LocalEngine._play_here, Played()

    def counted(self, work):
        if len(seen) == seen.most:
            raise KeyboardInterrupt
        seen.append(work[0])
        return play(self, work)

    monkeypatch.setattr(hydraviper.LocalEngine, "_play_here", counted)
    return seen


def run(folder, files, **wanted):
    cells = plan(OWN, Wanted(scale=SCALE, **wanted), files)
    return conduct.conduct(conduct.Call(OWN, folder, cells, files, 1, SCALE), lambda done, of, left: None)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resco", "table1", "signals"])
def test_a_game_is_known_before_it_is_made(name):
    study = STUDIES[name]
    for title in study.games[:4]:
        game = catalogue.make(study.spec(title))
        assert study.identity(title).parameters == dict(game.parameters)
        assert study.identity(title).name == game.name


def test_maps_are_played_as_resco_plays_them():
    for name, spec in STUDIES["resco"].specs.items():
        _, parameters = catalogue.whole(spec)
        seconds, yellow = (5, 2) if name == "arterial4x4" else (10, 3)
        assert (parameters["seconds_per_step"], parameters["yellow"], parameters["score"]) == (seconds, yellow, "delay")
        assert parameters["steps"] * parameters["seconds_per_step"] == 3600
        assert parameters["map"] == name
        assert dict(catalogue.make(f"resco:{name}").parameters) == parameters  # what a user gets who asks for no more


@pytest.mark.slow
def test_one_game_with_two_sets_of_parameters(files, tmp_path, played):
    done = run(tmp_path / "s", files, seeds=2, algorithms=["trees"])
    assert done.counts == {"wanted": 4, "adopted": 0, "ran": 4, "missing": 0}
    found = [(row.game, row.expert, row.score.count) for row in done.report.rows]
    assert found == [("short", "chance", 2), ("long", "chance", 2)]
    cells = [result.cell for result in results.load(tmp_path / "s").values()]
    assert {(cell.game.parameters["steps"], cell.settings.train_budget) for cell in cells} == {(4, 4), (6, 6)}
    assert all("street.sumocfg.chance" in cell.name for cell in cells)
    assert rules(played) == len(OWN.games) * yardsticks(done) * cells[0].episodes  # for both seeds together
    assert not (tmp_path / "s/running").exists()
    assert all("over_time" not in json.loads(text)["summary"] for _, text in results.documents(tmp_path / "s"))


def rules(played):
    return sum(isinstance(policy, PhaseRule | LeaveTo) for policy in played)


def yardsticks(done):
    return len(done.report.rows[0].first.yardsticks)


@pytest.mark.slow
def test_a_search_that_was_interrupted_goes_on(files, tmp_path, played):
    asked = {"seeds": 1, "games": ["short"], "algorithms": ["refined"]}
    done, needed = run(tmp_path / "undisturbed", files, **asked), len(played)
    (whole,) = results.documents(tmp_path / "undisturbed")
    assert rules(played) == yardsticks(done) * whole[0].cell.episodes  # not again for the trees that were found
    amid_the_search = max(number for number, policy in enumerate(played) if isinstance(policy, Exploring))
    played.clear()
    played.most = amid_the_search
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "stopped", files, **asked)
    assert len(list((tmp_path / "stopped/running").glob(f"*/{SEARCHED}"))) == 1
    played.most, before = None, len(played)
    run(tmp_path / "stopped", files, **asked)
    (again,) = results.documents(tmp_path / "stopped")
    assert len(played) - before < needed / 2
    summaries = [json.loads(text)["summary"] for _, text in (whole, again)]
    assert summaries[0]["score"] == summaries[1]["score"]
    assert summaries[0]["refined"]["held_out"] == summaries[1]["refined"]["held_out"]
    assert "--out RUN && hydraviper refine RUN --rollouts 10 --seed 0" in whole[0].cell.command()


@pytest.mark.slow
def test_cells_of_other_parameters_are_left_out(files, tmp_path):
    """As those of older defaults, which a folder may still hold."""
    run(tmp_path / "s", files, seeds=1, algorithms=["trees"])
    found = list(results.load(tmp_path / "s").values())
    now = replace(OWN, specs={**OWN.specs, "short": f"traffic:{FILE},steps=5"})
    assert [row.game for row in Report.of(now, found, SCALE).rows] == ["long"]


def test_an_expert_of_another_game_is_refused(files):
    with pytest.raises(InputError, match=r"is an expert for traffic:.*street.sumocfg by chance, which is not asked"):
        plan(STUDIES["table1"], Wanted(1, ["cooperative-navigation"]), files)
