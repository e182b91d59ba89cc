"""Weights under which the truth is most likely, for models without cycles."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.inference.forest import Constraints, forest
from walkstep.lbfgs import lbfgs
from walkstep.learning.chain_likelihood import ChainLikelihood
from walkstep.learning.merged_columns import MergedColumns, merge_columns
from walkstep.model.graph import Graph


@dataclass(frozen=True)
class Iteration:
    """How far one iteration of the search came."""

    number: int  # counted from 1
    loss: float  # -log p(truth), penalties counted
    slope: float  # the length of its gradient over that of the weights
    n_evaluations: int  # of the likelihood, so far
    seconds: float  # wall time of this iteration
    is_last: bool  # nothing more can be gained


@dataclass(frozen=True)
class Estimate:
    """The weights that an iteration came to, still in the form in which they are searched for."""

    iteration: Iteration
    point: NDArray[np.float64]
    merged: MergedColumns

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weights of the model, made anew at every call."""
        return (self.point / self.merged.scale)[self.merged.source]


def maximum_likelihood(
    graph: Graph,
    truth: ArrayLike,
    *,
    l2: float = 1.0,
    l1: float = 0.0,
    max_iter: int = 100,
    sentence_ptr: ArrayLike | None = None,
    constraints: Constraints | None = None,
    n_threads: int = 1,
    tolerance: float = 1e-5,
) -> Iterator[Estimate]:
    """Minimise ``-log p(truth) + l2 / 2 sum(w²) + l1 sum(|w|)`` by L-BFGS, an iteration at a time.

    Parameters
    ----------
    graph : Graph
        Without cycles.
    truth : int array (n_variables,)
        -1 where nobody knows: such values are summed out.
    l2, l1 : float
    max_iter : int
    sentence_ptr, constraints : optional
        As for `forest` and `marginals`.
    n_threads : int
    tolerance : float
        When to stop; see `lbfgs`.

    Yields
    ------
    Estimate
        After every iteration.

    Examples
    --------
    >>> from walkstep.model import Factors, ground
    >>> graph, layout = ground([2] * 4, [Factors("site", [[0], [1], [2], [3]])])
    >>> *_, found = maximum_likelihood(graph, [1, 1, 1, 0], l2=1e-9)
    >>> round(float(np.exp(found.weights[1] - found.weights[0])), 3)
    3.0
    """
    for name, value in (("l2", l2), ("l1", l1)):
        if not 0.0 <= value < np.inf:
            raise ValueError(f"{name} is {value}; give 0 or more")
    merged = merge_columns(graph)
    likelihood = ChainLikelihood(
        forest(merged.graph, sentence_ptr=sentence_ptr), truth, constraints=constraints, n_threads=n_threads
    )
    scale = merged.scale

    def objective(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        loss, gradient = likelihood(scale * point)
        gradient *= scale
        gradient += l2 * point
        return loss + 0.5 * l2 * float(point @ point), gradient

    began = time.perf_counter()
    penalty = l1 * scale if l1 > 0.0 else 0.0
    for at in lbfgs(objective, np.zeros(len(scale)), l1=penalty, max_iter=max_iter, tolerance=tolerance):
        now = time.perf_counter()
        iteration = Iteration(at.number, at.loss, at.slope, at.n_evaluations, now - began, at.is_last)
        yield Estimate(iteration, at.weights, merged)
        began = now
