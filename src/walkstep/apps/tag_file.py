"""The file of a trained tagger: plain arrays and JSON, no code."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from walkstep.data.archive import load_archive, save_archive
from walkstep.model.grounding import Grounding

_KIND = "SequenceTagger"
_SETTINGS_NOT_SAVED = ("gazetteers", "clusters", "functions")


def save_tagger(tagger: Any, path: str | os.PathLike[str]) -> None:
    """Write a trained tagger to one file."""
    grounding, arrays = tagger.grounding_.state(without_functions=True)
    settings = {
        name: value
        for name, value in tagger.get_params().items()
        if name not in _SETTINGS_NOT_SAVED and isinstance(value, str | int | float | None)
    }
    description = {
        "settings": settings,
        "scheme": tagger.scheme_,
        "columns": tagger.columns_,
        "inner_scheme": tagger.inner_scheme_,
        "grounding": grounding,
        "dev_scores": tagger.dev_scores_,
        "temperature": tagger.temperature_,
    }
    save_archive(path, _KIND, description, {**arrays, "weights": tagger.weights_.astype(np.float32)})


def load_tagger(kind: type, path: str | os.PathLike[str], functions: Mapping[str, Any] | None) -> Any:
    """Read what `save_tagger` wrote, into an estimator of the given class."""
    description, arrays = load_archive(path, _KIND)
    tagger = kind(**description["settings"], functions=functions)  # what cannot be written keeps its default
    tagger.scheme_, tagger.inner_scheme_ = description["scheme"], description["inner_scheme"]
    tagger.columns_ = description["columns"]
    tagger.weights_ = arrays.pop("weights").astype(np.float64)
    tagger.grounding_ = Grounding.from_state(description["grounding"], arrays, functions=functions)
    tagger.layout_ = tagger.grounding_.layout
    tagger.classes_ = list(tagger.grounding_.domains[0].values)
    tagger.dev_scores_, tagger.epochs_ = description["dev_scores"], []
    tagger.temperature_ = description["temperature"]
    return tagger


def storable(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights as a saved model holds them, so that it answers as this one does."""
    return weights.astype(np.float32).astype(np.float64)
