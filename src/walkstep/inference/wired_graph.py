"""A grounded graph made ready for message passing: its structure, and how weights become scores."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.kept_programs import keep_programs
from walkstep.messages.message_passing import Wiring, wiring
from walkstep.messages.score_tables import (
    Held,
    Products,
    RowSums,
    ScoreTables,
    Share,
    Source,
    SparseProducts,
    Tables,
    lie_together,
)
from walkstep.messages.tree_schedule import TreeSchedule, tree_schedule
from walkstep.model.graph import Graph, Kind

keep_programs()


class WiredGraph(NamedTuple):
    """What message passing needs of a graph.

    Where the documents of a graph are all alike (the same variables and scopes, one after the other), they are copies
    of one structure; otherwise the graph is one copy of itself.
    """

    wired: Wiring
    tables: ScoreTables
    schedule: TreeSchedule | None  # where no cycle is closed
    n_copies: int
    n_weights: int

    def by_copy(self, values: ArrayLike) -> NDArray[np.integer]:
        """What is said of each variable of the graph (V * B, ...), as (V, B, ...)."""
        given = np.asarray(values)
        return np.moveaxis(given.reshape(self.n_copies, -1, *given.shape[1:]), 0, 1)

    def by_variable(self, values: ArrayLike) -> NDArray:
        """The other way: (..., V, B) as (V * B, ...)."""
        given = np.moveaxis(np.asarray(values), (-1, -2), (0, 1))
        return given.reshape(-1, *given.shape[2:])


def wire(graph: Graph, document_ptr: ArrayLike | None = None) -> WiredGraph:
    """Make a graph ready for message passing: once for each graph, whatever the weights.

    Factors over the same variables are merged into one.

    Parameters
    ----------
    graph : Graph
    document_ptr : int array (n_documents + 1,), optional
        Ranges of variables that no factor joins; where they are alike, messages are passed in all of them at once.

    Examples
    --------
    >>> from walkstep.model import Factors, ground
    >>> graph, layout = ground([2] * 6, [Factors("edge", [[0, 1], [1, 2], [3, 4], [4, 5]])])
    >>> made = wire(graph, [0, 3, 6])
    >>> made.n_copies, made.wired.scopes[0].tolist(), made.schedule.n_steps
    (2, [[0, 1], [1, 2]], 1)
    """
    ptr = np.array([0, graph.n_variables]) if document_ptr is None else np.asarray(document_ptr, dtype=np.int64)
    n_copies = len(ptr) - 1
    if n_copies > 1:
        made = _wired(graph, n_copies) if _is_even(graph, ptr) else None
        if made is not None:
            return made
    whole = _wired(graph, 1)
    assert whole is not None
    return whole


def _is_even(graph: Graph, ptr: NDArray[np.int64]) -> bool:
    """Whether documents have equally many variables, of equal sizes."""
    sizes = np.diff(ptr)
    if (sizes != sizes[0]).any():
        return False
    domains = graph.n_values.reshape(len(sizes), -1)
    return bool((domains == domains[0]).all())


class _Member(NamedTuple):
    """The factors of one group, as part of a class."""

    group: int
    factors: NDArray[np.int64]
    scopes: NDArray[np.int64]  # (arity, n), slots in the order of the class
    order: tuple[int, ...]
    shape: tuple[int, ...]  # by the slots of the group


def _wired(graph: Graph, n_copies: int) -> WiredGraph | None:
    """The graph as so many copies of one structure, or None where it is not."""
    n_variables = graph.n_variables // n_copies
    classes: dict[tuple[int, ...], list[_Member]] = {}
    for member in _members(graph):
        classes.setdefault(tuple(member.shape[slot] for slot in member.order), []).append(member)
    own, variables, joint, scopes = [], [], [], []
    for shape, members in classes.items():
        keys = np.concatenate([member.scopes for member in members], axis=1)
        # Scopes are unique within a copy and, but for the number of the copy, the same in all.
        copy, rest = np.divmod(keys, n_variables)
        if (copy != copy[0]).any():
            return None
        found, place = np.unique(np.concatenate([copy[:1], rest]), axis=1, return_inverse=True)
        n_places, odd = divmod(found.shape[1], n_copies)
        by_copy = found[:, : n_places * n_copies].reshape(len(found), n_copies, -1)
        if odd or (by_copy[0] != np.arange(n_copies)[:, None]).any() or (by_copy[1:] != by_copy[1:, :1]).any():
            return None
        scope = by_copy[1:, 0].astype(np.int32)
        # Places are laid out (place, copy).
        at = place.reshape(-1) % n_places * n_copies + place.reshape(-1) // n_places
        tables = _tables(graph, shape, members, at, n_places, n_copies)
        if len(shape) == 1:
            own.append(tables)
            variables.append(scope[0])
        else:
            joint.append(tables)
            scopes.append(scope)
    wired = wiring(graph.n_values[:n_variables], scopes)
    sizes = wired.allowed.shape[0], n_variables, n_copies, graph.n_weights
    tables = ScoreTables(tuple(own), tuple(variables), tuple(joint), *sizes)
    return WiredGraph(wired, tables, tree_schedule(n_variables, tuple(scopes)), n_copies, graph.n_weights)


def _members(graph: Graph) -> list[_Member]:
    """Groups of factors, those whose scopes are in another order than the variables' apart."""
    group_ptr = np.searchsorted(graph.factor_group, np.arange(len(graph.group_kind) + 1))
    pooled: dict[tuple[int, tuple[int, ...]], list[NDArray[np.int64]]] = {}
    for g, kind in enumerate(graph.group_kind):
        first = graph.factor_ptr[group_ptr[g]]
        scope = graph.factor_variables[first : graph.factor_ptr[group_ptr[g] + 1]]
        shape = tuple(graph.n_values[scope].tolist())
        # Tables that are given need no weights, so that groups of them are as good as one.
        pooled.setdefault((-1 if kind == Kind.FIXED else g, shape), []).append(
            np.arange(group_ptr[g], group_ptr[g + 1])
        )
    found = []
    for (_, shape), parts in pooled.items():
        factors = np.concatenate(parts)
        at = graph.factor_ptr[factors][:, None] + np.arange(len(shape))
        scopes = graph.factor_variables[at]
        # Rising variables, so that factors over the same ones meet whatever the order they were written in.
        orders, which = np.unique(np.argsort(scopes, axis=1, kind="stable"), axis=0, return_inverse=True)
        for k, order in enumerate(orders.tolist()):
            mine = np.flatnonzero(which.reshape(-1) == k)
            scope = scopes[mine][:, order].T.astype(np.int64)
            group = int(graph.factor_group[factors[0]])
            found.append(_Member(group, factors[mine], scope, tuple(order), shape))
    return found


