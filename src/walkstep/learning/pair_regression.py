"""Weights from labelled pairs: penalised logistic regression on the levels of comparators, rising where they do."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import block_diag
from scipy.optimize import minimize

from walkstep.learning.fellegi_sunter import PairWeights


def pair_regression(
    levels: ArrayLike,
    same: ArrayLike,
    n_levels: Sequence[int],
    *,
    groups: Sequence[Hashable | None] | None = None,
    rising: Sequence[bool] | None = None,
    rate: float = 0.3,
    max_iter: int = 300,
) -> PairWeights:
    """Learn what levels say of a match from labelled pairs.

    Every level but 0 (missing) has a weight of its own, with a squared penalty. Where levels are steps of likeness,
    the weight may not fall from one to the next, and it is the steps that are penalised: what is more alike never
    speaks less for a match, however few pairs there are. The k comparators of one group share what a single one could
    use: their features are scaled by 1 / sqrt(k), so that a column does not gain by being compared in many
    ways. The prior odds are those of the labelled pairs: where both kinds were chosen in equal numbers and the
    non-matches are hard ones, as is usual, they suit the search better than those of all pairs.

    Parameters
    ----------
    levels : int array (P, C)
        Of the labelled pairs.
    same : bool array (P,)
        Whether they match.
    n_levels : sequence of int (C,)
    groups : sequence (C,), optional
        What each comparator is about, such as its column; None leaves one out, with weights 0. By default each is a
        group of its own.
    rising : sequence of bool (C,), optional
        Which comparators' weights must not fall from level 1 on; by default none.
    rate : float
        The inverse of the penalty.
    max_iter : int
        Rounds of the optimiser.

    Examples
    --------
    >>> levels = [[1, 1], [1, 2], [2, 2], [2, 2], [2, 1], [1, 1]]
    >>> learned = pair_regression(levels, [0, 0, 1, 1, 1, 0], [3, 3])
    >>> [weight.round(2).tolist() for weight in learned.weights]
    [[0.0, -0.36, 0.36], [0.0, -0.1, 0.1]]
    """
    given, label = np.asarray(levels, dtype=np.int64), np.asarray(same).astype(bool)
    names: list[Hashable | None] = [*range(len(n_levels))] if groups is None else [*groups]
    rises = [False] * len(n_levels) if rising is None else [bool(one) for one in rising]
    _check(given, label, n_levels, names, rises, rate)
    spans = _spans(n_levels, names, rises)
    # Many pairs have the same levels: each combination counts once, with its matches and non-matches.
    patterns, which = np.unique(given, axis=0, return_inverse=True)
    which = which.reshape(-1)
    n_same = np.bincount(which, label, len(patterns))
    n_all = np.bincount(which, minlength=len(patterns))
    offset = np.concatenate([[0], np.cumsum(n_levels)])
    used = np.fromiter(spans, np.int64)
    at_level = (patterns + offset[:-1])[:, used]
    span = np.asarray(block_diag(*(spans.get(c, np.zeros((n, 0))) for c, n in enumerate(n_levels))))

    def loss(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        free = parameters[1:]
        score = parameters[0] + (span @ free)[at_level].sum(axis=1)
        value = n_all @ np.logaddexp(0.0, score) - n_same @ score + 0.5 / rate * (free @ free)
        slope = n_all / (1.0 + np.exp(-score)) - n_same
        by_level = np.bincount(at_level.ravel(), np.repeat(slope, len(used)), len(span))
        return value, np.concatenate([[slope.sum()], span.T @ by_level + free / rate])

    bounds: list[tuple[float | None, float | None]] = [(None, None)]
    for c, steps in spans.items():
        bounds += [(0.0, None) if rises[c] and k > 0 else (None, None) for k in range(steps.shape[1])]
    start = np.zeros(len(bounds))
    start[0] = np.log(label.sum() / (~label).sum())
    options = {"maxiter": max_iter, "maxfun": 2 * max_iter, "ftol": 1e-10}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    return PairWeights(tuple(np.split(span @ found[1:], offset[1:-1])), float(found[0]))


def _spans(
    n_levels: Sequence[int], names: Sequence[Hashable | None], rises: Sequence[bool]
) -> dict[int, NDArray[np.float64]]:
    """The features of each level of each comparator that is used: one column a level, or one a step that is reached."""
    spans = {}
    for c, name in enumerate(names):
        if name is None:
            continue
        level = np.arange(n_levels[c])[:, None]
        steps = np.arange(1, n_levels[c])
        span = level >= steps if rises[c] else level == steps
        spans[c] = span / np.sqrt(names.count(name))
    return spans


def _check(
    given: NDArray[np.int64],
    label: NDArray[np.bool_],
    n_levels: Sequence[int],
    names: list[Hashable | None],
    rises: list[bool],
    rate: float,
) -> None:
    n = len(n_levels)
    if given.ndim != 2 or given.shape[1] != n:
        raise ValueError(f"levels has shape {given.shape}; give a row for each pair and {n} columns")
    wrong = np.argwhere((given < 0) | (given >= np.asarray(n_levels)))
    if len(wrong):
        p, c = wrong[0]
        raise ValueError(f"levels has level {given[p, c]} at pair {p}, comparator {c}, which has {n_levels[c]} levels")
    if label.shape != (len(given),):
        raise ValueError(f"same has shape {label.shape}; give one label for each of the {len(given)} pairs")
    if label.all() or not label.any():
        kind = "matches" if label.any() else "non-matches"
        raise ValueError(f"all {len(label)} labelled pairs are {kind}; label some of the other kind, or use no labels")
    if len(names) != n or all(name is None for name in names):
        raise ValueError(f"groups are {names}; give one for each of the {n} comparators, not all of them None")
    if len(rises) != n:
        raise ValueError(f"rising has {len(rises)} entries; give one for each of the {n} comparators")
    if not rate > 0.0:
        raise ValueError(f"rate is {rate}; give a number above 0")
