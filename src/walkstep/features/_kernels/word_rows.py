"""Texts taken apart into words: their keys, and rows of distinct rising numbers."""

import numpy as np

from walkstep.compiled import compiled
from walkstep.features._kernels.hashing import SEED, finish, step
from walkstep.features._kernels.sorting import sort_stretch

_SPACE = 32


@compiled
def word_keys(codes, ptr, texts):
    """The key of each word of the texts asked for, and where each text's begin."""
    n_words = 0
    for t in texts:
        for k in range(ptr[t], ptr[t + 1]):
            n_words += codes[k] == _SPACE
        n_words += ptr[t + 1] > ptr[t]
    keys = np.empty(n_words, np.uint64)
    word_ptr = np.zeros(texts.size + 1, np.int64)
    at = 0
    for r in range(texts.size):
        t = texts[r]
        state = SEED
        for k in range(ptr[t], ptr[t + 1]):
            if codes[k] == _SPACE:
                keys[at] = finish(state)
                at += 1
                state = SEED
            else:
                state = step(state, codes[k])
        if ptr[t + 1] > ptr[t]:
            keys[at] = finish(state)
            at += 1
        word_ptr[r + 1] = at
    return keys, word_ptr


@compiled
def rising_rows(numbers, ptr):
    """Each row sorted, duplicates and negative numbers left out."""
    kept = np.empty_like(numbers)
    kept_ptr = np.zeros_like(ptr)
    at = 0
    for r in range(ptr.size - 1):
        first, last = at, at
        for k in range(ptr[r], ptr[r + 1]):
            if numbers[k] >= 0:
                kept[last] = numbers[k]
                last += 1
        sort_stretch(kept, first, last)
        for k in range(first, last):
            if at == first or kept[at - 1] != kept[k]:
                kept[at] = kept[k]
                at += 1
        kept_ptr[r + 1] = at
    return kept[:at].copy(), kept_ptr


@compiled
def initials_rows(codes, ptr, texts):
    """For each text: how many words, their initials, the same rising, and the letters where it is a single word."""
    length = 0
    for t in texts:
        length += 3 * (ptr[t + 1] - ptr[t]) + 3
    items = np.empty(length, np.int32)
    row_ptr = np.zeros(texts.size + 1, np.int64)
    at = 0
    for r in range(texts.size):
        t = texts[r]
        first = at
        at += 1
        for k in range(ptr[t], ptr[t + 1]):
            if k == ptr[t] or codes[k - 1] == _SPACE:
                items[at] = codes[k]
                at += 1
        n_words = at - first - 1
        items[first] = n_words
        for k in range(n_words):
            items[at + k] = items[first + 1 + k]
        sort_stretch(items, at, at + n_words)
        at += n_words
        if n_words == 1:
            for k in range(ptr[t], ptr[t + 1]):
                items[at] = codes[k]
                at += 1
        row_ptr[r + 1] = at
    return items[:at].copy(), row_ptr
