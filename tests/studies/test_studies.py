"""Studies as a user calls them: resumable, killed, parallel, adopted, checked; and with bad input."""

from __future__ import annotations

import json
import os
import platform
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace as changed
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

import hydraviper
from hydraviper.data import InputError
from hydraviper.engines.remembered import PLAYED_AGAIN
from hydraviper.games.particle import ParticleWorld
from hydraviper.runs import distil as runs
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.studies import check, results, runner
from hydraviper.studies.catalogue import STUDIES
from hydraviper.studies.cells import Cell
from hydraviper.studies.planning import Wanted, plan
from tests.helpers.command_line import TINY_STUDY, refuses, snapshot

pytestmark = pytest.mark.slow

NAVIGATION = ["--games", "cooperative-navigation"]
COLOGNE = Path(hydraviper.__file__).parent / "experts/trained/cologne-corridor.safetensors"


def scores(folder):
    documents = {result.cell.key: json.loads(text)["summary"] for result, text in results.documents(folder)}
    return {key: (summary["score"], summary["selection"]) for key, summary in documents.items()}


def test_a_study_from_nothing_and_again_at_once(call, monkeypatch):
    options = ["study", "table1", *TINY_STUDY, "--seeds", 2, "--algorithms", "iviper,hydraviper", "--budget", "low"]
    code, printed, _ = call(*options)
    first = json.loads(printed)
    assert code == 0
    assert first["cells"] == {"wanted": 6, "adopted": 0, "ran": 6, "missing": 0}
    assert [row["arm"] for row in first["rows"]] == ["iviper", "hydraviper (VR-UCB)", "hydraviper (race)"]
    assert all(row["seeds"] == 2 and row["low"] < row["mean"] < row["high"] for row in first["rows"])
    assert [answer["verdict"] for answer in first["answers"]] == ["not enough seeds"] * 2
    assert all(Path(file).is_file() for file in first["files"])

    monkeypatch.setattr(runner, "execute", lambda job: pytest.fail("a finished cell ran again"))
    code, printed, _ = call(*options)
    again = json.loads(printed)
    assert code == 0
    assert again["cells"] == {"wanted": 6, "adopted": 0, "ran": 0, "missing": 0}
    assert again["rows"] == first["rows"]
    code, printed, _ = call(*options[:-2], "--no-run", "--budget", "low", *options[-2:])
    assert code == 0
    code, printed, _ = call(*[option for option in options if option != "--json"])
    assert code == 0
    assert "RQ1" in printed


def test_what_is_printed_keeps_to_the_games_asked_for(call):
    quick = ["--scale", "0.02", "--seeds", 1, "--algorithms", "0.3", "--workers", 1, "--out", "s", "--json"]
    both = ["cooperative-navigation", "physical-deception"]
    told = {}
    for games in (",".join(both), both[0]):
        code, printed, complaint = call("study", "epsilon", "--games", games, *quick)
        assert code == 0, complaint
        told[games] = [row["game"] for row in json.loads(printed)["rows"]]
        assert all(f"\n{game}," in Path("s/report-scale-0.02.csv").read_text() for game in both)
    assert list(told.values()) == [both, both[:1]]


def test_a_cell_is_what_distill_prints(call):
    options = [
        "--games",
        "cooperative-navigation",
        "--seeds",
        1,
        "--algorithms",
        "imitation",
        "--budget",
        "low/high",
        "--workers",
        1,
    ]
    assert call("study", "budgets", *options, "--out", "s", "--json")[0] == 0
    (path,) = Path("s/cells").glob("*.json")
    document = json.loads(path.read_text())
    assert {"cell", "summary", "commit", "machine", "command"} <= set(document)
    assert "study budgets" in document["command"]
    assert "--out" not in document["command"]
    assert {"game", "algorithm", "settings", "expert", "seed", "episodes", "scale"} <= set(document["cell"])
    code, printed, _ = call(*document["summary"]["command"].split()[1:], "--workers", 1, "--json")
    summary = json.loads(printed)
    assert code == 0
    assert set(summary) == set(document["summary"])
    for field in set(summary) - {"out", "seconds", "megabytes", "command"}:
        assert summary[field] == document["summary"][field], field


