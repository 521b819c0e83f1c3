"""Reports and answers from made-up results, so that every verdict and every figure is seen."""

from __future__ import annotations

import csv
import io
import sys
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from msgspec import structs

from hydraviper.data import Estimate, InputError
from hydraviper.games.delays import LONG_WAITS
from hydraviper.settings import Settings
from hydraviper.studies import claims, figures, report, rows
from hydraviper.studies.catalogue import STUDIES
from hydraviper.studies.cells import (
    Cell,
    ExpertName,
    Machine,
    Result,
    Timing,
)
from hydraviper.studies.claims import FAILS, FEW, HOLDS, OPEN
from hydraviper.studies.design import OURS, PAPERS
from hydraviper.studies.paper import STOPPED
from hydraviper.studies.summaries import BEFORE, CriticFit, ExpertSummary, Measured, ScoreSummary, Seconds, Summary

CN, IC = "cooperative-navigation", "ingolstadt-corridor"


def result(study, arm, seed, score, seconds=10.0, game=CN, expert="maddpg", digest="e"):
    levels = {"high": 5000, "mid": 2500, "low": 500}
    settings = Settings(seed=seed, train_budget=levels[arm.train], valid_budget=levels[arm.valid], **arm.settings)
    named = ExpertName(expert, digest)
    searched = {"refine": arm.refine, "refine_rollouts": arm.refine_rollouts}
    cell = Cell(study.identity(game), arm.algorithm, settings, named, 100, **searched)
    signals = tuple(f"signal-{k}" for k in range(1, 8))
    together = arm.settings.get("partition", "none") == "none"
    dear = game not in ("cooperative-navigation", "physical-deception")
    jams = {"median": score, "worst": score + 9, "jammed": 1} if dear else {}
    stopped = {"trees": Measured(score / 2, 0.5), "expert": Measured(60.0, 0.5)}
    summary = Summary(
        score=ScoreSummary(name="penalty", mean=score, ci95=0.5, episodes=100, lower_is_better=True, **jams),
        expert=ExpertSummary(120.0, 1.0),
        yardsticks={"fixed time": ExpertSummary(150.0, 2.0, 149.0, 160.0, 0)} if dear else {},
        measures={STOPPED: stopped} if dear else {},
        rollouts={"warmup": 50, "train": 100, "valid": 100},
        seconds=Seconds(total=seconds, **dict.fromkeys((*rows.STEPS, "refine"), seconds / 4)),
        teams=(signals,) if together else (signals[1::2], signals[::2]),
    )
    timing = Timing(alone=True, workers=1, load=0.3, wall=seconds)
    return Result(cell, arm.key, summary, timing, "c0ffee", Machine("a machine", 2), f"hydraviper study {study.name}")


def loaded(one, load):
    return structs.replace(one, timing=structs.replace(one.timing, load=load))


def made(name, means, seeds=5, seconds=None, **others):
    """A report where every arm of a study has about its mean: `means` by arm name, noise the same for all arms."""
    study = STUDIES[name]
    noise = (0.4, -0.3, 0.1, -0.2, 0.3)
    own = [
        result(
            study,
            arm,
            seed,
            means[arm.name] + noise[seed] * (1 + 0.1 * k),
            (seconds or {}).get(arm.name, 10.0),
            **others,
        )
        for k, arm in enumerate(study.arms)
        if arm.name in means
        for seed in range(seeds)
    ]
    return report.Report.of(study, own, 1.0)


BASE = {"iviper": 165.0, "maviper": 144.0, PAPERS: 143.0, OURS: 142.0}
QUICK = {PAPERS: 10.0, OURS: 10.0, "maviper": 50.0, "iviper": 50.0}


@pytest.mark.parametrize(
    ("means", "seconds", "seeds", "verdicts"),
    [
        (BASE, QUICK, 5, (HOLDS, HOLDS)),
        (BASE, QUICK, 1, (FEW, FEW)),
        (BASE, {**QUICK, "maviper": 5.0}, 5, (FAILS, HOLDS)),  # as good, but quicker
        ({**BASE, "maviper": 100.0}, QUICK, 5, (FAILS, FAILS)),
        (BASE, {**QUICK, "iviper": 1.0}, 5, (FAILS, HOLDS)),  # far worse, but quicker: that counts, too
        ({**BASE, PAPERS: 170.0}, QUICK, 5, (FAILS, FAILS)),  # ours is as good, the paper's is not
        ({OURS: 142.0, "iviper": 165.0}, QUICK, 5, (FEW, FEW)),  # a baseline has not been run
    ],
)
def test_answers_to_the_research_questions(means, seconds, seeds, verdicts):
    told = made("table1", means, seeds, seconds)
    assert tuple(answer.verdict for answer in told.findings) == verdicts
    assert all(answer.sentence.startswith(answer.verdict) for answer in told.findings)