def _tables(
    graph: Graph,
    shape: tuple[int, ...],
    members: list[_Member],
    at: NDArray[np.int64],
    n_places: int,
    n_copies: int,
) -> Tables:
    """What members add to the tables of a class, which is as small as they allow."""
    ends = np.cumsum([len(member.factors) for member in members])
    parts = [_sources(graph, member) for member in members]
    # Which table of which source stands at each place; where places or copies agree in all, one table serves them.
    named = np.full((sum(map(len, parts)), n_places * n_copies), -1, np.int64)
    shares: list[tuple[Source, _Member, int]] = []
    twice = []
    for member, of, end in zip(members, parts, ends, strict=True):
        places = at[end - len(member.factors) : end]
        for source, table, which in of:
            row = len(shares)
            named[row, places[which]] = table
            shares.append((source, member, row))
            twice.append(len(np.unique(places[which])) < len(which))
    if any(twice):  # the same scope twice in one group: its tables are added one by one
        return _one_by_one(parts, members, ends, at, shape, n_places, n_copies)
    grid = named.reshape(len(named), n_places, n_copies)
    if (grid == grid[:, :1, :1]).all():
        grid = grid[:, :1, :1]
    elif (grid == grid[:, :, :1]).all():
        grid = grid[:, :, :1]
    made = []
    for source, member, row in shares:
        table = grid[row].ravel()
        used = np.flatnonzero(table >= 0)
        made.append(Share(source, table[used], used, member.order, member.shape))
    return Tables(tuple(made), shape, grid.shape[1], grid.shape[2])


def _one_by_one(parts, members, ends, at, shape, n_places, n_copies) -> Tables:
    made = []
    for member, of, end in zip(members, parts, ends, strict=True):
        places = at[end - len(member.factors) : end]
        for source, table, which in of:
            made.append(Share(source, table, places[which], member.order, member.shape))
    return Tables(tuple(made), shape, n_places, n_copies)


_Served = list[tuple[Source, NDArray[np.int64], NDArray[np.int64]]]
"""Sources of tables, and which table serves which of the factors."""


