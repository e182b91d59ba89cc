"""Items that are labelled together, because links join them: pages, speakers, accounts, papers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from walkstep.data.records import Records, as_frame, check_column, check_id

Label = str | int | bool
LINK = "link"  # the type of links that have none of their own
_ROW = "\0row"  # a column that no table has, so that tables of no columns have rows


@dataclass(frozen=True)
class LinkedItems:
    """Items with what is known of each, and the links between them.

    Parameters
    ----------
    ids : tuple (n_items,)
        What items are called.
    labels : tuple of str, int, bool or None (n_items,)
        The truth; ``None`` where it is unknown.
    group : int64 array (n_items,)
        Which of several separate collections each item is of; numbers rise in order of first sight.
    is_grouped : bool
        Whether those collections were given; otherwise all items are of one.
    texts : tuple of str (n_items,) or None
    columns : DataFrame (n_items rows)
        Further columns of the items.
    ends : int64 array (n_links, 2)
        The places of the two items that each link joins.
    types : tuple of str (n_links,)
    link_texts : tuple of str (n_links,) or None
    link_columns : DataFrame (n_links rows)
        Further columns of the links.

    Examples
    --------
    >>> items = {"id": ["a", "b", "c"], "text": ["for", "aye", "no"], "label": ["yes", None, "no"]}
    >>> linked = LinkedItems.from_frames(items, {"source": ["a", "b"], "target": ["b", "c"]})
    >>> linked.n_items, linked.labels, linked.ends.tolist(), linked.types
    (3, ('yes', None, 'no'), [[0, 1], [1, 2]], ('link', 'link'))
    """

    ids: tuple[Any, ...]
    labels: tuple[Label | None, ...]
    group: NDArray[np.int64]
    is_grouped: bool
    texts: tuple[str, ...] | None
    columns: pl.DataFrame
    ends: NDArray[np.int64]
    types: tuple[str, ...]
    link_texts: tuple[str, ...] | None
    link_columns: pl.DataFrame

    @classmethod
    def from_frames(
        cls,
        items: Records,
        links: Records | None = None,
        *,
        id: str = "id",
        label: str | None = None,
        text: str | None = None,
        group: str | None = None,
        source: str = "source",
        target: str = "target",
        type: str | None = None,
        link_text: str | None = None,
        ignore: Iterable[str] = (),
        encoding: str = "utf-8",
    ) -> "LinkedItems":
        """Items and links of two tables.

        Parameters
        ----------
        items : dataframe, list of dicts, dict of columns, or path
            One row an item.
        links : the same, optional
            One row a link; two items may be joined by several.
        id : str
            The column that names items, each name there once.
        label, text : str, optional
            Their labels, empty where unknown, and what they say (a string, or a list of strings); by default the
            columns ``label`` and ``text`` where there are such.
        group : str, optional
            Which of several separate collections an item is of: a debate, a site. Links stay within one.
        source, target : str
            The columns that name the two items of a link.
        type, link_text : str, optional
            What kind a link is of, and what it says; by default the columns ``type`` and ``text`` where there are such.
        ignore : iterable of str
            Columns of either table to leave aside.
        encoding : str
            How the text of files is encoded.
        """
        frame = as_frame(items, encoding=encoding)
        check_id(frame, id)
        labels, texts = _named(frame, label, "label"), _named(frame, text, "text")
        if group is not None:
            check_column(frame, group)
            if frame[group].null_count():
                row = int(frame[group].is_null().arg_true()[0])
                raise ValueError(
                    f"column {group!r} is empty in row {row}; say of which collection every item is, or leave group out"
                )
        used = {id, labels, texts, group, *ignore}
        joined = None if links is None or _is_empty(links) else as_frame(links, encoding=encoding)
        if joined is None:
            joined = pl.DataFrame({source: [], target: []}, schema={source: pl.String, target: pl.String})
        try:
            kind, link_texts = _named(joined, type, "type"), _named(joined, link_text, "text")
            for end in (source, target):
                check_column(joined, end)
        except ValueError as error:
            raise ValueError(f"of the links: {error}") from error
        code = np.zeros(frame.height, np.int64) if group is None else _codes(frame[group])
        ends = _ends(joined, (source, target), frame[id], code)
        return cls(
            ids=tuple(frame[id].to_list()),
            labels=(None,) * frame.height if labels is None else _labels(frame[labels]),
            group=code,
            is_grouped=group is not None,
            texts=None if texts is None else _texts(frame[texts]),
            columns=frame.select([name for name in frame.columns if name not in used]),
            ends=ends,
            types=(LINK,) * joined.height if kind is None else _types(joined[kind]),
            link_texts=None if link_texts is None else _texts(joined[link_texts]),
            link_columns=joined.select(
                [name for name in joined.columns if name not in {source, target, kind, link_texts, *ignore}]
            ),
        )

    @classmethod
    def joined(cls, parts: Sequence["LinkedItems"]) -> "LinkedItems":
        """Several as one; no link joins items of two parts, and their collections stay apart.

        Examples
        --------
        >>> pair = LinkedItems.from_frames({"id": [1, 2]}, {"source": [1], "target": [2]})
        >>> both = LinkedItems.joined([pair, pair])
        >>> both.ids, both.group.tolist(), both.ends.tolist()
        ((1, 2, 1, 2), [0, 0, 1, 1], [[0, 1], [2, 3]])
        """
        if len(parts) == 1:
            return parts[0]
        firsts = np.cumsum([0, *(part.n_items for part in parts)])
        groups = np.cumsum([0, *(int(part.group.max()) + 1 for part in parts)])
        return cls(
            ids=_all(part.ids for part in parts),
            labels=_all(part.labels for part in parts),
            group=np.concatenate([part.group + first for part, first in zip(parts, groups, strict=False)]),
            is_grouped=True,
            texts=_all_texts([(part.texts, part.n_items) for part in parts]),
            columns=_stacked([(part.columns, part.n_items) for part in parts]),
            ends=np.concatenate([part.ends + first for part, first in zip(parts, firsts, strict=False)]),
            types=_all(part.types for part in parts),
            link_texts=_all_texts([(part.link_texts, part.n_links) for part in parts]),
            link_columns=_stacked([(part.link_columns, part.n_links) for part in parts]),
        )

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.ids)

    @property
    def n_links(self) -> int:
        """How many links there are."""
        return len(self.ends)

    @property
    def n_known(self) -> int:
        """How many items have a label."""
        return sum(label is not None for label in self.labels)


def linked_parts(items: Any, links: Any = None, **columns: Any) -> list[LinkedItems]:
    """One or several collections of items, whatever holds them.

    Parameters
    ----------
    items : LinkedItems, sequence of LinkedItems, or a table
    links : a table, optional
        Where ``items`` is a table too.
    **columns
        What columns of tables are called; see `LinkedItems.from_frames`.
    """
    parts: Any = [items] if isinstance(items, LinkedItems) else items
    if isinstance(parts, list | tuple) and parts and all(isinstance(part, LinkedItems) for part in parts):
        if links is not None:
            raise ValueError("items come with their links already; leave links out")
        return list(parts)
    return [LinkedItems.from_frames(parts, links, **columns)]


def _all(parts: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    """One tuple of them all."""
    return tuple(chain.from_iterable(parts))


def _all_texts(parts: Sequence[tuple[tuple[str, ...] | None, int]]) -> tuple[str, ...] | None:
    """The texts of all parts, empty for those that have none."""
    if all(texts is None for texts, _ in parts):
        return None
    return _all(("",) * n if texts is None else texts for texts, n in parts)


def _stacked(parts: Sequence[tuple[pl.DataFrame, int]]) -> pl.DataFrame:
    """The columns of all parts, missing where a part has none of that name."""
    frames = [pl.DataFrame({_ROW: np.arange(n)}).hstack(frame) for frame, n in parts]
    return pl.concat(frames, how="diagonal_relaxed").drop(_ROW)


def _is_empty(links: Any) -> bool:
    """Whether a table in memory has no rows."""
    return not isinstance(links, str) and hasattr(links, "__len__") and len(links) == 0


def _named(frame: pl.DataFrame, given: str | None, usual: str) -> str | None:
    """The column that is named, or that of the usual name where there is one."""
    if given is None:
        return usual if usual in frame.columns else None
    check_column(frame, given)
    return given


def _codes(values: pl.Series) -> NDArray[np.int64]:
    """Equal values as equal numbers, in order of first sight."""
    number: dict[Any, int] = {}
    return np.array([number.setdefault(value, len(number)) for value in values.to_list()], np.int64)


def _labels(values: pl.Series) -> tuple[Label | None, ...]:
    """Strings, whole numbers and truth values as they are; other numbers where they are whole."""
    dtype = values.dtype
    if dtype == pl.String or dtype.is_integer() or dtype == pl.Boolean or dtype == pl.Null:
        return tuple(values.to_list())
    if not dtype.is_float():
        raise ValueError(f"column {values.name!r} is {dtype}; labels are strings or whole numbers")
    broken = ((values % 1) != 0).fill_null(False).arg_true()
    if len(broken):
        raise ValueError(
            f"column {values.name!r} holds {values[broken[0]]} in row {broken[0]}; labels are strings or whole numbers"
        )
    return tuple(values.cast(pl.Int64).to_list())


def _texts(values: pl.Series) -> tuple[str, ...]:
    """What each row says; lists of texts one after the other, and nothing where it is missing."""
    if isinstance(values.dtype, pl.List):
        values = values.cast(pl.List(pl.String)).list.join("\n", ignore_nulls=True)
    return tuple(values.cast(pl.String).fill_null("").to_list())


def _types(values: pl.Series) -> tuple[str, ...]:
    missing = values.is_null().arg_true()
    if len(missing):
        raise ValueError(f"column {values.name!r} of the links is empty in row {missing[0]}; give every link a type")
    return tuple(values.cast(pl.String).to_list())


def _ends(links: pl.DataFrame, names: Sequence[str], ids: pl.Series, group: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of linked items, after a check that there are such and that they may be joined."""
    place_of = {name: place for place, name in enumerate(ids.cast(pl.String).to_list())}
    sides = []
    for name in names:
        values = links[name].cast(pl.String).to_list()
        for row, value in enumerate(values):
            if value is None:
                raise ValueError(f"column {name!r} of the links is empty in row {row}; name an item there")
            if value not in place_of:
                raise ValueError(
                    f"column {name!r} of the links names {value!r} in row {row}, and no item is called so (ids are "
                    f"such as {ids[0]!r}); correct it, add the item, or leave the link out"
                )
        sides.append([place_of[value] for value in values])
    ends = np.array(sides, np.int64).reshape(2, -1).T
    itself = np.flatnonzero(ends[:, 0] == ends[:, 1])
    if len(itself):
        raise ValueError(
            f"row {itself[0]} of the links joins item {ids[int(ends[itself[0], 0])]!r} with itself; leave it out"
        )
    apart = np.flatnonzero(group[ends[:, 0]] != group[ends[:, 1]])
    if len(apart):
        one, other = (ids[int(place)] for place in ends[apart[0]])
        raise ValueError(
            f"row {apart[0]} of the links joins {one!r} and {other!r}, which are of different groups; "
            "leave it out, or do without groups"
        )
    return ends
