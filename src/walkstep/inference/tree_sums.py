"""Exact answers about subtrees: sums and maxima over all subtrees with the root, from the leaves up.

Given that a node is in, what happens in the branches of its children is independent but for how many of them are in,
and that only matters as none, one, and each further one. So all sums come from two products over the children.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.compiled import compiled
from walkstep.inference.row_shares import in_shares
from walkstep.worlds.subtree import Subtrees

_MOST = 500.0  # the log of what is multiplied with a slope


class TreeSums(NamedTuple):
    """Sums over all subtrees, for some rows of scores."""

    log_partition: NDArray[np.float64]  # (n_rows,)
    expected: NDArray[np.float64]  # (n_rows, n_statistics) E[psi]


def sum_subtrees(space: Subtrees, scores: NDArray[np.float64]) -> TreeSums:
    """ln Z and expected statistics for each row of scores, (n_rows, n_statistics).

    Examples
    --------
    >>> sums = sum_subtrees(Subtrees([-1, 0, 1]), np.zeros((1, 3)))
    >>> round(float(np.exp(sums.log_partition[0])), 6), sums.expected.round(3).tolist()
    (3.0, [[1.0, 0.667, 0.333]])
    """
    log_partition, expected = np.zeros(len(scores)), np.zeros(scores.shape)
    table, inner = np.ascontiguousarray(scores), _inner_numbers(space)

    def work(rows: slice) -> None:
        scratch = np.zeros((2, space.size)), np.zeros((4, space.size))
        _sum(table[rows], space.parent, inner, *scratch, log_partition[rows], expected[rows])

    in_shares(work, len(scores))
    return TreeSums(log_partition, expected)


def best_subtrees(space: Subtrees, scores: NDArray[np.float64]) -> NDArray[np.int32]:
    """The subtree of the highest score for each row: (n_rows, n_nodes).

    Examples
    --------
    >>> best_subtrees(Subtrees([-1, 0, 1, 0]), np.array([[0.0, -1.0, 2.0, -1.0]]))
    array([[1, 1, 1, 0]], dtype=int32)
    """
    chosen = np.zeros((len(scores), space.size), np.int32)
    scratch = np.zeros((3, space.size)), np.zeros(space.size, np.int64)
    _best(np.ascontiguousarray(scores), space.parent, _inner_numbers(space), *scratch, chosen)
    return chosen


def _inner_numbers(space: Subtrees) -> NDArray[np.int64]:
    """Where the statistics of each node's children stand, counted from the first such; -1 for leaves, -2 for none."""
    numbers = np.full(space.size, -1, np.int64)
    numbers[space.inner] = np.arange(len(space.inner)) if space.branching else -2
    return numbers


@compiled(inline=True)
def _branching_of(scores, r, n, inner):
    """What it scores that a node with children stops, and each time it forks."""
    if inner < 0:
        return 0.0, 0.0
    n_inner = (scores.shape[1] - n) // 2
    return scores[r, n + inner], scores[r, n + n_inner + inner]


@compiled(inline=True)
def _log_add(x, y):
    """log(e^x + e^y)"""
    return max(x, y) + np.log1p(np.exp(-abs(x - y)))


@compiled(inline=True)
def _log_sum_of_children(parent, whole, v):
    """Log of the sum of what the branches of a node's children come to."""
    top = -np.inf
    for c in range(v + 1, len(parent)):
        if parent[c] == v:
            top = max(top, whole[c])
    total = 0.0
    for c in range(v + 1, len(parent)):
        if parent[c] == v:
            total += np.exp(whole[c] - top)
    return top + np.log(total)


