"""Claims about rows, held to numbers: what a study's question is answered from.

"Comparable" means not worse by more than MARGIN of the other's mean, with 95 % confidence, from differences on common
seeds.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp

from hydraviper.data import Estimate
from hydraviper.studies import statistics
from hydraviper.studies.design import BASELINES, titled
from hydraviper.studies.rows import STEPS, Row, by_game, worsening

MARGIN = 0.05
LEAST_SEEDS = 3
HOLDS, FAILS, FEW = "holds", "does not hold", "not enough seeds"
OPEN = "not certain"  # more episodes could tell, more seeds could not
NAMED = 2  # failing comparisons that an answer's sentence names


@dataclass(frozen=True)
class Claim:
    """A part of an answer: in one game, at one budget."""

    where: str
    what: str
    verdict: str
    numbers: str


@dataclass(frozen=True)
class Finding:
    """A question with its verdict and the claims that the verdict rests on."""

    question: str
    verdict: str
    claims: tuple[Claim, ...]

    @property
    def sentence(self) -> str:
        """The answer in a sentence, with the first claims that fail."""
        if not self.claims:
            return f"{FEW}: there are no finished cells to answer it."
        count = {word: sum(claim.verdict == word for claim in self.claims) for word in (HOLDS, FAILS, OPEN, FEW)}
        total = len(self.claims)
        whole = f"{self.verdict}: {count[HOLDS]} of {total} comparisons {'holds' if count[HOLDS] == 1 else 'hold'}"
        rest = [f"{count[FAILS]} {'does' if count[FAILS] == 1 else 'do'} not" * bool(count[FAILS])]
        rest += [
            f"{count[OPEN]} {'is' if count[OPEN] == 1 else 'are'} not certain on these episodes" * bool(count[OPEN])
        ]
        rest += [f"{count[FEW]} {'has' if count[FEW] == 1 else 'have'} too few seeds" * bool(count[FEW])]
        against = [f"{claim.where}: {claim.what} ({claim.numbers})" for claim in self.claims if claim.verdict == FAILS]
        words = ", ".join(filter(None, [whole, *rest]))
        if len(against) > NAMED:
            against[NAMED:] = [f"and {len(against) - NAMED} more, all in the report's table of this question"]
        return words + (f". Against it: {'; '.join(against)}" if against else "") + "."


@dataclass(frozen=True)
class Question:
    """A question, and the claims that a study's rows make about it; it holds if all of them do."""

    text: str
    ask: Callable[[Sequence[Row]], Iterable[Claim]]

    def answer(self, rows: Sequence[Row]) -> Finding:
        """Judge every claim."""
        claims = tuple(self.ask(rows))
        verdicts = [claim.verdict for claim in claims]
        verdict = next((word for word in (FAILS, FEW, OPEN, HOLDS) if word in verdicts), FEW)
        return Finding(self.text, verdict, claims)


def not_worse(scope: str, row: Row, other: Row, other_name: str = "", name: str = "") -> Claim:
    """A row is better than or comparable to another."""
    loss = worsening(row, other)
    what = f"{name or title(row)} is better than or comparable to {other_name or title(other)}"
    return Claim(scope, what, comparable(loss), percent(loss))


def quicker(scope: str, row: Row, other: Row, other_name: str = "", step: str = "total") -> Claim:
    """A row takes less time than another, in all or in one step of the algorithm."""
    ratio = statistics.log_ratio(row.step(step), other.step(step))
    verdict = HOLDS if ratio.high < 0 else FAILS if ratio.low > 0 else FEW
    numbers = f"{exp(ratio.mean):.2f} times the seconds"
    if ratio.count > 1:
        numbers += f", {exp(ratio.low):.2f} to {exp(ratio.high):.2f}"
    if row.quiet != other.quiet:
        verdict, numbers = FEW, numbers + "; only one of the two was measured on a quiet machine"
    loss, rival = worsening(other, row), other_name or title(other)
    if loss.low > MARGIN:
        numbers += f"; the trees of {rival} are {percent(loss)}"
    what = f"{title(row)} is quicker than {rival}" + (f" in {STEPS[step]}" if step in STEPS else "")
    return Claim(scope, what, enough(ratio, verdict), numbers)


