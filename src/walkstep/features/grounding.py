"""Feature expressions on a corpus: the rows, symbols and keys that each gives, and their sum per token."""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.features._kernels.hashing import distinct_keys, mix_all
from walkstep.features._kernels.rows import (
    count_symbols,
    count_windows,
    extend_keys,
    fill_rows,
    gather_rows,
    mix_rows,
)
from walkstep.features.document_values import DOCUMENT_PROPERTIES, document_values
from walkstep.features.expression import Bag, Conjunction, Expression
from walkstep.features.observation import Observation, Values
from walkstep.features.properties import PROPERTIES, unknown_name
from walkstep.features.rows import SparseRows
from walkstep.features.word_values import (
    WORD_PROPERTIES,
    cluster_values,
    column_values,
    function_values,
    word_values,
)


class Window(NamedTuple):
    """Which rows a token has: the one at an offset, or (a bag) all those from ``first`` to ``last``."""

    first: int
    last: int
    is_bag: bool


class Ground(NamedTuple):
    """One expression on a corpus.

    Row ``r`` of the layer holds ``symbol[ptr[r]:ptr[r + 1]]``; symbol ``s`` is the feature with the key
    ``keys[s]``; a token has the rows of its window.
    """

    layer: str
    window: Window
    ptr: NDArray[np.int64]
    symbol: NDArray[np.int32]
    keys: NDArray[np.uint64]


def values_of(observation: Observation, name: str, argument: int | None = None) -> Values:
    """The values of a built-in property, a user's function or a column."""
    key = (name, argument)
    if key not in observation.values:
        observation.values[key] = _compute(observation, name, argument)
    return observation.values[key]


def ground(observation: Observation, expression: Expression) -> Ground:
    """Compute one expression; a conjunction's symbols are single entries, not yet distinct."""
    salt = salt_of(expression)
    if isinstance(expression, Conjunction):
        return _ground_conjunction(observation, expression, salt)
    values = values_of(observation, expression.name, expression.argument)
    if isinstance(expression, Bag):
        window = Window(expression.first, expression.last, True)
    else:
        window = Window(expression.offset, expression.offset, False)
        values = values.beyond(expression.offset)
    keys = mix_all(salt, values.hash_of_symbol)
    return Ground(values.layer, window, values.ptr, values.symbol, keys)


def _ground_conjunction(observation: Observation, expression: Conjunction, salt: np.uint64) -> Ground:
    """The keys of all combinations of the parts' values, token by token."""
    n_tokens = observation.sequences.n_tokens
    ptr, keys = np.arange(n_tokens + 1, dtype=np.int64), np.full(n_tokens, salt)
    has_one = True
    for part in expression.parts:
        values = values_of(observation, part.name, part.argument).beyond(part.offset)
        rows = observation.rows(values.layer, part.offset)
        has_one &= np.array_equal(values.ptr, np.arange(len(values.symbol) + 1))
        if has_one:
            mix_rows(keys, rows, values.hash_of_symbol[values.symbol])
        else:
            ptr, keys = extend_keys(ptr, keys, rows, values.ptr, values.symbol, values.hash_of_symbol)
    return Ground("token", Window(0, 0, False), ptr, np.arange(len(keys), dtype=np.int32), keys)


def merge_symbols(grounded: Ground) -> Ground:
    """The same with one symbol for each distinct key."""
    symbol, first = distinct_keys(grounded.keys)
    return grounded._replace(symbol=symbol, keys=grounded.keys[first])


def is_frequent(observation: Observation, grounded: Ground, min_count: int) -> NDArray[np.bool_]:
    """Whether at least ``min_count`` tokens have each symbol."""
    return _count_tokens(observation, grounded, only_presence=min_count == 1) >= min_count


def _count_tokens(observation: Observation, grounded: Ground, *, only_presence: bool) -> NDArray[np.int64]:
    """How many tokens have each symbol; of a bag only whether any has it, where that is enough."""
    layer, (first, last, is_bag), ptr, symbol, keys = grounded
    if is_bag and only_presence:
        n_rows = len(ptr) - 1
        weight = sum(observation.weights(layer, offset)[:n_rows] for offset in range(first, last + 1))
        return count_symbols(ptr, symbol, np.asarray(weight), len(keys))
    if is_bag:
        rows = observation.rows(layer)
        return count_windows(rows, observation.sentence_ptr, first, last, ptr, symbol, len(keys))
    if layer == "token" and first == 0:
        return np.bincount(symbol, minlength=len(keys))
    return count_symbols(ptr, symbol, observation.weights(layer, first), len(keys))


