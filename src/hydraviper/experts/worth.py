"""What a policy's actions are worth where the policy itself does not say: fitted, its own preferences, or nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hydraviper.data import InputError, Observations, Progress, Team
from hydraviper.experts import callables, elsewhere, enumeration, store
from hydraviper.experts.adapted import CHOICES, PREFERENCES, AdaptedQ
from hydraviper.experts.local_q import LocalQExpert
from hydraviper.experts.networks import CriticExpert
from hydraviper.experts.store import StoredExpert
from hydraviper.protocols import Engine, Expert, Game, Policy, SeededPolicy, offers

FITTED, POLICY, NONE = "fitted", "policy", "none"
CHOICES_OF_WORTH = (FITTED, POLICY, NONE)
Value = Callable[[Observations, np.ndarray], np.ndarray]  # observations, actions [B, N] -> everybody's values [B, N]


@dataclass(frozen=True)
class ValuedPolicy:
    """Any policy with any Q-function; the worst joint action is found by trying all of them."""

    policy: Policy
    value: Value | None  # None: nothing is worth more than anything else
    action_counts: tuple[int, ...]  # [N]
    worst: Callable[..., np.ndarray] | None = None  # `worst_team_q`, where somebody knows it without trying
    about: Mapping[str, object] = field(default_factory=dict)  # game, where it comes from
    digest: str = ""  # tells this expert from others
    workers: int = 1  # not used: a user's function is called as it is

    @property
    def joint(self) -> bool:
        """Whether all joint actions of a team are tried."""
        return self.value is not None and self.worst is None

    def begin(self, seeds: np.ndarray) -> "ValuedPolicy":
        """The expert for the episodes of these seeds (uint64 [B])."""
        return replace(self, policy=self.policy.begin(seeds)) if isinstance(self.policy, SeededPolicy) else self

    def act(self, observations: Observations, agents: Team | None = None) -> np.ndarray:
        """The policy's actions, [B, N]."""
        del agents  # a policy answers for everybody
        return np.array(self.policy.act(observations))

    def q(self, observations: Observations, actions: np.ndarray) -> np.ndarray:
        """Every agent's value of the joint actions, [B, N]."""
        if self.value is None:
            return np.zeros(actions.shape)
        values = np.asarray(self.value(observations, actions), np.float64)
        if values.shape != actions.shape:
            raise InputError(f"q answered with values of shape {values.shape}, not {actions.shape}: one per agent.")
        return values

    def worst_team_q(
        self, observations: Observations, actions: np.ndarray, team: Team, judges: Team | None = None
    ) -> np.ndarray:
        """The least mean value to the judges over the team's joint actions, [B]."""
        if self.worst is not None:
            return self.worst(observations, actions, team, judges)
        if self.value is None:
            return np.zeros(len(actions))
        return enumeration.worst_team_q(self.q, observations, actions, team, judges, self.action_counts)


AnyExpert = StoredExpert | ValuedPolicy


def load_expert(name: Path | str, game: Game | None = None, *, trust: bool = False) -> AnyExpert:
    """Open an expert: a file of ours, or with its game one from elsewhere, such as `sb3:FILE.zip`.

    One that does not fit the game is refused, and so is a file that runs code when it is loaded, unless you trust it.
    """
    if not elsewhere.is_name(str(name)):
        return store.load(name, game)
    if game is None:
        raise InputError(f"{name} comes from elsewhere and must be fitted to a game: pass the game as well.")
    name, found = str(name), elsewhere.load(str(name), game, trust)
    if isinstance(found, LocalQExpert):
        return found
    counts = tuple(len(agent.actions) for agent in game.agents)
    value, worst = getattr(found, "q", None), getattr(found, "worst_team_q", None)
    about = {"game": game.name, "algorithm": "python", "name": name}
    return ValuedPolicy(found, value, counts, worst, about, callables.contents(name.partition(":")[2]))


