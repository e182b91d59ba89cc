"""Pairs of records compared on encoded columns, inside compiled loops.

Comparators are data: each has a kind, the encodings it reads, and thresholds that turn its likeness into a level.
Level 0 says that a value is missing; level 1 is below every threshold, and each threshold reached adds one.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import Pointer, compiled, own_pointer
from walkstep.features.name_likeness import name_likeness
from walkstep.features.string_likeness import (
    common_weight,
    edit_likeness,
    initials_likeness,
    jaro_winkler_likeness,
    n_common,
)
from walkstep.references import LARGE, Reference, refer

EXACT = 0
MISSING = 1
CATEGORY_PAIR = 2
JACCARD = 3
CONTAINMENT = 4
COSINE = 5
EDIT = 6
JARO_WINKLER = 7
NAMES = 8
INITIALS = 9
VECTORS = 10
NUMBER = 11
DATES = 12
SIGNED_NUMBER = 13
USER = 14

SLIP = -0.5
"""Likeness of two dates that differ by a swap of day and month or by one digit: nearer than any other day."""

_ROUNDING = 1e-9


class Comparisons(NamedTuple):
    """Encoded columns, and the comparators that read them: C comparators, N records, E encodings, V values.

    An encoding gives each record a value: its number among the distinct ones of all encodings, -1 where missing.
    What a value is made of stands in ``items`` (letters, words, parts of names), ``number`` (a number, days,
    a category, where a vector begins, or one over the norm of weighted words) and ``vectors``. Arrays are read-only.
    """

    kind: NDArray[np.int8]  # (C,)
    encoding: NDArray[np.int32]  # (C,) which one it reads
    option: NDArray[np.int64]  # (C,) number of categories, length of vectors, or which of the functions
    thresholds: NDArray[np.float64]  # (C, T) rising, inf where there are fewer
    n_levels: NDArray[np.int32]  # (C,)
    value_of_record: NDArray[np.int32]  # (N, E), a record's values side by side
    ptr: NDArray[np.int64]  # (V + 1,) value v has items[ptr[v]:ptr[v + 1]]
    items: NDArray[np.int32]
    number: NDArray[np.float64]  # (V,)
    weight_of_word: NDArray[np.float64]  # its squared inverse document frequency
    vectors: NDArray[np.float32]  # of length one, end to end
    # Users' own, as pointers; Numba warns of tuples of them, not of fields.
    function_0: Any
    function_1: Any
    function_2: Any
    function_3: Any


@compiled(inline=True)
def _slipped(a, b):
    """Whether two dates, written as the number yyyymmdd, differ by a swap or by a single digit."""
    if a // 10000 == b // 10000 and (a // 100 % 100 == b % 100) and (b // 100 % 100 == a % 100):
        return True
    n_different = 0
    for _ in range(8):
        n_different += a % 10 != b % 10
        a //= 10
        b //= 10
    return n_different == 1


@compiled(inline=True)
def _ask_user(comparisons, which, a, b):
    """What the user's function makes of two texts."""
    if which == 0:
        return comparisons.function_0(a, b)
    if which == 1:
        return comparisons.function_1(a, b)
    if which == 2:
        return comparisons.function_2(a, b)
    return comparisons.function_3(a, b)


@compiled(inline=True)
def _likeness(comparisons, c, kind, a, b):
    """How alike two values are; higher is nearer."""
    number, ptr = comparisons.number, comparisons.ptr
    if kind == NUMBER:
        return -abs(number[a] - number[b])
    if kind == SIGNED_NUMBER:
        return number[b] - number[a]
    if kind == VECTORS:
        dot = np.float32(0.0)
        at, to = np.int64(number[a]), np.int64(number[b])
        for k in range(comparisons.option[c]):
            dot += comparisons.vectors[at + k] * comparisons.vectors[to + k]
        return np.float64(dot)
    of_a = comparisons.items[ptr[a] : ptr[a + 1]]
    of_b = comparisons.items[ptr[b] : ptr[b + 1]]
    if kind == USER:
        return _ask_user(comparisons, comparisons.option[c], of_a, of_b)
    if kind == NAMES:  # the same initial twice is worth less than the same full name twice
        return name_likeness(of_a, of_b)
    if a == b:
        return 0.0 if kind == DATES else 1.0
    if kind == JACCARD:
        n = n_common(of_a, of_b)
        return n / (len(of_a) + len(of_b) - n)
    if kind == CONTAINMENT:
        return n_common(of_a, of_b) / min(len(of_a), len(of_b))
    if kind == COSINE:
        return common_weight(of_a, of_b, comparisons.weight_of_word) * number[a] * number[b]
    if kind == EDIT:
        return edit_likeness(of_a, of_b, comparisons.thresholds[c, 0])
    if kind == JARO_WINKLER:
        return jaro_winkler_likeness(of_a, of_b)
    if kind == INITIALS:
        return initials_likeness(of_a, of_b)
    return SLIP if _slipped(of_a[0], of_b[0]) else -abs(number[a] - number[b])


@compiled(allocates=False)
def compare(comparisons, i, j, levels):
    """Write each comparator's level for records ``i`` and ``j``."""
    for c in range(len(comparisons.kind)):
        kind, e = comparisons.kind[c], comparisons.encoding[c]
        a, b = comparisons.value_of_record[i, e], comparisons.value_of_record[j, e]
        if kind == MISSING:
            levels[c] = 1 + (a < 0) + (b < 0)
        elif a < 0 or b < 0:
            levels[c] = 0
        elif kind == EXACT:
            levels[c] = 1 + (a == b)
        elif kind == CATEGORY_PAIR:
            levels[c] = 1 + np.int64(comparisons.number[a]) * comparisons.option[c] + np.int64(comparisons.number[b])
        else:
            likeness = _likeness(comparisons, c, kind, a, b) + _ROUNDING
            level = 1
            while level < comparisons.n_levels[c] - 1 and likeness >= comparisons.thresholds[c, level - 1]:
                level += 1
            levels[c] = level


LARGE.add(Comparisons)


def comparing(comparisons: Comparisons) -> Pointer:
    """`compare` behind its address: one for every loop, since it takes long to compile."""
    return own_pointer(compare, types.void(Reference(typeof(comparisons)), types.int64, types.int64, types.uint8[::1]))


@compiled(allocates=False)
def _compare_pairs(comparisons, compare, left, right, levels):
    here = refer(comparisons)
    for p in range(len(left)):
        compare(here, left[p], right[p], levels[p])


def compare_pairs(comparisons: Comparisons, left: ArrayLike, right: ArrayLike) -> NDArray[np.uint8]:
    """Levels of P given pairs of records, (P, C); for a look at some of them, never for all.

    Examples
    --------
    >>> import polars as pl
    >>> from walkstep.features.comparators import exact, number
    >>> from walkstep.features.encodings import encode
    >>> frame = pl.DataFrame({"doi": ["x", "X", None], "year": [1990, 1991, 1995]})
    >>> encoded = encode(frame, [exact("doi"), number("year", (-2, -1, 0))])
    >>> compare_pairs(encoded.comparisons, [0, 0], [1, 2])
    array([[2, 3],
           [0, 1]], dtype=uint8)
    """
    first, second = np.asarray(left, np.int64), np.asarray(right, np.int64)
    levels = np.zeros((len(first), len(comparisons.kind)), np.uint8)
    _compare_pairs(comparisons, comparing(comparisons), first, second, levels)
    return levels