def test_killed_again_and_again_it_ends_as_if_left_alone(whole, tmp_path):
    """SIGKILL at random moments: five times after another cell, with one or two processes, then twice anywhere."""
    folder, moments = tmp_path / "killed", random.Random(7)
    for attempt in range(7):
        if attempt > 4:
            process = _start(folder, workers=attempt - 4)
            time.sleep(moments.uniform(0, 3))
            process.send_signal(signal.SIGKILL)
            process.communicate()  # waits, and closes the pipes
            continue
        before = len(list(folder.glob("cells/*.json")))
        process = _start(folder, workers=2 if attempt == 1 else 1)
        limit = time.monotonic() + 120
        while len(list(folder.glob("cells/*.json"))) <= before and process.poll() is None and time.monotonic() < limit:
            time.sleep(0.01)
        time.sleep(moments.uniform(0, 0.15))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    left = 18 - len(list(folder.glob("cells/*.json")))
    process = _start(folder, workers=1)
    printed, complaint = process.communicate(timeout=240)
    assert process.returncode == 0, complaint
    assert json.loads(printed)["cells"] == {"wanted": 18, "adopted": 0, "ran": left, "missing": 0}
    assert scores(folder) == scores(whole)
    assert list(folder.glob("running/*")) == []
    strip = lambda text: [line.split(",")[:14] for line in text.splitlines()]  # noqa: E731 (all but the seconds)
    name = "report-scale-0.02.csv"
    assert strip((folder / name).read_text()) == strip((whole / name).read_text())


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="this system has no /proc to see what a process has open")
def test_several_processes_share_a_study(whole, tmp_path):
    """Three on one folder, one of them killed: each cell is run once, or again if its process died; whoever is last
    has the whole report."""
    folder = tmp_path / "shared"
    limit = time.monotonic() + 120
    with results.writing(folder):  # nobody begins before all are there
        (folder / "study.json").write_text('{"format": "hydraviper-study-1", "study": "epsilon"}')
        processes = [_start(folder, workers=1) for _ in range(3)]
        while not all(_has_open(process, folder / "study.json") for process in processes) and time.monotonic() < limit:
            time.sleep(0.01)
    while len(list(folder.glob("cells/*.json"))) < 4 and time.monotonic() < limit:
        time.sleep(0.01)
    processes[0].send_signal(signal.SIGKILL)
    printed = [process.communicate(timeout=240) for process in processes]
    assert [process.returncode for process in processes[1:]] == [0, 0], printed
    counts = [json.loads(text)["cells"] for text, _ in printed[1:]]
    assert min(count["missing"] for count in counts) == 0
    assert sum(count["ran"] for count in counts) <= 18  # the third had some of them
    assert min(count["ran"] for count in counts) > 0
    assert scores(folder) == scores(whole)
    again, complaint = _start(folder, 1).communicate(timeout=240)
    assert json.loads(again)["cells"] == {"wanted": 18, "adopted": 0, "ran": 0, "missing": 0}, complaint
    assert not (folder / "running").exists()


