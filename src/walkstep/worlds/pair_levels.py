"""Comparator levels of pairs, remembered: a table of fixed size that forgets, never one of all pairs."""

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from numpy.typing import NDArray

from walkstep.compiled import compiled, own_pointer
from walkstep.features.comparisons import Comparisons, compare
from walkstep.references import Reference

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MOST_SCORES = 1 << 22
_ROW = 8  # bits: a mention has 256 places


class PairLevels(NamedTuple):
    """Levels of the pairs looked at lately; a pair has one place, and the last one to come keeps it."""

    comparisons: Comparisons
    compare: Any  # the loop that compares, behind its address
    key: NDArray[np.int64]  # (S,) the pair that lies here, 0 where none does
    levels: NDArray[np.uint8]  # (S, C)
    shift: NDArray[np.uint64]  # (1,) what leaves as many bits as there are places
    n_compared: NDArray[np.int64]  # (1,) pairs that had to be compared
    scored: NDArray[np.int64]  # (R,) the pair whose score lies here, 0 where none does; empty where weights change
    score: NDArray[np.float64]  # (R,)


def pair_levels(comparisons: Comparisons, n_places: int = 1 << 20) -> PairLevels:
    """A memory for the levels of about ``n_places`` pairs."""
    bits = max(4, int(n_places - 1).bit_length())
    signature = types.void(Reference(typeof(comparisons)), types.int64, types.int64, types.uint8[::1])
    return PairLevels(
        comparisons,
        own_pointer(compare, signature),
        np.zeros(1 << bits, np.int64),
        np.zeros((1 << bits, len(comparisons.n_levels)), np.uint8),
        np.array([64 - bits], np.uint64),
        np.zeros(1, np.int64),
        np.zeros(0, np.int64),
        np.zeros(0),
    )


def with_scores(pairs: PairLevels, n_mentions: int) -> PairLevels:
    """The same memory, with room for the scores of pairs: for walks whose weights are held.

    Each mention has a row of its own, so that what one move asks for lies close together.
    """
    n = 1 << max(4, int(min(n_mentions << _ROW, _MOST_SCORES) - 1).bit_length())
    return pairs._replace(scored=np.zeros(n, np.int64), score=np.zeros(n))


@compiled(inline=True)
def look(pairs, i, j):
    """The row of ``levels`` that holds a pair, compared now if it is not there; good until the next look."""
    low, high = np.int64(min(i, j)), np.int64(max(i, j))
    key = (low << np.int64(32)) | high  # high is at least 1, so no pair has the key 0
    place = np.int64((np.uint64(key) * _GOLDEN) >> pairs.shift[0])
    if pairs.key[place] != key:
        pairs.compare(pairs.comparisons, low, high, pairs.levels[place])
        pairs.key[place] = key
        pairs.n_compared[0] += 1
    return place


@compiled(inline=True)
def place_of_score(pairs, m, i):
    """Where the score of a pair would lie in the row of mention ``m``, and its key."""
    key = (np.int64(m) << np.int64(32)) | (np.int64(i) + 1)
    slot = np.int64((np.uint64(i) * _GOLDEN) >> np.uint64(64 - _ROW))
    return ((np.int64(m) << np.int64(_ROW)) + slot) & np.int64(len(pairs.scored) - 1), key
