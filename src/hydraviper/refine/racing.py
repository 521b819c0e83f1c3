"""The search where episodes are dear: candidates proposed without playing, raced on few seeds.

The trees play with some random actions. At every observation that they met, each action is valued by what followed
(`experience`) and by the expert. Candidates are trees grown or changed to earn more of these values, the run's other
students, and the game's scripted rules as trees. They race by successive halving on paired differences: those left
after each heat play more seeds. A candidate that jams, that is, whose worst episode is far worse than that of the
incumbent, is out. A second round tunes the winner's thresholds (`nudging`), and races again.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numba as nb
import numpy as np

from hydraviper.data import Observations
from hydraviper.engines.counted import counted
from hydraviper.profile import Profile
from hydraviper.protocols import offers
from hydraviper.refine.experience import Experience, thinning
from hydraviper.refine.moves import Mover, Wishes
from hydraviper.refine.nudging import nudged
from hydraviper.refine.records import HELD_OUT, SEARCH, Found, SearchState, Trees
from hydraviper.seeding import Purpose, generator
from hydraviper.trees import cart
from hydraviper.trees.bins import Bins
from hydraviper.trees.derived import extend
from hydraviper.trees.packed import leaf_of
from hydraviper.trees.tree import Tree

TIMED, LEAST, PLAYING = 4, 10, 0.6  # with seconds: rollouts to measure the pace, the fewest, share for playing
EXPLORED, RACED, NUDGED = 0.12, (0.13, 0.2), 0.35  # shares of the budget; the rest is for the held-out check
CANDIDATES, MOVES = 12, 1500  # in a race; moves tried per tree to raise its value
JAM = 2.0  # an episode this many times worse than the incumbent's worst one is a jam


@dataclass(frozen=True)
class _Met:
    """The observations that trees met, and the value of each action there."""

    observations: Observations
    worth: list[np.ndarray]  # per tree [S, actions]

    def thinned(self) -> "_Met":
        """Some of them, evenly, where there are more than are needed to judge moves by."""
        some = thinning(len(self.worth[0]))
        return _Met(
            [seen[some] for seen in self.observations], [np.ascontiguousarray(part[some]) for part in self.worth]
        )


class _Scores:
    """The scores of candidates on common seeds; no episode is played twice."""

    def __init__(self, state: SearchState) -> None:
        self.state, self.played = state, 0
        self._scores: dict[tuple[int, int], np.ndarray] = {}  # (id of the trees, use of the seeds) -> scores
        self._alive: dict[int, Trees] = {}  # keeps every candidate alive, so that no id is given twice

    def of(self, candidates: Sequence[Trees], use: int, count: int) -> list[np.ndarray]:
        """Each candidate's scores on the first `count` seeds of a use, higher is better."""
        seeds, expert = self.state.seeds(use, 0, count), self.state.expert
        self._alive |= {id(trees): trees for trees in candidates}
        before = {id(trees): self._scores.get((id(trees), use), np.empty(0)) for trees in candidates}
        new = list({id(trees): trees for trees in candidates if len(before[id(trees)]) < count}.values())
        played = self.state.engine.play_many(
            [Profile(expert, trees) for trees in new], [seeds[len(before[id(trees)]) :] for trees in new]
        )
        score = self.state.game.score
        for trees, rollouts in zip(new, played, strict=True):
            self.played += rollouts.episodes
            self._scores[id(trees), use] = np.append(before[id(trees)], self.state.sign * score.of(rollouts.returns))
        return [self._scores[id(trees), use][:count] for trees in candidates]


