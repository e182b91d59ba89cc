"""Label worlds: a value for every variable of a grounded graph."""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import INLINE, compiled
from walkstep.model.domains import UNKNOWN
from walkstep.model.graph import Graph, Kind
from walkstep.worlds.base import difference, register, signal
from walkstep.worlds.moves import Flip, is_flip, n_changed, site_of, value_of
from walkstep.worlds.proposers import UniformFlip, suggest
from walkstep.worlds.scores import add_change, add_scores, cell_score, prefetch_factor
from walkstep.worlds.signals import Hamming, begin, gain, record


class LabelWorld(NamedTuple):
    """Values of all variables of a graph, with the truth they are measured against."""

    graph: Graph
    values: NDArray[np.int32]  # (V,)
    truth: NDArray[np.int32]  # (V,) UNKNOWN where nothing is known
    document_ptr: NDArray[np.int64]  # (D+1,) document d holds variables document_ptr[d]:document_ptr[d+1]
    window: NDArray[np.int64]  # (2,) the variables of the document entered
    journal: NDArray[np.int64]  # sites changed since the last restart; empty where walks never restart
    n_journal: NDArray[np.int64]  # (1,)
    signal: Any  # the metric, by difference
    proposer: Any  # where the moves of Metropolis-Hastings come from


def label_world(
    graph: Graph,
    truth: ArrayLike | None = None,
    *,
    values: ArrayLike | None = None,
    document_ptr: ArrayLike | None = None,
    signal: Any = None,
    proposer: Any = None,
) -> LabelWorld:
    """A world over a graph.

    Parameters
    ----------
    graph : Graph
    truth : int array (n_variables,), optional
        The true values, `UNKNOWN` (-1) where they are not known.
    values : int array (n_variables,), optional
        Where the walk starts; by default at the truth, and at 0 where that is silent.
    document_ptr : int array (n_documents + 1,), optional
        Documents as ranges of variables; by default all variables are one document.
    signal : optional
        The metric, one of `walkstep.worlds.signals`; by default Hamming accuracy.
    proposer : optional
        `UniformFlip` or what `as_proposer` gives.

    Examples
    --------
    >>> from walkstep.model import Factors, ground
    >>> graph, layout = ground([2, 2], [Factors("edge", [[0, 1]])])
    >>> label_world(graph, truth=[1, 0]).values
    array([1, 0], dtype=int32)
    """
    n = graph.n_variables
    truth = np.full(n, UNKNOWN, np.int32) if truth is None else np.array(truth, dtype=np.int32)
    start = np.maximum(truth, 0) if values is None else np.array(values, dtype=np.int32)
    for name, array in (("truth", truth), ("values", start)):
        if array.shape != (n,):
            raise ValueError(f"{name} has shape {array.shape}; give one value for each of the {n} variables")
        bad = np.flatnonzero((array >= graph.n_values) | (array < (UNKNOWN if name == "truth" else 0)))
        if len(bad):
            raise ValueError(
                f"{name} of variable {bad[0]} is {array[bad[0]]}, but it has values 0 to {graph.n_values[bad[0]] - 1}"
            )
    ptr = np.array([0, n] if document_ptr is None else document_ptr, dtype=np.int64)
    if len(ptr) < 2 or ptr[0] != 0 or ptr[-1] != n or (np.diff(ptr) < 0).any():
        raise ValueError(f"document_ptr must rise from 0 to the number of variables, {n}")
    return LabelWorld(
        graph,
        start,
        truth,
        ptr,
        np.array([0, n], np.int64),
        np.zeros(0, np.int64),
        np.zeros(1, np.int64),
        Hamming() if signal is None else signal,
        UniformFlip() if proposer is None else proposer,
    )


# --- the cells of factors


