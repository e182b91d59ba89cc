"""Signals: the metric a walk learns from, asked only for what one changed value does to it.

A signal is a ``NamedTuple`` that answers `begin` (count what a document holds), `gain` (metric after
minus before, if one variable took another value) and `record` (it did). Variables whose truth is unknown
neither gain nor lose.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import objmode, types
from numba.extending import overload
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import INLINE, compiled, pointer


class Hamming(NamedTuple):
    """How many variables are right, times ``scale``."""

    scale: float = 1.0


class TokenF1(NamedTuple):
    """F1 of the variables that are not ``background``, in the document entered."""

    background: int
    scale: float
    counts: NDArray[np.int64]  # right, predicted, true


class SpanF1(NamedTuple):
    """F1 of whole spans (start, end and type all right), in the document entered."""

    starts: NDArray[np.bool_]  # (K+1, K+1) whether a span starts at the second of two neighbours
    ends: NDArray[np.bool_]  # (K+1, K+1) whether a span ends at the first of two neighbours
    type_of_label: NDArray[np.int64]  # (K+1,) -1 outside of spans
    is_first: NDArray[np.bool_]  # (V+1,) whether a sentence begins at this variable
    true_end: NDArray[np.int64]  # (V,) where the true span that starts here ends, else -1
    true_type: NDArray[np.int64]  # (V,) its type
    scale: float
    counts: NDArray[np.int64]


class UserDifference(NamedTuple):
    """A user's function that says what one changed value does to the metric."""

    function: Any


class UserMetric(NamedTuple):
    """A user's function of a whole document, asked twice for every move."""

    function: Any
    scratch: NDArray[np.int32]


_READ = types.int32[::1]
DIFFERENCE = types.float64(_READ, _READ, types.int64, types.int64, types.int64, types.int64)
METRIC = types.float64(_READ, _READ)


def token_f1(background: int = 0, *, scale: float = 1.0) -> TokenF1:
    """F1 over the variables whose value is not ``background``."""
    return TokenF1(int(background), float(scale), np.zeros(3, np.int64))


def span_f1(labels: Sequence[str], truth: ArrayLike, sentence_ptr: ArrayLike, *, scale: float = 1.0) -> SpanF1:
    """F1 over spans, read as CoNLL's scorer reads them.

    Parameters
    ----------
    labels : sequence of str
        The tag of each value: ``O``, ``B-PER``, ``I-PER``, ``L-PER``, ``U-PER``, ...
    truth : int array (n_variables,)
        True values; spans are never counted across an unknown one.
    sentence_ptr : int array (n_sentences + 1,)
        Sentences as ranges of variables.
    scale : float
        What a perfect document is worth; its number of spans makes one span worth about one.
    """
    prefixes = [label.partition("-")[0] if "-" in label else ("O" if label == "O" else "I") for label in labels]
    names = [label.partition("-")[2] or label for label in labels]
    kinds = {name: k for k, name in enumerate(sorted(set(names)))}
    n = len(labels)
    type_of_label = np.array(
        [-1 if p == "O" else kinds[name] for p, name in zip(prefixes, names, strict=True)] + [-1], np.int64
    )
    prefixes = [*prefixes, "O"]
    starts = np.zeros((n + 1, n + 1), bool)
    ends = np.zeros((n + 1, n + 1), bool)
    for a in range(n + 1):
        for b in range(n + 1):
            new_type = type_of_label[a] != type_of_label[b]
            breaks = new_type or prefixes[b] in "BU" or prefixes[a] in "LU"
            starts[a, b] = type_of_label[b] >= 0 and breaks
            ends[a, b] = type_of_label[a] >= 0 and breaks
    truth = np.asarray(truth, dtype=np.int64)
    is_first = np.zeros(len(truth) + 1, bool)
    is_first[np.asarray(sentence_ptr)] = True
    coded = np.where(truth < 0, n, truth)
    true_end, true_type = _true_spans(coded, starts, ends, type_of_label, is_first)
    return SpanF1(starts, ends, type_of_label, is_first, true_end, true_type, float(scale), np.zeros(3, np.int64))


