"""What a learner is handed at once: graphs, how weights become their scores, and the truth."""

from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from walkstep.messages.message_passing import Wiring
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
    document: Array | NDArray[Any]  # int (V, B)
    n_documents: int = field(metadata=_STATIC)
    has_latent: bool = field(metadata=_STATIC)  # whether a truth is not known

    @property
    def n_copies(self) -> int:
        """How many graphs share the structure."""
        return self.truth.shape[1]


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
