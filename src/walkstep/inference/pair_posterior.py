"""How sure a partition is: sampled partitions, how often pairs are together in them, and confidence in entities.

Mentions that are together in every sample form a group: whatever is said of one is true of the others, so pairs are
counted between groups and a table of all pairs is never made.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.inference.base import run_chains
from walkstep.inference.gibbs import check_temperature
from walkstep.inference.partition_search import partition_sampler
from walkstep.worlds.clusters import first_mentions
from walkstep.worlds.partition import PartitionWorld
from walkstep.worlds.randomness import Seed, as_generator

THIN_PER_MENTION = 2
"""Moves between two samples for each mention, unless told."""
_CHUNK = 1 << 22  # numbers compared at a time


class Partitions(NamedTuple):
    """Sampled partitions."""

    draws: NDArray[np.int32]  # (S, M) the cluster of each mention, named by its first one
    scores: NDArray[np.float64]  # (S,)
    temperature: float = 1.0
    interrupted: bool = False


def partitions(assignments: ArrayLike) -> Partitions:
    """Partitions from elsewhere, one in each row; mentions of the same number are together.

    Examples
    --------
    >>> partitions([[5, 5, 2], [1, 0, 0]]).draws.tolist()
    [[0, 0, 2], [0, 1, 1]]
    """
    given = np.asarray(assignments)
    if given.ndim != 2 or len(given) == 0:
        raise ValueError(f"assignments have shape {given.shape}; give one partition in each row")
    draws = [first_mentions(np.unique(row, return_inverse=True)[1].astype(np.int32)) for row in given]
    return Partitions(np.array(draws, dtype=np.int32), np.full(len(given), np.nan))


def sample_partitions(
    world: PartitionWorld,
    weights: ArrayLike,
    *,
    n_samples: int = 100,
    thin: int | None = None,
    temperature: float = 1.0,
    burn_in: int | None = None,
    n_chains: int = 1,
    n_threads: int = 1,
    rng: Seed = None,
) -> Partitions:
    """Draw partitions from the model, from where the world stands: best at what `search` has found.

    Parameters
    ----------
    world : PartitionWorld
        It stays as it is; every chain has its own copy.
    weights : float array (n_weights,)
    n_samples : int
        Samples to draw, dealt to the chains.
    thin : int, optional
        Moves between two samples; by default 2 for each mention.
    temperature : float
        1 samples the model itself; `fit_temperature` finds the one whose probabilities come true.
    burn_in : int, optional
        Moves of each chain before its first sample; by default those of ten samples.
    n_chains, n_threads : int
        Chains from the same start, each with its own random numbers, run side by side in so many threads.
    rng : int or numpy Generator

    Returns
    -------
    Partitions
        Those drawn so far if Ctrl-C ends it early.
    """
    check_temperature(temperature)
    thin = THIN_PER_MENTION * len(world.truth) if thin is None else thin
    burn_in = 10 * thin if burn_in is None else burn_in
    for name, value, least in (("n_samples", n_samples, 1), ("thin", thin, 1), ("burn_in", burn_in, 0)):
        if value < least:
            raise ValueError(f"{name} is {value}; give at least {least}")
    sampler = partition_sampler(world, weights, n_moves=thin, temperature=temperature)
    samples = run_chains(
        sampler,
        None,
        n_chains,
        -(-n_samples // n_chains),
        rng=rng,
        burn_in=-(-burn_in // thin),
        n_threads=n_threads,
    )
    if samples.draws is None or samples.draws.size == 0:
        # Interrupted before the first sample: where the chain stands is the one there is.
        first = samples.states[0]
        return Partitions(first.values[None], np.array([sampler.score(first)]), temperature, True)
    draws = samples.draws.reshape(-1, len(world.truth))[:n_samples]
    return Partitions(draws.astype(np.int32), samples.scores.ravel()[:n_samples], temperature, samples.interrupted)


def groups_of(draws: NDArray[np.int32]) -> NDArray[np.int32]:
    """Mentions that are together in every sample, as group numbers (M,) in the order of their first mentions.

    Examples
    --------
    >>> groups_of(np.array([[0, 0, 0, 3], [0, 0, 2, 2]], np.int32))
    array([0, 0, 1, 2], dtype=int32)
    """
    label = draws[0].astype(np.int64)  # the first mention of each group so far
    for draw in draws[1:]:
        # Samples differ in few places: only groups that this one tears apart are sorted anew.
        torn = np.zeros(len(label), bool)
        torn[label[draw != draw[label]]] = True
        where = np.flatnonzero(torn[label])
        if len(where):
            _, first, part = np.unique(label[where] << 32 | draw[where], return_index=True, return_inverse=True)
            label[where] = where[first[part]]
    return np.unique(label, return_inverse=True)[1].astype(np.int32)


class PairProbabilities(NamedTuple):
    """How probable it is that two mentions are together, for the pairs worth telling.

    Pairs of one group are certain; pairs of two groups have one probability. Where groups make many pairs, those of
    their first mentions stand for them all; ``n_pairs`` says for how many.
    """

    left: NDArray[np.int32]  # (P,) the smaller mention of each pair
    right: NDArray[np.int32]
    probability: NDArray[np.float64]
    n_pairs: NDArray[np.int64]  # (P,) pairs that the row stands for, itself counted
    partitions: Partitions

    def of(self, left: ArrayLike, right: ArrayLike) -> NDArray[np.float64]:
        """The probability of any pairs, listed or not."""
        return together(self.partitions.draws, left, right)


def together(draws: NDArray[np.int32], left: ArrayLike, right: ArrayLike) -> NDArray[np.float64]:
    """The share of samples in which pairs of mentions are together, compared one by one.

    Examples
    --------
    >>> together(np.array([[0, 0, 0], [0, 0, 2]], np.int32), [0, 0], [1, 2])
    array([1. , 0.5])
    """
    one, two = np.atleast_1d(np.asarray(left)), np.atleast_1d(np.asarray(right))
    by_mention = np.ascontiguousarray(draws.T)
    share = np.empty(len(one))
    step = max(1, _CHUNK // max(1, len(draws)))
    for at in range(0, len(one), step):
        part = slice(at, at + step)
        share[part] = (by_mention[one[part]] == by_mention[two[part]]).mean(axis=1)
    return share


def group_pairs(
    draws: NDArray[np.int32], group_of: NDArray[np.int32], max_cluster: int = 1000
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of groups that are together in some sample: the smaller and the larger group of each.

    Clusters that are the same in many samples are looked at once. Of a cluster with more than ``max_cluster`` groups
    only pairs of groups at most so many places apart are listed, so that the work stays in proportion to the groups.
    """
    n = int(group_of.max(initial=-1)) + 1
    first = np.zeros(n, np.int64)
    first[group_of[::-1]] = np.arange(len(group_of) - 1, -1, -1)
    # A number for each group, so that the sum over a cluster tells which cluster it is.
    mark = np.random.default_rng(0).integers(0, 2**63, n, dtype=np.uint64)
    seen: set[tuple[int, int]] = set()
    keys: list[NDArray[np.int64]] = []
    for draw in draws:
        cluster = draw[first]
        order = np.argsort(cluster, kind="stable")
        starts = np.flatnonzero(np.diff(cluster[order], prepend=-1))
        sizes = np.diff(np.append(starts, n))
        sums = np.add.reduceat(mark[order], starts) if n else np.zeros(0, np.uint64)
        for s in np.flatnonzero(sizes > 1):
            name = (int(sums[s]), int(sizes[s]))
            if name not in seen:
                seen.add(name)
                members = order[starts[s] : starts[s] + sizes[s]]
                keys.append(_all_pairs(members, max_cluster))
    listed = np.unique(np.concatenate(keys)) if keys else np.zeros(0, np.int64)
    return listed >> 32, listed & 0xFFFFFFFF


