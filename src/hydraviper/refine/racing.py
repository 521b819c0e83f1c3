"""Refine where rollouts are dear: candidates proposed without playing, raced on few seeds, checked on held-out ones.

The trees play with some random actions. Everything that they met is valued, for every action, by what followed
(`experience`) and by the expert. Trees that would earn more of these values are grown or found by a search that plays
nothing; they, the run's other students and the game's own rules as trees are the candidates. Those left after each heat
of the race (successive halving on paired differences) play more seeds. A candidate that jams once, that is, whose worst
episode is far worse than those of the given trees, is out. A second round starts from the winner.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numba as nb
import numpy as np

from hydraviper.data import Observations
from hydraviper.profile import Profile
from hydraviper.protocols import offers
from hydraviper.refine.experience import Experience
from hydraviper.refine.moves import Mover, Wishes
from hydraviper.refine.records import HELD_OUT, SEARCH, Found, Search, Trees
from hydraviper.seeding import Purpose, generator
from hydraviper.trees import cart
from hydraviper.trees.bins import Bins
from hydraviper.trees.derived import extend
from hydraviper.trees.packed import Packed, leaf_of, pack, unpack
from hydraviper.trees.tree import Tree

TIMED, LEAST, PLAYING = 4, 10, 0.6  # where seconds are given: rollouts that show the pace, the fewest, part for playing
EXPLORED, RACED = (0.22, 0.12), (0.2, 0.3)  # parts of the budget, of two rounds; the held-out check has the rest
CANDIDATES, MOVES = 12, 1500  # in a race, and changes tried per tree on values
JAM = 2.0  # an episode that is so many times worse than the given trees' worst one is a jam


@dataclass(frozen=True)
class _Met:
    """What trees met, and what each action is worth there."""

    observations: Observations
    worth: list[np.ndarray]  # per tree [S, actions]


class _Table:
    """Scores of candidates on common seeds; nothing is played twice."""

    def __init__(self, search: Search) -> None:
        self.search, self.played, self._known = search, 0, {}
        self._alive: dict[int, Trees] = {}  # whose number is a key must not be thrown away: another might get it

    def scores(self, candidates: Sequence[Trees], use: int, count: int) -> list[np.ndarray]:
        """The scores of each on the first `count` seeds of a use, higher is better."""
        seeds, expert = self.search.seeds(use, 0, count), self.search.expert
        self._alive |= {id(own): own for own in candidates}
        known = {id(own): self._known.get((id(own), use), np.empty(0)) for own in candidates}
        new = list({id(own): own for own in candidates if len(known[id(own)]) < count}.values())
        played = self.search.engine.play_many(
            [Profile(expert, own) for own in new], [seeds[len(known[id(own)]) :] for own in new]
        )
        score = self.search.game.score
        for own, rollouts in zip(new, played, strict=True):
            self.played += rollouts.episodes
            self._known[id(own), use] = np.append(known[id(own)], self.search.sign * score.of(rollouts.returns))
        return [self._known[id(own), use][:count] for own in candidates]


def search(search: Search) -> Found:
    """Two rounds of exploring, proposing and racing, then the held-out check."""
    budget = search.settings.rollouts or _likely(search)
    table, experience = _Table(search), Experience(search)
    best, start = search.given, "given trees"
    for turn in range(2):
        if search.left() <= 0:
            break
        episodes = max(2, int(EXPLORED[turn] * budget))
        experience.gather(best, turn, episodes)
        table.played += episodes
        named = _candidates(search, best, experience, turn)
        search.progress("refining", 1 + 2 * turn, 5)
        winner = _race(search, table, [best, *named.values()], table.played + int(RACED[turn] * budget))
        if winner is not best:
            start = next((name for name, own in named.items() if own is winner), start)
            best = winner
        search.progress("refining", 2 + 2 * turn, 5)
    left = budget - table.played - max(2, budget // 50)  # the last part counts the nodes
    checked = 2 if best is search.given else max(2, left // 2)
    before, after = table.scores([search.given, best], HELD_OUT, checked)
    if _jams(after, before):
        best, after = search.given, before
    search.progress("refining", 5, 5)
    return Found(best, search.sign * before, search.sign * after, table.played, start)


def _likely(search: Search) -> int:
    """How many rollouts the seconds are likely to be enough for, by the pace of a few."""
    begun = time.perf_counter()
    search.engine.play(Profile(search.expert, search.given), search.seeds(SEARCH, 99, TIMED))
    pace = (time.perf_counter() - begun) / TIMED
    return max(LEAST, int(PLAYING * search.left() / pace))


def _asked(search: Search, trees: Trees, observations: Observations) -> list[np.ndarray]:
    """Per tree [S, actions]: what the expert says the team is worth if one agent did that and the others as they do."""
    played = Profile(search.expert, trees).act(observations)
    team, worth = list(search.team), []
    for i in team:
        columns = []
        for action in range(len(search.game.agents[i].actions)):
            other = played.copy()
            other[:, i] = action
            columns.append(search.expert.q(observations, other)[:, team].mean(axis=1))
        worth.append(np.stack(columns, axis=1))
    return worth


def _candidates(search: Search, trees: Trees, experience: Experience, turn: int) -> dict[str, Trees]:
    """Trees that might be better, by name; none that breaks what must be kept."""
    observations = experience.observations
    named: dict[str, Trees] = {}
    for view, worth in experience.worth(trees).items():
        met = _Met(observations, worth)
        named[f"by experience, {view}"] = _climbed(search, _grown(search, met), met, turn + 20, MOVES)
        named.setdefault("changed by experience", _climbed(search, trees, met, turn, MOVES))
    met = _Met(observations, _asked(search, trees, observations))
    named["changed where the expert loses"] = _climbed(search, trees, met, turn, MOVES)
    named["grown again by the expert's values"] = _grown(search, met)
    if turn == 0:
        named |= {f"another student ({k})": own for k, own in enumerate(search.starts, start=2)}
        named |= _rules(search, met)
    fits = search.allowed or (lambda own: True)
    return {name: own for name, own in list(named.items())[:CANDIDATES] if fits(own)}


def _grown(search: Search, met: _Met) -> Trees:
    """Trees grown on what was met, each row weighed by what is at stake there."""
    trees = {}
    for a, i in enumerate(search.team):
        worth = met.worth[a]
        stake = worth.max(axis=1) - worth.min(axis=1)
        trees[i] = _tree(search, a, met, worth.argmax(axis=1), np.maximum(stake, 1e-9))
    return trees


def _rules(search: Search, met: _Met) -> dict[str, Trees]:
    """The game's own rules as trees, from what they would have done."""
    named: dict[str, Trees] = {}
    for name, policy in offers(search.game).scoring.yardsticks.items():
        labels = policy.act(met.observations)
        if labels.min() >= 0 and any((labels[:, i] != labels[0, i]).any() for i in search.team):
            weights = np.ones(len(labels))
            named[f"script: {name}"] = {
                i: _tree(search, a, met, labels[:, i], weights) for a, i in enumerate(search.team)
            }
    return named


