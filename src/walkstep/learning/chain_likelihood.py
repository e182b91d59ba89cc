"""How unlikely the truth is under a model without cycles, and the gradient of that: exactly, and fast on chains."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.inference._kernels.forest_scores import FINE
from walkstep.inference.forest import (
    Constraints,
    Forest,
    checked_arguments,
    forest,
    largest_sizes,
    not_finite,
    raise_if_failed,
)
from walkstep.inference.marginals import marginals
from walkstep.inference.viterbi import transition_table
from walkstep.learning._kernels.chain_likelihood import MAX_SPREAD, UNSAFE, chains_loss
from walkstep.learning._kernels.expectations import add_expectations
from walkstep.model.graph import Graph, Kind


class ChainLikelihood:
    """The loss -log p(truth | weights) of a forest, and its gradient.

    The gradient is the expected statistics of the model less those of the truth (Lafferty et al., 2001). Where a
    value is not known it is summed out: the loss is then log Z less the log Z of worlds that agree with the truth.
    Chains whose transitions are the same everywhere are passed with probabilities scaled to 1 instead of logarithms; if
    scores lie too far apart for that, and on other forests, logarithms are used.

    Parameters
    ----------
    graph : Graph or Forest
        Factors of any kind and arity that close no cycle.
    truth : int array (n_variables,)
        The true values, -1 where nobody knows.
    constraints : Constraints, optional
        For chains: only worlds that keep them have a probability.
    n_threads : int
        Chains are dealt to so many threads; the result depends on the number by rounding alone, never on timing.

    Examples
    --------
    >>> from walkstep.model import Factors, ground
    >>> graph, layout = ground([2, 2], [Factors("edge", [[0, 1]])])
    >>> loss, gradient = ChainLikelihood(graph, [1, -1])(np.log([1.0, 2.0, 3.0, 4.0]))
    >>> round(float(np.exp(-loss)), 6)  # (3 + 4) / 10
    0.7
    >>> gradient.round(3)
    array([ 0.1  ,  0.2  , -0.129, -0.171])
    """

    def __init__(
        self,
        graph: Graph | Forest,
        truth: ArrayLike,
        *,
        constraints: Constraints | None = None,
        n_threads: int = 1,
    ):
        if n_threads < 1:
            raise ValueError(f"n_threads is {n_threads}; give 1 or more")
        self.plan = graph if isinstance(graph, Forest) else forest(graph)
        self.constraints = constraints
        _, self._limits, self.truth = checked_arguments(
            self.plan, np.zeros(self.plan.graph.n_weights), constraints, truth
        )
        self._shards = [_Shard(self.plan, *part) for part in _parts(self.plan, n_threads)]

    @property
    def n_weights(self) -> int:
        """How many weights the model has."""
        return self.plan.graph.n_weights

    def __call__(self, weights: ArrayLike) -> tuple[float, NDArray[np.float64]]:
        """The loss at some weights, and its gradient."""
        given, _, _ = checked_arguments(self.plan, weights, None, None)
        if not self.plan.is_uniform:
            return self._by_logarithms(given)
        n, _ = largest_sizes(self.plan)
        table = transition_table(self.plan, given, n)
        if np.isnan(table).any() or (table == np.inf).any():
            raise not_finite(given)
        start, transition, end = self._limits
        if len(transition):
            table += transition.reshape(n, n)
        finite = table[table > -np.inf]
        top = float(finite.max()) if len(finite) else 0.0
        if top - finite.min(initial=top) > MAX_SPREAD:
            return self._by_logarithms(given)
        arguments = given, self.truth, start, end, table, top
        if len(self._shards) == 1:
            outcomes = [self._shards[0].run(*arguments)]
        else:
            with ThreadPoolExecutor(len(self._shards)) as pool:
                outcomes = list(pool.map(lambda shard: shard.run(*arguments), self._shards))
        for outcome in outcomes:
            if outcome == UNSAFE:
                return self._by_logarithms(given)
            raise_if_failed(outcome, self.plan, given)
        gradient = self._shards[0].gradient
        for shard in self._shards[1:]:
            gradient += shard.gradient
        self._add_transitions(np.sum([shard.expected for shard in self._shards], axis=0), gradient)
        return sum(shard.loss for shard in self._shards), gradient

    def _add_transitions(self, expected: NDArray[np.float64], gradient: NDArray[np.float64]) -> None:
        """Add what is expected of each pair of neighbours, less what is true, to all factors that score pairs."""
        plan, graph = self.plan, self.plan.graph
        for m in range(plan.member_ptr[1]):
            f = plan.member_factor[m]
            g = graph.factor_group[f]
            if graph.group_kind[g] != Kind.FIXED and graph.group_bias[g] >= 0:
                at = graph.factor_weight[f]
                own = gradient[at : at + expected.size].reshape(expected.shape)
                own += expected if plan.is_aligned[m] else expected.T

    def _by_logarithms(self, weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """The same for any forest and any scores."""
        free = marginals(self.plan, weights, constraints=self.constraints, joints=True)
        held = marginals(self.plan, weights, constraints=self.constraints, clamp=self.truth, joints=True)
        assert free.joints is not None
        assert held.joints is not None
        gradient = np.zeros(self.n_weights)
        probabilities, joints = free.probabilities - held.probabilities, free.joints - held.joints
        _, cells = largest_sizes(self.plan)
        add_expectations(self.plan, probabilities.ravel(), joints.ravel(), np.empty(cells), gradient)
        return free.log_partition - held.log_partition, gradient


class _Shard:
    """Some of the chains, scratch to pass them with, and what came of it."""

    def __init__(self, plan: Forest, first: int, last: int):
        self.plan, self.first, self.last = plan, first, last
        n, _ = largest_sizes(plan)
        longest = int(np.diff(plan.tree_ptr[first : last + 1]).max(initial=0))
        self._per_token = tuple(np.empty((longest, n)) for _ in range(4))
        self._per_value = tuple(np.empty(n) for _ in range(2))
        self._no_clamp = np.zeros(0, np.int32)
        self._no_clamp.flags.writeable = False
        self.loss = 0.0
        self.gradient, self.expected = np.zeros(0), np.zeros((n, n))

    def run(self, weights, truth, start, end, table: NDArray[np.float64], top: float) -> int:
        """Pass the chains; the outcome, `FINE` or what went wrong."""
        factors = np.exp(table - top)
        scores, emission, alpha, amounts = self._per_token
        beta, ahead = self._per_value
        pairs, seen, loss = np.zeros_like(table), np.zeros_like(table), np.zeros(1)
        self.gradient = np.zeros(len(weights))
        outcome = chains_loss(
            self.plan, self.first, self.last, weights, truth, start, end, table, top, factors,
            np.ascontiguousarray(factors.T), scores, emission, alpha, beta, ahead, amounts, pairs, seen,
            self._no_clamp, loss, self.gradient,
        )  # fmt: skip
        if outcome == FINE:
            self.loss, self.expected = float(loss[0]), pairs * factors - seen
        return outcome


def _parts(plan: Forest, n_threads: int) -> list[tuple[int, int]]:
    """Ranges of trees with about as many variables each."""
    cuts = np.linspace(0, plan.graph.n_variables, n_threads + 1)
    ends = np.unique(np.searchsorted(plan.tree_ptr, cuts))
    return [(int(a), int(b)) for a, b in pairwise(ends)] or [(0, 0)]