def expert_from(
    game: Game,
    policy: Any,
    *,
    q: Value | None = None,
    values: str | None = None,
    engine: Engine | None = None,
    progress: Progress = lambda step, done, of: None,
) -> Expert:
    """Make an expert of any policy, so that it can be distilled; nothing has to be written for `worst_team_q`.

    `policy` is a function of one observation (or of an observation and its agent's name) that answers with an action,
    a mapping from agents' names to such functions, or an object with `act(observations) -> [B, N]`. `q` values joint
    actions: (observations, actions [B, N]) -> [B, N]. Without it, `values` says what weighs a sample: "fitted" (Q by
    fitted Q-evaluation, which plays the game), "policy" (its own log-probabilities) or "none".
    """
    counts = tuple(len(agent.actions) for agent in game.agents)
    if not hasattr(policy, "act"):
        policy = _per_agent(game, policy)
    elif q is None and hasattr(policy, "q"):
        if hasattr(policy, "worst_team_q"):
            return policy if values is None else weighed(game, policy, values, engine, progress)
        q = policy.q
    if q is not None:
        if values is not None:
            raise InputError("an expert is valued by q or by values, not by both: pass one of them.")
        return ValuedPolicy(policy, q, counts)
    expert = policy if isinstance(policy, LocalQExpert) else ValuedPolicy(policy, None, counts)
    return weighed(game, expert, values, engine, progress)


def _per_agent(game: Game, policy: Any) -> LocalQExpert:
    """Functions as everybody's policies."""
    functions = policy if isinstance(policy, Mapping) else {agent.name: policy for agent in game.agents}
    foreign, q_functions = offers(game).foreign, []
    for i, agent in enumerate(game.agents):
        own = agent.name if foreign is None else foreign.agents[i]
        function = functions.get(agent.name, functions.get(own))
        if not callable(function):
            raise InputError(f"there is no policy for {agent.name}: pass a function, or one for every agent's name.")
        q_functions.append(callables.adapt(game, i, partial(callables.itself, function), ""))
    return LocalQExpert(tuple(q_functions), {"game": game.name})


def weighed(
    game: Game,
    expert: Any,
    values: str | None,
    engine: Engine | None = None,
    progress: Progress = lambda step, done, of: None,
) -> Any:
    """The same policy, its actions valued as asked for; None: as the policy itself values them."""
    if values is None:
        return expert
    if values not in CHOICES_OF_WORTH:
        raise InputError(f"--values {values!r} is unknown: choose one of {', '.join(CHOICES_OF_WORTH)}.")
    about = {**getattr(expert, "about", {}), "values": values}
    if values == FITTED:
        return _fitted(game, expert, about, engine, progress)
    if values == POLICY:
        _check_preferences(game, expert)
        return replace(expert, about=about)
    if not isinstance(expert, LocalQExpert) or not all(isinstance(q, AdaptedQ) for q in expert.q_functions):
        counts = tuple(len(agent.actions) for agent in game.agents)
        return ValuedPolicy(expert, None, counts, about=about, digest=getattr(expert, "digest", ""))
    plain = tuple(replace(q, weighed=False) if isinstance(q, AdaptedQ) else q for q in expert.q_functions)
    return replace(expert, q_functions=plain, about=about)


def _check_preferences(game: Game, expert: Any) -> None:
    """Refuse a policy of a distilled agent that has no log-probabilities."""
    for i in sorted(i for team in game.teams for i in team):
        q = expert.q_functions[i] if isinstance(expert, LocalQExpert) else None
        if not isinstance(q, AdaptedQ) or q.answers != PREFERENCES:
            only = isinstance(q, AdaptedQ) and q.answers == CHOICES
            has = "only chooses actions" if only else "has values of its own, and no log-probabilities"
            raise InputError(
                f"the expert of {game.agents[i].name} {has}: choose --values fitted or none, or leave --values out."
            )


def _fitted(game: Game, policy: Any, about: Mapping[str, object], engine: Engine | None, progress: Progress) -> Any:
    """The policy with joint critics by fitted Q-evaluation."""
    try:
        from hydraviper.experts import critics
    except ImportError as error:
        raise InputError(
            f"fitted values need the package {error.name}: install hydraviper[train], or choose --values none."
        ) from None
    policy = policy.policy if isinstance(policy, CriticExpert | ValuedPolicy) else policy
    fit = critics.fit(game, policy, critics.settings_for(game, policy, engine=engine), engine, progress)
    explained = min(fit.explained)
    note = (
        f"The expert's values were fitted to {fit.rollouts} rollouts beyond the budget and explain at least "
        f"{explained:.0%} of the variance on held-out ones."
    )
    earlier = about.get("notes")
    notes = [*(earlier if isinstance(earlier, list | tuple) else ()), note]
    return replace(fit.expert, about={**about, "notes": notes})