@pytest.mark.slow
def test_the_answer_and_the_table_stand_first_and_how_it_was_made_last():
    told = made("table1", BASE, seconds=QUICK)
    for page in (report.to_markdown(told), report.to_html(told)):
        answer, about, last = (page.index(part) for part in ("RQ1: is", told.study.about[:30], "How this was made"))
        assert answer < about < page.index("unseen episodes per seed") < last
        assert "<h2>" not in page[last + 30 :]
        assert "\n## " not in page[last:]


def test_no_comparison_is_dropped():
    """A baseline that is quicker but far worse is shown as quicker, with what its trees lose."""
    told = made("table1", BASE, seconds={**QUICK, "iviper": 1.0})
    claims = {(claim.where, claim.what): claim for claim in told.findings[0].claims}
    assert len(claims) == 2 * 2 * 4  # budgets, HYDRAVIPERs, and score and seconds against each of two baselines
    slower = claims[f"{CN}, low budget", "HYDRAVIPER (race) is quicker than IVIPER"]
    assert slower.verdict == FAILS
    assert "10.00 times the seconds" in slower.numbers
    assert "the trees of IVIPER are 16.2 % worse" in slower.numbers
    assert "worse" not in claims[f"{CN}, low budget", "HYDRAVIPER (race) is quicker than MAVIPER"].numbers


def test_seconds_of_a_busy_machine_are_not_compared_with_those_of_a_quiet_one():
    study = STUDIES["runtime"]
    own = [
        loaded(one, 0.4 if one.cell.algorithm == "iviper" else 3.0)
        for arm in study.arms
        if arm.name in ("iviper", OURS)
        for one in [result(study, arm, seed, 150.0, 5.0 if arm.name == OURS else 9.0) for seed in range(4)]
    ]
    (claim,) = report.Report.of(study, own, 1.0).findings[0].claims
    assert claim.verdict == FEW
    assert "only one of the two was measured on a quiet machine" in claim.numbers
    busy = [loaded(one, 3.0) for one in own]
    assert report.Report.of(study, busy, 1.0).findings[0].verdict == HOLDS


def test_baselines_that_were_not_run_are_missed():
    told = made("table1", {OURS: 8.0}, game=IC, expert="idqn")
    assert "not run yet" in report.to_markdown(told)


def test_worse_by_an_unclear_amount_is_not_decided():
    """Between better and worse by more than 5 %: the interval decides, not the mean."""
    study = STUDIES["table1"]
    high = [arm for arm in study.arms if arm.level == "high/high"]
    wild = {"iviper": (150, 150, 150), "maviper": (140, 140, 140), OURS: (120, 165, 150)}
    own = [result(study, arm, seed, score) for arm in high for seed, score in enumerate(wild.get(arm.name, ()))]
    assert report.Report.of(study, own, 1.0).findings[1].verdict == FEW


def test_clustering_is_judged_and_its_teams_are_numbered():
    means = {"none": 20.0, "graph-metis": 20.2, "marginal-kmeans": 20.1, "marginal-metis": 19.9, "random": 40.0}
    seconds = {**dict.fromkeys(means, 5.0), "none": 9.0}
    told = made("clustering", means, seconds=seconds, game=IC, expert="idqn-joint")
    assert told.findings[0].verdict == HOLDS
    words = report.to_markdown(told)
    assert "| random | 5,000 / 5,000 | [[2, 4, 6], [1, 3, 5, 7]] | [[1, 2, 3, 6, 7], [4, 5]] |" in words
    assert "11,263.8 ± 55.8" in words
    assert "5 of 500" in words  # jammed episodes
    assert "graph-metis is quicker than one team in resampling" in words
    slower = made("clustering", means, seconds={**seconds, "graph-metis": 11.0}, game=IC, expert="idqn-joint")
    assert slower.findings[0].verdict == FAILS