def _true_spans(coded, starts, ends, type_of_label, is_first):
    """Where each true span ends, at its start."""
    n_values = len(type_of_label) - 1
    true_end = np.full(len(coded), -1, np.int64)
    true_type = np.full(len(coded), -1, np.int64)
    before = np.where(is_first[:-1], n_values, np.concatenate([[n_values], coded[:-1]]))
    after = np.where(is_first[1:], n_values, np.concatenate([coded[1:], [n_values]]))
    first = np.flatnonzero(starts[before, coded])
    last = np.flatnonzero(ends[coded, after])
    true_end[first] = last + 1
    true_type[first] = type_of_label[coded[first]]
    return true_end, true_type


def as_signal(function: Callable) -> UserDifference:
    """Let a user's function be the signal, by difference.

    ``function(values, truth, site, value, first, last) -> float`` says how much the metric of the document
    ``values[first:last]`` rises when variable ``site`` takes ``value``. It must compile under Numba.
    """
    arguments = "(values, truth, site, value, first, last) -> float"
    return UserDifference(pointer(function, DIFFERENCE, "signal", arguments))


_PYTHON_METRICS: list[Callable] = []


def as_metric(function: Callable, *, compile: bool = True) -> UserMetric:
    """Let any function of a whole document be the signal; it is asked before and after every move.

    Parameters
    ----------
    function : callable
        ``(values, truth) -> float``, given the document's values and true values.
    compile : bool
        Whether to compile it under Numba; with False it stays plain Python and may use anything, at
        microseconds instead of nanoseconds a call.
    """
    if not compile:
        _PYTHON_METRICS.append(function)
        at = len(_PYTHON_METRICS) - 1

        def ask_python(values, truth):
            with objmode(answer="float64"):
                answer = float(_PYTHON_METRICS[at](values, truth))
            return answer

        function = ask_python
    compiled_metric = pointer(function, METRIC, "metric", "(values, truth) -> float", nogil=compile)
    return UserMetric(compiled_metric, np.zeros(0, np.int32))


def begin(signal, values, truth, window):  # pragma: no cover - replaced by its overload in compiled code
    """Count what the document holds, before a walk enters it."""
    raise TypeError(signal)


def gain(signal, values, truth, window, site, value):  # pragma: no cover
    """The metric after minus before, if variable ``site`` took ``value``."""
    raise TypeError(signal)


def record(signal, values, truth, window, site, value):  # pragma: no cover
    """Keep the counts true when variable ``site`` takes ``value``."""
    raise TypeError(signal)


@compiled(inline=True)
def _f1(counts, right, predicted):
    """F1 if the counts rose by so much."""
    total = counts[1] + predicted + counts[2]
    return 1.0 if total == 0 else 2.0 * (counts[0] + right) / total


# --- Hamming


@compiled(inline=True)
def _gain_hamming(signal, values, truth, window, site, value):
    true = truth[site]
    if true < 0:
        return 0.0
    return signal.scale * (np.float64(value == true) - np.float64(values[site] == true))


# --- token F1


@compiled(inline=True)
def _begin_tokens(signal, values, truth, window):
    signal.counts[:] = 0
    for v in range(window[0], window[1]):
        if truth[v] >= 0:
            signal.counts[0] += values[v] == truth[v] and values[v] != signal.background
            signal.counts[1] += values[v] != signal.background
            signal.counts[2] += truth[v] != signal.background


@compiled(inline=True)
def _change_of_tokens(signal, values, truth, site, value):
    true, old = truth[site], values[site]
    if true < 0:
        return 0, 0
    right = np.int64(value == true and value != signal.background) - np.int64(old == true and old != signal.background)
    return right, np.int64(value != signal.background) - np.int64(old != signal.background)


@compiled(inline=True)
def _gain_tokens(signal, values, truth, window, site, value):
    right, predicted = _change_of_tokens(signal, values, truth, site, value)
    return signal.scale * (_f1(signal.counts, right, predicted) - _f1(signal.counts, 0, 0))


@compiled(inline=True)
def _record_tokens(signal, values, truth, window, site, value):
    right, predicted = _change_of_tokens(signal, values, truth, site, value)
    signal.counts[0] += right
    signal.counts[1] += predicted


# --- span F1


@compiled(inline=True)
def _label_at(signal, values, v, site, value):
    return np.int64(value) if v == site else np.int64(values[v])