def _has_open(process, path):
    for entry in Path(f"/proc/{process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since it was listed
            if os.readlink(entry) == str(path):
                return True
    return False


def test_a_cell_of_another_process_is_left_to_it(call, whole):
    """While it is alive; one that died without a result is replaced."""
    options = ["study", "epsilon", *TINY_STUDY, "--seeds", 1, "--algorithms", "0.3,0.5", "--pack", "--out", "s"]
    wanted = Wanted(1, ["cooperative-navigation"], ["0.3"], None, 0.02)
    jobs = [cell for cell, _ in plan(STUDIES["epsilon"], wanted, {})]
    with results.joined("epsilon", Path("s")) as alone:
        with results.locked(Path("s/running") / f"{jobs[0].name}.lock"):
            code, printed, complaint = call(*options)
            assert code == 0
            assert json.loads(printed)["cells"] == {"wanted": 2, "adopted": 0, "ran": 1, "missing": 1}
            assert "Other processes work on s, too: the last one writes the whole report, and call again" in complaint
            assert len(list(Path("s/cells").glob("*.json"))) == 1  # not packed
        assert alone()
    code, printed, complaint = call(*options)
    assert json.loads(printed)["cells"] == {"wanted": 2, "adopted": 0, "ran": 1, "missing": 0}
    assert complaint == ""
    assert Path("s/cells.jsonl").exists()
    assert not Path("s/cells").exists()
    found = scores(Path("s"))
    assert found == {key: score for key, score in scores(whole).items() if key in found}


def test_a_log_has_a_line_per_cell(call):
    quick = [*NAVIGATION, "--scale", "0.02", "--seeds", 1, "--workers", 1]
    code, _, complaint = call("study", "epsilon", *quick, "--algorithms", "0.3", "--out", "s")
    assert code == 0
    assert complaint.splitlines() == ["epsilon: 0 of 1 cells", "epsilon: 1 of 1 cells, about 0 s left"]


def test_machines_that_measure_may_share_a_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with runner.measuring(Path("s")):
        with pytest.raises(InputError, match="runtime is measured"), runner.measuring(Path("s")):
            pass
        monkeypatch.setattr(platform, "node", lambda: "another machine")
        with runner.measuring(Path("s")):
            pass


def _start(folder, workers):
    options = [
        "--games",
        "cooperative-navigation",
        "--scale",
        "0.02",
        "--json",
        "--seeds",
        "3",
        "--workers",
        str(workers),
        "--out",
        str(folder),
    ]
    command = [sys.executable, "-m", "hydraviper.cli", "study", "epsilon", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ))


def test_time_left_comes_from_cells_of_the_same_arm(whole):
    known = list(results.load(whole).values())
    kinds = {result.arm: result for result in known}
    first, second = list(kinds.values())[:2]
    timed = [replace(first, timing=replace(first.timing, wall=seconds)) for seconds in (4.0, 6.0)]
    job = lambda result: runner.Job(result.cell, result.arm, whole, {}, "", False, 1)  # noqa: E731
    jobs = [job(first), job(first), job(second)]
    assert runner.Clock(jobs, 1, []).left() is None
    clock = runner.Clock(jobs, 2, timed)
    assert clock.left() == pytest.approx((5 + 5 + 5) / 2)  # nothing is known of the second: as all others
    clock.finished(jobs[2], 20.0)
    assert clock.left() == pytest.approx((5 + 5) / 2)
    clock.finished(jobs[0], 2.0)
    assert clock.left() == pytest.approx(4 / 2)
    assert clock.done == 2
    budgets = {name: 3 * getattr(first.cell.settings, name) for name in ("train_budget", "valid_budget")}
    dearer = replace(second, cell=replace(second.cell, settings=changed(second.cell.settings, **budgets)))
    assert runner.Clock([job(dearer)], 1, timed).left() == pytest.approx(3 * 5)  # as many rollouts, as much time
    another = replace(first, cell=replace(first.cell, game=replace(first.cell.game, name="another")))
    assert runner.Clock([*jobs, job(another)], 2, timed).left() is None  # another game's cells say nothing of it


def test_a_failing_cell_does_not_stop_the_others(call, monkeypatch, whole):
    execute = runner.execute

    def moody(job):
        if job.cell.settings.drop_quantile == 0.5:
            raise ZeroDivisionError("no luck")
        return execute(job)

    monkeypatch.setattr(runner, "execute", moody)
    code, _, complaint = call("study", "epsilon", *TINY_STUDY, "--seeds", 1, "--out", "s")
    assert code == 1
    assert "1 of 6 cells failed" in complaint
    assert "no luck" in complaint
    monkeypatch.setattr(runner, "execute", execute)
    code, printed, _ = call("study", "epsilon", *TINY_STUDY, "--seeds", 1, "--out", "s")
    assert json.loads(printed)["cells"]["ran"] == 1
    assert scores(Path("s")).items() <= scores(whole).items()


