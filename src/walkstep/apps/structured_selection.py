"""Choosing features, prior and decision of a model over a space, by cross-validation on the training rows."""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from walkstep.apps.row_features import fit_features
from walkstep.apps.structured_learners import epochs_of_training, is_by_likelihood, n_epochs_of
from walkstep.learning.structured_map import MapEpoch, MapProblem
from walkstep.learning.structured_model import StructuredModel, StructuredTruth
from walkstep.worlds.space import Space

SIGMAS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Standard deviations of the prior that are tried, from the narrow one up."""

BANDWIDTHS = (0.35, 0.7, 1.4, 2.8)
"""Widths of kernels that are tried: the second and the third, and from the better one on while that helps."""

FOLDS = {300: 10, 1000: 5}
"""Up to so many rows so many folds, where nobody has said: of few rows, what chance does to one choice is costly."""

_MANY_ROWS_FOLDS = 3
_MAX_ROWS = 2000
_PERIOD = 8
_GAIN = 1e-2  # enough to tell settings apart
_SIGMA = 3.0  # where nothing chooses: for learners without a prior

_MIDDLE = 0.7  # of widths, likewise

Fold = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Rows that are trained on, and rows that are held out."""

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
    widths = BANDWIDTHS if estimator.bandwidth is None else (estimator.bandwidth,)
    sigmas = SIGMAS if estimator.sigma is None else (estimator.sigma,)
    if not is_by_likelihood(estimator.learner):
        sigmas = (_SIGMA,)
    kind = "linear" if estimator.features == "auto" else estimator.features
    is_open = estimator.features == "auto" or (kind != "linear" and len(widths) > 1) or len(sigmas) > 1
    rows = np.sort(rng.permutation(truth.n_rows)[:_MAX_ROWS])
    n_folds = min(estimator.n_folds or _suiting_folds(len(rows)), len(rows))
    if not (is_open or needs_threshold) or n_folds < 2:
        sigma = _SIGMA if len(sigmas) > 1 else sigmas[0]
        return Chosen(kind, widths[0] if len(widths) == 1 else _MIDDLE, sigma, 0.5, None)
    folds = [
        (rows[train], rows[held_out])
        for train, held_out in KFold(n_folds, shuffle=True, random_state=int(rng.integers(2**31))).split(rows)
    ]
    trial = _Trial(estimator, X, space, truth, judge, rng, folds, sigmas)
    if kind != "linear":
        return _best_width(trial, kind, widths)
    found = [trial.best_of(kind, widths[0])]
    if estimator.features == "auto":
        found.append(_best_width(trial, "rbf", widths))
        found.append(trial.best_of("both", found[-1].bandwidth))
    return max(found, key=lambda chosen: chosen.quality or 0.0)


def _suiting_folds(n_rows: int) -> int:
    """How many folds cross-validation has where nobody has said."""
    return next((n_folds for most, n_folds in FOLDS.items() if n_rows <= most), _MANY_ROWS_FOLDS)


def _best_width(trial: "_Trial", kind: str, widths: Sequence[float]) -> Chosen:
    """The best of a kernel's widths, as climbing finds it: the two in the middle, then on from the better one."""
    if len(widths) == 1:
        return trial.best_of(kind, widths[0])
    at = len(widths) // 2 - 1
    one, other = trial.best_of(kind, widths[at]), trial.best_of(kind, widths[at + 1])
    best, rest = (one, widths[:at][::-1]) if _as_good(one, other) else (other, widths[at + 2 :])
    for width in rest:
        further = trial.best_of(kind, width)
        if _as_good(best, further):
            break
        best = further
    return best


def _as_good(one: Chosen, other: Chosen) -> bool:
    return (one.quality or 0.0) >= (other.quality or 0.0)


class _Trial(NamedTuple):
    """What settings are tried on."""

    estimator: Any
    X: Any
    space: Space
    truth: StructuredTruth
    judge: Judge
    rng: np.random.Generator
    folds: Sequence[Fold]
    sigmas: Sequence[float]

    def best_of(self, kind: str, bandwidth: float) -> Chosen:
        """The prior that suits these features best, from the narrow one up: wider does better until it does worse."""
        tables = [_tables(self.estimator, self.X, fold, kind, bandwidth, self.rng) for fold in self.folds]
        held_out = np.concatenate([out for _, out in self.folds])
        starts: list[Any] = [None] * len(self.folds)
        best: Chosen | None = None
        n_worse = 0
        for sigma in self.sigmas:
            scores = []
            for k, ((train, _), (rows_in, rows_out)) in enumerate(zip(self.folds, tables, strict=True)):
                model = self._trained(MapProblem(self.space, rows_in, self.truth.of(train), sigma), starts[k])
                starts[k] = model.weights if is_by_likelihood(self.estimator.learner) else None
                scores.append(model.scores(rows_out))
            quality, threshold = self.judge(np.concatenate(scores), held_out)
            if self.estimator.verbose:
                width = "" if kind == "linear" else f", bandwidth {bandwidth}"
                n_folds = len(self.folds)
                sys.stderr.write(f"{kind} features{width}, sigma {sigma:g}: {quality:.4f} in {n_folds} folds\n")
            n_worse = 0 if best is None or quality > (best.quality or 0.0) else n_worse + 1
            if n_worse == 0:
                best = Chosen(kind, bandwidth, sigma, threshold, quality)
            if n_worse == 2:
                break
        assert best is not None
        return best

    def _trained(self, problem: MapProblem, start: Any) -> StructuredModel:
        """The model of one fold."""
        n_epochs = n_epochs_of(self.estimator, self.space, problem.n_rows)
        epochs = epochs_of_training(self.estimator, problem, n_epochs, self.rng, start=start)
        *_, last = until_settled(epochs, _GAIN)
        return last.model


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


def _tables(
    estimator: Any, X: Any, fold: Fold, kind: str, bandwidth: float, rng: np.random.Generator
) -> tuple[Any, Any]:
    """Features of the rows of a fold that are trained on, and of those that are held out."""
    train, held_out = fold
    features = fit_features(X[train], kind, bandwidth=bandwidth, **feature_settings(estimator), rng=rng)
    return features.transform(X[train]), features.transform(X[held_out])
