import json
from itertools import combinations

import bcubed
import numpy as np
import polars as pl
import pytest
import scorch.scores
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import rand_score

from walkstep.evaluation import clusters
from walkstep.evaluation.clusters import cluster_scores
from walkstep.evaluation.overlaps import best_assignment, overlaps

METRICS = ["pairwise", "b_cubed", "muc", "ceaf_m", "ceaf_e", "lea"]


@st.composite
def partitions(draw, max_records=14):
    """Predicted and true entities of a few records, from all apart to all in one."""
    n = draw(st.integers(1, max_records))
    sides = (st.lists(st.integers(0, draw(st.integers(0, n))), min_size=n, max_size=n) for _ in range(2))
    return tuple(draw(side) for side in sides)


def sets(entities):
    """Each entity's records."""
    return [{r for r, other in enumerate(entities) if other == one} for one in dict.fromkeys(entities)]


def links(cluster):
    """All pairs of a cluster; a record by itself is linked to itself, and marked, so that no pair equals it."""
    return set(combinations(sorted(cluster), 2)) if len(cluster) > 1 else {("self", *cluster)}


def slow_lea(key, response):
    """Recall of LEA, cluster by cluster, as Moosavi and Strube write it: importance times resolution."""
    found = sum(len(k) * sum(len(links(k) & links(r)) for r in response) / len(links(k)) for k in key)
    return found / sum(map(len, key))


@settings(deadline=None, max_examples=300)
@given(partitions())
def test_coreference_metrics_agree_with_scorch(pair):
    predicted, truth = pair
    scores = cluster_scores(predicted, truth)
    for name in ("muc", "b_cubed", "ceaf_m", "ceaf_e"):
        recall, precision, f1 = getattr(scorch.scores, name)(sets(truth), sets(predicted))
        assert getattr(scores, name) == pytest.approx((precision, recall, f1)), name
    assert scores.conll == pytest.approx(scorch.scores.conll2012(sets(truth), sets(predicted)))


@settings(deadline=None)
@given(partitions(max_records=10))
def test_b_cubed_agrees_with_the_package_of_that_name(pair):
    predicted, truth = ({record: {entity} for record, entity in enumerate(side)} for side in pair)
    precision, recall = bcubed.precision(predicted, truth), bcubed.recall(predicted, truth)
    assert clusters.b_cubed(*pair) == pytest.approx((precision, recall, bcubed.fscore(precision, recall)))


@settings(deadline=None, max_examples=300)
@given(partitions())
def test_lea_agrees_with_its_definition(pair):
    predicted, truth = map(sets, pair)
    assert clusters.lea(*pair)[:2] == pytest.approx((slow_lea(predicted, truth), slow_lea(truth, predicted)))


@settings(deadline=None, max_examples=300)
@given(partitions())
def test_pairs_agree_with_counting_them_and_with_scikit_learn(pair):
    joined, true = ({(a, b) for a, b in combinations(range(len(side)), 2) if side[a] == side[b]} for side in pair)
    score = clusters.pairwise(*pair)
    if joined and true:
        both = len(joined & true)
        f1 = 2 * both / (len(joined) + len(true))
        assert score == pytest.approx((both / len(joined), both / len(true), f1))
    else:
        assert score == (float(joined == true),) * 3
    assert clusters.rand_index(*pair) == pytest.approx(rand_score(pair[1], pair[0]))


@settings(deadline=None)
@given(partitions())
def test_pairs_agree_with_the_coreference_half_of_blanc(pair):
    predicted, truth = map(sets, pair)
    if max(map(len, truth)) > 1:  # without true pairs, BLANC leaves this half out
        half = scorch.scores.detailed_blanc(truth, predicted)[0]
        assert half is not None
        recall, precision, f1 = half
        assert clusters.pairwise(*pair) == pytest.approx((precision, recall, f1))


LUO_2005 = [  # four answers to 12345 67 89ABC, and the F1 that table 1 of the paper gives them
    ("111112222222", {"muc": 0.947, "b_cubed": 0.865, "ceaf_m": 0.833, "ceaf_e": 0.733}),
    ("111112211111", {"muc": 0.947, "b_cubed": 0.737, "ceaf_m": 0.583, "ceaf_e": 0.667}),
    ("111111111111", {"muc": 0.900, "b_cubed": 0.545, "ceaf_m": 0.417, "ceaf_e": 0.294}),
    ("123456789ABC", {"muc": 0.000, "b_cubed": 0.400, "ceaf_m": 0.250, "ceaf_e": 0.178}),
]


@pytest.mark.parametrize(("predicted", "f1"), LUO_2005)
def test_examples_of_luo_come_out_as_printed(predicted, f1):
    scores = cluster_scores(predicted, "111112233333")
    assert {name: round(getattr(scores, name).f1, 3) for name in f1} == f1


