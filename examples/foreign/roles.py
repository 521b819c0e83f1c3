"""Games of several agents for Stable-Baselines3: the agents of one role are environments that step together."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv

INSTANCES = 32  # worlds side by side
STEPS = 125  # of each world between two updates: five episodes


class Worlds:
    """Instances of one mpe2 game, and who plays which role."""

    def __init__(self, module: str, seed: int) -> None:
        make = importlib.import_module(f"mpe2.{module}").parallel_env
        self.instances = [make() for _ in range(INSTANCES)]
        first = self.instances[0]
        self.roles: dict[str, list[str]] = {}
        for name in first.possible_agents:
            self.roles.setdefault(name.rpartition("_")[0], []).append(name)
        self.spaces = {
            role: (first.observation_space(a[0]), first.action_space(a[0])) for role, a in self.roles.items()
        }
        self.models: dict[str, PPO] = {}
        self._seeds = iter(range(seed * 1_000_000, (seed + 1) * 1_000_000))
        self.seen = [self.begin(k) for k in range(INSTANCES)]

    def begin(self, k: int) -> dict[str, np.ndarray]:
        """A new episode of a world; what its agents see."""
        return self.instances[k].reset(seed=next(self._seeds))[0]

    def shown(self, role: str) -> np.ndarray:
        """What the agents of a role see, [worlds * agents, features]."""
        return np.stack([seen[name] for seen in self.seen for name in self.roles[role]])

    def chosen(self, role: str) -> np.ndarray:
        """Actions by what a role has learnt so far, drawn by its probabilities."""
        with torch.no_grad():
            return self.models[role].policy(torch.as_tensor(self.shown(role)))[0].numpy()


class Role(VecEnv):
    """The agents of one role in all worlds; the other roles are played by their own models."""

    def __init__(self, worlds: Worlds, role: str) -> None:
        self.worlds, self.role = worlds, role
        super().__init__(INSTANCES * len(worlds.roles[role]), *worlds.spaces[role])
        self.returns: list[float] = []
        self._sums = np.zeros(self.num_envs)

    def reset(self) -> np.ndarray:
        """What everybody sees; the worlds go on where the last role left them, at the start of episodes."""
        return self.worlds.shown(self.role)

    def step_async(self, actions: np.ndarray) -> None:
        """Take the role's actions."""
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Step every world by the role's actions and the others' own."""
        worlds, mine = self.worlds, self.worlds.roles[self.role]
        by_role = {role: self._actions if role == self.role else worlds.chosen(role) for role in worlds.roles}
        rewards, done = np.zeros(self.num_envs, np.float32), np.zeros(self.num_envs, bool)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for k, world in enumerate(worlds.instances):
            actions = {
                name: int(by_role[role][k * len(names) + n])
                for role, names in worlds.roles.items()
                for n, name in enumerate(names)
            }
            worlds.seen[k], gained, _, _, _ = world.step(actions)
            for n, name in enumerate(mine):
                rewards[k * len(mine) + n] = gained[name]
            if not world.agents:  # the time limit: the value behind it counts
                for n, name in enumerate(mine):
                    row = k * len(mine) + n
                    done[row] = True
                    infos[row] = {"TimeLimit.truncated": True, "terminal_observation": worlds.seen[k][name]}
                worlds.seen[k] = worlds.begin(k)
        self._sums += rewards
        self.returns += self._sums[done].tolist()
        self._sums[done] = 0
        return worlds.shown(self.role), rewards, done, infos

    def close(self) -> None:
        """Nothing is open."""

    def seed(self, seed: int | None = None) -> list[None]:
        """Nothing: the worlds have seeds of their own."""
        return [None] * self.num_envs

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Nothing is known."""
        return [None] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Nothing can be set."""
        raise NotImplementedError

    def env_method(self, method_name: str, *arguments: Any, indices: Any = None, **options: Any) -> list[Any]:
        """Nothing can be called."""
        raise NotImplementedError

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """No wrappers."""
        return [False] * self.num_envs


def learn_in_turn(module: str, rounds: int, folder: Path, name: str, seed: int) -> None:
    """Train a PPO for each role, one update of each in every round, and write them as NAME-ROLE.zip."""
    worlds, left = Worlds(module, seed), [1.0]
    settings: dict[str, Any] = {"n_steps": STEPS, "batch_size": 1_000, "n_epochs": 10, "gamma": 0.95, "ent_coef": 0.01}
    roles = {role: Role(worlds, role) for role in worlds.roles}
    for role, environments in roles.items():
        rate = {"learning_rate": lambda _: 1e-3 * left[0]}
        worlds.models[role] = PPO("MlpPolicy", environments, **settings, **rate, seed=seed, device="cpu")
    for turn in range(rounds):
        left[0] = 1 - turn / rounds
        for role, environments in roles.items():
            worlds.models[role].learn(STEPS * environments.num_envs)
            if turn % 10 == 9 or turn == rounds - 1:
                print(f"{name} {role}, round {turn + 1}: {np.mean(environments.returns):.2f}", flush=True)
                environments.returns.clear()
    for role, model in worlds.models.items():
        write(model, folder / f"{name}-{role}.zip")


def write(model: PPO, file: Path) -> None:
    """Save a model without its optimizer's moments, which are two thirds of a file."""
    model.policy.optimizer.state.clear()
    model.save(file)
