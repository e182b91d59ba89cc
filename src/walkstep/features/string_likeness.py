"""How alike two strings are, or two sets of words, inside loops that may not allocate.

Strings are arrays of code points. Tables live on the stack, so that walks on several threads share nothing.
"""

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from walkstep.compiled import compiled

MOST_LETTERS = 16384
"""Longer texts are cut to this; the bit sets on the stack are sized by it."""

_ASCII = 128
_WORD = 64
_WORDS = MOST_LETTERS // _WORD
_ZERO, _ONE, _ALL = np.uint64(0), np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)


def _stack_words(typing_context):  # pragma: no cover - runs inside the compiler
    """Pointer to 256 uninitialised 64-bit words, gone when the loop around it returns."""

    def generate(context, builder, signature, arguments):
        return cgutils.alloca_once(builder, context.get_value_type(types.uint64), size=_WORDS)

    return types.CPointer(types.uint64)(), generate


_words_on_stack: Any = intrinsic(_stack_words)


@compiled(inline=True)
def _fill_masks(a, first, last, masks):
    """Note at which of the letters ``a[first:last]``, at most 64, each letter stands; returns how many are not ASCII.

    ``masks`` holds one word per ASCII letter, then the other letters that occur, then one word for each of these.
    """
    for c in range(_ASCII):
        masks[c] = _ZERO
    n_others = 0
    bit = _ONE
    for k in range(first, last):
        c = a[k]
        if c < _ASCII:
            masks[c] |= bit
        else:
            at = 0
            while at < n_others and masks[_ASCII + at] != np.uint64(c):
                at += 1
            if at == n_others:
                masks[_ASCII + at] = np.uint64(c)
                masks[_ASCII + _WORD + at] = _ZERO
                n_others += 1
            masks[_ASCII + _WORD + at] |= bit
        bit <<= _ONE
    return n_others


@compiled(inline=True)
def _mask_of(masks, n_others, c):
    """Where the letter stands, as bits."""
    if c < _ASCII:
        return masks[c]
    for at in range(n_others):
        if masks[_ASCII + at] == np.uint64(c):
            return masks[_ASCII + _WORD + at]
    return _ZERO


@compiled(part=True, allocates=False)
def edit_distance(a, b, limit):
    """Levenshtein distance of two strings, or ``limit + 1`` once it must be more than ``limit``.

    Myers' bit-parallel columns in Hyyrö's form: 64 letters of one string against all of the other at a time.
    """
    m, n = len(a), len(b)
    if abs(m - n) > limit:
        return limit + 1
    if m > n:  # the shorter one down the side needs fewer blocks
        a, b = b, a
        m, n = n, m
    start = 0
    while start < m and a[start] == b[start]:
        start += 1
    while m > start and a[m - 1] == b[n - 1]:
        m -= 1
        n -= 1
    if m == start:
        return n - start
    masks = _words_on_stack()
    # The differences between neighbours along a block's lower edge: +1 and -1, a bit for each letter of b.
    rises, falls = _words_on_stack(), _words_on_stack()
    n_words = (n - start + 63) >> 6
    for w in range(n_words):
        rises[w] = _ALL
        falls[w] = _ZERO
    score = 0
    for block in range(start, m, _WORD):
        block_end = min(block + _WORD, m)
        n_others = _fill_masks(a, block, block_end, masks)
        lowest = np.uint64(block_end - block - 1)
        up, down = _ALL, _ZERO  # vertical differences
        score = block_end - start
        below = m - block_end
        best = score + abs(below - (n - start))
        for w in range(n_words):
            rise_in, fall_in = rises[w], falls[w]
            rise_out, fall_out = _ZERO, _ZERO
            place = _ZERO
            for j in range(start + w * _WORD, min(start + (w + 1) * _WORD, n)):
                rise, fall = rise_in & _ONE, fall_in & _ONE
                rise_in >>= _ONE
                fall_in >>= _ONE
                same = _mask_of(masks, n_others, b[j])
                across = same | down
                same |= fall
                diagonal = (((same & up) + up) ^ up) | same
                plus = down | ~(diagonal | up)
                minus = up & diagonal
                rises_here, falls_here = (plus >> lowest) & _ONE, (minus >> lowest) & _ONE
                rise_out |= rises_here << place
                fall_out |= falls_here << place
                place += _ONE
                score += np.int64(rises_here) - np.int64(falls_here)
                plus = (plus << _ONE) | rise
                minus = (minus << _ONE) | fall
                up = minus | ~(across | plus)
                down = plus & across
                left = n - j - 1
                best = min(best, score + abs(below - left))
                if below == 0 and score - left > limit:
                    return limit + 1
            rises[w] = rise_out
            falls[w] = fall_out
        # Every way down crosses this edge somewhere.
        if best > limit:
            return limit + 1
    return min(score, limit + 1)


