"""Nodes and their parents, in any order, put in preorder: parents first, each branch in one piece."""

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.data.given_rows import is_missing

TOP = -1  # the parent of a node that has none


class Nodes:
    """Nodes that are added one by one, children before parents or after."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.parent: list[int | None] = []  # None while nothing is said of it
        self.children: list[list[int]] = []
        self.number: dict[str, int] = {}

    def find(self, name: str) -> int:
        """The number of a node, which is new if the name is."""
        number = self.number.setdefault(name, len(self.names))
        if number == len(self.names):
            self.names.append(name)
            self.parent.append(None)
            self.children.append([])
        return number

    def add(self, name: str, parent: str | None) -> None:
        """A node below another; at the top if ``parent`` is None.

        Examples
        --------
        >>> nodes = Nodes()
        >>> nodes.add("dog", "animal")
        >>> nodes.add("dog", "pet")
        Traceback (most recent call last):
        ...
        ValueError: 'dog' is below 'pet' and below 'animal' too; a tree gives each node one parent
        """
        if name == parent:
            raise ValueError(f"{name!r} is its own parent; give it another, or none")
        above = TOP if parent is None else self.find(parent)
        node = self.find(name)
        known = self.parent[node]
        if known is not None and known != above:
            here, there = ("at the top" if k == TOP else f"below {self.names[k]!r}" for k in (above, known))
            raise ValueError(f"{name!r} is {here} and {there} too; a tree gives each node one parent")
        self.parent[node] = above
        if known is None and above != TOP:
            self.children[above].append(node)


class Preorder(NamedTuple):
    """Names and parents, parents first and each branch in one piece; siblings in the order given."""

    names: tuple[str, ...]
    parent: NDArray[np.int64]  # -1 for the root, which is node 0


def in_preorder(nodes: Nodes) -> Preorder:
    """Put nodes in preorder, below a root named "" if several are at the top.

    A node whose parent was never said is at the top.

    Examples
    --------
    >>> nodes = Nodes()
    >>> for name, parent in [("dog", "animal"), ("oak", "plant"), ("cat", "animal")]:
    ...     nodes.add(name, parent)
    >>> in_preorder(nodes)
    Preorder(names=('', 'animal', 'dog', 'cat', 'plant', 'oak'), parent=array([-1,  0,  1,  1,  0,  4]))
    """
    if not nodes.names:
        raise ValueError("the tree has no nodes; give at least one")
    tops = [node for node, above in enumerate(nodes.parent) if above is None or above == TOP]
    names, parent = ([""], [TOP]) if len(tops) > 1 else ([], [])
    above_tops = len(names) - 1
    waiting = [(node, above_tops) for node in reversed(tops)]
    while waiting:
        node, above = waiting.pop()
        place = len(names)
        names.append(nodes.names[node])
        parent.append(above)
        waiting += [(child, place) for child in reversed(nodes.children[node])]
    if len(names) - (len(tops) > 1) < len(nodes.names):
        raise ValueError(f"{_cycle(nodes, set(names))} is a cycle; take one of its edges out")
    return Preorder(tuple(names), np.array(parent, np.int64))


def nodes_of_dicts(given: Mapping[Any, Any]) -> Nodes:
    """The nodes of nested dicts, whose leaves are None, empty, or names in a list, tuple or set.

    Examples
    --------
    >>> nodes_of_dicts({"animal": {"dog": {}, "cat": None}, "plant": ["oak", "elm"]}).names
    ['animal', 'dog', 'cat', 'plant', 'oak', 'elm']
    """
    nodes = Nodes()
    waiting: list[tuple[str | None, Any, Any]] = [(None, *pair) for pair in reversed(list(given.items()))]
    while waiting:
        above, key, below = waiting.pop()
        name = node_name(key)
        if name in nodes.number:
            raise ValueError(f"two nodes are named {name!r}; give each node a name of its own")
        nodes.add(name, above)
        if isinstance(below, Mapping):
            inner = list(below.items())
        elif isinstance(below, list | tuple | set | frozenset):
            leaves = sorted(map(node_name, below)) if isinstance(below, set | frozenset) else below
            inner = [(leaf, None) for leaf in leaves]
        elif below is None:
            continue
        else:
            raise TypeError(f"below {name!r} stands {below!r}; give a dict, a list of names, or None")
        waiting += [(name, *pair) for pair in reversed(inner)]
    return nodes


def nodes_of_edges(given: Iterable[Any]) -> Nodes:
    """The nodes of pairs (parent, child); a parent of None or "" puts the child at the top.

    Examples
    --------
    >>> nodes_of_edges([("animal", "dog"), (None, "animal")]).names
    ['animal', 'dog']
    """
    nodes = Nodes()
    for k, edge in enumerate(given):
        if isinstance(edge, str) or not hasattr(edge, "__len__") or len(edge) != 2:
            raise TypeError(
                f"edge {k} is {edge!r}; give pairs (parent, child), or make a tree of paths with tree_from_paths"
            )
        above, name = edge
        try:
            nodes.add(node_name(name), None if is_missing(above) or above == "" else node_name(above))
        except (TypeError, ValueError) as error:
            raise type(error)(f"edge {k}: {error}") from None
    return nodes


def nodes_of_paths(paths: Iterable[str], separator: str) -> Nodes:
    """The nodes of paths, each named by the path to it.

    Examples
    --------
    >>> sorted(nodes_of_paths(["6/2/0", "1"], "/").names)
    ['1', '6', '6/2', '6/2/0']
    """
    nodes = Nodes()
    for k, path in enumerate(paths):
        if not isinstance(path, str) or not all(part.strip() for part in path.split(separator)):
            raise ValueError(f"path {k} is {path!r}, in which a level has no name; write it like 6{separator}2")
        while path and nodes.parent[nodes.find(path)] is None:
            above = path.rpartition(separator)[0]
            nodes.add(path, above or None)
            path = above
    return nodes


def node_name(value: Any) -> str:
    """What a node is called: a string as it is, a whole number (a float where its column has gaps) as a string."""
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    raise TypeError(f"{value!r} is no name of a node; give a string that is not empty")


def _cycle(nodes: Nodes, reached: set[str]) -> str:
    """The names on a cycle, from child to parent."""
    node = next(k for k, name in enumerate(nodes.names) if name not in reached)
    seen: dict[int, int] = {}
    path: list[int] = []
    while node not in seen:
        seen[node] = len(path)
        path.append(node)
        above = nodes.parent[node]
        assert above is not None
        node = above
    names = [repr(nodes.names[k]) for k in path[seen[node] :]]
    shown = names if len(names) <= 8 else [*names[:7], "..."]
    return " below ".join([*shown, names[0]])