def test_series_and_ablations_are_judged():
    depths = {"2": 160.0, "3": 150.0, "4": 142.0, "5": 143.0, "1": 142.0, "8": 142.0, "16": 142.0}
    assert [answer.verdict for answer in made("sensitivity", depths).findings] == [HOLDS, HOLDS]
    assert made("sensitivity", {**depths, "5": 120.0}).findings[0].verdict == FAILS
    parts = {OURS: 142.0, "without C-Q": 150.0, "without TR-A": 144.0, "without VR-UCB": 146.0}
    assert made("ablation", parts).findings[0].verdict == HOLDS
    assert made("ablation", {**parts, "no weights": 142.0}).findings[0].verdict == FAILS  # C-Q does not beat that
    assert made("ablation", {**parts, "without TR-A": 141.0}).findings[0].verdict == FAILS
    equal = made("ablation", {"without VR-UCB": 142.0, PAPERS: 142.0}).findings[0]
    assert [claim.what for claim in equal.claims] == ["the paper's VR-UCB helps"] * 2  # at both budgets
    # 0.25 ± 0.15 for itself; among nine comparisons that is not certain
    one, nine = {OURS: 142.0, "without TR-A": 142.2}, {arm.name: 150.0 for arm in STUDIES["ablation"].arms}
    for means, verdict in ((one, HOLDS), ({**nine, **one}, FAILS)):
        claims = made("ablation", means).findings[0].claims
        assert {claim.verdict for claim in claims if claim.what == "TR-A helps"} == {verdict}
    refined = made("refined", {"none": 142.0, "10 s": 139.0}).findings[0]
    assert refined.verdict == HOLDS
    assert "0.843 % a second, of 2.5 s" in refined.claims[0].numbers
    ways = {OURS: 142.0, PAPERS: 143.0, "forests": 139.0, "UCB1-Normal": 144.0}
    assert [claim.verdict for claim in made("learners", ways).findings[0].claims] == [HOLDS, FAILS]
    same = made("features", {"imitation": 200.0, **BASE})
    assert HOLDS not in [claim.verdict for claim in same.findings[0].claims]
    assert {row.published is None for row in same.rows if row.arm.group == "derived features"} == {True}
    assert made("runtime", BASE, seconds={PAPERS: 3.0, OURS: 3.0}).findings[0].verdict == HOLDS


def test_an_answer_names_a_few_failures_and_counts_the_rest():
    depths = {"2": 100.0, "3": 110.0, "4": 142.0, "5": 120.0, "1": 142.0, "8": 142.0, "16": 142.0}
    told = made("sensitivity", depths)
    depth, ucb = told.findings
    assert "depth of the trees 2" in depth.sentence
    assert "depth of the trees 3" in depth.sentence
    assert "depth of the trees 5" not in depth.sentence
    assert depth.sentence.endswith("and 1 more, all in the report's table of this question.")
    assert "more" not in ucb.sentence
    page = report.to_markdown(told)
    assert all(f"| {claim.what} | {claim.verdict} | {claim.numbers} |" in page for claim in depth.claims)
    assert told.to_json()["answers"][0]["claims"][2]["verdict"] == FAILS


def test_published_numbers_stand_beside_the_right_rows():
    by_arm = {(row.arm.name, row.arm.level): row for row in made("table1", BASE).rows}
    for name in (PAPERS, OURS):
        assert by_arm[name, "low/low"].published == Estimate(144.84, 2.12, 10)
        assert by_arm[name, "low/low"].published_seconds == Estimate(180.5, 9.3, 10)
    assert by_arm["maviper", "low/low"].published == Estimate(153.66, 4.07, 10)
    assert by_arm["maviper", "low/low"].published_seconds is None
    depths = {
        row.arm.name: row for row in made("sensitivity", {"3": 150.0, "4": 142.0}).rows if "depth" in row.arm.group
    }
    assert depths["4"].published == Estimate(144.84, 2.12, 10)
    assert depths["3"].published is None
    assert all(row.published is None for row in made("table1", BASE, game=IC, expert="idqn").rows)