def test_packed_results_are_results(call, whole):
    subprocess.run(["cp", "-r", str(whole), "s"], check=True)
    code, printed, _ = call("study", "epsilon", *TINY_STUDY, "--seeds", 3, "--out", "s", "--pack")
    assert json.loads(printed)["cells"]["ran"] == 0
    assert not Path("s/cells").exists()
    assert len(Path("s/cells.jsonl").read_text().splitlines()) == 18
    assert scores(Path("s")) == scores(whole)
    code, printed, _ = call("study", "epsilon", *TINY_STUDY, "--seeds", 3, "--out", "s")
    assert (code, json.loads(printed)["cells"]["ran"]) == (0, 0)


def test_results_of_runs_and_of_other_studies_are_adopted(call, whole):
    (arm,) = (arm for arm in STUDIES["epsilon"].arms if arm.name == "0.3")
    cell = next(r.cell for r in results.load(whole).values() if r.arm == arm.key and r.seed == 1)
    for name, settings in {
        "one": cell.settings,
        "other": changed(cell.settings, depth=3),  # no cell of the study
        "unfinished": changed(cell.settings, seed=2),
    }.items():
        _run_into(Path("runs") / name, settings, cell.episodes)
    Path("runs/unfinished/trees.json").unlink()
    options = ["study", "epsilon", *TINY_STUDY, "--seeds", 3, "--no-run", "--out", "s", "--adopt"]
    code, printed, _ = call(*options, "runs", "--commit", "abc")
    assert code == 0
    assert json.loads(printed)["cells"] == {"wanted": 18, "adopted": 1, "ran": 0, "missing": 17}
    (result,) = results.load(Path("s")).values()
    assert result.cell == cell
    assert result.commit == "abc"
    assert scores(Path("s"))[cell.key] == scores(whole)[cell.key]
    assert str(Path.cwd()) not in next(Path("s/cells").glob("*.json")).read_text()  # no file's place of one machine

    code, printed, _ = call("study", "ablation", *TINY_STUDY, "--seeds", 3, "--no-run", "--out", "t", "--adopt", whole)
    assert json.loads(printed)["cells"]["adopted"] == 3  # HYDRAVIPER at the low budget is part of both
    refuses(call, "is no folder", *options, "nowhere")


def test_a_check_leaves_out_what_the_clock_ended(monkeypatch, whole):
    result = next(iter(results.load(whole).values()))
    timed = replace(result, cell=replace(result.cell, refine=1.0))
    monkeypatch.setattr(results, "documents", lambda folder: [(timed, b"")])
    asked = [(result.cell.game.key, result.cell.expert.name, result.arm)]
    with pytest.raises(InputError, match="does not repeat"):
        check.recheck(whole, asked, 1, {}, 1, lambda *told: None)


