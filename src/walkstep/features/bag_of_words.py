"""Texts as bags of words."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its parts load at first use
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from walkstep.features.texts import pack, unpack

WEIGHTINGS = ("binary", "normalised")
TOKEN_PATTERN = r"[^\W_]+(?:['’][^\W_]+)*"  # letters and digits, with apostrophes inside


@dataclass(frozen=True)
class BagOfWords:
    """A frozen vocabulary of lower-cased words, or of runs of them.

    Parameters
    ----------
    words : tuple of str
        The place of a word here is its column.
    weighting : {"binary", "normalised"}
        1 for each word that is there; or counts, brought to length 1.
    n_grams : int
        Runs of up to so many words are words too.
    token_pattern : str
        A regular expression of words.

    Examples
    --------
    >>> bag = BagOfWords.fit(["Aye, aye!", "no, aye", "never"], min_count=2)
    >>> bag.words, bag.transform(["AYE or no", "nay"]).toarray().tolist()
    (('aye',), [[1.0], [0.0]])
    """

    words: tuple[str, ...]
    weighting: str = "binary"
    n_grams: int = 1
    token_pattern: str = TOKEN_PATTERN

    def __post_init__(self) -> None:
        if self.weighting not in WEIGHTINGS:
            raise ValueError(f"weighting is {self.weighting!r}; choose one of {', '.join(WEIGHTINGS)}")
        if self.n_grams < 1:
            raise ValueError(f"n_grams is {self.n_grams}; give 1 or more")
        try:
            re.compile(self.token_pattern)
        except re.error as error:
            raise ValueError(
                f"token_pattern is {self.token_pattern!r}, no regular expression: {error}; give one such as "
                f"{TOKEN_PATTERN!r}"
            ) from error

    @classmethod
    def fit(cls, texts: Iterable[str], *, min_count: int = 1, **settings: Any) -> "BagOfWords":
        """The words of at least ``min_count`` texts, in order of the alphabet."""
        bag = cls((), **settings)
        analyze = bag._vectorizer().build_analyzer()
        counts = Counter(word for text in texts for word in set(analyze(text)))
        return cls(tuple(sorted(word for word, n in counts.items() if n >= min_count)), **settings)

    def transform(self, texts: Sequence[str]) -> "scipy.sparse.csr_array":
        """(texts, words); words that are not known are passed over."""
        if not self.words:
            return scipy.sparse.csr_array((len(texts), 0), dtype=np.float64)
        counts = self._vectorizer(vocabulary=self.words).transform(texts).astype(np.float64)
        if self.weighting == "normalised":
            counts = normalize(counts)
        return scipy.sparse.csr_array(counts)

    def _vectorizer(self, **settings: Any) -> CountVectorizer:
        return CountVectorizer(
            token_pattern=self.token_pattern,
            ngram_range=(1, self.n_grams),
            binary=self.weighting == "binary",
            **settings,
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """Plain arrays that hold the words; settings are the caller's to keep."""
        return pack(self.words)

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]], **settings: Any) -> "BagOfWords":
        """The bag whose words :meth:`state` held."""
        return cls(tuple(unpack(state)), **settings)