def _tree(search: Search, a: int, met: _Met, labels: np.ndarray, weights: np.ndarray) -> Tree:
    i, derived = search.team[a], search.vocabulary.derived[a]
    bins = Bins(search.vocabulary.sizes[a])
    bins.append(extend(met.observations[i], derived))
    count = len(search.game.agents[i].actions)
    limits = search.limits.depth, search.limits.leaves
    tree = cart.grow(bins, np.ascontiguousarray(labels), weights / weights.mean(), count, *limits)
    return replace(tree, derived=derived).merged()


@nb.njit(cache=True, nogil=True)
def _earned(views, rows, a, worth, nodes, threshold, starts, terms):
    """The mean worth of tree a's answers to its rows."""
    total = 0.0
    for r in range(rows):
        total += worth[r, nodes[a, leaf_of(views, a * rows + r, a, nodes, threshold, starts, terms), 3]]
    return total / rows


def _climbed(search: Search, trees: Trees, met: _Met, number: int, moves: int) -> Trees:
    """Trees changed so that their answers are worth more on what was met; nothing is played."""
    team, vocabulary = search.team, search.vocabulary
    rows, widest = len(met.worth[0]), max(vocabulary.plain)
    views = np.zeros((len(team) * rows, widest), np.float32)
    for a, i in enumerate(team):
        views[a * rows : (a + 1) * rows, : vocabulary.plain[a]] = met.observations[i]
    tables, draws = vocabulary.tables(), generator(search.settings.seed, Purpose.REFINE, 1000 + number)
    actions = [len(search.game.agents[i].actions) for i in team]
    features = [np.arange(size) for size in vocabulary.sizes]
    mover = Mover(tables, features, actions, search.limits, draws)
    packed = pack([trees[i] for i in team], vocabulary, search.limits.nodes)
    mover.meet(views, rows, [_wishes(met, a, i, packed, views, tables, draws) for a, i in enumerate(team)])
    for a in range(len(team)):
        earned = _earned(views, rows, a, met.worth[a], packed.nodes, packed.threshold, *tables)
        for _ in range(moves):
            changed = mover.change(packed, a)
            if changed is None:
                continue
            value = _earned(views, rows, a, met.worth[a], changed.nodes, changed.threshold, *tables)
            if value > earned and _allowed(search, changed, actions):
                packed, earned = changed, value
    return dict(zip(team, unpack(packed, vocabulary, actions), strict=True))


