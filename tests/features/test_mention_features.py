import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from walkstep.data.mentions import MentionDocuments
from walkstep.features.comparators import categories, exact
from walkstep.features.comparisons import compare_pairs
from walkstep.features.mention_features import (
    CONJUNCTIONS,
    DISTINCT_COLUMNS,
    KINDS,
    MentionFeatures,
    mention_comparators,
    mention_frame,
)

WORDS = ["Ada", "Quill", "the", "mayor", "she", "it", ",", "is", '"', "I", "roads", "."]


def document(text, spans, types=None):
    """One sentence with mentions at spans of words."""
    mentions = [{"sentence": 0, "start": a, "end": b} for a, b in spans]
    for mention, entity_type in zip(mentions, types or [None] * len(spans), strict=True):
        if entity_type is not None:
            mention["entity_type"] = entity_type
    return {"sentences": [text.split()], "mentions": mentions}


def levels_of(documents, i=0, j=1):
    """The level names of one pair, by comparator."""
    features = MentionFeatures.fit(documents)
    row = compare_pairs(features.encode(documents).comparisons, [i], [j])[0]
    return {c.name: c.level_names()[k] for c, k in zip(features.comparators, row, strict=True)}


def gathered(*documents):
    return MentionDocuments.from_dicts(documents)


def test_kinds_tell_names_nouns_and_pronouns_apart():
    corpus = gathered(
        document("then Ada saw the mayor , who gave her a road", [(1, 2), (3, 5), (6, 7), (8, 9), (9, 11)])
    )
    assert mention_frame(corpus)["kind"].to_list() == ["proper", "definite", "who", "she", "indefinite"]
    assert len(KINDS) == 15


def test_a_name_and_its_repetition_share_words_and_head():
    levels = levels_of(gathered(document("Ada Quill met Mayor Quill", [(0, 2), (3, 5)])))
    assert levels["same head"] == "equal"
    assert levels["same words"] == "different"
    assert levels["words contained"] == "0.5 to 0.8"
    assert levels["mention types"] == "proper, proper"
    assert levels["which has modifiers"] == "both present"


def test_words_of_pronouns_are_not_compared_but_their_forms_are():
    levels = levels_of(gathered(document("she saw her and she ran", [(0, 1), (4, 5)])))
    assert levels["same words"] == levels["tf-idf"] == "missing"
    assert levels["same pronoun"] == "equal"
    assert levels["kinds"] == "she, she"


def test_pairs_are_ordered_by_appearance():
    levels = levels_of(gathered(document("so Ada knew that she won", [(1, 2), (4, 5)])))
    assert levels["mention types"] == "proper, pronoun"
    assert levels["mentions between"] == "-1 or more"


def test_a_comma_makes_an_apposition_of_the_longest_mentions_alone():
    corpus = gathered(document("Ada , the mayor of roads , left", [(0, 1), (2, 6), (5, 6)]))
    assert levels_of(corpus, 0, 1)["apposition"] == "1e-06 or more"
    assert levels_of(corpus, 1, 2)["apposition"] != "1e-06 or more"
    assert levels_of(corpus, 1, 2)["nested"] == "1e-06 to 0.5"
    assert levels_of(corpus, 0, 1)["nested"] == "below 1e-06"


def test_a_form_of_being_makes_a_copula():
    assert levels_of(gathered(document("Ada is the mayor", [(0, 1), (2, 4)])))["copula"] == "1e-06 or more"
    assert levels_of(gathered(document("Ada was never the mayor", [(0, 1), (3, 5)])))["copula"] == "missing"


def test_quotations_are_voices_of_their_own():
    corpus = gathered(document('" I know " , she said . " I do " ', [(1, 2), (5, 6), (9, 10)]))
    assert mention_frame(corpus)["quotation"].to_list() == [0.0, None, 1.0]
    assert levels_of(corpus, 0, 2)["same voice"] == "different"
    assert levels_of(corpus, 0, 2)["quotations between"] == "-1 to 0"
    assert levels_of(corpus, 0, 1)["quotations between"] == "missing"


def test_who_stands_beside_a_verb_of_speaking_speaks_the_quotation():
    corpus = gathered(document('" I know " , Ada said to Otto . " I do " ', [(1, 2), (5, 6), (8, 9), (11, 12)]))
    assert mention_frame(corpus)["speech"].to_list() == [["0 0"], ["0 0", "0 1"], [], ["0 1"]]
    assert levels_of(corpus, 0, 1)["speaks"] == levels_of(corpus, 1, 3)["speaks"] == "1e-06 or more"
    assert levels_of(corpus, 0, 2)["speaks"] == "missing"


