"""What a row of a table says, as one sparse row: its words, and its numbers."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import scipy  # its parts load at first use
from numpy.typing import NDArray

from walkstep.features.bag_of_words import BagOfWords
from walkstep.features.number_columns import NumberColumns
from walkstep.features.rows import SparseRows, rows_from_scipy


@dataclass(frozen=True)
class TableFeatures:
    """The words of a column of texts, and columns of numbers.

    Parameters
    ----------
    words : BagOfWords or None
        None where rows have no text.
    numbers : NumberColumns

    Examples
    --------
    >>> seen = pl.DataFrame({"age": [30, 50]})
    >>> features = TableFeatures.fit(["aye", "aye no"], seen)
    >>> features.names, features.transform(["no"], seen[:1]).to_scipy().toarray().tolist()
    (('aye', 'no', 'age'), [[0.0, 1.0, -1.0]])
    """

    words: BagOfWords | None
    numbers: NumberColumns

    @classmethod
    def fit(
        cls,
        texts: Sequence[str] | None,
        columns: pl.DataFrame,
        *,
        ignore: Collection[str] = (),
        min_count: int = 1,
        **settings: Any,
    ) -> "TableFeatures":
        """Learn words and columns; ``settings`` are those of `BagOfWords`."""
        words = None if texts is None else BagOfWords.fit(texts, min_count=min_count, **settings)
        return cls(words, NumberColumns.fit(columns, ignore=ignore))

    @property
    def names(self) -> tuple[str, ...]:
        """What each column of the rows is about."""
        return (*(() if self.words is None else self.words.words), *self.numbers.names)

    def transform(self, texts: Sequence[str] | None, columns: pl.DataFrame) -> SparseRows | None:
        """A row of features for each row of the table, or None where there are no features at all."""
        if not self.names:
            return None
        parts: list[Any] = []
        if self.words is not None:
            if texts is None:
                raise ValueError(
                    "there is no text, and the model was trained with texts; name the column that has them"
                )
            parts.append(self.words.transform(texts))
        if self.numbers.names:
            parts.append(scipy.sparse.csr_array(self.numbers.transform(columns)))
        is_binary = not self.numbers.names and self.words is not None and self.words.weighting == "binary"
        return rows_from_scipy(scipy.sparse.hstack(parts, format="csr"), binary=is_binary)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What JSON holds of it, and plain arrays."""
        arrays = {"mean": self.numbers.mean, "spread": self.numbers.spread}
        described: dict[str, Any] = {"numbers": list(self.numbers.names), "words": None}
        if self.words is not None:
            bag = self.words
            described["words"] = {
                "weighting": bag.weighting,
                "n_grams": bag.n_grams,
                "token_pattern": bag.token_pattern,
            }
            arrays |= {f"words.{name}": array for name, array in bag.state().items()}
        return described, arrays

    @classmethod
    def from_state(cls, described: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> "TableFeatures":
        """The features that :meth:`state` described."""
        words = None
        if described["words"] is not None:
            mine = {name.removeprefix("words."): array for name, array in arrays.items() if name.startswith("words.")}
            words = BagOfWords.from_state(mine, **described["words"])
        numbers = NumberColumns(tuple(described["numbers"]), np.array(arrays["mean"]), np.array(arrays["spread"]))
        return cls(words, numbers)
