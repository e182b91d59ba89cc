"""Choosing features, prior and decision of a model over a space, by cross-validation on the training rows."""

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from walkstep.apps.row_features import fit_features
from walkstep.apps.structured_learners import epochs_of_training, is_by_likelihood, n_epochs_of
from walkstep.learning.structured_map import MapEpoch, MapProblem
from walkstep.learning.structured_model import StructuredTruth
from walkstep.worlds.space import Space

SIGMAS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Standard deviations of the prior that are tried, from the narrow one up."""

BANDWIDTHS = (0.35, 0.7, 1.4)
_MAX_ROWS = 2000
_PERIOD = 8
_GAIN = 1e-2  # enough to tell settings apart
_SIGMA = 3.0  # where nothing chooses: for learners without a prior

Judge = Callable[[NDArray[np.float64], NDArray[np.int64]], tuple[float, float]]


class Chosen(NamedTuple):
    """What to train with."""

    features: str
    bandwidth: float
    sigma: float
    threshold: float  # of the decision that takes one
    quality: float | None  # what cross-validation saw, None where there was nothing to choose


def choose_settings(
    estimator: Any,
    X: Any,
    space: Space,
    truth: StructuredTruth,
    judge: Judge,
    rng: np.random.Generator,
    *,
    needs_threshold: bool,
) -> Chosen:
    """Choose what the user has left open.

    Parameters
    ----------
    estimator : LabelRanker or HierarchyClassifier
        ``features="auto"`` leaves the features open, ``sigma=None`` the prior.
    X : float array or sparse matrix (n_rows, n_columns)
    space : Space
    truth : StructuredTruth
    judge : callable
        ``(scores, rows) -> (quality, threshold)`` of held-out rows.
    rng : Generator
    needs_threshold : bool
        Whether the decision takes a threshold, which is then chosen even where nothing else is open.
    """
    kinds = _kinds(estimator, X)
    sigmas = SIGMAS if estimator.sigma is None else (estimator.sigma,)
    if not is_by_likelihood(estimator.learner):
        sigmas = (_SIGMA,)
    if len(kinds) * len(sigmas) == 1 and not needs_threshold:
        return Chosen(*kinds[0], sigmas[0], 0.5, None)
    n_rows = truth.n_rows
    rows = np.sort(rng.permutation(n_rows)[:_MAX_ROWS])
    n_folds = min(estimator.n_folds, len(rows))
    if n_folds < 2:
        return Chosen(*kinds[0], _SIGMA if estimator.sigma is None else sigmas[0], 0.5, None)
    folds = [
        (rows[train], rows[held_out])
        for train, held_out in KFold(n_folds, shuffle=True, random_state=int(rng.integers(2**31))).split(rows)
    ]
    best: Chosen | None = None
    for kind, bandwidth in kinds:
        tables = [_tables(estimator, X, fold, kind, bandwidth, rng) for fold in folds]
        starts: list[Any] = [None] * len(folds)
        best_of_kind, n_worse = -np.inf, 0
        for sigma in sigmas:
            scores = []
            for k, ((train, _), (rows_in, rows_out)) in enumerate(zip(folds, tables, strict=True)):
                problem = MapProblem(space, rows_in, truth.of(train), sigma)
                n_epochs = n_epochs_of(estimator, space, len(train))
                *_, last = until_settled(epochs_of_training(estimator, problem, n_epochs, rng, start=starts[k]), _GAIN)
                model = last.model
                starts[k] = model.weights if is_by_likelihood(estimator.learner) else None
                scores.append(model.scores(rows_out))
            quality, threshold = judge(np.concatenate(scores), np.concatenate([out for _, out in folds]))
            if estimator.verbose:
                width = f", bandwidth {bandwidth}" if kind == "rbf" else ""
                sys.stderr.write(f"{kind} features{width}, sigma {sigma:g}: {quality:.4f} in {n_folds} folds\n")
            if best is None or quality > (best.quality or -np.inf):
                best = Chosen(kind, bandwidth, sigma, threshold, quality)
            # Wider and wider priors do better until they do worse.
            n_worse = n_worse + 1 if quality <= best_of_kind else 0
            best_of_kind = max(best_of_kind, quality)
            if n_worse == 2:
                break
    assert best is not None
    return best


def until_settled(epochs: Iterator[MapEpoch], gain: float) -> Iterator[MapEpoch]:
    """Epochs of training, as long as the objective falls by more than this share of it in eight of them."""
    objectives: list[float] = []
    for epoch in epochs:
        objectives.append(epoch.objective)
        is_known = epoch.n_steps == 0  # the objective itself, and no estimate of a slope
        before = objectives[-1 - _PERIOD] if is_known and len(objectives) > _PERIOD else np.inf
        has_settled = before - epoch.objective < gain * epoch.objective
        yield epoch._replace(is_last=epoch.is_last or has_settled)
        if has_settled:
            return


def feature_settings(estimator: Any) -> dict[str, Any]:
    """What `fit_features` takes of an estimator's settings, but for kind and bandwidth."""
    return {name: getattr(estimator, name) for name in ("standardize", "n_landmarks", "n_components")}


def _kinds(estimator: Any, X: Any) -> list[tuple[str, float]]:
    """Features to try, with the width of their kernel."""
    widths = BANDWIDTHS if estimator.bandwidth is None else (estimator.bandwidth,)
    if estimator.features == "auto":
        return [("linear", widths[0]), *(("rbf", width) for width in widths)]
    if estimator.features == "rbf":
        return [("rbf", width) for width in widths]
    return [(estimator.features, widths[0])]


def _tables(
    estimator: Any, X: Any, fold: tuple[NDArray[np.int64], NDArray[np.int64]], kind: str, bandwidth: float, rng: Any
) -> tuple[Any, Any]:
    """Features of the rows of a fold that are trained on, and of those that are held out."""
    train, held_out = fold
    features = fit_features(X[train], kind, bandwidth=bandwidth, **feature_settings(estimator), rng=rng)
    return features.transform(X[train]), features.transform(X[held_out])