def test_a_check_runs_cells_again(call, whole):
    before = snapshot(whole)
    code, printed, _ = call("study", "epsilon", "--check", "--sample", 2, "--workers", 1, "--out", whole, "--json")
    checked = json.loads(printed)["checked"]
    assert code == 0
    assert [one["same"] for one in checked] == [True, True]
    assert all(one["score"]["now"] == one["score"]["then"] and one["seconds_ratio"] > 0 for one in checked)
    assert snapshot(whole) == before
    asked = ["--games", "physical-deception", "--check", "--workers", 1, "--out", whole]
    refuses(call, "there are no finished cells", "study", "epsilon", *asked)
    subprocess.run(["cp", "-r", str(whole), "s"], check=True)
    options = ["study", "epsilon", "--check", "--sample", 1, "--workers", 1, "--out", "s"]
    for path in Path("s/cells").glob("*.json"):
        document = json.loads(path.read_text())
        document["summary"]["score"]["mean"] *= 1 + 1e-15
        path.write_text(json.dumps(document))
    assert call(*options)[0] == 0
    for path in Path("s/cells").glob("*.json"):
        document = json.loads(path.read_text())
        document["summary"]["score"]["mean"] += 1e-9
        path.write_text(json.dumps(document))
    code, printed, complaint = call(*options)
    assert code == 1
    assert "1 of 1 cells came out differently" in complaint
    assert "score" in printed
    code, printed, complaint = call(*options, "--json")
    told = json.loads(printed)  # one object, which tells the error as well
    assert (code, told["exit_code"], told["checked"][0]["same"]) == (1, 1, False)
    assert complaint == f"hydraviper: {told['error']}\n"


def _run_into(folder, settings, episodes):
    game = hydraviper.make("cooperative-navigation")
    plan = runs.Plan(game, hydraviper.shipped_expert(game), hydraviper.VARIANTS["hydraviper"], settings)
    with runs.claimed(plan.recipe, folder):
        runs.execute(plan, folder, hydraviper.LocalEngine(lambda: game), episodes=episodes, command="distill")


@pytest.mark.parametrize(
    ("sentence", "arguments"),
    [
        ("did you mean table1?", ["tabel1"]),
        ("choose one of table1, budgets", ["chess"]),
        ("table1 has no game 'chess'", ["table1", "--games", "chess"]),
        ("clustering has no game 'cooperative-navigation'", ["clustering", *NAVIGATION]),
        ("table1 has no algorithm 'magic'", ["table1", "--algorithms", "iviper,magic"]),
        ("table1 has no budget 'mid': choose among high, low", ["table1", "--budget", "mid"]),
        ("table1 has no budget 'High'", ["table1", "--budget", "High"]),
        (
            "distils cooperative-navigation from maddpg, not from idqn",
            ["table1", *NAVIGATION, "--expert", "idqn"],
        ),
        ("choose among idqn-joint, or pass a file", ["clustering", "--expert", "mplight"]),
        (
            "budgets has no budget 'low' for imitation: choose among high",
            ["budgets", *NAVIGATION, "--algorithms", "imitation", "--budget", "low"],
        ),
        (
            "is an expert for cologne-corridor by linear, which is not",
            ["table1", *NAVIGATION, "--expert", COLOGNE],
        ),
        (
            "is an expert for cologne-corridor by linear, which is not",
            ["epsilon", "--expert", "maddpg", "--expert", COLOGNE],
        ),
        ("add --check", ["table1", "--sample", "2"]),
        ("add --adopt", ["table1", "--commit", "abc"]),
        ("--seeds must be at least 1", ["table1", "--seeds", "0"]),
        ("--workers must be at least 1", ["table1", "--workers", "0"]),
        ("--scale must be at least 0.001", ["table1", "--scale", "0"]),
        ("--scale must be at most 1", ["table1", "--scale", "2"]),
        ("there is no expert file", ["table1", "--expert", "nobody.safetensors"]),
        ("is no folder", ["table1", "--adopt", "nowhere"]),
        ("--sample must be at least 1", ["table1", "--check", "--sample", "0"]),
        ("there are no finished cells", ["table1", "--check"]),
    ],
)
def test_bad_calls_are_refused(call, sentence, arguments):
    refuses(call, sentence, "study", *arguments, "--json")


