"""Graphs without cycles: the plan by which exact inference visits them, and what it may be told."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.inference._kernels import forest_structure
from walkstep.inference._kernels.forest_scores import FINE, NOT_A_NUMBER
from walkstep.model.domains import UNKNOWN
from walkstep.model.graph import Graph


class Forest(NamedTuple):
    """A graph without cycles, and the order in which exact inference visits it.

    Factors over the same variables, or over a part of them, are merged into one *clique*. Every tree is rooted
    at its last variable; of a clique's variables the last is its *top*, the one nearest to the root.
    Trees are in order of their last variable, which for sentences laid one after the other is their own order.
    """

    graph: Graph
    variable_order: NDArray[np.int32]  # (V,) tree by tree, what hangs below first, the root last
    tree_ptr: NDArray[np.int64]  # (T+1,) tree t holds variable_order[tree_ptr[t]:tree_ptr[t+1]] and
    tree_clique_ptr: NDArray[np.int64]  # (T+1,) cliques tree_clique_ptr[t]:tree_clique_ptr[t+1]
    clique_ptr: NDArray[np.int64]  # (C+1,) the scope of clique c is
    clique_variables: NDArray[np.int32]  # clique_variables[clique_ptr[c]:clique_ptr[c+1]], its top last
    message_ptr: NDArray[np.int64]  # (C+1,) values of the tops, clique after clique
    table_ptr: NDArray[np.int64]  # (C+1,) joint values, clique after clique
    member_ptr: NDArray[np.int64]  # (C+1,) the factors of clique c are
    member_factor: NDArray[np.int32]  # member_factor[member_ptr[c]:member_ptr[c+1]], and
    member_stride: NDArray[np.int64]  # (M, max scope) how far a value of the clique moves in their tables
    is_aligned: NDArray[np.bool_]  # (M,) whether their joint values are numbered as the clique's
    unary_ptr: NDArray[np.int64]  # (V+1,) the factors of variable v alone are
    unary_factor: NDArray[np.int32]  # unary_factor[unary_ptr[v]:unary_ptr[v+1]]
    value_ptr: NDArray[np.int64]  # (V+1,) values, variable after variable
    is_chain: bool  # every clique joins a variable with the next one, and all domains are equal
    is_uniform: bool  # a chain with the same transitions everywhere

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        return len(self.tree_ptr) - 1

    @property
    def n_cliques(self) -> int:
        """How many sets of variables are joined by factors."""
        return len(self.clique_ptr) - 1

    def tree(self, t: int) -> NDArray[np.int32]:
        """The variables of tree ``t``, in rising order."""
        return np.sort(self.variable_order[self.tree_ptr[t] : self.tree_ptr[t + 1]])


class Constraints(NamedTuple):
    """What a chain may do, over its K values; a BIO tagger never starts with I-, nor goes from O to I-.

    Examples
    --------
    >>> constraints = Constraints(start=[True, False], transition=[[True, True], [False, True]], end=[True, True])
    """

    start: ArrayLike  # bool (K,) values that a chain may begin with
    transition: ArrayLike  # bool (K, K) whether value j may be followed by value k
    end: ArrayLike  # bool (K,) values that it may end with


def forest(graph: Graph, *, sentence_ptr: ArrayLike | None = None) -> Forest:
    """Plan exact inference: once for each graph, whatever the weights.

    Parameters
    ----------
    graph : Graph
        Factors of any arity, as long as they close no cycle. Parallel factors are merged, and so are factors
        over a part of another's scope.
    sentence_ptr : int array (n_sentences + 1,), optional
        Makes each range of variables one chain even where no factor joins them, so that `Constraints`
        apply to models without transitions.

    Returns
    -------
    Forest

    Examples
    --------
    >>> from walkstep.model import Factors, ground
    >>> graph, layout = ground([2, 2, 2], [Factors("edge", [[0, 1], [1, 2]])])
    >>> plan = forest(graph)
    >>> plan.n_trees, plan.n_cliques, plan.is_chain
    (1, 2, True)
    >>> loop, layout = ground([2, 2, 2], [Factors("edge", [[0, 1], [1, 2], [2, 0]])])
    >>> forest(loop)
    Traceback (most recent call last):
    ...
    ValueError: variable 0 is on a cycle of factors, so the graph is no forest; use Gibbs sampling or annealing...
    """
    n_groups = len(graph.group_kind)
    group_ptr = np.searchsorted(graph.factor_group, np.arange(n_groups + 1, dtype=graph.factor_group.dtype))
    arity = graph.factor_ptr[group_ptr[:-1] + 1] - graph.factor_ptr[group_ptr[:-1]]
    joining = np.argsort(-arity, kind="stable")[: int((arity > 1).sum())]
    n, ptr, variables, clique_of_factor = forest_structure.merge_scopes(
        graph.n_variables,
        group_ptr[joining],
        group_ptr[joining + 1],
        graph.factor_ptr,
        graph.factor_variables,
        _neighbours(graph.n_variables, sentence_ptr),
    )
    if n < 0:
        raise ValueError(
            f"variable {-1 - n} is on a cycle of factors, so the graph is no forest; use Gibbs sampling "
            "or annealing, or leave out the factors that close cycles"
        )
    order, tree_ptr, tree_clique_ptr, clique_ptr, clique_variables, message_ptr, table_ptr = forest_structure.schedule(
        graph.n_values, ptr, variables, clique_of_factor
    )
    member_ptr, member_factor, member_stride, is_aligned, unary_ptr, unary_factor = forest_structure.members(
        graph, clique_ptr, clique_variables, clique_of_factor
    )
    is_chain = forest_structure.is_chain(graph.n_values, order, clique_ptr, clique_variables)
    is_uniform = is_chain and forest_structure.is_uniform(graph, member_ptr, member_factor, is_aligned)
    plan = Forest(
        graph,
        order,
        tree_ptr,
        tree_clique_ptr,
        clique_ptr,
        clique_variables,
        message_ptr,
        table_ptr,
        member_ptr,
        member_factor,
        member_stride,
        is_aligned,
        unary_ptr,
        unary_factor,
        np.concatenate([[0], np.cumsum(graph.n_values, dtype=np.int64)]),
        is_chain,
        is_uniform,
    )
    for array in plan[1:-2]:
        array.flags.writeable = False
    return plan


def _neighbours(n: int, sentence_ptr: ArrayLike | None) -> NDArray[np.int32]:
    """Pairs of variables next to each other in a sentence, flat."""
    if sentence_ptr is None:
        return np.zeros(0, np.int32)
    is_first = np.zeros(n + 1, bool)
    is_first[_check_ptr(sentence_ptr, n)] = True
    right = np.flatnonzero(~is_first)
    return np.stack([right - 1, right], axis=1).astype(np.int32).ravel()


def _check_ptr(sentence_ptr: ArrayLike, n: int) -> NDArray[np.int64]:
    """Where sentences begin, after checking."""
    ptr = _frozen(sentence_ptr, np.int64)
    if ptr.ndim != 1 or len(ptr) == 0 or ptr[0] != 0 or ptr[-1] != n or (np.diff(ptr) < 0).any():
        raise ValueError(f"sentence_ptr must rise from 0 to {n}, one entry more than there are sentences")
    return ptr


def largest_sizes(plan: Forest) -> tuple[int, int]:
    """The largest domain and the largest table."""
    return int(plan.graph.n_values.max(initial=1)), int(np.diff(plan.table_ptr).max(initial=1))


def checked_arguments(
    plan: Forest, weights: ArrayLike, constraints: Constraints | None, clamp: ArrayLike | None
) -> tuple[NDArray[np.float64], tuple[NDArray[np.float64], ...], NDArray[np.int32]]:
    """Weights, constraints as scores and held values, all in the shape the loops want."""
    graph = plan.graph
    weights = _frozen(weights, np.float64)
    if weights.shape != (graph.n_weights,):
        raise ValueError(f"weights have shape {weights.shape}; this graph takes ({graph.n_weights},)")
    if constraints is not None and not plan.is_chain:
        raise ValueError(
            "constraints are for chains of variables with equal domains, each joined with the next one, and this "
            "graph has other joints; forbid by fixed factors of -inf instead"
        )
    limits = _limits(constraints, int(graph.n_values[0]) if graph.n_variables else 0)
    return weights, limits, _check_clamp(clamp, graph.n_values)


def _limits(constraints: Constraints | None, n: int) -> tuple[NDArray[np.float64], ...]:
    """Constraints as scores, 0 or -inf, flat; empty where there are none."""
    if constraints is None:
        return np.zeros(0), np.zeros(0), np.zeros(0)
    limits = []
    for name, array, shape in zip(Constraints._fields, constraints, ((n,), (n, n), (n,)), strict=True):
        allowed = np.asarray(array)
        if allowed.shape != shape or allowed.dtype != bool:
            raise ValueError(
                f"constraints.{name} has shape {allowed.shape} and type {allowed.dtype}; give booleans of shape {shape}"
            )
        limits.append(np.where(allowed, 0.0, -np.inf).ravel())
    return tuple(limits)


def _check_clamp(clamp: ArrayLike | None, n_values: NDArray[np.int32]) -> NDArray[np.int32]:
    """The values to hold, after checking; empty where there are none."""
    held = _frozen([] if clamp is None else clamp, np.int32)
    if clamp is None:
        return held
    if held.shape != n_values.shape:
        raise ValueError(
            f"clamp has shape {held.shape}; give a value, or -1, for each of the {len(n_values)} variables"
        )
    bad = np.flatnonzero((held >= n_values) | (held < UNKNOWN))
    if len(bad):
        raise ValueError(
            f"clamp holds variable {bad[0]} at {held[bad[0]]}, but it has values 0 to {n_values[bad[0]] - 1}; "
            "give one of these, or -1 to leave it free"
        )
    return held


def _frozen(array: ArrayLike, dtype) -> NDArray:
    """The same array, read-only: loops are compiled for that kind alone."""
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def raise_if_failed(outcome: int, plan: Forest, weights: NDArray[np.float64]):
    """Say what went wrong in a loop over the trees, if anything did."""
    if outcome == NOT_A_NUMBER:
        raise not_finite(weights)
    if outcome != FINE:
        tree, what = plan.tree(outcome), "sentence" if plan.is_chain else "tree"
        raise ValueError(
            f"{what} {outcome} (variables {tree[0]} to {tree[-1]}) has no world that is allowed; "
            "loosen its constraints, its clamped values or its factors of -inf"
        )


def not_finite(weights: NDArray[np.float64]) -> ValueError:
    """The complaint about a weight that is not finite, or about scores that are not where all weights are."""
    bad = np.flatnonzero(np.isnan(weights) | (weights == np.inf))
    if not len(bad):
        bad = np.flatnonzero(weights == -np.inf)
    if not len(bad):
        return ValueError("the scores overflow though all weights are finite; use smaller weights and features")
    return ValueError(f"weights[{bad[0]}] is {weights[bad[0]]}; weights must be finite numbers")
