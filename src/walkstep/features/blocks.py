"""Blocks as arrays, made from keys: the records of one key are a block, and equal blocks are one."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.compiled import compiled
from walkstep.features._kernels.hashing import SEED, distinct_keys, finish, step
from walkstep.features._kernels.sorting import RUN, sort_few_pairs, sort_many_pairs


class Blocks(NamedTuple):
    """B distinct blocks of at least two of N records; members of a block and blocks of a record are rising.

    Block ``b`` holds ``block_members[block_ptr[b]:block_ptr[b + 1]]``; record ``i`` lies in
    ``record_blocks[record_ptr[i]:record_ptr[i + 1]]``.
    """

    block_ptr: NDArray[np.int64]  # (B + 1,)
    block_members: NDArray[np.int32]
    record_ptr: NDArray[np.int64]  # (N + 1,)
    record_blocks: NDArray[np.int32]


class PlacedKeys(NamedTuple):
    """Pairs of a record and a key, rising by key, then by record; and the block that holds all records of the key."""

    record: NDArray[np.int32]
    key: NDArray[np.uint64]
    block: NDArray[np.int32]  # -1 where a record is alone with its key


NO_BLOCKS = Blocks(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.int32))
NO_KEYS = PlacedKeys(np.zeros(0, np.int32), np.zeros(0, np.uint64), np.zeros(0, np.int32))


@compiled
def sort_by_key(record, key):
    """Pairs by rising key, equal keys in the order they came.

    Keys are hashes, so their first bits spread them evenly over buckets of a few pairs; only what shares a bucket
    with a large block needs a sort proper.
    """
    n_bits = 1
    while n_bits < 24 and (8 << n_bits) < key.size:
        n_bits += 1
    shift = np.uint64(64 - n_bits)
    place = np.zeros((1 << n_bits) + 1, np.int64)
    for k in range(key.size):
        place[np.int64(key[k] >> shift) + 1] += 1
    for b in range(place.size - 1):
        place[b + 1] += place[b]
    start = place.copy()
    records, keys = np.empty_like(record), np.empty_like(key)
    for k in range(key.size):
        b = np.int64(key[k] >> shift)
        records[place[b]], keys[place[b]] = record[k], key[k]
        place[b] += 1
    for b in range(start.size - 1):
        first, last = start[b], start[b + 1]
        if last - first > RUN:
            spare = np.empty(last - first, record.dtype), np.empty(last - first, key.dtype)
            sort_many_pairs(records, keys, first, last, spare[0], spare[1])
        else:
            sort_few_pairs(records, keys, first, last)
    return records, keys


@compiled
def merge(old, new):
    """Both, rising by key, where the new records of a key follow its old ones."""
    n = old.key.size + new.key.size
    record, key, block = np.empty(n, np.int32), np.empty(n, np.uint64), np.empty(n, np.int32)
    i = 0
    for j in range(new.key.size + 1):
        while i < old.key.size and (j == new.key.size or old.key[i] <= new.key[j]):
            record[i + j], key[i + j], block[i + j] = old.record[i], old.key[i], old.block[i]
            i += 1
        if j < new.key.size:
            record[i + j], key[i + j], block[i + j] = new.record[j], new.key[j], new.block[j]
    return record, key, block


@compiled(inline=True)
def _end_of_key(key, k):
    """Where the pairs that have the key of pair ``k`` end."""
    end = k + 1
    while end < key.size and key[end] == key[k]:
        end += 1
    return end


@compiled(inline=True)
def _first_with(key, wanted):
    """The first pair with this key, or where it would stand."""
    low, high = 0, key.size
    while low < high:
        middle = (low + high) // 2
        if key[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def grow(blocks, old, record, key, n_records):
    """Old blocks with further records in them, and new blocks after them.

    A key's records go into the block that holds just its old ones, if there is one. Two keys with the same old
    records have one block; it grows by the first that comes with new ones, and the other gets a block of its own
    when it comes with different ones.

    Returns
    -------
    block_ptr, block_members, record_ptr, record_blocks : arrays
        The blocks.
    old_block, new_block : int32 arrays
        The block of each old pair and of each new one.
    """
    n_old_blocks = blocks.block_ptr.size - 1
    old_block = old.block.copy()
    new_block = np.full(record.size, -1, np.int32)
    grown_from = np.full(n_old_blocks, -1, np.int64)  # the new pairs by which each block grows
    grown_to = np.full(n_old_blocks, -1, np.int64)
    n_groups = 0
    k = 0
    while k < key.size:
        end = _end_of_key(key, k)
        n_groups += end - k > 1 or old.key.size > 0
        k = end
    # Groups that become new blocks: their old and new pairs, and a key made of their records.
    low, high = np.empty(n_groups, np.int64), np.empty(n_groups, np.int64)
    start, stop = np.empty(n_groups, np.int64), np.empty(n_groups, np.int64)
    content = np.empty(n_groups, np.uint64)
    n_groups = 0
    k = 0
    while k < key.size:
        end = _end_of_key(key, k)
        first = _first_with(old.key, key[k])
        last = first
        if first < old.key.size and old.key[first] == key[k]:
            last = _end_of_key(old.key, first)
        b = old_block[first] if last > first else -1
        is_own = b >= 0 and blocks.block_ptr[b + 1] - blocks.block_ptr[b] == last - first
        if is_own and grown_from[b] >= 0:
            other = grown_from[b]
            is_own = grown_to[b] - other == end - k
            for m in range(end - k):
                is_own = is_own and record[other + m] == record[k + m]
        if is_own:
            if grown_from[b] < 0:
                grown_from[b], grown_to[b] = k, end
            for m in range(k, end):
                new_block[m] = b
        elif last - first + end - k > 1:
            state = SEED
            for m in range(first, last):
                state = step(state, np.uint64(old.record[m]))
            for m in range(k, end):
                state = step(state, np.uint64(record[m]))
            low[n_groups], high[n_groups], start[n_groups], stop[n_groups] = first, last, k, end
            content[n_groups] = finish(state)
            n_groups += 1
        k = end
    number, kept = distinct_keys(content[:n_groups])
    for g in range(n_groups):
        for m in range(low[g], high[g]):
            old_block[m] = n_old_blocks + number[g]
        for m in range(start[g], stop[g]):
            new_block[m] = n_old_blocks + number[g]
    # The members of every block, and how many blocks each record is in.
    block_ptr = np.zeros(n_old_blocks + kept.size + 1, np.int64)
    for b in range(n_old_blocks):
        n_members = blocks.block_ptr[b + 1] - blocks.block_ptr[b] + grown_to[b] - grown_from[b]
        block_ptr[b + 1] = block_ptr[b] + n_members
    for n in range(kept.size):
        g = kept[n]
        n_members = high[g] - low[g] + stop[g] - start[g]
        block_ptr[n_old_blocks + n + 1] = block_ptr[n_old_blocks + n] + n_members
    block_members = np.empty(block_ptr[-1], np.int32)
    record_ptr = np.zeros(n_records + 1, np.int64)
    n_old_records = blocks.record_ptr.size - 1
    for r in range(n_old_records):
        record_ptr[r + 1] = blocks.record_ptr[r + 1] - blocks.record_ptr[r]
    for b in range(block_ptr.size - 1):
        at = block_ptr[b]
        if b < n_old_blocks:
            for m in range(blocks.block_ptr[b], blocks.block_ptr[b + 1]):
                block_members[at] = blocks.block_members[m]
                at += 1
            first, last = grown_from[b], grown_to[b]
        else:
            g = kept[b - n_old_blocks]
            for m in range(low[g], high[g]):
                block_members[at] = old.record[m]
                record_ptr[old.record[m] + 1] += 1
                at += 1
            first, last = start[g], stop[g]
        for m in range(first, last):
            block_members[at] = record[m]
            record_ptr[record[m] + 1] += 1
            at += 1
    # The blocks of every record: the old ones, then those it has come into, in order of number. Until a record has
    # all of them, record_ptr holds where its next one goes instead of where its last one ends.
    n_entries = 0
    for r in range(n_records):
        n_blocks = record_ptr[r + 1]
        record_ptr[r + 1] = n_entries
        n_entries += n_blocks
    record_blocks = np.empty(n_entries, np.int32)
    for r in range(n_old_records):
        at = record_ptr[r + 1]
        for m in range(blocks.record_ptr[r], blocks.record_ptr[r + 1]):
            record_blocks[at] = blocks.record_blocks[m]
            at += 1
        record_ptr[r + 1] = at
    for b in range(block_ptr.size - 1):
        n_before = blocks.block_ptr[b + 1] - blocks.block_ptr[b] if b < n_old_blocks else 0
        for m in range(block_ptr[b] + n_before, block_ptr[b + 1]):
            r = block_members[m]
            record_blocks[record_ptr[r + 1]] = b
            record_ptr[r + 1] += 1
    return block_ptr, block_members, record_ptr, record_blocks, old_block, new_block