@compiled
def _sum(scores, parent, inner, logs, work, log_partition, expected):
    n = len(parent)
    whole, below = logs[0], logs[1]  # of the branch of a node: all its subtrees; what its children come to
    # The log of the product over children of (1 + e^fork Z), one factor of it less one, and each child's slope of it.
    products, factors, slopes = work[0], work[1], work[2]
    shares = work[3]  # e to that log, over all that the node's children come to
    n_inner = (scores.shape[1] - n) // 2
    for r in range(len(scores)):
        for v in range(n):
            products[v] = 0.0
            factors[v] = 0.0
        for v in range(n - 1, -1, -1):
            whole[v] = scores[r, v]
            if inner[v] != -1:
                products[v] += np.log1p(factors[v])
                below[v] = products[v]
                if inner[v] >= 0:
                    stop, fork = _branching_of(scores, r, n, inner[v])
                    # Z below v is e^stop + (prod (1 + e^fork Z_c) - 1) / e^fork.
                    u = products[v]
                    if u > 1e-200:
                        below[v] = _log_add(stop, u + np.log(-np.expm1(-u)) - fork)
                    else:  # forks are so unlikely that they are lost to rounding: one child is in
                        below[v] = _log_add(stop, _log_sum_of_children(parent, whole, v))
                whole[v] += below[v]
            if v > 0:
                p = parent[v]
                x = whole[v] + _branching_of(scores, r, n, inner[p])[1]
                # log(1 + e^x) is max(x, 0) + log(1 + e), and the logs of all 1 + e are taken at once.
                e = np.exp(-abs(x))
                slopes[v] = (1.0 if x > 0.0 else e) / (1.0 + e)
                products[p] += max(x, 0.0)
                factors[p] += e + factors[p] * e
                if factors[p] > 1e200:
                    products[p] += np.log1p(factors[p])
                    factors[p] = 0.0
        log_partition[r] = whole[0]
        for k in range(scores.shape[1]):
            expected[r, k] = 0.0
        expected[r, 0] = 1.0
        for v in range(n):
            if inner[v] != -1:
                products[v] -= _branching_of(scores, r, n, inner[v])[1] + below[v]
                shares[v] = 1.0 if inner[v] < 0 else np.exp(min(products[v], _MOST))
        for v in range(1, n):
            p = parent[v]
            # Of all with v's parent in: v is in, and the other children as they please.
            chance = shares[p] * slopes[v]
            if products[p] > _MOST:  # forks are so unlikely that floats do not hold one part of it without the other
                x = whole[v] + _branching_of(scores, r, n, inner[p])[1]
                chance = np.exp(products[p] - _log_add(0.0, -x))
            expected[r, v] = expected[r, p] * chance
            if inner[p] >= 0:
                expected[r, n + n_inner + inner[p]] += expected[r, v]
        for v in range(n):
            if inner[v] >= 0:
                stops = expected[r, v] * np.exp(scores[r, n + inner[v]] - below[v])
                expected[r, n + inner[v]] = stops
                expected[r, n + n_inner + inner[v]] -= expected[r, v] - stops


@compiled
def _best(scores, parent, inner, gains, favourite, chosen):
    """From the leaves up; then from the root down, who is in."""
    n = len(parent)
    whole, top, more = gains[0], gains[1], gains[2]  # a branch at its best; the best child; what all that pay gain
    for r in range(len(scores)):
        for v in range(n):
            top[v] = -np.inf
            more[v] = 0.0
            favourite[v] = -1
        for v in range(n - 1, -1, -1):
            whole[v] = scores[r, v]
            if inner[v] != -1:
                stop, fork = _branching_of(scores, r, n, inner[v])
                # The first child pays no fork: the best one, whose gain counts without the fork of those that follow.
                first = top[v] + more[v] - max(top[v] + fork, 0.0)
                whole[v] += max(stop, first)
                if stop >= first:
                    favourite[v] = -1
            if v > 0:
                p = parent[v]
                more[p] += max(whole[v] + _branching_of(scores, r, n, inner[p])[1], 0.0)
                if whole[v] > top[p]:
                    top[p] = whole[v]
                    favourite[p] = v
        chosen[r, 0] = 1
        for v in range(1, n):
            p = parent[v]
            is_in = chosen[r, p] == 1 and favourite[p] >= 0
            if is_in and favourite[p] != v:
                is_in = whole[v] + _branching_of(scores, r, n, inner[p])[1] > 0.0
            chosen[r, v] = is_in
