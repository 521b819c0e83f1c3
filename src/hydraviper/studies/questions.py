"""The paper's research questions, and some about its figures, answered from the cells.

"Comparable" is held to a number: not worse by more than MARGIN of the other's mean, with 95 % confidence, from
differences on common seeds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hydraviper.studies import pooled, published, statistics
from hydraviper.studies.design import HYDRAVIPERS, OURS, PAPER_EXPERTS, PAPERS, titled
from hydraviper.studies.statistics import Interval
from hydraviper.studies.tables import STEPS, Row, by_game, worsening

MARGIN = 0.05
LEAST_SEEDS = 3
HOLDS, FAILS, FEW = "holds", "does not hold", "not enough seeds"
BASELINES = ("iviper", "maviper")
NAMED = 2  # failing comparisons that an answer's sentence names


@dataclass(frozen=True)
class Claim:
    """A part of an answer: in one game, at one budget."""

    where: str
    what: str
    verdict: str
    numbers: str


@dataclass(frozen=True)
class Answer:
    """A question with its verdict and what the verdict rests on."""

    question: str
    verdict: str
    claims: tuple[Claim, ...]

    @property
    def sentence(self) -> str:
        """The answer for people who read nothing else."""
        if not self.claims:
            return f"{FEW}: there are no finished cells to answer it."
        count = {word: sum(claim.verdict == word for claim in self.claims) for word in (HOLDS, FAILS, FEW)}
        total = len(self.claims)
        whole = f"{self.verdict}: {count[HOLDS]} of {total} comparisons {'holds' if count[HOLDS] == 1 else 'hold'}"
        rest = [f"{count[FAILS]} {'does' if count[FAILS] == 1 else 'do'} not" * bool(count[FAILS])]
        rest += [f"{count[FEW]} {'has' if count[FEW] == 1 else 'have'} too few seeds" * bool(count[FEW])]
        against = [f"{claim.where}: {claim.what} ({claim.numbers})" for claim in self.claims if claim.verdict == FAILS]
        words = ", ".join(filter(None, [whole, *rest]))
        if len(against) > NAMED:
            against[NAMED:] = [f"and {len(against) - NAMED} more, all in the report's table of this question"]
        return words + (f". Against it: {'; '.join(against)}" if against else "") + "."


def answer(name: str, rows: Sequence[Row]) -> Answer:
    """Answer one of QUESTIONS from the rows of a study."""
    question, ask = QUESTIONS[name]
    claims = tuple(ask(rows))
    verdicts = [claim.verdict for claim in claims]
    verdict = FAILS if FAILS in verdicts else FEW if FEW in verdicts or not verdicts else HOLDS
    return Answer(question, verdict, claims)


# --------------------------------------------------------------------------- the paper's three


def _rq1(rows: Sequence[Row]) -> Iterator[Claim]:
    """As good as each baseline, and quicker than each, also than one whose trees are far worse."""
    for (game, expert), own in by_game(rows).items():
        for level in ("high/high", "low/low"):
            at = {row.arm.name: row for row in own if row.arm.level == level}
            where, due = _where(game, expert, level), expert in PAPER_EXPERTS.get(game, ())
            for ours in (at[name] for name in HYDRAVIPERS if name in at):
                yield from _against_baselines(where, ours, at, due)
                for rival in (at[name] for name in BASELINES if name in at):
                    yield _quicker(where, ours, rival)


def _rq2(rows: Sequence[Row]) -> Iterator[Claim]:
    """At every budget as good as each baseline at that budget, and as good as at the highest."""
    for (game, expert), own in by_game(rows).items():
        ours = {(row.arm.name, row.arm.level): row for row in own if row.arm.name in HYDRAVIPERS}
        for (name, level), row in ours.items():
            where = _where(game, expert, level)
            at = {one.arm.name: one for one in own if one.arm.level == level}
            yield from _against_baselines(where, row, at, expert in PAPER_EXPERTS.get(game, ()))
            if level != "high/high" and (name, "high/high") in ours:
                yield _not_worse(where, row, ours[name, "high/high"], "itself at the high budget")


def _against_baselines(where: str, ours: Row, at: Mapping[str, Row], due: bool) -> Iterator[Claim]:
    """What is not run yet is missed only with the paper's expert, where it is due."""
    for name in BASELINES:
        if name in at:
            yield _not_worse(where, ours, at[name])
        elif due:
            yield Claim(where, f"{_title(ours)} is better than or comparable to {name.upper()}", FEW, "not run yet")


def _rq3(rows: Sequence[Row]) -> Iterator[Claim]:
    """Clustered teams are as good as one team, in less time: where joint actions are valued, and in all."""
    for (game, expert), own in by_game(rows).items():
        whole = {row.arm.level: row for row in own if row.arm.name == "none"}
        for row in own:
            if row.arm.name in ("graph-metis", "marginal-kmeans", "marginal-metis") and row.arm.level in whole:
                where = _where(game, expert, row.arm.level)
                yield _not_worse(where, row, whole[row.arm.level], "one team")
                yield _quicker(where, row, whole[row.arm.level], "one team", "resample")
                yield _quicker(where, row, whole[row.arm.level], "one team")


