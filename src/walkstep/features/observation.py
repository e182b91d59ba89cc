"""A corpus as integers: what is distinct in it, and what stands where."""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.data.sequences import Sequences
from walkstep.features._kernels.documents import link_occurrences, mark_positions
from walkstep.features._kernels.hashing import distinct_keys
from walkstep.features._kernels.rows import count_rows, shift_rows
from walkstep.features._kernels.words import summarise_classes
from walkstep.features.gazetteers import Gazetteer
from walkstep.features.properties import DIGIT, LETTER, LOWER, UPPER, class_of
from walkstep.features.texts import Texts, encode, keys_of

Function = Callable[[str], str | Iterable[str]]


class Values(NamedTuple):
    """A property's values: row ``r`` holds the symbols ``symbol[ptr[r]:ptr[r + 1]]``, all different.

    Parameters
    ----------
    layer : str
        What a row stands for: a distinct word, a distinct entry of a column, a token, ...
    ptr : int64 array (n_rows + 1,)
    symbol : int32 array (n_entries,)
    hash_of_symbol : uint64 array (n_symbols,)
        The key of each symbol's text.
    at_edge : bool
        Whether places beyond a sentence's edge have a value of their own.
    texts : callable
        ``(observation) -> list of str``: makes the symbols' texts, for those who ask for names. It must not
        hold the observation itself, or large arrays would wait for the garbage collector.
    """

    layer: str
    ptr: NDArray[np.int64]
    symbol: NDArray[np.int32]
    hash_of_symbol: NDArray[np.uint64]
    at_edge: bool
    texts: "Callable[[Observation], list[str]]"

    def beyond(self, offset: int) -> "Values":
        """The same, with a row for each place beyond the sentence that the offset can reach."""
        if offset == 0:
            return self
        n_places = abs(offset)
        if not self.at_edge:
            return self._replace(ptr=np.concatenate([self.ptr, np.full(n_places, self.ptr[-1])]))
        names = [f"<start-{d}>" if offset < 0 else f"<end+{d}>" for d in range(1, n_places + 1)]
        n_symbols = len(self.hash_of_symbol)
        return self._replace(
            ptr=np.concatenate([self.ptr, np.arange(1, n_places + 1) + self.ptr[-1]]),
            symbol=np.concatenate([self.symbol, np.arange(n_places, dtype=np.int32) + np.int32(n_symbols)]),
            # All bits turned, lest a word of the text be taken for the edge.
            hash_of_symbol=np.concatenate([self.hash_of_symbol, ~encode(names).keys()]),
            texts=lambda seen: self.texts(seen) + names,
        )


class Layer(NamedTuple):
    """The row of each token, of ``n_rows``."""

    row_of_token: NDArray[np.int32]
    n_rows: int


class Occurrences(NamedTuple):
    """Where else in its document each token's word occurs, capitals and small letters taken as equal."""

    before: NDArray[np.int32]  # the token of the last occurrence before this one, -1 for none
    after: NDArray[np.int32]
    pair: NDArray[np.int32]  # number of the pair (document, word)
    n_pairs: int


