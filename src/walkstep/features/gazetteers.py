"""Lists of phrases, and where they occur in sentences."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from walkstep.features._kernels.documents import match_phrases, phrase_states
from walkstep.features._kernels.hashing import build_table, distinct_keys
from walkstep.features.texts import encode

PLACES = ("", "B", "I", "L", "U")


class Gazetteer:
    """A list of phrases, matched word by word: the longest that begins at a word, from left to right.

    Parameters
    ----------
    phrases : iterable of str
        Phrases of one word or more, words separated by spaces.

    Examples
    --------
    >>> cities = Gazetteer(["New York", "York"])
    >>> cities.phrases
    ['New York', 'York']
    """

    def __init__(self, phrases: Iterable[str]) -> None:
        self.phrases = list(dict.fromkeys(" ".join(phrase.split()) for phrase in phrases))
        self._tables: dict[bool, tuple[NDArray[np.uint64], NDArray[np.bool_]]] = {}

    def match(
        self,
        sentence_ptr: NDArray[np.int64],
        type_of_token: NDArray[np.int32],
        key_of_type: NDArray[np.uint64],
        *,
        lower: bool,
    ) -> NDArray[np.int32]:
        """The place of each token in a phrase, as an index of :data:`PLACES`; 0 outside."""
        if lower not in self._tables:
            self._tables[lower] = self._build(lower)
        return match_phrases(sentence_ptr, type_of_token, key_of_type, *self._tables[lower])

    def _build(self, lower: bool) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """The table of all beginnings of phrases, and which of them are whole phrases."""
        phrases = [phrase.lower() if lower else phrase for phrase in self.phrases]
        split = [phrase.split(" ") for phrase in phrases if phrase]
        ptr = np.concatenate([[0], np.cumsum([len(words) for words in split])]).astype(np.int64)
        states = phrase_states(encode([word for words in split for word in words]).keys(), ptr)
        number, first = distinct_keys(states)
        is_phrase = np.zeros(len(first) + 1, np.bool_)
        is_phrase[number[ptr[1:] - 1]] = True
        return build_table(states[first]), is_phrase


def read_gazetteer(path: str | Path) -> Gazetteer:
    """Read a list of phrases, one a line, in UTF-8; empty lines are skipped."""
    path = Path(path)
    phrases = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            phrases.append(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path}, line {number}: not UTF-8 ({line[error.start : error.end]!r}); save the list as UTF-8"
            ) from None
    phrases = [phrase for phrase in phrases if phrase.strip()]
    if not phrases:
        raise ValueError(f"{path} holds no phrase; write one a line")
    return Gazetteer(phrases)


def as_gazetteers(given: Mapping[str, str | Path | Iterable[str] | Gazetteer]) -> dict[str, Gazetteer]:
    """Lists by name, each given as a file, as phrases, or ready.

    Examples
    --------
    >>> as_gazetteers({"city": ["New York"]})["city"].phrases
    ['New York']
    """
    gazetteers = {}
    for name, source in given.items():
        if isinstance(source, Gazetteer):
            gazetteers[name] = source
        elif isinstance(source, str | Path):
            gazetteers[name] = read_gazetteer(source)
        else:
            gazetteers[name] = Gazetteer(source)
    return gazetteers
