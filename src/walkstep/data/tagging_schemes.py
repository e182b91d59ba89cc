"""How tags write down spans: IOB1, BIO and BILOU, told apart, converted, and enforced."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

Scheme = Literal["iob1", "bio", "bilou", "raw"]
Tags = Sequence[str | None]

# Marks of a token's place in its span. A bare type ("NN") is ALONE: a span of one token, and no scheme.
_UNKNOWN, _OUTSIDE, _BEGIN, _INSIDE, _LAST, _UNIT, _ALONE = range(7)
_MARK_OF_PREFIX = {"B": _BEGIN, "I": _INSIDE, "L": _LAST, "U": _UNIT, "E": _LAST, "S": _UNIT}
_MARKS_OF_SCHEME = {
    "iob1": {_OUTSIDE, _BEGIN, _INSIDE},
    "bio": {_OUTSIDE, _BEGIN, _INSIDE},
    "bilou": {_OUTSIDE, _BEGIN, _INSIDE, _LAST, _UNIT},
}
_WRITTEN = ("B", "I", "L", "U")


class SpanBounds(NamedTuple):
    """All spans of a tagging, as arrays; span ``i`` is tokens ``start[i]:stop[i]`` of one sentence."""

    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    type_of_span: NDArray[np.int64]  # positions in `types`
    types: tuple[str, ...]


class _Coded(NamedTuple):
    """Tags as integers: each token's mark and type."""

    mark: NDArray[np.int64]
    type_of_token: NDArray[np.int64]  # -1 for tokens outside and unknown ones
    types: tuple[str, ...]


def split_tag(tag: str) -> tuple[str, str]:
    """A tag's prefix and its type: ``"B-PER"`` gives ``("B", "PER")``, ``"O"`` gives ``("O", "")``.

    The prefixes are B, I, L, U, and E and S, which other writers use for L and U; a tag with none of them
    has the prefix ``""`` and is itself the type.

    Examples
    --------
    >>> split_tag("I-work-of-art"), split_tag("NN")
    (('I', 'work-of-art'), ('', 'NN'))
    """
    if tag == "O":
        return "O", ""
    prefix, hyphen, kind = tag.partition("-")
    if prefix in _MARK_OF_PREFIX and (hyphen or not kind):
        return prefix, kind
    return "", tag


def detect_scheme(tags: Tags, sentence_ptr: ArrayLike | None = None) -> Scheme:
    """Which scheme a corpus is tagged in.

    A tag that is neither ``O`` nor a prefix and a type makes it ``"raw"`` (as parts of speech are). L or U
    (E or S) make it ``"bilou"``. Else it is ``"iob1"`` if more spans begin with I than with a B that
    stands elsewhere than between two spans of one type, and ``"bio"`` if not.

    Parameters
    ----------
    tags : sequence of str or None, one a token
        The tags of all sentences; ``None`` where unknown.
    sentence_ptr : int array (n_sentences + 1,), optional
        Where sentences begin; without it, all tokens are taken as one sentence.

    Examples
    --------
    >>> detect_scheme(["I-PER", "I-PER", "O"]), detect_scheme(["B-PER", "I-PER", "O"])
    ('iob1', 'bio')
    >>> detect_scheme(["B-PER", "L-PER", "O"]), detect_scheme(["DT", "NN"])
    ('bilou', 'raw')
    """
    coded = _code(tags)
    marks = set(np.unique(coded.mark).tolist())
    if _ALONE in marks:
        return "raw"
    if marks & {_LAST, _UNIT}:
        return "bilou"
    first = _first_of_sentence(len(tags), sentence_ptr)
    mark, kind = coded.mark, coded.type_of_token
    previous_mark = np.where(first, _OUTSIDE, np.roll(mark, 1))
    previous_kind = np.where(first, -1, np.roll(kind, 1))
    # Next to an unknown token nothing can be said.
    opens = (previous_mark != _UNKNOWN) & (previous_kind != kind)
    return "iob1" if np.sum(opens & (mark == _INSIDE)) > np.sum(opens & (mark == _BEGIN)) else "bio"


def to_bio(tags: Tags, sentence_ptr: ArrayLike, source: Scheme | None = None) -> list[str | None]:
    """Write tags of any scheme as BIO: every span begins with B. See `convert`.

    Examples
    --------
    >>> to_bio(["I-PER", "I-PER", "B-PER", "O", "I-LOC"], [0, 4, 5])
    ['B-PER', 'I-PER', 'B-PER', 'O', 'B-LOC']
    """
    return convert(tags, sentence_ptr, source, "bio")


