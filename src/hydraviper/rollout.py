"""play(): the loop that steps a game."""

from dataclasses import dataclass

import numba as nb
import numpy as np

from hydraviper.data import Agent, InputError, Observations, Rollouts
from hydraviper.protocols import Game, Policy, SeededPolicy, offers

# Episodes stepped at once: few enough for their observations to stay in the cache, many enough to hide Python's cost.
BLOCK = 2048


@dataclass(frozen=True)
class Watched:
    """A policy whose episodes a game is asked to look at closely, where it offers that."""

    policy: Policy

    def act(self, observations: Observations) -> np.ndarray:
        """What the policy does."""
        return self.policy.act(observations)


def play(game: Game, policy: Policy, seeds: np.ndarray, record: bool = False) -> Rollouts:
    """Play one episode per seed; with `record`, keep observations and rewards, in the order of the episodes."""
    block = min(BLOCK, game.width or BLOCK)
    starts = range(0, max(len(seeds), 1), block)
    return Rollouts.join([_play_block(game, policy, seeds[start : start + block], record) for start in starts])


def _play_block(game: Game, policy: Policy, seeds: np.ndarray, record: bool) -> Rollouts:
    episodes, agents = len(seeds), len(game.agents)
    if isinstance(policy, Watched):
        policy, closely = policy.policy, offers(game).scoring.closely
        if closely is not None:
            closely.watch()
    actor = policy.begin(seeds) if isinstance(policy, SeededPolicy) else policy
    observations = _seen(game, game.reset(seeds), episodes)
    returns = np.zeros((episodes, agents))
    lengths = np.zeros(episodes, np.int64)
    running, left = np.ones(episodes, bool), episodes
    seen: list[Observations] = []
    paid: list[np.ndarray] = []
    acting: list[np.ndarray] = []
    standing, counts = offers(game).standing, np.array([len(agent.actions) for agent in game.agents])
    least = 0 if offers(game).compiled else -offers(game).programs  # some games have programs to leave agents to
    clocked = offers(game).scoring.step_minutes is not None
    for _ in range(game.horizon):
        if record:
            seen.append(observations)
            if standing is not None:
                acting.append(standing().acting.copy())
        chosen = check_actions(game, actor.act(observations), episodes, least, counts)
        observations, rewards, done = game.step(chosen)
        observations = _seen(game, observations, episodes)
        rewards = _plain(game, "rewards", rewards, (episodes, agents), np.float64)
        done = _plain(game, "ends of episodes", done, (episodes,), np.bool_)
        if record or clocked:
            paid.append(rewards)
        if left == episodes:
            returns += rewards
        else:
            np.add(returns, rewards, out=returns, where=running[:, None])
        lengths += running
        running &= ~done
        left = np.count_nonzero(running)
        if not left:
            break
    if not np.isfinite(returns).all():
        raise InputError(f"{game.name} paid a reward that is not a number: check the game.")
    kept = tuple(_by_episode([step[i] for step in seen], lengths) for i in range(agents)) if record else None
    rewarded = _by_episode(paid, lengths) if record and paid else None
    counted = _by_episode(acting, lengths) if acting else None
    cut = None if standing is None else standing().cut.copy()
    trace = _trace(game, paid, lengths) if clocked else None
    return Rollouts(returns, lengths, kept, dict(game.measures()), rewarded, trace, counted, cut)


def _trace(game: Game, paid: list[np.ndarray], lengths: np.ndarray) -> np.ndarray:
    """The score of every step [E, T], scaled so that their mean is the episode's; not a number after its end."""
    trace = np.full((len(lengths), game.horizon), np.nan)
    if paid:
        rewards = np.stack(paid, axis=1)  # [E, T, N]
        scores = game.score.of((rewards * game.horizon).reshape(-1, rewards.shape[2])).reshape(rewards.shape[:2])
        trace[:, : len(paid)] = np.where(np.arange(len(paid)) < lengths[:, None], scores, np.nan)
    return trace


def _by_episode(steps: list[np.ndarray], lengths: np.ndarray) -> np.ndarray:
    """[T] arrays of [B, F] -> [S, F], episode after episode, each as long as it lasted."""
    stacked = np.stack(steps, axis=1)  # [B, T, F]
    if (lengths == stacked.shape[1]).all():
        return stacked.reshape(-1, stacked.shape[2])
    return stacked[np.arange(stacked.shape[1]) < lengths[:, None]]


def _seen(game: Game, observations: Observations, episodes: int) -> Observations:
    """Checked copies of the observations [B, F_i] per agent; a compiled game's are only checked to be finite."""
    if len(observations) != len(game.agents):
        raise InputError(f"{game.name} showed {len(observations)} observations to {len(game.agents)} agents: one each.")
    checked = []
    for agent, array in zip(game.agents, observations, strict=True):
        checked.append(_plain(game, "observations", array, (episodes, len(agent.features)), np.float32, agent))
        if not _all_finite(checked[-1]):
            raise InputError(f"{game.name} showed {agent.name} a value that is not a number: check the game.")
    return checked


def _plain(
    game: Game,
    what: str,
    array: np.ndarray,
    shape: tuple[int, ...],
    kind: type[np.generic],
    whose: Agent | None = None,
) -> np.ndarray:
    """A copy of an array with the right shape and type: a game may reuse its own in the next step."""
    if offers(game).compiled:
        return array
    if type(array) is np.ndarray and array.dtype == kind and array.shape == shape:
        return array.copy()
    what += "" if whose is None else f" for {whose.name}"
    try:
        with np.errstate(over="ignore"):
            copy = np.array(array, kind)
    except (TypeError, ValueError):
        raise InputError(f"{game.name} gave {what} that are no plain numbers: check the game.") from None
    if copy.shape != shape:
        raise InputError(f"{game.name} gave {what} of shape {copy.shape}, not {shape}: check the game.")
    return copy


def check_actions(
    game: Game, actions: np.ndarray, episodes: int, least: int = 0, counts: np.ndarray | None = None
) -> np.ndarray:
    """Refuse actions that are not whole numbers [B, N] among the agents' own: they could crash a kernel.

    `counts` [N] are the agents' numbers of actions, where a caller has them.
    """
    actions = np.asarray(actions)
    shape = episodes, len(game.agents)
    if actions.shape != shape:
        raise InputError(f"a policy answered {game.name} with actions of shape {actions.shape}, not {shape}: check it.")
    if actions.dtype.kind not in "iu":
        raise InputError(f"a policy answered {game.name} with actions of type {actions.dtype}, not whole numbers.")
    counts = np.array([len(agent.actions) for agent in game.agents]) if counts is None else counts
    if not _all_within(actions, least, counts):
        row, i = np.argwhere((actions < least) | (actions >= counts))[0]
        raise InputError(
            f"a policy chose action {actions[row, i]} for {game.agents[i].name}, whose actions are 0 to "
            f"{counts[i] - 1}: check it."
        )
    return actions


@nb.njit(cache=True, nogil=True)
def _all_within(actions: np.ndarray, least: int, counts: np.ndarray) -> bool:
    outside = False
    for i in range(actions.shape[1]):
        for row in range(actions.shape[0]):
            outside |= actions[row, i] < least or actions[row, i] >= counts[i]
    return not outside


@nb.njit(cache=True, nogil=True)
def _all_finite(array: np.ndarray) -> bool:
    total = np.float32(0.0)
    for row in range(array.shape[0]):
        for column in range(array.shape[1]):
            total += array[row, column] * np.float32(0.0)
    return total == np.float32(0.0)