@compiled(inline=True)
def _cells(world, move, f):
    """Joint value of factor ``f``'s scope before and after the move."""
    graph = world.graph
    first = graph.factor_ptr[f]
    g = graph.factor_group[f]
    before = after = np.int64(0)
    for e in range(first, graph.factor_ptr[f + 1]):
        v = graph.factor_variables[e]
        stride = graph.group_stride[g, e - first]
        old = np.int64(world.values[v])
        new = old
        for j in range(n_changed(move)):
            if site_of(move, j) == v:
                new = np.int64(value_of(move, j))
        before += old * stride
        after += new * stride
    return before, after


@compiled(inline=True)
def _touched(world, move, k):
    """The k-th factor the move touches, or -1 where an earlier site of the move names it too."""
    graph = world.graph
    j = 0
    while True:
        v = site_of(move, j)
        degree = graph.variable_ptr[v + 1] - graph.variable_ptr[v]
        if k < degree:
            break
        k -= degree
        j += 1
    f = graph.factor_of_edge[graph.variable_ptr[v] + k]
    if j > 0:
        for e in range(graph.factor_ptr[f], graph.factor_ptr[f + 1]):
            for i in range(j):
                if graph.factor_variables[e] == site_of(move, i):
                    return -1
    return f


# --- verbs


def _enter(world, document):
    world.window[0] = world.document_ptr[document]
    world.window[1] = world.document_ptr[document + 1]
    begin(world.signal, world.values, world.truth, world.window)
    return world.window[1] - world.window[0]


def _n_factors(world, move):
    n = 0
    for j in range(n_changed(move)):
        v = site_of(move, j)
        n += world.graph.variable_ptr[v + 1] - world.graph.variable_ptr[v]
    return n


def _factor(world, move, k, phi):
    f = _touched(world, move, k)
    if f >= 0:
        before, after = _cells(world, move, f)
        add_change(world.graph, f, before, after, phi)


def _factor_score(world, move, k, weights, phi):
    f = _touched(world, move, k)
    if f < 0:
        return 0.0
    before, after = _cells(world, move, f)
    if before == after:
        return 0.0
    return cell_score(world.graph, f, after, weights) - cell_score(world.graph, f, before, weights)


def _forbids(world, move):
    graph = world.graph
    if len(graph.fixed_value) == 0:
        return False
    for k in range(_n_factors_compiled(world, move)):
        f = _touched(world, move, k)
        if f >= 0 and graph.group_kind[graph.factor_group[f]] == _FIXED:
            before, after = _cells(world, move, f)
            if before != after and graph.fixed_value[graph.factor_weight[f] + after] == -np.inf:
                return True
    return False


def _delta(world, move, weights, phi):
    total = 0.0
    graph = world.graph
    for k in range(_n_factors_compiled(world, move)):
        f = _touched(world, move, k)
        if f < 0:
            continue
        before, after = _cells(world, move, f)
        if before == after:
            continue
        new = cell_score(graph, f, after, weights)
        if new == -np.inf:
            return -np.inf  # a forbidden world, whatever else the move does
        old = cell_score(graph, f, before, weights)
        if old == -np.inf:
            total = np.inf
        else:
            total += new - old
    return total


def _signal(world, move):
    n = n_changed(move)
    if n == 1:
        return gain(world.signal, world.values, world.truth, world.window, site_of(move, 0), value_of(move, 0))
    # Several sites: price them one after the other on the values themselves, then put those back.
    total = 0.0
    for j in range(n):
        s = site_of(move, j)
        total += gain(world.signal, world.values, world.truth, world.window, s, value_of(move, j))
        _exchange(world, move, j)
    for j in range(n - 1, -1, -1):
        _exchange(world, move, j)
    return total


def _is_silent(world, move):
    for j in range(n_changed(move)):
        if world.truth[site_of(move, j)] >= 0:
            return False
    return True


def _commit(world, move):
    for j in range(n_changed(move)):
        s = site_of(move, j)
        value = value_of(move, j)
        record(world.signal, world.values, world.truth, world.window, s, value)
        world.values[s] = value
        if len(world.journal) > 0:
            n = world.n_journal[0]
            if n == len(world.journal):
                raise ValueError("more sites changed than the world's journal holds; make it longer")
            world.journal[n] = s
            world.n_journal[0] = n + 1


