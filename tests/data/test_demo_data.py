from collections import defaultdict

import numpy as np
import pytest

from walkstep.data.demo import generate_news, generate_rows
from walkstep.data.tagging_schemes import detect_scheme, to_bio


def test_the_same_seed_gives_the_same_news():
    once, again, other = generate_news(50, 1), generate_news(50, 1), generate_news(50, 2)
    assert (once.tokens, once.tags) == (again.tokens, again.tags)
    assert once.tokens != other.tokens


def test_a_shorter_corpus_begins_a_longer_one():
    short, long = generate_news(37, 5), generate_news(90, 5)
    assert long.tokens[: short.n_tokens] == short.tokens
    assert short.n_sentences == 37


def test_news_is_tagged_in_legal_bio():
    news = generate_news(300, 0)
    assert detect_scheme(news.tags, news.sentence_ptr) == "bio"
    assert to_bio(news.tags, news.sentence_ptr) == news.tags
    assert 1 < news.n_documents < news.n_sentences


def test_many_names_are_of_several_types():
    types = defaultdict(set)
    news = generate_news(1000, 0)
    for word, tag in zip(news.tokens, news.tags, strict=True):
        if tag.startswith("B-"):
            types[word].add(tag)
    assert sum(len(found) > 1 for found in types.values()) > 30


def test_other_seeds_bring_names_never_seen_and_words_seen():
    known = set(generate_news(1000, 0).tokens)
    news = generate_news(300, 1)
    unseen = [word not in known for word in news.tokens]
    assert 0.01 < np.mean(unseen) < 0.2


def test_names_recur_within_documents():
    news = generate_news(400, 0)
    recurring = 0
    for a, b in zip(news.document_ptr[:-1], news.document_ptr[1:], strict=True):
        first, last = news.sentence_ptr[a], news.sentence_ptr[b]
        names = [w for w, t in zip(news.tokens[first:last], news.tags[first:last], strict=True) if t != "O"]
        recurring += len(set(names)) < len(names)
    assert recurring > 0.7 * news.n_documents


def test_rows_have_correlated_labels_beyond_their_features():
    rows = generate_rows(3000, 5, seed=0)
    design = np.column_stack([rows.X, np.ones(3000)])
    residual = rows.Y - design @ np.linalg.lstsq(design, rows.Y, rcond=None)[0]
    correlation = np.corrcoef(residual.T)[np.triu_indices(5, 1)]
    assert np.abs(correlation).max() > 0.2
    assert rows.Y.mean(axis=0).min() > 0.1
    assert rows.Y.mean(axis=0).max() < 0.55


def test_the_same_seed_gives_the_same_rows():
    np.testing.assert_array_equal(generate_rows(20, 3, 4).Y, generate_rows(20, 3, 4).Y)


def test_sizes_below_one_are_named():
    with pytest.raises(ValueError, match="n_sentences is 0"):
        generate_news(0)
    with pytest.raises(ValueError, match="n_labels is 0"):
        generate_rows(5, 0)