# --------------------------------------------------------------------------- of figures, and ours


PARTS = (  # what is asked about, who has it, who has not
    ("playing together, in IVIPER", "joint rollouts alone", "iviper"),
    ("playing together in training, in IVIPER", "joint training rollouts alone", "iviper"),
    ("all else that HYDRAVIPER does", OURS, "joint rollouts alone"),
    ("C-Q in place of own weights", OURS, "without C-Q"),
    ("C-Q in place of no weights", OURS, "no weights"),
    ("TR-A", OURS, "without TR-A"),
    ("our race among the students", OURS, "without VR-UCB"),
    ("the paper's VR-UCB", PAPERS, "without VR-UCB"),
    ("TR-A with our race", OURS, "without TR-A and VR-UCB"),
)


def _parts(rows: Sequence[Row]) -> Iterator[Claim]:
    """A part helps if trees without it are worse; it does not if that is unclear and less than MARGIN for certain."""
    for (game, expert), own in by_game(rows).items():
        at = {(row.arm.name, row.arm.level): row for row in own}
        for level in dict.fromkeys(row.arm.level for row in own):
            for part, name, without in PARTS:
                if (name, level) in at and (without, level) in at:
                    lost = worsening(at[without, level], at[name, level])
                    verdict = HOLDS if lost.low > 0 else FAILS if lost.high < MARGIN else FEW
                    numbers = f"without it {_percent(lost)}"
                    yield Claim(_where(game, expert, level), f"{part} helps", _enough(lost, verdict), numbers)


def _of_a_series(group: str, best: Callable[[str], str]) -> Callable[[Sequence[Row]], Iterator[Claim]]:
    """One value of a setting is not worse than any other."""

    def ask(rows: Sequence[Row]) -> Iterator[Claim]:
        for (game, expert), own in by_game(rows).items():
            series = [row for row in own if row.arm.group == group]
            chosen = next((row for row in series if row.arm.name == best(game)), None)
            for row in series:
                if chosen is not None and row is not chosen:
                    name = f"{group} {row.arm.name}"
                    yield _not_worse(_where(game, expert, ""), chosen, row, name, f"{group} {chosen.arm.name}")

    return ask


def _time(rows: Sequence[Row]) -> Iterator[Claim]:
    for (game, expert), own in by_game(rows).items():
        for ours in (row for row in own if row.arm.name in HYDRAVIPERS):
            for row in own:
                if row.arm.name not in HYDRAVIPERS:
                    yield _quicker(_where(game, expert, row.arm.level), ours, row)


def _authors(rows: Sequence[Row]) -> Iterator[Claim]:
    for (game, expert), own in by_game(rows).items():
        for ours in (row for row in own if row.arm.name in HYDRAVIPERS):
            for row in own:
                if row.arm.name not in HYDRAVIPERS and row.arm.level == ours.arm.level:
                    yield _not_worse(_where(game, expert, row.arm.level), ours, row)


def _experts(rows: Sequence[Row]) -> Iterator[Claim]:
    """As good as each baseline, with an interval over experts instead of seeds."""
    for game, at in pooled.of_game(pooled.pool(rows)).items():
        for ours in (at[name] for name in HYDRAVIPERS if name in at):
            for rival in (at[name] for name in ("imitation", *BASELINES) if name in at):
                lost = ours.worsening(rival)
                verdict = HOLDS if lost.high <= MARGIN else FAILS if lost.low > MARGIN else FEW
                what = f"{_title(ours.rows[0])} is better than or comparable to {_title(rival.rows[0])}"
                where = f"{game}, over {lost.count} experts"
                yield Claim(where, what, _enough(lost, verdict), _percent(lost))


RIVALS = (  # who may gain over whom
    ("forests", OURS),
    ("mixtures of trees", OURS),
    ("UCB1-Normal", PAPERS),
    ("VR-UCB with c from the expert", PAPERS),
)


def _learners(rows: Sequence[Row]) -> Iterator[Claim]:
    for (game, expert), own in by_game(rows).items():
        at = {row.arm.name: row for row in own}
        for name, other in RIVALS:
            if name in at and other in at:
                gain = _gain(worsening(at[name], at[other]))
                yield Claim(_where(game, expert, ""), f"{name}: better than {_title(at[other])}", *gain)


def _features(rows: Sequence[Row]) -> Iterator[Claim]:
    for (game, expert), own in by_game(rows).items():
        plain = {row.arm.name: row for row in own if row.arm.group == "plain features"}
        for row in own:
            if row.arm.group == "derived features" and row.arm.name in plain:
                lost = worsening(row, plain[row.arm.name])
                yield Claim(_where(game, expert, ""), f"{_title(row)} gains", *_gain(lost))


