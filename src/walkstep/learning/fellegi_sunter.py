"""Weights with no labels at all: a mixture of matches and non-matches over the levels of comparators, by EM.

Fellegi and Sunter (1969) call m the probability of a level among pairs that match and u that among pairs that do not;
its weight is log(m / u). Winkler (1988) estimates both by EM from pairs nobody has labelled.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression
from scipy.sparse import csr_array
from scipy.special import expit

from walkstep.features.blocks import Blocks
from walkstep.features.comparisons import Comparisons, compare_pairs

_LEAST_CERTAIN = 0.8  # below it the two classes run into one another; of the sets we tried, 0.86 was fine and 0.76 not
_FEW_MATCHES = 20
_LARGE_SHARE = 0.5
_START = 0.05  # the share of pairs, those that agree most, from which m is first guessed
_SETTLED = 1e-7


@dataclass(frozen=True)
class PairWeights:
    """What each level of each comparator says for a match, in logarithms of odds; C comparators.

    Parameters
    ----------
    weights : tuple of float arrays (n_levels,)
        One for each comparator. Level 0, a missing value, says nothing.
    log_prior_odds : float
        What is known of a pair before it is compared: log(share / (1 - share)).
    """

    weights: tuple[NDArray[np.float64], ...]
    log_prior_odds: float

    def scores(self, levels: ArrayLike) -> NDArray[np.float64]:
        """The logarithm of the odds that each of P pairs (P, C) is a match."""
        of_pair = np.asarray(levels)
        total = np.full(len(of_pair), self.log_prior_odds)
        for c, weight in enumerate(self.weights):
            total += weight[of_pair[:, c]]
        return total

    @property
    def vector(self) -> NDArray[np.float64]:
        """Weights end to end, as `Affinity` lays them out.

        Every pair has one level of the first comparator, so the prior odds are added to all levels of that one.
        """
        first, *rest = self.weights
        return np.concatenate([first + self.log_prior_odds, *rest])


@dataclass(frozen=True)
class FellegiSunter(PairWeights):
    """Weights from a mixture, and how they came about.

    Parameters
    ----------
    m, u : tuple of float arrays (n_levels,)
        Probabilities of the levels among matches and among the other pairs, of those where no value is missing.
    share : float
        Matches as a share of the pairs.
    power : float
        What evidence was multiplied by while classes were told apart.
    certainty : float
        The mean probability of a match over matches, 1 where every pair is clear.
    n_pairs, n_iter : int
        Pairs looked at, and rounds of EM.
    converged : bool
        Whether probabilities had settled.
    warnings : tuple of str
        Why the estimates may be wrong, each with the way out.
    """

    m: tuple[NDArray[np.float64], ...]
    u: tuple[NDArray[np.float64], ...]
    share: float
    power: float
    certainty: float
    n_pairs: int
    n_iter: int
    converged: bool
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        settled = "settled" if self.converged else "still moving"
        lines = [
            f"weights without labels, from {self.n_pairs} pairs: {self.share:.3%} of them seem to match",
            f"{self.n_iter} rounds of EM at power {self.power:g}, {settled}; certainty {self.certainty:.2f}",
        ]
        return "\n".join([*lines, *self.warnings])


def fellegi_sunter(
    levels: ArrayLike,
    n_levels: Sequence[int],
    *,
    random_levels: ArrayLike | None = None,
    groups: Sequence[Hashable | None] | None = None,
    ordered: Sequence[bool] | None = None,
    powers: Sequence[float] = (1.0, 0.85, 0.7),
    known: tuple[ArrayLike, ArrayLike] | None = None,
    smoothing: float = 0.5,
    max_iter: int = 200,
) -> FellegiSunter:
    """Estimate what levels say of a match from pairs nobody has labelled.

    The mixture takes comparators for independent, which they are not, in two ways. Several on one column tell the
    same thing more than once: those of a group of k count 1/k each. And columns agree together too (a paper and its
    journal version share title and authors), so that plain EM is too sure of itself and takes such pairs for matches.
    So evidence is tempered: EM first runs at power 1, then anew from there at lower ``powers``, as long as the
    classes stay apart; where columns are few they soon run into one another, and the last good estimate counts.

    Parameters
    ----------
    levels : int array (P, C)
        Of pairs that may match, such as pairs from blocks; 0 where a value is missing.
    n_levels : sequence of int (C,)
    random_levels : int array (Q, C), optional
        Of random pairs, next to none of which match: they tell which levels are rare by chance, for a good start.
    groups : sequence (C,), optional
        What each comparator is about, such as its column; None leaves one out, with weights 0. By default each is
        a group of its own.
    ordered : sequence of bool (C,), optional
        Where a higher level may never say less for a match; by default everywhere.
    powers : sequence of float
        Falling, from 0 (excluded) to 1.
    known : (int array (L, C), bool array (L,)), optional
        Levels of labelled pairs and whether they match: they are counted with the others, their class held.
    smoothing : float
        Pairs added to every level that occurs.
    max_iter : int
        Rounds of EM at each power.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> same = rng.random(20_000) < 0.1
    >>> agree = [rng.random(20_000) < np.where(same, 0.9, 0.1) for _ in range(4)]
    >>> found = fellegi_sunter(1 + np.stack(agree, axis=1), [3] * 4, powers=[1.0])
    >>> round(found.share, 2), found.m[0].round(1).tolist(), found.weights[0].round(1).tolist()
    (0.1, [0.0, 0.1, 0.9], [0.0, -2.2, 2.2])
    """
    given, sizes = _checked(levels, n_levels, "levels"), np.asarray(n_levels, dtype=np.int64)
    names: list[Hashable | None] = [*range(len(sizes))] if groups is None else [*groups]
    rising = [True] * len(sizes) if ordered is None else list(ordered)
    for name, row in (("groups", names), ("ordered", rising)):
        if len(row) != len(sizes):
            raise ValueError(f"{name} has {len(row)} entries; give one for each of the {len(sizes)} comparators")
    if not len(powers) or not all(0.0 < power <= 1.0 for power in powers):
        raise ValueError(f"powers are {tuple(powers)}; give at least one, above 0 and at most 1")
    if len(given) == 0:
        raise ValueError("there are no pairs to learn from; draw some from blocks, or give weights")
    factor = np.array([0.0 if name is None else 1.0 / names.count(name) for name in names])
    patterns, count = _distinct(given)
    held = np.full(len(patterns), np.nan)
    if known is not None:
        labelled = np.column_stack([_checked(known[0], n_levels, "known"), np.asarray(known[1], dtype=np.int64)])
        more, times = _distinct(labelled)
        patterns, count = np.concatenate([patterns, more[:, :-1]]), np.concatenate([count, times])
        held = np.concatenate([held, more[:, -1].astype(np.float64)])
    by_chance = patterns if random_levels is None else _checked(random_levels, n_levels, "random_levels")
    counted = np.ones(len(by_chance)) if random_levels is not None else count.astype(np.float64)
    matching = _first_guess(patterns, count, by_chance, counted, sizes, factor)
    best, matching = _fit(patterns, count, held, sizes, factor, rising, powers[0], matching, smoothing, max_iter)
    for power in powers[1:]:
        found, matching = _fit(patterns, count, held, sizes, factor, rising, power, matching, smoothing, max_iter)
        if found.certainty < _LEAST_CERTAIN:
            break
        best = found
    return best


def _checked(levels: ArrayLike, n_levels: Sequence[int], name: str) -> NDArray[np.int64]:
    """Levels as an array, or an error that says what is wrong with them."""
    array = np.asarray(levels, dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != len(n_levels) or array.shape[1] == 0:
        raise ValueError(f"{name} has shape {array.shape}; give a row for each pair and {len(n_levels)} columns")
    wrong = np.argwhere((array < 0) | (array >= np.asarray(n_levels)))
    if len(wrong):
        p, c = wrong[0]
        raise ValueError(f"{name} has level {array[p, c]} at pair {p}, comparator {c}, which has {n_levels[c]} levels")
    return array


def _distinct(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct rows and how often each occurs; levels fit a byte, so a row is sorted as one string of bytes."""
    narrow = np.ascontiguousarray(rows, dtype=np.uint8)
    _, at, count = np.unique(narrow.view(f"V{narrow.shape[1]}").ravel(), return_index=True, return_counts=True)
    return rows[at], count


