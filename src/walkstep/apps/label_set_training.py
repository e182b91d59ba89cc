"""Training a model of label sets, whatever the learner: features first, then the labels that are not always alike."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.apps.label_pairs import label_pairs
from walkstep.apps.label_set_learners import in_jax, suiting_inference, way_of_learning
from walkstep.apps.label_set_model import LabelSetModel
from walkstep.apps.label_set_samples import learn_by_sampling
from walkstep.apps.label_set_walk import learn_by_walking
from walkstep.apps.progress import EpochProgress
from walkstep.apps.row_features import RowFeatures, fit_features

_OF_FEATURES = ("standardize", "bandwidth", "n_landmarks", "n_components")
_OF_MESSAGES = (
    *("learner", "loss", "n_rounds", "damping", "decode_temperature", "cost", "optimiser", "n_epochs", "batch_size"),
    *("l2", "average"),
)
_MESSAGE_RATE = 0.03


class LabelSetTraining(NamedTuple):
    """What came of training."""

    features: RowFeatures
    model: LabelSetModel
    epochs: list[Any]
    interrupted: bool


def train_label_sets(
    classifier: Any,
    X: Any,
    truth: NDArray[np.int32],
    rng: np.random.Generator,
    progress: EpochProgress | None = None,
) -> LabelSetTraining:
    """Features, model and how training went.

    Parameters
    ----------
    classifier : MultiLabelClassifier
        Whose settings are read.
    X : array or sparse matrix (n_rows, n_features)
    truth : int array (n_rows, n_labels)
        1 where a row bears a label, 0 where not, -1 where that is unknown.
    rng : Generator
    progress : EpochProgress, optional
    """
    settings = {name: getattr(classifier, name) for name in _OF_FEATURES}
    features = fit_features(X, classifier.features, **settings, rng=rng)
    rows = features.transform(X)
    n_labels, n_on, n_off = truth.shape[1], (truth == 1).sum(axis=0), (truth == 0).sum(axis=0)
    # A label that is always or never there needs no model, and would only follow strange rows astray.
    free = np.flatnonzero((n_on > 0) & (n_off > 0))
    coefficients = np.zeros((n_labels, rows.shape[1]))
    intercepts = np.log((n_on + 1.0) / (n_off + 1.0))
    coupling = np.zeros((n_labels, n_labels))
    epochs, interrupted = [], False
    if len(free):
        learn = _WAYS[way_of_learning(classifier.learner)]
        model, epochs, interrupted = learn(classifier, rows, truth[:, free], rng, progress)
        coefficients[free], intercepts[free], coupling[np.ix_(free, free)] = model
    return LabelSetTraining(features, LabelSetModel(coefficients, intercepts, coupling), epochs, interrupted)


def _learn_by_messages(
    classifier: Any, rows: Any, truth: NDArray[np.int32], rng: np.random.Generator, progress: EpochProgress | None
) -> tuple[LabelSetModel, list[Any], bool]:
    """A model trained by passing messages; see `learn_by_walking`."""
    messages = in_jax("walkstep.apps.label_set_messages", f"learner {classifier.learner!r}")

    def show(epoch: Any) -> None:
        if progress is not None:
            progress.show(epoch.number, f"objective {epoch.objective:.4f}")

    learner = message_learner(classifier, int(rng.integers(2**31)))
    pairs = label_pairs(truth, classifier.pairwise)
    model, learned = messages.learn_by_messages(learner, rows, truth, pairs, show=show)
    return model, learned.epochs, learned.interrupted


_WAYS = {"walk": learn_by_walking, "messages": _learn_by_messages, "samples": learn_by_sampling}


def message_learner(classifier: Any, seed: int) -> Any:
    """What trains by messages, as the settings of a classifier say."""
    learning = in_jax("walkstep.learning.message_learning", f"learner {classifier.learner!r}")
    return learning.MessageLearner(
        **{name: getattr(classifier, name) for name in _OF_MESSAGES},
        inference=trained_inference(classifier),
        rate=_MESSAGE_RATE if classifier.rate is None else classifier.rate,
        n_first_epochs=n_epochs_before_risk(classifier),
        random_state=seed,
    )


def trained_inference(classifier: Any) -> Any:
    """What weights are trained by messages to be used with."""
    if classifier.inference is not None:
        return classifier.inference
    return suiting_inference(classifier.learner, classifier.decision)


def n_epochs_before_risk(classifier: Any) -> int:
    """Passes by likelihood that risk begins with."""
    return classifier.n_epochs // 2 if classifier.n_first_epochs is None else classifier.n_first_epochs
