"""Weights from few labelled pairs: penalised logistic regression on the levels of comparators."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import LogisticRegression

from walkstep.learning.fellegi_sunter import PairWeights

_TRUST = 0.3  # how much cheaper than a level's own weight it is to follow the prior


def pair_regression(
    levels: ArrayLike,
    same: ArrayLike,
    n_levels: Sequence[int],
    *,
    groups: Sequence[Hashable | None] | None = None,
    prior: PairWeights | None = None,
    rate: float = 0.3,
    max_iter: int = 2000,
) -> PairWeights:
    """Learn what levels say of a match from labelled pairs, some hundreds of them or fewer.

    Every level but 0 (missing) is a feature of its own, with a squared penalty. The k comparators of one group share
    what a single one could use: their features are scaled by 1 / sqrt(k), so that a column does not gain by being
    compared in many ways. The prior odds are those of the labelled pairs: where both kinds were chosen in equal
    numbers and the non-matches are hard ones, as is usual, they suit the search better than those of all pairs.

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
    prior : PairWeights, optional
        From `fellegi_sunter`: what it says of each group is one feature more, so that levels which no labelled pair
        has get weights too.
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
    _check(given, label, n_levels, names, prior, rate)
    used = [c for c, name in enumerate(names) if name is not None]
    scale = {c: 1.0 / np.sqrt(names.count(names[c])) for c in used}
    features = [scale[c] * (given[:, [c]] == np.arange(1, n_levels[c])) for c in used]
    members = [[c for c in used if names[c] == name] for name in dict.fromkeys(names[c] for c in used)]
    if prior is not None:
        said = [sum((prior.weights[c][given[:, c]] for c in group), np.zeros(len(given))) for group in members]
        features.append(_TRUST * np.stack(said, axis=1))
    fitted = LogisticRegression(C=rate, max_iter=max_iter).fit(np.concatenate(features, axis=1), label)
    weights = [np.zeros(n) for n in n_levels]
    at = 0
    for c in used:
        weights[c][1:] = scale[c] * fitted.coef_[0, at : at + n_levels[c] - 1]
        at += n_levels[c] - 1
    if prior is not None:
        for group, slope in zip(members, fitted.coef_[0, at:], strict=True):
            for c in group:
                weights[c] += _TRUST * slope * prior.weights[c]
    return PairWeights(tuple(weights), float(fitted.intercept_[0]))


def _check(
    given: NDArray[np.int64],
    label: NDArray[np.bool_],
    n_levels: Sequence[int],
    names: list[Hashable | None],
    prior: PairWeights | None,
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
    if prior is not None and [len(weight) for weight in prior.weights] != list(n_levels):
        raise ValueError(f"prior has weights for other comparators than the {n} whose levels are given")
    if not rate > 0.0:
        raise ValueError(f"rate is {rate}; give a number above 0")
