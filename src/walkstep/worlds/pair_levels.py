"""Comparator levels of pairs, remembered: a table of fixed size that forgets, never one of all pairs."""

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from numpy.typing import NDArray

from walkstep.compiled import compiled, own_pointer
from walkstep.features.comparisons import Comparisons, compare
from walkstep.references import Reference

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class PairLevels(NamedTuple):
    """Levels of the pairs looked at lately; a pair has one place, and the last one to come keeps it."""

    comparisons: Comparisons
    compare: Any  # the loop that compares, behind its address
    key: NDArray[np.int64]  # (S,) the pair that lies here, 0 where none does
    levels: NDArray[np.uint8]  # (S, C)
    shift: NDArray[np.uint64]  # (1,) what leaves as many bits as there are places
    n_compared: NDArray[np.int64]  # (1,) pairs that had to be compared


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
    )


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