def test_those_who_might_be_meant_instead_are_counted():
    corpus = gathered(
        document("so Mary met John and Emma , and she left", [(1, 2), (3, 4), (5, 6), (8, 9)], ["PER"] * 4)
    )
    assert levels_of(corpus, 2, 3)["of that type between"] == "-1 or more"
    assert levels_of(corpus, 0, 3)["of that type between"] == "-3 to -2"
    assert levels_of(corpus, 0, 3)["women between"] == "-2 to -1"
    assert levels_of(corpus, 0, 3)["men between"] == "-1 or more"


def test_cases_tell_a_subject_from_a_reflexive():
    levels = levels_of(gathered(document("he saw himself", [(0, 1), (2, 3)])))
    assert levels["cases"] == "subject, reflexive"


def test_roles_are_guessed_where_nothing_is_parsed():
    text = "Ada gave the mayor of Rome a map with Otto 's help"
    corpus = gathered(document(text, [(0, 1), (2, 4), (5, 6), (9, 10)]))
    assert mention_frame(corpus)["role"].to_list() == ["nsubj", "obj", "nmod", "nmod:poss"]


def test_entity_types_that_were_never_seen_are_missing():
    features = MentionFeatures.fit(gathered(document("Ada left", [(0, 1)], ["PER"])))
    new = gathered(document("Ada met Quill", [(0, 1), (2, 3)], ["PER", "SHIP"]))
    row = compare_pairs(features.encode(new).comparisons, [0], [1])[0]
    by_name = dict(zip(features.n_levels, row.tolist(), strict=True))
    assert by_name["entity types"] == 0
    assert by_name["same type"] == 1


def test_only_the_commonest_types_are_told_apart():
    names = [f"T{k:02}" for k in range(20)]
    text = " ".join(["Ada"] * 40)
    corpus = gathered(document(text, [(k, k + 1) for k in range(40)], names + names[:15] + names[:5]))
    features = MentionFeatures.fit(corpus)
    assert next(c for c in features.comparators if c.name == "entity types").categories == tuple(names[:15])


def test_own_comparators_take_the_place_of_the_usual_ones():
    corpus = gathered(document("then Ada met Quill", [(1, 2), (3, 4)]))
    features = MentionFeatures.fit(corpus, [exact("head"), categories("mention_type")])
    assert features.n_levels == {"exact(head)": 3, "categories(mention_type)": 2}


def test_conjunctions_and_columns_name_what_there_is():
    names = {c.name for c in mention_comparators()}
    assert all(name in names for joined in CONJUNCTIONS for name in joined)
    assert set(DISTINCT_COLUMNS) <= set(mention_frame(gathered(document("Ada", [(0, 1)]))).columns)


@st.composite
def corpora(draw):
    """Documents of one sentence with random mentions."""
    made = []
    for _ in range(draw(st.integers(2, 3))):
        words = draw(st.lists(st.sampled_from(WORDS), min_size=4, max_size=12))
        spans = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), min_size=2, max_size=5, unique=True))
        spans = sorted({(a, min(a + n, len(words))) for a, n in spans})
        types = draw(st.lists(st.sampled_from(["PER", "LOC"]), min_size=len(spans), max_size=len(spans)))
        made.append(document(" ".join(words), spans, types))
    return MentionDocuments.from_dicts(made)


@settings(deadline=None, max_examples=25)
@given(corpora())
def test_what_becomes_of_a_document_does_not_depend_on_the_others(corpus):
    features = MentionFeatures.fit(corpus)
    together = features.encode(corpus)
    for d in range(len(corpus)):
        alone, part = features.encode(corpus.select([d])), together.document(d)
        n = int(alone.document_ptr[-1])
        left, right = np.triu_indices(n, 1)
        np.testing.assert_array_equal(
            compare_pairs(alone.comparisons, left, right), compare_pairs(part.comparisons, left, right)
        )
        for name in DISTINCT_COLUMNS:
            np.testing.assert_array_equal(alone.columns[name], part.columns[name])


@pytest.mark.parametrize("name", DISTINCT_COLUMNS)
def test_columns_are_numbered_from_zero(name):
    corpus = gathered(document("Ada met the mayor and her", [(0, 1), (2, 4), (5, 6)], ["PER", "PER", "PER"]))
    values = MentionFeatures.fit(corpus).encode(corpus).columns[name]
    known = np.unique(values[values >= 0])
    assert known.tolist() == list(range(len(known)))
