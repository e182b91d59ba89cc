"""Templates over partitions: what is claimed of pairs that are together, of whole clusters, and between clusters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.model.weights import Layout

MAX, MIN, MOST, MEAN, SHARE, SIZE, DISTINCT, DISTINCT_SHARE = range(8)
_AGGREGATES = {"max": MAX, "any": MAX, "min": MIN, "all": MIN, "most": MOST, "mean": MEAN, "share": SHARE}
_SCALES = {"cluster": 0, "mention": 1, "pair": 2}
N_BINS = 10
"""Bins of a mean or a share."""
N_SIZES = 16
"""Bins of a cluster's size: two to an octave."""
N_DISTINCT = 8
"""Bins of a number of distinct values: 0, 1, 2, 3, 4, 5 to 6, 7 to 9, 10 and more."""


@dataclass(frozen=True)
class Affinity:
    """A factor for each pair of mentions in one cluster: one weight for each level of each comparator.

    Parameters
    ----------
    conjunctions : sequence of tuples of str
        Comparators whose levels are also taken together, with one weight for each combination.
    comparators : sequence of str, optional
        The comparators that count on their own; by default all.
    """

    conjunctions: tuple[tuple[str, ...], ...] = ()
    comparators: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Aggregate:
    """A factor for each cluster of two or more: what a comparator says of all its pairs at once.

    Parameters
    ----------
    comparator : str
    how : {"max", "any", "min", "all", "most", "mean", "share"}
        The level that any pair reaches (max), that all pairs reach (min) or that most pairs reach; the mean level, in
        bins; or the share of pairs at each level. Pairs with a missing value do not count.
    per : {"cluster", "mention", "pair"}
        Whether the factor counts once for a cluster, or once for each of its mentions or pairs.
    """

    comparator: str
    how: Literal["max", "any", "min", "all", "most", "mean", "share"] = "mean"
    per: Literal["cluster", "mention", "pair"] = "cluster"


@dataclass(frozen=True)
class Size:
    """A factor for each cluster, by its size in bins."""

    per: Literal["cluster", "mention", "pair"] = "cluster"


@dataclass(frozen=True)
class Distinct:
    """A factor for each cluster of two or more, by how many distinct values its mentions have in a column.

    Parameters
    ----------
    column : str
    how : {"count", "share"}
        The number itself in bins (two or more is a conflict), or its share of the mentions that have a value.
    per : {"cluster", "mention", "pair"}
    """

    column: str
    how: Literal["count", "share"] = "count"
    per: Literal["cluster", "mention", "pair"] = "cluster"


@dataclass(frozen=True)
class Spread:
    """A factor between clusters: one for each value of a column that lies in more than one cluster."""

    column: str


PartitionTemplate = Affinity | Aggregate | Size | Distinct | Spread


class PartitionModel(NamedTuple):
    """Templates over C comparators, grounded: where their weights lie and what they read."""

    pair_offset: NDArray[np.int32]  # (C,) where each comparator's weights begin; -1 where it has none
    conjunction_ptr: NDArray[np.int32]  # conjunction q joins comparators conjunction_of[ptr[q]:ptr[q+1]]
    conjunction_of: NDArray[np.int32]
    conjunction_stride: NDArray[np.int32]  # what a level of each counts in the conjunction's weights
    conjunction_offset: NDArray[np.int32]
    counted: NDArray[np.int32]  # (G,) comparators whose levels are counted over the pairs of each cluster
    counted_ptr: NDArray[np.int32]  # (G+1,) where their counts lie
    kind: NDArray[np.int8]  # (T,) cluster templates
    source: NDArray[np.int32]  # (T,) which counted comparator, or which column
    offset: NDArray[np.int32]  # (T,)
    scale: NDArray[np.int8]  # (T,) whether it counts once a cluster (0), a mention (1) or a pair (2)
    spread_column: NDArray[np.int32]
    spread_offset: NDArray[np.int32]
    columns: NDArray[np.int32]  # (F, N) the values of columns whose distinct values are counted, -1 where missing
    n_values: NDArray[np.int32]  # (F,)
    n_weights: int


@dataclass(frozen=True)
class GroundedPartition:
    """A grounded model and the names of its weights."""

    model: PartitionModel
    layout: Layout


