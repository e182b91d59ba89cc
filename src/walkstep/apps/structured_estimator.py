"""What estimators of structures share: rows in, a model over a space trained on them, its scores for new rows."""

import os
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from walkstep.apps.progress import EpochProgress
from walkstep.apps.row_features import KINDS, RowFeatures, fit_features
from walkstep.apps.structured_learners import check_learner, epochs_of_training, is_by_likelihood, n_epochs_of
from walkstep.apps.structured_selection import Judge, choose_settings, feature_settings, until_settled
from walkstep.blas_threads import suiting_threads
from walkstep.data.archive import load_archive, save_archive
from walkstep.learning.structured_map import MapEpoch, MapProblem
from walkstep.learning.structured_model import StructuredModel, StructuredTruth
from walkstep.worlds.space import Space
from walkstep.worlds.space_worlds import MOVES

_NOT_SAVED = ("random_state", "tree")
_GAIN = 1e-4  # training ends when the objective falls by less


class StructuredEstimator(BaseEstimator):
    """Rows of features in, structures of a space out; `LabelRanker` and `HierarchyClassifier` say which space."""

    DECISIONS: ClassVar[tuple[str, ...]] = ()

    features: str
    learner: str
    sigma: float | None
    decision: str
    n_epochs: int | None
    n_samples: int
    n_folds: int | None
    batch_size: int
    n_components: int
    bandwidth: float | None
    moves: str
    random_state: Any
    verbose: int
    space_: Any
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags

    # Training

    def _rows(self, X: Any, *, reset: bool) -> Any:
        """Rows as numbers; what is missing is filled in by what training rows hold on average."""
        rows: Any = validate_data(
            self, X, accept_sparse="csr", dtype=np.float64, ensure_all_finite="allow-nan", reset=reset
        )
        if issparse(rows):
            if np.isnan(rows.data).any():
                raise ValueError("X is sparse and holds NaN; fill in what is missing, or give a dense array")
            if reset:
                self.fill_ = np.zeros(rows.shape[1])
            return rows
        missing = np.isnan(rows)
        if reset:
            n_there = (~missing).sum(axis=0)
            self.fill_ = np.where(missing, 0.0, rows).sum(axis=0) / np.maximum(n_there, 1)
        return np.where(missing, self.fill_, rows) if missing.any() else rows

    def _check_settings(self) -> None:
        """Refuse settings that cannot be, before any work is done."""
        check_learner(self.learner)
        for name, value, known in (
            ("features", self.features, ("auto", *KINDS)),
            ("decision", self.decision, self.DECISIONS),
            ("moves", self.moves, MOVES),
        ):
            if value not in known:
                raise ValueError(f"{name} is {value!r}; choose one of {', '.join(known)}")
        for name, value, least in (
            ("n_epochs", self.n_epochs, 1),
            ("n_samples", self.n_samples, 1),
            ("n_folds", self.n_folds, 2),
            ("batch_size", self.batch_size, 1),
        ):
            if value is not None and value < least:
                raise ValueError(f"{name} is {value}; give {least} or more")
        for name, value in (("sigma", self.sigma), ("bandwidth", self.bandwidth)):
            if value is not None and not 0.0 < value < np.inf:
                raise ValueError(f"{name} is {value}; give a positive number, or None to let training rows choose")

    def _train(self, rows: Any, space: Space, truth: StructuredTruth, judge: Judge, *, needs_threshold: bool) -> None:
        """Choose what is open, and train on all rows."""
        n_products = rows.shape[0] * min(rows.shape[1], self.n_components) * space.n_statistics
        with suiting_threads(n_products):
            self._choose_and_train(rows, space, truth, judge, needs_threshold)

    def _choose_and_train(
        self, rows: Any, space: Space, truth: StructuredTruth, judge: Judge, needs_threshold: bool
    ) -> None:
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        self.space_, self.seed_ = space, int(rng.integers(2**31))
        chosen = choose_settings(self, rows, space, truth, judge, rng, needs_threshold=needs_threshold)
        self.sigma_, self.threshold_, self.cross_validated_ = chosen.sigma, chosen.threshold, chosen.quality
        self.bandwidth_ = chosen.bandwidth
        self.features_: RowFeatures = fit_features(
            rows, chosen.features, bandwidth=chosen.bandwidth, **feature_settings(self), rng=rng
        )
        problem = MapProblem(space, self.features_.transform(rows), truth, chosen.sigma)
        n_epochs = n_epochs_of(self, space, truth.n_rows)
        self.epochs_: list[MapEpoch] = []
        self.interrupted_ = False
        with EpochProgress(n_epochs, self.verbose) as progress:
            try:
                for epoch in until_settled(epochs_of_training(self, problem, n_epochs, rng), _GAIN):
                    self._model = epoch.model
                    self.epochs_.append(epoch._replace(model=_NO_MODEL))  # the last one is kept, and not all
                    progress.show(epoch.number, self._progress_text(epoch))
            except KeyboardInterrupt:
                if not self.epochs_:
                    raise
                self.interrupted_ = True
                progress.show(len(self.epochs_), "interrupted: keeping what was learned so far")
        self.coefficients_, self.intercepts_ = self._model
        del self._model

    def _progress_text(self, epoch: MapEpoch) -> str:
        if is_by_likelihood(self.learner):
            return f"objective {epoch.objective:.4f}" if epoch.n_steps == 0 else f"slope {epoch.objective:.4f}"
        return f"{epoch.objective:.1%} of pairs corrected"

    # Answers

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """What each statistic scores in each row."""
        check_is_fitted(self)
        rows = self.features_.transform(self._rows(X, reset=False))
        return StructuredModel(self.coefficients_, self.intercepts_).scores(rows)

    # Keeping

    def _save(self, path: str | os.PathLike[str], description: dict[str, Any]) -> None:
        """Write the trained model to one file: plain arrays and JSON, no code."""
        settings = {name: value for name, value in self.get_params().items() if name not in _NOT_SAVED}
        features = self.features_
        about = {
            "settings": {name: getattr(value, "item", lambda value=value: value)() for name, value in settings.items()},
            "n_features_in": self.n_features_in_,
            "feature_names_in": list(getattr(self, "feature_names_in_", [])),
            "seed": self.seed_,
            "sigma": self.sigma_,
            "bandwidth": self.bandwidth_,
            "threshold": self.threshold_,
            "cross_validated": self.cross_validated_,
            "features": {"kind": features.kind, "gamma": features.gamma},
            **description,
        }
        arrays = {name: getattr(features, name) for name in ("shift", "factor", "landmarks", "projection")}
        arrays |= {"coefficients": self.coefficients_, "intercepts": self.intercepts_, "fill": self.fill_}
        save_archive(path, type(self).__name__, about, arrays)

    @classmethod
    def _load(cls, path: str | os.PathLike[str]) -> tuple[Self, dict[str, Any]]:
        """Read what `_save` wrote, but for the space; and what was said of it."""
        about, arrays = load_archive(path, cls.__name__)
        made = cls(**about["settings"])
        made.n_features_in_ = about["n_features_in"]
        if about["feature_names_in"]:
            made.feature_names_in_ = np.array(about["feature_names_in"], dtype=object)
        made.seed_, made.sigma_, made.threshold_ = about["seed"], about["sigma"], about["threshold"]
        made.cross_validated_, made.bandwidth_ = about["cross_validated"], about["bandwidth"]
        made.coefficients_, made.intercepts_, made.fill_ = (arrays[k] for k in ("coefficients", "intercepts", "fill"))
        made.features_ = RowFeatures(
            kind=about["features"]["kind"],
            gamma=about["features"]["gamma"],
            **{name: arrays[name] for name in ("shift", "factor", "landmarks", "projection")},
        )
        made.epochs_, made.interrupted_ = [], False
        return made, about


_NO_MODEL = StructuredModel(np.zeros((0, 0)), np.zeros(0))
