import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from walkstep.data.tagging_schemes import (
    allowed_transitions,
    convert,
    detect_scheme,
    span_bounds,
    split_tag,
    to_bio,
)

SCHEMES = ["iob1", "bio", "bilou"]
TAGS = {
    "iob1": ["O", "B-X", "I-X", "B-Y", "I-Y"],
    "bio": ["O", "B-X", "I-X", "B-Y", "I-Y"],
    "bilou": ["O", *(f"{p}-{k}" for p in "BILU" for k in "XY")],
}
# Pieces from which any legal tagging is built: what lies outside, and spans of a length and a type.
PIECES = st.lists(st.none() | st.tuples(st.integers(1, 4), st.sampled_from("XY")), max_size=8)
CORPORA = st.lists(PIECES, max_size=5)


def write(pieces, scheme):
    """The slow twin of convert: spell spans out one by one."""
    tags, previous = [], None
    for piece in pieces:
        if piece is None:
            tags.append("O")
        else:
            length, kind = piece
            places = ["I"] * length
            if scheme == "bio" or (scheme == "iob1" and previous is not None and previous[1] == kind):
                places[0] = "B"
            if scheme == "bilou":
                places = ["U"] if length == 1 else ["B", *["I"] * (length - 2), "L"]
            tags += [f"{place}-{kind}" for place in places]
        previous = piece
    return tags


def flat(corpus, scheme):
    sentences = [write(pieces, scheme) for pieces in corpus]
    ptr = np.concatenate([[0], np.cumsum([len(tags) for tags in sentences])]).astype(np.int64)
    return [tag for tags in sentences for tag in tags], ptr


@settings(deadline=None)
@given(CORPORA, st.sampled_from(SCHEMES), st.sampled_from(SCHEMES))
def test_legal_tags_convert_between_all_schemes(corpus, source, target):
    tags, ptr = flat(corpus, source)
    assert convert(tags, ptr, source, target) == flat(corpus, target)[0]


@settings(deadline=None)
@given(CORPORA, st.sampled_from(SCHEMES))
def test_spans_are_the_ones_that_were_written(corpus, scheme):
    tags, ptr = flat(corpus, scheme)
    bounds = span_bounds(tags, ptr)
    pieces = [piece for sentence in corpus for piece in sentence if piece is not None]
    assert [stop - start for start, stop in zip(bounds.start, bounds.stop, strict=True)] == [n for n, _ in pieces]
    assert [bounds.types[k] for k in bounds.type_of_span] == [kind for _, kind in pieces]


@settings(deadline=None)
@given(st.lists(st.sampled_from([*TAGS["bilou"], None]), max_size=20), st.sampled_from(SCHEMES))
def test_converting_keeps_every_span_however_illegal_the_tags(tags, target):
    ptr = [0, len(tags) // 2, len(tags)]
    if None in tags:
        converted = convert(tags, ptr, "bilou", target)
        assert [tag is None for tag in tags] == [tag is None for tag in converted]
    else:
        before, after = span_bounds(tags, ptr), span_bounds(convert(tags, ptr, "bilou", target), ptr)
        for one, other in zip(before, after, strict=True):
            assert list(one) == list(other)


@settings(deadline=None)
@given(
    CORPORA.filter(lambda corpus: any(piece for pieces in corpus for piece in pieces)),
    st.sampled_from(SCHEMES),
)
def test_the_scheme_of_legal_tags_is_detected(corpus, scheme):
    tags, ptr = flat(corpus, scheme)
    assert detect_scheme(tags, ptr) == scheme


def test_few_errors_do_not_change_the_detected_scheme():
    tags = ["B-X", "I-X", "O", "B-Y", "O", "I-X", "O", "B-X"]
    assert detect_scheme(tags) == "bio"


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        ([], "bio"),
        (["O", None], "bio"),
        (["NN", "O"], "raw"),
        (["-X-"], "raw"),
        (["S-X", "O"], "bilou"),
        (["B-X", "E-X"], "bilou"),
        (["B", "I", "O"], "bio"),
        ([None, "I-X"], "bio"),
    ],
)
def test_odd_cases_have_a_scheme(tags, scheme):
    assert detect_scheme(tags) == scheme


def test_iobes_is_read_as_bilou():
    assert to_bio(["B-X", "I-X", "E-X", "S-X"], [0, 4]) == ["B-X", "I-X", "I-X", "B-X"]


def test_tags_without_types_convert():
    assert convert(["B", "I", "O", "B"], [0, 4], "bio", "bilou") == ["B", "L", "O", "U"]


def test_a_sentence_end_ends_a_span():
    assert to_bio(["I-X", "I-X"], [0, 1, 2]) == ["B-X", "B-X"]


def test_spans_beside_unknown_tags_stay_open():
    assert to_bio(["B-X", None, "I-X", "O"], [0, 4], "bio") == ["B-X", None, "I-X", "O"]
    assert to_bio([None, "I-X"], [0, 2], "iob1") == [None, "B-X"]
    assert convert(["B-X", None, "L-X"], [0, 3], "bilou", "bilou") == ["B-X", None, "L-X"]


def test_raw_tags_convert_to_raw_only():
    assert convert(["NN", "DT"], [0, 2], None, "raw") == ["NN", "DT"]
    with pytest.raises(ValueError, match="from 'raw' to 'bio': raw tags mark no spans"):
        to_bio(["NN"], [0, 1])


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="tag 'L-X' is not of the scheme 'bio'"):
        convert(["L-X"], [0, 1], "bio", "bilou")
    with pytest.raises(ValueError, match="target is 'bioes'; give one of iob1"):
        convert(["O"], [0, 1], "bio", "bioes")
    with pytest.raises(ValueError, match="sentence_ptr does not cut 2 tags"):
        to_bio(["O", "O"], [0, 1])
    with pytest.raises(ValueError, match="tag 'NN' is not of the scheme 'bio'"):
        allowed_transitions(["NN"], "bio")


def test_tags_are_split_at_the_first_hyphen():
    assert split_tag("B-a-b") == ("B", "a-b")
    assert split_tag("BX") == ("", "BX")
    assert split_tag("O") == ("O", "")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_allowed_transitions_admit_exactly_the_legal_taggings(scheme):
    labels = TAGS[scheme]
    start, transition, end = allowed_transitions(labels, scheme)
    for length in (1, 2, 3):
        for path in itertools.product(range(len(labels)), repeat=length):
            tags = [labels[k] for k in path]
            admitted = start[path[0]] and end[path[-1]]
            admitted = admitted and all(transition[a, b] for a, b in itertools.pairwise(path))
            # A legal tagging is one that reading and writing again does not change.
            assert admitted == (convert(tags, [0, length], scheme, scheme) == tags), tags


def test_raw_labels_allow_everything():
    assert all(part.all() for part in allowed_transitions(["NN", "O", "I-X"], "raw"))


def test_large_corpora_convert_fast():
    tags = ["B-PER", "I-PER", "O", "O", "B-LOC", "O"] * 50_000
    ptr = np.arange(0, len(tags) + 1, 12)
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        convert(tags, ptr, None, "bilou")
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 1.0  # about 0.1 s on an idle core; the rest is for busy machines