def _first_guess(patterns, count, by_chance, counted, sizes, factor) -> NDArray[np.float64]:
    """Probabilities of a match to start from: high for the pairs whose agreement is least likely by chance."""
    surprise = np.zeros(len(patterns))
    for c, size in enumerate(sizes):
        seen = np.bincount(by_chance[:, c], weights=counted, minlength=size) + 0.5
        reached = np.cumsum(seen[:0:-1])[::-1] / seen[1:].sum()
        surprise += factor[c] * np.concatenate([[0.0], -np.log(reached)])[patterns[:, c]]
    order = np.argsort(-surprise, kind="stable")
    is_top = np.zeros(len(patterns), dtype=bool)
    is_top[order] = np.cumsum(count[order]) <= max(_START * count.sum(), count[order[0]])
    return np.where(is_top, 0.9, 0.01)


def _fit(patterns, count, held, sizes, factor, rising, power, matching, smoothing, max_iter):
    """EM at one power, over distinct patterns: the estimate, and each pattern's probability of a match."""
    first = np.concatenate([[0], np.cumsum(sizes)])
    n_cells = patterns.size
    row_ptr = np.arange(0, n_cells + 1, len(sizes))
    has = csr_array((np.ones(n_cells), (patterns + first[:-1]).ravel(), row_ptr), shape=(len(patterns), first[-1]))
    of_level = has.T.tocsr()  # (levels of all comparators, patterns)
    occurrences, total = of_level @ count, float(count.sum())
    is_held = ~np.isnan(held)
    matching = np.where(is_held, held, matching)
    m = u = weights = np.zeros(first[-1])
    converged, n_iter, odds = False, 0, 0.0
    while n_iter < max_iter and not converged:
        n_iter += 1
        share = (float(matching @ count) + smoothing) / (total + 2 * smoothing)
        odds = float(np.log(share) - np.log1p(-share))
        among_matches = of_level @ (count * matching)
        m = _distributions(among_matches, occurrences, first, smoothing)
        u = _distributions(np.maximum(occurrences - among_matches, 0.0), occurrences, first, smoothing)
        weights = np.concatenate(
            [
                factor[c] * _log_ratio(m[low:high], u[low:high], rising[c])
                for c, (low, high) in enumerate(pairwise(first))
            ]
        )
        before, matching = matching, expit(power * (has @ weights) + odds)
        matching = np.where(is_held, held, matching)
        converged = float(np.abs(matching - before) @ count) <= _SETTLED * total
    share = float(expit(odds))
    certainty = float((matching**2) @ count / max(matching @ count, 1e-300))
    by_comparator = [tuple(np.split(array, first[1:-1])) for array in (weights, m, u)]
    fitted = FellegiSunter(
        weights=by_comparator[0],
        log_prior_odds=odds,
        m=by_comparator[1],
        u=by_comparator[2],
        share=share,
        power=power,
        certainty=certainty,
        n_pairs=int(total),
        n_iter=n_iter,
        converged=converged,
        warnings=_doubts(by_comparator[0], share, certainty, total, converged, max_iter),
    )
    return fitted, matching


