"""A sparse vector that compiled loops add to: indices, values, and where each index lies."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.compiled import compiled


class SparseVector(NamedTuple):
    """Entries without repetition, in order of their first appearance.

    ``position[i]`` says where index ``i`` lies among the entries, -1 where it has none; that is what keeps
    entries distinct, and it costs four bytes a weight once, not once a move.
    """

    index: NDArray[np.int64]  # pyright: ignore[reportIncompatibleMethodOverride]
    value: NDArray[np.float64]
    size: NDArray[np.int64]  # (1,)
    position: NDArray[np.int32]

    def to_dict(self) -> dict[int, float]:
        """The entries that are not zero."""
        n = int(self.size[0])
        pairs = zip(self.index[:n].tolist(), self.value[:n].tolist(), strict=True)
        return {i: x for i, x in pairs if x != 0.0}


def sparse_vector(n_weights: int, capacity: int | None = None) -> SparseVector:
    """An empty vector of at most ``capacity`` entries.

    Examples
    --------
    >>> phi = sparse_vector(10)
    >>> add(phi, 3, 1.0)
    >>> add(phi, 3, 0.5)
    >>> phi.to_dict()
    {3: 1.5}
    """
    capacity = n_weights if capacity is None else min(capacity, n_weights)
    return SparseVector(
        np.empty(capacity, np.int64),
        np.empty(capacity),
        np.zeros(1, np.int64),
        np.full(n_weights, -1, np.int32),
    )


@compiled(inline=True)
def add(phi, index, value):
    """Add ``value`` at ``index``."""
    at = phi.position[index]
    if at >= 0:
        phi.value[at] += value
        return
    n = phi.size[0]
    if n == len(phi.index):
        raise ValueError("a move changes more statistics than the sparse vector holds; raise its capacity")
    phi.index[n] = index
    phi.value[n] = value
    phi.position[index] = n
    phi.size[0] = n + 1


@compiled(inline=True)
def clear(phi):
    """Forget every entry."""
    for n in range(phi.size[0]):
        phi.position[phi.index[n]] = -1
    phi.size[0] = 0


@compiled(inline=True)
def dot(phi, weights):
    """Inner product with a dense vector."""
    total = 0.0
    for n in range(phi.size[0]):
        total += phi.value[n] * weights[phi.index[n]]
    return total


@compiled(inline=True)
def squared_norm(phi):
    """Sum of squares."""
    total = 0.0
    for n in range(phi.size[0]):
        total += phi.value[n] * phi.value[n]
    return total


@compiled(inline=True)
def add_scaled(phi, other, factor):
    """Add ``factor`` times another sparse vector."""
    for n in range(other.size[0]):
        add(phi, other.index[n], factor * other.value[n])
