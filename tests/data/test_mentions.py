import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from walkstep.data.mentions import DETERMINERS, GENDERS, MENTION_TYPES, NUMBERS, MentionDocuments


def mention(sentence, start, end, **more):
    return {"sentence": sentence, "start": start, "end": end, **more}


LETTER = {
    "name": "letter",
    "genre": "fiction",
    "sentences": [
        ["Mrs.", "Quill", "met", "the", "old", "king", "of", "Spain", "."],
        ["She", "told", "him", "that", "these", "roads", "were", "a", "danger", "."],
    ],
    "mentions": [
        mention(1, 0, 1, entity="q"),
        mention(0, 3, 8, entity="k", entity_type="person"),
        mention(0, 0, 2, entity="q", entity_type="person"),
        mention(0, 7, 8, entity="s", entity_type="place"),
        mention(1, 2, 3, entity="k"),
        mention(1, 4, 6),
        mention(1, 7, 9, mention_type="common"),
    ],
}
NOTE = {
    "sentences": [["Otto", "left"], ["He", "ran"]],
    "pos": [["NNP", "VBD"], ["PRP", "VBD"]],
    "lemma": [["Otto", "leave"], ["he", "run"]],
    "speaker": [["Ada", "Ada"], ["", ""]],
    "mentions": [mention(0, 0, 1, entity="q"), mention(1, 0, 1, entity="q")],
}


@pytest.fixture
def documents():
    return MentionDocuments.from_dicts([LETTER, NOTE])


def test_mentions_stand_in_order_of_appearance(documents):
    assert documents.text == [
        "Mrs. Quill",
        "the old king of Spain",
        "Spain",
        "She",
        "him",
        "these roads",
        "a danger",
        "Otto",
        "He",
    ]
    assert documents.document_ptr.tolist() == [0, 7, 9]
    assert documents.sentence.tolist() == [0, 0, 0, 1, 1, 1, 1, 0, 1]
    assert documents.position.tolist() == [0, 3, 7, 0, 2, 4, 7, 0, 0]
    assert documents.document_of_mention.tolist() == [0] * 7 + [1] * 2


def test_properties_are_worked_out_from_the_words(documents):
    assert documents.head_text == ["Quill", "king", "Spain", "She", "him", "roads", "danger", "Otto", "He"]
    kinds = [MENTION_TYPES[k] for k in documents.mention_type]
    assert kinds == ["proper", "common", "proper", "pronoun", "pronoun", "common", "common", "proper", "pronoun"]
    genders = [GENDERS[g] for g in documents.gender]
    assert genders[:5] == ["feminine", "masculine", "neuter", "feminine", "masculine"]
    assert [NUMBERS[n] for n in documents.number] == ["singular"] * 5 + ["plural"] + ["singular"] * 3
    assert [DETERMINERS[d] for d in documents.determiner[[1, 5, 6, 7]]] == [
        "definite",
        "demonstrative",
        "indefinite",
        "none",
    ]


def test_entities_are_numbered_over_all_documents(documents):
    assert documents.entity.tolist() == [0, 1, 2, 0, 1, -1, -1, 3, 3]
    assert documents.n_entities == 4


def test_what_only_some_documents_know_is_empty_in_the_others(documents):
    assert documents.columns["pos"] == [""] * 19 + ["NNP", "VBD", "PRP", "VBD"]
    assert documents.speaker == [""] * 7 + ["Ada", ""]
    assert documents.head_lemma[-2:] == ["otto", "he"]
    assert documents.genres == ["fiction", ""]
    assert documents.names == ["letter", "1"]


def test_two_mentions_that_begin_together_come_longer_first():
    made = MentionDocuments.from_dicts(
        [{"sentences": [["a", "b", "c"]], "mentions": [mention(0, 0, 1), mention(0, 0, 3), mention(0, 0, 2)]}]
    )
    assert made.text == ["a b c", "a b", "a"]


def test_dependencies_tell_the_head():
    sentence = ["Insights", "from", "Eye", "Tracking"]
    made = MentionDocuments.from_dicts(
        [
            {
                "sentences": [sentence],
                "pos": [["NNS", "IN", "NN", "NN"]],
                "heads": [[-1, 3, 3, 0]],
                "relation": [["root", "case", "compound", "nmod"]],
                "mentions": [mention(0, 0, 4), mention(0, 2, 4), mention(0, 2, 3)],
            }
        ]
    )
    assert made.head_text == ["Insights", "Tracking", "Eye"]
    assert made.head_token.tolist() == [0, 3, 2]


def test_a_given_head_is_kept():
    made = MentionDocuments.from_dicts([{"sentences": [["a", "b"]], "mentions": [mention(0, 0, 2, head=0)]}])
    assert made.head_text == ["a"]


