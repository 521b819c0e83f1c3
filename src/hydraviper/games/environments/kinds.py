"""The two kinds of environments: Gymnasium's, with one agent, and PettingZoo's, with several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy import ndarray

from hydraviper.data import InputError
from hydraviper.games.environments.game import Environments


class GymnasiumGame(Environments):
    """One agent in instances of a Gymnasium environment."""

    def _agents(self, instance: object) -> list[str]:
        return ["agent"]

    def _observation_space(self, instance: Any, name: str) -> Any:
        return instance.observation_space

    def _action_space(self, instance: Any, name: str) -> Any:
        return instance.action_space

    def _first_infos(self, instance: Any) -> Mapping[str, object]:
        return {"agent": instance.reset(seed=0)[1]}

    def _limit(self, instance: object) -> int | None:
        spec = getattr(instance, "spec", None)
        return getattr(spec, "max_episode_steps", None)

    def _begin(self, k: int, seed: int) -> None:
        observation, info = self._instances[k].reset(seed=seed)
        self._sights[0].write(self._seen[0][k], observation, info)
        self._acting[k] = True

    def _advance(self, actions: np.ndarray, rewards: np.ndarray) -> None:
        sight, own, seen = self._sights[0], self._choices[0].own, self._seen[0]
        plain, instances = sight.plain, self._instances  # names of this function: the loop is played millions of times
        chosen, paid = actions[:, 0].tolist(), [0.0] * len(actions)
        for k in self._running:
            observation, paid[k], over, cut, info = instances[k].step(own[chosen[k]])
            if plain is not None and isinstance(observation, ndarray) and observation.shape == plain:
                seen[k] = observation
            else:
                sight.write(seen[k], observation, info)
            if over or cut:
                self._end(k, not over)
        rewards[:, 0] = paid


class PettingZooGame(Environments):
    """Agents in instances of a PettingZoo environment with its parallel interface; in some, they take turns."""

    def _agents(self, instance: object) -> list[str]:
        names = getattr(instance, "possible_agents", None)
        if not names:
            raise InputError(
                f"{self.name} does not say which agents there can be (possible_agents): a tree belongs to an agent, so "
                "name them all, also those that come later."
            )
        return [str(name) for name in names]

    def _observation_space(self, instance: Any, name: str) -> Any:
        return instance.observation_space(self._keys(instance)[name])

    def _action_space(self, instance: Any, name: str) -> Any:
        return instance.action_space(self._keys(instance)[name])

    def _keys(self, instance: Any) -> dict[str, object]:
        return {str(name): name for name in instance.possible_agents}

    def _first_infos(self, instance: Any) -> Mapping[str, object]:
        self._places = {name: i for i, name in enumerate(instance.possible_agents)}
        # in PettingZoo's conversion of a game whose agents take turns, only one agent's action counts in a step
        self._by_turns = type(instance).__name__ == "turn_based_aec_to_parallel_wrapper"
        return {str(name): info for name, info in (instance.reset(seed=0)[1] or {}).items()}

    def _limit(self, instance: object) -> int | None:
        limit = getattr(getattr(instance, "unwrapped", instance), "max_cycles", None)
        return limit if isinstance(limit, int) and limit > 0 else None

    def _usual(self) -> str | None:
        return str(next(iter(self._places))) if self._by_turns else None  # those who take turns are rivals mostly

    def _begin(self, k: int, seed: int) -> None:
        observations, infos = self._instances[k].reset(seed=seed)
        self._show(k, observations, infos or {})
        self._let_act(k)

    def _advance(self, actions: np.ndarray, rewards: np.ndarray) -> None:
        own, rows = [choices.own for choices in self._choices], actions.tolist()
        for k in self._running:
            instance, chosen = self._instances[k], rows[k]
            places = map(self._place, instance.agents)
            acts = {name: own[i][chosen[i]] for name, i in zip(instance.agents, places, strict=True)}
            observations, paid, over, cut, infos = instance.step(acts)
            for name, reward in paid.items():
                rewards[k, self._place(name)] = reward
            self._show(k, observations, infos)
            if not instance.agents or all(over[name] or cut[name] for name in over):
                self._end(k, any(cut.values()) and not all(over.values()))
            else:
                self._let_act(k)

    def _show(self, k: int, observations: Mapping[object, object], infos: Mapping[object, object]) -> None:
        for name, observation in observations.items():
            i = self._place(name)
            self._sights[i].write(self._seen[i][k], observation, infos.get(name))

    def _let_act(self, k: int) -> None:
        """Note who acts in the next step of instance k."""
        instance, row = self._instances[k], self._acting[k]
        row[:] = False
        for name in [instance.aec_env.agent_selection] if self._by_turns else instance.agents:
            row[self._place(name)] = True

    def _place(self, name: object) -> int:
        place = self._places.get(name)
        if place is None:
            raise InputError(
                f"{self.name} let in {name!r}, which is not among its possible_agents: trees are made for agents that "
                "are known before, so let the environment name them all."
            )
        return place