def decode_parts(observation: Observation, expression: Conjunction, grounded: Ground) -> list[NDArray[np.int32]]:
    """For each distinct symbol of a conjunction, the symbol of each of its parts."""
    at = np.unique(grounded.symbol, return_index=True)[1]
    token = np.searchsorted(grounded.ptr, at, side="right") - 1
    rank = at - grounded.ptr[token]
    symbols = []
    for part in reversed(expression.parts):
        values = values_of(observation, part.name, part.argument).beyond(part.offset)
        row = observation.rows(values.layer, part.offset)[token]
        rank, place = np.divmod(rank, values.ptr[row + 1] - values.ptr[row])
        symbols.append(values.symbol[values.ptr[row] + place])
    return symbols[::-1]


def assemble(
    observation: Observation,
    grounded: Sequence[Ground],
    feature_of_symbol: Sequence[NDArray[np.int32]],
    n_features: int,
    *,
    may_collide: bool,
) -> SparseRows:
    """The features of every token.

    All expressions of one layer are laid side by side, row after row and within a row offset after offset, so
    that what a word says to its five neighbours is fetched from memory once.
    """
    layers = list(dict.fromkeys(here.layer for here in grounded))
    spans, features = [np.zeros((0, 2), np.int64)], [np.zeros(0, np.int32)]
    groups, bags = [], []
    n_spans = n_entries = 0
    for k, layer in enumerate(layers):
        members = [pair for pair in zip(grounded, feature_of_symbol, strict=True) if pair[0].layer == layer]
        windows = list(dict.fromkeys(here.window for here, _ in members))
        span, feature = _lay_out(members, windows)
        for place, (first, last, is_bag) in enumerate(windows):
            if is_bag:
                bags.append((k, first, last, n_spans + place, len(windows)))
            else:
                n_rows = observation.layer(layer).n_rows
                groups.append((k, first, n_rows, n_spans + place, len(windows)))
        spans.append(span + n_entries)
        features.append(feature)
        n_spans += len(span)
        n_entries += len(feature)
    n_tokens = observation.sequences.n_tokens
    rows = [observation.rows(layer) for layer in layers]
    tables = (
        observation.sentence_ptr,
        np.stack(rows) if rows else np.zeros((0, n_tokens), np.int32),
        np.array(groups, np.int64).reshape(len(groups), 5),
        np.array(bags, np.int64).reshape(len(bags), 5),
        np.concatenate(spans).astype(np.int32 if n_entries < 2**31 else np.int64, copy=False),
        np.concatenate(features),
        np.zeros(n_features // 64 + 1, np.uint64),
        may_collide,
    )
    ptr = np.zeros(n_tokens + 1, np.int64)
    # Allocated out here because NumPy asks for huge pages: fresh small ones cost more than filling them.
    out = np.empty(n_tokens * _guess_width(grounded) + 1024, np.int32)
    sentence = gather_rows(*tables, 0, ptr, out)
    while sentence < observation.sequences.n_sentences:
        out = np.concatenate([out, np.empty_like(out)])
        sentence = gather_rows(*tables, sentence, ptr, out)
    n_found = int(ptr[-1])
    index = out[:n_found] if len(out) < 1.5 * n_found else out[:n_found].copy()
    return SparseRows(ptr, index, np.zeros(0), n_features)


def _guess_width(grounded: Sequence[Ground]) -> int:
    """About as many features as a token is likely to have."""
    return 8 + sum(min(here.window.last - here.window.first + 1, 8) for here in grounded)


def salt_of(expression: Expression) -> np.uint64:
    """The key that sets an expression's features apart from every other's."""
    digest = hashlib.blake2b(str(expression).encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def _compute(observation: Observation, name: str, argument: int | None) -> Values:
    """Find out who knows the name, and ask."""
    if name in WORD_PROPERTIES:
        return word_values(observation, name, argument)
    if name in DOCUMENT_PROPERTIES:
        return document_values(observation, name)
    if name in PROPERTIES:
        return cluster_values(observation, argument or 0)
    if name in observation.functions:
        return function_values(observation, name)
    if name in observation.sequences.columns:
        return column_values(observation, name)
    raise unknown_name(name, observation.sequences.columns, observation.functions)


def _lay_out(
    members: list[tuple[Ground, NDArray[np.int32]]], windows: list[Window]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The features of each row for each window, those of all members together; unknown ones are dropped."""
    n_rows = max(len(here.ptr) - 1 for here, _ in members)
    room = np.zeros((n_rows, len(windows)), np.int64)
    for here, _ in members:
        room[: len(here.ptr) - 1, windows.index(here.window)] += np.diff(here.ptr)
    ends = np.cumsum(room)
    span = np.repeat(ends - room.ravel(), 2).reshape(n_rows, len(windows), 2)
    out = np.empty(room.sum(), np.int32)
    for here, feature_of_symbol in members:
        fill_rows(here.ptr, here.symbol, feature_of_symbol, windows.index(here.window), span, out)
    return span.reshape(-1, 2), out
