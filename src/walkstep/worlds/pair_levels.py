"""Comparator levels of pairs, remembered: tables of fixed size that forget, never one of all pairs.

Many pairs have the same levels. So each combination is kept once, as a pattern, and what a walk asks for again
and again is small: every mention has a row of those it was compared with, and the number of their pattern.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.compiled import compiled
from walkstep.features.comparisons import Comparisons, comparing

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MOST_ENTRIES = 1 << 23  # in the rows of all mentions together: 64 MiB
_MOST_PATTERNS = 1 << 19
_SHORTEST_ROW, _LONGEST_ROW = 16, 2048


class PairLevels(NamedTuple):
    """Levels of the pairs looked at lately; a pair has one place, and the last one to come keeps it.

    The first P rows of ``levels`` are patterns, as they come up; the rest are places for pairs.
    """

    comparisons: Comparisons
    compare: Any  # the loop that compares, behind its address
    key: NDArray[np.int64]  # (S,) the pair that lies here, 0 where none does
    levels: NDArray[np.uint8]  # (P + S, C)
    shift: NDArray[np.uint64]  # (1,) what leaves as many bits as there are places
    n_compared: NDArray[np.int64]  # (1,) pairs that had to be compared
    n_patterns: NDArray[np.int64]  # (1,)
    pattern_at: NDArray[np.int32]  # (2P,) patterns by the hash of their levels, one more than their number
    order: NDArray[np.int32]  # (M,) neighbours in it lie side by side in rows
    rows: NDArray[np.int64]  # (M, W) other mention + 1, shifted by 32 bits, and the pattern; W is 0 for no rows
    score: NDArray[np.float64]  # (P,) of each pattern, 0 where it is not known; empty where weights change
    likeness: NDArray[np.float64]  # (P,) the same by what guides jumps


def pair_levels(
    comparisons: Comparisons,
    n_places: int = 1 << 20,
    order: NDArray[np.int32] | None = None,
    n_partners: float = 0.0,
) -> PairLevels:
    """A memory for the levels of about ``n_places`` pairs.

    With an ``order`` of the mentions, each has a row for about ``n_partners`` others, for fewer where there are many
    mentions, and for none where there are too many; those that meet often should stand side by side in it, so that
    they do so in the rows.
    """
    bits = max(4, int(n_places - 1).bit_length())
    n_mentions = 0 if order is None else len(order)
    width = 1 << int(np.clip(1.25 * n_partners, _SHORTEST_ROW, _LONGEST_ROW) - 1).bit_length()
    while width > _SHORTEST_ROW and n_mentions * width > _MOST_ENTRIES:
        width //= 2
    if n_mentions * width > _MOST_ENTRIES:
        n_mentions = 0
    n_patterns = min(_MOST_PATTERNS, 1 << bits) if n_mentions else 1
    return PairLevels(
        comparisons,
        comparing(comparisons),
        np.zeros(1 << bits, np.int64),
        np.zeros((n_patterns + (1 << bits), len(comparisons.n_levels)), np.uint8),
        np.array([64 - bits], np.uint64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.zeros(2 * n_patterns, np.int32),
        np.zeros(0, np.int32) if order is None else order[:n_mentions],
        np.zeros((n_mentions, width if n_mentions else 0), np.int64),
        np.zeros(0),
        np.zeros(0),
    )


def with_scores(pairs: PairLevels) -> PairLevels:
    """The same memory, with room for the scores of patterns: for walks whose weights are held."""
    n_patterns = len(pairs.pattern_at) // 2
    return pairs._replace(score=np.zeros(n_patterns), likeness=np.zeros(n_patterns))


def own_memory(pairs: PairLevels) -> PairLevels:
    """A copy that remembers the same; of what is remembered nothing is shared."""
    is_empty = pairs.n_compared[0] == 0

    def copied(part: Any) -> Any:
        if not isinstance(part, np.ndarray) or not part.flags.writeable:
            return part
        # Zeros that the system hands out when they are first touched, in place of millions that are copied.
        return np.zeros(part.shape, part.dtype) if is_empty else part.copy()

    return PairLevels(*map(copied, pairs))._replace(
        shift=pairs.shift.copy(), order=pairs.order, score=pairs.score.copy(), likeness=pairs.likeness.copy()
    )


@compiled(inline=True)
def look(pairs, m, i):
    """The row of ``levels`` that tells of a pair, compared now if it is not known; good until the next look.

    It is remembered with ``m``: the mention that moves.
    """
    width = pairs.rows.shape[1]
    if width > 0:
        slot = np.int64(pairs.order[i]) & (width - 1)
        wanted = np.int64(i) + 1
        entry = pairs.rows[m, slot]
        if entry >> np.int64(32) == wanted:
            return entry & np.int64(0xFFFFFFFF)
        entry = pairs.rows[m, slot ^ 1]
        if entry >> np.int64(32) == wanted:
            return entry & np.int64(0xFFFFFFFF)
    return _look_further(pairs, np.int64(m), np.int64(i))


@compiled(part=True, allocates=False)
def _look_further(pairs, m, i):
    """The same, for a pair that its row does not hold: it will now, unless there are too many patterns."""
    low, high = min(i, m), max(i, m)
    key = (low << np.int64(32)) | high  # high is at least 1, so no pair has the key 0
    n_most = len(pairs.pattern_at) // 2
    place = np.int64((np.uint64(key) * _GOLDEN) >> pairs.shift[0])
    at = n_most + place
    if pairs.key[place] != key:
        pairs.compare(pairs.comparisons, low, high, pairs.levels[at])
        pairs.key[place] = key
        pairs.n_compared[0] += 1
    width = pairs.rows.shape[1]
    if width == 0:
        return at
    pattern = _pattern(pairs, at)
    if pattern < 0:
        return at
    slot = np.int64(pairs.order[i]) & (width - 1)
    if pairs.rows[m, slot] != 0:  # a pair of slots: who came last stands in front, and the one behind is forgotten
        pairs.rows[m, slot ^ 1] = pairs.rows[m, slot]
    pairs.rows[m, slot] = ((i + 1) << np.int64(32)) | pattern
    return pattern


@compiled(inline=True)
def _pattern(pairs, at):
    """The pattern equal to a row of ``levels``, a new one if need be; -1 where there is no room for it."""
    n_comparators = pairs.levels.shape[1]
    mixed = np.uint64(0)
    for c in range(n_comparators):
        mixed = (mixed ^ np.uint64(pairs.levels[at, c])) * _GOLDEN
        mixed ^= mixed >> np.uint64(29)
    last = len(pairs.pattern_at) - 1
    bucket = np.int64(mixed >> np.uint64(32)) & last
    while pairs.pattern_at[bucket] > 0:
        pattern = np.int64(pairs.pattern_at[bucket]) - 1
        is_same = True
        for c in range(n_comparators):
            is_same &= pairs.levels[pattern, c] == pairs.levels[at, c]
        if is_same:
            return pattern
        bucket = (bucket + 1) & last
    pattern = pairs.n_patterns[0]
    if 2 * pattern >= len(pairs.pattern_at):
        return np.int64(-1)
    for c in range(n_comparators):
        pairs.levels[pattern, c] = pairs.levels[at, c]
    pairs.pattern_at[bucket] = pattern + 1
    pairs.n_patterns[0] = pattern + 1
    return pattern
