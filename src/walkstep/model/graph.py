"""The graph: variables and factors as frozen flat arrays, and how factors become one."""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled
from walkstep.features.rows import SparseRows
from walkstep.model.factors import Factors
from walkstep.model.weights import Layout


class Kind(IntEnum):
    """How the factors of a group get their features."""

    BARE = 0
    BINARY = 1
    REAL = 2
    DENSE = 3
    FIXED = 4


class Graph(NamedTuple):
    """A grounded model: read-only arrays that Numba walks and JAX message passing both read.

    Variables are numbered 0..V-1, factors 0..F-1, group by group; a group holds what one template made.
    The weight of feature row ``r`` at joint value ``c`` of factor ``f`` is
    ``weights[factor_weight[f] + r * group_cells[g] + c]``, with ``c`` the sum of each value times
    its slot's stride, so that the values of the last variable are contiguous.
    """

    n_values: NDArray[np.int32]  # (V,) size of each variable's domain
    variable_ptr: NDArray[np.int64]  # (V+1,) the factors of variable v are at variable_ptr[v]:variable_ptr[v+1] of
    factor_of_edge: NDArray[np.int32]  # (E,) the factor, and
    slot_of_edge: NDArray[np.int8]  # (E,) the place of the variable in its scope
    factor_ptr: NDArray[np.int64]  # (F+1,) the scope of factor f is factor_variables[factor_ptr[f]:factor_ptr[f+1]]
    factor_variables: NDArray[np.int32]  # (E,)
    factor_group: NDArray[np.int16]  # (F,)
    factor_weight: NDArray[np.int64]  # (F,) where its weights begin (in fixed_value for fixed groups)
    factor_row: NDArray[np.int64]  # (F,) its row of features (where it begins in dense_value for dense groups)
    group_kind: NDArray[np.int8]  # (G,) a Kind
    group_cells: NDArray[np.int64]  # (G,) joint values of a scope
    group_bias: NDArray[np.int64]  # (G,) row of the bias weight, -1 where there is none
    group_columns: NDArray[np.int64]  # (G,) observed features
    group_stride: NDArray[np.int64]  # (G, max arity) stride of each slot's value
    row_ptr: NDArray[np.int64]  # sparse features, row after row; groups may share rows
    row_index: NDArray[np.int32]
    row_value: NDArray[np.float64]  # empty where all sparse features are binary
    dense_value: NDArray[np.float64]  # dense features, flat
    fixed_value: NDArray[np.float64]  # tables that are not learned
    n_weights: int

    @property
    def n_variables(self) -> int:
        """How many variables there are."""
        return len(self.n_values)

    @property
    def n_factors(self) -> int:
        """How many factors there are."""
        return len(self.factor_group)


@compiled
def _edges_of_variables(n_variables, factor_ptr, factor_variables):
    """Turn the scopes around: the factors of each variable, in order of factor (a counting sort)."""
    ptr = np.zeros(n_variables + 1, np.int64)
    for e in range(len(factor_variables)):
        ptr[factor_variables[e] + 1] += 1
    for v in range(n_variables):
        ptr[v + 1] += ptr[v]
    fill = ptr[:-1].copy()
    factor_of_edge = np.empty(len(factor_variables), np.int32)
    slot_of_edge = np.empty(len(factor_variables), np.int8)
    for f in range(len(factor_ptr) - 1):
        for e in range(factor_ptr[f], factor_ptr[f + 1]):
            at = fill[factor_variables[e]]
            fill[factor_variables[e]] += 1
            factor_of_edge[at] = f
            slot_of_edge[at] = e - factor_ptr[f]
    return ptr, factor_of_edge, slot_of_edge


