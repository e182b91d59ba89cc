"""The file of a trained model of label sets: plain arrays and JSON, no code."""

import os
from typing import Any

import numpy as np

from walkstep.apps.row_features import RowFeatures
from walkstep.data.archive import load_archive, save_archive

_KIND = "MultiLabelClassifier"
_SETTINGS_NOT_SAVED = ("signal", "random_state")


def save_classifier(classifier: Any, path: str | os.PathLike[str]) -> None:
    """Write a trained classifier to one file."""
    settings = {
        name: value
        for name, value in classifier.get_params().items()
        if name not in _SETTINGS_NOT_SAVED and not callable(value)
    }
    features = classifier.features_
    description = {
        "settings": {name: getattr(value, "item", lambda value=value: value)() for name, value in settings.items()},
        "label_names": classifier.label_names_,
        "classes": classifier.classes_.tolist(),
        "is_single": classifier.is_single_,
        "n_features_in": classifier.n_features_in_,
        "feature_names_in": list(getattr(classifier, "feature_names_in_", [])),
        "seed": classifier.seed_,
        "decision_temperature": classifier.decision_temperature_,
        "proba_temperature": classifier.proba_temperature_,
        "features": {"kind": features.kind, "gamma": features.gamma},
    }
    arrays = {
        "coefficients": classifier.coefficients_,
        "intercepts": classifier.intercepts_,
        "coupling": classifier.coupling_,
        "shift": features.shift,
        "factor": features.factor,
        "landmarks": features.landmarks,
        "projection": features.projection,
    }
    save_archive(path, _KIND, description, arrays)


def load_classifier(kind: type, path: str | os.PathLike[str]) -> Any:
    """Read what `save_classifier` wrote, into an estimator of the given class."""
    description, arrays = load_archive(path, _KIND)
    classifier = kind(**description["settings"])
    classifier.label_names_ = tuple(description["label_names"])
    classifier.classes_ = np.array(description["classes"])
    classifier.is_single_ = description["is_single"]
    classifier.n_features_in_ = description["n_features_in"]
    if description["feature_names_in"]:
        classifier.feature_names_in_ = np.array(description["feature_names_in"], dtype=object)
    classifier.seed_ = description["seed"]
    classifier.decision_temperature_ = description["decision_temperature"]
    classifier.proba_temperature_ = description["proba_temperature"]
    classifier.coefficients_, classifier.intercepts_ = arrays["coefficients"], arrays["intercepts"]
    classifier.coupling_ = arrays["coupling"]
    classifier.features_ = RowFeatures(
        kind=description["features"]["kind"],
        shift=arrays["shift"],
        factor=arrays["factor"],
        landmarks=arrays["landmarks"],
        projection=arrays["projection"],
        gamma=description["features"]["gamma"],
    )
    classifier.epochs_, classifier.interrupted_ = [], False
    return classifier