@compiled(part=True, allocates=False)
def edit_likeness(a, b, lowest):
    """One minus distance over the longer length, or -1 where that is below ``lowest``."""
    longer = max(len(a), len(b))
    limit = longer if lowest <= 0.0 else np.int64((1.0 - lowest) * longer + 1e-9)
    distance = edit_distance(a, b, limit)
    return -1.0 if distance > limit else 1.0 - distance / longer


@compiled(inline=True)
def _jaro(a, b):
    """Jaro likeness; letters match within half the longer length."""
    if len(a) > len(b):
        a, b = b, a
    m, n = len(a), len(b)
    reach = max(max(m, n) // 2 - 1, 0)
    of_a, of_b = _words_on_stack(), _words_on_stack()  # which letters are matched, as bits
    for w in range((m + 63) >> 6):
        of_a[w] = _ZERO
    for w in range((n + 63) >> 6):
        of_b[w] = _ZERO
    n_matches = 0
    if m <= _WORD:
        masks = _words_on_stack()
        n_others = _fill_masks(a, 0, m, masks)
        free = _ALL
        for j in range(n):
            low, high = j - reach, j + reach + 1
            if low >= m:
                break
            near = _mask_of(masks, n_others, b[j]) & free
            if low > 0:
                near &= _ALL << np.uint64(low)
            if high < _WORD:
                near &= ~(_ALL << np.uint64(high))
            if near != _ZERO:
                free &= ~(near & (~near + _ONE))  # the first of them is taken
                of_b[j >> 6] |= _ONE << np.uint64(j & 63)
                n_matches += 1
        of_a[0] = ~free
    else:
        for j in range(n):
            for i in range(max(j - reach, 0), min(j + reach + 1, m)):
                bit = _ONE << np.uint64(i & 63)
                if a[i] == b[j] and of_a[i >> 6] & bit == _ZERO:
                    of_a[i >> 6] |= bit
                    of_b[j >> 6] |= _ONE << np.uint64(j & 63)
                    n_matches += 1
                    break
    if n_matches == 0:
        return 0.0
    n_moved = 0
    i = 0
    for j in range(n):
        if of_b[j >> 6] & (_ONE << np.uint64(j & 63)) != _ZERO:
            while of_a[i >> 6] & (_ONE << np.uint64(i & 63)) == _ZERO:
                i += 1
            n_moved += a[i] != b[j]
            i += 1
    return (n_matches / m + n_matches / n + (n_matches - n_moved // 2) / n_matches) / 3.0


@compiled(part=True, allocates=False)
def jaro_winkler_likeness(a, b):
    """Jaro likeness, raised for up to four first letters in common where it is above 0.7."""
    jaro = _jaro(a, b)
    if jaro < 0.7 - 1e-12:  # 0.7 itself, however rounded, counts as above
        return jaro
    n_first = 0
    while n_first < min(4, len(a), len(b)) and a[n_first] == b[n_first]:
        n_first += 1
    return jaro + 0.1 * n_first * (1.0 - jaro)


@compiled(inline=True)
def n_common(a, b):
    """How many items two rising arrays have in common."""
    i = j = n = 0
    while i < len(a) and j < len(b):
        x, y = a[i], b[j]
        n += x == y
        i += x <= y
        j += y <= x
    return n


@compiled(inline=True)
def common_weight(a, b, weight_of_item):
    """The weights of the items that two rising arrays have in common, added up."""
    i = j = 0
    total = 0.0
    while i < len(a) and j < len(b):
        x, y = a[i], b[j]
        if x == y:
            total += weight_of_item[x]
        i += x <= y
        j += y <= x
    return total


@compiled(inline=True)
def _spells(whole, a, n_words):
    """Whether a single word, its letters from the third item on, spells the initials at the start of ``a``."""
    if whole[0] != 1 or len(whole) != 3 + n_words or n_words < 2:
        return False
    for k in range(n_words):
        if whole[3 + k] != a[1 + k]:
            return False
    return True


@compiled(part=True, allocates=False)
def initials_likeness(a, b):
    """1 where one is the acronym of the other, else how many initials they share (Dice), whatever their order.

    A value is its number of words, their initials in order, the same initials rising, and the letters of a single
    word.
    """
    m, n = np.int64(a[0]), np.int64(b[0])
    if _spells(a, b, n) or _spells(b, a, m):
        return 1.0
    i = j = common = 0
    while i < m and j < n:
        x, y = a[1 + m + i], b[1 + n + j]
        common += x == y
        i += x <= y
        j += y <= x
    return 2.0 * common / (m + n)
