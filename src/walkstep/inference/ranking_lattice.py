"""Exact answers about rankings of few labels: sums and maxima over all orders, worked out over sets of labels.

The score of an order is a sum over pairs. What a label adds when it comes after a set of others does not depend on
their order, so that the best of the set, and the sum over all orders of the set, are worked out from those of smaller
sets (Held and Karp, 1962, for tours): 2^n n steps in place of n!.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.compiled import compiled
from walkstep.inference.row_shares import in_shares

MAX_LABELS = 12
"""Up to so many labels rankings are summed over exactly: 4,096 sets of them."""


class RankingSums(NamedTuple):
    """Sums over all rankings, for some rows of scores."""

    log_partition: NDArray[np.float64]  # (n_rows,)
    expected: NDArray[np.float64]  # (n_rows, n_pairs) E[psi]


def sum_rankings(scores: NDArray[np.float64], n_labels: int) -> RankingSums:
    """ln Z and expected statistics of `Permutations`, for each row of scores.

    Parameters
    ----------
    scores : float array (n_rows, n_pairs)
        Of every two labels, in the order of ``np.triu_indices(n_labels, 1)``.
    n_labels : int

    Examples
    --------
    >>> sums = sum_rankings(np.zeros((1, 3)), 3)
    >>> round(float(np.exp(sums.log_partition[0])), 6), sums.expected.tolist()
    (6.0, [[0.0, 0.0, 0.0]])
    """
    log_partition, expected = np.zeros(len(scores)), np.zeros(scores.shape)
    n_sets, table = 1 << n_labels, np.ascontiguousarray(scores)

    def work(rows: slice) -> None:
        scratch = np.zeros((n_sets, n_labels)), np.zeros((4, n_sets)), np.zeros((n_labels, n_labels))
        _sum(table[rows], n_labels, *scratch, log_partition[rows], expected[rows])

    in_shares(work, len(scores))
    return RankingSums(log_partition, expected)


def best_rankings(scores: NDArray[np.float64], n_labels: int) -> NDArray[np.int32]:
    """The ranking of the highest score for each row: (n_rows, n_labels) places.

    Examples
    --------
    >>> best_rankings(np.array([[1.0, -0.5, -2.0]]), 3)
    array([[1, 2, 0]], dtype=int32)
    """
    places = np.zeros((len(scores), n_labels), np.int32)
    n_sets, table = 1 << n_labels, np.ascontiguousarray(scores)

    def work(rows: slice) -> None:
        scratch = np.zeros((n_sets, n_labels)), np.zeros(n_sets), np.zeros(n_sets, np.int64)
        _best(table[rows], n_labels, *scratch, np.zeros((n_labels, n_labels)), places[rows])

    in_shares(work, len(scores))
    return places


@compiled
def _sum(scores, n, together, sums, factors, log_partition, expected):
    for r in range(len(scores)):
        log_z = _plain_sums(scores, r, n, together, sums, factors)
        if log_z == -np.inf:
            log_z = _scaled_sums(scores, r, n, together, sums, factors)
        log_partition[r] = log_z
        _fold(n, together, expected, r)


@compiled(inline=True)
def _plain_sums(scores, r, n, together, sums, factors):
    """ln Z, and how likely it is that just the labels of a set come before a label, for every set and label.

    Every factor is at most 1, as if each pair had its way at best, so that nothing overflows; the result is -inf where
    floats are too small for the sums. A label's factor with itself is 0: it never comes after a set that holds it.
    """
    full = (1 << n) - 1
    forward, backward = sums[0], sums[1]
    top = 0.0
    k = 0
    for i in range(n):
        together[0, i] = 1.0
        factors[i, i] = 0.0
        for j in range(i + 1, n):
            top += 0.5 * abs(scores[r, k])
            factors[i, j] = np.exp(min(scores[r, k], 0.0))  # of i before j
            factors[j, i] = np.exp(min(-scores[r, k], 0.0))
            k += 1
    for s in range(full + 1):
        forward[s] = 0.0
        backward[s] = 0.0
    forward[0] = 1.0
    for s in range(full + 1):
        if s > 0:
            first = 0
            while (s >> first) & 1 == 0:
                first += 1
            rest = s & (s - 1)
            for i in range(n):
                together[s, i] = together[rest, i] * factors[first, i]  # of all of s before i
        here = forward[s]
        for i in range(n):
            forward[s | (1 << i)] += here * together[s, i]
    z = forward[full]
    if z < 1e-250:
        return -np.inf
    backward[full] = 1.0
    for s in range(full, -1, -1):
        total = backward[s]
        share = forward[s] / z
        for i in range(n):
            flow = together[s, i] * backward[s | (1 << i)]
            total += flow
            together[s, i] = share * flow
        backward[s] = total
    return top + np.log(z)


@compiled(inline=True)
def _scaled_sums(scores, r, n, together, sums, factors):
    """The same with each sum over its largest term, for scores of any size; it takes an exponential for each step."""
    full = (1 << n) - 1
    forward, backward, best, rest_best = sums[0], sums[1], sums[2], sums[3]
    k = 0
    for i in range(n):
        together[0, i] = 0.0
        factors[i, i] = -np.inf
        for j in range(i + 1, n):
            factors[i, j] = 0.5 * scores[r, k]
            factors[j, i] = -0.5 * scores[r, k]
            k += 1
    forward[0], best[0] = 1.0, 0.0
    for s in range(1, full + 1):
        first = 0
        while (s >> first) & 1 == 0:
            first += 1
        rest = s & (s - 1)
        best[s], forward[s] = -np.inf, 0.0
        for i in range(n):
            together[s, i] = together[rest, i] + factors[first, i]
            if (s >> i) & 1:
                before = s ^ (1 << i)
                best[s] = max(best[s], best[before] + together[before, i])
        for i in range(n):
            if (s >> i) & 1:
                before = s ^ (1 << i)
                forward[s] += forward[before] * np.exp(best[before] + together[before, i] - best[s])
    z, most = forward[full], best[full]
    backward[full], rest_best[full] = 1.0, 0.0
    for i in range(n):
        together[full, i] = 0.0
    for s in range(full - 1, -1, -1):
        rest_best[s], backward[s] = -np.inf, 0.0
        for i in range(n):
            if (s >> i) & 1 == 0:
                rest_best[s] = max(rest_best[s], rest_best[s | (1 << i)] + together[s, i])
        for i in range(n):
            if (s >> i) & 1:
                together[s, i] = 0.0
                continue
            after = s | (1 << i)
            gain = together[s, i] + rest_best[after]
            backward[s] += backward[after] * np.exp(gain - rest_best[s])
            together[s, i] = forward[s] * backward[after] * np.exp(best[s] + gain - most) / z
    return most + np.log(z)


@compiled(inline=True)
def _fold(n, together, expected, r):
    """How likely each label is to come before another: how likely the set of all that do is to hold it.

    The sets that hold the last label are the second half of all; they are summed up, and laid on those without it.
    """
    half = 1 << (n - 1)
    for j in range(n - 1, -1, -1):
        within = together[half]
        for i in range(n):
            together[0, i] += within[i]
        for s in range(1, half):
            other = together[half + s]
            here = together[s]
            for i in range(n):
                here[i] += other[i]
                within[i] += other[i]
        for i in range(j + 1, n):
            expected[r, j * n - j * (j + 1) // 2 + i - j - 1] = within[i] - 0.5
        half >>= 1


@compiled
def _best(scores, n, together, best, last, gains, places):
    full = (1 << n) - 1
    for r in range(len(scores)):
        k = 0
        for i in range(n):
            together[0, i] = 0.0
            gains[i, i] = -np.inf
            for j in range(i + 1, n):
                gains[i, j] = 0.5 * scores[r, k]
                gains[j, i] = -0.5 * scores[r, k]
                k += 1
        for s in range(1, full + 1):
            best[s] = -np.inf
        best[0] = 0.0
        for s in range(full):
            if s > 0:
                first = 0
                while (s >> first) & 1 == 0:
                    first += 1
                rest = s & (s - 1)
                for i in range(n):
                    together[s, i] = together[rest, i] + gains[first, i]
            for i in range(n):
                value = best[s] + together[s, i]
                after = s | (1 << i)
                if value > best[after]:
                    best[after] = value
                    last[after] = i
        s = full
        for place in range(n - 1, -1, -1):
            places[r, last[s]] = place
            s ^= 1 << last[s]
