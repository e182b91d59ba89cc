"""From weights to the scores of factors, in JAX, so that gradients reach the weights."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from numpy.typing import NDArray

from walkstep.messages.message_passing import Scores

_STATIC: Any = {"static": True}


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class RowSums:
    """Tables that are sums of rows of weights: those of sparse features, of biases, of factors without features.

    Rows are numbered from ``first`` on, so that whole rows are read and written, which is several times as fast as
    weight by weight.
    """

    owner: Array | NDArray[Any]  # int (n,): which table a row is added to, rising
    row: Array | NDArray[Any]  # int (n,): which row
    value: Array | NDArray[Any]  # (n,): what it is multiplied by
    n_tables: int = field(metadata=_STATIC)
    n_cells: int = field(metadata=_STATIC)
    first: int = field(metadata=_STATIC)  # where the rows begin among the weights
    n_rows: int = field(metadata=_STATIC)

    def tables(self, weights: Array) -> Array:
        """(n_tables, n_cells)"""
        block = lax.slice(weights, (self.first,), (self.first + self.n_rows * self.n_cells,))
        rows = block.reshape(self.n_rows, self.n_cells)[self.row] * self.value[:, None].astype(weights.dtype)
        return jax.ops.segment_sum(rows, self.owner, self.n_tables, indices_are_sorted=True)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Products:
    """Tables of dense features under one or several sets of weights: set after set, row after row."""

    features: Array | NDArray[Any]  # (R, D)
    at: Array | NDArray[Any]  # int (S,): where the weights of each set begin
    n_cells: int = field(metadata=_STATIC)
    is_block: bool = field(metadata=_STATIC)  # whether sets lie one after the other

    def tables(self, weights: Array) -> Array:
        """(S * R, n_cells)"""
        sets = _sets_of(weights, self.at, self.features.shape[1], self.n_cells, self.is_block)
        made = jnp.einsum("rd,sdc->src", self.features.astype(weights.dtype), sets)
        return made.reshape(-1, self.n_cells)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SparseProducts:
    """Tables of sparse features under several sets of weights that share all rows: set after set, row after row."""

    owner: Array | NDArray[Any]  # int (n,): the row of an entry, rising
    column: Array | NDArray[Any]  # int (n,)
    value: Array | NDArray[Any]  # (n,)
    at: Array | NDArray[Any]  # int (S,): where the weights of each set begin
    n_rows: int = field(metadata=_STATIC)
    n_columns: int = field(metadata=_STATIC)
    n_cells: int = field(metadata=_STATIC)
    is_block: bool = field(metadata=_STATIC)

    def tables(self, weights: Array) -> Array:
        """(S * R, n_cells)"""
        sets = _sets_of(weights, self.at, self.n_columns, self.n_cells, self.is_block)
        by_column = jnp.moveaxis(sets, 0, 1).reshape(self.n_columns, -1)
        entries = by_column[self.column] * self.value[:, None].astype(weights.dtype)
        made = jax.ops.segment_sum(entries, self.owner, self.n_rows, indices_are_sorted=True)
        return jnp.moveaxis(made.reshape(self.n_rows, -1, self.n_cells), 1, 0).reshape(-1, self.n_cells)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Held:
    """Tables that are not learned."""

    values: Array | NDArray[Any]  # (n_tables, n_cells)

    def tables(self, weights: Array) -> Array:
        """(n_tables, n_cells)"""
        return jnp.asarray(self.values, weights.dtype)


Source = RowSums | Products | SparseProducts | Held


def _sets_of(weights: Array, at: Any, n_columns: int, n_cells: int, is_block: bool) -> Array:
    """The weights of each set: (S, n_columns, n_cells)."""
    n_sets = at.shape[0]
    if is_block:  # a slice, whose gradient is one too
        block = lax.dynamic_slice(weights, (at[0],), (n_sets * n_columns * n_cells,))
        return block.reshape(n_sets, n_columns, n_cells)
    return weights[at[:, None] + jnp.arange(n_columns * n_cells)].reshape(n_sets, n_columns, n_cells)


def lie_together(at: NDArray[np.integer], size: int) -> bool:
    """Whether sets of so many weights each, beginning there, lie one after the other."""
    return bool((np.diff(at) == size).all())


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Share:
    """What one group of factors adds to the tables of a class, or to variables' own scores."""

    source: Source
    table: Array | NDArray[Any]  # int (n,): which table
    place: Array | NDArray[Any]  # int (n,): is added where
    order: tuple[int, ...] = field(metadata=_STATIC)  # the slot of the table that each slot of the class is
    shape: tuple[int, ...] = field(metadata=_STATIC)  # of the table, by its own slots

    def added(self, total: Array, weights: Array) -> Array:
        """``total`` (n_places, n_cells) with this in it; places beyond its end are left out."""
        tables = self.source.tables(weights)
        if self.order != tuple(range(len(self.shape))):
            cells = jnp.arange(tables.shape[1]).reshape(self.shape).transpose(self.order).ravel()
            tables = tables[:, cells]
        return total.at[self.place].add(tables[self.table], mode="drop")


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Tables:
    """The tables of one class of factors, or of all variables by themselves: sums of what groups say."""

    shares: tuple[Share, ...]
    shape: tuple[int, ...] = field(metadata=_STATIC)
    n_places: int = field(metadata=_STATIC)  # 1 where all places share a table
    n_copies: int = field(metadata=_STATIC)  # 1 where all copies do

    def made(self, weights: Array) -> Array:
        """(k1, ..., ka, place, copy)"""
        n_cells = 1
        for k in self.shape:
            n_cells *= k
        total = jnp.zeros((self.n_places * self.n_copies, n_cells), weights.dtype)
        for share in self.shares:
            total = share.added(total, weights)
        return total.T.reshape(*self.shape, self.n_places, self.n_copies)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ScoreTables:
    """How the scores of a graph, or of many alike, come from weights."""

    own: tuple[Tables, ...]  # of variables with k values each: classes of one variable
    variables: tuple[Array | NDArray[Any], ...]  # int: which variables each of those is about
    joint: tuple[Tables, ...]
    n_values: int = field(metadata=_STATIC)
    n_variables: int = field(metadata=_STATIC)
    n_copies: int = field(metadata=_STATIC)
    n_weights: int = field(metadata=_STATIC)

    def scores(self, weights: Array) -> Scores:
        """What factors say under these weights."""
        if weights.shape != (self.n_weights,):  # JAX would read on at the last of them
            raise ValueError(f"weights have shape {weights.shape}; these graphs take ({self.n_weights},)")
        own = jnp.zeros((self.n_values, self.n_variables, self.n_copies), weights.dtype)
        for tables, variables in zip(self.own, self.variables, strict=True):
            own = own.at[: tables.shape[0], variables].add(tables.made(weights), mode="drop")
        return Scores(own, tuple(tables.made(weights) for tables in self.joint))
