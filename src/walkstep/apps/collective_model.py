"""Linked items as a factor graph: a variable for each item, factors for what it says and for its links."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import scipy  # its parts load at first use
from numpy.typing import NDArray

from walkstep.data.linked_items import Label, LinkedItems
from walkstep.data.records import check_column
from walkstep.features.rows import SparseRows
from walkstep.features.table_features import TableFeatures
from walkstep.model.domains import UNKNOWN
from walkstep.model.factors import Factors
from walkstep.model.graph import Graph, ground, lay_out
from walkstep.model.weights import Layout

PAIRS = ("table", "agreement")
ITEM = "item"


class GroundedItems(NamedTuple):
    """Items as variables and, where links speak of agreement, linked pairs; those of a document side by side."""

    graph: Graph
    variable_of_item: NDArray[np.int64]
    document_of_item: NDArray[np.int64]
    document_ptr: NDArray[np.int64]  # variables of document d are document_ptr[d]:document_ptr[d + 1]
    pairs: NDArray[np.int64]  # (n_pairs, 2) items of which a variable says whether they agree
    variable_of_pair: NDArray[np.int64]


class _Join(NamedTuple):
    """Factors between items: those of one type of links, or of one column on which items agree."""

    name: str
    ends: NDArray[np.int64]  # (n, 2) items
    features: SparseRows | None


class _Places(NamedTuple):
    """Which variable is which."""

    n_values: NDArray[np.int64]
    variable_of_item: NDArray[np.int64]
    document: NDArray[np.int64]  # of items, then of pairs
    pairs: NDArray[np.int64]
    pair_of_end: NDArray[np.int64]  # the pair of each join, one join after the other
    variable_of_pair: NDArray[np.int64]


@dataclass(frozen=True)
class CollectiveModel:
    """What a label sees: the features of its item, those of each link by the link's type, and who tends to agree.

    A factor over an item has weights for each feature and class. Links with a ``table`` have weights for each feature
    and pair of classes, source first. Links of ``agreement`` have weights for each feature and whether the classes are
    equal: a variable for each linked pair says so, which a factor that is never learned holds to what it says.
    Items that share a value of an ``agree`` column are joined one after the other, without features.

    Parameters
    ----------
    classes : tuple
    items : TableFeatures
    links : dict of str to TableFeatures
        By type.
    agree : tuple of str
    pairs : {"table", "agreement"}
    layout : Layout
    """

    classes: tuple[Label, ...]
    items: TableFeatures
    links: dict[str, TableFeatures]
    agree: tuple[str, ...]
    pairs: str
    layout: Layout

    @classmethod
    def fit(
        cls,
        linked: LinkedItems,
        classes: Sequence[Label],
        agree: Sequence[str],
        *,
        pairs: str,
        min_count: int,
        ignore: Sequence[str] = (),
        **settings: Any,
    ) -> "CollectiveModel":
        """Choose words and columns by training data, less those to ``ignore``; ``settings`` are of `BagOfWords`."""
        aside = (*agree, *ignore)
        items = TableFeatures.fit(linked.texts, linked.columns, ignore=aside, min_count=min_count, **settings)
        links = {}
        for type, rows in _by_type(linked).items():
            texts, columns = _of_links(linked, rows)
            links[type] = TableFeatures.fit(texts, columns, min_count=min_count, **settings)
        for column in agree:
            if not len(_agreeing(linked, column)):
                raise ValueError(
                    f"agree names column {column!r}, but no two items of a graph share a value there; leave it out"
                )
        bare = cls(tuple(classes), items, links, tuple(agree), pairs, Layout(()))
        joins = bare._joins(linked)
        if not joins and not items.names:
            raise ValueError(
                "there is nothing to learn from: no word stands in min_count or more items, no column holds numbers, "
                "and no links are given"
            )
        places = bare._places(linked, joins)
        return replace(bare, layout=lay_out(places.n_values, bare._factors(linked, joins, places)))

    def ground(self, linked: LinkedItems, *, held: NDArray[np.int32] | None = None) -> GroundedItems:
        """The graph of new items.

        Parameters
        ----------
        linked : LinkedItems
        held : int array (n_items,), optional
            Values that items must have; -1 where they are free.
        """
        joins = self._joins(linked)
        places = self._places(linked, joins)
        factors = self._factors(linked, joins, places)
        if held is not None:
            for k, name in enumerate(self.classes):
                certain = np.where(np.arange(len(self.classes)) == k, 0.0, -np.inf)
                mine = places.variable_of_item[held == k]
                if len(mine):
                    factors.append(Factors(f"known: {name}", mine[:, None], fixed=certain))
        graph, _ = ground(places.n_values, factors, self.layout)
        return GroundedItems(
            graph,
            places.variable_of_item,
            places.document[: linked.n_items],
            np.concatenate([[0], np.cumsum(np.bincount(places.document))]),
            places.pairs,
            places.variable_of_pair,
        )

    def truth(self, linked: LinkedItems) -> NDArray[np.int32]:
        """The class of each item as a number, -1 where it is unknown (n_items,)."""
        number = {str(name): k for k, name in enumerate(self.classes)}
        values = np.full(linked.n_items, UNKNOWN, np.int32)
        for i, label in enumerate(linked.labels):
            if label is None:
                continue
            if str(label) not in number:
                raise ValueError(
                    f"item {linked.ids[i]!r} (row {i}) has label {label!r}, but the model was trained on "
                    f"{', '.join(map(repr, self.classes))}; correct it, leave it empty, or train on data that has it"
                )
            values[i] = number[str(label)]
        return values

    def _joins(self, linked: LinkedItems) -> list[_Join]:
        found = []
        for type, rows in _by_type(linked).items():
            if type not in self.links:
                raise ValueError(
                    f"row {rows[0]} of the links has type {type!r}, but the model was trained on "
                    f"{', '.join(map(repr, self.links)) or 'no links'}; leave such links out, or train on data that "
                    "has them"
                )
            said = _named_errors("links", self.links[type], *_of_links(linked, rows))
            found.append(_Join(f"link: {type}", linked.ends[rows], said))
        same = [_Join(f"same: {column}", _agreeing(linked, column), None) for column in self.agree]
        return [*found, *(join for join in same if len(join.ends))]

    def _places(self, linked: LinkedItems, joins: Sequence[_Join]) -> _Places:
        """Number the variables, those of a document one after the other."""
        ends = np.concatenate([np.zeros((0, 2), np.int64), *(join.ends for join in joins)])
        pairs, pair_of_end = np.zeros((0, 2), np.int64), np.zeros(0, np.int64)
        if self.pairs == "agreement" and len(ends):
            pairs, pair_of_end = np.unique(np.sort(ends, axis=1), axis=0, return_inverse=True)
        document = _documents(linked, ends)
        document = np.concatenate([document, document[pairs[:, 0]]])
        variable = np.empty(len(document), np.int64)
        variable[np.argsort(document, kind="stable")] = np.arange(len(document))
        of_item, of_pair = np.split(variable, [linked.n_items])
        n_values = np.full(len(document), len(self.classes))
        n_values[of_pair] = 2
        return _Places(n_values, of_item, document, pairs, pair_of_end.reshape(-1), of_pair)

    def _factors(self, linked: LinkedItems, joins: Sequence[_Join], places: _Places) -> list[Factors]:
        said = _named_errors("items", self.items, linked.texts, linked.columns)
        found = [Factors(ITEM, places.variable_of_item[:, None], features=said, bias=True)]
        if self.pairs == "table":
            for join in joins:
                scopes = places.variable_of_item[join.ends]
                found.append(Factors(join.name, scopes, features=join.features, bias=True))
            return found
        first = 0
        for join in joins:
            scopes = places.variable_of_pair[places.pair_of_end[first : first + len(join.ends)], None]
            found.append(Factors(join.name, scopes, features=join.features, bias=True))
            first += len(join.ends)
        if joins:
            is_equal = np.eye(len(self.classes), dtype=bool)
            held = np.where(np.stack([~is_equal, is_equal], axis=-1), 0.0, -np.inf)
            scopes = np.column_stack([places.variable_of_item[places.pairs], places.variable_of_pair])
            found.append(Factors("agrees", scopes, fixed=held))
        return found

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What JSON holds of it, and plain arrays."""
        described, arrays = {}, {}
        for part, features in (("items", self.items), *((f"links.{k}", f) for k, f in enumerate(self.links.values()))):
            described[part], mine = features.state()
            arrays |= {f"{part}.{name}": array for name, array in mine.items()}
        blocks = [(block.name, block.n_sets, block.n_rows, list(block.shape)) for block in self.layout]
        about = {
            "classes": list(self.classes),
            "types": list(self.links),
            "agree": list(self.agree),
            "pairs": self.pairs,
        }
        return {**about, "features": described, "blocks": blocks}, arrays

    @classmethod
    def from_state(cls, described: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> "CollectiveModel":
        """The model that :meth:`state` described."""

        def features(part: str) -> TableFeatures:
            begin = f"{part}."
            mine = {name.removeprefix(begin): array for name, array in arrays.items() if name.startswith(begin)}
            return TableFeatures.from_state(described["features"][part], mine)

        links = {type: features(f"links.{k}") for k, type in enumerate(described["types"])}
        layout = Layout.of([(name, sets, rows, tuple(shape)) for name, sets, rows, shape in described["blocks"]])
        classes, agree, pairs = described["classes"], described["agree"], described["pairs"]
        return cls(tuple(classes), features("items"), links, tuple(agree), pairs, layout)


def _documents(linked: LinkedItems, ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """The graph of each item: the collection it is of or, where none are given, all that joins lead to."""
    if linked.is_grouped:
        return linked.group
    n = linked.n_items
    joined = scipy.sparse.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))
    return scipy.sparse.csgraph.connected_components(joined, directed=False)[1].astype(np.int64)


