"""Records in, entities out: what is learned from, what comes back, and what holds when records are added."""

import numpy as np
import polars as pl
import pytest

from walkstep import EntityResolver
from walkstep.data.bibliography import generate_bibliography
from walkstep.evaluation.clusters import cluster_scores
from walkstep.model.partition_templates import Affinity, Aggregate, Distinct, Size

pytestmark = pytest.mark.xdist_group("command")


@pytest.fixture(scope="module")
def known():
    return generate_bibliography(20, seed=0)


@pytest.fixture(scope="module")
def records():
    return generate_bibliography(15, seed=1)


@pytest.fixture(scope="module")
def resolver(known):
    return EntityResolver(id="id", n_samples=20, random_state=0).fit(known, entity="entity")


def b_cubed(result, records):
    return cluster_scores(result.assignment, records["entity"]).b_cubed.f1


def entity_of(result):
    return dict(zip(result.ids, result.assignment.tolist(), strict=True))


def test_papers_that_were_not_learned_from_are_found(resolver, records):
    result = resolver.resolve(records.drop("entity"))
    assert b_cubed(result, records) > 0.85
    assert result.n_entities == result.entities["entity"].n_unique()
    assert result.entities["confidence"].is_between(0, 1).all()
    assert result.pairs["probability"].is_between(0.01, 1).all()
    assert result.pairs["probability"].is_sorted(descending=True)


def test_some_labels_labelled_pairs_and_no_labels_all_teach(known, records):
    bare = records.drop("entity")
    some = known["entity"].to_list()
    some[::3] = [None] * len(some[::3])
    partly = EntityResolver(id="id", n_samples=0, random_state=0).fit(known.drop("entity"), entity=some)
    assert partly.learned_from_ == f"the entities of {known.height - len(some[::3])} of {known.height} records"
    assert b_cubed(partly.resolve(bare), records) > 0.8

    ids, truth = known["id"].to_list(), known["entity"].to_list()
    drawn = np.random.default_rng(0).integers(0, len(ids), (2000, 2)).tolist()
    same = [(ids[a], ids[b], True) for a in range(len(ids)) for b in range(a) if truth[a] == truth[b]][:60]
    other = [(ids[a], ids[b], False) for a, b in drawn if truth[a] != truth[b]][:60]
    by_pairs = EntityResolver(id="id", n_samples=0, random_state=0).fit(known.drop("entity"), pairs=[*same, *other])
    assert by_pairs.learned_from_ == f"{len(same) + len(other)} labelled pairs"
    assert b_cubed(by_pairs.resolve(bare), records) > 0.7

    alone = EntityResolver(id="id", n_samples=0, random_state=0).fit(bare)
    assert alone.learned_from_.startswith("no labels at all")
    result = alone.resolve(bare)
    assert b_cubed(result, records) > 0.6
    assert any("no labels" in note for note in result.notes)


def test_weights_of_whole_clusters_are_learned_by_the_walk_and_saved(known, records, tmp_path):
    templates = [Affinity(), Aggregate("cosine(title)", "min"), Distinct("year"), Size()]
    made = EntityResolver(id="id", templates=templates, n_epochs=2, signal="b-cubed", n_samples=0, random_state=0)
    made.fit(known, entity="entity")
    layout = made.model_.prepare(known).grounded.layout
    for name in ("min cosine(title)", "distinct year", "size"):
        block = layout[name]
        assert made.weights_[block.offset : block.offset + block.size].any()
    assert len(made.epochs_) == 2
    result = made.resolve(records.drop("entity"))
    assert b_cubed(result, records) > 0.8
    made.save(tmp_path / "papers.walk")
    again = EntityResolver.load(tmp_path / "papers.walk").resolve(records.drop("entity"))
    np.testing.assert_array_equal(again.assignment, result.assignment)


def test_the_factors_of_a_pair_are_explained_and_a_record_that_is_not_there_is_named(resolver, records):
    result = resolver.resolve(records.drop("entity"))
    left, right = result.pairs.row(0)[:2]
    told = result.explain(left, right)
    assert "title" in str(told)
    with pytest.raises(ValueError, match="there is no record 'nobody'; ids are such as"):
        result.explain("nobody", right)


def test_a_consensus_is_a_partition_of_the_least_expected_loss(known, records):
    made = EntityResolver(id="id", decision="consensus", n_samples=50, random_state=0).fit(known, entity="entity")
    result = made.resolve(records.drop("entity"))
    assert b_cubed(result, records) > 0.8


