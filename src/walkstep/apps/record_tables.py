"""What a resolver reads of a table beside the columns it compares: names of records, true entities, constraints."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from walkstep.apps.pair_labels import read_pairs
from walkstep.data.records import check_id, truth_codes
from walkstep.worlds.link_constraints import LinkConstraints, link_constraints


def record_names(frame: pl.DataFrame, id: str | None, table: str | None = None) -> list[Any]:
    """What records are called: by their ids, or numbered from 0.

    Parameters
    ----------
    frame : DataFrame
    id : str, optional
        The column of ids, each there once.
    table : str, optional
        The column that says which of several tables a record is of. Where tables use the same ids, records are
        called by table and id.

    Examples
    --------
    >>> record_names(pl.DataFrame({"table": ["a", "b"], "id": [1, 1]}), "id", "table")
    [('a', 1), ('b', 1)]
    """
    if id is None:
        return list(range(frame.height))
    if table is not None and id in frame.columns and frame[id].is_duplicated().any():
        for name in frame[table].unique(maintain_order=True):
            check_id(frame.filter(pl.col(table) == name), id)
        return list(zip(frame[table].to_list(), frame[id].to_list(), strict=True))
    check_id(frame, id)
    return frame[id].to_list()


def true_entities(frame: pl.DataFrame, entity: str | ArrayLike) -> NDArray[np.int32]:
    """The true entity of each record as a number, -1 where it is unknown; from a column, or from one value a record."""
    if isinstance(entity, str):
        return truth_codes(frame, entity)
    given = pl.DataFrame({"entity": pl.Series(list(np.asarray(entity).tolist()), strict=False)})
    if given.height != frame.height:
        raise ValueError(f"entity has {given.height} values for {frame.height} records; give one for each")
    return truth_codes(given, "entity")


@dataclass(frozen=True)
class HeldLinks:
    """What must stay together or apart, of the records there are and of those to come.

    Attributes
    ----------
    together, apart : int array (n, 2)
        Pairs of records by their places.
    source : str or None
        A column of clean sources.
    """

    together: NDArray[np.int64]
    apart: NDArray[np.int64]
    source: str | None

    @classmethod
    def none(cls, source: str | None = None) -> "HeldLinks":
        """No pairs."""
        nothing = np.zeros((0, 2), np.int64)
        return cls(nothing, nothing, source)

    def also(self, links: Any, names: list[Any]) -> "HeldLinks":
        """These and further pairs.

        Parameters
        ----------
        links : dataframe, path or iterable of (id, id, bool), optional
        names : list
            What records are called.

        Examples
        --------
        >>> held = HeldLinks.none().also([("a", "b", True)], ["a", "b", "c"]).also([("a", "c", False)], ["a", "b", "c"])
        >>> held.together.tolist(), held.apart.tolist()
        ([[0, 1]], [[0, 2]])
        """
        if links is None:
            return self
        pairs = read_pairs(links, names)
        both = np.stack([pairs.left, pairs.right], axis=1)
        together, apart = both[pairs.same], both[~pairs.same]
        return replace(self, together=np.vstack([self.together, together]), apart=np.vstack([self.apart, apart]))

    def over(self, frame: pl.DataFrame) -> LinkConstraints | None:
        """The constraints on these records, or None where nothing is held."""
        if self.source is None and not len(self.together) and not len(self.apart):
            return None
        sources = None if self.source is None else truth_codes(frame, self.source)
        return link_constraints(frame.height, together=self.together, apart=self.apart, source=sources)