def test_a_document_without_mentions_is_a_document():
    made = MentionDocuments.from_dicts([{"sentences": [["a"]]}, LETTER])
    assert len(made) == 2
    assert made.document_ptr.tolist() == [0, 0, 7]


words = st.lists(st.sampled_from(["Ada", "he", "the", "king", "of", ",", "roads"]), min_size=1, max_size=5)


@st.composite
def written_documents(draw):
    made = []
    for d in range(draw(st.integers(1, 4))):
        sentences = draw(st.lists(words, min_size=1, max_size=3))
        mentions = []
        for _ in range(draw(st.integers(0, 4))):
            s = draw(st.integers(0, len(sentences) - 1))
            start = draw(st.integers(0, len(sentences[s]) - 1))
            mentions.append(
                mention(s, start, draw(st.integers(start + 1, len(sentences[s]))), entity=draw(st.integers(0, 2)))
            )
        made.append({"name": f"d{d}", "sentences": sentences, "mentions": mentions})
    return made


@given(written_documents(), st.data())
def test_selected_documents_are_as_if_they_alone_had_been_given(made, data):
    chosen = data.draw(st.lists(st.integers(0, len(made) - 1), min_size=1, unique=True))
    selected = MentionDocuments.from_dicts(made).select(chosen)
    alone = MentionDocuments.from_dicts([made[d] for d in chosen])
    for name, value in vars(alone).items():
        if name != "entity":
            np.testing.assert_array_equal(getattr(selected, name), value, err_msg=name)
    np.testing.assert_array_equal(
        selected.entity[:, None] == selected.entity[None, :], alone.entity[:, None] == alone.entity[None, :]
    )


@given(written_documents())
def test_offsets_find_the_words_of_every_mention(made):
    documents = MentionDocuments.from_dicts(made)
    for m, d in enumerate(documents.document_of_mention):
        start, end, head = documents.start[m], documents.end[m], documents.head_token[m]
        assert " ".join(documents.tokens[start:end]) == documents.text[m]
        assert start <= head < end
        assert documents.tokens[head] == documents.head_text[m]
        s = documents.document_sentence_ptr[d] + documents.sentence[m]
        assert documents.sentence_ptr[s] + documents.position[m] == start
        assert end <= documents.sentence_ptr[s + 1]


def test_a_split_takes_every_document_once():
    documents = MentionDocuments.from_dicts([NOTE | {"name": f"n{i}"} for i in range(10)])
    train, test = documents.split(0.7, seed=1)
    assert len(train) == 7
    assert sorted(train.names + test.names) == documents.names
    assert documents.split(0.7, seed=1)[0].names == train.names


def test_head_takes_the_first_documents(documents):
    assert documents.head(1).names == ["letter"]
    assert documents.head(5).names == documents.names


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"sentences": ["a b"]}, TypeError, "document 'letter', sentence 0 is 'a b'; give a list of at least one word"),
        ({"sentences": [[]]}, TypeError, r"sentence 0 is \[\]"),
        ({"pos": [["NN"]]}, ValueError, "has 2 sentences but 1 in 'pos'"),
        ({"lemma": [["a"], ["b"]]}, ValueError, "sentence 0 has 9 words but 1 entries in 'lemma'"),
        ({"mentions": [mention(2, 0, 1)]}, ValueError, "mention 0: sentence 2 of 2; count sentences from 0"),
        ({"mentions": [mention(0, 3, 3)]}, ValueError, "words 3:3 of sentence 0, which has 9 word"),
        ({"mentions": [mention(0, 0, 1, head=1)]}, ValueError, "head 1 is not one of its words 0:1"),
        ({"mentions": [mention(0, 0, 1, mention_type="NOM")]}, ValueError, "mention_type 'NOM'; give one of proper"),
        ({"mentions": [{"start": 0, "end": 1}]}, ValueError, "mention 0 has no 'sentence'; give 'sentence'"),
    ],
)
def test_what_does_not_fit_is_named(change, error, message):
    with pytest.raises(error, match=message):
        MentionDocuments.from_dicts([LETTER | change])


def test_documents_without_sentences_and_no_documents_are_refused(documents):
    with pytest.raises(ValueError, match=r"document 'a' has no 'sentences', only \['name'\]"):
        MentionDocuments.from_dicts([{"name": "a"}])
    with pytest.raises(ValueError, match="there are no documents"):
        MentionDocuments.from_dicts([])
    with pytest.raises(ValueError, match="document 2 was selected but there are 2"):
        documents.select([2])
    with pytest.raises(ValueError, match=r"share is 1\.0 of 2 documents"):
        documents.split(1.0)
