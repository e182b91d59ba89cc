"""What a resolver reads of a table beside the columns it compares: names of records, true entities, constraints."""

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


def held_links(frame: pl.DataFrame, names: list[Any], links: Any, source: str | None) -> LinkConstraints | None:
    """What must stay together or apart, where anything must.

    Parameters
    ----------
    frame : DataFrame
    names : list
        What records are called.
    links : dataframe, path or iterable of (id, id, bool), optional
    source : str, optional
        A column of clean sources.
    """
    if links is None and source is None:
        return None
    together = apart = None
    if links is not None:
        pairs = read_pairs(links, names)
        both = np.stack([pairs.left, pairs.right], axis=1)
        together, apart = both[pairs.same], both[~pairs.same]
    sources = None if source is None else truth_codes(frame, source)
    return link_constraints(frame.height, together=together, apart=apart, source=sources)
