import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from rapidfuzz import fuzz

from walkstep.data.bibliography import generate_bibliography


@pytest.fixture(scope="module")
def citations():
    return generate_bibliography(200, seed=0)


def test_columns_have_the_promised_types(citations):
    assert dict(citations.schema) == {
        "id": pl.Int64,
        "author": pl.String,
        "title": pl.String,
        "venue": pl.String,
        "year": pl.Int64,
        "pages": pl.String,
        "entity": pl.Int64,
    }
    assert citations["id"].to_list() == list(range(citations.height))


def test_every_paper_is_cited_and_some_are_cited_often(citations):
    size = np.bincount(citations["entity"])
    assert len(size) == 200
    assert size.min() == 1
    assert 4.5 < size.mean() < 7.5
    assert np.median(size) < size.mean()
    assert 20 < size.max() <= 60


def test_the_same_seed_gives_the_same_citations_and_another_seed_others(citations):
    assert_frame_equal(citations, generate_bibliography(200, seed=0))
    assert not citations.equals(generate_bibliography(200, seed=1))


def test_fields_go_missing_at_the_usual_rates(citations):
    missing = {name: citations[name].null_count() / citations.height for name in citations.columns}
    assert missing["author"] == missing["title"] == missing["entity"] == 0
    assert 0.1 < missing["venue"] < 0.2
    assert 0.08 < missing["year"] < 0.16
    assert 0.4 < missing["pages"] < 0.6


def test_citations_of_one_paper_are_printed_in_several_ways(citations):
    often = citations.group_by("entity").agg(pl.len(), pl.exclude("id").n_unique()).filter(pl.col("len") >= 8)
    for name in ("author", "title", "venue"):
        assert (often[name] > 1).all(), name
    assert citations["author"].str.contains("et al").any()


def test_citations_of_one_paper_nearly_agree_on_the_year(citations):
    for paper in citations.partition_by("entity"):
        years = paper["year"].drop_nulls()
        assert years.is_empty() or years.max() - years.min() <= 2


def test_most_citations_of_a_paper_share_first_surname_and_title(citations):
    for paper in citations.partition_by("entity"):
        if paper.height < 5:
            continue
        first = paper["author"].str.extract(r"([A-Z][a-z]+)(?:,| et| and| &|$)")
        assert first.value_counts()["count"].max() >= 0.6 * paper.height
        titles = paper["title"].str.to_lowercase().to_list()
        likeness = [fuzz.ratio(a, b) for a in titles for b in titles]
        assert np.median(likeness) > 80


def test_different_papers_look_as_alike_as_citations_of_one(citations):
    title_and_author = citations.select(pl.col("title", "author").str.to_lowercase(), "entity").unique()
    shared = title_and_author.group_by("title", "author").agg(pl.col("entity").n_unique())
    assert (shared["entity"] > 1).sum() > 5


def test_both_parts_of_a_paper_are_there(citations):
    titles = citations["title"].str.to_lowercase()
    assert titles.str.contains(r"(part ii|part 2|, ii)$").any()
    assert titles.str.contains(r"(part i|part 1|, i)$").any()


@pytest.mark.parametrize("n_papers", [1, 2, 7])
def test_any_number_of_papers_can_be_had(n_papers):
    made = generate_bibliography(n_papers, citations_per_paper=1)
    assert made["entity"].n_unique() == n_papers == made.height


def test_more_citations_can_be_asked_for():
    assert generate_bibliography(100, citations_per_paper=12).height > 1.5 * generate_bibliography(100).height


def test_sizes_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="n_papers is 0; ask for at least 1"):
        generate_bibliography(0)
    with pytest.raises(ValueError, match=r"citations_per_paper is 0.5; .* ask for at least 1"):
        generate_bibliography(5, citations_per_paper=0.5)