def convert(tags: Tags, sentence_ptr: ArrayLike, source: Scheme | None, target: Scheme) -> list[str | None]:
    """Write tags of one scheme in another.

    Sequences that break their scheme are read as the conlleval script reads them: an I that nothing of its
    type precedes begins a span. Unknown tags (``None``) stay unknown; a span marked as continuing from or
    into an unknown token (I after it in BIO, say) is left open there.

    Parameters
    ----------
    tags : sequence of str or None, one a token
        The tags of all sentences.
    sentence_ptr : int array (n_sentences + 1,)
        Sentence ``s`` holds tokens ``sentence_ptr[s]:sentence_ptr[s + 1]``.
    source : {"iob1", "bio", "bilou", "raw"} or None
        The scheme of ``tags``; found by `detect_scheme` if ``None``.
    target : {"iob1", "bio", "bilou", "raw"}
        The scheme of the result. Only raw tags can be written as raw, unchanged.

    Examples
    --------
    >>> convert(["B-PER", "I-PER", "O", "B-LOC"], [0, 4], "bio", "bilou")
    ['B-PER', 'L-PER', 'O', 'U-LOC']
    >>> convert(["B-PER", "L-PER", "U-PER"], [0, 3], "bilou", "iob1")
    ['I-PER', 'I-PER', 'B-PER']
    """
    if source is None:
        source = detect_scheme(tags, sentence_ptr)
    _check_scheme("source", source)
    _check_scheme("target", target)
    first = _first_of_sentence(len(tags), sentence_ptr)
    if "raw" in (source, target):
        if source != target:
            raise ValueError(
                f"tags cannot be converted from {source!r} to {target!r}: raw tags mark no spans; "
                "convert between iob1, bio and bilou"
            )
        return list(tags)
    _check_tags(dict.fromkeys(tag for tag in tags if tag is not None), source)
    coded = _code(tags)
    mark, kind = coded.mark, coded.type_of_token
    in_span = kind >= 0
    previous_unknown = ~first & (np.roll(mark, 1) == _UNKNOWN)
    last = np.roll(first, -1)
    next_unknown = ~last & (np.roll(mark, -1) == _UNKNOWN)
    begins = _begins(coded, first)
    if source != "iob1":
        begins &= ~(previous_unknown & ((mark == _INSIDE) | (mark == _LAST)))
    ends = in_span & (last | np.roll(begins, -1) | np.roll(~in_span, -1))
    if source == "bilou":
        ends &= ~(next_unknown & ((mark == _BEGIN) | (mark == _INSIDE)))

    if target == "bilou":
        place = np.where(begins, np.where(ends, 3, 0), np.where(ends, 2, 1))
    elif target == "bio":
        place = np.where(begins, 0, 1)
    else:
        touches = begins & ~first & (np.roll(kind, 1) == kind)
        place = np.where(touches, 0, 1)
    # One table of all tags that can be written, and one look-up for all tokens.
    written: list[str | None] = [_join(prefix, kind) for kind in coded.types for prefix in _WRITTEN]
    table = np.array([*written, "O", None], dtype=object)
    code = np.where(in_span, len(_WRITTEN) * kind + place, len(written))
    code[mark == _UNKNOWN] = len(written) + 1
    return table[code].tolist()


def span_bounds(tags: Tags, sentence_ptr: ArrayLike) -> SpanBounds:
    """All spans of a tagging in any scheme, read as the conlleval script reads them.

    A token inside a span begins a new one if its mark is B or U, if the token before it is outside, is of
    another type or ends a span (L, U), or if it is the first of its sentence. A tag without a
    prefix (a part of speech) is a span of one token. Unknown tags (``None``) are outside.

    Parameters
    ----------
    tags : sequence of str or None, one a token
        The tags of all sentences.
    sentence_ptr : int array (n_sentences + 1,)
        Sentence ``s`` holds tokens ``sentence_ptr[s]:sentence_ptr[s + 1]``.

    Examples
    --------
    >>> bounds = span_bounds(["B-PER", "I-PER", "O", "I-LOC"], [0, 4])
    >>> bounds.start.tolist(), bounds.stop.tolist(), bounds.type_of_span.tolist(), bounds.types
    ([0, 3], [2, 4], [1, 0], ('LOC', 'PER'))
    """
    first = _first_of_sentence(len(tags), sentence_ptr)
    coded = _code(tags)
    begins = _begins(coded, first)
    start = np.flatnonzero(begins)
    # A span stops where the next begins, or at the next token outside, or with its sentence.
    breaks = np.append(np.flatnonzero(begins | first | (coded.type_of_token < 0)), len(tags))
    stop = breaks[np.searchsorted(breaks, start, side="right")]
    return SpanBounds(start, stop, coded.type_of_token[start], coded.types)