def test_corridors_tell_delay_and_beside_it_what_the_paper_counts():
    told = made("table1", {OURS: 30.0, "maviper": 32.0}, game=IC, expert="idqn")
    row = next(row for row in told.rows if (row.arm.name, row.arm.level) == (OURS, "high/high"))
    beside = row.as_published
    assert row.published is None  # not the delay's
    assert beside.published == Estimate(19.77, 1.51, 10)
    assert beside.score.mean == pytest.approx(row.score.mean / 2)
    assert beside.score_name == f"{STOPPED} (lower is better)"
    words = report.to_markdown(told)
    assert f"|  | rollouts | penalty | {STOPPED} | published | seeds | seconds | published seconds |" in words
    assert "| expert |  | 120.00 ± 1.00 | 60.00 ± 0.50 | 23.01 ± 1.10 |" in words
    assert f"## {IC}, {STOPPED}: over seeds" in words
    assert "| fixed time | 150.00 ± 2.00 |  | 149.00 | 160.00 | 0 of 100 |" in words
    assert "our trees are chosen by delay" in words
    record = next(one for one in told.records if one.arm == OURS)
    assert (record.measure, record.measure_expert_mean, record.published) == (STOPPED, 60.0, 19.77)
    assert record.measure_mean == pytest.approx(record.mean / 2)
    assert record.measure_low < record.measure_mean < record.measure_high
    plain = made("table1", BASE)
    assert {row.as_published for row in plain.rows} == {None}
    assert {one.measure for one in plain.records} == {None}
    assert "stopped" not in report.to_markdown(plain)


@pytest.mark.slow
def test_corridors_have_a_figure_for_each_of_the_two():
    delay, stopped = figures.scores(made("runtime", BASE, game=IC, expert="idqn").rows)
    assert "published" not in delay.svg
    assert "published" in stopped.svg
    assert STOPPED in stopped.caption


@pytest.mark.parametrize(("mean", "verdict"), [(18.0, HOLDS), (19.2, OPEN), (21.0, FAILS)])
def test_resco_is_judged_by_the_best_published_figure_in_every_seed(mean, verdict):
    told = made("resco", {"trees": mean}, game="cologne3", expert="idqn", seeds=3)
    published, yardsticks = told.findings
    (claim,) = published.claims
    assert claim.verdict == verdict
    assert "19.42 s (MAXWAVE)" in claim.what
    assert f"{'above' if mean > 19.42 else 'below'}; by seed {mean + 0.4 - 19.42:+.2f} ± 0.50" in claim.numbers
    assert [(one.what, one.verdict) for one in yardsticks.claims] == [("trees: less delay than fixed time", HOLDS)]


def test_one_seed_that_is_certainly_worse_is_enough_to_fail():
    claim = claims.every_seed("", "", [Estimate(-2.0, 1.0), Estimate(2.0, 1.0), Estimate(0.0, 1.0)], "s")
    assert claim.verdict == FAILS


def test_resco_shows_everything_that_was_measured_and_published():
    told = made("resco", {"trees": 20.0, "refined trees": 18.0}, game="cologne3", expert="idqn")
    words = report.to_markdown(told)
    assert "| cologne3 | 20.06 ± 0.50 | 18.07 ± 0.50 | 120.00 ± 1.00 (idqn) | 150.00 ± 2.00 (fixed time) |" in words
    assert "| 19.42 (MAXWAVE) | +0.64 |" in words
    assert "| RESCO: MAXWAVE | 90.67 |  |  |  | mean of its episodes; the best one 19.42 |" in words
    assert "| RESCO: IDQN | 23.99 |  |  |  | best episode of the whole training; the last ten 95.54 |" in words
    assert "| fixed time | 150.00 ± 2.00 | 149.00 | 160.00 | 0 of 100 | on the same episodes |" in words
    assert "by seed 20.40, 19.70, 20.10, 19.80, 20.30; 500 / 500 rollouts |" in words
    assert "means over 10 seeds of 10 episodes" not in words  # nothing is the paper's here


def test_common_episodes_decide_against_yardsticks_where_they_were_measured():
    study = STUDIES["resco"]
    one = result(study, study.arms[0], 0, 20.0, game="cologne3", expert="idqn")
    summary = structs.replace(one.summary, differences={"fixed time": Measured(-0.4, 0.5)})
    paired = report.Report.of(study, [structs.replace(one, summary=summary)], 1.0)
    assert paired.findings[1].claims[0].verdict == OPEN
    assert "1 is not certain on these episodes" in paired.findings[1].sentence
    assert "0.40 s below; by seed -0.40 ± 0.50" in paired.findings[1].claims[0].numbers


