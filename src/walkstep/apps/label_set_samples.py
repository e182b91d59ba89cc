"""Label sets learned from samples: the conditional exponential family over the corners of a hypercube, by MAP.

The space is that of section 6 of "MAP structured prediction by sampling" (Vembu, Gaertner and Boley, 2009): each label
on or off. The paper's statistics are joined by those of pairs, so that the model is the one that walks and messages
train.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from walkstep.apps.label_pairs import label_pairs
from walkstep.apps.label_set_model import LabelSetModel
from walkstep.apps.progress import EpochProgress
from walkstep.learning.structured_map import MapEpoch, MapProblem, map_from_samples
from walkstep.learning.structured_model import StructuredModel, StructuredTruth, known_truth
from walkstep.model.domains import UNKNOWN
from walkstep.worlds.hypercube import Hypercube

_MAX_CELLS = 50_000_000
_NO_MODEL = StructuredModel(np.zeros((0, 0)), np.zeros(0))


def learn_by_sampling(
    classifier: Any,
    rows: Any,
    truth: NDArray[np.int32],
    rng: np.random.Generator,
    progress: EpochProgress | None = None,
) -> tuple[LabelSetModel, list[MapEpoch], bool]:
    """A model of label sets, how its epochs went, and whether they were interrupted from the keyboard.

    Parameters
    ----------
    classifier : MultiLabelClassifier
        Whose settings are read.
    rows : array or sparse matrix (n_rows, n_columns)
    truth : int array (n_rows, n_labels)
        1 where a row bears a label, 0 where not, -1 where that is unknown.
    rng : Generator
    progress : EpochProgress, optional
    """
    pairs = label_pairs(truth, classifier.pairwise)
    problem = label_set_problem(rows, truth, pairs, classifier.l2)
    model, epochs, interrupted = _NO_MODEL, [], False
    try:
        for epoch in map_from_samples(problem, n_epochs=classifier.n_epochs, rng=rng):
            model = epoch.model
            epochs.append(epoch._replace(model=_NO_MODEL))  # the last one is kept, and not all
            if progress is not None:
                progress.show(epoch.number, f"slope {epoch.objective:.4f}")
    except KeyboardInterrupt:
        if not epochs:
            raise
        interrupted = True
        if progress is not None:
            progress.show(len(epochs), "interrupted: keeping what was learned so far")
    return folded(model, pairs), epochs, interrupted


def label_set_problem(rows: Any, truth: NDArray[np.int32], pairs: NDArray[np.int64], l2: float) -> MapProblem:
    """What is estimated: rows, what is known of their label sets, and the prior.

    Parameters
    ----------
    rows : array or sparse matrix (n_rows, n_columns)
        Those of which no label is known are left out.
    truth : int array (n_rows, n_labels)
        1 where a row bears a label, 0 where not, -1 where that is unknown.
    pairs : int array (2, n_pairs)
    l2 : float
        See `prior_sigma`.

    Examples
    --------
    >>> truth = np.array([[1, 0], [0, 1], [-1, 1], [-1, -1]], np.int32)
    >>> problem = label_set_problem(np.ones((4, 3)), truth, np.array([[0], [1]]), 0.1)
    >>> problem.n_rows, problem.truth.open_rows.tolist(), problem.precision.round(2).tolist()
    (3, [2], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.01, 0.01, 0.01])
    """
    space = Hypercube(truth.shape[1], pairs)
    n_cells = len(truth) * space.n_statistics
    if n_cells > _MAX_CELLS:
        raise ValueError(
            f"{len(truth)} rows with {space.n_statistics} labels and pairs of labels make {n_cells:,} statistics, more "
            f"than {_MAX_CELLS:,}; pass pairwise=False, 'seen' or fewer pairs, or train on fewer rows"
        )
    is_known = truth != UNKNOWN
    told = np.flatnonzero(is_known.any(axis=1))
    sigma = prior_sigma(l2, int(is_known.sum()))
    return MapProblem(space, rows[told], label_set_truth(space, truth[told]), sigma)


def prior_sigma(l2: float, n_known: int) -> float:
    """The standard deviation of the prior under which ``l2`` costs what it does by messages.

    There, ``l2`` times the sum of squared weights stands beside a mean over the labels that are known; here, the sum of
    squared weights over ``2 sigma²`` beside a sum over them.

    Parameters
    ----------
    l2 : float
    n_known : int
        How many labels of training rows are known.

    Examples
    --------
    >>> round(prior_sigma(1e-5, 5000), 6)
    3.162278
    """
    if not 0.0 < l2 < np.inf:
        raise ValueError(
            f"l2 is {l2}; learner 'sampled-map' takes the width of its prior from it: give a number above 0"
        )
    return float(1.0 / np.sqrt(2.0 * l2 * n_known))


def label_set_truth(space: Hypercube, truth: NDArray[np.int32]) -> StructuredTruth:
    """Truth of label sets: a pair is known to be on where both of its labels are, and to be off where either is off.

    Parameters
    ----------
    space : Hypercube
    truth : int array (n_rows, n_labels)
        1 where a row bears a label, 0 where not, -1 where that is unknown.

    Examples
    --------
    >>> truth = np.array([[1, -1, 0], [-1, 1, 1]], np.int32)
    >>> found = label_set_truth(Hypercube(3, [[0, 1], [1, 2]]), truth)
    >>> found.statistics.tolist()
    [[1.0, 0.5, 0.0, 0.5, 0.0], [0.5, 1.0, 1.0, 0.5, 1.0]]
    >>> found.held.tolist()
    [[1.0, 0.0, -1.0, 0.0, -1.0], [0.0, 1.0, 1.0, 0.0, 1.0]]
    """
    is_open = truth == UNKNOWN
    if not is_open.any():
        return known_truth(space, truth)
    # What is counted if all unknown labels are off, and if they are on: where that differs, it is not known.
    fewest = np.where(is_open, 0, truth).astype(np.int32)
    least = space.statistics(fewest)
    most = space.statistics(np.where(is_open, 1, truth))
    open_rows = np.flatnonzero(is_open.any(axis=1))
    held = np.where(least == most, 2.0 * least - 1.0, 0.0)
    return StructuredTruth(0.5 * (least + most), fewest, open_rows, held[open_rows])


def folded(model: StructuredModel, pairs: NDArray[np.int64]) -> LabelSetModel:
    """A model over a hypercube as log odds and couplings."""
    n_labels = len(model.coefficients)
    coupling = np.zeros((n_labels, n_labels))
    coupling[pairs[0], pairs[1]] = model.intercepts[n_labels:]
    return LabelSetModel(model.coefficients, model.intercepts[:n_labels].copy(), coupling + coupling.T)
