"""Batches brought to one shape, so that what is compiled for one of them serves all.

Added variables have one value, added factors join them alone, and added tables are read by none: what is asked of a
batch does not change. Where all factors of a class share a table, added ones read it too, all at one cell that is not
forbidden: the same is added to the score of every world.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.messages.batch import Batch
from walkstep.messages.message_passing import Wiring
from walkstep.messages.score_tables import Held, Products, RowSums, Share, Source, SparseProducts, Tables
from walkstep.messages.tree_schedule import TreeSchedule

_MOST_JOINED = 32  # added factors that join an added variable


def bucket(n: int) -> int:
    """The next of 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, ...: a quarter more at most.

    Examples
    --------
    >>> [bucket(n) for n in (0, 3, 9, 10, 100, 1025)]
    [4, 4, 10, 10, 112, 1280]
    """
    if n <= 4:
        return 4
    step = 1 << max((n - 1).bit_length() - 3, 0)
    return -(-n // step) * step


def pad(batches: Sequence[Batch]) -> list[Batch]:
    """Batches brought to the shape that holds the largest of them, in sizes of which there are few.

    Parameters
    ----------
    batches : sequence of Batch
        Parts of one batch, as `select` makes them; of copies, equally many in each.

    Examples
    --------
    >>> from walkstep.inference import wire
    >>> from walkstep.messages.batch import batch_of
    >>> from walkstep.messages.selection import select
    >>> from walkstep.model import Factors, ground
    >>> graph, _ = ground([2] * 5, [Factors("edge", [[0, 1], [1, 2], [3, 4]])])
    >>> made = wire(graph)
    >>> whole = batch_of(made.wired, made.tables, made.schedule, document=[0, 0, 0, 1, 1])
    >>> [part.truth.shape for part in pad([select(whole, [0]), select(whole, [1])])]
    [(6, 1), (6, 1)]
    """
    if batches[0].n_copies > 1:
        return _padded_copies(batches)
    n_documents = bucket(max(batch.n_documents for batch in batches))
    n_factors = [bucket(max(scope.shape[1] for scope in of)) for of in _class_by_class(b.wired.scopes for b in batches)]
    fillers = [_fillers(batch, n_factors) for batch in batches]
    size = bucket(max(len(batch.truth) for batch in batches)) + _room(batches[0], n_factors, fillers)
    n_about = [bucket(max(map(len, of))) for of in _class_by_class(b.tables.variables for b in batches)]
    joints = _padded_classes([batch.tables.joint for batch in batches], n_factors)
    owns = _padded_classes([batch.tables.own for batch in batches], n_about)
    schedules = _padded_schedules(batches, n_factors)
    found = []
    for batch, filler, joint, own, schedule in zip(batches, fillers, joints, owns, schedules, strict=True):
        added = np.zeros(size - len(batch.truth), np.int32)  # the one value of each variable that is added
        added[: len(filler.values)] = filler.values
        is_one = np.arange(batch.tables.n_values)[:, None] == added
        about = [_longer(one, n, size) for one, n in zip(batch.tables.variables, n_about, strict=True)]
        found.append(
            replace(
                batch,
                wired=Wiring(np.concatenate([np.asarray(batch.wired.allowed), is_one], axis=1), filler.scopes),
                tables=replace(batch.tables, own=own, variables=tuple(about), joint=joint, n_variables=size),
                schedule=schedule,
                truth=np.concatenate([np.asarray(batch.truth), added[:, None]]),
                weight=_longer(batch.weight, size, 0.0),
                document=_longer(batch.document, size, n_documents),  # of none
                n_documents=n_documents,
            )
        )
    return found


def _padded_copies(batches: Sequence[Batch]) -> list[Batch]:
    """Copies of one structure differ in how many features they have, and in nothing else."""
    owns, joints = (
        _padded_classes(of, [tables.n_places for tables in of[0]])
        for of in ([batch.tables.own for batch in batches], [batch.tables.joint for batch in batches])
    )
    return [
        replace(batch, tables=replace(batch.tables, own=own, joint=joint))
        for batch, own, joint in zip(batches, owns, joints, strict=True)
    ]


class _Fillers(NamedTuple):
    """Factors that fill classes up, and the variables that they join."""

    scopes: tuple[NDArray[np.int32], ...]  # of all factors
    values: NDArray[np.int32]  # the one value of each added variable


def _fillers(batch: Batch, n_factors: Sequence[int]) -> _Fillers:
    first = len(batch.truth)
    scopes, values = [], [np.zeros(0, np.int32)]
    for scope, tables, n in zip(batch.wired.scopes, batch.tables.joint, n_factors, strict=True):
        more = n - scope.shape[1]
        n_shared = -(-more // _MOST_JOINED)
        cell = np.array(_possible_cell(tables), np.int32)
        # A variable of its own for each slot: none is joined by many, whose messages might outweigh what is forbidden.
        joined = first + np.arange(len(cell))[:, None] * n_shared + np.arange(more) // _MOST_JOINED
        scopes.append(np.concatenate([np.asarray(scope), joined], axis=1, dtype=np.int32))
        values.append(np.repeat(cell, n_shared))
        first += len(cell) * n_shared
    return _Fillers(tuple(scopes), np.concatenate(values))


def _room(batch: Batch, n_factors: Sequence[int], fillers: Sequence[_Fillers]) -> int:
    """For variables that fillers join: what any batch of so many factors would need, so that sizes alone decide."""
    arities = [scope.shape[0] for scope in batch.wired.scopes]
    most = sum(arity * -(-max(n // 4, 4) // _MOST_JOINED) for arity, n in zip(arities, n_factors, strict=True))
    needed = max(len(filler.values) for filler in fillers)
    return most if needed <= most else bucket(needed)


def _possible_cell(tables: Tables) -> tuple[Any, ...]:
    """Joint values that no fixed table forbids, where all places share their tables; elsewhere any will do."""
    total = np.zeros(tables.shape)
    for share in tables.shares if tables.n_places == 1 else ():
        if isinstance(share.source, Held):
            for table in np.asarray(share.source.values)[np.asarray(share.table)]:
                total += table.reshape(share.shape).transpose(share.order)
    return np.unravel_index(int(total.argmax()), total.shape)


def _longer(array: Any, length: int, filler: float) -> NDArray[Any]:
    """An array with its first axis filled up."""
    given = np.asarray(array)
    return np.pad(given, [(0, length - len(given)), *[(0, 0)] * (given.ndim - 1)], constant_values=filler)


def _class_by_class(of_batches: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """What all batches have of each class."""
    return list(zip(*of_batches, strict=True))


def _padded_classes(of_batches: list[tuple[Tables, ...]], sizes: list[int]) -> list[tuple[Tables, ...]]:
    classes = [_padded_tables(of, n) for of, n in zip(_class_by_class(of_batches), sizes, strict=True)]
    return [tuple(of[i] for of in classes) for i in range(len(of_batches))]


def _padded_tables(parts: Sequence[Tables], n_places: int) -> list[Tables]:
    first = parts[0]
    if first.n_places == first.n_copies == 1 and all(part is first for part in parts):  # one table serves all
        return list(parts)
    beyond = n_places * first.n_copies
    of_share = [_padded_shares(shares, beyond) for shares in zip(*(part.shares for part in parts), strict=True)]
    return [
        replace(part, shares=tuple(shares[i] for shares in of_share), n_places=n_places) for i, part in enumerate(parts)
    ]


def _padded_shares(shares: Sequence[Share], beyond: int) -> list[Share]:
    length = bucket(max(len(share.place) for share in shares))
    sources = [share.source for share in shares]
    padded, renumbered = _PADDERS[type(sources[0])](sources)
    return [
        replace(
            share,
            source=source,
            table=_longer(renumber(np.asarray(share.table)), length, 0),
            place=_longer(share.place, length, beyond),  # left out
        )
        for share, source, renumber in zip(shares, padded, renumbered, strict=True)
    ]


def _same(table: NDArray[np.int64]) -> NDArray[np.int64]:
    return table


def _padded_sums(sources: Sequence[RowSums]):
    n_tables = bucket(max(source.n_tables for source in sources))
    length = bucket(max(len(source.owner) for source in sources))
    padded = [
        replace(
            source,
            owner=_longer(source.owner, length, n_tables - 1),
            row=_longer(source.row, length, 0),
            value=_longer(source.value, length, 0.0),
            n_tables=n_tables,
        )
        for source in sources
    ]
    return padded, [_same] * len(sources)


def _padded_products(sources: Sequence[Products]):
    n_rows = bucket(max(len(source.features) for source in sources))
    padded = [replace(source, features=_longer(source.features, n_rows, 0.0)) for source in sources]
    return padded, [_renumbering(len(source.features), n_rows) for source in sources]


def _padded_sparse(sources: Sequence[SparseProducts]):
    n_rows = bucket(max(source.n_rows for source in sources))
    length = bucket(max(len(source.owner) for source in sources))
    padded = [
        replace(
            source,
            owner=_longer(source.owner, length, n_rows - 1),
            column=_longer(source.column, length, 0),
            value=_longer(source.value, length, 0.0),
            n_rows=n_rows,
        )
        for source in sources
    ]
    return padded, [_renumbering(source.n_rows, n_rows) for source in sources]


def _padded_held(sources: Sequence[Held]):
    n_tables = bucket(max(len(source.values) for source in sources))
    return [Held(_longer(source.values, n_tables, 0.0)) for source in sources], [_same] * len(sources)


def _renumbering(n_rows: int, n_more: int) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
    """Tables lie set after set, so that more rows move all sets but the first."""
    before = max(n_rows, 1)
    return lambda table: table // before * n_more + table % before


_PADDERS: dict[type[Source], Callable[..., Any]] = {
    RowSums: _padded_sums,
    Products: _padded_products,
    SparseProducts: _padded_sparse,
    Held: _padded_held,
}


def _padded_schedules(batches: Sequence[Batch], n_factors: Sequence[int]) -> list[TreeSchedule | None]:
    given = [batch.schedule for batch in batches if batch.schedule is not None]
    if len(given) < len(batches) or not n_factors:
        return [batch.schedule for batch in batches]
    n_steps = bucket(max(schedule.n_steps for schedule in given))
    found = []
    for schedule, batch in zip(given, batches, strict=True):
        inward = []
        for c, n in enumerate(n_factors):
            filler = batch.wired.scopes[c].shape[1]
            slots = []
            for slot, rows in enumerate(schedule.inward[c]):
                widest = max(other.inward[c][slot].shape[1] for other in given)
                fresh = np.full((n_steps, bucket(widest) if widest else 0), n, np.int32)
                fresh[: rows.shape[0], : rows.shape[1]] = np.where(rows == filler, n, rows)
                slots.append(fresh)
            inward.append(tuple(slots))
        found.append(TreeSchedule(tuple(inward)))
    return found
