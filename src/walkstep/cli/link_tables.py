"""Links between clean tables: who in one is who in another, by the ids that each table has."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from walkstep.apps.resolution import Resolution
from walkstep.cli.resolver_settings import named, read_records
from walkstep.data.records import check_id, linked
from walkstep.inference.pair_posterior import together

if TYPE_CHECKING:
    from walkstep.apps.entity_resolver import EntityResolver


class Linked(NamedTuple):
    """Tables, linked."""

    result: Resolution  # its notes also tell of columns that only some tables have
    links: pl.DataFrame  # one row a link: the ids of both sides and, with samples, its probability
    pairs: pl.DataFrame | None  # all pairs worth telling, linked or not


def link_tables(
    resolver: "EntityResolver",
    paths: Sequence[Path],
    frames: Sequence[pl.DataFrame],
    links: Path | None = None,
    encoding: str = "utf-8",
) -> Linked:
    """Link tables, none of which holds the same thing twice.

    Parameters
    ----------
    resolver : EntityResolver
        Where it is not trained yet, its weights come from these tables alone.
    paths : sequence of Path
        What the tables are called.
    frames : sequence of DataFrame
        Ids need to differ within each table only.
    links : Path, optional
        Pairs that must, or must not, be linked: an id of the first table, one of the second, and which.
    encoding : str
        Of that file.
    """
    ids = []
    for path, frame in zip(paths, frames, strict=True):
        with named(path):
            if resolver.id is not None:
                check_id(frame, resolver.id)
        ids.append(pl.Series(range(frame.height)) if resolver.id is None else frame[resolver.id])
    if len({series.dtype for series in ids}) > 1:
        ids = [series.cast(pl.String) for series in ids]
    own_id, resolver.id = resolver.id, None  # two tables may use the same ids: rows are told apart by their places
    try:
        notes = _unshared(resolver, paths, frames)
        held = None if links is None else _places(links, encoding, ids, paths)
        with named(*paths):
            if hasattr(resolver, "weights_"):
                read = resolver.model_.columns
                frames = [frame.select([name for name in frame.columns if name in read]) for frame in frames]
            else:
                both = linked(frames)
                aside = [*resolver.ignore, *([own_id] if own_id else [])]
                resolver.set_params(source=both.columns[0], ignore=aside).fit(both)
            result = resolver.resolve(*frames, links=held)
    finally:
        resolver.id = own_id
    result.notes[:0] = notes
    table_of = np.repeat(np.arange(len(frames)), [frame.height for frame in frames])
    made = _links(result, table_of)
    likely = None if result.samples is None else result.pairs
    shown = None if likely is None else _by_ids(likely, ids, paths, table_of)
    return Linked(result, _by_ids(made, ids, paths, table_of), shown)


def _unshared(resolver: "EntityResolver", paths: Sequence[Path], frames: Sequence[pl.DataFrame]) -> list[str]:
    """What is to be said of columns that only some tables have."""
    if hasattr(resolver, "weights_"):
        read = resolver.model_.columns
    else:
        read = list(dict.fromkeys(name for frame in frames for name in frame.columns))
    return [
        f"{path} has no column {name!r}, which others have: its records are taken to lack that value"
        for path, frame in zip(paths, frames, strict=True)
        for name in read
        if name not in frame.columns and any(name in other.columns for other in frames)
    ]


def _places(
    links: Path, encoding: str, ids: Sequence[pl.Series], paths: Sequence[Path]
) -> list[tuple[int, int, object]]:
    """Given links by the places of their records among all."""
    if len(ids) != 2:
        raise ValueError(f"--links names records of two tables, and there are {len(ids)}; leave it out")
    rows = read_records(links, encoding)
    if rows.width < 3:
        raise ValueError(f"{links} has columns {rows.columns}; give an id of each table and 1 or 0")
    firsts = (0, len(ids[0]))
    sides = []
    for side, (first, own) in enumerate(zip(firsts, ids, strict=True)):
        place_of = {str(name): place for place, name in enumerate(own.to_list())}
        names = rows.to_series(side).cast(pl.String).to_list()
        for row, name in enumerate(names):
            if name not in place_of:
                raise ValueError(
                    f"{links}, row {row}: {name!r} is no record of {paths[side]}; ids are such as {own[0]!r}"
                )
        sides.append([first + place_of[name] for name in names])
    return list(zip(*sides, rows.to_series(2).to_list(), strict=True))


def _links(result: Resolution, table_of: np.ndarray) -> pl.DataFrame:
    """Pairs of records of one entity, by place."""
    entity = result.assignment
    order = np.lexsort((table_of, entity))
    starts = np.flatnonzero(np.diff(entity[order], prepend=entity[order[:1]] - 1))
    left, right = [], []
    for members in np.split(order, starts[1:]):
        one, two = np.triu_indices(len(members), 1)
        left.append(members[one])
        right.append(members[two])
    both = [np.concatenate(side) for side in (left, right)]
    made = pl.DataFrame({"left": both[0], "right": both[1]})
    if result.samples is not None:
        made = made.with_columns(probability=pl.Series(together(result.samples.draws, *both)))
    return made.sort("left", "right")


def _by_ids(pairs: pl.DataFrame, ids: Sequence[pl.Series], paths: Sequence[Path], table_of: np.ndarray) -> pl.DataFrame:
    """The same pairs by the ids of their tables; of three and more, the tables are named too."""
    name_of = pl.concat([series.alias("id") for series in ids])
    sides = []
    for side in ("left", "right"):
        place = pairs[side].cast(pl.Int64)
        if len(paths) > 2:
            tables = [paths[t].name for t in table_of[place.to_numpy()].tolist()]
            sides.append(pl.Series(f"{side}_table", tables, dtype=pl.String))
        sides.append(name_of.gather(place).alias(side))
    return pl.DataFrame(sides).hstack(pairs.drop("left", "right").get_columns())
