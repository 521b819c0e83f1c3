"""What DQN, MADDPG and fitted critics share: Adam, target networks, and many updates in one compiled call."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import optax


class Learned(NamedTuple):
    """Parameters under training, with their target network and the optimiser's state."""

    parameters: Any  # any tree of arrays
    targets: Any  # a slow copy of the parameters
    moments: Any  # Adam's
    updates: jax.Array  # how many there were


@dataclass(frozen=True)
class Optimizer:
    """Adam with a falling learning rate, and target networks that follow the parameters."""

    learning_rate: float  # at the start
    final_learning_rate: float  # after `updates`
    updates: int
    schedule: Literal["linear", "cosine"]
    tau: float  # targets = (1 - tau) * targets + tau * parameters
    target_every: int = 1  # updates between two moves of the targets
    clip_norm: float | None = None  # longest gradient
    weight_decay: float = 0.0

    def start(self, parameters: Any) -> Learned:
        """Parameters before their first update; the targets are the same."""
        return Learned(parameters, parameters, self._adam().init(parameters), jnp.zeros((), jnp.int32))

    def step(self, learned: Learned, loss: Callable[[Any], jax.Array], pace: float = 1.0) -> tuple[Learned, jax.Array]:
        """Descend the loss once, at `pace` times the learning rate; also the loss before."""
        value, gradient = jax.value_and_grad(loss)(learned.parameters)
        change, moments = self._adam().update(gradient, learned.moments, learned.parameters)
        parameters = jax.tree.map(lambda old, step: old + pace * step, learned.parameters, change)
        updates = learned.updates + 1
        tau = self.tau if self.target_every == 1 else jnp.where(updates % self.target_every == 0, self.tau, 0.0)
        targets = jax.tree.map(lambda old, new: (1 - tau) * old + tau * new, learned.targets, parameters)
        return Learned(parameters, targets, moments, updates), value

    def _adam(self) -> optax.GradientTransformation:
        if self.schedule == "linear":
            rate = optax.linear_schedule(self.learning_rate, self.final_learning_rate, self.updates)
        else:
            floor = self.final_learning_rate / self.learning_rate
            rate = optax.cosine_decay_schedule(self.learning_rate, self.updates, floor)
        adam = optax.adamw(rate, weight_decay=self.weight_decay) if self.weight_decay else optax.adam(rate)
        return adam if self.clip_norm is None else optax.chain(optax.clip_by_global_norm(self.clip_norm), adam)


class Rule(Protocol):
    """One update of an algorithm. Must be hashable: it is compiled once."""

    def update(self, state: object, batch: object, *fixed: object) -> tuple[Any, jax.Array]:
        """The state after one batch, and the loss or losses on it."""
        ...


@partial(jax.jit, static_argnames="rule")
def learn(rule: Rule, state: object, batches: object, *fixed: object) -> tuple[Any, jax.Array]:
    """One update for each batch along the leading axis; also the mean losses. `fixed` goes to every update."""
    state, losses = jax.lax.scan(lambda state, batch: rule.update(state, batch, *fixed), state, batches)
    return state, losses.mean(0)
