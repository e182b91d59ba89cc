"""Clean tables, linked: what says which table a record is of, whatever columns they have."""

import polars as pl
import pytest

from walkstep import EntityResolver
from walkstep.data.bibliography import generate_bibliography
from walkstep.data.records import linked

pytestmark = pytest.mark.xdist_group("command")


@pytest.fixture(scope="module")
def known():
    return generate_bibliography(15, seed=0)


@pytest.fixture(scope="module")
def tables(known):
    """Two citations of each paper that has two."""
    several = known.filter(pl.len().over("entity") > 1)
    return [several.unique("entity", keep=keep, maintain_order=True) for keep in ("first", "last")]


def resolver(**settings):
    return EntityResolver(**{"id": "id", "n_samples": 0, "random_state": 0, **settings})


def test_the_table_of_a_record_is_told_beside_a_column_named_source(known, tables):
    found = resolver(ignore=["source"]).fit(known.with_columns(source=pl.lit("all")), entity="entity")
    bare = [table.drop("entity") for table in tables]
    plain = found.resolve(*bare).entities
    assert plain.columns[0] == "source"
    assert plain["source"].unique().sort().to_list() == ["table1", "table2"]
    named = found.resolve(bare[0].with_columns(source=pl.lit("web")), bare[1]).entities
    assert named.columns[0] == "source_table"
    assert named["source_table"].to_list() == plain["source"].to_list()
    assert named["source"].to_list() == ["web"] * bare[0].height + [None] * bare[1].height
    assert named["entity"].to_list() == plain["entity"].to_list()
    assert named.group_by("entity").len()["len"].max() == 2


def test_the_name_of_a_table_is_never_taken_for_a_column_that_the_model_compares(known, tables):
    town = known.with_columns(source=pl.when(pl.col("entity") % 2 == 0).then(pl.lit("web")).otherwise(pl.lit("print")))
    found = resolver(kinds={"source": "category"}).fit(town, entity="entity")
    assert "source" in found.model_.columns
    with pytest.raises(ValueError, match=r"lacks 1 of the . columns that the model reads: 'source'; it has"):
        found.resolve(*(table.drop("entity") for table in tables))
    with_source = [table.join(town.select("id", "source"), on="id").drop("entity") for table in tables]
    assert found.resolve(*with_source).entities.columns[:2] == ["source_table", "id"]


def test_a_linked_table_teaches_that_its_sources_are_clean(tables):
    both = linked(tables)
    found = resolver(id=None, ignore=["id"], source=both.columns[0]).fit(both, entity="entity")
    assert "source" not in found.model_.columns
    again = found.resolve(*(table.drop("entity") for table in tables)).entities
    assert again.group_by("entity").len()["len"].max() <= 2
