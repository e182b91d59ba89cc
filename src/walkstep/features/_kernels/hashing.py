"""64-bit keys of texts, and open-addressing tables of such keys.

A table is one flat array: the key of slot ``s`` at ``2 * s``, its position plus one at ``2 * s + 1``,
0 there marking a free slot. Keys and positions side by side cost one cache miss instead of two.
"""

import numpy as np

from walkstep.compiled import compiled

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xFF51AFD7ED558CCD)
_SECOND = np.uint64(0xC4CEB9FE1A85EC53)
_HALF = np.uint64(32)
_THIRD = np.uint64(29)
_ONE = np.uint64(1)
_BLOCK = 64
_FEED = 10
SEED = np.uint64(0x2545F4914F6CDD1D)


@compiled(inline=True)
def step(state, code):
    """The state after one more character."""
    state = (state ^ np.uint64(code)) * _STEP
    return state ^ (state >> _THIRD)


@compiled(inline=True)
def finish(state):
    """All bits of the state stirred into all bits; no two states give the same."""
    state = (state ^ (state >> _HALF)) * _FIRST
    state = (state ^ (state >> _HALF)) * _SECOND
    return state ^ (state >> _HALF)


@compiled(inline=True)
def mix(key, other):
    """One key for an ordered pair; for a given first, distinct seconds give distinct keys."""
    return finish(key * _STEP ^ other)


@compiled
def hash_texts(codes, starts, ends, seed):
    """The key of each text ``codes[starts[t]:ends[t]]``."""
    keys = np.empty(starts.size, np.uint64)
    for t in range(starts.size):
        state = seed
        for k in range(starts[t], ends[t]):
            state = step(state, codes[k])
        keys[t] = finish(state)
    return keys


@compiled
def hash_lines(codes, n_lines):
    """The key of each of the lines that make up a text, and whether there are as many as expected."""
    keys = np.empty(n_lines, np.uint64)
    at = 0
    for line in range(n_lines):
        state = SEED
        while at < codes.size and codes[at] != _FEED:
            state = step(state, codes[at])
            at += 1
        keys[line] = finish(state)
        at += 1
    return keys, at == codes.size + 1


@compiled
def state_after(codes, seed):
    """The unfinished state after a text, to go on from with ``hash_texts``."""
    state = seed
    for code in codes:
        state = step(state, code)
    return state


@compiled
def mix_all(key, others):
    """``mix(key, other)`` for each other."""
    keys = np.empty(others.size, np.uint64)
    for k in range(others.size):
        keys[k] = mix(key, others[k])
    return keys


@compiled(inline=True)
def slot_of(table, mask, key):
    """The slot that holds the key, or the free one where it belongs."""
    slot = key & mask
    while table[(slot << _ONE) + _ONE] != 0 and table[slot << _ONE] != key:
        slot = (slot + _ONE) & mask
    return slot


@compiled
def fill_table(keys, table):
    """Enter distinct keys in an empty table; returns how many were there already, which should be none."""
    mask = np.uint64(table.size // 2 - 1)
    n_twice = 0
    for k in range(keys.size):
        slot = slot_of(table, mask, keys[k])
        n_twice += table[(slot << _ONE) + _ONE] != 0
        table[slot << _ONE] = keys[k]
        table[(slot << _ONE) + _ONE] = np.uint64(k + 1)
    return n_twice


def build_table(keys):
    """The table of distinct keys, at most three quarters full."""
    table = np.zeros(2 << max(4, (4 * len(keys) // 3).bit_length()), np.uint64)
    if fill_table(keys, table):
        raise ValueError("the vocabulary has a key twice; the saved model is damaged, save it again")
    return table


@compiled
def find_keys(table, keys):
    """The position of each key, -1 where the table has none."""
    found = np.empty(keys.size, np.int32)
    mask = np.uint64(table.size // 2 - 1)
    # By blocks: first slots are read together, without a branch between them, so that their cache misses overlap.
    held = np.empty(_BLOCK, np.uint64)
    place = np.empty(_BLOCK, np.uint64)
    for start in range(0, keys.size, _BLOCK):
        n = min(_BLOCK, keys.size - start)
        for k in range(n):
            slot = (keys[start + k] & mask) << _ONE
            held[k] = table[slot]
            place[k] = table[slot + _ONE]
        for k in range(n):
            key = keys[start + k]
            at = place[k]
            if at != 0 and held[k] != key:
                at = table[(slot_of(table, mask, key) << _ONE) + _ONE]
            found[start + k] = np.int64(at) - 1
    return found


@compiled
def distinct_keys(keys):
    """The number of each key in order of first sight, and where each distinct key was first seen."""
    number = np.empty(keys.size, np.int32)
    first = np.empty(keys.size, np.int64)
    n_found = 0
    n_slots = 1024
    table = np.zeros(2 * n_slots, np.uint64)
    mask = np.uint64(n_slots - 1)
    for k in range(keys.size):
        slot = slot_of(table, mask, keys[k])
        at = (slot << _ONE) + _ONE
        if table[at] != 0:
            number[k] = np.int64(table[at]) - 1
            continue
        table[slot << _ONE] = keys[k]
        table[at] = np.uint64(n_found + 1)
        number[k] = n_found
        first[n_found] = k
        n_found += 1
        if 2 * n_found > n_slots:
            n_slots *= 4
            table = np.zeros(2 * n_slots, np.uint64)
            mask = np.uint64(n_slots - 1)
            for f in range(n_found):
                slot = slot_of(table, mask, keys[first[f]])
                table[slot << _ONE] = keys[first[f]]
                table[(slot << _ONE) + _ONE] = np.uint64(f + 1)
    return number, first[:n_found].copy()
