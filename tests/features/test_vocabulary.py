import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from walkstep.features.vocabulary import Vocabulary

keys = st.lists(st.one_of(st.integers(0, 30), st.integers(0, 2**64 - 1)), max_size=200)


@settings(deadline=None)
@given(keys, keys, st.integers(1, 3))
def test_a_vocabulary_is_a_dictionary_of_frequent_keys(seen, asked, min_count):
    wanted = {}
    for key in seen:
        if seen.count(key) >= min_count:
            wanted.setdefault(key, len(wanted))
    vocabulary = Vocabulary.fit(np.array(seen, np.uint64), min_count=min_count)
    assert vocabulary.n_features == len(wanted)
    for again in (vocabulary, Vocabulary.from_state(vocabulary.state())):
        assert again.find(np.array(asked, np.uint64)).tolist() == [wanted.get(key, -1) for key in asked]


def test_many_keys_are_all_found():
    many = np.random.default_rng(0).integers(0, 2**63, 50_000).astype(np.uint64)
    vocabulary = Vocabulary.fit(many)
    np.testing.assert_array_equal(vocabulary.keys[vocabulary.find(many)], many)


def test_buckets_need_no_keys():
    vocabulary = Vocabulary.from_state(Vocabulary(n_buckets=10).state())
    assert vocabulary.n_features == 10
    assert vocabulary.find(np.array([2**64 - 1, 13], np.uint64)).tolist() == [5, 3]


def test_wrong_vocabularies_are_refused():
    with pytest.raises(ValueError, match="either keys or n_buckets"):
        Vocabulary()
    with pytest.raises(ValueError, match="n_buckets is -1"):
        Vocabulary(n_buckets=-1)
    damaged = {"keys": np.array([3, 3], np.uint64), "n_buckets": np.array(0)}
    with pytest.raises(ValueError, match="has a key twice; the saved model is damaged"):
        Vocabulary.from_state(damaged)
