"""A game and an expert of your own: nothing to inherit, only the protocols to fit.

Two lifts serve a queue each. An agent sees how many people wait at its floor and at the other one; it can rest,
serve a few quickly or serve many slowly. The expert is a rule written by hand, with a value for joint actions.

The command line takes both by name, from the folder of this file:

    hydraviper distill python:own_game:Lifts --expert python:own_game:Dispatcher
"""

from typing import ClassVar

import numpy as np

import hydraviper


class Lifts:
    """Two queues that people join at random; agents share the cost of everybody waiting."""

    name = "lifts"
    parameters: ClassVar = {}
    horizon = 20
    width = None
    score = hydraviper.Score("people waiting", "persons", lower_is_better=True, weights=(-0.5, -0.5))
    recommended = hydraviper.Recommended(low=(40, 60), high=(400, 600), rollouts_per_iteration=20)
    agents = tuple(
        hydraviper.Agent(f"lift-{i}", ("waiting here", "waiting there"), ("rest", "serve few", "serve many"))
        for i in range(2)
    )
    teams = ((0, 1),)

    def reset(self, seeds):
        """Start with some people in both queues."""
        self.arrivals = np.stack([np.random.default_rng(int(seed)).poisson(1.5, (self.horizon, 2)) for seed in seeds])
        self.queues = np.stack([np.random.default_rng([int(seed), 1]).integers(0, 8, 2) for seed in seeds])
        self.step_number = 0
        return self._observe()

    def step(self, actions):
        """Serve, pay for the effort and for everybody who waits, let new people come."""
        served = np.minimum(self.queues, np.array([0, 2, 5])[actions])
        self.queues = self.queues - served + self.arrivals[:, self.step_number]
        self.step_number += 1
        cost = self.queues.sum(axis=1) + np.array([0.0, 0.5, 2.5])[actions].sum(axis=1)
        return (
            self._observe(),
            np.repeat(-cost[:, None], 2, axis=1),
            np.full(len(cost), self.step_number >= self.horizon),
        )

    def measures(self):
        """Nothing beside the score."""
        return {}

    def _observe(self):
        here = self.queues.astype(np.float32)
        return [here, here[:, ::-1].copy()]


class Dispatcher:
    """Serve many when many wait, few when few do; a joint action is worth what it costs in this step."""

    def act(self, observations, agents=None):
        """Everybody's action."""
        return np.stack([np.digitize(seen[:, 0], [0.5, 3.5]) for seen in observations], axis=1)

    def q(self, observations, actions):
        """What everybody would wait and spend after this step."""
        queues = np.stack([seen[:, 0] for seen in observations], axis=1)
        left = np.maximum(queues - np.array([0, 2, 5])[actions], 0)
        cost = left.sum(axis=1) + np.array([0.0, 0.5, 2.5])[actions].sum(axis=1)
        return np.repeat(-cost[:, None], 2, axis=1)


if __name__ == "__main__":
    game = Lifts()
    expert = hydraviper.expert_from(game, Dispatcher())  # finds a team's worst joint action by trying all of them
    settings = hydraviper.Settings(train_budget=40, valid_budget=60, iterations=10, rollouts_per_iteration=20, depth=2)
    result = hydraviper.distill(game, expert, settings)
    scores = hydraviper.evaluate(result, episodes=200)
    print(f"{game.score.name}: trees {scores.score:.1f}, expert {scores.expert:.1f}")