def _distributions(mass, occurrences, first, smoothing) -> NDArray[np.float64]:
    """Probabilities of the levels of each comparator that occur, of those with no value missing."""
    found = mass + smoothing * (occurrences > 0)
    found[first[:-1]] = 0.0
    totals = np.add.reduceat(found, first[:-1])
    return found / np.repeat(np.maximum(totals, 1e-300), np.diff(first))


def _log_ratio(m, u, is_rising) -> NDArray[np.float64]:
    """log(m / u) of levels that occur; of the others, what lies between their neighbours. Level 0 has 0."""
    weight = np.zeros(len(m))
    at = np.flatnonzero((m > 0) & (u > 0))
    if len(at) == 0:
        return weight
    ratio = np.log(m[at] / u[at])
    if is_rising:
        if (ratio[1:] < ratio[:-1]).any():
            ratio = isotonic_regression(ratio, weights=m[at] + u[at]).x
        weight[1:] = np.interp(np.arange(1, len(m)), at, ratio)
    weight[at] = ratio
    return weight


def _doubts(weights, share, certainty, total, converged, max_iter) -> tuple[str, ...]:
    """Why the two classes may not be matches and the others."""
    said = []
    if sum(bool(weight.any()) for weight in weights) < 3:
        said.append("fewer than three comparators say anything, too few to tell classes apart; label some pairs")
    if certainty < _LEAST_CERTAIN:
        said.append(f"classes overlap (certainty {certainty:.2f}); add comparators, or label some pairs")
    if share * total < _FEW_MATCHES:
        said.append(f"only about {share * total:.0f} of {total:.0f} pairs seem to match; draw more pairs from blocks")
    if share > _LARGE_SHARE:
        said.append(f"{share:.0%} of the pairs seem to match, so the classes may be something else; label some pairs")
    if not converged:
        said.append(f"EM had not settled after max_iter={max_iter} rounds; raise it")
    return tuple(said)


