"""Rooted trees of classes: what a class implies, and which nodes are chosen."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.data.given_rows import frame_cells
from walkstep.data.name_hints import hint
from walkstep.data.preorder import in_preorder, nodes_of_dicts, nodes_of_edges, nodes_of_paths

_CELLS_AT_ONCE = 4_000_000  # of a matrix, so that whole numbers in place of bytes do not fill the memory


@dataclass(frozen=True, eq=False)
class Tree:
    """A rooted tree whose nodes are numbered in preorder: parents first, each branch in one piece.

    Parameters
    ----------
    names : tuple of str (n_nodes,)
        Each node has a name of its own. That of the root, node 0, is "" if the root was only added to join
        several nodes at the top; it is then no label.
    parent : int64 array (n_nodes,)
        The parent of each node; -1 for the root.

    Examples
    --------
    >>> tree = tree_from({"animal": {"dog": {}, "cat": {}}, "plant": None})
    >>> tree.names, tree.parent.tolist(), tree.labels
    (('', 'animal', 'dog', 'cat', 'plant'), [-1, 0, 1, 1, 0], ('animal', 'dog', 'cat', 'plant'))
    >>> tree.indicators([["dog"], []]).tolist()
    [[1, 1, 1, 0, 0], [1, 0, 0, 0, 0]]
    """

    names: tuple[str, ...]
    parent: NDArray[np.int64]

    def __post_init__(self) -> None:
        n = len(self.names)
        if n == 0 or self.parent.shape != (n,):
            raise ValueError(f"there are {n} names, but parent has shape {self.parent.shape}; give a parent for each")
        if self.parent[0] != -1 or ((self.parent[1:] < 0) | (self.parent[1:] >= np.arange(1, n))).any():
            raise ValueError("parents do not come before their children, the root first; make the tree with tree_from")
        ends = self.branch_end.tolist()
        last = {}  # of each node, the child that came before
        for node, above in enumerate(self.parent.tolist()):
            if node and node != (ends[last[above]] if above in last else above + 1):
                raise ValueError(f"the branch that has {self.names[node]!r} is torn; make the tree with tree_from")
            last[above] = node
        if len(self.number) < n:
            name = next(name for k, name in enumerate(self.names) if self.number[name] != k)
            raise ValueError(f"two nodes are named {name!r}; give each node a name of its own")
        if "" in self.names[1:]:
            raise ValueError("a node below the root has no name; give it one")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and self.names == other.names and np.array_equal(self.parent, other.parent)

    def __hash__(self) -> int:
        return hash(self.names)

    @property
    def n_nodes(self) -> int:
        """How many nodes there are, the root among them."""
        return len(self.names)

    @property
    def has_own_root(self) -> bool:
        """Whether the root is a node that was given, and so a label; else it was added above several."""
        return self.names[0] != ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of all nodes but an added root."""
        return self.names[not self.has_own_root :]

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of each node by name."""
        return {name: node for node, name in enumerate(self.names)}

    @cached_property
    def branch_end(self) -> NDArray[np.int64]:
        """One more than the last node of each branch (n_nodes,): nodes v to branch_end[v] - 1 are the branch of v."""
        size, parent = [1] * self.n_nodes, self.parent.tolist()
        for node in range(self.n_nodes - 1, 0, -1):
            size[parent[node]] += size[node]
        return np.arange(self.n_nodes) + np.array(size, np.int64)

    @cached_property
    def depth(self) -> NDArray[np.int64]:
        """How many steps each node is below the root (n_nodes,)."""
        n_ended = np.bincount(self.branch_end, minlength=self.n_nodes + 1)[: self.n_nodes]
        return np.cumsum(1 - n_ended) - 1

    @cached_property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Which nodes have no children (n_nodes,)."""
        return self.branch_end == np.arange(1, self.n_nodes + 1)

    @cached_property
    def n_children(self) -> NDArray[np.int64]:
        """How many children each node has (n_nodes,)."""
        return np.bincount(self.parent[1:], minlength=self.n_nodes)

    def children(self, node: int) -> NDArray[np.int64]:
        """The children of a node, in order."""
        start = int(self._child_ptr[node])
        return self._by_parent[start : start + int(self.n_children[node])]

    def find(self, name: str) -> int:
        """The number of a node, or an error that offers names like it.

        Examples
        --------
        >>> tree_from([("animal", "dog"), ("animal", "cat")]).find("dgo")
        Traceback (most recent call last):
        ...
        ValueError: 'dgo' is no node of the tree; near it: 'dog'
        """
        node = self.number.get(name) if isinstance(name, str) else None
        if node is None or name == "":
            raise ValueError(f"{name!r} is no node of the tree; {hint(name, self.labels)}")
        return node

    def closed(self, values: ArrayLike) -> NDArray[np.int8]:
        """Chosen nodes (n_rows, n_nodes), 0 or 1, with all their ancestors; the root is always 1.

        Examples
        --------
        >>> tree_from({"a": {"b": ["c"], "d": None}}).closed([[0, 0, 1, 0], [0, 0, 0, 0]]).tolist()
        [[1, 1, 1, 0], [1, 0, 0, 0]]
        """
        values = self._checked(values)
        closed = np.empty(values.shape, np.int8)
        for rows, n_chosen in self._n_chosen(values):
            closed[rows] = n_chosen > 0
        closed[:, 0] = 1
        return closed

    def indicators(self, label_sets: Sequence[Collection[str]]) -> NDArray[np.int8]:
        """Sets of names as 0/1 (n_rows, n_nodes), ancestors and root added; `label_sets` goes the other way."""
        values = np.zeros((len(label_sets), self.n_nodes), np.int8)
        for row, names in enumerate(label_sets):
            try:
                values[row, [self.find(name) for name in names]] = 1
            except ValueError as error:
                raise ValueError(f"row {row}: {error}") from None
        return self.closed(values)

    def label_sets(self, values: ArrayLike, *, most_specific: bool = False) -> list[tuple[str, ...]]:
        """The names of the nodes that each row (n_rows, n_nodes) chooses, in the tree's order, without an added root.

        Parameters
        ----------
        values : 0/1 array (n_rows, n_nodes)
        most_specific : bool
            Whether to leave out nodes below which another is chosen.

        Examples
        --------
        >>> tree = tree_from({"a": {"b": ["c"], "d": None}, "e": {}})
        >>> tree.label_sets([[1, 1, 1, 1, 0, 1]]), tree.label_sets([[1, 1, 1, 1, 0, 1]], most_specific=True)
        ([('a', 'b', 'c', 'e')], [('c', 'e')])
        """
        values = self._checked(values)
        chosen = values != 0
        if most_specific:
            chosen = chosen.copy()
            for rows, n_chosen in self._n_chosen(values):
                chosen[rows] &= n_chosen == 1
        if not self.has_own_root:
            chosen[:, 0] = False
        return [tuple(self.names[node] for node in np.flatnonzero(row).tolist()) for row in chosen]

    @cached_property
    def _by_parent(self) -> NDArray[np.int64]:
        """All nodes but the root, children of a node together."""
        return 1 + np.argsort(self.parent[1:], kind="stable")

    @cached_property
    def _child_ptr(self) -> NDArray[np.int64]:
        """Where the children of each node begin in ``_by_parent``."""
        return np.cumsum(self.n_children) - self.n_children

    def _checked(self, values: ArrayLike) -> NDArray[Any]:
        """A matrix with a column for each node that holds 0 and 1 only."""
        values = np.asarray(values)
        if values.ndim != 2 or values.shape[1] != self.n_nodes:
            raise ValueError(f"values has shape {values.shape}; give (n_rows, n_nodes), here {self.n_nodes} nodes")
        wrong = np.argwhere((values != 0) & (values != 1))
        if len(wrong):
            row, node = wrong[0].tolist()
            raise ValueError(f"row {row} is {values[row, node]} at {self.names[node]!r}; give 0 or 1")
        return values

    def _n_chosen(self, values: NDArray[Any]) -> Iterable[tuple[slice, NDArray[np.int64]]]:
        """How many nodes of each branch are chosen: some rows at a time, and which rows these are."""
        step = max(1, _CELLS_AT_ONCE // self.n_nodes)
        for first in range(0, len(values), step):
            rows = slice(first, first + step)
            n_before = np.zeros((len(values[rows]), self.n_nodes + 1), np.int64)
            np.cumsum(values[rows], axis=1, out=n_before[:, 1:])
            yield rows, n_before[:, self.branch_end] - n_before[:, :-1]


def tree_from(given: Any) -> Tree:
    """A tree of nested dicts, or of edges; siblings keep their order.

    Parameters
    ----------
    given : Tree, mapping, iterable of pairs, or dataframe
        Nested dicts such as ``{"animal": {"dog": {}, "cat": None}}``, in which leaves may also stand as a list, tuple
        or set of names; pairs (parent, child); or a dataframe with columns ``parent`` and ``child``, else with those
        first. The parent of a node at the top is None or "", or just not told. Of several nodes at the top, an added
        root named "" becomes the parent; a single one is the root.

    Examples
    --------
    >>> tree = tree_from([("animal", "dog"), ("animal", "cat"), ("dog", "terrier")])
    >>> tree.names, tree.has_own_root, tree.depth.tolist()
    (('animal', 'dog', 'terrier', 'cat'), True, [0, 1, 2, 1])
    """
    if isinstance(given, Tree):
        return given
    if isinstance(given, Mapping):
        return Tree(*in_preorder(nodes_of_dicts(given)))
    frame = frame_cells(given)
    if frame is not None:
        names, cells = frame
        if len(names) < 2:
            raise ValueError(f"the table of edges has the columns {names}; give it two, parent and child")
        columns = [names.index(name) for name in ("parent", "child")] if {"parent", "child"} <= {*names} else [0, 1]
        given = cells[:, columns].tolist()
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"the tree is {given!r}; give nested dicts, pairs (parent, child), or a dataframe of these")
    return Tree(*in_preorder(nodes_of_edges(given)))


def tree_from_paths(paths: Iterable[str], separator: str = "/") -> Tree:
    """A tree of paths such as ``6/2/0``: nodes are named by whole paths, and all beginnings of paths are nodes.

    Parameters
    ----------
    paths : iterable of str
        Siblings come in the order in which they are first seen.
    separator : str
        What stands between two levels.

    Examples
    --------
    >>> tree_from_paths(["6/2/0", "1"]).names
    ('', '6', '6/2', '6/2/0', '1')
    """
    return Tree(*in_preorder(nodes_of_paths(paths, separator)))
