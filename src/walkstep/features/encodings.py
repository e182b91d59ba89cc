"""Tables encoded for comparison: every comparator's column as numbers, and new records added to them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from walkstep.features.columns import Column
from walkstep.features.comparators import KINDS, Comparator, settle
from walkstep.features.comparisons import Comparisons
from walkstep.features.user_likeness import N_FUNCTIONS, as_likeness, no_likeness
from walkstep.features.values import Encoding, Known, Pools, encode_column


@dataclass(frozen=True)
class Encoded:
    """A table as comparators read it.

    Parameters
    ----------
    comparators : tuple of Comparator
        What is compared, in the order of the levels.
    comparisons : Comparisons
        The arrays that compiled loops read.
    encodings : tuple of Encoding
        The forms of columns behind them.
    """

    comparators: tuple[Comparator, ...]
    comparisons: Comparisons
    encodings: tuple[Encoding, ...]
    _known: tuple[Known, ...] = field(repr=False)

    @property
    def n_records(self) -> int:
        """How many records there are."""
        return len(self.comparisons.value_of_record)

    def extend(self, frame: pl.DataFrame) -> "Encoded":
        """The same records and new ones after them, weighted as the first table was.

        Vocabularies grow, but words keep the weights of the first table and new ones weigh as words it never had,
        so that the levels of old pairs stay what they were. The work is in proportion to the new records, but for
        copies of the arrays.
        """
        _check_columns(frame, self.comparators)
        return _append(self, frame)


def encode(frame: pl.DataFrame, comparators: Sequence[Comparator]) -> Encoded:
    """Encode a table for comparison.

    Parameters
    ----------
    frame : DataFrame (N records)
        With every column that a comparator reads.
    comparators : sequence of Comparator
        Categories that they leave open are those of this table.

    Examples
    --------
    >>> from walkstep.features.comparators import jaccard, missing
    >>> frame = pl.DataFrame({"title": ["Boosting, again", "boosting", None]})
    >>> encoded = encode(frame, [jaccard("title"), missing("title")])
    >>> encoded.comparisons.value_of_record.tolist(), encoded.comparisons.n_levels.tolist()
    ([[0], [1], [-1]], [8, 4])
    """
    _check_columns(frame, comparators)
    settled = tuple(settle(comparators, frame))
    wanted = [_encoding_of(comparator, frame) for comparator in settled]
    # Whether texts are equal or missing can be read off any form that is made of their words or letters.
    richer = {one.column: one for one in wanted if one.form in ("words", "letters")}
    wanted = [richer.get(one.column, one) if one.form == "text" else one for one in wanted]
    encodings = tuple(dict.fromkeys(wanted))
    n_thresholds = max([len(c.thresholds) for c in settled], default=0)
    thresholds = np.full((len(settled), max(n_thresholds, 1)), np.inf)
    for row, comparator in zip(thresholds, settled, strict=True):
        row[: len(comparator.thresholds)] = comparator.thresholds
    functions = [c for c in settled if c.kind == "user"]
    if len(functions) > N_FUNCTIONS:
        raise ValueError(f"there are {len(functions)} comparators of kind 'user'; at most {N_FUNCTIONS} can be had")
    option = [len(c.categories) if c.kind == "categories" else 0 for c in settled]
    for which, comparator in enumerate(functions):
        option[settled.index(comparator)] = which
    pointers = [as_likeness(c.function, compile=c.compile) for c in functions if c.function]
    pointers += [no_likeness()] * (N_FUNCTIONS - len(pointers))
    empty = Comparisons(
        kind=np.array([KINDS[c.kind][0] for c in settled], np.int8),
        encoding=np.array([encodings.index(one) for one in wanted], np.int32),
        option=np.array(option, np.int64),
        thresholds=thresholds,
        n_levels=np.array([c.n_levels for c in settled], np.int32),
        value_of_record=np.zeros((0, len(encodings)), np.int32),
        ptr=np.zeros(1, np.int64),
        items=np.zeros(0, np.int32),
        number=np.zeros(0),
        weight_of_word=np.zeros(0),
        vectors=np.zeros(0, np.float32),
        **{f"function_{k}": function for k, function in enumerate(pointers)},
    )
    return _append(Encoded(settled, empty, encodings, (Known(),) * len(encodings)), frame)


def _check_columns(frame: pl.DataFrame, comparators: Sequence[Comparator]) -> None:
    for comparator in comparators:
        if comparator.column not in frame.columns:
            raise ValueError(
                f"comparator {comparator.name!r} reads column {comparator.column!r}, which the table does not have; "
                f"its columns are {frame.columns}"
            )
    names = [comparator.name for comparator in comparators]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two comparators are called {twice[0]!r}; tell them apart with name=...")


def _encoding_of(comparator: Comparator, frame: pl.DataFrame) -> Encoding:
    form = KINDS[comparator.kind][1]
    dtype = frame[comparator.column].dtype
    if form == "text":
        if dtype.is_numeric():
            form = "number"
        elif dtype == pl.Date:
            form = "date"
        elif isinstance(dtype, pl.List | pl.Array):
            form = "vector" if dtype.inner.is_float() else "list"  # pyright: ignore[reportAttributeAccessIssue]
    detail = {"category": comparator.categories, "list": comparator.separator}.get(form)
    return Encoding(comparator.column, form, detail)


def _append(encoded: Encoded, frame: pl.DataFrame) -> Encoded:
    """The table with more records; the first ones, too, are more records of an empty table."""
    before = encoded.comparisons
    pools = Pools(before)
    texts: dict[tuple[str, bool], Column] = {}
    known = list(encoded._known)
    value_of_record = np.empty((len(frame), len(encoded.encodings)), np.int32)
    for e, encoding in enumerate(encoded.encodings):
        value_of_record[:, e], known[e] = encode_column(frame[encoding.column], encoding, known[e], pools, texts)
    option = before.option.copy()
    for c, comparator in enumerate(encoded.comparators):
        if comparator.kind == "vectors":
            option[c] = known[before.encoding[c]].n_dimensions
    comparisons = before._replace(
        option=option,
        value_of_record=np.concatenate([before.value_of_record, value_of_record]),
        ptr=np.concatenate(pools.ptr),
        items=np.concatenate(pools.items),
        number=np.concatenate(pools.number),
        weight_of_word=np.concatenate(pools.weight),
        vectors=np.concatenate(pools.vectors),
    )
    for array in comparisons:
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    return replace(encoded, comparisons=comparisons, _known=tuple(known))
