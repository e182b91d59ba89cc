"""Weights: named blocks of one vector."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Block:
    """The weights of one template: ``n_sets`` tables of ``n_rows`` features by the cells of its scope.

    Parameters
    ----------
    name : str
        The template's name; templates that share a name share their weights.
    offset : int
        Where the block begins in the vector.
    n_sets : int
        How many separate sets of parameters (1 unless factors are told apart, as labels are).
    n_rows : int
        Features, the bias counted as the last one.
    shape : tuple of int
        Number of values of each variable of the scope.
    """

    name: str
    offset: int
    n_sets: int
    n_rows: int
    shape: tuple[int, ...]

    @property
    def n_cells(self) -> int:
        """Joint values of the scope."""
        return prod(self.shape)

    @property
    def size(self) -> int:
        """Number of weights."""
        return self.n_sets * self.n_rows * self.n_cells

    @property
    def stop(self) -> int:
        """Where the block ends in the vector."""
        return self.offset + self.size


@dataclass(frozen=True)
class Layout:
    """Where each template's weights lie in the one vector.

    Examples
    --------
    >>> layout = Layout.of([("emission", 1, 100, (3,)), ("transition", 1, 1, (3, 3))])
    >>> layout.size, layout["transition"].offset
    (309, 300)
    """

    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, sizes: list[tuple[str, int, int, tuple[int, ...]]]) -> "Layout":
        """Lay blocks of (name, sets, rows, shape) one after the other."""
        blocks, offset = [], 0
        for name, n_sets, n_rows, shape in sizes:
            blocks.append(Block(name, offset, n_sets, n_rows, tuple(shape)))
            offset = blocks[-1].stop
        return cls(tuple(blocks))

    @property
    def size(self) -> int:
        """Length of the weight vector."""
        return self.blocks[-1].stop if self.blocks else 0

    def __iter__(self) -> Iterator[Block]:
        return iter(self.blocks)

    def __contains__(self, name: str) -> bool:
        return any(block.name == name for block in self.blocks)

    def __getitem__(self, name: str) -> Block:
        for block in self.blocks:
            if block.name == name:
                return block
        raise KeyError(f"no weights are called {name!r}; there are {[block.name for block in self.blocks]}")

    def view(self, weights: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        """The named block of ``weights`` as an array (set, row, value, value, ...), sharing memory."""
        block = self[name]
        return weights[block.offset : block.stop].reshape(block.n_sets, block.n_rows, *block.shape)
