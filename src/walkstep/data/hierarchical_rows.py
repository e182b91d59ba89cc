"""Rows of features, each with classes of a tree: the data of hierarchical classification."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from walkstep.data.trees import Tree


@dataclass(frozen=True)
class HierarchicalRows:
    """Feature rows and the classes that each bears, with all their ancestors.

    Parameters
    ----------
    X : float64 array (n_rows, n_features)
        The features; NaN where one is missing.
    values : int8 array (n_rows, n_nodes) or None
        1 where the row bears the class, and at the root; ``None`` if classes are unknown.
    tree : Tree
        The classes.
    feature_names : tuple of str (n_features,)
        One name a column of ``X``.

    Examples
    --------
    >>> from walkstep.data.trees import tree_from_paths
    >>> tree = tree_from_paths(["a/b", "c"])
    >>> rows = HierarchicalRows(np.ones((1, 1)), tree.indicators([["a/b"]]), tree, ("size",))
    >>> rows.n_rows, rows.label_set(0)
    (1, ('a', 'a/b'))
    """

    X: NDArray[np.float64]
    values: NDArray[np.int8] | None
    tree: Tree
    feature_names: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.X.ndim != 2 or self.X.shape[1] != len(self.feature_names):
            raise ValueError(
                f"X has shape {self.X.shape} but there are {len(self.feature_names)} feature_names; "
                "give one name a column"
            )
        expected = (len(self.X), self.tree.n_nodes)
        if self.values is not None and self.values.shape != expected:
            raise ValueError(f"values has shape {self.values.shape}, expected (rows, nodes of the tree) = {expected}")

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.X)

    @property
    def n_features(self) -> int:
        """How many columns of features there are."""
        return len(self.feature_names)

    def label_set(self, row: int) -> tuple[str, ...]:
        """The names of the classes that a row bears, in the tree's order."""
        if self.values is None:
            raise ValueError(f"the classes of row {row} are not known: values is None")
        return self.tree.label_sets(self.values[row : row + 1])[0]