def allowed_transitions(
    labels: Sequence[str], scheme: Scheme
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Which labels a legal tagging may start with, put next to each other, and end with.

    Parameters
    ----------
    labels : sequence of str (n_labels,)
        The labels of a tagger.
    scheme : {"iob1", "bio", "bilou", "raw"}
        The scheme they are written in; ``"raw"`` allows everything.

    Returns
    -------
    start : bool array (n_labels,)
        Whether a sentence may begin with the label.
    transition : bool array (n_labels, n_labels)
        Whether the second label may follow the first.
    end : bool array (n_labels,)
        Whether a sentence may end with the label.

    Examples
    --------
    >>> start, transition, end = allowed_transitions(["O", "B-PER", "I-PER"], "bio")
    >>> start.tolist(), end.tolist()
    ([True, True, False], [True, True, True])
    >>> transition.astype(int).tolist()
    [[1, 1, 0], [1, 1, 1], [1, 1, 1]]
    """
    _check_scheme("scheme", scheme)
    n_labels = len(labels)
    everything = (
        np.ones(n_labels, dtype=bool),
        np.ones((n_labels, n_labels), dtype=bool),
        np.ones(n_labels, dtype=bool),
    )
    if scheme == "raw":
        return everything
    _check_tags(labels, scheme)
    coded = _code(labels)
    mark, kind = coded.mark, coded.type_of_token
    same_span = (kind[:, None] == kind[None, :]) & (kind >= 0)[None, :]
    if scheme == "iob1":
        # B is written only where it parts two spans of one type.
        parts = mark == _BEGIN
        return ~parts, ~parts[None, :] | same_span, everything[2]
    continues = (mark == _INSIDE) | (mark == _LAST)
    if scheme == "bio":
        return ~continues, ~continues[None, :] | same_span, everything[2]
    is_open = (mark == _BEGIN) | (mark == _INSIDE)
    transition = np.where(is_open[:, None], continues[None, :] & same_span, ~continues[None, :])
    return ~continues, transition, ~is_open


def _code(tags: Tags) -> _Coded:
    """Marks and types of tags, looked up once for each distinct tag."""
    distinct = list(dict.fromkeys(tags))
    parts = [("", "") if tag is None else split_tag(tag) for tag in distinct]
    marks = [
        _UNKNOWN if tag is None else _OUTSIDE if prefix == "O" else _MARK_OF_PREFIX.get(prefix, _ALONE)
        for tag, (prefix, _) in zip(distinct, parts, strict=True)
    ]
    types = sorted({kind for mark, (_, kind) in zip(marks, parts, strict=True) if mark > _OUTSIDE})
    position = {kind: i for i, kind in enumerate(types)}
    kinds = [position[kind] if mark > _OUTSIDE else -1 for mark, (_, kind) in zip(marks, parts, strict=True)]
    index = {tag: i for i, tag in enumerate(distinct)}
    code = np.fromiter(map(index.__getitem__, tags), dtype=np.int64, count=len(tags))
    return _Coded(np.array(marks, dtype=np.int64)[code], np.array(kinds, dtype=np.int64)[code], tuple(types))


def _begins(coded: _Coded, first: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which tokens begin a span."""
    mark, kind = coded.mark, coded.type_of_token
    previous = np.roll(mark, 1)
    new = first | (np.roll(kind, 1) != kind) | (previous >= _LAST) | (mark == _BEGIN) | (mark >= _UNIT)
    return (kind >= 0) & new


def _first_of_sentence(n_tokens: int, sentence_ptr: ArrayLike | None) -> NDArray[np.bool_]:
    """Which tokens are the first of their sentence, after a check of ``sentence_ptr``."""
    ptr = np.array([0, n_tokens]) if sentence_ptr is None else np.asarray(sentence_ptr, dtype=np.int64)
    if ptr.ndim != 1 or len(ptr) == 0 or ptr[0] != 0 or ptr[-1] != n_tokens or (np.diff(ptr) < 0).any():
        raise ValueError(
            f"sentence_ptr does not cut {n_tokens} tags into sentences: it must rise from 0 to {n_tokens}, "
            f"and is {np.array2string(ptr, threshold=6)}"
        )
    first = np.zeros(n_tokens + 1, dtype=bool)
    first[ptr] = True
    return first[:-1]


def _check_scheme(name: str, scheme: str) -> None:
    """An error for the name of a scheme that does not exist."""
    if scheme not in get_args(Scheme):
        raise ValueError(f"{name} is {scheme!r}; give one of {', '.join(get_args(Scheme))}")


def _check_tags(distinct: Iterable[str], scheme: str) -> None:
    """An error that names the first tag which cannot be of a scheme."""
    for tag in distinct:
        prefix = split_tag(tag)[0]
        mark = _OUTSIDE if prefix == "O" else _MARK_OF_PREFIX.get(prefix, _ALONE)
        if mark not in _MARKS_OF_SCHEME[scheme]:
            raise ValueError(
                f"tag {tag!r} is not of the scheme {scheme!r}; detect_scheme() tells which scheme tags are in"
            )


def _join(prefix: str, kind: str) -> str:
    """A tag from its parts."""
    return f"{prefix}-{kind}" if kind else prefix
