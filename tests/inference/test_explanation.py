"""Explanations of pairs, against the scores of whole partitions."""

import numpy as np
import polars as pl
import pytest

from walkstep.features.comparators import exact, jaccard, number
from walkstep.features.encodings import encode
from walkstep.inference.explanation import explain
from walkstep.model.partition_templates import Affinity, Aggregate, Distinct, Size, Spread, ground_partition
from walkstep.worlds.link_constraints import link_constraints
from walkstep.worlds.partition import at_assignment, partition_score, partition_world

pytestmark = pytest.mark.xdist_group("partition")

N = 7
FRAME = pl.DataFrame(
    {
        "a": ["x", "y", "x", None, "z", "y", "x"],
        "b": ["p q", "q r", "p q", "p r s", None, "q r", "p q r"],
        "y": [1, 2, 1, 3, 3, 2, None],
    }
)
ENCODED = encode(FRAME, [exact("a"), jaccard("b"), number("y")])
GROUNDED = ground_partition(
    [
        Affinity(conjunctions=(("exact(a)", "number(y)"),)),
        Aggregate("jaccard(b)", "mean"),
        Aggregate("exact(a)", "min"),
        Aggregate("number(y)", "share", "mention"),
        Size("mention"),
        Distinct("a"),
        Distinct("b", "share"),
        Spread("a"),
    ],
    {c.name: c.n_levels for c in ENCODED.comparators},
    {"a": np.array([0, 1, 0, -1, 2, 1, 0]), "b": np.array([0, 1, 0, 2, -1, 1, 3])},
)
WEIGHTS = np.random.default_rng(0).normal(size=GROUNDED.layout.size)
START = np.array([0, 0, 0, 1, 1, 2, 3])


def world(**settings):
    return partition_world(GROUNDED.model, ENCODED.comparisons, assignment=START, **settings)


def explained(here, left, right):
    return explain(here, WEIGHTS, GROUNDED.layout, ENCODED.comparators, left, right)


def score_of_move(here, said):
    """The change of the whole score, counted from nothing."""
    before = here.values
    after = before.copy()
    after[list(said.moved)] = N if said.together else before[said.right]
    return partition_score(at_assignment(here, after), WEIGHTS) - partition_score(here, WEIGHTS)


def test_changes_add_up_to_the_change_of_the_whole_score():
    here = world()
    for left in range(N):
        for right in range(N):
            if left != right:
                said = explained(here, left, right)
                assert said.together == (START[left] == START[right])
                assert said.moved == (left,)
                assert said.score_change == pytest.approx(score_of_move(here, said))
                assert said.delta == said.score_change
    assert here.values.tolist() == at_assignment(here, START).values.tolist()


def test_factors_of_a_pair_add_up_to_the_score_of_the_two_alone():
    # Two records alone in a world without cluster templates score nothing but their pair.
    plain = ground_partition([Affinity()], {c.name: c.n_levels for c in ENCODED.comparators})
    weights = np.random.default_rng(1).normal(size=plain.layout.size)
    here = partition_world(plain.model, ENCODED.comparisons, assignment=np.arange(N))
    said = explain(here, weights, plain.layout, ENCODED.comparators, 5, 1)
    joined = at_assignment(here, [0, 1, 2, 3, 4, 1, 6])
    assert said.pair_score == pytest.approx(partition_score(joined, weights))
    assert [(one.name, one.level) for one in sorted(said.factors, key=lambda one: one.name)] == [
        ("exact(a)", "equal"),
        ("jaccard(b)", "1 or more"),
        ("number(y)", "0 or more"),
    ]


def test_the_largest_factors_come_first_and_conjunctions_are_named():
    said = explained(world(), 0, 4)
    sizes = [abs(one.score) for one in said.factors]
    assert sizes == sorted(sizes, reverse=True)
    assert {one.name: one.level for one in said.factors}["exact(a) & number(y)"] == "different & -2 to -1"


def test_changes_of_entities_are_told_in_words():
    told = {(one.name, one.where): (one.before, one.after) for one in explained(world(), 6, 0).changes}
    assert told["exact(a)", "pairs"] == ("0 pairs", "3 pairs")
    assert told["size", "entity left"] == ("1, 1 times", "none")
    assert told["size", "entity joined"] == ("3, 3 times", "4 to 5, 4 times")
    assert told["spread a", "between entities"] == ("", "-1 values in several entities")
    told = {(one.name, one.where): (one.before, one.after) for one in explained(world(), 2, 3).changes}
    assert told["distinct a", "entity joined"] == ("1", "2")


def test_those_who_must_stay_together_move_as_one():
    here = world(constraints=link_constraints(N, together=[[0, 2]]))
    said = explained(here, 2, 3)
    assert said.moved == (0, 2)
    assert said.score_change == pytest.approx(score_of_move(here, said))
    tied = explained(here, 0, 2)
    assert tied.forbidden == ("records 0 and 2 must stay together",)
    assert (tied.moved, tied.changes, tied.delta) == ((), (), -np.inf)
    assert tied.factors


def test_constraints_that_forbid_are_named():
    here = world(constraints=link_constraints(N, apart=[[5, 1]], source=[4, -1, 9, -1, -1, 4, -1]))
    said = explained(here, 5, 2)
    assert said.forbidden == ("records 5 and 1 must stay apart", "records 5 and 0 are of the same source")
    assert said.delta == -np.inf
    assert np.isfinite(said.score_change)
    assert explained(here, 6, 2).forbidden == ()


def test_records_of_different_documents_never_meet():
    here = world(document_ptr=[0, 3, 7])
    assert explained(here, 0, 3).forbidden == ("records 0 and 3 are of different documents",)
    assert explained(here, 3, 6).score_change == pytest.approx(score_of_move(here, explained(here, 3, 6)))
    assert here.window.tolist() == [0, 3, 0]


def test_an_explanation_is_a_table_and_a_text():
    said = explained(world(), 0, 1)
    frame = said.to_frame()
    assert frame.columns == ["where", "name", "before", "after", "score"]
    assert len(frame) == len(said.factors) + len(said.changes)
    assert frame.filter(pl.col("where") != "the two")["score"].sum() == pytest.approx(said.score_change)
    text = str(said)
    assert text.startswith("Records 0 and 1 are together.\nThe two alone: ")
    assert "Moving 0 out of the entity of 1: " in text
    forbidden = str(explained(world(constraints=link_constraints(N, apart=[[0, 3]])), 0, 3))
    assert forbidden.endswith("Forbidden: records 0 and 3 must stay apart")


@pytest.mark.parametrize(("left", "right", "named"), [(0, 7, "right is 7"), (-1, 2, "left is -1"), (3, 3, "both 3")])
def test_two_different_records_are_asked_for(left, right, named):
    with pytest.raises(ValueError, match=named):
        explained(world(), left, right)


def test_weights_and_comparators_must_fit_the_world():
    with pytest.raises(ValueError, match="weights have shape"):
        explain(world(), WEIGHTS[1:], GROUNDED.layout, ENCODED.comparators, 0, 1)
    with pytest.raises(ValueError, match="2 comparators"):
        explain(world(), WEIGHTS, GROUNDED.layout, ENCODED.comparators[1:], 0, 1)
