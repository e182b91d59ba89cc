"""Stochastic meta-descent (Schraudolph, 1999): a rate for each weight, learned by how the last steps turned out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array


class MetaState(NamedTuple):
    """What the next step needs."""

    rates: Array
    trace: Array  # how weights have moved for a change of the logs of the rates


@dataclass(frozen=True)
class MetaDescent:
    """Steps of stochastic meta-descent, with exact Hessian-vector products.

    Parameters
    ----------
    rate : float
        Where all rates begin.
    meta_rate : float
        μ: how fast rates change.
    decay : float
        λ: how far back the trace looks, from 0 to 1.
    """

    rate: float = 0.05
    meta_rate: float = 0.02
    decay: float = 0.95

    def init(self, weights: Array) -> MetaState:
        """Before the first step."""
        return MetaState(jnp.full_like(weights, self.rate), jnp.zeros_like(weights))

    def step(
        self, function: Callable[[Array], Array], weights: Array, state: MetaState
    ) -> tuple[Array, MetaState, Array]:
        """The next weights and state, and the value where the step began."""
        # Forward over reverse: the derivative of the gradient along the trace.
        (value, slope), (_, curved) = jax.jvp(jax.value_and_grad(function), (weights,), (state.trace,))
        rates = state.rates * jnp.maximum(0.5, 1.0 - self.meta_rate * slope * state.trace)
        trace = self.decay * state.trace - rates * (slope + self.decay * curved)
        return weights - rates * slope, MetaState(rates, trace), value