def _by_type(linked: LinkedItems) -> dict[str, NDArray[np.int64]]:
    """The links of each type, in order of the alphabet."""
    types = np.array(linked.types, dtype=object)
    return {type: np.flatnonzero(types == type) for type in sorted(set(linked.types))}


def _of_links(linked: LinkedItems, rows: NDArray[np.int64]) -> tuple[list[str] | None, pl.DataFrame]:
    """The texts and further columns of some links."""
    texts = None if linked.link_texts is None else [linked.link_texts[row] for row in rows.tolist()]
    return texts, linked.link_columns[rows] if linked.link_columns.width else linked.link_columns


def _agreeing(linked: LinkedItems, column: str) -> NDArray[np.int64]:
    """Each item with the next one of its graph that has the same value in a column (n, 2).

    One after the other and not all pairs, so that agreement alone closes no cycle.
    """
    check_column(linked.columns, column)
    last: dict[tuple[int, Any], int] = {}
    pairs = []
    for place, key in enumerate(zip(linked.group.tolist(), linked.columns[column].to_list(), strict=True)):
        if key[1] is None:
            continue
        if key in last:
            pairs.append((last[key], place))
        last[key] = place
    return np.array(pairs, np.int64).reshape(-1, 2)


def _named_errors(
    what: str, features: TableFeatures, texts: Sequence[str] | None, columns: pl.DataFrame
) -> SparseRows | None:
    """Features, or an error that says whether items or links lack something."""
    try:
        return features.transform(texts, columns)
    except ValueError as error:
        raise ValueError(f"of the {what}: {error}") from error
