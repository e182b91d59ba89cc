"""Sorts for compiled loops: to compile a call of NumPy's takes Numba a second or more, in every loop anew."""

from walkstep.compiled import compiled

_FEW = 40  # numbers that are sorted sooner one by one than in a heap
RUN = 64  # pairs that are sorted sooner one by one than by merging


@compiled(inline=True)
def _sift(values, first, n, k):
    """Let the k-th of ``n`` values sink to its place in the heap that those after it make."""
    value = values[first + k]
    while 2 * k + 1 < n:
        child = 2 * k + 1
        if child + 1 < n and values[first + child + 1] > values[first + child]:
            child += 1
        if values[first + child] <= value:
            break
        values[first + k] = values[first + child]
        k = child
    values[first + k] = value


@compiled(part=True, allocates=False)
def sort_stretch(values, first, last):
    """Sort ``values[first:last]`` in place."""
    n = last - first
    if n <= _FEW:
        for k in range(first + 1, last):
            value, at = values[k], k
            while at > first and values[at - 1] > value:
                values[at] = values[at - 1]
                at -= 1
            values[at] = value
        return
    for k in range(n // 2 - 1, -1, -1):
        _sift(values, first, n, k)
    for end in range(n - 1, 0, -1):
        values[first], values[first + end] = values[first + end], values[first]
        _sift(values, first, end, 0)


@compiled(part=True, allocates=False)
def sort_few_pairs(records, keys, first, last):
    """Sort a stretch of pairs by key in place, equal keys in the order they came."""
    for k in range(first + 1, last):
        r, x, at = records[k], keys[k], k
        while at > first and keys[at - 1] > x:
            records[at], keys[at] = records[at - 1], keys[at - 1]
            at -= 1
        records[at], keys[at] = r, x


@compiled(part=True, allocates=False)
def sort_many_pairs(records, keys, first, last, spare_records, spare_keys):
    """The same for many pairs, with room for as many to spare: runs are sorted one by one, then merged two by two."""
    for start in range(first, last, RUN):
        sort_few_pairs(records, keys, start, min(start + RUN, last))
    width = RUN
    while width < last - first:
        for start in range(first, last - width, 2 * width):
            middle, end = start + width, min(start + 2 * width, last)
            if keys[middle - 1] <= keys[middle]:
                continue
            for k in range(width):
                spare_records[k], spare_keys[k] = records[start + k], keys[start + k]
            i, j, at = 0, middle, start
            while i < width:
                if j < end and keys[j] < spare_keys[i]:
                    records[at], keys[at] = records[j], keys[j]
                    j += 1
                else:
                    records[at], keys[at] = spare_records[i], spare_keys[i]
                    i += 1
                at += 1
        width *= 2
