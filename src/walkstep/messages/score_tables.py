"""From weights to the scores of factors, in JAX, so that gradients reach the weights."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from numpy.typing import NDArray

from walkstep.messages.message_passing import Scores

_STATIC: Any = {"static": True}


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class RowSums:
    """Tables that are sums of rows of weights: those of sparse features, of biases, of factors without features."""

    owner: Array | NDArray[Any]  # int (n,): which table a row is added to, rising
    at: Array | NDArray[Any]  # int (n,): where the row begins among the weights
    value: Array | NDArray[Any]  # (n,): what it is multiplied by
    n_tables: int = field(metadata=_STATIC)
    n_cells: int = field(metadata=_STATIC)

    def tables(self, weights: Array) -> Array:
        """(n_tables, n_cells)"""
        rows = weights[self.at[:, None] + jnp.arange(self.n_cells)] * self.value[:, None].astype(weights.dtype)
        return jax.ops.segment_sum(rows, self.owner, self.n_tables, indices_are_sorted=True)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Products:
    """Tables of dense features under one or several sets of weights: set after set, row after row."""

    features: Array | NDArray[Any]  # (R, D)
    at: Array | NDArray[Any]  # int (S,): where the weights of each set begin
    n_cells: int = field(metadata=_STATIC)

    def tables(self, weights: Array) -> Array:
        """(S * R, n_cells)"""
        n_columns = self.features.shape[1]
        sets = weights[self.at[:, None] + jnp.arange(n_columns * self.n_cells)]
        sets = sets.reshape(-1, n_columns, self.n_cells)
        made = jnp.einsum("rd,sdc->src", self.features.astype(weights.dtype), sets)
        return made.reshape(-1, self.n_cells)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Held:
    """Tables that are not learned."""

    values: Array | NDArray[Any]  # (n_tables, n_cells)

    def tables(self, weights: Array) -> Array:
        """(n_tables, n_cells)"""
        return jnp.asarray(self.values, weights.dtype)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Share:
    """What one group of factors adds to the tables of a class, or to variables' own scores."""

    source: RowSums | Products | Held
    table: Array | NDArray[Any]  # int (n,): which table
    place: Array | NDArray[Any]  # int (n,): is added where; no place twice
    order: tuple[int, ...] = field(metadata=_STATIC)  # the slot of the table that each slot of the class is
    shape: tuple[int, ...] = field(metadata=_STATIC)  # of the table, by its own slots

    def added(self, total: Array, weights: Array) -> Array:
        """``total`` (n_places, n_cells) with this in it."""
        tables = self.source.tables(weights)
        if self.order != tuple(range(len(self.shape))):
            cells = jnp.arange(tables.shape[1]).reshape(self.shape).transpose(self.order).ravel()
            tables = tables[:, cells]
        return total.at[self.place].add(tables[self.table])


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Tables:
    """The tables of one class of factors, or of all variables by themselves: sums of what groups say."""

    shares: tuple[Share, ...]
    shape: tuple[int, ...] = field(metadata=_STATIC)
    n_places: int = field(metadata=_STATIC)
    n_copies: int = field(metadata=_STATIC)

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

    def scores(self, weights: Array) -> Scores:
        """What factors say under these weights."""
        own = jnp.zeros((self.n_values, self.n_variables, self.n_copies), weights.dtype)
        for tables, variables in zip(self.own, self.variables, strict=True):
            own = own.at[: tables.shape[0], variables].add(tables.made(weights))
        return Scores(own, tuple(tables.made(weights) for tables in self.joint))
