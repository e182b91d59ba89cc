"""Making an objective small: steps on minibatches by a table of optimisers, and what L-BFGS asks of all of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from numpy.typing import NDArray

from walkstep.kept_programs import keep_programs
from walkstep.learning.meta_descent import MetaDescent
from walkstep.messages.batch import Batch
from walkstep.messages.losses import TINY
from walkstep.messages.objectives import Dials, Objective

keep_programs()

OPTIMISERS = ("adam", "adagrad", "sgd", "pegasos", "smd", "lbfgs")


class Stepper(Protocol):
    """Steps on one batch after the other."""

    def init(self, weights: Array) -> Any:
        """Before the first step."""
        ...

    def step(self, function: Callable[[Array], Array], weights: Array, state: Any) -> tuple[Array, Any, Array]:
        """The next weights and state, and the value where the step began."""
        ...


@dataclass(frozen=True)
class OptaxSteps:
    """Steps of one of optax's optimisers."""

    name: str
    rate: float
    l2: float = 0.0

    def _transformation(self) -> optax.GradientTransformation:
        if self.name == "adam":
            return optax.adam(self.rate)
        if self.name == "adagrad":
            return optax.adagrad(self.rate, initial_accumulator_value=1e-3)
        if self.name == "sgd":
            return optax.sgd(self.rate)
        # Pegasos (Shalev-Shwartz et al., 2007): 1 / (λ t), for an objective with λ / 2 · |w|², from `rate` downwards.
        return optax.sgd(lambda t: 1.0 / (1.0 / self.rate + 2.0 * self.l2 * t))

    def init(self, weights: Array) -> Any:
        """Before the first step."""
        return self._transformation().init(weights)

    def step(self, function: Callable[[Array], Array], weights: Array, state: Any) -> tuple[Array, Any, Array]:
        """The next weights and state, and the value where the step began."""
        value, slope = jax.value_and_grad(function)(weights)
        change, state = self._transformation().update(slope, state, weights)
        return jnp.asarray(optax.apply_updates(weights, change)), state, value


def stepper(name: str, rate: float, l2: float = 0.0, **settings: float) -> Stepper:
    """Steps by the name of their optimiser.

    Examples
    --------
    >>> stepper("adma", 0.1)
    Traceback (most recent call last):
    ...
    ValueError: optimiser is 'adma'; choose one of adam, adagrad, sgd, pegasos, smd, lbfgs
    """
    if name not in OPTIMISERS:
        raise ValueError(f"optimiser is {name!r}; choose one of {', '.join(OPTIMISERS)}")
    if not rate > 0.0:
        raise ValueError(f"rate is {rate}; give a number above 0")
    if name == "pegasos" and not l2 > 0.0:
        raise ValueError("pegasos steps by 1 / l2; give an l2 above 0, or choose 'adagrad'")
    if name == "smd":
        return MetaDescent(rate, **settings)
    return OptaxSteps(name, rate, l2 if name == "pegasos" else 0.0)  # the others are compiled once for any l2


def penalised(objective: Objective, weights: Array, batch: Batch, dials: Dials, l2: float) -> Array:
    """The objective and ``l2`` times the sum of squared weights."""
    return objective(weights, batch, dials) + l2 * (weights * weights).sum()


@partial(jax.jit, static_argnames=("objective", "steps", "l1"))
def descend_once(
    objective: Objective, steps: Stepper, weights: Array, state: Any, batch: Batch, dials: Dials, l1: float, l2: float
) -> tuple[Array, Any, Array]:
    """One step on one batch, with ``l1`` times the sum of absolute weights."""

    def smooth(given: Array) -> Array:
        return penalised(objective, given, batch, dials, l2)

    if not l1:
        return steps.step(smooth, weights, state)
    # As OWL-QN does (Andrew and Gao, 2007), whatever rates the optimiser has come to: a weight at 0 moves only if that
    # pays, and none passes 0.
    slope = jax.grad(smooth)(weights)
    pull = jnp.where(weights != 0.0, l1 * jnp.sign(weights), -jnp.clip(slope, -l1, l1))
    side = jnp.where(weights != 0.0, jnp.sign(weights), -jnp.sign(slope + pull))
    fresh, state, value = steps.step(lambda given: smooth(given) + pull @ given, weights, state)
    return jnp.where(fresh * side > 0.0, fresh, 0.0), state, value


@partial(jax.jit, static_argnames="objective")
def value_and_slope(objective: Objective, weights: Array, batch: Batch, dials: Dials, l2: float) -> tuple[Array, Array]:
    """The objective on one batch, and its gradient."""
    return jax.value_and_grad(lambda w: penalised(objective, w, batch, dials, l2))(weights)


def over_all(
    objective: Objective, batches: Sequence[Batch], *, dials: Dials, l2: float, dtype: Any
) -> Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]:
    """The objective over all batches with its gradient, as a function of weights: what L-BFGS asks for.

    Parameters
    ----------
    objective : Objective
    batches : sequence of Batch
        Each counts by the weight of its variables.
    dials : Dials
    l2 : float
        What squared weights cost.
    dtype : type
        The precision of weights.
    """
    shares = np.array([float(np.sum(batch.weight)) for batch in batches])
    shares /= max(shares.sum(), TINY)

    def function(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        given = jnp.asarray(weights, dtype)
        total, slope = 0.0, np.zeros(len(weights))
        for batch, share in zip(batches, shares, strict=True):
            value, change = value_and_slope(objective, given, batch, dials, l2)
            total += share * float(value)
            slope += share * np.asarray(change, np.float64)
        return total, slope

    return function
