"""How sure a score is: bootstrap intervals and paired permutation tests over documents."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Metric = Callable[[NDArray[np.float64]], float]

_CELLS_AT_ONCE = 4_000_000  # random numbers held in memory at a time


class Interval(NamedTuple):
    """A score, and the range that resampled documents give it."""

    score: float
    low: float
    high: float
    level: float

    def __str__(self) -> str:
        return f"{self.score:.4f} ({self.level:.0%} interval {self.low:.4f} to {self.high:.4f})"


class Comparison(NamedTuple):
    """Two systems' scores, and how likely so large a difference is if the systems do not differ."""

    first: float
    second: float
    p_value: float
    n_permutations: int

    @property
    def difference(self) -> float:
        """The first score minus the second."""
        return self.first - self.second


def f1_of_counts(totals: NDArray) -> float:
    """F1 of summed counts (correct, predicted, true), the rows of `span_counts` and `label_set_counts`.

    Examples
    --------
    >>> f1_of_counts(np.array([2, 4, 4]))
    0.5
    """
    correct, predicted, true = totals
    return float(2 * correct / (predicted + true)) if predicted + true else 0.0


def bootstrap_interval(
    counts: ArrayLike,
    metric: Metric = f1_of_counts,
    *,
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """The interval of a score when documents are drawn again, with replacement (percentile bootstrap).

    Parameters
    ----------
    counts : array (n_documents, n_counts)
        What each document contributes; the score depends on the sums of the columns alone.
    metric : function of an array (n_counts,) to float
        The score of summed counts.
    level : float
        How much of the resampled scores the interval holds.
    n_resamples : int
        How many times all documents are drawn again.
    seed : int
        The same seed gives the same interval.

    Examples
    --------
    >>> counts = np.tile([[9, 10, 10], [5, 10, 10]], (50, 1))
    >>> print(bootstrap_interval(counts))
    0.7000 (95% interval 0.6600 to 0.7360)
    """
    table = _table("counts", counts)
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; give a share between 0 and 1, such as 0.95")
    _check_repeats("n_resamples", n_resamples)
    rng = np.random.default_rng(seed)
    n_documents = len(table)
    share = np.full(n_documents, 1 / n_documents)
    scores = np.concatenate(
        [
            _scores(metric, rng.multinomial(n_documents, share, size=n).astype(np.float64) @ table)
            for n in _batches(n_resamples, n_documents)
        ]
    )
    low, high = np.quantile(scores, [(1 - level) / 2, (1 + level) / 2])
    return Interval(_score(metric, table.sum(axis=0)), float(low), float(high), level)


def permutation_test(
    first: ArrayLike,
    second: ArrayLike,
    metric: Metric = f1_of_counts,
    *,
    n_permutations: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Whether two systems differ on the same documents: the paired approximate-randomisation test.

    If the systems are alike, swapping their results on a document changes nothing. The p-value is the share
    of random swaps, the actual result among them, whose scores differ at least as much as the actual ones::

        p = (1 + number of swaps with |difference| >= |actual difference|) / (1 + n_permutations)

    Parameters
    ----------
    first, second : arrays (n_documents, n_counts)
        What each document contributes to either system's score, in the same order of documents.
    metric : function of an array (n_counts,) to float
        The score of summed counts.
    n_permutations : int
        How many random swaps are tried.
    seed : int
        The same seed gives the same p-value.

    Examples
    --------
    >>> better, worse = np.tile([9, 10, 10], (20, 1)), np.tile([7, 10, 10], (20, 1))
    >>> result = permutation_test(better, worse, n_permutations=999)
    >>> round(result.difference, 3), result.p_value
    (0.2, 0.001)
    """
    one, other = _table("first", first), _table("second", second)
    if one.shape != other.shape:
        raise ValueError(
            f"first has shape {one.shape} but second has {other.shape}; give both systems' counts of the same documents"
        )
    _check_repeats("n_permutations", n_permutations)
    rng = np.random.default_rng(seed)
    total, other_total = one.sum(axis=0), other.sum(axis=0)
    score, other_score = _score(metric, total), _score(metric, other_total)
    # Sums in another order differ in their last digits; equal differences must count as equal.
    actual = abs(score - other_score) * (1 - 1e-9) - 1e-12
    n_as_large = 0
    for n in _batches(n_permutations, len(one)):
        swapped = rng.integers(0, 2, size=(n, len(one))).astype(np.float64) @ (other - one)
        differences = _scores(metric, total + swapped) - _scores(metric, other_total - swapped)
        n_as_large += int(np.sum(np.abs(differences) >= actual))
    return Comparison(score, other_score, (1 + n_as_large) / (1 + n_permutations), n_permutations)


def _table(name: str, counts: ArrayLike) -> NDArray[np.float64]:
    """Counts as a checked table of numbers."""
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim != 2 or len(table) == 0:
        raise ValueError(f"{name} has shape {table.shape}; give a table (n_documents, n_counts) with rows")
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise ValueError(f"{name}[{row}, {column}] is {table[row, column]}; give finite counts")
    return table


def _check_repeats(name: str, n_repeats: int) -> None:
    """An error for a number of repeats below one."""
    if n_repeats < 1:
        raise ValueError(f"{name} is {n_repeats}; give at least 1")


def _batches(n_repeats: int, n_documents: int) -> Iterator[int]:
    """Sizes of the batches that are drawn at once."""
    size = max(1, _CELLS_AT_ONCE // n_documents)
    for start in range(0, n_repeats, size):
        yield min(size, n_repeats - start)


def _scores(metric: Metric, totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """The score of each row of totals."""
    return np.array([_score(metric, row) for row in totals])


def _score(metric: Metric, totals: NDArray[np.float64]) -> float:
    """A metric's value, which must be a number."""
    score = float(metric(totals))
    if not np.isfinite(score):
        raise ValueError(f"metric gave {score} for totals {totals.tolist()}; let it return a finite number there")
    return score