def test_the_example_of_bagga_and_baldwin_comes_out_as_worked_by_hand():
    assert clusters.b_cubed("111112222222", "111112233333") == pytest.approx((16 / 21, 1, 32 / 37))
    assert clusters.b_cubed("111112211111", "111112233333") == pytest.approx((7 / 12, 1, 14 / 19))
    assert clusters.muc("111112222222", "111112233333") == pytest.approx((9 / 10, 1, 18 / 19))


def test_an_example_of_lea_comes_out_as_worked_by_hand():
    # True abc, defg, h, i; predicted ab, cd, e, fghi.
    score = clusters.lea("112234444", "111222234")
    assert score.precision == pytest.approx((2 * 1 + 2 * 0 + 1 * 0 + 4 * 1 / 6) / 9)
    assert score.recall == pytest.approx((3 * 1 / 3 + 4 * 1 / 6 + 0 + 0) / 9)


@settings(deadline=None)
@given(partitions(max_records=30))
def test_changing_sides_swaps_precision_and_recall(pair):
    there, back = cluster_scores(*pair), cluster_scores(*reversed(pair))
    for name in METRICS:
        precision, recall, f1 = getattr(there, name)
        assert getattr(back, name) == pytest.approx((recall, precision, f1)), name


@settings(deadline=None)
@given(partitions(max_records=30), st.randoms(use_true_random=False))
def test_neither_order_nor_names_matter(pair, random):
    order = list(range(len(pair[0])))
    random.shuffle(order)
    other_names = [[("entity", side[r]) for r in order] for side in pair]
    there, back = cluster_scores(*pair), cluster_scores(*other_names)
    for name in METRICS:
        assert getattr(back, name) == pytest.approx(getattr(there, name)), name


@settings(deadline=None)
@given(partitions(max_records=30))
def test_the_truth_itself_scores_exactly_one(pair):
    scores = cluster_scores(pair[1], pair[1])
    is_all_single = len(set(pair[1])) == len(pair[1])
    for name in METRICS:
        assert getattr(scores, name) == (float(name != "muc" or not is_all_single),) * 3, name
    assert scores.rand_index == 1


def test_single_records_on_both_sides_are_right_but_muc_does_not_see_them():
    scores = cluster_scores([1, 2, 3], [4, 5, 6])
    assert scores.pairwise == scores.b_cubed == scores.ceaf_m == scores.ceaf_e == scores.lea == (1, 1, 1)
    assert scores.muc == (0, 0, 0)
    assert scores.conll == pytest.approx(2 / 3)


def test_pairs_on_one_side_only_score_nothing():
    for predicted, truth in [([1, 1], [1, 2]), ([1, 2], [1, 1])]:
        assert clusters.pairwise(predicted, truth) == clusters.lea(predicted, truth) == (0, 0, 0)


def test_each_function_gives_what_all_together_give():
    rng = np.random.default_rng(0)
    predicted, truth = rng.integers(0, 300, (2, 1000))
    scores = cluster_scores(predicted, truth)
    for name in [*METRICS, "rand_index"]:
        assert getattr(clusters, name)(predicted, truth) == getattr(scores, name)


