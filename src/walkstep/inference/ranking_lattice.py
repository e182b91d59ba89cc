"""Exact answers about rankings of few labels: sums and maxima over all orders, worked out over sets of labels.

The score of an order is a sum over pairs. What a label adds when it comes after a set of others does not depend on
their order, so that the best of the set, and the sum over all orders of the set, are worked out from those of smaller
sets (Held and Karp, 1962, for tours): 2^n n steps in place of n!.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.compiled import compiled

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
    n_sets = 1 << n_labels
    scratch = np.zeros((n_sets, n_labels)), np.zeros((5, n_sets)), np.zeros((n_labels, n_labels))
    _sum(np.ascontiguousarray(scores), n_labels, *scratch, log_partition, expected)
    return RankingSums(log_partition, expected)


def best_rankings(scores: NDArray[np.float64], n_labels: int) -> NDArray[np.int32]:
    """The ranking of the highest score for each row: (n_rows, n_labels) places.

    Examples
    --------
    >>> best_rankings(np.array([[1.0, -0.5, -2.0]]), 3)
    array([[1, 2, 0]], dtype=int32)
    """
    places = np.zeros((len(scores), n_labels), np.int32)
    n_sets = 1 << n_labels
    gains = np.zeros((n_labels, n_labels))
    _best(np.ascontiguousarray(scores), n_labels, np.zeros(n_sets), np.zeros(n_sets, np.int64), gains, places)
    return places


@compiled
def _sum(scores, n, together, sums, factors, log_partition, expected):
    for r in range(len(scores)):
        log_z = _plain_sums(scores, r, n, together, sums, factors)
        if log_z == -np.inf:
            log_z = _scaled_sums(scores, r, n, together, sums, factors)
        log_partition[r] = log_z
        for i in range(n):
            _chance_before(n, i, together, sums, expected, r)


@compiled(inline=True)
def _gather(n, s, together, factors, is_log):
    """What each label adds when it comes after all of a set, from the set without its first label."""
    first = 0
    while (s >> first) & 1 == 0:
        first += 1
    rest = s & (s - 1)
    for i in range(n):
        if is_log:
            together[s, i] = together[rest, i] + factors[first, i]
        else:
            together[s, i] = together[rest, i] * factors[first, i]


@compiled(inline=True)
def _plain_sums(scores, r, n, together, sums, factors):
    """Sums over the orders of each set, and of those after it; -inf where they are too small for floats.

    Every factor is at most 1, as if each pair had its way at best, so that nothing overflows. ``together`` ends up with
    what an order that puts a label right after a set weighs, over all that lie before and after.
    """
    full = (1 << n) - 1
    forward, backward = sums[0], sums[1]
    top = 0.0
    k = 0
    for i in range(n):
        together[0, i] = 1.0
        for j in range(i + 1, n):
            top += 0.5 * abs(scores[r, k])
            factors[i, j] = np.exp(min(scores[r, k], 0.0))
            factors[j, i] = np.exp(min(-scores[r, k], 0.0))
            k += 1
    forward[0] = 1.0
    for s in range(1, full + 1):
        _gather(n, s, together, factors, False)
        total = 0.0
        for i in range(n):
            if (s >> i) & 1:
                before = s ^ (1 << i)
                total += forward[before] * together[before, i]
        forward[s] = total
    z = forward[full]
    if z < 1e-250:
        return -np.inf
    backward[full] = 1.0
    for s in range(full - 1, -1, -1):
        total = 0.0
        for i in range(n):
            if (s >> i) & 1 == 0:
                flow = together[s, i] * backward[s | (1 << i)]
                total += flow
                together[s, i] = forward[s] * flow / z
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
        factors[i, i] = 0.0
        for j in range(i + 1, n):
            factors[i, j] = 0.5 * scores[r, k]
            factors[j, i] = -0.5 * scores[r, k]
            k += 1
    forward[0], best[0] = 1.0, 0.0
    for s in range(1, full + 1):
        _gather(n, s, together, factors, True)
        best[s] = -np.inf
        for i in range(n):
            if (s >> i) & 1:
                before = s ^ (1 << i)
                best[s] = max(best[s], best[before] + together[before, i])
        forward[s] = 0.0
        for i in range(n):
            if (s >> i) & 1:
                before = s ^ (1 << i)
                forward[s] += forward[before] * np.exp(best[before] + together[before, i] - best[s])
    z, most = forward[full], best[full]
    backward[full], rest_best[full] = 1.0, 0.0
    for s in range(full - 1, -1, -1):
        rest_best[s] = -np.inf
        for i in range(n):
            if (s >> i) & 1 == 0:
                rest_best[s] = max(rest_best[s], rest_best[s | (1 << i)] + together[s, i])
        backward[s] = 0.0
        for i in range(n):
            if (s >> i) & 1 == 0:
                after = s | (1 << i)
                gain = together[s, i] + rest_best[after]
                backward[s] += backward[after] * np.exp(gain - rest_best[s])
                together[s, i] = forward[s] * backward[after] * np.exp(best[s] + gain - most) / z
    return most + np.log(z)


@compiled(inline=True)
def _chance_before(n, i, together, sums, expected, r):
    """How likely each label is to come before label i: how likely the set of all that do is to hold it."""
    flow = sums[4]
    half = 1 << (n - 1)
    for s in range(2 * half):
        flow[s] = 0.0 if (s >> i) & 1 else together[s, i]
    for j in range(n - 1, -1, -1):
        within = 0.0
        for s in range(half):
            within += flow[half + s]
            flow[s] += flow[half + s]
        half >>= 1
        if j < i:
            expected[r, j * n - j * (j + 1) // 2 + i - j - 1] = within - 0.5


@compiled
def _best(scores, n, best, last, gains, places):
    full = (1 << n) - 1
    for r in range(len(scores)):
        k = 0
        for i in range(n):
            for j in range(i + 1, n):
                gains[i, j] = 0.5 * scores[r, k]
                gains[j, i] = -0.5 * scores[r, k]
                k += 1
        best[0] = 0.0
        for s in range(1, full + 1):
            best[s] = -np.inf
            for i in range(n):
                if (s >> i) & 1:
                    before = s ^ (1 << i)
                    value = best[before]
                    for j in range(n):
                        if (before >> j) & 1:
                            value += gains[j, i]
                    if value > best[s]:
                        best[s] = value
                        last[s] = i
        s = full
        for place in range(n - 1, -1, -1):
            places[r, last[s]] = place
            s ^= 1 << last[s]
