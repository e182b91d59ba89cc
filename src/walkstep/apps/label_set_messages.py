"""Label sets learned by passing messages: rows as copies of one graph, whose weights are log odds and couplings."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from walkstep.apps.label_set_model import LabelSetModel
from walkstep.learning.message_learning import Learned, MessageEpoch, MessageLearner
from walkstep.messages.batch import Batch, batch_of
from walkstep.messages.message_passing import wiring
from walkstep.messages.score_tables import Products, RowSums, ScoreTables, Share, SparseProducts, Tables
from walkstep.model.domains import UNKNOWN


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class OnTables(Tables):
    """Tables with one weight each, which counts where all variables are on; all other values score 0."""

    def made(self, weights: Array) -> Array:
        """(2, ..., 2, place, copy)"""
        total = jnp.zeros((self.n_places * self.n_copies, 1), weights.dtype)
        for share in self.shares:
            total = share.added(total, weights)
        slots = len(self.shape)
        cell = total.reshape(*[1] * slots, self.n_places, self.n_copies)
        return jnp.pad(cell, [*[(1, 0)] * slots, (0, 0), (0, 0)])


def label_set_batch(rows: Any, truth: NDArray[np.integer], pairs: NDArray[np.int64]) -> Batch:
    """Rows as copies of one graph: a variable for each label, a factor for each pair.

    Weights are log odds of labels, column after column and the bias last, label after label; then the couplings of
    pairs. What is trained is the folded model (`LabelSetModel`) itself, so that messages are the same in both after any
    number of rounds.

    Parameters
    ----------
    rows : array or sparse matrix (n_rows, n_columns)
    truth : int array (n_rows, n_labels)
        1 where a row bears a label, 0 where not, -1 where that is unknown.
    pairs : int array (2, n_pairs)

    Examples
    --------
    >>> batch = label_set_batch(np.ones((5, 3)), np.zeros((5, 2), int), np.array([[0], [1]]))
    >>> batch.truth.shape, batch.tables.n_weights
    ((2, 5), 9)
    """
    if len(truth) == 1:  # copies are told from a union by their number: the second one does not count
        rows = csr_array(rows)[[0, 0]] if issparse(rows) else np.repeat(rows, 2, axis=0)
        truth = np.concatenate([truth, np.full_like(truth, UNKNOWN)])
    n_rows, n_labels = truth.shape
    n_columns, n_pairs = rows.shape[1] + 1, pairs.shape[1]
    n_own = n_labels * n_columns
    cells, places = np.arange(n_labels * n_rows), np.arange(n_pairs)
    labels = Share(_products(rows, np.arange(n_labels) * n_columns), cells, cells, (0,), (1,))
    couplings = Share(RowSums(places, places, np.ones(n_pairs), n_pairs, 1, n_own, n_pairs), places, places, (0,), (1,))
    tables = ScoreTables(
        own=(OnTables((labels,), (2,), n_labels, n_rows),),
        variables=(np.arange(n_labels),),
        joint=(OnTables((couplings,), (2, 2), n_pairs, 1),) if n_pairs else (),
        n_values=2,
        n_variables=n_labels,
        n_copies=n_rows,
        n_weights=n_own + n_pairs,
    )
    return batch_of(wiring(np.full(n_labels, 2), [pairs] if n_pairs else []), tables, None, truth=truth.T)


def _products(rows: Any, at: NDArray[np.int64]) -> Products | SparseProducts:
    """What the rows, with a bias, are multiplied with."""
    n_rows, n_columns = rows.shape
    if not issparse(rows):
        return Products(np.hstack([rows, np.ones((n_rows, 1))]), at, 1, True)
    sparse = csr_array(rows)
    owner = np.concatenate([np.repeat(np.arange(n_rows), np.diff(sparse.indptr)), np.arange(n_rows)])
    column = np.concatenate([sparse.indices, np.full(n_rows, n_columns)])
    value = np.concatenate([sparse.data, np.ones(n_rows)])
    order = np.argsort(owner, kind="stable")
    entries = owner[order].astype(np.int32), column[order].astype(np.int32), value[order]
    return SparseProducts(*entries, at, n_rows, n_columns + 1, 1, True)


def folded(weights: NDArray[np.float64], n_labels: int, pairs: NDArray[np.int64]) -> LabelSetModel:
    """Weights of `label_set_batch` as log odds and couplings."""
    n_own = len(weights) - pairs.shape[1]
    log_odds = weights[:n_own].reshape(n_labels, -1)
    coupling = np.zeros((n_labels, n_labels))
    coupling[pairs[0], pairs[1]] = weights[n_own:]
    return LabelSetModel(log_odds[:, :-1].copy(), log_odds[:, -1].copy(), coupling + coupling.T)


def learn_by_messages(
    learner: MessageLearner,
    rows: Any,
    truth: NDArray[np.integer],
    pairs: NDArray[np.int64],
    *,
    show: Callable[[MessageEpoch], None] | None = None,
) -> tuple[LabelSetModel, Learned]:
    """A model of label sets, and how training went.

    Parameters
    ----------
    learner : MessageLearner
    rows, truth, pairs
        As `label_set_batch` takes them.
    show : callable, optional
        Called after each epoch.
    """
    batch = label_set_batch(rows, truth, pairs)
    learned = learner.learn(batch, show=show)
    return folded(learned.weights, truth.shape[1], pairs), learned
