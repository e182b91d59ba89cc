"""The partition to answer with: of the least expected loss over sampled ones, not the last that was seen."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from walkstep.inference.pair_posterior import Partitions, group_pairs, groups_of, together
from walkstep.worlds.clusters import first_mentions

LARGEST_EXACT = 8
"""Components of so many groups are solved by looking at every partition: 4140 of them for eight."""
_THRESHOLDS = (0.3, 0.5, 0.7)


class Consensus(NamedTuple):
    """A partition and what it is expected to lose."""

    assignment: NDArray[np.int32]  # (M,) the entity of each mention, named by its first one
    expected_loss: float  # mean over the samples
    best_of_samples: float  # the least that any of the samples themselves would lose


def pairwise_loss(assignment: ArrayLike, other: ArrayLike) -> float:
    """Binder's loss: pairs of mentions that one partition has together and the other one apart.

    Examples
    --------
    >>> pairwise_loss([0, 0, 1], [0, 1, 1])
    2.0
    """
    one, two, both = _cells(np.asarray(assignment), np.asarray(other))[:3]
    return float(_n_pairs(one) + _n_pairs(two) - 2.0 * _n_pairs(both))


def b_cubed_loss(assignment: ArrayLike, other: ArrayLike) -> float:
    """One minus the B³ F1 of a partition, where the other one is the truth.

    Examples
    --------
    >>> round(b_cubed_loss([0, 0, 0], [0, 0, 1]), 6)
    0.285714
    """
    one, two, both, of_one, of_two = _cells(np.asarray(assignment), np.asarray(other))
    precision, recall = (both**2 / one[of_one]).sum(), (both**2 / two[of_two]).sum()
    return float(1.0 - 2.0 * precision * recall / max(precision + recall, 1e-300) / max(1, len(np.asarray(other))))


_LOSSES = {"pairwise": pairwise_loss, "b_cubed": b_cubed_loss}


def _cells(one: NDArray, two: NDArray) -> tuple[NDArray, ...]:
    """Sizes of the clusters of both and of what two clusters share, and which two those are."""
    _, one, n_one = np.unique(one, return_inverse=True, return_counts=True)
    _, two, n_two = np.unique(two, return_inverse=True, return_counts=True)
    keys, n_both = np.unique(one.astype(np.int64) << 32 | two, return_counts=True)
    return n_one.astype(np.float64), n_two.astype(np.float64), n_both.astype(np.float64), keys >> 32, keys & 0xFFFFFFFF


def _n_pairs(sizes: NDArray[np.float64]) -> float:
    return float((sizes * (sizes - 1.0)).sum() / 2.0)


def expected_loss(
    samples: Partitions, assignment: ArrayLike, loss: Literal["pairwise", "b_cubed"] = "pairwise"
) -> float:
    """The mean loss of a partition, were each of the samples the truth."""
    return float(np.mean([_LOSSES[loss](assignment, draw) for draw in samples.draws]))


def consensus(
    samples: Partitions,
    candidates: Iterable[ArrayLike] = (),
    *,
    loss: Literal["pairwise", "b_cubed"] = "pairwise",
    max_samples: int = 50,
    max_sweeps: int = 100,
) -> Consensus:
    """The partition of the least expected loss that can be found.

    Candidates are the samples, those given (best the one that `search` has found), components of pairs that are
    together more often than some threshold, and the minimum of the pairwise loss. That one is exact where few groups
    of mentions hang together, and found by moving and merging groups elsewhere.

    Parameters
    ----------
    samples : Partitions
    candidates : partitions (M,), optional
    loss : {"pairwise", "b_cubed"}
        Pairs told wrongly, or one minus B³ F1.
    max_samples : int
        How many distinct samples are candidates: those of the highest scores.
    max_sweeps : int
        At most so many passes of the search over a component.

    Examples
    --------
    >>> from walkstep.inference.pair_posterior import partitions
    >>> consensus(partitions([[0, 0, 0, 1], [0, 0, 1, 1], [0, 0, 1, 2]]))
    Consensus(assignment=array([0, 0, 2, 3], dtype=int32), expected_loss=1.0, best_of_samples=1.0)
    """
    if loss not in _LOSSES:
        raise ValueError(f"loss is {loss!r}; choose 'pairwise' or 'b_cubed'")
    n = samples.draws.shape[1]
    given = [np.asarray(one) for one in candidates]
    for k, one in enumerate(given):
        if one.shape != (n,):
            raise ValueError(f"candidate {k} has shape {one.shape}; the samples are of {n} mentions")
    own = _best_samples(samples, max_samples)
    of_samples = [expected_loss(samples, one, loss) for one in own]
    partition, least = own[int(np.argmin(of_samples))], min(of_samples)
    group_of = groups_of(samples.draws)
    first = np.unique(group_of, return_index=True)[1]
    graph = _group_graph(samples.draws, group_of, first)
    made = [_components(graph, threshold) for threshold in _THRESHOLDS]
    starts = [np.arange(len(first)), *made, *(one[first] for one in (*given, partition))]
    made.append(_least_pairwise(graph, starts, max_sweeps))
    for one in (*given, *(labels[group_of] for labels in made)):
        expected = expected_loss(samples, one, loss)
        if expected < least:
            partition, least = one, expected
    named = first_mentions(np.unique(partition, return_inverse=True)[1].astype(np.int32))
    return Consensus(named, least, min(of_samples))


def _best_samples(samples: Partitions, n: int) -> list[NDArray[np.int32]]:
    """Distinct samples of the highest scores, or the first ones where scores are not known."""
    known = np.where(np.isnan(samples.scores), -np.inf, samples.scores)
    seen = {samples.draws[k].tobytes(): samples.draws[k] for k in np.argsort(-known, kind="stable")}
    return list(seen.values())[: max(1, n)]


class _Graph(NamedTuple):
    """Groups of mentions, and how probable it is that two of them are together."""

    size: NDArray[np.float64]  # (G,) mentions in each
    left: NDArray[np.int64]  # (E,)
    right: NDArray[np.int64]
    probability: NDArray[np.float64]


def _group_graph(draws: NDArray[np.int32], group_of: NDArray[np.int32], first: NDArray[np.int64]) -> _Graph:
    left, right = group_pairs(draws, group_of)
    size = np.bincount(group_of).astype(np.float64)
    return _Graph(size, left, right, together(draws, first[left], first[right]))


def _components(graph: _Graph, threshold: float) -> NDArray[np.int64]:
    """Groups joined by pairs that are more probable than a threshold."""
    is_kept = graph.probability > threshold
    left, right = graph.left[is_kept], graph.right[is_kept]
    n = len(graph.size)
    return connected_components(coo_array((np.ones(len(left)), (left, right)), shape=(n, n)), directed=False)[1]


def _least_pairwise(graph: _Graph, starts: list[NDArray[np.int64]], max_sweeps: int) -> NDArray[np.int64]:
    """Labels of groups that make the expected pairwise loss small.

    Up to what no partition changes, that loss is the sum of 1 - 2 p over pairs that are together. Joining groups
    that never meet only adds to it, so each component of the graph is a problem of its own.
    """
    component = _components(graph, 0.0)
    label = np.arange(len(graph.size))
    order = np.argsort(component, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(np.bincount(component))])
    edges = np.argsort(component[graph.left], kind="stable")
    edge_bounds = np.concatenate([[0], np.cumsum(np.bincount(component[graph.left], minlength=len(bounds) - 1))])
    place = np.empty_like(order)
    place[order] = np.arange(len(order)) - np.repeat(bounds[:-1], np.diff(bounds))
    for c in np.flatnonzero(np.diff(bounds) > 1):
        members, of = order[bounds[c] : bounds[c + 1]], edges[edge_bounds[c] : edge_bounds[c + 1]]
        part = _Graph(graph.size[members], place[graph.left[of]], place[graph.right[of]], graph.probability[of])
        if len(members) <= LARGEST_EXACT:
            found = _exact(part)
        else:
            climbed = [_climb(part, start[members], max_sweeps) for start in starts]
            found = min(climbed, key=lambda labels: _cost(part, labels))
        label[members] = members[found]
    return label


def _cost(graph: _Graph, label: NDArray[np.int64]) -> float:
    """The sum of 1 - 2 p over pairs of mentions of different groups that are together."""
    in_cluster = np.bincount(label, graph.size)
    is_together = label[graph.left] == label[graph.right]
    expected = graph.size[graph.left] * graph.size[graph.right] * graph.probability
    return float((in_cluster @ in_cluster - graph.size @ graph.size) / 2.0 - 2.0 * expected[is_together].sum())


@cache
def _every_partition(n: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """All partitions of n things as labels (B, n), and which pairs each has together (B, n (n - 1) / 2)."""

    def grow(labels: list[int]) -> Iterator[list[int]]:
        if len(labels) == n:
            yield labels
            return
        for label in range(max(labels, default=-1) + 2):
            yield from grow([*labels, label])

    label = np.array(list(grow([])))
    one, two = np.triu_indices(n, 1)
    return label, (label[:, one] == label[:, two]).astype(np.float64)


def _exact(graph: _Graph) -> NDArray[np.int64]:
    """The best labels of a few groups, out of all."""
    n = len(graph.size)
    cost = np.outer(graph.size, graph.size)
    low, high = np.minimum(graph.left, graph.right), np.maximum(graph.left, graph.right)
    cost[low, high] *= 1.0 - 2.0 * graph.probability
    label, is_together = _every_partition(n)
    return label[np.argmin(is_together @ cost[np.triu_indices(n, 1)])]


def _climb(graph: _Graph, start: NDArray[np.int64], max_sweeps: int) -> NDArray[np.int64]:
    """Move groups, then whole clusters, as long as that lowers the cost."""
    label = np.unique(start, return_inverse=True)[1].astype(np.int64)
    expected = graph.size[graph.left] * graph.size[graph.right] * graph.probability
    neighbours = _neighbours(graph.left, graph.right, expected, len(graph.size))
    for _ in range(max_sweeps):
        _, label = np.unique(_settle(graph.size, neighbours, label, max_sweeps), return_inverse=True)
        # Clusters as groups of groups: moving one of them is a merge.
        size = np.bincount(label, graph.size).astype(np.float64)
        one, two = label[graph.left], label[graph.right]
        apart = one != two
        whole = _neighbours(one[apart], two[apart], expected[apart], len(size))
        merged = _settle(size, whole, np.arange(len(size)), max_sweeps)
        if len(np.unique(merged)) == len(size):
            break
        label = np.unique(merged[label], return_inverse=True)[1]
    return label


def _neighbours(left: NDArray, right: NDArray, expected: NDArray, n: int) -> list[dict[int, float]]:
    """For each group, the pairs of mentions that it is expected to have together with each other one."""
    table: list[dict[int, float]] = [{} for _ in range(n)]
    for a, b, e in zip(left.tolist(), right.tolist(), expected.tolist(), strict=True):
        table[a][b] = table[a].get(b, 0.0) + e
        table[b][a] = table[b].get(a, 0.0) + e
    return table


def _settle(
    size: NDArray[np.float64], neighbours: list[dict[int, float]], start: NDArray[np.int64], max_sweeps: int
) -> NDArray[np.int64]:
    """Let each group go to the cluster where it costs least, or out, until none wants to."""
    n = len(size)
    label, sizes = start.tolist(), size.tolist()
    in_cluster = np.bincount(start, size, minlength=n).tolist()
    free = [c for c in range(n) if in_cluster[c] == 0.0]
    for _ in range(max_sweeps):
        is_settled = True
        for g in range(n):
            own = label[g]
            expected: dict[int, float] = {own: 0.0}
            for h, e in neighbours[g].items():
                expected[label[h]] = expected.get(label[h], 0.0) + e
            in_cluster[own] -= sizes[g]
            now = sizes[g] * in_cluster[own] - 2.0 * expected[own]
            least, best = min((sizes[g] * in_cluster[c] - 2.0 * e, c) for c, e in expected.items())
            if least > 0.0:  # better alone
                least, best = 0.0, free[-1] if free else own
            if least < now - 1e-9:
                is_settled = False
                label[g] = best
                if free and free[-1] == best:
                    free.pop()
                if in_cluster[own] < 0.5:
                    free.append(own)
            in_cluster[label[g]] += sizes[g]
        if is_settled:
            break
    return np.array(label)