def _refined(rows: Sequence[Row]) -> Iterator[Claim]:
    for (game, expert), own in by_game(rows).items():
        plain = next((row for row in own if row.arm.name == "none"), None)
        for row in own:
            if plain is not None and row is not plain:
                lost = worsening(row, plain)
                verdict, numbers = _gain(lost)
                seconds = statistics.t_interval(list(row.step("refine").values())).mean
                numbers += f"; {-100 * lost.mean / seconds:.3f} % a second, of {seconds:.1f} s"
                yield Claim(_where(game, expert, ""), f"refined for {row.arm.name} it is better", verdict, numbers)


QUESTIONS: dict[str, tuple[str, Callable[[Sequence[Row]], Iterator[Claim]]]] = {
    "rq1": ("RQ1: is HYDRAVIPER both performant and efficient?", _rq1),
    "rq2": ("RQ2: does HYDRAVIPER stay as good when the budget of rollouts decreases?", _rq2),
    "rq3": ("RQ3: does clustering the agents keep HYDRAVIPER's performance, and save time?", _rq3),
    "parts": ("Does each part of HYDRAVIPER help?", _parts),
    "depth": ("Is depth 4 as good as any other?", _of_a_series("depth of the trees", lambda game: "4")),
    "ucb": (
        "Is the paper's UCB constant c as good as any other?",
        _of_a_series("UCB constant c", lambda game: f"{published.BEST_UCB_SCALE[game]:g}"),
    ),
    "epsilon": (
        "Is the default drop quantile 0.3 as good as any other?",
        _of_a_series("drop quantile", lambda _: "0.3"),
    ),
    "time": ("Is HYDRAVIPER quicker than its baselines?", _time),
    "experts": ("Is HYDRAVIPER as good as its baselines whichever expert was trained?", _experts),
    "learners": ("Do forests, mixtures of trees or other bounds make it better?", _learners),
    "authors": ("Is HYDRAVIPER as good as its baselines, also as their authors wrote them?", _authors),
    "features": ("Do derived features make the trees better?", _features),
    "refined": ("Does refining make the trees better?", _refined),
}


# --------------------------------------------------------------------------- comparisons


def _not_worse(where: str, row: Row, other: Row, other_name: str = "", name: str = "") -> Claim:
    lost = worsening(row, other)
    verdict = HOLDS if lost.high <= MARGIN else FAILS if lost.low > MARGIN else FEW
    what = f"{name or _title(row)} is better than or comparable to {other_name or _title(other)}"
    return Claim(where, what, _enough(lost, verdict), _percent(lost))


def _quicker(where: str, row: Row, other: Row, other_name: str = "", step: str = "") -> Claim:
    """In all, or in one step of the algorithm."""
    both = (row.step(step), other.step(step)) if step else (row.seconds, other.seconds)
    ratio = statistics.ratio(*both)
    verdict = HOLDS if ratio.high < 1 else FAILS if ratio.low > 1 else FEW
    numbers = f"{ratio.mean:.2f} times the seconds, {ratio.low:.2f} to {ratio.high:.2f}"
    if ratio.count < 2:
        numbers = f"{ratio.mean:.2f} times the seconds"
    if row.quiet != other.quiet:
        verdict, numbers = FEW, numbers + "; only one of the two was measured on a quiet machine"
    worse = worsening(other, row)
    if worse.low > MARGIN:
        numbers += f"; the trees of {other_name or _title(other)} are {_percent(worse)}"
    what = f"{_title(row)} is quicker than {other_name or _title(other)}" + (f" in {STEPS[step]}" if step else "")
    return Claim(where, what, _enough(ratio, verdict), numbers)


def _gain(lost: Interval) -> tuple[str, str]:
    """Whether something made it better at all, and by how much."""
    verdict = HOLDS if lost.high < 0 else FAILS if lost.low >= 0 else FEW
    return _enough(lost, verdict), _percent(lost)


def _enough(interval: Interval, verdict: str) -> str:
    return verdict if interval.count >= LEAST_SEEDS else FEW


def _percent(lost: Interval) -> str:
    """How much worse or better, in words."""

    def words(share: float) -> str:
        return f"{abs(100 * share):.1f} % {'worse' if share > 0 else 'better'}"

    if lost.count == 0:
        return "no common seeds, or a mean of 0"
    if lost.mean == lost.low == lost.high == 0:
        return "the same in every seed"
    if lost.count < 2:
        return words(lost.mean)
    return f"{words(lost.mean)}; from {words(lost.low)} to {words(lost.high)}"


def _title(row: Row) -> str:
    return re.sub(r"\b(i|ma|hydra)viper\b", lambda name: name[0].upper(), row.arm.name)


def _where(game: str, expert: str, level: str) -> str:
    budget = {"high/high": "high budget", "low/low": "low budget", "": ""}.get(level, f"budget {level}")
    return ", ".join(filter(None, (titled(game, expert), budget)))