def _domain_sizes(n_values: NDArray[np.int32], group: Factors) -> tuple[int, ...]:
    """Number of values in each slot, after checking the scopes."""
    scopes = group.scopes
    if group.n_factors == 0:
        raise ValueError(
            f"factors {group.name!r} are none at all; leave the template out, or ground it on data where it applies"
        )
    if scopes.min() < 0 or scopes.max() >= len(n_values):
        raise ValueError(
            f"factors {group.name!r} join variable {int(scopes.max())} (or a negative one), but variables run "
            f"from 0 to {len(n_values) - 1}"
        )
    for a in range(group.arity):
        for b in range(a):
            same = np.flatnonzero(scopes[:, a] == scopes[:, b])
            if len(same):
                raise ValueError(
                    f"factors {group.name!r} join variable {scopes[same[0], a]} twice (scope "
                    f"{scopes[same[0]].tolist()}); give each scope distinct variables, or use a unary template"
                )
    sizes = n_values[scopes]
    if (sizes != sizes[0]).any():
        at = int(np.flatnonzero((sizes != sizes[0]).any(axis=1))[0])
        raise ValueError(
            f"factors {group.name!r} join domains of sizes {sizes[0].tolist()} and, at factor {at}, "
            f"{sizes[at].tolist()}; use one template for each combination of domains"
        )
    return tuple(int(size) for size in sizes[0])


def lay_out(n_values: ArrayLike, groups: Sequence[Factors]) -> Layout:
    """Give every block of weights its place; groups of the same name share one."""
    sizes = np.asarray(n_values, dtype=np.int32)
    blocks: dict[str, tuple[str, int, int, tuple[int, ...]]] = {}
    for group in groups:
        if group.fixed is not None:
            continue
        block = (group.name, group.n_sets, group.n_columns + group.has_bias, _domain_sizes(sizes, group))
        if blocks.setdefault(group.name, block) != block:
            raise ValueError(
                f"two groups of factors are called {group.name!r} but differ in (name, sets, rows, values): "
                f"{blocks[group.name]} and {block}; give them different names, or the same shape to share weights"
            )
    return Layout.of(list(blocks.values()))


def ground(n_values: ArrayLike, groups: Sequence[Factors], layout: Layout | None = None) -> tuple[Graph, Layout]:
    """Freeze groups of factors over variables into one graph.

    Parameters
    ----------
    n_values : int array (n_variables,)
        The size of each variable's domain.
    groups : sequence of Factors
        What the templates made.
    layout : Layout, optional
        Where the weights lie, when they come from an earlier grounding (new data under a trained model).

    Returns
    -------
    graph : Graph
    layout : Layout

    Examples
    --------
    >>> graph, layout = ground([2, 2, 2], [Factors("edge", [[0, 1], [1, 2], [2, 0]])])
    >>> graph.n_variables, graph.n_factors, layout.size
    (3, 3, 4)
    """
    sizes = np.ascontiguousarray(n_values, dtype=np.int32)
    if sizes.ndim != 1 or (len(sizes) and sizes.min() < 1):
        raise ValueError("n_values must list, for each variable, how many values it has (at least 1)")
    layout = lay_out(sizes, groups) if layout is None else layout
    pieces = _Pieces()
    for g, group in enumerate(groups):
        pieces.add(g, group, _domain_sizes(sizes, group), layout)
    return pieces.graph(sizes, layout.size), layout