@compiled(inline=True)
def _count_spans(signal, values, truth, first, last, site, value):
    """Spans within variables first..last-1, as if ``site`` had ``value``: how many, and how many are true."""
    outside = len(signal.type_of_label) - 1
    right = predicted = 0
    start = -1
    known = True
    for v in range(first, last):
        label = _label_at(signal, values, v, site, value)
        before = outside if v == first or signal.is_first[v] else _label_at(signal, values, v - 1, site, value)
        after = outside if v == last - 1 or signal.is_first[v + 1] else _label_at(signal, values, v + 1, site, value)
        if signal.starts[before, label]:
            start = v
            known = True
        known = known and truth[v] >= 0
        if signal.ends[label, after]:
            if known:
                predicted += 1
                right += signal.true_end[start] == v + 1 and signal.true_type[start] == signal.type_of_label[label]
            start = -1
    return right, predicted


@compiled(inline=True)
def _begin_spans(signal, values, truth, window):
    first, last = window[0], window[1]
    right, predicted = _count_spans(signal, values, truth, first, last, first, values[first])
    signal.counts[0] = right
    signal.counts[1] = predicted
    signal.counts[2] = 0
    for v in range(first, last):
        signal.counts[2] += signal.true_end[v] >= 0


@compiled(inline=True)
def _change_of_spans(signal, values, truth, window, site, value):
    # Widen the site to where no span can cross, whatever its value: the span before it and the one after.
    first = site
    if first > window[0] and not signal.is_first[first]:
        first -= 1
        while (
            first > window[0]
            and not signal.is_first[first]
            and signal.type_of_label[values[first]] >= 0
            and not signal.starts[values[first - 1], values[first]]
        ):
            first -= 1
    last = site + 1
    if last < window[1] and not signal.is_first[last]:
        last += 1
        while (
            last < window[1]
            and not signal.is_first[last]
            and signal.type_of_label[values[last - 1]] >= 0
            and not signal.ends[values[last - 1], values[last]]
        ):
            last += 1
    old_right, old_predicted = _count_spans(signal, values, truth, first, last, site, values[site])
    new_right, new_predicted = _count_spans(signal, values, truth, first, last, site, value)
    return new_right - old_right, new_predicted - old_predicted


@compiled(inline=True)
def _gain_spans(signal, values, truth, window, site, value):
    if truth[site] < 0:
        return 0.0
    right, predicted = _change_of_spans(signal, values, truth, window, site, value)
    return signal.scale * (_f1(signal.counts, right, predicted) - _f1(signal.counts, 0, 0))


@compiled(inline=True)
def _record_spans(signal, values, truth, window, site, value):
    right, predicted = _change_of_spans(signal, values, truth, window, site, value)
    signal.counts[0] += right
    signal.counts[1] += predicted


# --- users' own


@compiled(inline=True)
def _gain_user(signal, values, truth, window, site, value):
    if truth[site] < 0:
        return 0.0
    return signal.function(values, truth, site, np.int64(value), window[0], window[1])


@compiled(inline=True)
def _gain_metric(signal, values, truth, window, site, value):
    if truth[site] < 0:
        return 0.0
    here, there = values[window[0] : window[1]], truth[window[0] : window[1]]
    before = signal.function(here, there)
    kept = values[site]
    values[site] = value
    after = signal.function(here, there)
    values[site] = kept
    return after - before


@compiled(inline=True)
def _begin_nothing(signal, values, truth, window):
    pass


@compiled(inline=True)
def _record_nothing(signal, values, truth, window, site, value):
    pass


_SIGNALS: dict[type, tuple[Any, Any, Any]] = {
    Hamming: (_begin_nothing, _gain_hamming, _record_nothing),
    TokenF1: (_begin_tokens, _gain_tokens, _record_tokens),
    SpanF1: (_begin_spans, _gain_spans, _record_spans),
    UserDifference: (_begin_nothing, _gain_user, _record_nothing),
    UserMetric: (_begin_nothing, _gain_metric, _record_nothing),
}


@overload(begin, jit_options=INLINE)
def _begin(signal, values, truth, window):
    f = _SIGNALS[signal.instance_class][0]
    return lambda signal, values, truth, window: f(signal, values, truth, window)


@overload(gain, jit_options=INLINE)
def _gain(signal, values, truth, window, site, value):
    f = _SIGNALS[signal.instance_class][1]
    return lambda signal, values, truth, window, site, value: f(signal, values, truth, window, site, value)


@overload(record, jit_options=INLINE)
def _record(signal, values, truth, window, site, value):
    f = _SIGNALS[signal.instance_class][2]
    return lambda signal, values, truth, window, site, value: f(signal, values, truth, window, site, value)
