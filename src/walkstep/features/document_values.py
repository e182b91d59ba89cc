"""Properties that depend on where a token stands: in its sentence, in phrases, in its document.

The other occurrences that a document property looks at are the eight nearest on either side: that keeps
the work in proportion to the tokens, however long the document and however common the word.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from walkstep.features._kernels.documents import gather_occurrences
from walkstep.features._kernels.hashing import SEED, hash_texts, state_after
from walkstep.features.gazetteers import PLACES
from walkstep.features.observation import Observation, Values
from walkstep.features.properties import LOWER, OCCURRENCES, UPPER
from walkstep.features.texts import encode
from walkstep.features.word_values import word_values


def document_values(observation: Observation, name: str) -> Values:
    """The values of a built-in property of places."""
    return DOCUMENT_PROPERTIES[name](observation)


def _flags(layer: str, is_there: NDArray[np.bool_]) -> Values:
    """A flag on rows: the empty text where it holds."""
    ptr = np.zeros(len(is_there) + 1, np.int64)
    np.cumsum(is_there, out=ptr[1:])
    return Values(layer, ptr, np.zeros(ptr[-1], np.int32), encode([""]).keys(), False, lambda _: [""])


def _gazetteer(seen: Observation, *, lower: bool) -> Values:
    """The lists that cover each token."""
    keys = (seen.lower_texts if lower else seen.word_texts).keys()
    rows = seen.rows("word")
    places = np.zeros((len(seen.gazetteers), len(rows)), np.int32)
    for k, gazetteer in enumerate(seen.gazetteers.values()):
        places[k] = gazetteer.match(seen.sentence_ptr, rows, keys, lower=lower)
    token, which = np.nonzero(places.T)
    ptr = np.searchsorted(token, np.arange(len(rows) + 1)).astype(np.int64)
    symbol = (4 * which + places[which, token] - 1).astype(np.int32)
    texts = [f"{place}-{name}" for name in seen.gazetteers for place in PLACES[1:]]
    return Values("token", ptr, symbol, encode(texts).keys(), False, lambda _: texts)


def _neighbour(seen: Observation, side: int) -> NDArray[np.int32]:
    """The lower-case form of the token before (-1) or after (1) each, -1 for none."""
    lower_of_word, _ = seen.lower_of_word
    beyond = np.full(1, -1, np.int32)
    return np.concatenate([lower_of_word, beyond])[seen.rows("word", side)]


def _word_of_lower(seen: Observation) -> NDArray[np.int64]:
    """A word of each lower-case form."""
    lower_of_word, keys = seen.lower_of_word
    word_of_lower = np.empty(len(keys), np.int64)
    word_of_lower[lower_of_word] = np.arange(len(lower_of_word))
    return word_of_lower


def _lower_forms(seen: Observation) -> list[str]:
    """The text of each lower-case form."""
    return [seen.words[word].lower() for word in _word_of_lower(seen).tolist()]


def _neighbours_elsewhere(seen: Observation, side: int) -> Values:
    """Words beside the other occurrences."""
    occurrences = seen.occurrences
    has_capital = np.zeros(occurrences.n_pairs, np.bool_)
    has_capital[occurrences.pair[seen.is_capital]] = True
    ptr, symbol = gather_occurrences(
        _neighbour(seen, side)[None],
        has_capital[occurrences.pair],
        occurrences.before,
        occurrences.after,
        OCCURRENCES,
    )
    return Values("token", ptr, symbol, seen.lower_of_word[1], False, _lower_forms)


def _shapes_elsewhere(seen: Observation) -> Values:
    """Shapes of the other occurrences."""
    occurrences = seen.occurrences
    shape = word_values(seen, "shape", None)
    everyone = np.ones(len(occurrences.pair), np.bool_)
    ptr, symbol = gather_occurrences(
        shape.symbol[seen.rows("word")][None], everyone, occurrences.before, occurrences.after, OCCURRENCES
    )
    return Values("token", ptr, symbol, shape.hash_of_symbol, False, shape.texts)


def _phrases_elsewhere(seen: Observation) -> Values:
    """Neighbours of the other occurrences within their run of capitals."""
    occurrences = seen.occurrences
    is_capital = seen.is_capital
    left, right = _neighbour(seen, -1), _neighbour(seen, 1)
    goes_on = np.zeros(len(is_capital) + 2, np.bool_)  # the capitals, shifted by one
    goes_on[1:-1] = is_capital
    value = np.empty((2, len(is_capital)), np.int32)
    value[0] = np.where(is_capital & goes_on[:-2] & (left >= 0), 2 * left, -1)
    value[1] = np.where(is_capital & goes_on[2:] & (right >= 0), 2 * right + 1, -1)
    ptr, symbol = gather_occurrences(value, is_capital, occurrences.before, occurrences.after, OCCURRENCES)
    codes, text_ptr = seen.lower_texts
    word_of_lower = _word_of_lower(seen)
    starts, ends = text_ptr[word_of_lower], text_ptr[word_of_lower + 1]
    hash_of_symbol = np.empty(2 * len(starts), np.uint64)
    for k, side in enumerate(("left=", "right=")):
        hash_of_symbol[k::2] = hash_texts(codes, starts, ends, np.uint64(state_after(encode([side]).codes, SEED)))
    return Values(
        "token",
        ptr,
        symbol,
        hash_of_symbol,
        False,
        lambda seen: [f"{side}={text}" for text in _lower_forms(seen) for side in ("left", "right")],
    )


def _lower_seen(seen: Observation) -> Values:
    """Whether the word occurs in small letters in the document, here included."""
    occurrences = seen.occurrences
    is_lower = (seen.word_classes[0] & (UPPER | LOWER) == LOWER)[seen.rows("word")]
    is_seen = np.zeros(occurrences.n_pairs, np.bool_)
    is_seen[occurrences.pair[is_lower]] = True
    return _flags("token", is_seen[occurrences.pair])


def _capital_seen(seen: Observation) -> Values:
    """Whether another occurrence has a capital for another reason than its place."""
    pair = seen.occurrences.pair
    tells = seen.is_capital & (seen.rows("position") & (1 | 4) == 0)
    count = np.bincount(pair[tells], minlength=seen.occurrences.n_pairs)
    return _flags("token", count[pair] > tells)


DOCUMENT_PROPERTIES: dict[str, Callable[[Observation], Values]] = {
    "first": lambda _: _flags("position", np.arange(8) & 1 > 0),
    "last": lambda _: _flags("position", np.arange(8) & 2 > 0),
    "sentence_upper": lambda _: _flags("position", np.arange(8) & 4 > 0),
    "gazetteer": lambda seen: _gazetteer(seen, lower=False),
    "lower_gazetteer": lambda seen: _gazetteer(seen, lower=True),
    "doc_prev": lambda seen: _neighbours_elsewhere(seen, -1),
    "doc_next": lambda seen: _neighbours_elsewhere(seen, 1),
    "doc_lower_seen": _lower_seen,
    "doc_capital_seen": _capital_seen,
    "doc_phrase": _phrases_elsewhere,
    "doc_shape": _shapes_elsewhere,
}
