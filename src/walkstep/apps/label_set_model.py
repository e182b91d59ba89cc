"""The model of label sets: a row's labels as variables, pairs of them joined, and what training makes of it."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from walkstep.apps.label_pairs import Pairwise, label_pairs
from walkstep.features.rows import rows_from_scipy
from walkstep.model.factors import Factors
from walkstep.model.graph import ground
from walkstep.model.weights import Layout
from walkstep.worlds.labels import LabelWorld, label_world

_MAX_FACTORS = 100_000_000


class LabelSetModel(NamedTuple):
    """A trained pairwise model, folded: only differences between on and off matter."""

    coefficients: NDArray[np.float64]  # (n_labels, n_columns) a row's log odds for each label ...
    intercepts: NDArray[np.float64]  # (n_labels,) ... with all other labels off
    coupling: NDArray[np.float64]  # (n_labels, n_labels) what it gains if the other label is on

    @classmethod
    def folded(
        cls, weights: NDArray[np.float64], layout: Layout, pairs: NDArray[np.int64] | None = None
    ) -> "LabelSetModel":
        """Weights of both values of a label, and of all four of a pair, as log odds and couplings.

        Parameters
        ----------
        weights : float array
        layout : Layout
            Of `label_set_world`.
        pairs : int array (2, n_pairs), optional
            Which labels are joined; by default every two.
        """
        unary = layout.view(weights, "label")
        log_odds = unary[:, :, 1] - unary[:, :, 0]
        coefficients, intercepts = log_odds[:, :-1].copy(), log_odds[:, -1].copy()
        n_labels = len(unary)
        coupling = np.zeros((n_labels, n_labels))
        if "pair" in layout:
            pair = layout.view(weights, "pair")[:, 0]
            first, second = np.triu_indices(n_labels, 1) if pairs is None else pairs
            coupling[first, second] = pair[:, 1, 1] - pair[:, 1, 0] - pair[:, 0, 1] + pair[:, 0, 0]
            coupling += coupling.T
            np.add.at(intercepts, first, pair[:, 1, 0] - pair[:, 0, 0])
            np.add.at(intercepts, second, pair[:, 0, 1] - pair[:, 0, 0])
        return cls(coefficients, intercepts, coupling)

    def log_odds(self, features: Any) -> NDArray[np.float64]:
        """Each row's log odds for each label, with all other labels off."""
        return np.asarray(features @ self.coefficients.T) + self.intercepts


def label_set_world(
    rows: Any, truth: NDArray[np.int32], *, pairwise: Pairwise = True, signal: Any = None
) -> tuple[LabelWorld, Layout]:
    """The rows' label variables and factors, a document each.

    Parameters
    ----------
    rows : array or sparse matrix (n_rows, n_columns)
    truth : int array (n_rows, n_labels)
        1 where a row bears a label, 0 where not, -1 where that is unknown.
    pairwise : bool, "seen" or int
        Which pairs of labels are joined: see `label_pairs`.
    signal : optional
        The metric.
    """
    n_rows, n_labels = truth.shape
    first, second = label_pairs(truth, pairwise)
    if n_rows * len(first) > _MAX_FACTORS:
        raise ValueError(
            f"{n_rows} rows with {len(first)} pairs of labels make {n_rows * len(first):,} factors, more than "
            f"{_MAX_FACTORS:,}; pass pairwise=False or fewer pairs, or train on fewer rows"
        )
    variables = np.arange(n_rows * n_labels)
    groups = [
        Factors(
            "label",
            variables[:, None],
            features=rows_from_scipy(rows) if issparse(rows) else rows,
            rows=variables // n_labels,
            bias=True,
            sets=variables % n_labels,
            n_sets=n_labels,
        )
    ]
    if len(first):
        start = np.arange(0, n_rows * n_labels, n_labels)[:, None]
        scopes = np.stack([start + first, start + second], axis=-1).reshape(-1, 2)
        sets = np.tile(np.arange(len(first)), n_rows)
        groups.append(Factors("pair", scopes, sets=sets, n_sets=len(first)))
    graph, layout = ground(np.full(n_rows * n_labels, 2), groups)
    documents = np.arange(0, n_rows * n_labels + 1, n_labels)
    return label_world(graph, truth.ravel(), document_ptr=documents, signal=signal), layout