def better(scope: str, what: str, row: Row, other: Row) -> Claim:
    """A row is better than another at all."""
    loss = worsening(row, other)
    verdict = HOLDS if loss.high < 0 else FAILS if loss.low >= 0 else FEW
    return Claim(scope, what, enough(loss, verdict), percent(loss))


def every_seed(scope: str, what: str, differences: Sequence[Estimate], unit: str) -> Claim:
    """Differences that should be below 0, one for each seed with its interval over episodes, are so in every seed.

    It fails as soon as one is certainly not.
    """
    if not differences:
        return Claim(scope, what, FEW, "not measured")
    below, above = (all(one.high < 0 for one in differences), any(one.low >= 0 for one in differences))
    mean = sum(one.mean for one in differences) / len(differences)
    words = f"{abs(mean):,.2f} {unit} {'below' if mean < 0 else 'above'}"
    each = ", ".join(f"{one:+,.2f}" for one in differences)
    return Claim(scope, what, HOLDS if below else FAILS if above else OPEN, f"{words}; by seed {each}")


def against_baselines(scope: str, ours: Row, at: Mapping[str, Row], due: bool) -> Iterator[Claim]:
    """A row against each baseline; a baseline that was not run is missed only where it is due."""
    for name in BASELINES:
        if name in at:
            yield not_worse(scope, ours, at[name])
        elif due:
            yield Claim(scope, f"{title(ours)} is better than or comparable to {name.upper()}", FEW, "not run yet")


def best_of_series(group: str, best: Callable[[str], str]) -> Callable[[Sequence[Row]], Iterator[Claim]]:
    """One value of a setting (by game) is not worse than any other value in its series."""

    def ask(rows: Sequence[Row]) -> Iterator[Claim]:
        for (game, expert), game_rows in by_game(rows).items():
            series = [row for row in game_rows if row.arm.group == group]
            chosen = next((row for row in series if row.arm.name == best(game)), None)
            for row in series:
                if chosen is not None and row is not chosen:
                    name = f"{group} {row.arm.name}"
                    yield not_worse(scope_of(game, expert), chosen, row, name, f"{group} {chosen.arm.name}")

    return ask


def comparable(loss: Estimate) -> str:
    """Whether a loss is certainly at most MARGIN, certainly more, or neither."""
    return enough(loss, HOLDS if loss.high <= MARGIN else FAILS if loss.low > MARGIN else FEW)


def enough(estimate: Estimate, verdict: str) -> str:
    """The verdict, if there are enough seeds for one."""
    return verdict if estimate.count >= LEAST_SEEDS else FEW


def percent(loss: Estimate) -> str:
    """How much worse or better, in words."""

    def words(share: float) -> str:
        return f"{abs(100 * share):.1f} % {'worse' if share > 0 else 'better'}"

    if loss.count == 0:
        return "no common seeds, or a mean of 0"
    if loss.mean == loss.ci95 == 0:
        return "the same in every seed"
    if loss.count < 2:
        return words(loss.mean)
    return f"{words(loss.mean)}; from {words(loss.low)} to {words(loss.high)}"


def title(row: Row) -> str:
    """The arm's name with the algorithms' names in capitals."""
    return re.sub(r"\b(i|ma|hydra)viper\b", lambda name: name[0].upper(), row.arm.name)


def scope_of(game: str, expert: str, level: str = "") -> str:
    """A game, its expert where there is a choice, and a budget."""
    budget = {"high/high": "high budget", "low/low": "low budget", "": ""}.get(level, f"budget {level}")
    return ", ".join(filter(None, (titled(game, expert), budget)))
