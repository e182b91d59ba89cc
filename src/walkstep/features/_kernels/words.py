"""Loops over the characters of distinct words."""

import numpy as np

from walkstep.compiled import compiled
from walkstep.features._kernels.hashing import SEED, finish, step


@compiled
def summarise_classes(classes, ptr):
    """Each word's character classes: any of them, all of them, those of the first character."""
    n_words = ptr.size - 1
    any_of = np.zeros(n_words, np.uint8)
    all_of = np.zeros(n_words, np.uint8)
    first_of = np.zeros(n_words, np.uint8)
    for w in range(n_words):
        if ptr[w] == ptr[w + 1]:
            continue
        some = np.uint8(0)
        every = np.uint8(255)
        for k in range(ptr[w], ptr[w + 1]):
            some |= classes[k]
            every &= classes[k]
        any_of[w] = some
        all_of[w] = every
        first_of[w] = classes[ptr[w]]
    return any_of, all_of, first_of


@compiled
def collapse_runs(codes, ptr):
    """The same texts with every run of one character cut down to one."""
    out = np.empty_like(codes)
    out_ptr = np.zeros_like(ptr)
    at = 0
    for w in range(ptr.size - 1):
        for k in range(ptr[w], ptr[w + 1]):
            if k == ptr[w] or codes[k] != codes[k - 1]:
                out[at] = codes[k]
                at += 1
        out_ptr[w + 1] = at
    return out[:at].copy(), out_ptr


@compiled
def hash_ngrams(codes, ptr, longest):
    """Keys of the substrings of 2 to ``longest`` characters of each ``<word>``."""
    n_words = ptr.size - 1
    out_ptr = np.zeros(n_words + 1, np.int64)
    for w in range(n_words):
        marked = ptr[w + 1] - ptr[w] + 2
        count = 0
        for n in range(2, min(longest, marked) + 1):
            count += marked - n + 1
        out_ptr[w + 1] = out_ptr[w] + count
    keys = np.empty(out_ptr[n_words], np.uint64)
    at = 0
    for w in range(n_words):
        length = ptr[w + 1] - ptr[w]
        for begin in range(length + 1):
            state = SEED
            for n in range(1, min(longest, length + 2 - begin) + 1):
                k = begin + n - 2  # the character within the word; -1 and length are the marks
                if k < 0:
                    code = np.uint32(60)
                elif k == length:
                    code = np.uint32(62)
                else:
                    code = codes[ptr[w] + k]
                state = step(state, code)
                if n >= 2:
                    keys[at] = finish(state)
                    at += 1
    return out_ptr, keys


@compiled
def distinct_in_rows(ptr, symbol, n_symbols):
    """The same rows, each symbol at most once in each, in order of first sight."""
    seen_in = np.full(n_symbols, -1, np.int64)
    out = np.empty_like(symbol)
    out_ptr = np.zeros_like(ptr)
    at = 0
    for r in range(ptr.size - 1):
        for k in range(ptr[r], ptr[r + 1]):
            if seen_in[symbol[k]] != r:
                seen_in[symbol[k]] = r
                out[at] = symbol[k]
                at += 1
        out_ptr[r + 1] = at
    return out_ptr, out[:at].copy()
