import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from walkstep.data.catalogue import DataNotFound, find
from walkstep.data.readers.seminars import read_seminars
from walkstep.data.reposts import grouped_folds, talk_groups


def groups_by_pairs(texts, n_words, overlap):
    """The slow twin: every pair of texts looked at, then groups merged until nothing changes."""
    runs = []
    for text in texts:
        words = text.lower().split()
        runs.append({tuple(words[k : k + n_words]) for k in range(len(words) - n_words + 1)} or {tuple(words)})
    weight = {run: np.log((len(texts) + 1) / sum(run in other for other in runs)) for held in runs for run in held}
    total = [sum(weight[run] for run in held) for held in runs]
    group = list(range(len(texts)))
    for i in range(len(texts)):
        for j in range(i):
            common = runs[i] & runs[j]
            if common and sum(weight[run] for run in common) >= overlap * min(total[i], total[j]):
                group = [min(group[i], group[j]) if g in (group[i], group[j]) else g for g in group]
    order = list(dict.fromkeys(group))
    return [order.index(g) for g in group]


@given(
    st.lists(st.lists(st.sampled_from("abcd"), max_size=6).map(" ".join), max_size=6),
    st.integers(1, 3),
    # No share of whole runs equals these, so that rounding decides nothing.
    st.sampled_from([0.131, 0.4177, 0.8191]),
)
def test_groups_are_those_of_all_pairs(texts, n_words, overlap):
    assert talk_groups(texts, n_words=n_words, overlap=overlap).tolist() == groups_by_pairs(texts, n_words, overlap)


def test_reminders_join_and_what_a_series_shares_does_not():
    frame = "the weekly seminar of our department is held in the large hall with coffee after it and"
    talks = [
        f"{frame} Ada Harlow tells how robots learn to walk on rough ground",
        f"{frame} Milo Brask draws the sea floor from echoes of passing ships",
        f"{frame} Greta Pell counts birds by their songs at night",
    ]
    texts = [*talks, f"REMINDER: today {talks[1]}"]
    assert talk_groups(texts).tolist() == [0, 1, 2, 1]


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ("Dr. Ada B. Harlow", "Ada Harlow, Ph.D.", True),
        ("Ada Harlow", "A. Harlow", True),
        ("Prof. Harlow", "Ada Harlow", False),
        ("D. Harlow", "Dan Harlow Jr.", True),
        ("Milo Harlow", "Ada Harlow", False),
    ],
)
def test_texts_with_one_speaker_are_joined(first, second, joined):
    group = talk_groups(["one talk", "quite another"], [[first], ["Otto Rosk", second]])
    assert (group[0] == group[1]) == joined


def test_no_text_has_no_group():
    assert talk_groups([]).tolist() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_words": 0}, "n_words is 0; give at least 1"),
        ({"overlap": 0.0}, "overlap is 0.0; give a share above 0"),
        ({"speakers": []}, "there are 2 texts but speakers of 0"),
    ],
)
def test_faults_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        talk_groups(["a", "b"], **arguments)


@given(st.lists(st.integers(0, 12), min_size=2, max_size=40), st.integers(2, 5), st.integers(0, 9))
def test_folds_keep_groups_whole_and_are_balanced(groups, n_folds, seed):
    n_groups = len(set(groups))
    if n_groups < n_folds:
        with pytest.raises(ValueError, match=f"n_folds is {n_folds}, and there are {n_groups} groups"):
            grouped_folds(groups, n_folds, seed)
        return
    fold = grouped_folds(groups, n_folds, seed)
    assert all(len(set(fold[np.array(groups) == g])) == 1 for g in groups)
    sizes = np.bincount(fold, minlength=n_folds)
    assert sizes.min() >= 1
    # Dealt to the emptiest fold, largest first: no fold is ahead by more than the largest group.
    assert sizes.max() - sizes.min() <= max(groups.count(g) for g in groups)
    np.testing.assert_array_equal(fold, grouped_folds(groups, n_folds, seed))


def test_seeds_deal_other_folds():
    groups = np.arange(30)
    assert (grouped_folds(groups, 5, 0) != grouped_folds(groups, 5, 1)).any()


@pytest.mark.real_data
def test_known_reposts_of_the_seminars_are_joined():
    try:
        seminars = read_seminars(find("cmu_seminars") / "seminars.train.jsonl")
    except DataNotFound as absent:
        pytest.skip(str(absent))
    group = talk_groups(seminars.texts, seminars.speakers)
    of = {announcement.name: int(g) for announcement, g in zip(seminars.announcements, group, strict=True)}
    # The same text; a change of time; the same talk announced to two departments in other words.
    for one, other in (("0", "25"), ("42", "43"), ("10", "11"), ("395", "396")):
        assert of[one] == of[other]
    assert group.max() + 1 == 339
    assert np.bincount(group).max() <= 5
    sizes = np.bincount(grouped_folds(group, 5, seed=0))
    assert sizes.max() - sizes.min() <= 1
