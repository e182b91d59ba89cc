"""The corners of a hypercube: label sets, each label on or off."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled
from walkstep.worlds.randomness import below, next_word
from walkstep.worlds.space import Space, first_wrong
from walkstep.worlds.structure import Structure, structure


class Hypercube(Space):
    """Label sets of ``n`` labels: a value of 0 or 1 for each.

    The statistics are the labels that are on, which see the row, and after them the pairs that are both on, which do
    not.

    Parameters
    ----------
    n : int
        How many labels.
    pairs : int array (2, n_pairs), optional
        Which labels are joined; by default none.

    Examples
    --------
    >>> cube = Hypercube(3, [[0, 0], [1, 2]])
    >>> cube.count(), cube.statistics([[1, 1, 0]]).tolist()
    (8, [[1.0, 1.0, 0.0, 1.0, 0.0]])
    """

    def __init__(self, n: int, pairs: ArrayLike | None = None):
        if n < 1:
            raise ValueError(f"n is {n}; a hypercube has at least 1 label")
        self.pairs = np.zeros((2, 0), np.int64) if pairs is None else np.asarray(pairs, np.int64).reshape(2, -1)
        first, second = self.pairs
        wrong = np.flatnonzero((first < 0) | (second < 0) | (first >= n) | (second >= n) | (first == second))
        if len(wrong):
            raise ValueError(
                f"pair {wrong[0]} joins labels {self.pairs[:, wrong[0]].tolist()}; give two of 0 to {n - 1}"
            )
        self.size = self.n_seen = n
        self.n_statistics = n + len(first)
        self.radius = float(np.sqrt(self.n_statistics))
        self.importance = np.concatenate([np.ones(n), np.zeros(len(first))])

    def count(self) -> int:
        """2 to the number of labels."""
        return 1 << self.size

    def all_structures(self) -> NDArray[np.int32]:
        """Every label set, the last label fastest."""
        self._check_enumerable()
        return ((np.arange(1 << self.size)[:, None] >> np.arange(self.size - 1, -1, -1)) & 1).astype(np.int32)

    def statistics(self, values: ArrayLike) -> NDArray[np.float64]:
        """Labels that are on, then pairs that both are."""
        on = np.asarray(values, np.float64)
        return np.concatenate([on, on[..., self.pairs[0]] * on[..., self.pairs[1]]], axis=-1)

    def check(self, values: ArrayLike) -> NDArray[np.int32]:
        """Label sets, each a row of 0 and 1."""
        sets = self._check_shape(values)
        first_wrong("label set", sets, ((sets == 0) | (sets == 1)).all(axis=1), "give 0 and 1")
        return sets

    def score_range(self, scores: NDArray[np.float64]) -> tuple[float, float]:
        """What all labels and pairs that lose, and that gain, come to: exact without pairs."""
        return float(np.minimum(scores, 0.0).sum()), float(np.maximum(scores, 0.0).sum())

    def _compile(self) -> Structure:
        """The space in compiled code; of each label it knows its pairs, one after the other."""
        n, n_pairs = self.size, self.pairs.shape[1]
        ends = self.pairs.ravel()
        order = np.argsort(ends, kind="stable")
        ptr = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=n))])
        pair = order % max(n_pairs, 1)
        partner = self.pairs[::-1].ravel()[order]
        ints = np.concatenate([[n, n_pairs], self.pairs[0], self.pairs[1], ptr, partner, pair])
        return structure(_draw, _statistics, _flip, _difference, ints.astype(np.int64))


@compiled(allocates=False)
def _draw(ints, floats, values, rng):
    # A fair coin for each label (section 6 of the paper): the bits of one word serve sixty-four of them.
    for first in range(0, len(values), 64):
        word = next_word(rng)
        for k in range(min(64, len(values) - first)):
            values[first + k] = np.int32((word >> np.uint64(k)) & np.uint64(1))


@compiled(allocates=False)
def _statistics(ints, floats, values, out):
    n, n_pairs = ints[0], ints[1]
    for k in range(n):
        out[k] = values[k]
    for p in range(n_pairs):
        out[n + p] = values[ints[2 + p]] * values[ints[2 + n_pairs + p]]


@compiled(allocates=False)
def _flip(ints, floats, values, sites, new_values, size, rng):
    # Once in a while nothing happens, or walks that take every move would see sets of one parity only.
    k = below(rng, ints[0] + 1)
    if k == ints[0]:
        size[0] = 0
        return 0.0
    sites[0], new_values[0], size[0] = k, 1 - values[k], 1
    return 0.0


@compiled(allocates=False)
def _difference(ints, floats, values, sites, new_values, size, index, amount):
    if size[0] == 0:
        return 0
    n, n_pairs, k = ints[0], ints[1], sites[0]
    sign = 1.0 if new_values[0] > values[k] else -1.0
    index[0], amount[0] = k, sign
    found = 1
    ptr = 2 + 2 * n_pairs
    partner = ptr + n + 1
    for e in range(ints[ptr + k], ints[ptr + k + 1]):
        if values[ints[partner + e]] == 1:
            index[found] = n + ints[partner + 2 * n_pairs + e]
            amount[found] = sign
            found += 1
    return found
