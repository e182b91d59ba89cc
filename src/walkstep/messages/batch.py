"""What a learner is handed at once: graphs, how weights become their scores, and the truth."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from walkstep.messages.message_passing import Terms, Wiring
from walkstep.messages.score_tables import ScoreTables
from walkstep.messages.tree_schedule import TreeSchedule

UNKNOWN = -1
_STATIC: Any = {"static": True}


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Batch:
    """Graphs to learn from, or to answer.

    Either copies of one structure, a document each, or one copy that is the union of all documents.
    """

    wired: Wiring
    tables: ScoreTables
    schedule: TreeSchedule | None  # where no cycle is closed
    truth: Array | NDArray[Any]  # int (V, B), -1 where it is not known: such variables are summed out
    weight: Array | NDArray[Any]  # (V, B): how much the loss of each variable counts; 0 where it does not
    document: Array | NDArray[Any]  # int (V, B); n_documents where a variable is of none
    n_documents: int = field(metadata=_STATIC)
    has_latent: bool = field(metadata=_STATIC)  # whether a truth is not known

    @property
    def n_copies(self) -> int:
        """How many graphs share the structure."""
        return self.truth.shape[1]

    def by_document(self, of_variables: Array, of_factors: Sequence[Array] = ()) -> Array:
        """Sums over the places of each document: (n_documents,).

        Parameters
        ----------
        of_variables : Array (V, B)
        of_factors : sequence of Arrays (F, B), optional
            Class by class; a factor is of the document that its variables are of.

        Examples
        --------
        >>> from walkstep.inference.graph_batch import graph_batch
        >>> from walkstep.model import Factors, ground
        >>> graph, _ = ground([2] * 5, [Factors("edge", [[0, 1], [2, 3], [3, 4]])])
        >>> batch = graph_batch(graph, document_ptr=[0, 2, 5])
        >>> batch.by_document(jnp.ones((5, 1)), [jnp.full((3, 1), 10.0)]).tolist()
        [12.0, 23.0]
        """
        if self.n_copies > 1 or self.n_documents == 1:
            return Terms(of_variables, tuple(of_factors)).total()
        document = jnp.asarray(self.document)[:, 0]
        scopes = self.wired.scopes[: len(of_factors)]
        owner = jnp.concatenate([document, *(document[scope[0]] for scope in scopes)])
        return jax.ops.segment_sum(jnp.concatenate([of_variables, *of_factors])[:, 0], owner, self.n_documents)


def batch_of(
    wired: Wiring,
    tables: ScoreTables,
    schedule: TreeSchedule | None,
    *,
    truth: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    document: ArrayLike | None = None,
) -> Batch:
    """Graphs with what is known of them.

    Parameters
    ----------
    wired, tables, schedule
        The structure; see `walkstep.inference.wire`.
    truth : int array (V, B), optional
        The right value of each variable, -1 where it is not known.
    weight : float array (V, B), optional
        How much each variable counts; those whose truth is not known never do.
    document : int array (V,), optional
        For a union, which document each variable belongs to; copies are a document each.
    """
    shape = (tables.n_variables, tables.n_copies)
    values = np.full(shape, UNKNOWN, np.int32) if truth is None else np.asarray(truth, np.int32).reshape(shape)
    counts = np.ones(shape) if weight is None else np.asarray(weight, np.float64).reshape(shape)
    if shape[1] > 1 or document is None:
        numbers = np.broadcast_to(np.arange(shape[1], dtype=np.int32), shape)
    else:
        numbers = np.asarray(document, np.int32).reshape(shape)
    known = values != UNKNOWN
    n_documents = int(numbers.max(initial=0)) + 1
    return Batch(wired, tables, schedule, values, counts * known, numbers, n_documents, bool((~known).any()))