class Observation:
    """One corpus and what came with it; everything is computed at the first asking.

    Parameters
    ----------
    sequences : Sequences
        The corpus.
    gazetteers : mapping of str to Gazetteer
        Lists of phrases, by name.
    clusters : mapping of str to str
        The bit string of each word.
    functions : mapping of str to callable
        The user's own properties of a word, by name.

    Examples
    --------
    >>> seen = Observation(Sequences.from_lists([["to", "be", "or", "not", "to", "be"]]))
    >>> seen.words, seen.rows("word")
    (['to', 'be', 'or', 'not'], array([0, 1, 2, 3, 0, 1], dtype=int32))
    """

    def __init__(
        self,
        sequences: Sequences,
        *,
        gazetteers: Mapping[str, Gazetteer] | None = None,
        clusters: Mapping[str, str] | None = None,
        functions: Mapping[str, Function] | None = None,
    ) -> None:
        self.sequences = sequences
        self.gazetteers, self.clusters, self.functions = gazetteers or {}, clusters or {}, functions or {}
        self.sentence_ptr = np.array(sequences.sentence_ptr, np.int64)
        self.values: dict[tuple[str, int | None], Values] = {}
        self._shifted: dict[tuple[str, int], NDArray[np.int32]] = {}
        self._weights: dict[tuple[str, int], NDArray[np.int64]] = {}
        self._columns: dict[str, tuple[Layer, list[str]]] = {}

    def layer(self, name: str) -> Layer:
        """The layer of words, of positions, of tokens, or of a column (``column:pos``)."""
        if name == "word":
            return self._words[0]
        if name == "position":
            return self._positions
        if name == "token":
            return self._tokens
        return self.column(name.removeprefix("column:"))[0]

    def rows(self, layer: str, offset: int = 0) -> NDArray[np.int32]:
        """The row of the token ``offset`` positions from each token; places beyond the sentence come last."""
        row_of_token, n_rows = self.layer(layer)
        if offset == 0:
            return row_of_token
        key = (layer, offset)
        if key not in self._shifted:
            self._shifted[key] = shift_rows(row_of_token, self.sentence_ptr, offset, n_rows)
        return self._shifted[key]

    def weights(self, layer: str, offset: int) -> NDArray[np.int64]:
        """How many tokens have each row at this offset."""
        key = (layer, offset)
        if key not in self._weights:
            row_of_token, n_rows = self.layer(layer)
            if offset == 0:
                self._weights[key] = np.bincount(row_of_token, minlength=n_rows)
            else:
                weight = np.concatenate([self.weights(layer, 0), np.zeros(abs(offset), np.int64)])
                count_rows(row_of_token, self.sentence_ptr, offset, weight)
                self._weights[key] = weight
        return self._weights[key]

    def column(self, name: str) -> tuple[Layer, list[str]]:
        """A column's layer, and its distinct entries."""
        if name not in self._columns:
            self._columns[name] = _number(self.sequences.columns[name])
        return self._columns[name]

    @property
    def words(self) -> list[str]:
        """The distinct words, in order of first sight."""
        return self._words[1]

    @cached_property
    def word_texts(self) -> Texts:
        """The distinct words."""
        return encode(self.words)

    @cached_property
    def lower_texts(self) -> Texts:
        """The distinct words in lower case; not all different."""
        return encode(self.words, lower=True)

    @cached_property
    def shape_texts(self) -> Texts:
        """The shapes of the distinct words; not all different."""
        return Texts(self._characters[1], self.word_texts.ptr)

    @cached_property
    def word_classes(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]]:
        """Of each distinct word the character classes: of any character, of all, of the first."""
        return summarise_classes(self._characters[0], self.word_texts.ptr)

    @cached_property
    def lower_of_word(self) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
        """The number of each distinct word's lower-case form, and the keys of these forms."""
        keys = self.lower_texts.keys()
        lower_of_word, first = distinct_keys(keys)
        return lower_of_word, keys[first]

    @cached_property
    def is_capital(self) -> NDArray[np.bool_]:
        """Whether each token begins with a capital."""
        return (self.word_classes[2] & UPPER > 0)[self.rows("word")]

    @cached_property
    def occurrences(self) -> Occurrences:
        """The chains of equal words within documents."""
        lower_of_word, keys = self.lower_of_word
        document_start = self.sentence_ptr[self.sequences.document_ptr]
        return Occurrences(*link_occurrences(lower_of_word[self.rows("word")], len(keys), document_start))

    @cached_property
    def _words(self) -> tuple[Layer, list[str]]:
        return _number(self.sequences.tokens)

    @cached_property
    def _tokens(self) -> Layer:
        n_tokens = self.sequences.n_tokens
        return Layer(np.arange(n_tokens, dtype=np.int32), n_tokens)

    @cached_property
    def _positions(self) -> Layer:
        any_of = self.word_classes[0]
        return Layer(mark_positions(self.sentence_ptr, self.rows("word"), any_of, np.uint8(UPPER), np.uint8(LOWER)), 8)

    @cached_property
    def _characters(self) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
        """The classes and the shape of every code point of the distinct words."""
        codes = self.word_texts.codes
        size = int(codes.max(initial=0)) + 1
        is_there = np.zeros(size, np.bool_)
        is_there[codes] = True
        distinct = np.flatnonzero(is_there)
        classes = np.zeros(size, np.uint8)
        classes[distinct] = [class_of(chr(code)) for code in distinct.tolist()]
        shapes = np.arange(size, dtype=np.uint32)
        shapes[classes & DIGIT > 0] = ord("d")
        shapes[classes & LETTER > 0] = ord("x")
        shapes[classes & UPPER > 0] = ord("X")
        return classes[codes], shapes[codes]


def _number(entries: list[str]) -> tuple[Layer, list[str]]:
    """Number the distinct entries in order of first sight."""
    keys = keys_of(entries)
    row_of_token, first = distinct_keys(keys)
    return Layer(row_of_token, len(first)), [entries[i] for i in first.tolist()]
