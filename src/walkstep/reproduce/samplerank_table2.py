"""Label sets of Scene and Yeast: Table 2 of the SampleRank paper (Wick et al., 2011).

Every setting below was chosen by cross-validation on the training split; the test split fills the table and
chooses nothing. `CROSS_VALIDATED` keeps what `cross_validated_error` said of the settings chosen.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from walkstep.apps.multi_label_classifier import MultiLabelClassifier
from walkstep.data.catalogue import find
from walkstep.data.readers import read_arff

Rows = tuple[Any, NDArray[np.int8]]  # X, Y

NAME = "samplerank-table2"
METRIC = "Hamming error, %"
N_RUNS = 10

# What the paper reports, in percent of wrong labels.
PAPER = {
    ("scene", "PCD"): 9.86,
    ("scene", "Pegasos"): 9.57,
    ("scene", "SampleRank"): 9.71,
    ("scene", "SampleRank-SVM"): 9.49,
    ("yeast", "PCD"): 26.79,
    ("yeast", "Pegasos"): 21.06,
    ("yeast", "SampleRank"): 21.48,
    ("yeast", "SampleRank-SVM"): 20.58,
}

_RIVALS = ("PCD", "Pegasos", "MLE")  # rows of other learners than SampleRank

_SHARED: dict[str, Any] = {"step": "constant", "n_epochs": 60, "temperature": 1.0}
# By messages. Undamped, those of max-product go to and fro where all of fourteen labels are joined.
_MLE: dict[str, Any] = {"learner": "likelihood", "rate": 0.03, "n_epochs": 30, "damping": 0.5, "decision": "marginals"}
_PEGASOS: dict[str, Any] = {"learner": "svm", "optimiser": "pegasos", "damping": 0.5, "decision": "map"}
_RBF: dict[str, Any] = {"features": "rbf", "bandwidth": 0.7, "n_landmarks": 2000, "n_components": 300}

SETTINGS: dict[tuple[str, str], dict[str, Any]] = {
    ("scene", "PCD"): {"learner": "pcd", "rate": 1e-3, "l2": 1e-6, "decision": "marginals"},
    ("scene", "SampleRank"): {"learner": "samplerank", "rival": "drawn", "rate": 0.03, "l2": 3e-6, "decision": "map"},
    ("scene", "SampleRank-SVM"): {"learner": "samplerank-svm", "rate": 0.03, "l2": 9e-6, "decision": "map"},
    ("scene", "ours, linear"): {"learner": "samplerank-svm", "rate": 0.03, "l2": 9e-6, "decision": "auto"},
    ("scene", "ours, rbf"): {**_RBF, "learner": "hybrid", "rate": 0.03, "l2": 1e-6, "decision": "map"},
    ("scene", "Pegasos"): {**_PEGASOS, "rate": 30.0, "l2": 3e-5, "n_epochs": 30},
    ("scene", "MLE"): {**_MLE, "l2": 1e-5},
    ("yeast", "PCD"): {"learner": "pcd", "rate": 3e-4, "l2": 3e-7, "decision": "marginals"},
    ("yeast", "SampleRank"): {
        "learner": "samplerank",
        "rival": "drawn",
        "rate": 0.03,
        "l2": 9e-6,
        "decision": "marginals",
    },
    ("yeast", "SampleRank-SVM"): {"learner": "samplerank-svm", "rate": 0.03, "l2": 3e-5, "decision": "marginals"},
    ("yeast", "ours, linear"): {"learner": "samplerank", "rate": 0.03, "l2": 6e-6, "decision": "marginals"},
    ("yeast", "ours, rbf"): {**_RBF, "learner": "samplerank", "rate": 0.03, "l2": 1e-6, "decision": "marginals"},
    ("yeast", "Pegasos"): {**_PEGASOS, "rate": 10.0, "l2": 3e-4},
    ("yeast", "MLE"): {**_MLE, "l2": 1e-4},
}
"""What each row is trained with; what is not named here is the estimator's default."""