def ground_partition(
    templates: Sequence[PartitionTemplate],
    comparators: Mapping[str, int],
    columns: Mapping[str, NDArray[np.integer]] | None = None,
) -> GroundedPartition:
    """Ground templates on comparators and columns.

    Parameters
    ----------
    templates : sequence of templates
    comparators : mapping
        The number of levels of each comparator by name, in their order.
    columns : mapping, optional
        Value numbers of each mention, -1 where missing, for the columns that `Distinct` and `Spread` name.

    Examples
    --------
    >>> grounded = ground_partition([Affinity(), Size()], {"title": 5, "year": 3})
    >>> [(block.name, block.size) for block in grounded.layout]
    [('title', 5), ('year', 3), ('size', 16)]
    """
    columns = {} if columns is None else columns
    names, levels = list(comparators), list(comparators.values())
    used: list[str] = []  # columns in order of use
    counted: list[int] = []
    blocks: list[tuple[str, int]] = []
    pair_at = np.full(len(names), -1, np.int32)
    conjunctions: list[tuple[list[int], int]] = []
    rows: list[tuple[int, int, int, int]] = []
    spreads: list[tuple[int, int]] = []
    size = 0

    def block(name: str, n: int) -> int:
        nonlocal size
        if any(name == other for other, _ in blocks):
            raise ValueError(f"two templates would share the weights {name!r}; leave one of them out")
        blocks.append((name, n))
        size += n
        return size - n

    def comparator(name: str) -> int:
        if name not in comparators:
            raise ValueError(f"a template names comparator {name!r}; there are {', '.join(names)}")
        return names.index(name)

    def column(name: str) -> int:
        if name not in columns:
            raise ValueError(f"a template names column {name!r}; there are {', '.join(columns) or 'none'}")
        if name not in used:
            used.append(name)
        return used.index(name)

    for template in templates:
        match template:
            case Affinity():
                for name in names if template.comparators is None else template.comparators:
                    pair_at[comparator(name)] = block(name, levels[comparator(name)])
                for joined in template.conjunctions:
                    of = [comparator(name) for name in joined]
                    conjunctions.append((of, block(" & ".join(joined), prod(levels[c] for c in of))))
            case Aggregate():
                if template.how not in _AGGREGATES:
                    raise ValueError(f"how is {template.how!r}; choose one of {', '.join(_AGGREGATES)}")
                c = comparator(template.comparator)
                if c not in counted:
                    counted.append(c)
                kind = _AGGREGATES[template.how]
                n = N_BINS if kind == MEAN else levels[c]
                at = block(f"{template.how} {template.comparator}", n)
                rows.append((kind, counted.index(c), at, _SCALES[template.per]))
            case Size():
                rows.append((SIZE, 0, block("size", N_SIZES), _SCALES[template.per]))
            case Distinct():
                kind = DISTINCT if template.how == "count" else DISTINCT_SHARE
                name = f"distinct {template.column}" + ("" if template.how == "count" else " (share)")
                at = block(name, N_DISTINCT if kind == DISTINCT else N_BINS)
                rows.append((kind, column(template.column), at, _SCALES[template.per]))
            case Spread():
                spreads.append((column(template.column), block(f"spread {template.column}", 1)))
            case _:
                raise TypeError(f"{template!r} is no template over partitions")
    values = [np.asarray(columns[name], dtype=np.int32) for name in used]
    kinds = np.array(rows, dtype=np.int32).reshape(-1, 4)
    strides = [[prod(levels[c] for c in of[k + 1 :]) for k in range(len(of))] for of, _ in conjunctions]
    model = PartitionModel(
        pair_at,
        np.cumsum([0] + [len(of) for of, _ in conjunctions]).astype(np.int32),
        np.array([c for of, _ in conjunctions for c in of], np.int32),
        np.array([s for row in strides for s in row], np.int32),
        np.array([at for _, at in conjunctions], np.int32),
        np.array(counted, np.int32),
        np.cumsum([0] + [levels[c] for c in counted]).astype(np.int32),
        kinds[:, 0].astype(np.int8),
        np.ascontiguousarray(kinds[:, 1]),
        np.ascontiguousarray(kinds[:, 2]),
        kinds[:, 3].astype(np.int8),
        np.array([c for c, _ in spreads], np.int32),
        np.array([at for _, at in spreads], np.int32),
        np.stack(values) if values else np.zeros((0, 0), np.int32),
        np.array([int(v.max(initial=-1)) + 1 for v in values], np.int32),
        size,
    )
    for array in model:
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    return GroundedPartition(model, Layout.of([(name, 1, n, (1,)) for name, n in blocks]))