def _sources(graph: Graph, member: _Member) -> _Served:
    """Where the tables of a group come from."""
    g, factors = member.group, member.factors
    kind, n_cells = graph.group_kind[g], int(graph.group_cells[g])
    offset = graph.factor_weight[factors]
    everything = np.arange(len(factors))
    if kind == Kind.FIXED:
        starts, which = np.unique(offset, return_inverse=True)
        return [(Held(graph.fixed_value[starts[:, None] + np.arange(n_cells)]), which, everything)]
    if kind == Kind.DENSE:
        return _products(graph, member, offset)
    # Factors of the same row and set have the same table.
    row = graph.factor_row[factors] if kind in (Kind.BINARY, Kind.REAL) else np.zeros(len(factors), np.int64)
    sets, set_of = np.unique(offset, return_inverse=True)
    rows, row_of = np.unique(row, return_inverse=True)
    owner, column, value = _entries(graph, g, rows)
    n_columns = int(graph.group_columns[g]) + int(graph.group_bias[g] >= 0)
    if len(sets) > 1 and len(np.unique(set_of * len(rows) + row_of)) == len(sets) * len(rows):
        together = lie_together(sets, n_columns * n_cells)
        product = SparseProducts(owner, column, value, sets, len(rows), n_columns, n_cells, together)
        return [(product, set_of * len(rows) + row_of, everything)]
    used, which = np.unique(set_of * len(rows) + row_of, return_inverse=True)
    ends = np.searchsorted(owner, np.arange(len(rows) + 1))
    n_entries = np.diff(ends)[used % len(rows)]
    entry = np.repeat(ends[used % len(rows)] - np.cumsum(n_entries) + n_entries, n_entries) + np.arange(n_entries.sum())
    first = int(sets[0])
    at = np.repeat((sets[used // len(rows)] - first) // n_cells, n_entries) + column[entry]
    sums = RowSums(
        np.repeat(np.arange(len(used), dtype=np.int32), n_entries),
        at.astype(np.int32),
        value[entry],
        len(used),
        n_cells,
        first,
        int(sets[-1] - first) // n_cells + n_columns,
    )
    return [(sums, which, everything)]


def _entries(
    graph: Graph, g: int, rows: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """What rows of sparse features hold, with the bias: whose it is, which column, and how much."""
    kind, bias = graph.group_kind[g], int(graph.group_bias[g])
    none = np.zeros(0, np.int64)
    n_entries = graph.row_ptr[rows + 1] - graph.row_ptr[rows] if kind != Kind.BARE else np.zeros(len(rows), np.int64)
    owner = np.repeat(np.arange(len(rows)), n_entries)
    first = np.repeat(graph.row_ptr[rows] - (np.cumsum(n_entries) - n_entries), n_entries) if len(owner) else none
    entry = first + np.arange(len(owner))
    column = graph.row_index[entry] if len(owner) else none
    value = graph.row_value[entry] if kind == Kind.REAL else np.ones(len(owner))
    if bias >= 0:
        owner = np.concatenate([owner, np.arange(len(rows))])
        column = np.concatenate([column, np.full(len(rows), bias)])
        value = np.concatenate([value, np.ones(len(rows))])
        order = np.argsort(owner, kind="stable")
        owner, column, value = owner[order], column[order], value[order]
    return owner.astype(np.int32), column.astype(np.int32), value


def _products(graph: Graph, member: _Member, offset: NDArray[np.int64]) -> _Served:
    """Dense features: one product for all sets where they share rows, otherwise one for each."""
    g = member.group
    n_columns, n_cells = int(graph.group_columns[g]), int(graph.group_cells[g])
    row = graph.factor_row[member.factors]
    sets, set_of = np.unique(offset, return_inverse=True)
    of_set = [np.flatnonzero(set_of == s) for s in range(len(sets))]
    rows = [np.unique(row[mine]) for mine in of_set]
    alike = all(len(one) == len(rows[0]) and (one == rows[0]).all() for one in rows)

    def product(rows: NDArray[np.int64], at: NDArray[np.int64]) -> Products:
        features = graph.dense_value[rows[:, None] + np.arange(n_columns)]
        if graph.group_bias[g] >= 0:  # its weights follow those of the columns
            features = np.concatenate([features, np.ones((len(rows), 1))], axis=1)
        return Products(features, at, n_cells, lie_together(at, features.shape[1] * n_cells))

    if alike:
        table = set_of * len(rows[0]) + np.searchsorted(rows[0], row)
        return [(product(rows[0], sets), table.reshape(-1), np.arange(len(row)))]
    return [
        (product(rows[s], sets[s : s + 1]), np.searchsorted(rows[s], row[mine]), mine) for s, mine in enumerate(of_set)
    ]