def _retrace(world, goal, phi):
    # Walk from the world to the goal site by site, adding up what each step changes, and back again.
    gap = 0.0
    for s in range(world.window[0], world.window[1]):
        if goal.values[s] != world.values[s]:
            move = Flip(s, np.int64(goal.values[s]))
            difference(world, move, phi)
            gap += signal(world, move)
            _swap(world, goal, s)
    for s in range(world.window[0], world.window[1]):
        if goal.values[s] != world.values[s]:
            _swap(world, goal, s)
    return gap


def _restart(world, goal):
    for n in range(world.n_journal[0]):
        s = world.journal[n]
        if world.values[s] != goal.values[s]:
            record(world.signal, world.values, world.truth, world.window, s, np.int64(goal.values[s]))
            world.values[s] = goal.values[s]
    world.n_journal[0] = 0


@compiled(inline=True)
def _swap(world, goal, s):
    """Exchange the values of one site between two worlds."""
    kept = world.values[s]
    record(world.signal, world.values, world.truth, world.window, s, np.int64(goal.values[s]))
    world.values[s] = goal.values[s]
    goal.values[s] = kept


def _exchange(world, move, j):  # pragma: no cover - replaced by its overload in compiled code
    """Exchange the j-th value of a move with the world's."""
    raise TypeError


@compiled(inline=True)
def _exchange_values(world, move, j):
    s = move.sites[j]
    kept = world.values[s]
    record(world.signal, world.values, world.truth, world.window, s, np.int64(move.values[j]))
    world.values[s] = move.values[j]
    move.values[j] = kept


@overload(_exchange, jit_options=INLINE)
def _exchange_overload(world, move, j):
    # A flip has one site and never gets here; it only has to compile.
    return (lambda world, move, j: None) if is_flip(move) else (lambda world, move, j: _exchange_values(world, move, j))


def _propose(world, rng):
    return suggest(world.proposer, world, rng)


@compiled(inline=True)
def conditional(world, site, weights, out):
    """Scores of all values of one variable, the others held: ``out[:n_values[site]]``.

    Values are counted from each other only; what no value of the site changes is left out.
    """
    graph = world.graph
    n = graph.n_values[site]
    for k in range(n):
        out[k] = 0.0
    for edge in range(graph.variable_ptr[site], graph.variable_ptr[site + 1]):
        f = graph.factor_of_edge[edge]
        slot = graph.slot_of_edge[edge]
        g = graph.factor_group[f]
        first = graph.factor_ptr[f]
        base = np.int64(0)
        for e in range(first, graph.factor_ptr[f + 1]):
            if e - first != slot:
                base += world.values[graph.factor_variables[e]] * graph.group_stride[g, e - first]
        add_scores(graph, f, base, graph.group_stride[g, slot], n, weights, out)


@compiled(inline=True)
def prefetch(world, site, weights):
    """Ask for the weights that `conditional` will want of a site, while another one is being looked at."""
    graph = world.graph
    for edge in range(graph.variable_ptr[site], graph.variable_ptr[site + 1]):
        prefetch_factor(graph, graph.factor_of_edge[edge], graph.n_values[site], weights)


_FIXED = int(Kind.FIXED)
_n_factors_compiled = compiled(_n_factors, inline=True)

register(
    LabelWorld,
    enter=_enter,
    propose=_propose,
    n_factors=_n_factors,
    factor=_factor,
    factor_score=_factor_score,
    delta=_delta,
    forbids=_forbids,
    signal=_signal,
    is_silent=_is_silent,
    commit=_commit,
    retrace=_retrace,
    restart=_restart,
)


def goal_of(world: LabelWorld) -> LabelWorld:
    """The world at the truth; where that is silent, the goal follows the walk."""
    values = np.where(world.truth >= 0, world.truth, world.values).astype(np.int32)
    counts = getattr(world.signal, "counts", None)
    own = world.signal if counts is None else world.signal._replace(counts=counts.copy())
    return world._replace(values=values, window=world.window.copy(), journal=np.zeros(0, np.int64), signal=own)