def search(state: SearchState) -> Found:
    """Two rounds of exploring, proposing and racing; then the winner and the given trees on held-out seeds."""
    budget = state.settings.rollouts or _likely(state)
    telling = counted(state.game, state.engine, lambda played: state.progress("refining", min(played, budget), budget))
    state = replace(state, engine=telling)
    scores, experience = _Scores(state), Experience(state)
    best, start = state.given, "given trees"
    episodes = max(2, int(EXPLORED * budget))
    experience.gather(best, 0, episodes)
    scores.played += episodes
    for turn in range(2):
        if state.left() <= 0:
            break
        named, played = _proposed(state, best, experience, turn, int(NUDGED * budget / 2))
        scores.played += played
        winner = _race(state, scores, [best, *named.values()], scores.played + int(RACED[turn] * budget))
        if winner is not best:
            start = next((name for name, trees in named.items() if trees is winner), start)
            best = winner
    left = budget - scores.played - max(2, budget // 50)  # the last share is for counting the nodes
    checked = 2 if best is state.given else max(2, left // 2)
    before, after = scores.of([state.given, best], HELD_OUT, checked)
    if _jams(after, before):
        best, after = state.given, before
    return Found(trees=best, before=state.sign * before, after=state.sign * after, rollouts=scores.played, start=start)


def _likely(state: SearchState) -> int:
    """How many rollouts the seconds are likely to allow, judged by a few."""
    begun = time.perf_counter()
    state.engine.play(Profile(state.expert, state.given), state.seeds(SEARCH, 99, TIMED))
    pace = (time.perf_counter() - begun) / TIMED
    return max(LEAST, int(PLAYING * state.left() / pace))


def _asked(state: SearchState, trees: Trees, experience: Experience) -> list[np.ndarray]:
    """Per tree [S, actions]: the team's value by the expert if one agent takes an action and the others as before.

    Where the agent's action does not count, all are worth 0.
    """
    observations, acting = experience.observations, experience.acting
    played = Profile(state.expert, trees).act(observations)
    team, worth = list(state.team), []
    for i in team:
        columns = []
        for action in range(len(state.game.agents[i].actions)):
            other = played.copy()
            other[:, i] = action
            columns.append(state.expert.q(observations, other)[:, team].mean(axis=1))
        worth.append(np.stack(columns, axis=1) * acting[:, i, None])
    return worth


def _proposed(
    state: SearchState, trees: Trees, experience: Experience, turn: int, pairs: int
) -> tuple[dict[str, Trees], int]:
    """Trees that might be better, by name, and the episodes that it took; only such as keep what must be kept."""
    named, played = (_candidates(state, trees, experience), 0) if turn == 0 else nudged(state, trees, experience, pairs)
    allowed = state.allowed or (lambda candidate: True)
    return {name: one for name, one in list(named.items())[:CANDIDATES] if allowed(one)}, played


def _candidates(state: SearchState, trees: Trees, experience: Experience) -> dict[str, Trees]:
    """Trees that earn more of the values of what was met, the run's other students, and rules as trees."""
    observations = experience.observations
    named: dict[str, Trees] = {}
    for view, worth in experience.worth(trees).items():
        met = _Met(observations, worth)
        named[f"by experience, {view}"] = _climbed(state, _grown(state, met), met, 20, MOVES)
        named.setdefault("changed by experience", _climbed(state, trees, met, 0, MOVES))
    met = _Met(observations, _asked(state, trees, experience))
    named["changed where the expert loses"] = _climbed(state, trees, met, 0, MOVES)
    named["grown again by the expert's values"] = _grown(state, met)
    named |= {f"another student ({k})": student for k, student in enumerate(state.starts, start=2)}
    return named | _rules(state, met)


def _grown(state: SearchState, met: _Met) -> Trees:
    """Trees grown to choose the best action, each observation weighted by the range of its values."""
    trees = {}
    for a, i in enumerate(state.team):
        worth = met.worth[a]
        stake = worth.max(axis=1) - worth.min(axis=1)
        trees[i] = _tree(state, a, met, worth.argmax(axis=1), np.maximum(stake, 1e-9))
    return trees


def _rules(state: SearchState, met: _Met) -> dict[str, Trees]:
    """Trees that imitate the game's scripted rules on the observations."""
    named: dict[str, Trees] = {}
    for name, policy in offers(state.game).scoring.yardsticks.items():
        labels = policy.act(met.observations)
        if labels.min() >= 0 and any((labels[:, i] != labels[0, i]).any() for i in state.team):
            weights = np.ones(len(labels))
            named[f"script: {name}"] = {
                i: _tree(state, a, met, labels[:, i], weights) for a, i in enumerate(state.team)
            }
    return named


def _tree(state: SearchState, a: int, met: _Met, labels: np.ndarray, weights: np.ndarray) -> Tree:
    i, derived = state.team[a], state.vocabulary.derived[a]
    bins = Bins(state.vocabulary.sizes[a])
    bins.append(extend(met.observations[i], derived))
    count = len(state.game.agents[i].actions)
    limits = state.limits.depth, state.limits.leaves
    tree = cart.grow(bins, np.ascontiguousarray(labels), weights / weights.mean(), count, *limits)
    return replace(tree, derived=derived).merged()


@nb.njit(cache=True, nogil=True)
def _earned(views, rows, a, worth, nodes, threshold, starts, terms):
    """The mean value of tree a's actions in its rows."""
    total = 0.0
    for r in range(rows):
        total += worth[r, nodes[a, leaf_of(views, a * rows + r, a, nodes, threshold, starts, terms), 3]]
    return total / rows


def _climbed(state: SearchState, trees: Trees, met: _Met, number: int, moves: int) -> Trees:
    """Trees changed by hill climbing so that their actions are worth more; nothing is played."""
    met = met.thinned()
    team, vocabulary = state.team, state.vocabulary
    rows, widest = len(met.worth[0]), max(vocabulary.plain)
    views = np.zeros((len(team) * rows, widest), np.float32)
    for a, i in enumerate(team):
        views[a * rows : (a + 1) * rows, : vocabulary.plain[a]] = met.observations[i]
    tables, draws = vocabulary.tables(), generator(state.settings.seed, Purpose.REFINE, 1000 + number)
    actions = [len(state.game.agents[i].actions) for i in team]
    features = [np.arange(size) for size in vocabulary.sizes]
    mover = Mover(tables, features, actions, state.limits, draws)
    packed = state.pack(trees)
    wishes = [_wishes(met, a, trees[i], met.observations[i], draws) for a, i in enumerate(team)]
    mover.meet(views, rows, wishes)
    for a in range(len(team)):
        earned = _earned(views, rows, a, met.worth[a], packed.nodes, packed.threshold, *tables)
        for _ in range(moves):
            changed = mover.change(packed, a)
            if changed is None:
                continue
            value = _earned(views, rows, a, met.worth[a], changed.nodes, changed.threshold, *tables)
            if value > earned and state.allows(changed):
                packed, earned = changed, value
    return state.unpack(packed)


def _wishes(met: _Met, a: int, tree: Tree, observations: np.ndarray, draws: np.random.Generator) -> Wishes:
    """Observations at which another action is worth more than the tree's, drawn in proportion to the difference."""
    worth, rows = met.worth[a], len(met.worth[a])
    loss = worth.max(axis=1) - worth[np.arange(rows), tree.predict(observations)]
    drawn = draws.choice(rows, 200, p=loss / loss.sum()) if loss.sum() > 0 else np.empty(0, np.int64)
    return Wishes(drawn + a * rows, worth.argmax(axis=1)[drawn])


def _race(state: SearchState, scores: _Scores, candidates: list[Trees], until: int) -> Trees:
    """Successive halving on common seeds; the incumbent, the first candidate, wins unless it is clearly beaten."""
    incumbent, count = candidates[0], 2
    running = candidates[1 : max(2, (until - scores.played) // count)]  # as many as the first heat can afford
    kept: list[tuple[Trees, np.ndarray]] = []
    while running and state.left() > 0:
        fresh = count - (0 if count == 2 else count // 2)
        if scores.played + fresh * (len(running) + 1) > until and count > 2:
            break
        base, *others = scores.of([incumbent, *running], SEARCH, count)
        kept = [
            (candidate, score - base)
            for candidate, score in zip(running, others, strict=True)
            if not _jams(score, base) and (score - base).mean() > 0
        ]
        kept.sort(key=lambda pair: -pair[1].mean())
        # two stay to the end: the longer both play, the sooner one of them shows a rare jam
        running = [candidate for candidate, _ in kept[: max(2, -(-len(running) // 2))]]
        count *= 2
    return running[0] if kept and _clear(kept[0][1]) else incumbent


def _clear(gains: np.ndarray) -> bool:
    """Whether a mean paired gain exceeds its standard error."""
    return len(gains) > 1 and gains.mean() > gains.std(ddof=1) / np.sqrt(len(gains))


def _jams(scores: np.ndarray, base: np.ndarray) -> bool:
    """Whether the worst score is far below the worst of the incumbent."""
    return float(scores.min()) < float(base.min()) - (JAM - 1) * abs(float(base.min()))
