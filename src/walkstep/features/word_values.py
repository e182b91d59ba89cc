"""Properties that depend on the word alone, or on one entry of a column."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from walkstep.features._kernels.hashing import SEED, distinct_keys, hash_texts
from walkstep.features._kernels.words import collapse_runs, distinct_in_rows, hash_ngrams
from walkstep.features.observation import Observation, Values
from walkstep.features.properties import DASH, DIGIT, LOWER, MARK, PROPERTIES, UPPER
from walkstep.features.texts import Texts, encode


def word_values(observation: Observation, name: str, argument: int | None) -> Values:
    """The values of a built-in property of words, one row a distinct word."""
    ptr, keys = WORD_PROPERTIES[name](observation, argument or 0)
    symbol, first = distinct_keys(keys)
    known = PROPERTIES[name]
    if known.kind == "many":
        ptr, symbol = distinct_in_rows(ptr, symbol, len(first))

    def texts(seen: Observation) -> list[str]:
        """Each symbol's text, from the first word that has it."""
        assert known.of_word is not None
        at = np.unique(symbol, return_index=True)[1]
        rows = np.searchsorted(ptr, at, side="right") - 1
        places = (at - ptr[rows]).tolist()
        words = seen.words
        return [known.of_word(words[r], argument or 0)[place] for r, place in zip(rows.tolist(), places, strict=True)]

    return Values("word", ptr, symbol, keys[first], known.kind == "value", texts)


def column_values(observation: Observation, name: str) -> Values:
    """The entries of a column."""
    layer, entries = observation.column(name)
    keys = encode(entries).keys()
    one_each = np.arange(layer.n_rows + 1, dtype=np.int64)
    return Values(
        f"column:{name}", one_each, one_each[:-1].astype(np.int32), keys, True, lambda seen: seen.column(name)[1]
    )


def cluster_values(observation: Observation, length: int) -> Values:
    """The beginnings of the words' bit strings; none for words without one."""
    bits = [observation.clusters.get(word, "")[:length] for word in observation.words]
    return _listed("word", [[text] if text else [] for text in bits], at_edge=True)


def function_values(observation: Observation, name: str) -> Values:
    """What a user's function says of each distinct word."""
    function = observation.functions[name]
    rows: list[list[str]] = []
    for word in observation.words:
        said = function(word)
        row = [said] if isinstance(said, str) else list(dict.fromkeys(said or ()))
        for text in row:
            if not isinstance(text, str):
                raise TypeError(f"function {name!r} gave {text!r} for the word {word!r}; return a string, or several")
        rows.append(row)
    return _listed("word", rows, at_edge=False)


def _listed(layer: str, rows: list[list[str]], *, at_edge: bool) -> Values:
    """Values given as lists of texts."""
    number: dict[str, int] = {}
    symbol = np.array([number.setdefault(text, len(number)) for row in rows for text in row], np.int32)
    ptr = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=ptr[1:])
    texts = list(number)
    return Values(layer, ptr, symbol, encode(texts).keys(), at_edge, lambda _: texts)


Rows = tuple[NDArray[np.int64], NDArray[np.uint64]]


def _whole(texts: Texts) -> Rows:
    """One value a word: the whole text."""
    return np.arange(len(texts.ptr), dtype=np.int64), texts.keys()


def _affix(texts: Texts, length: int, *, at_end: bool) -> Rows:
    """One value a word, for words long enough: its beginning or its end."""
    starts, ends = texts.ptr[:-1], texts.ptr[1:]
    is_long = ends - starts >= length
    starts, ends = starts[is_long], ends[is_long]
    if at_end:
        starts = ends - length
    else:
        ends = starts + length
    return _present(is_long), hash_texts(texts.codes, starts, ends, SEED)


def _present(is_there: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Pointers of rows that hold one value or none."""
    ptr = np.zeros(len(is_there) + 1, np.int64)
    np.cumsum(is_there, out=ptr[1:])
    return ptr


def _flag(is_there: NDArray[np.bool_]) -> Rows:
    """A value that is there or not: the empty text."""
    return _present(is_there), np.repeat(encode([""]).keys(), np.count_nonzero(is_there))


def _length(observation: Observation) -> Rows:
    """The number of characters, in decimal."""
    lengths = np.diff(observation.word_texts.ptr)
    keys = encode([str(n) for n in range(int(lengths.max(initial=0)) + 1)]).keys()
    return np.arange(len(lengths) + 1, dtype=np.int64), keys[lengths]


WORD_PROPERTIES: dict[str, Callable[[Observation, int], Rows]] = {
    "word": lambda seen, _: _whole(seen.word_texts),
    "lower": lambda seen, _: _whole(seen.lower_texts),
    "shape": lambda seen, _: _whole(seen.shape_texts),
    "short_shape": lambda seen, _: _whole(Texts(*collapse_runs(*seen.shape_texts))),
    "prefix": lambda seen, n: _affix(seen.word_texts, n, at_end=False),
    "suffix": lambda seen, n: _affix(seen.word_texts, n, at_end=True),
    "lower_prefix": lambda seen, n: _affix(seen.lower_texts, n, at_end=False),
    "lower_suffix": lambda seen, n: _affix(seen.lower_texts, n, at_end=True),
    "ngrams": lambda seen, n: hash_ngrams(*seen.word_texts, n),
    "length": lambda seen, _: _length(seen),
    "is_capital": lambda seen, _: _flag(seen.word_classes[2] & UPPER > 0),
    "is_upper": lambda seen, _: _flag(seen.word_classes[0] & (UPPER | LOWER) == UPPER),
    "is_digit": lambda seen, _: _flag(seen.word_classes[1] & DIGIT > 0),
    "has_digit": lambda seen, _: _flag(seen.word_classes[0] & DIGIT > 0),
    "has_hyphen": lambda seen, _: _flag(seen.word_classes[0] & DASH > 0),
    "is_punctuation": lambda seen, _: _flag(seen.word_classes[1] & MARK > 0),
}
