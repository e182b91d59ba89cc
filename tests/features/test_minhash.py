from collections.abc import Sequence
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from walkstep.features.block_keys import Values
from walkstep.features.minhash import MinHash


def keys_of(texts: Sequence[str | None], rule: MinHash) -> list[list[int]]:
    keys, _ = rule.build(Values(pl.DataFrame({"a": texts}, schema={"a": pl.String})))
    return [keys.key[keys.record == i].tolist() for i in range(len(texts))]


def similarity(left: set, right: set) -> float:
    return len(left & right) / len(left | right)


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6), min_size=2, max_size=8))
def test_the_same_words_in_any_order_give_the_same_keys_and_no_common_word_none(texts):
    found = keys_of([" ".join(words) for words in texts], MinHash("a", bands=6, rows=2, tokens="words"))
    for i, j in combinations(range(len(texts)), 2):
        if set(texts[i]) == set(texts[j]):
            assert found[i] == found[j]
        if not set(texts[i]) & set(texts[j]):
            assert not set(found[i]) & set(found[j])


@pytest.mark.parametrize("tokens", ["words", "trigrams"])
def test_keys_agree_as_often_as_the_similarity_says(tokens):
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abcd"), 12)) for _ in range(60)]
    if tokens == "words":
        texts = [" ".join(text) for text in texts]
        shingles = [set(text.split()) for text in texts]
    else:
        shingles = [{text[k : k + 3] for k in range(len(text) - 2)} for text in texts]
    n_bands = 400
    found = keys_of(texts, MinHash("a", bands=n_bands, rows=1, tokens=tokens))
    for i, j in combinations(range(60), 2):
        expected = similarity(shingles[i], shingles[j])
        agreeing = np.mean([a == b for a, b in zip(found[i], found[j], strict=True)])
        # Some 1770 pairs are looked at, so the widest may lie a little over four standard errors out.
        assert agreeing == pytest.approx(expected, abs=5.5 * np.sqrt(0.25 / n_bands))


def test_bands_and_rows_follow_the_formula():
    rng = np.random.default_rng(1)
    n_bands, n_rows = 4, 2
    texts, expected = [], []
    for pair in range(600):
        words = [f"w{pair}x{k}" for k in range(12)]
        n_shared = int(rng.integers(0, 7))
        texts += [" ".join(words[:6]), " ".join(words[6 - n_shared : 12 - n_shared])]
        s = n_shared / (12 - n_shared)
        expected.append(1 - (1 - s**n_rows) ** n_bands)
    found = keys_of(texts, MinHash("a", bands=n_bands, rows=n_rows, tokens="words"))
    share = np.mean([bool(set(a) & set(b)) for a, b in zip(found[::2], found[1::2], strict=True)])
    assert share == pytest.approx(np.mean(expected), abs=5 * np.sqrt(0.25 / 600))


def test_short_texts_have_keys_and_missing_ones_have_none():
    found = keys_of(["a", "A!", "ab", None, "?"], MinHash("a", bands=3, rows=1))
    assert [len(keys) for keys in found] == [3, 3, 3, 0, 0]
    assert found[0] == found[1] != found[2]


def test_every_band_hashes_differently():
    (found,) = keys_of(["a"], MinHash("a", bands=50, rows=1))
    assert len(set(found)) == 50


@pytest.mark.parametrize(("options", "said"), [({"bands": 0}, "bands=0"), ({"tokens": "letters"}, "'letters'")])
def test_what_is_wrong_with_a_minhash_is_named(options, said):
    with pytest.raises(ValueError, match=said):
        MinHash("a", **options)