@pytest.mark.parametrize(
    ("delay", "after", "outside", "jams", "long_waits", "verdicts"),
    [
        (30.0, -1.0, 2.0, 0, 0.0, (HOLDS, HOLDS, HOLDS, HOLDS)),
        (30.0, -0.1, 2.0, 0, 0.0, (HOLDS, HOLDS, OPEN, HOLDS)),  # a gain that chance may have made
        (30.0, 1.0, 9.0, 0, 0.0, (HOLDS, HOLDS, FAILS, FAILS)),  # nine outside, where fixed time leaves eight
        (30.0, -1.0, 2.0, 1, 0.0, (HOLDS, HOLDS, HOLDS, FAILS)),
        (30.0, -1.0, 2.0, 0, 1.0, (HOLDS, HOLDS, HOLDS, FAILS)),  # somebody waits for ever in one of 100 episodes
        (30.0, -1.0, 2.0, 0, None, (HOLDS, HOLDS, HOLDS, FEW)),  # cells from before that was counted
        (120.3, -1.0, 2.0, 0, 0.0, (HOLDS, FAILS, HOLDS, HOLDS)),  # certainly worse, if by little
        (120.1, -1.0, 2.0, 0, 0.0, (HOLDS, HOLDS, HOLDS, HOLDS)),
        (170.0, -1.0, 2.0, 0, 0.0, (FAILS, FAILS, HOLDS, HOLDS)),
    ],
)
def test_signals_are_judged_by_who_pays(delay, after, outside, jams, long_waits, verdicts):
    study, own = STUDIES["signals"], []
    for arm in study.arms:
        for seed in range(3):
            one = result(study, arm, seed, delay, game=IC, expert="idqn")
            summary = structs.replace(
                one.summary,
                score=structs.replace(one.summary.score, median=delay, worst=delay, jammed=jams),
                difference=Measured(delay - one.summary.expert.mean, 0.2),
                differences={BEFORE: Measured(after, 0.3)},
                measures={
                    "vehicles that could not enter": {"trees": Measured(outside), "fixed time": Measured(8.0)},
                    "longest wait, s": {"trees": Measured(120.0)},
                    LONG_WAITS: {} if long_waits is None else {"trees": Measured(long_waits)},
                },
            )
            own.append(structs.replace(one, summary=summary))
    told = report.Report.of(study, own, 1.0)
    beats, expert, search, yardsticks, paid = told.findings
    assert (beats.verdict, expert.verdict, search.verdict, paid.verdict) == verdicts
    assert yardsticks.verdict == HOLDS
    assert "trees less that:" in report.to_markdown(told)


@pytest.mark.parametrize(("values", "verdict"), [((0.4, 0.7, None), HOLDS), ((0.1, 0.2, 0.9), FAILS)])
def test_critics_are_told_beside_the_teams_that_rest_on_them(values, verdict):
    study = STUDIES["clustering"]
    own = [
        structs.replace(result(study, arm, 0, 20.0, game=IC, expert="idqn-joint"), critics=CriticFit(40, values))
        for arm in study.arms
    ]
    told = report.Report.of(study, own, 1.0)
    assert told.findings[1].verdict == verdict
    assert f"## {IC}, idqn-joint expert: critics fitted to 40 rollouts" in report.to_markdown(told)
    assert report.Report.of(study, [structs.replace(one, critics=None) for one in own], 1.0).findings[1].verdict == FEW


def test_an_expert_that_was_trained_anew_is_told_apart():
    study = STUDIES["table1"]
    own = [
        result(study, study.arms[0], seed, 160.0, digest=digest)
        for seed in range(2)
        for digest in ("aaaaaaaa", "bbbbbbbb")
    ]
    assert [row.expert for row in report.Report.of(study, own, 1.0).rows] == ["maddpg aaaaaa", "maddpg bbbbbb"]
    assert report.Report.of(study, own, 0.5).rows == ()