class _Pieces:
    """The parts of a graph, gathered group by group."""

    def __init__(self):
        self.variables, self.arities, self.factor_group = [], [], []
        self.weight, self.row = [], []
        self.kind, self.cells, self.bias, self.columns, self.strides = [], [], [], [], []
        self.row_ptr, self.row_index, self.row_value = [np.zeros(1, np.int64)], [], []
        self.dense, self.fixed = [], []
        self.first_row_of: list[tuple[SparseRows, int]] = []
        self.n_rows = self.n_entries = self.n_dense = self.n_fixed = 0

    def add(self, g: int, group: Factors, shape: tuple[int, ...], layout: Layout):
        n = group.n_factors
        cells = int(np.prod(shape))
        self.variables.append(group.scopes.ravel())
        self.arities.append(np.full(n, group.arity, np.int64))
        self.factor_group.append(np.full(n, g, np.int16))
        self.cells.append(cells)
        self.columns.append(group.n_columns)
        self.strides.append(np.concatenate([np.cumprod((1, *shape[:0:-1]))[::-1]]).astype(np.int64))
        self.bias.append(group.n_columns if group.has_bias else -1)
        rows = np.arange(n, dtype=np.int64) if group.rows is None else np.asarray(group.rows, dtype=np.int64)
        if group.fixed is not None:
            self._add_fixed(group, shape)
            return
        if group.name not in layout:
            raise ValueError(
                f"the model has no weights called {group.name!r}; it was trained with "
                f"{[block.name for block in layout]}"
            )
        block = layout[group.name]
        if (block.n_rows, block.shape) != (group.n_columns + group.has_bias, shape):
            raise ValueError(
                f"factors {group.name!r} have {group.n_columns + group.has_bias} features over values {shape}, but "
                f"the weights were laid out for {block.n_rows} over {block.shape}"
            )
        sets = 0 if group.sets is None else np.asarray(group.sets, dtype=np.int64)
        self.weight.append(np.broadcast_to(block.offset + sets * (block.n_rows * cells), n))
        if group.features is None:
            self.kind.append(Kind.BARE)
            self.row.append(np.zeros(n, np.int64))
        elif isinstance(group.features, SparseRows):
            self.kind.append(Kind.REAL if len(group.features.value) else Kind.BINARY)
            self.row.append(rows + self._add_rows(group.features))
        else:
            self.kind.append(Kind.DENSE)
            self.row.append(rows * group.n_columns + self.n_dense)
            self.dense.append(group.features.ravel())
            self.n_dense += group.features.size

    def _add_fixed(self, group: Factors, shape: tuple[int, ...]):
        table = np.asarray(group.fixed, dtype=np.float64)
        if table.shape != shape or np.isnan(table).any() or (table == np.inf).any():
            raise ValueError(
                f"the fixed table of {group.name!r} has shape {table.shape}; give {shape}, with finite numbers or -inf"
            )
        self.kind.append(Kind.FIXED)
        self.weight.append(np.full(group.n_factors, self.n_fixed, np.int64))
        self.row.append(np.zeros(group.n_factors, np.int64))
        self.fixed.append(table.ravel())
        self.n_fixed += table.size

    def _add_rows(self, rows: SparseRows) -> int:
        """Where the rows begin; those that an earlier group brought are not stored again."""
        for known, first in self.first_row_of:
            if known is rows:
                return first
        first = self.n_rows
        self.first_row_of.append((rows, first))
        self.row_ptr.append(rows.ptr[1:] + self.n_entries)
        self.row_index.append(rows.index)
        self.row_value.append(rows.value)
        self.n_rows += len(rows.ptr) - 1
        self.n_entries += len(rows.index)
        return first

    def graph(self, n_values: NDArray[np.int32], n_weights: int) -> Graph:
        arities = _join(self.arities, np.int64)
        factor_ptr = np.concatenate([[0], np.cumsum(arities)]).astype(np.int64)
        factor_variables = _join(self.variables, np.int32)
        variable_ptr, factor_of_edge, slot_of_edge = _edges_of_variables(len(n_values), factor_ptr, factor_variables)
        strides = np.zeros((len(self.strides), max((len(s) for s in self.strides), default=1)), np.int64)
        for g, stride in enumerate(self.strides):
            strides[g, : len(stride)] = stride
        is_real = any(len(value) for value in self.row_value)
        values = [
            value if len(value) else np.ones(len(index))
            for value, index in zip(self.row_value, self.row_index, strict=True)
        ]
        graph = Graph(
            n_values=n_values,
            variable_ptr=variable_ptr,
            factor_of_edge=factor_of_edge,
            slot_of_edge=slot_of_edge,
            factor_ptr=factor_ptr,
            factor_variables=factor_variables,
            factor_group=_join(self.factor_group, np.int16),
            factor_weight=_join(self.weight, np.int64),
            factor_row=_join(self.row, np.int64),
            group_kind=np.array(self.kind, np.int8),
            group_cells=np.array(self.cells, np.int64),
            group_bias=np.array(self.bias, np.int64),
            group_columns=np.array(self.columns, np.int64),
            group_stride=strides,
            row_ptr=_join(self.row_ptr, np.int64),
            row_index=_join(self.row_index, np.int32),
            row_value=_join(values, np.float64) if is_real else np.zeros(0),
            dense_value=_join(self.dense, np.float64),
            fixed_value=_join(self.fixed, np.float64),
            n_weights=n_weights,
        )
        for array in graph[:-1]:
            array.flags.writeable = False
        return graph


def _join(arrays: list, dtype) -> NDArray:
    """One array of them all, owning its memory."""
    if len(arrays) == 1:
        return np.array(arrays[0], dtype=dtype)
    return np.concatenate(arrays).astype(dtype, copy=False) if arrays else np.zeros(0, dtype)