def _all_pairs(members: NDArray[np.int64], reach: int) -> NDArray[np.int64]:
    """Keys of the pairs of rising numbers that are at most ``reach`` places apart."""
    n = len(members)
    if n <= reach:
        one, two = np.triu_indices(n, 1)
        return members[one] << 32 | members[two]
    return np.concatenate([members[:-d] << 32 | members[d:] for d in range(1, reach)])


def pair_probabilities(
    samples: Partitions, minimum: float = 0.01, *, max_pairs: int = 10_000, max_cluster: int = 1000
) -> PairProbabilities:
    """How often mentions are together, for all pairs that are so in at least a share ``minimum`` of the samples.

    Parameters
    ----------
    samples : Partitions
    minimum : float
        Less probable pairs are left out.
    max_pairs : int
        Where one group, or two, make more pairs than this, only those of their first mentions are listed: the first
        mention of a group with each of the others, or the first mentions of both. The rest is as probable.
    max_cluster : int
        Of a cluster with more groups than this, only neighbours are listed; see `group_pairs`.

    Examples
    --------
    >>> found = pair_probabilities(partitions([[0, 0, 0], [0, 0, 1]]))
    >>> list(zip(found.left.tolist(), found.right.tolist(), found.probability.tolist()))
    [(0, 1, 1.0), (0, 2, 0.5), (1, 2, 0.5)]
    """
    if not 0.0 <= minimum <= 1.0:
        raise ValueError(f"minimum is {minimum}; give a probability from 0 to 1")
    group_of = groups_of(samples.draws)
    order = np.argsort(group_of, kind="stable")
    size = np.bincount(group_of).astype(np.int64)
    start = np.concatenate([[0], np.cumsum(size)])
    first = order[start[:-1]]
    one, two = group_pairs(samples.draws, group_of, max_cluster)
    probability = together(samples.draws, first[one], first[two])
    is_kept = probability >= minimum
    one, two, probability = one[is_kept], two[is_kept], probability[is_kept]
    rows: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]] = []
    for g in np.flatnonzero(size > 1):
        members = order[start[g] : start[g + 1]]
        n_pairs = size[g] * (size[g] - 1) // 2
        if n_pairs <= max_pairs:
            a, b = np.triu_indices(len(members), 1)
            rows.append((members[a], members[b], np.ones(len(a)), np.ones(len(a), np.int64)))
        else:
            n = len(members) - 1
            stands_for = np.full(n, n_pairs // n)
            stands_for[: n_pairs % n] += 1
            rows.append((np.repeat(members[:1], n), members[1:], np.ones(n), stands_for))
    is_plain = (size[one] == 1) & (size[two] == 1)
    is_short = size[one] * size[two] > max_pairs
    for rest in (is_plain, is_short):
        n_pairs = size[one[rest]] * size[two[rest]]
        rows.append((first[one[rest]], first[two[rest]], probability[rest], n_pairs))
    for e in np.flatnonzero(~(is_plain | is_short)):
        a, b = order[start[one[e]] : start[one[e] + 1]], order[start[two[e]] : start[two[e] + 1]]
        n = len(a) * len(b)
        rows.append((np.repeat(a, len(b)), np.tile(b, len(a)), np.full(n, probability[e]), np.ones(n, np.int64)))
    a, b, p, n_pairs = (np.concatenate(column) for column in zip(*rows, strict=True))
    left, right = np.minimum(a, b), np.maximum(a, b)
    order = np.lexsort((right, left))
    return PairProbabilities(
        left[order].astype(np.int32), right[order].astype(np.int32), p[order], n_pairs[order], samples
    )


class EntityConfidence(NamedTuple):
    """How far to trust a partition, by its samples."""

    of_mention: NDArray[np.float64]  # (M,)
    entity: NDArray[np.int32]  # (E,) entities by their first mention
    of_entity: NDArray[np.float64]  # (E,) mean over its mentions


def entity_confidence(samples: Partitions, assignment: ArrayLike) -> EntityConfidence:
    """For each mention, the share of its entity's other mentions that it is with in a sample, on average.

    For a mention that is alone, the probability that it is alone.

    Examples
    --------
    >>> entity_confidence(partitions([[0, 0, 1], [0, 1, 1]]), [0, 0, 1])
    EntityConfidence(of_mention=array([0.5, 0.5, 0.5]), entity=array([0, 2], dtype=int32), of_entity=array([0.5, 0.5]))
    """
    n = samples.draws.shape[1]
    given = np.asarray(assignment)
    if given.shape != (n,):
        raise ValueError(f"assignment has shape {given.shape}; the samples are of {n} mentions")
    entity_of = np.unique(given, return_inverse=True)[1]
    own = first_mentions(entity_of.astype(np.int32))
    size = np.bincount(own, minlength=n)[own]
    summed = np.zeros(n)
    for draw in samples.draws:
        _, cell, in_cell = np.unique(own.astype(np.int64) << 32 | draw, return_inverse=True, return_counts=True)
        alone = np.bincount(draw, minlength=n)[draw] == 1
        summed += np.where(size > 1, (in_cell[cell] - 1) / np.maximum(size - 1, 1), alone)
    of_mention = summed / len(samples.draws)
    total = np.bincount(own, of_mention, minlength=n)
    heads = np.flatnonzero(np.bincount(own, minlength=n))
    return EntityConfidence(of_mention, heads.astype(np.int32), total[heads] / size[heads])


class FittedTemperature(NamedTuple):
    """The temperature whose pair probabilities come true best, and how each one did."""

    temperature: float
    temperatures: NDArray[np.float64]  # (K,) tried
    log_loss: NDArray[np.float64]  # (K,) mean over pairs
    calibration_error: NDArray[np.float64]  # (K,) expected, over ten bins


def fit_temperature(
    world: PartitionWorld,
    weights: ArrayLike,
    truth: ArrayLike | None = None,
    *,
    temperatures: Sequence[float] = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
    n_samples: int = 50,
    thin: int | None = None,
    burn_in: int | None = None,
    rng: Seed = None,
) -> FittedTemperature:
    """Find the temperature at which to sample, by the truth of some mentions.

    Partitions are sampled at each temperature, and the least log loss wins, over all pairs of known truth that are
    together in some sample of any of them.

    Parameters
    ----------
    world : PartitionWorld
        Best of mentions that the weights were not trained on: of those that they were, models are too sure.
    weights : float array (n_weights,)
    truth : int array (M,), optional
        The true entity of each mention, -1 where it is not known; by default the world's.
    temperatures : sequence of float
    n_samples, thin, burn_in
        Of each temperature, as `sample_partitions` takes them.
    rng : int or numpy Generator
    """
    true = np.asarray(world.truth if truth is None else truth)
    if true.shape != world.truth.shape:
        raise ValueError(f"truth has shape {true.shape}; give one number for each of the {len(world.truth)} mentions")
    if not (true >= 0).any():
        raise ValueError("the truth of no mention is known, so no temperature can be told from another; pass truth=")
    generator = as_generator(rng)
    draws = [
        sample_partitions(
            world, weights, n_samples=n_samples, thin=thin, burn_in=burn_in, temperature=t, rng=generator
        ).draws
        for t in temperatures
    ]
    every = np.concatenate(draws)
    known = np.flatnonzero(true >= 0)
    listed = pair_probabilities(partitions(every[:, known]), 0.0)
    left, right = known[listed.left], known[listed.right]
    if len(left) == 0:
        raise ValueError("no two mentions of known truth are ever together; raise the temperatures, or n_samples")
    is_true, weight = true[left] == true[right], listed.n_pairs
    losses, errors = [], []
    for own in draws:
        probability = together(own, left, right)
        # Half a sample on each side, since a frequency of 0 or 1 among few samples is no certainty.
        smooth = (probability * len(own) + 0.5) / (len(own) + 1.0)
        losses.append(np.average(-np.log(np.where(is_true, smooth, 1.0 - smooth)), weights=weight))
        bins = np.minimum((probability * 10).astype(np.int64), 9)
        errors.append(np.abs(np.bincount(bins, weight * (probability - is_true))).sum() / weight.sum())
    best = int(np.argmin(losses))
    return FittedTemperature(float(temperatures[best]), np.array(temperatures), np.array(losses), np.array(errors))
