"""Whether fixed tables forbid the truth, of which no weights could then be learned."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from walkstep.messages.batch import UNKNOWN, Batch
from walkstep.messages.score_tables import Held, Tables


def refuse_forbidden_truth(batch: Batch) -> None:
    """Name a document whose truth has no chance under any weights.

    Factors of a variable whose truth is not known are passed by.

    Parameters
    ----------
    batch : Batch
        Of NumPy arrays.

    Examples
    --------
    >>> from walkstep.inference.graph_batch import graph_batch
    >>> from walkstep.model import Factors, ground
    >>> never_both = Factors("never both", [[0, 1], [2, 3]], fixed=np.array([[0.0, 0.0], [0.0, -np.inf]]))
    >>> graph, _ = ground([2] * 4, [never_both])
    >>> refuse_forbidden_truth(graph_batch(graph, [0, 1, 1, 1], document_ptr=[0, 2, 4]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: the truth of document 1 is forbidden: a fixed table rules out values [1, 1] of its variables [0, 1]; ...
    """
    document = np.asarray(batch.document)
    for scope, tables in _classes(batch):
        for place, copy, values in _ruled_out(batch, scope, tables):
            variables = scope[:, place]
            mine = int(document[variables[0], copy])
            first = int(np.argmax(document[:, copy] == mine))
            raise ValueError(
                f"the truth of document {mine} is forbidden: a fixed table rules out values {values.tolist()} of its "
                f"variables {(variables - first).tolist()}; mend the truth, or the table"
            )


def _classes(batch: Batch) -> Iterator[tuple[NDArray[np.integer], Tables]]:
    """Scopes (arity, F) and tables of each class, of single variables too."""
    for variables, tables in zip(batch.tables.variables, batch.tables.own, strict=True):
        yield np.asarray(variables)[None], tables
    for scope, tables in zip(batch.wired.scopes, batch.tables.joint, strict=True):
        yield np.asarray(scope), tables


def _ruled_out(batch: Batch, scope: NDArray[np.integer], tables: Tables):
    """Place, copy and values of the first truth of each fixed table that is forbidden."""
    truth = np.asarray(batch.truth)
    for share in tables.shares:
        if not isinstance(share.source, Held) or not np.isneginf(share.source.values).any():
            continue
        place, copy = np.divmod(np.asarray(share.place), tables.n_copies)
        table = np.asarray(share.table)
        if tables.n_places == 1:
            place, copy, table = _spread(place, copy, table, scope.shape[1], along_places=True)
        if tables.n_copies == 1:
            place, copy, table = _spread(place, copy, table, batch.n_copies, along_places=False)
        values = truth[scope[:, place], copy]
        strides = np.cumprod((1, *share.shape[:0:-1]))[::-1][list(share.order)]
        cell = np.where((values == UNKNOWN).any(axis=0), -1, strides @ values)
        score = np.where(cell >= 0, np.asarray(share.source.values)[table, cell], 0.0)
        for at in np.flatnonzero(np.isneginf(score))[:1]:
            yield place[at], copy[at], values[:, at]


def _spread(place, copy, table, n: int, *, along_places: bool):
    """What is shared by all places, or by all copies, at each of them."""
    each = np.tile(np.arange(n), len(place))
    place, copy, table = (np.repeat(one, n) for one in (place, copy, table))
    return (each, copy, table) if along_places else (place, each, table)