KINDS = {
    "list": list,
    "generator": iter,
    "strings": lambda one: [f"e{entity}" for entity in one],
    "array of strings": lambda one: np.array([f"e{entity}" for entity in one]),
    "array of objects": lambda one: np.array(one, dtype=object),
    "floats": lambda one: np.array(one, dtype=np.float32),
    "bytes": lambda one: np.array(one, dtype=np.uint8),
    "unsigned, all bits set": lambda one: np.uint64(2**64 - 1) - np.array(one, dtype=np.uint64),
    "far apart": lambda one: np.array([entity * 2**61 - 2**63 for entity in one]),
    "hashes": lambda one: np.random.default_rng(0).integers(-(2**62), 2**62, 8)[np.array(one)],
    "every second": lambda one: np.repeat(np.array(one), 2)[::2],
    "series": pl.Series,
    "series of strings": lambda one: pl.Series([f"e{entity}" for entity in one]),
    "series of categories": lambda one: pl.Series([f"e{entity}" for entity in one], dtype=pl.Categorical),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_entity_gives_the_same_scores(kind):
    predicted, truth = np.random.default_rng(0).integers(0, 8, (2, 40)).tolist()
    assert cluster_scores(KINDS[kind](predicted), KINDS[kind](truth)) == cluster_scores(predicted, truth)


def test_entities_are_equal_only_where_python_says_so():
    assert overlaps([1, "1", 1.0, (1,)], [0, 0, 0, 0]).predicted_size.tolist() == [2, 1, 1]
    assert overlaps(np.array([0.0, -0.0]), [0, 0]).predicted_size.tolist() == [2]
    # As floats, these would be one.
    assert overlaps(pl.Series([2**60, 2**60 + 1, None]), [1, 1, None]).predicted_size.tolist() == [1, 1]


MISSING = {
    "None": [1, 1, 2, None, None],
    "nan in a list": [1, 1, 2, float("nan"), float("nan")],
    "-1 in a list": [1, 1, 2, -1, -1],
    "-1": np.array([1, 1, 2, -1, -1]),
    "nan": np.array([1, 1, 2, np.nan, -1]),
    "series": pl.Series([1, 1, 2, None, -1]),
    "small series": pl.Series([1, 1, 2, None, None], dtype=pl.UInt8),
    "series of strings": pl.Series(["1", "1", "-1", None, None]),
    "series of floats": pl.Series([1.0, 1.0, 2.0, None, float("nan")]),
}


@pytest.mark.parametrize("kind", MISSING)
def test_records_of_unknown_truth_are_left_out_and_counted(kind):
    scores = cluster_scores([1, 2, 2, 2, None], MISSING[kind])
    assert (scores.n_records, scores.n_unknown, scores.n_predicted, scores.n_true) == (3, 2, 2, 2)
    known = cluster_scores([1, 2, 2], [1, 1, 2])
    assert all(getattr(scores, name) == getattr(known, name) for name in METRICS)
    assert "3 records (2 of unknown truth left out): 2 entities predicted, 2 true" in scores.table()


@pytest.mark.parametrize(
    ("predicted", "truth", "error", "message"),
    [
        ([1, 2], [1], ValueError, "predicted has 2 records but truth has 1"),
        ([], [], ValueError, "hold no records"),
        ([1, 2], [None, -1], ValueError, "truth is unknown for all of 2 records"),
        (np.array([0, -1]), [5, 5], ValueError, "no entity for record 1, whose truth is known; predict all"),
        (np.zeros((2, 1)), [5, 5], ValueError, r"predicted has shape \(2, 1\)"),
        ({"a": 1}, [5], TypeError, "predicted is a dict; give a list with one entity a record"),
        ([1, 1], [5, [6]], TypeError, r"truth\[1\] is \[6\]; give numbers"),
        ([1, np.zeros(2)], [5, 5], TypeError, r"predicted\[1\] is array"),
    ],
)
def test_entities_that_cannot_be_compared_are_named(predicted, truth, error, message):
    with pytest.raises(error, match=message):
        cluster_scores(predicted, truth)


def test_scores_go_to_json_with_their_names():
    scores = json.loads(json.dumps(cluster_scores(np.array([0, 0, 1]), np.array([0, 0, 0])).to_dict()))
    assert scores["b_cubed"] == {"precision": 1.0, "recall": pytest.approx(5 / 9), "f1": pytest.approx(5 / 7)}
    assert scores["n_records"] == 3
    assert set(scores) >= {*METRICS, "conll", "rand_index"}


@settings(deadline=None, max_examples=300)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32 - 1), st.sampled_from([1, 3, 1000]))
def test_the_best_assignment_gains_as_much_as_scipys(n_rows, n_columns, seed, n_weights):
    check_assignment(np.random.default_rng(seed), n_rows, n_columns, n_weights, share=0.4)


@pytest.mark.parametrize("n_weights", [2, 10**9])
def test_the_best_assignment_holds_in_one_large_component(n_weights):
    check_assignment(np.random.default_rng(0), 400, 380, n_weights, share=0.01)


def check_assignment(rng, n_rows, n_columns, n_weights, share):
    """Weights of which many are equal if there are few; thirds do not add up exactly."""
    dense = rng.integers(1, n_weights + 1, (n_rows, n_columns)) / 3 * (rng.random((n_rows, n_columns)) < share)
    row, column = np.nonzero(dense)
    ptr = np.searchsorted(row, np.arange(n_rows + 1))
    edge = best_assignment(ptr, column.astype(np.int32), dense[row, column], n_columns)
    paired = np.flatnonzero(edge >= 0)
    assert np.array_equal(row[edge[paired]], paired)
    assert len(set(column[edge[paired]])) == len(paired)
    gain = dense[row, column][edge[paired]].sum()
    assert gain == pytest.approx(dense[linear_sum_assignment(dense, maximize=True)].sum())


def test_a_hundred_thousand_clusters_are_paired_without_a_matrix():
    # Each true entity of three loses its last record to the next: one chain of all clusters.
    truth = np.repeat(np.arange(100_000), 3)
    predicted = truth + np.tile([0, 0, 1], 100_000)
    scores = cluster_scores(predicted, truth)
    assert scores.ceaf_m.f1 == pytest.approx(2 / 3)
    # All pairs but the first have three records on either side, two in common.
    assert scores.ceaf_e.recall == pytest.approx((99_999 * 2 / 3 + 4 / 5) / 100_000)