CROSS_VALIDATED = {
    ("scene", "PCD"): 9.73,
    ("scene", "SampleRank"): 9.79,
    ("scene", "SampleRank-SVM"): 9.26,
    ("scene", "ours, linear"): 9.12,
    ("scene", "ours, rbf"): 7.97,
    ("scene", "Pegasos"): 8.85,
    ("scene", "MLE"): 9.12,
    ("yeast", "PCD"): 21.42,
    ("yeast", "SampleRank"): 20.33,
    ("yeast", "SampleRank-SVM"): 20.39,
    ("yeast", "ours, linear"): 20.18,
    ("yeast", "ours, rbf"): 19.09,
    ("yeast", "Pegasos"): 20.65,
    ("yeast", "MLE"): 20.34,
}
"""What `cross_validated_error` says of those settings: five folds of the training split, seed 0."""


def run(seed: int, quick: bool = False, progress: Callable[[str], Any] | None = None) -> dict[str, Any]:
    """Train every row of the table and score it on the test split.

    Parameters
    ----------
    seed : int
        Run ``r`` of a row uses ``seed + r``.
    quick : bool
        Two runs of each row and a third of the epochs, to see that it works.
    progress : callable, optional
        Called with a line of text after each row.

    Returns
    -------
    dict
        ``{name, seed, seconds, rows, bars}``. A row of ours is the mean of ten runs with its standard deviation; a
        bar is the mean of the SampleRank variant that cross-validation on the training split prefers.
    """
    began = time.perf_counter()
    rows: list[dict[str, Any]] = []
    mean_of: dict[tuple[str, str], float] = {}
    for data in ("scene", "yeast"):
        train, test = _read(data, "train"), _read(data, "test")
        methods = [method for name, method in {**PAPER, **SETTINGS} if name == data]
        for method in methods:
            row = {
                "row": f"{data} {method}",
                "metric": METRIC,
                "paper": PAPER.get((data, method)),
                "ours": None,
                "deviation": None,
            }
            if (data, method) in SETTINGS:
                errors = _errors(SETTINGS[data, method], train, test, seed, quick)
                mean_of[data, method] = float(np.mean(errors))
                row |= {"ours": round(float(np.mean(errors)), 3), "deviation": round(float(np.std(errors, ddof=1)), 3)}
            rows.append(row)
            if progress is not None:
                progress(f"{row['row']}: {row['ours']} (paper {row['paper']})")
    bars = [{"id": data, "ours": round(mean_of[data, _preferred(data)], 3)} for data in ("scene", "yeast")]
    return {"name": NAME, "seed": seed, "seconds": round(time.perf_counter() - began, 1), "rows": rows, "bars": bars}


def _preferred(data: str) -> str:
    """The SampleRank variant that cross-validation on the training split prefers."""
    errors = {
        method: error for (name, method), error in CROSS_VALIDATED.items() if name == data and method not in _RIVALS
    }
    return min(errors, key=errors.__getitem__)


def cross_validated_error(data: str, settings: dict[str, Any], *, n_folds: int = 5, seed: int = 0) -> float:
    """Hamming error of settings in percent, by cross-validation on the training split alone."""
    X, Y = _read(data, "train")
    n_wrong = 0
    for train, held_out in KFold(n_folds, shuffle=True, random_state=seed).split(X):
        model = MultiLabelClassifier(**{**_SHARED, **settings}, random_state=seed)
        predicted = model.fit(X[train], Y[train]).predict(X[held_out])
        n_wrong += int((predicted != Y[held_out]).sum())
    return 100.0 * n_wrong / Y.size


def _errors(settings: dict[str, Any], train: Rows, test: Rows, seed: int, quick: bool) -> list[float]:
    """Hamming error on the test split, in percent, of each run."""
    errors = []
    for r in range(2 if quick else N_RUNS):
        model = MultiLabelClassifier(**{**_SHARED, **settings}, random_state=seed + r)
        if quick:
            model.set_params(n_epochs=model.n_epochs // 3)
        model.fit(*train)
        errors.append(100.0 * model.evaluate(*test).hamming_error)
    return errors


def _read(data: str, part: str) -> Rows:
    """Features and labels of one split of a data set."""
    folder = find(f"multilabel_{data}")
    rows = read_arff(folder / f"{data}-{part}.arff", labels=folder / "labels.txt")
    assert rows.Y is not None
    return rows.X, rows.Y