def test_experts_are_told_together_with_intervals_over_experts():
    """Three experts with many seeds each are three draws: the interval is as wide as the experts differ."""
    study = STUDIES["experts"]
    means = {"maddpg": 142.0, "maddpg-seed-1": 150.0, "maddpg-60000-episodes": 134.0}
    wins = {"maddpg": 2.0, "maddpg-seed-1": 6.0, "maddpg-60000-episodes": -2.0}

    def score(arm, expert, seed):
        return means[expert] + (wins[expert] if arm.name == "maviper" else 0.0) + 0.01 * seed

    own = [
        result(study, arm, seed, score(arm, expert, seed), expert=expert, digest=expert)
        for arm in study.arms
        if arm.name in ("maviper", OURS)
        for expert in means
        for seed in range(10)
    ]
    told = report.Report.of(study, own, 1.0)
    (claim,) = told.findings[0].claims
    assert claim.where == f"{CN}, over 3 experts"
    assert claim.numbers == "1.2 % better; from 7.9 % better to 5.4 % worse"  # seeds alone would be certain of each
    assert claim.verdict == FEW
    page = report.to_markdown(told)
    assert f"## {CN}: over experts" in page
    assert "18.4 (maddpg), 25.0 (maddpg-seed-1), 11.7 (maddpg-60000-episodes) | 18.4 ± 16.6 |" in page


@pytest.mark.slow
def test_csv_and_page_hold_every_row():
    told = made("table1", BASE)
    lines = list(csv.DictReader(io.StringIO(report.to_csv(told))))
    assert len(lines) == 8
    assert float(lines[3]["mean"]) == pytest.approx(142.06, abs=0.2)
    assert float(lines[0]["worse_by"]) == pytest.approx(23 / 142, abs=0.01)
    page = report.to_html(told)
    assert "http" not in page.replace("http://www.w3.org/", "")  # names of SVG's own
    assert "160.87 ± 4.31" in page
    assert page.count("<svg") == 2


@pytest.mark.slow
@pytest.mark.parametrize("draw", [figures.scores, figures.tradeoff, figures.step_seconds])
def test_figures_are_sound_drawings(draw):
    for told in (made("table1", BASE), made("sensitivity", {"2": 160.0, "4": 142.0}, seeds=1)):
        for figure in draw(told.rows):
            words = "".join(ElementTree.fromstring(figure.svg).itertext())
            assert all(row.arm.name in words for row in told.rows if row.budget in figure.caption)
            assert "nan" not in words


@pytest.mark.slow
@pytest.mark.parametrize("format", ["svg", "pdf"])
def test_figures_repeat_byte_for_byte(format):
    (first,), (again,) = (figures.scores(made("runtime", BASE).rows) for _ in range(2))
    assert first.save(format) == again.save(format)  # no date, no random names


def test_bars_start_at_zero():
    (figure, *_) = figures.step_seconds(made("runtime", BASE).rows)
    assert all(axes.get_xlim()[0] == 0 for axes in figure.figure.axes)


def test_published_values_beyond_the_axis_are_arrows_with_their_number():
    means = {"iviper": 120.5, "maviper": 121.0, OURS: 120.0, PAPERS: 121.0}
    (figure,) = figures.scores(made("runtime", means).rows)
    assert figure.figure.axes[0].get_xlim()[1] < 160.87
    assert ">161<" in figure.svg


def test_a_report_without_matplotlib_says_what_to_install(monkeypatch, tmp_path):
    told = made("runtime", BASE)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pip install 'hydraviper[studies]'" in report.to_html(told)
    with pytest.raises(InputError, match=r"hydraviper\[studies\]"):
        told.save_figures(tmp_path)


@pytest.mark.slow
def test_figures_are_files_for_a_paper(tmp_path):
    told = made("runtime", BASE)
    paths = told.save_figures(tmp_path / "new")
    assert len(paths) == 2 * len(told.drawings)
    assert all(path.read_bytes()[:5] in (b"%PDF-", b"<?xml") for path in paths)


def test_commits_tell_changes_beside_them():
    told = made("epsilon", {"0.3": 142.0})
    (row,) = told.rows
    kinds = ("0069f46e5b1b99", "0069f46", "e1b5e42435b5+changes", None)
    results = tuple(structs.replace(one, commit=commit) for one, commit in zip(row.results, kinds, strict=False))
    page = report.to_markdown(replace(told, rows=(replace(row, results=results),)))
    assert "Commit: 0069f46, e1b5e42 with changes, not known." in page


def test_a_report_on_nothing():
    empty = report.Report.of(STUDIES["table1"], [], 1.0)
    assert "No cell is finished yet." in report.to_markdown(empty)
    assert report.to_csv(empty) == ""
    assert [answer.verdict for answer in empty.findings] == [FEW, FEW]
    assert "<svg" not in report.to_html(empty)