@pytest.mark.parametrize("jumps", ["single", "adaptive"])
def test_other_jumps_find_entities_too_and_say_what_became_of_them(known, records, jumps):
    resolver = EntityResolver(id="id", n_samples=0, random_state=0, jumps=jumps).fit(known, entity="entity")
    result = resolver.resolve(records.drop("entity"))
    assert cluster_scores(result.assignment, records["entity"]).b_cubed.f1 > 0.8
    assert result.jumps.columns[:4] == ["kind", "share", "tried", "taken"]
    if jumps == "adaptive":
        assert result.jumps["tried"].sum() == result.n_moves
        assert result.jumps["share"].sum() == pytest.approx(1.0, abs=0.2)
        assert "merge or split" in result.jumps["kind"].to_list()
    else:
        assert result.jumps.height == 0


def test_without_samples_there_are_no_probabilities(resolver, records):
    bare = EntityResolver(**{**resolver.get_params(), "n_samples": 0})
    for name in ("model_", "weights_", "temperature_", "learned_from_"):
        setattr(bare, name, getattr(resolver, name))
    result = bare.resolve(records.drop("entity"))
    assert "confidence" not in result.entities.columns
    with pytest.raises(ValueError, match="no samples were drawn, so there are no probabilities"):
        _ = result.pairs


def test_added_records_join_entities_that_keep_their_ids(resolver, records):
    bare = records.drop("entity")
    old, new = bare.head(-6), bare.tail(6)
    before = resolver.resolve(old)
    after = resolver.update(before, new)
    assert after.ids == bare["id"].to_list()
    kept = np.mean(after.assignment[: old.height] == before.assignment)
    assert kept > 0.9
    assert b_cubed(after, records) > b_cubed(resolver.resolve(bare), records) - 0.05
    assert after.entities["confidence"].is_between(0, 1).all()


def test_links_of_before_hold_when_records_are_added(resolver, records):
    bare = records.drop("entity")
    old, new = bare.head(-4), bare.tail(4)
    free = resolver.resolve(old)
    names, entity = free.ids, free.assignment
    a, b = next((a, b) for b in range(len(names)) for a in range(b) if entity[a] == entity[b])
    c = next(c for c in range(len(names)) if entity[c] != entity[a])
    links = [(names[a], names[b], False), (names[a], names[c], True)]
    held = entity_of(resolver.resolve(old, links=links))
    assert held[names[a]] != held[names[b]]
    assert held[names[a]] == held[names[c]]
    d, e = new["id"].to_list()[:2]
    after = entity_of(resolver.update(resolver.resolve(old, links=links), new, links=[(d, e, True)]))
    assert after[names[a]] != after[names[b]]
    assert after[names[a]] == after[names[c]]
    assert after[d] == after[e]


def test_tables_that_were_linked_stay_clean_when_records_are_added(resolver, records):
    several = records.filter(pl.len().over("entity") > 1)
    tables = [several.unique("entity", keep=keep, maintain_order=True).drop("entity") for keep in ("first", "last")]
    # A record again, as one more of the first table and as one of no table: the former may not join its double.
    double = tables[0].head(1)
    new = pl.concat(
        [
            double.with_columns(id=pl.lit("again"), source=pl.lit("table1")),
            double.with_columns(id=pl.lit("elsewhere"), source=pl.lit(None, pl.String)),
        ]
    )
    named = [table.head(-2).with_columns(pl.col("id").cast(pl.String)) for table in tables]
    first = resolver.resolve(*named)
    after = entity_of(resolver.update(first, new))
    original = named[0]["id"][0]
    assert after["again"] != after[original]
    assert after["elsewhere"] == after[original]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"signal": "luck"}, "signal is 'luck'; choose one of pair-accuracy, pair-f1, b-cubed"),
        ({"jumps": "wild"}, "jumps is 'wild'; choose one of guided, single, adaptive"),
        ({"decision": "last"}, "decision is 'last'; choose 'consensus' or 'best'"),
        ({"n_epochs": -1}, "n_epochs is -1; give 0 or more"),
        ({"n_samples": -1}, "n_samples is -1; give 0 or more"),
        ({"ignore": ["colour"]}, "ignore names column 'colour'; the table has"),
        ({"kinds": {"colour": "text"}}, "kinds names column 'colour'; the table has"),
    ],
)
def test_settings_that_mean_nothing_are_named(known, settings, message):
    with pytest.raises(ValueError, match=message):
        EntityResolver(**settings).fit(known, entity="entity")


def test_one_learns_from_entities_or_from_pairs(known):
    with pytest.raises(ValueError, match="both entity and pairs are given"):
        EntityResolver(id="id").fit(known, entity="entity", pairs=[(0, 1, True)])
