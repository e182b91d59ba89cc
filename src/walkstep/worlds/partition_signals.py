"""Signals of partitions: pairwise accuracy, pairwise F1 and B-cubed, asked only for what a move does to them.

Mentions of unknown truth neither gain nor lose.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled
from walkstep.worlds.clusters import member
from walkstep.worlds.transfers import mover, n_staying

PAIR_ACCURACY, PAIR_F1, B_CUBED, PAIR_LABELS = range(4)


class PartitionSignal(NamedTuple):
    """A metric of partitions. One class for all of them, so that one compiled loop serves them all."""

    kind: int
    scale: float
    counts: NDArray[np.float64]  # (3,) what the document entered holds, as the kind counts it
    true_size: NDArray[np.int32]  # B-cubed: (M,) how many mentions share each mention's truth
    mate_ptr: NDArray[np.int64]  # labels: mention m has labelled pairs with mate[mate_ptr[m]:mate_ptr[m+1]]
    mate: NDArray[np.int32]
    sign: NDArray[np.float64]  # above 0 where the two belong together, below where apart


def _signal(kind: int, scale: float, true_size=(), mate_ptr=(), mate=(), sign=()) -> PartitionSignal:
    arrays = [
        np.asarray(x, t) for x, t in zip((true_size, mate_ptr, mate, sign), ["i4", "i8", "i4", "f8"], strict=True)
    ]
    for array in arrays:
        array.flags.writeable = False
    return PartitionSignal(kind, float(scale), np.zeros(3), *arrays)


def pair_accuracy(*, scale: float = 1.0) -> PartitionSignal:
    """How many pairs of the document are rightly together or rightly apart, times ``scale``."""
    return _signal(PAIR_ACCURACY, scale)


def pair_f1(*, scale: float = 1.0) -> PartitionSignal:
    """F1 of the pairs that are together, in the document entered."""
    return _signal(PAIR_F1, scale)


def b_cubed(truth: ArrayLike, document_ptr: ArrayLike | None = None, *, scale: float = 1.0) -> PartitionSignal:
    """B-cubed F1 (Bagga and Baldwin, 1998), in the document entered.

    Parameters
    ----------
    truth : int array (n_mentions,)
        The true entity, -1 where it is unknown; entities do not reach beyond their document.
    document_ptr : int array (n_documents + 1,), optional
    scale : float
        What a perfect document is worth.
    """
    true = np.asarray(truth, dtype=np.int64)
    ptr = np.array([0, len(true)] if document_ptr is None else document_ptr)
    document = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    pairs = np.stack([document, true], axis=1)
    _, inverse, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    return _signal(B_CUBED, scale, true_size=counts[inverse.ravel()])


def pair_labels(
    n_mentions: int, left: ArrayLike, right: ArrayLike, same: ArrayLike, *, scale: float = 1.0
) -> PartitionSignal:
    """How many labelled pairs are as their label says, times ``scale``; nothing else is known.

    Examples
    --------
    >>> pair_labels(3, [0, 1], [1, 2], [True, False]).mate
    array([1, 0, 2, 1], dtype=int32)
    """
    a, b = np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64)
    sign = np.where(np.asarray(same, dtype=bool), 1.0, -1.0)
    ends, mates, signs = np.concatenate([a, b]), np.concatenate([b, a]), np.concatenate([sign, sign])
    order = np.lexsort((mates, ends))
    ptr = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=n_mentions))])
    return _signal(PAIR_LABELS, scale, mate_ptr=ptr, mate=mates[order], sign=signs[order])


# --- counting over moves


@compiled(inline=True)
def _together(world, move):
    """Pairs that a move breaks and makes: true ones broken, all broken, true ones made, all made (known only)."""
    clusters, truth = world.clusters, world.truth
    true_broken = broken = true_made = made = 0
    for k in range(move.n + move.n_back):
        m, left, n_left, joined, n_joined = mover(world, move, k)
        t = truth[m]
        if t < 0:
            continue
        for i in range(n_left):
            other = truth[member(clusters, left, i)]
            if other >= 0:
                broken += 1
                true_broken += other == t
        for i in range(n_joined):
            other = truth[member(clusters, joined, i)]
            if other >= 0:
                made += 1
                true_made += other == t
    return true_broken, broken, true_made, made


@compiled(part=True, allocates=False)
def _pair_counts(world):
    """Over the document entered: pairs rightly together, together, truly together (known only)."""
    clusters, truth = world.clusters, world.truth
    first, last = world.window[0], world.window[1]
    right = both = 0.0
    for place in range(first, first + clusters.n_used[world.window[2]]):
        slot = clusters.order[place]
        for i in range(clusters.size[slot]):
            t = truth[member(clusters, slot, i)]
            if t < 0:
                continue
            for j in range(i):
                other = truth[member(clusters, slot, j)]
                if other >= 0:
                    both += 1.0
                    right += other == t
    true = 0.0
    for t in range(len(world.overlap)):
        world.overlap[t] = 0
    for m in range(first, last):
        t = truth[m]
        if t >= 0:
            true += world.overlap[t]
            world.overlap[t] += 1
    return right, both, true


@compiled(inline=True)
def _gain_accuracy(signal, world, move):
    true_broken, broken, true_made, made = _together(world, move)
    # A true pair made is one more right, a false pair made one less; broken ones the other way round.
    return signal.scale * ((2 * true_made - made) - (2 * true_broken - broken))


@compiled(inline=True)
def _shortfall_accuracy(signal, world):
    right, both, true = _pair_counts(world)
    return signal.scale * (both + true - 2.0 * right)


@compiled(inline=True)
def _f1(right, predicted, true):
    return 2.0 * right / (predicted + true) if predicted + true > 0.0 else 1.0


@compiled(inline=True)
def _begin_pair_f1(signal, world):
    signal.counts[0], signal.counts[1], signal.counts[2] = _pair_counts(world)


@compiled(inline=True)
def _gain_pair_f1(signal, world, move):
    true_broken, broken, true_made, made = _together(world, move)
    right, predicted, true = signal.counts[0], signal.counts[1], signal.counts[2]
    after = _f1(right + true_made - true_broken, predicted + made - broken, true)
    return signal.scale * (after - _f1(right, predicted, true))


@compiled(inline=True)
def _record_pair_f1(signal, world, move):
    true_broken, broken, true_made, made = _together(world, move)
    signal.counts[0] += true_made - true_broken
    signal.counts[1] += made - broken


@compiled(part=True, allocates=False)
def _cubes(signal, world, slot, start, stop, add_slot, add_start):
    """Summed precision and recall of the members start..stop of a slot, joined by those of another from add_start."""
    clusters, truth = world.clusters, world.truth
    precision = recall = 0.0
    n_first = stop - start
    n = n_first
    if add_slot >= 0:
        n += clusters.size[add_slot] - add_start
    known = 0
    for i in range(n):
        m = member(clusters, slot, start + i) if i < n_first else member(clusters, add_slot, add_start + i - n_first)
        t = truth[m]
        if t >= 0:
            known += 1
            world.overlap[t] += 1
    for i in range(n):
        m = member(clusters, slot, start + i) if i < n_first else member(clusters, add_slot, add_start + i - n_first)
        t = truth[m]
        if t >= 0:
            precision += world.overlap[t] / known
            recall += world.overlap[t] / signal.true_size[m]
    for i in range(n):
        m = member(clusters, slot, start + i) if i < n_first else member(clusters, add_slot, add_start + i - n_first)
        t = truth[m]
        if t >= 0:
            world.overlap[t] = 0
    return precision, recall


@compiled(part=True, allocates=False)
def _cubed_change(signal, world, move):
    """Change of summed precision and recall."""
    source, target = move.source, move.target
    n_source, n_target = np.int64(world.clusters.size[source]), np.int64(world.clusters.size[target])
    rest, n_other = n_staying(world, move)
    p0, r0 = _cubes(signal, world, source, 0, n_source, -1, 0)
    p1, r1 = _cubes(signal, world, target, 0, n_target, -1, 0)
    p2, r2 = _cubes(signal, world, source, 0, rest, target if move.n_back > 0 else -1, n_other)
    p3, r3 = _cubes(signal, world, target, 0, n_other, source, rest)
    return p2 + p3 - p0 - p1, r2 + r3 - r0 - r1


@compiled(inline=True)
def _begin_cubed(signal, world):
    signal.counts[:] = 0.0
    for t in range(len(world.overlap)):
        world.overlap[t] = 0
    for m in range(world.window[0], world.window[1]):
        signal.counts[2] += world.truth[m] >= 0
    first = world.window[0]
    for place in range(first, first + world.clusters.n_used[world.window[2]]):
        slot = world.clusters.order[place]
        p, r = _cubes(signal, world, np.int64(slot), 0, np.int64(world.clusters.size[slot]), -1, 0)
        signal.counts[0] += p
        signal.counts[1] += r


@compiled(inline=True)
def _cubed_f1(p, r, n):
    # F1 of the means p / n and r / n.
    return 2.0 * p * r / (p + r) / n if p + r > 0.0 else 0.0


@compiled(inline=True)
def _gain_cubed(signal, world, move):
    dp, dr = _cubed_change(signal, world, move)
    p, r, n = signal.counts[0], signal.counts[1], signal.counts[2]
    return signal.scale * (_cubed_f1(p + dp, r + dr, n) - _cubed_f1(p, r, n))


@compiled(inline=True)
def _record_cubed(signal, world, move):
    dp, dr = _cubed_change(signal, world, move)
    signal.counts[0] += dp
    signal.counts[1] += dr


@compiled(part=True, allocates=False)
def _gain_labels(signal, world, move):
    clusters = world.clusters
    total = 0.0
    for k in range(move.n + move.n_back):
        m, left, n_left, joined, n_joined = mover(world, move, k)
        for e in range(signal.mate_ptr[m], signal.mate_ptr[m + 1]):
            mate = signal.mate[e]
            slot, position = clusters.cluster_of[mate], clusters.position[mate]
            if slot == joined and position < n_joined:
                total += signal.sign[e]
            elif slot == left and position < n_left:
                total -= signal.sign[e]
    return signal.scale * total


@compiled(inline=True)
def _shortfall_labels(signal, world):
    wrong = 0.0
    for m in range(world.window[0], world.window[1]):
        for e in range(signal.mate_ptr[m], signal.mate_ptr[m + 1]):
            is_together = world.clusters.cluster_of[signal.mate[e]] == world.clusters.cluster_of[m]
            if is_together != (signal.sign[e] > 0.0):
                wrong += 0.5 * abs(signal.sign[e])
    return signal.scale * wrong


@compiled(inline=True)
def begin(signal, world):
    """Count what the document entered holds."""
    if signal.kind == PAIR_F1:
        _begin_pair_f1(signal, world)
    elif signal.kind == B_CUBED:
        _begin_cubed(signal, world)


@compiled(inline=True)
def gain(signal, world, move):
    """The metric after a move minus before."""
    if signal.kind == PAIR_ACCURACY:
        return _gain_accuracy(signal, world, move)
    if signal.kind == PAIR_F1:
        return _gain_pair_f1(signal, world, move)
    if signal.kind == B_CUBED:
        return _gain_cubed(signal, world, move)
    return _gain_labels(signal, world, move)


@compiled(inline=True)
def record(signal, world, move):
    """A move is about to be made."""
    if signal.kind == PAIR_F1:
        _record_pair_f1(signal, world, move)
    elif signal.kind == B_CUBED:
        _record_cubed(signal, world, move)


@compiled(inline=True)
def shortfall(signal, world):
    """The metric of the truth minus that of the world, over the document entered."""
    if signal.kind == PAIR_ACCURACY:
        return _shortfall_accuracy(signal, world)
    if signal.kind == PAIR_LABELS:
        return _shortfall_labels(signal, world)
    if signal.kind == PAIR_F1:
        return signal.scale * (1.0 - _f1(signal.counts[0], signal.counts[1], signal.counts[2]))
    return signal.scale * (1.0 - _cubed_f1(signal.counts[0], signal.counts[1], signal.counts[2]))