def draw_pairs(blocks: Blocks, n_pairs: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw distinct pairs of records that share a block, each as likely as any other: (left, right), left < right.

    Parameters
    ----------
    blocks : Blocks
    n_pairs : int
        How many at most; there may be fewer.
    rng : numpy.random.Generator
    """
    size = np.diff(blocks.block_ptr)
    n_of_block = size * (size - 1) // 2
    ends = np.cumsum(n_of_block)
    n_all = int(ends[-1]) if len(ends) else 0
    n_records = len(blocks.record_ptr) - 1
    # With few pairs all are looked at; else more are drawn than needed, for some will turn out to be the same.
    drawn = np.arange(n_all) if n_all <= 4 * n_pairs else np.unique(rng.integers(0, n_all, 4 * n_pairs))
    block = np.searchsorted(ends, drawn, side="right")
    number = drawn - (ends - n_of_block)[block]
    # The pairs of a block are numbered 01, 02, 12, 03, ...: pair (i, j) has the number j (j - 1) / 2 + i.
    high = ((1 + np.sqrt(1 + 8 * number.astype(np.float64))) / 2).astype(np.int64)
    high -= high * (high - 1) // 2 > number
    low = number - high * (high - 1) // 2
    start = blocks.block_ptr[block]
    left = blocks.block_members[start + low].astype(np.int64)
    right = blocks.block_members[start + high].astype(np.int64)
    if len(drawn) < n_all:
        left, right = _equally_likely(blocks, left, right, rng)
    codes = np.unique(left * n_records + right)
    if len(codes) > n_pairs:
        codes = np.sort(rng.choice(codes, n_pairs, replace=False))
    return codes // n_records, codes % n_records


def _equally_likely(blocks, left, right, rng):
    """Of pairs drawn block by block, some: one that shares k blocks was k times as likely, and is kept one in k."""
    ones = np.ones(len(blocks.record_blocks), dtype=np.int32)
    shape = (len(blocks.record_ptr) - 1, len(blocks.block_ptr) - 1)
    lies_in = csr_array((ones, blocks.record_blocks, blocks.record_ptr), shape=shape)
    n_shared = np.asarray(lies_in[left].multiply(lies_in[right]).sum(axis=1)).ravel()
    kept = rng.random(len(left)) * n_shared < 1.0
    return left[kept], right[kept]


def levels_without_labels(
    comparisons: Comparisons, blocks: Blocks, *, n_pairs: int = 200_000, rng: np.random.Generator
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Levels of pairs drawn from blocks, and of random pairs: what `fellegi_sunter` learns from."""
    left, right = draw_pairs(blocks, n_pairs, rng)
    n_records = len(comparisons.value_of_record)
    first = rng.integers(0, n_records, n_pairs // 2)
    second = (first + rng.integers(1, max(n_records, 2), len(first))) % n_records
    return compare_pairs(comparisons, left, right), compare_pairs(comparisons, first, second)