def test_folders_of_others_are_refused(call, whole):
    refuses(call, "holds the study epsilon, not table1", "study", "table1", *TINY_STUDY, "--out", whole)
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("mine")
    refuses(call, "not a study", "study", "table1", *TINY_STUDY, "--out", "mine")
    refuses(call, "is a file", "study", "table1", *TINY_STUDY, "--out", "mine/notes.txt")
    subprocess.run(["cp", "-r", str(whole), "s"], check=True)
    (next(iter(Path("s/cells").glob("*.json")))).write_text('{"cell": 1}')
    refuses(call, "not a result of this package", "study", "epsilon", *TINY_STUDY, "--out", "s")
    subprocess.run(["cp", "-r", str(whole), "t"], check=True)
    results.archive(Path("t"))
    lines = Path("t/cells.jsonl").read_bytes().splitlines(keepends=True)
    emptied = json.loads(lines[2])
    emptied["summary"] = {}
    for broken in (b"\xff\n", b"\n", json.dumps(emptied).encode() + b"\n"):
        Path("t/cells.jsonl").write_bytes(b"".join([*lines[:2], broken, *lines[3:]]))
        refuses(
            call, "remove line 3 of t/cells.jsonl to run that cell again", "study", "epsilon", *TINY_STUDY, "--out", "t"
        )
    with results.joined("table1", Path("held")), runner.measuring(Path("held")):
        refuses(call, "another process of this machine works on held", "study", "table1", *TINY_STUDY, "--out", "held")


def test_plans_name_every_cell_once():
    counts = {"table1": 8, "budgets": 27, "sensitivity": 9, "ablation": 20, "runtime": 5, "epsilon": 6}
    counts |= {"features": 10, "refined": 3, "baselines": 22, "experts": 5, "learners": 6}
    for name, count in counts.items():
        games = ["cooperative-navigation", "physical-deception"]
        asked = [cell for cell, _ in plan(STUDIES[name], Wanted(2, games), {})]
        experts = sum(len(STUDIES[name].experts[game]) for game in games)
        assert len(asked) == 2 * experts * count
        assert len({cell.key for cell in asked}) == len({cell.name for cell in asked})
        assert all(msgspec.json.decode(json.dumps(cell.to_json()), type=Cell) == cell for cell in asked)
        # a default may be one arm's own value: the same cell then, twice
        assert len({cell.key for cell in asked}) >= len(asked) - 2 * experts
        assert all("--ucb-scale" in cell.command() for cell in asked)
    arms = [arm.key for study in STUDIES.values() for arm in study.arms]
    assert all(len({arm.key for arm in study.arms}) == len(study.arms) for study in STUDIES.values()), arms


def test_a_budget_per_agent_is_the_budget_times_the_agents_that_are_distilled():
    for game, agents in (("cooperative-navigation", 3), ("physical-deception", 2)):
        by_arm = {arm.name: cell for cell, arm in plan(STUDIES["runtime"], Wanted(1, [game]), {})}
        shared, own = by_arm["iviper"].settings, by_arm["iviper (budget per agent)"].settings
        assert (shared.train_budget, shared.valid_budget) == (5000, 5000)
        assert (own.train_budget, own.valid_budget) == (5000 * agents, 5000 * agents)


def test_refined_cells_are_scored_after_the_search(call):
    """The search's seconds are counted and the scores are those of the trees it returns."""
    code, printed, complaint = call("study", "refined", *TINY_STUDY, "--seeds", 1, "--out", "s")
    assert code == 0, complaint
    assert json.loads(printed)["cells"]["ran"] == 3
    by_seconds = {result.cell.refine: json.loads(text)["summary"] for result, text in results.documents(Path("s"))}
    assert set(by_seconds) == {0, 0.2, 1.2}
    for seconds in (0.2, 1.2):
        searched = by_seconds[seconds]
        assert searched["seconds"]["refine"] >= seconds / 2
        assert searched["seconds"]["total"] > searched["seconds"]["refine"]
        assert (searched["score"] == by_seconds[0]["score"]) == (not searched["refined"]["kept"])


def test_a_cell_of_an_older_version_is_still_known(whole):
    """Settings that came later take their defaults."""
    result = next(iter(results.load(whole).values()))
    values = result.cell.to_json()
    del values["settings"]["features"]
    assert msgspec.convert(values, Cell).key == result.cell.key


