"""Belief propagation on a grounded graph: marginals or the best values, log Z, and whether messages settled."""

from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from walkstep.inference.wired_graph import WiredGraph, wire
from walkstep.messages.folds import log_sum
from walkstep.messages.message_passing import (
    Messages,
    Passed,
    Scores,
    Wiring,
    beliefs,
    is_contradictory,
    log_partition,
    pass_inwards_and_back,
    settle,
)
from walkstep.messages.tree_schedule import TreeSchedule
from walkstep.model.graph import Graph


class Settled(Enum):
    """How message passing ended; the text is what to do about it."""

    EXACT = "no cycle is closed, and two passes are exact"
    CONVERGED = "messages settled"
    NOT_CONVERGED = "messages still move after max_rounds; raise damping (0.5, say), max_rounds or the temperature"


@dataclass(frozen=True)
class Beliefs:
    """What belief propagation has found.

    Attributes
    ----------
    marginals : float array (n_variables, n_values)
        The probability of each value of each variable; of max-product, 1 for the best value, shared
        where several are equally good. Values that a variable does not have are 0.
    log_partition : float
        The log of Bethe's approximation of the partition function, exact where `outcome` is; of sum-product alone.
    outcome : Settled
    n_rounds : int
        How many rounds, or steps of two passes, were made.
    change : float
        The largest change of a message in the last round.
    """

    marginals: NDArray[np.float64]
    log_partition: float | None
    outcome: Settled
    n_rounds: int
    change: float
    messages: Messages = field(repr=False)

    @property
    def converged(self) -> bool:
        """Whether messages have settled."""
        return self.outcome is not Settled.NOT_CONVERGED

    @property
    def values(self) -> NDArray[np.int32]:
        """The most probable value of each variable by itself."""
        return self.marginals.argmax(axis=1).astype(np.int32)


def belief_propagation(
    graph: Graph | WiredGraph,
    weights: ArrayLike,
    *,
    kind: Literal["sum-product", "max-product"] = "sum-product",
    temperature: float = 1.0,
    damping: float = 0.0,
    max_rounds: int = 200,
    tolerance: float = 1e-6,
    start: Beliefs | None = None,
) -> Beliefs:
    """Pass messages between variables and factors until they settle.

    Exact, in two passes, where the graph closes no cycle; otherwise flooding, whose beliefs are an approximation.

    Parameters
    ----------
    graph : Graph or WiredGraph
        A graph that is asked more than once may be wired before, by `wire`.
    weights : float array (n_weights,)
    kind : {"sum-product", "max-product"}
        For marginals, or for the best values.
    temperature : float
        All scores are divided by it; sum-product comes near to max-product as it falls to 0.
    damping : float
        The share of its last message that each factor keeps, from 0 to 1.
    max_rounds : int
    tolerance : float
        Messages have settled when none changes by more.
    start : Beliefs, optional
        Where an earlier call ended, to go on from there.

    Examples
    --------
    >>> from walkstep.model import Factors, ground
    >>> graph, layout = ground([2, 2, 2], [Factors("agree", [[0, 1], [1, 2]]), Factors("bias", [[0]])])
    >>> found = belief_propagation(graph, [1.0, 0.0, 0.0, 1.0, 0.0, 2.0])
    >>> found.marginals[:, 1].round(3).tolist(), found.outcome.name
    ([0.881, 0.676, 0.581], 'EXACT')
    """
    if kind not in ("sum-product", "max-product"):
        raise ValueError(f"kind is {kind!r}; choose 'sum-product' or 'max-product'")
    if not temperature > 0.0:
        raise ValueError(f"temperature is {temperature}; give a number above 0, or kind='max-product' for the limit")
    if not 0.0 <= damping < 1.0:
        raise ValueError(f"damping is {damping}; give a number from 0 to below 1")
    if max_rounds < 1 or not tolerance > 0.0:
        raise ValueError(f"max_rounds is {max_rounds} and tolerance {tolerance}; give at least 1, and above 0")
    made = graph if isinstance(graph, WiredGraph) else wire(graph)
    given = np.asarray(weights, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(given))
    if given.shape != (made.n_weights,):
        raise ValueError(f"weights have shape {given.shape}; this graph takes ({made.n_weights},)")
    if len(bad):
        raise ValueError(f"weight {bad[0]} is {given[bad[0]]}; weights must be finite numbers")
    with jax.enable_x64(True):
        scores = jax.tree.map(lambda score: score / temperature, made.tables.scores(jnp.asarray(given)))
        is_max = kind == "max-product"
        first = None if start is None else start.messages
        answer = _answered(
            made.wired, scores, made.schedule, first, is_max, float(damping), int(max_rounds), float(tolerance)
        )
        passed, marginals, total, contradictory = answer
        change = float(np.asarray(passed.change).max(initial=0.0))
        outcome = Settled.EXACT if made.schedule is not None else Settled.CONVERGED
        if made.schedule is None and not change <= tolerance:
            outcome = Settled.NOT_CONVERGED
        # Messages that still move may contradict each other for a while.
        if outcome is not Settled.NOT_CONVERGED and bool(np.asarray(contradictory).any()):
            raise ValueError("no assignment has a finite score: factors forbid every value of some variable; relax one")
        return Beliefs(
            made.by_variable(marginals),
            None if is_max else float(np.asarray(total).sum()),
            outcome,
            int(passed.n_rounds),
            change,
            passed.messages,
        )


@partial(jax.jit, static_argnames=("is_max", "damping", "max_rounds", "tolerance"))
def _answered(
    wired: Wiring,
    scores: Scores,
    schedule: TreeSchedule | None,
    start: Messages | None,
    is_max: bool,
    damping: float,
    max_rounds: int,
    tolerance: float,
) -> tuple[Passed, Array, Array, Array]:
    if schedule is not None:
        passed = pass_inwards_and_back(wired, scores, schedule, is_max=is_max, is_wide=True)
    else:
        passed = settle(
            wired,
            scores,
            max_rounds=max_rounds,
            tolerance=tolerance,
            damping=damping,
            is_max=is_max,
            is_wide=True,
            start=start,
        )
    heard = beliefs(wired, scores, passed.messages)
    marginals = jnp.exp(heard - log_sum(heard))
    if is_max:
        best = (heard >= heard.max(axis=0) - 1e-9).astype(heard.dtype)
        marginals = best / best.sum(axis=0)
    total = log_partition(wired, scores, passed.messages)
    return passed, marginals, total, is_contradictory(wired, scores, passed.messages)
