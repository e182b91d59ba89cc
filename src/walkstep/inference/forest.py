"""Exact inference where the graph is a forest: the best world, the k best, and all marginals."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.features.rows import SparseRows
from walkstep.inference import _forest_kernels as kernels
from walkstep.model.domains import UNKNOWN
from walkstep.model.graph import Graph, Kind


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


class Best(NamedTuple):
    """The best world."""

    values: NDArray[np.int32]  # (V,)
    score: float


class KBest(NamedTuple):
    """The k best worlds of every tree.

    Row ``r`` of ``values`` holds the r-th best world of each tree, which for a single tree is that of the graph.
    Trees with fewer than k worlds have -1 and ``-inf`` in the rows that are left.
    """

    values: NDArray[np.int32]  # (k, V)
    scores: NDArray[np.float64]  # (k, T)
    counts: NDArray[np.int64]  # (T,) how many worlds were found


class Marginals(NamedTuple):
    """How probable each value is, and the logarithm of the partition function."""

    probabilities: NDArray[np.float64]  # (V, K) where all domains are equal, otherwise flat: variable v's are
    value_ptr: NDArray[np.int64]  # (V+1,) probabilities[value_ptr[v]:value_ptr[v+1]]
    log_partition: float
    log_partition_of_tree: NDArray[np.float64]  # (T,)
    # Joint probabilities of cliques where asked for: (C, K, K) for chains, otherwise flat, clique c's
    # at table_ptr[c]:table_ptr[c+1] of the Forest.
    joints: NDArray[np.float64] | None


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
    n, ptr, variables, clique_of_factor = kernels.merge_scopes(
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
    order, tree_ptr, tree_clique_ptr, clique_ptr, clique_variables, message_ptr, table_ptr = kernels.schedule(
        graph.n_values, ptr, variables, clique_of_factor
    )
    member_ptr, member_factor, member_stride, is_aligned, unary_ptr, unary_factor = kernels.members(
        graph, clique_ptr, clique_variables, clique_of_factor
    )
    is_chain = kernels.is_chain(graph.n_values, order, clique_ptr, clique_variables)
    is_uniform = is_chain and kernels.is_uniform(graph, member_ptr, member_factor, is_aligned)
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


def viterbi(
    graph: Graph | Forest,
    weights: NDArray[np.float64],
    *,
    constraints: Constraints | None = None,
    clamp: ArrayLike | None = None,
) -> Best:
    """The world of the highest score, exactly.

    Parameters
    ----------
    graph : Graph or Forest
        Plan once with `forest` what is decoded more than once.
    weights : float array (n_weights,)
    constraints : Constraints, optional
        For chains only; other graphs forbid by fixed factors of ``-inf``.
    clamp : int array (n_variables,), optional
        Values to hold, -1 where a variable is free.

    Returns
    -------
    values : int32 array (n_variables,)
    score : float

    Examples
    --------
    >>> from walkstep.model import Factors, ground
    >>> graph, layout = ground([2, 2, 2], [Factors("edge", [[0, 1], [1, 2]])])
    >>> viterbi(graph, np.array([0.0, 2.0, 1.0, 0.0]))
    Best(values=array([0, 1, 0], dtype=int32), score=3.0)
    """
    plan = graph if isinstance(graph, Forest) else forest(graph)
    weights, limits, held = _check(plan, weights, constraints, clamp)
    values, scores = np.empty(plan.graph.n_variables, np.int32), np.empty(plan.n_trees)
    largest, cells = _sizes(plan)
    if plan.is_uniform:
        longest = int(np.diff(plan.tree_ptr).max())
        start, transition, end = limits
        table = _transitions(plan, weights, largest)
        if np.isnan(table).any() or (table == np.inf).any():
            raise _not_finite("weights", weights)
        if len(transition):
            table += transition.reshape(table.shape)
        own, alpha = np.empty(largest), np.empty((longest, largest))
        outcome = kernels.viterbi_chains(plan, weights, held, start, table, end, own, alpha, values, scores)
    else:
        belief, back = np.empty(plan.value_ptr[-1]), np.empty(plan.message_ptr[-1], np.int32)
        best, arg, table = np.empty(largest), np.empty(largest, np.int64), np.empty(cells)
        outcome = kernels.viterbi_forest(plan, weights, held, *limits, belief, back, best, arg, table, values, scores)
    _raise(outcome, plan, weights)
    return Best(values, float(scores.sum()))


def decode_chains(
    rows: SparseRows,
    sentence_ptr: ArrayLike,
    emission: NDArray[np.float64],
    transition: NDArray[np.float64],
    *,
    bias: ArrayLike | None = None,
    constraints: Constraints | None = None,
    clamp: ArrayLike | None = None,
) -> Best:
    """Viterbi for linear chains straight from rows of features, without grounding a graph.

    Parameters
    ----------
    rows : SparseRows
        The features of each token.
    sentence_ptr : int array (n_sentences + 1,)
        Sentence ``s`` holds tokens ``sentence_ptr[s]:sentence_ptr[s + 1]``.
    emission : float array (n_columns, K)
        The weight of each feature at each value; ``layout.view(weights, name)[0]`` gives it.
    transition : float array (K, K)
        The weight of each value followed by each value.
    bias : float array (K,), optional
        The weight of each value whatever the features.
    constraints : Constraints, optional
    clamp : int array (n_tokens,), optional
        Values to hold, -1 where a token is free.

    Returns
    -------
    values : int32 array (n_tokens,)
    score : float

    Examples
    --------
    >>> rows = SparseRows(np.array([0, 1, 2]), np.array([0, 1], np.int32), np.zeros(0), 2)
    >>> decode_chains(rows, [0, 2], np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.5, 0.0], [0.0, 0.5]]))
    Best(values=array([0, 1], dtype=int32), score=2.0)
    """
    emission = _frozen(emission, np.float64)
    table = np.array(transition, dtype=np.float64)
    n = table.shape[0]
    if table.shape != (n, n) or emission.ndim != 2 or emission.shape[0] < rows.n_columns or emission.shape[1] != n:
        raise ValueError(
            f"emission has shape {emission.shape} and transition {table.shape}; give (features, K) and (K, K), "
            f"for the {rows.n_columns} features of the rows"
        )
    bias = _frozen(np.zeros(n) if bias is None else bias, np.float64)
    if bias.shape != (n,):
        raise ValueError(f"bias has shape {bias.shape}; give one weight for each of the {n} values")
    ptr = _check_ptr(sentence_ptr, rows.n_rows)
    rows = SparseRows(
        _frozen(rows.ptr, np.int64), _frozen(rows.index, np.int32), _frozen(rows.value, np.float64), rows.n_columns
    )
    held = _check_clamp(clamp, np.broadcast_to(np.int32(n), rows.n_rows))
    start, allowed, end = _limits(constraints, n)
    if np.isnan(table).any() or (table == np.inf).any():
        raise _not_finite("transition", table)
    if len(allowed):
        table += allowed.reshape(n, n)
    values, scores = np.empty(rows.n_rows, np.int32), np.empty(len(ptr) - 1)
    own, alpha = np.empty(n), np.empty((int(np.diff(ptr).max(initial=0)), n))
    outcome = kernels.viterbi_rows(
        rows, ptr, emission.ravel(), bias, held, start, table, end, own, alpha, values, scores
    )
    if outcome == kernels.NOT_A_NUMBER:
        raise _not_finite("emission", emission) if np.isfinite(bias).all() else _not_finite("bias", bias)
    if outcome != kernels.FINE:
        raise _no_world(f"sentence {outcome} (tokens {ptr[outcome]} to {ptr[outcome + 1] - 1})")
    return Best(values, float(scores.sum()))


def k_best(
    graph: Graph | Forest,
    weights: NDArray[np.float64],
    k: int,
    *,
    constraints: Constraints | None = None,
    clamp: ArrayLike | None = None,
) -> KBest:
    """The k best worlds of every tree (sentence), best first.

    Parameters
    ----------
    graph : Graph or Forest
    weights : float array (n_weights,)
    k : int
        How many worlds to find.
    constraints, clamp : optional
        As for `viterbi`.

    Returns
    -------
    KBest

    Examples
    --------
    >>> from walkstep.model import Factors, ground
    >>> graph, layout = ground([2, 2], [Factors("edge", [[0, 1]])])
    >>> found = k_best(graph, np.array([0.0, 3.0, 1.0, 2.0]), 3)
    >>> found.values.tolist(), found.scores.ravel()
    ([[0, 1], [1, 1], [1, 0]], array([3., 2., 1.]))
    """
    if k < 1:
        raise ValueError(f"k is {k}; ask for at least 1 world")
    plan = graph if isinstance(graph, Forest) else forest(graph)
    weights, limits, held = _check(plan, weights, constraints, clamp)
    n, n_values = plan.graph.n_variables, int(plan.value_ptr[-1])
    largest, cells = _sizes(plan)
    messages = int(np.diff(plan.message_ptr[plan.tree_clique_ptr]).max(initial=0)) * k
    scope = int(np.diff(plan.clique_ptr).max(initial=1))
    values = np.full((k, n), UNKNOWN, np.int32)
    scores, counts = np.full((k, plan.n_trees), -np.inf), np.zeros(plan.n_trees, np.int64)
    outcome = kernels.k_best_forest(
        plan,
        weights,
        held,
        *limits,
        k,
        np.empty(n_values),
        np.empty(cells),
        _Lists(np.empty(n_values * k), np.empty(n_values, np.int32)),
        _Messages(
            np.empty(messages, np.int64),
            np.empty((scope, messages), np.int32),
            np.empty(messages, np.int32),
            np.empty(messages, np.int32),
        ),
        _Scratch(
            np.empty(k),
            np.empty((scope, k), np.int32),
            np.empty(k),
            np.empty(k, np.int32),
            np.empty(k, np.int32),
            np.empty(largest * k),
            np.empty(largest, np.int32),
            np.empty(n, np.int32),
        ),
        values,
        scores,
        counts,
    )
    _raise(outcome, plan, weights)
    return KBest(values, scores, counts)


class _Lists(NamedTuple):
    """For every value of every variable, the best scores of what lies below it."""

    score: NDArray[np.float64]
    size: NDArray[np.int32]


class _Messages(NamedTuple):
    """Where the entries of those lists came from, clique by clique."""

    row: NDArray[np.int64]  # the joint value below the clique
    ranks: NDArray[np.int32]  # (slot, entry) the rank in the list of each variable there
    before: NDArray[np.int32]  # the rank in the top's list before the message was added
    rank: NDArray[np.int32]  # the rank in the message


class _Scratch(NamedTuple):
    """Memory of one step."""

    score: NDArray[np.float64]
    ranks: NDArray[np.int32]
    other: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    sent: NDArray[np.float64]
    size: NDArray[np.int32]
    rank_of: NDArray[np.int32]


def marginals(
    graph: Graph | Forest,
    weights: NDArray[np.float64],
    *,
    constraints: Constraints | None = None,
    clamp: ArrayLike | None = None,
    joints: bool = False,
) -> Marginals:
    """The probability of every value of every variable, exactly (forward-backward on any forest).

    Parameters
    ----------
    graph : Graph or Forest
    weights : float array (n_weights,)
    constraints, clamp : optional
        As for `viterbi`; the probabilities are those given what they say.
    joints : bool
        Whether to return the joint probabilities of cliques (neighbours, on a chain) too.

    Returns
    -------
    Marginals

    Examples
    --------
    >>> from walkstep.model import Factors, ground
    >>> graph, layout = ground([2, 2], [Factors("edge", [[0, 1]])])
    >>> found = marginals(graph, np.log([1.0, 2.0, 3.0, 4.0]))
    >>> found.probabilities.round(3)
    array([[0.3, 0.7],
           [0.4, 0.6]])
    >>> round(float(np.exp(found.log_partition)), 6)
    10.0
    """
    plan = graph if isinstance(graph, Forest) else forest(graph)
    weights, limits, held = _check(plan, weights, constraints, clamp)
    n_values = int(plan.value_ptr[-1])
    largest, _ = _sizes(plan)
    tables = plan.table_ptr if joints else np.diff(plan.table_ptr[plan.tree_clique_ptr])
    table = np.empty(int(tables.max(initial=0)))
    probabilities, log_partition = np.zeros(n_values), np.empty(plan.n_trees)
    outcome = kernels.marginals_forest(
        plan,
        weights,
        held,
        *limits,
        joints,
        np.empty(n_values),
        np.empty(largest),
        np.empty(largest),
        table,
        probabilities,
        log_partition,
    )
    _raise(outcome, plan, weights)
    sizes = plan.graph.n_values
    if len(sizes) and (sizes == sizes[0]).all():
        probabilities = probabilities.reshape(len(sizes), -1)
    if plan.is_chain:
        table = table.reshape(-1, largest, largest)
    return Marginals(
        probabilities, plan.value_ptr, float(log_partition.sum()), log_partition, table if joints else None
    )


def _neighbours(n: int, sentence_ptr: ArrayLike | None) -> NDArray[np.int32]:
    """Pairs of variables next to each other in a sentence, flat."""
    if sentence_ptr is None:
        return np.zeros(0, np.int32)
    is_first = np.zeros(n + 1, bool)
    is_first[_check_ptr(sentence_ptr, n)] = True
    right = np.flatnonzero(~is_first)
    return np.stack([right - 1, right], axis=1).astype(np.int32).ravel()


def _transitions(plan: Forest, weights: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """The table that all cliques of a uniform chain share."""
    graph, table = plan.graph, np.zeros((n, n))
    for m in range(plan.member_ptr[1]):
        f = plan.member_factor[m]
        g = graph.factor_group[f]
        is_fixed = graph.group_kind[g] == Kind.FIXED
        if is_fixed or graph.group_bias[g] >= 0:
            at = graph.factor_weight[f]
            own = (graph.fixed_value if is_fixed else weights)[at : at + n * n].reshape(n, n)
            table += own if plan.is_aligned[m] else own.T
    return table


def _sizes(plan: Forest) -> tuple[int, int]:
    """The largest domain and the largest table."""
    return int(plan.graph.n_values.max(initial=1)), int(np.diff(plan.table_ptr).max(initial=1))


def _frozen(array: ArrayLike, dtype) -> NDArray:
    """The same array, read-only: loops are compiled for that kind alone."""
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def _check_ptr(sentence_ptr: ArrayLike, n: int) -> NDArray[np.int64]:
    """Where sentences begin, after checking."""
    ptr = _frozen(sentence_ptr, np.int64)
    if ptr.ndim != 1 or len(ptr) == 0 or ptr[0] != 0 or ptr[-1] != n or (np.diff(ptr) < 0).any():
        raise ValueError(f"sentence_ptr must rise from 0 to {n}, one entry more than there are sentences")
    return ptr


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


def _check(
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


def _raise(outcome: int, plan: Forest, weights: NDArray[np.float64]):
    """Say what went wrong in a loop, if anything did."""
    if outcome == kernels.NOT_A_NUMBER:
        raise _not_finite("weights", weights)
    if outcome != kernels.FINE:
        tree = plan.tree(outcome)
        raise _no_world(f"{'sentence' if plan.is_chain else 'tree'} {outcome} (variables {tree[0]} to {tree[-1]})")


def _not_finite(name: str, array: NDArray[np.float64]) -> ValueError:
    """The complaint about a weight that is not finite, or about scores that are not where all weights are."""
    bad = np.argwhere(np.isnan(array) | (array == np.inf))
    if not len(bad):
        bad = np.argwhere(array == -np.inf)
    if not len(bad):
        return ValueError(f"the scores overflow though all {name} are finite; use smaller weights and features")
    at = tuple(bad[0].tolist())
    return ValueError(f"{name}[{', '.join(map(str, at))}] is {array[at]}; weights must be finite numbers")


def _no_world(where: str) -> ValueError:
    """The complaint about a tree whose every world is forbidden."""
    return ValueError(
        f"{where} has no world that is allowed; loosen its constraints, its clamped values or its factors of -inf"
    )