def play_uncompiled(monkeypatch):
    """Let particle worlds say that they are not compiled, as games with dear rollouts do."""
    offers = ParticleWorld._offers
    monkeypatch.setattr(ParticleWorld, "_offers", lambda *own, **more: changed(offers(*own, **more), compiled=False))


def test_dear_cells_go_on_and_share_what_all_of_them_play(call, monkeypatch, whole):
    """As if rollouts were dear: a cell that was stopped is continued, and the expert is evaluated once for all."""
    monkeypatch.setattr("hydraviper.runs.distil.QUICK", 0.0)  # as if rollouts took long
    play_uncompiled(monkeypatch)
    options = ["study", "epsilon", *TINY_STUDY, "--seeds", 1, "--algorithms", "0.3,0.5", "--out"]
    play, played, stop_at = hydraviper.LocalEngine._play_here, [], 40

    def counted(self, work):
        if stop_at is not None and len(played) >= stop_at:
            raise KeyboardInterrupt
        policy, seeds, record = work
        played.extend((policy, seeds[k : k + 1], record) for k in range(len(seeds)))
        return play(self, work)

    monkeypatch.setattr(hydraviper.LocalEngine, "_play_here", counted)
    assert call(*options, "stopped")[0] == 130
    assert len(list(Path("stopped/running").glob("*/rollouts.journal"))) == 1
    stop_at = None
    code, printed, complaint = call(*options, "stopped")
    assert code == 0, complaint
    assert json.loads(printed)["cells"] == {"wanted": 2, "adopted": 0, "ran": 2, "missing": 0}
    assert not Path("stopped/running").exists()
    found = scores(Path("stopped"))
    assert found == {key: score for key, score in scores(whole).items() if key in found}

    needed = len(played)
    unseen = {int(seed) for seed in rollout_seeds(0, Purpose.EVALUATE, 0, 1000)}
    by_expert = [seeds for policy, seeds, _ in played if int(seeds[0]) in unseen and _is_expert(policy)]
    assert len(by_expert) == next(iter(results.load(whole).values())).cell.episodes
    assert call(*options, "undisturbed")[0] == 0
    assert len(played) == 2 * needed


def test_dear_cells_of_one_seed_take_common_rollouts_from_one_another(call, monkeypatch):
    """Cells that only select otherwise train the same trees: the second plays no training rollout, and scores do not
    change."""
    monkeypatch.setattr("hydraviper.runs.distil.QUICK", 0.0)  # as if rollouts took long
    arms = "hydraviper-without-ucb,hydraviper (VR-UCB)"
    options = ["study", "ablation", *TINY_STUDY, "--seeds", 1, "--budget", "low", "--algorithms", arms, "--out"]
    assert call(*options, "quick")[0] == 0
    play_uncompiled(monkeypatch)
    play, recorded = hydraviper.LocalEngine._play_here, []

    def counted(self, work):
        recorded.extend(work[1] if work[2] else ())  # only training rollouts keep their observations
        return play(self, work)

    monkeypatch.setattr(hydraviper.LocalEngine, "_play_here", counted)
    code, _, complaint = call(*options, "dear")
    assert code == 0, complaint
    assert scores(Path("dear")) == scores(Path("quick"))
    summaries = [json.loads(text)["summary"] for _, text in results.documents(Path("dear"))]
    first, second = sorted(summaries, key=lambda summary: bool(_borrowed(summary)))
    assert first["rollouts"] == second["rollouts"]
    trained = first["rollouts"]["warmup"] + first["rollouts"]["train"]
    assert len(recorded) == trained + min(trained, PLAYED_AGAIN)  # the first cell also looks whether seeds repeat
    assert _borrowed(second)
    assert second["seconds"]["collect"] > 0  # as if it had played them itself
    assert not Path("dear/running").exists()


def _borrowed(summary):
    return [note for note in summary["notes"] if "taken from runs that had played them" in note]


def _is_expert(policy):
    return isinstance(policy, hydraviper.Profile) and not policy.students