def _allowed(search: Search, packed: Packed, actions: list[int]) -> bool:
    if search.allowed is None:
        return True
    return search.allowed(dict(zip(search.team, unpack(packed, search.vocabulary, actions), strict=True)))


def _wishes(
    met: _Met,
    a: int,
    i: int,
    packed: Packed,
    views: np.ndarray,
    tables: tuple[np.ndarray, np.ndarray],
    draws: np.random.Generator,
) -> Wishes:
    rows = len(met.worth[0])
    best = met.worth[a].argmax(axis=1)
    answers = np.array(
        [
            packed.nodes[a, _leaf(views, a * rows + r, a, packed.nodes, packed.threshold, *tables), 3]
            for r in range(rows)
        ]
    )
    loss = met.worth[a].max(axis=1) - met.worth[a][np.arange(rows), answers]
    picked = draws.choice(rows, 200, p=loss / loss.sum()) if loss.sum() > 0 else np.empty(0, np.int64)
    return Wishes(picked + a * rows, best[picked])


@nb.njit(cache=True, nogil=True)
def _leaf(views, r, a, nodes, threshold, starts, terms):
    return leaf_of(views, r, a, nodes, threshold, starts, terms)


def _race(search: Search, table: _Table, candidates: list[Trees], until: int) -> Trees:
    """Successive halving on common seeds; the incumbent, first, plays along and stays unless it is beaten clearly."""
    incumbent, count = candidates[0], 2
    running = candidates[1 : max(2, (until - table.played) // count)]  # what the first heat can pay for
    kept: list[tuple[Trees, np.ndarray]] = []
    while running and search.left() > 0:
        fresh = count - (0 if count == 2 else count // 2)
        if table.played + fresh * (len(running) + 1) > until and count > 2:
            break
        base, *others = table.scores([incumbent, *running], SEARCH, count)
        kept = [
            (own, scores - base)
            for own, scores in zip(running, others, strict=True)
            if not _jams(scores, base) and (scores - base).mean() > 0
        ]
        kept.sort(key=lambda pair: -pair[1].mean())
        # two stay to the end: the longer both play, the sooner a rare jam shows in one of them
        running = [own for own, _ in kept[: max(2, -(-len(running) // 2))]]
        count *= 2
    return running[0] if kept and _clear(kept[0][1]) else incumbent


def _clear(gains: np.ndarray) -> bool:
    """Whether a paired gain is more than its own noise."""
    return len(gains) > 1 and gains.mean() > gains.std(ddof=1) / np.sqrt(len(gains))


def _jams(scores: np.ndarray, base: np.ndarray) -> bool:
    """Whether the worst score, for whatever sign, is far below the worst that is known."""
    return float(scores.min()) < float(base.min()) - (JAM - 1) * abs(float(base.min()))
