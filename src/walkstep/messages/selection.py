"""Some documents of a batch, as a batch of their own."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.messages.batch import Batch
from walkstep.messages.message_passing import Wiring
from walkstep.messages.score_tables import Held, Products, Share, Source, SparseProducts, Tables
from walkstep.messages.tree_schedule import tree_schedule


def select(batch: Batch, documents: ArrayLike) -> Batch:
    """Some documents of a batch; its classes, groups and sharing of tables stay as they are, so that parts are alike.

    Parameters
    ----------
    batch : Batch
        Of NumPy arrays.
    documents : int array
        Their numbers. Of copies one may be named twice; of a union, where they are in rising order, not.
    """
    return select_each(batch, [documents])[0]


def select_each(batch: Batch, parts: Sequence[ArrayLike]) -> list[Batch]:
    """Several selections from one batch, which is sorted once for all of them.

    Parameters
    ----------
    batch : Batch
        Of NumPy arrays.
    parts : sequence of int arrays
        The documents of each, as `select` takes them.
    """
    wanted = [np.asarray(part, dtype=np.int64) for part in parts]
    if batch.n_copies == 1:
        return [_some_variables(batch, documents) for documents in wanted]
    own, joint = ([_by_copy(tables) for tables in of] for of in (batch.tables.own, batch.tables.joint))
    return [_some_copies(batch, own, joint, copies) for copies in wanted]


class _ByCopy(NamedTuple):
    """The entries of a share, those of each copy together."""

    entry: NDArray[np.int64]
    place: NDArray[np.int64]  # of each, in its copy
    ptr: NDArray[np.int64]  # (n_copies + 1,)


def _by_copy(tables: Tables) -> list[_ByCopy]:
    """Of each share."""
    found = []
    for share in tables.shares:
        place, copy = np.divmod(np.asarray(share.place), tables.n_copies)
        entry = np.argsort(copy, kind="stable")
        ptr = np.searchsorted(copy[entry], np.arange(tables.n_copies + 1))
        found.append(_ByCopy(entry, place[entry], ptr))
    return found


def _some_copies(
    batch: Batch, own: list[list[_ByCopy]], joint: list[list[_ByCopy]], copies: NDArray[np.int64]
) -> Batch:
    def of(tables: Tables, entries: list[_ByCopy]) -> Tables:
        if tables.n_copies == 1:
            return tables
        shares = (_share_of_copies(*one, copies) for one in zip(tables.shares, entries, strict=True))
        return replace(tables, shares=tuple(shares), n_copies=len(copies))

    tables = replace(
        batch.tables,
        own=tuple(map(of, batch.tables.own, own)),
        joint=tuple(map(of, batch.tables.joint, joint)),
        n_copies=len(copies),
    )
    truth, weight = (np.asarray(part)[:, copies] for part in (batch.truth, batch.weight))
    document = np.broadcast_to(np.arange(len(copies), dtype=np.int32), truth.shape)
    return replace(batch, tables=tables, truth=truth, weight=weight, document=document, n_documents=len(copies))


def _share_of_copies(share: Share, by_copy: _ByCopy, copies: NDArray[np.int64]) -> Share:
    length = np.diff(by_copy.ptr)[copies]
    ends = np.cumsum(length)
    at = np.repeat(by_copy.ptr[copies] - ends + length, length) + np.arange(ends[-1])
    fresh = by_copy.place[at] * len(copies) + np.repeat(np.arange(len(copies)), length)
    source, table = some_tables(share.source, np.asarray(share.table)[by_copy.entry[at]])
    return replace(share, source=source, table=table, place=fresh)


def _some_variables(batch: Batch, documents: NDArray[np.int64]) -> Batch:
    number = np.full(batch.n_documents, -1, np.int64)
    number[documents] = np.arange(len(documents))
    document = number[np.asarray(batch.document)[:, 0]]
    kept = np.flatnonzero(document >= 0)
    local = np.full(len(document), -1, np.int64)
    local[kept] = np.arange(len(kept))
    scopes, joint, own, variables = [], [], [], []
    for scope, tables in zip(batch.wired.scopes, batch.tables.joint, strict=True):
        mine = np.flatnonzero(local[np.asarray(scope)[0]] >= 0)
        scopes.append(local[np.asarray(scope)[:, mine]].astype(np.int32))
        joint.append(_some_places(tables, mine))
    for about, tables in zip(batch.tables.variables, batch.tables.own, strict=True):
        mine = np.flatnonzero(local[np.asarray(about)] >= 0)
        variables.append(local[np.asarray(about)[mine]].astype(np.int32))
        own.append(_some_places(tables, mine))
    return replace(
        batch,
        wired=Wiring(np.asarray(batch.wired.allowed)[:, kept], tuple(scopes)),
        tables=replace(
            batch.tables, own=tuple(own), variables=tuple(variables), joint=tuple(joint), n_variables=len(kept)
        ),
        schedule=None if batch.schedule is None else tree_schedule(len(kept), tuple(scopes)),
        truth=np.asarray(batch.truth)[kept],
        weight=np.asarray(batch.weight)[kept],
        document=document[kept, None].astype(np.int32),
        n_documents=len(documents),
    )


def _some_places(tables: Tables, places: NDArray[np.int64]) -> Tables:
    if tables.n_places == 1:  # all places share a table
        return tables
    local = np.full(tables.n_places, -1, np.int64)
    local[places] = np.arange(len(places))
    shares = []
    for share in tables.shares:
        entry = np.flatnonzero(local[np.asarray(share.place)] >= 0)
        source, table = some_tables(share.source, np.asarray(share.table)[entry])
        shares.append(replace(share, source=source, table=table, place=local[np.asarray(share.place)[entry]]))
    return replace(tables, shares=tuple(shares), n_places=len(places))


def some_tables(source: Source, tables: NDArray[np.int64]) -> tuple[Source, NDArray[np.int64]]:
    """A source of these tables and hardly others, and their numbers there."""
    if isinstance(source, Products | SparseProducts):
        n_rows = source.features.shape[0] if isinstance(source, Products) else source.n_rows
        chosen, row = np.unique(tables % max(n_rows, 1), return_inverse=True)
        smaller = _some_rows(source, chosen)
        return smaller, tables // max(n_rows, 1) * len(chosen) + row
    used, which = np.unique(tables, return_inverse=True)
    if isinstance(source, Held):
        return Held(np.asarray(source.values)[used]), which
    entry, owner = _entries_of(np.asarray(source.owner), used)
    row, value = np.asarray(source.row)[entry], np.asarray(source.value)[entry]
    return replace(source, owner=owner, row=row, value=value, n_tables=len(used)), which


def _some_rows(source: Products | SparseProducts, rows: NDArray[np.int64]) -> Products | SparseProducts:
    if isinstance(source, Products):
        return replace(source, features=np.asarray(source.features)[rows])
    entry, owner = _entries_of(np.asarray(source.owner), rows)
    column, value = np.asarray(source.column)[entry], np.asarray(source.value)[entry]
    return replace(source, owner=owner, column=column, value=value, n_rows=len(rows))


def _entries_of(owner: NDArray[np.int32], chosen: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The entries of some owners, and whose each is now."""
    first = np.searchsorted(owner, chosen)
    length = np.searchsorted(owner, chosen, side="right") - first
    ends = np.cumsum(length)
    entry = np.repeat(first - ends + length, length) + np.arange(int(ends[-1]) if len(ends) else 0)
    return entry, np.repeat(np.arange(len(chosen), dtype=np.int32), length)
