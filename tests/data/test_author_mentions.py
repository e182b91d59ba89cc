import time

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from walkstep.data.author_mentions import _given_names, _surnames, generate_author_mentions

N_MENTIONS = 40_000


@pytest.fixture(scope="module")
def mentions():
    return generate_author_mentions(N_MENTIONS, seed=0)


def test_columns_have_the_promised_types(mentions):
    assert dict(mentions.schema) == {
        "surname": pl.String,
        "given": pl.String,
        "title": pl.String,
        "coauthors": pl.List(pl.String),
        "venue": pl.String,
        "year": pl.Int16,
        "paper": pl.Int32,
        "entity": pl.Int32,
    }
    assert mentions.height == N_MENTIONS
    assert sum(mentions.null_count().row(0)) == 0


def test_the_same_seed_gives_the_same_mentions_and_another_seed_others(mentions):
    assert_frame_equal(mentions, generate_author_mentions(N_MENTIONS, seed=0))
    assert not mentions.equals(generate_author_mentions(N_MENTIONS, seed=1))


def test_all_mentions_of_an_author_share_surname_and_initial(mentions):
    by_author = mentions.group_by("entity").agg(
        pl.col("surname").n_unique(), pl.col("given").str.slice(0, 1).n_unique()
    )
    assert (by_author["surname"] == 1).all()
    assert (by_author["given"] == 1).all()


def test_entities_are_numbered_without_gaps(mentions):
    assert mentions["entity"].min() == 0
    assert mentions["entity"].n_unique() == mentions["entity"].max() + 1


def test_an_author_never_contradicts_given_name_or_middle_initial(mentions):
    full = mentions.filter(~pl.col("given").str.contains(r"^.\.")).with_columns(
        first=pl.col("given").str.split(" ").list.first()
    )
    assert (full.group_by("entity").agg(pl.col("first").n_unique())["first"] == 1).all()
    middle = mentions.with_columns(middle=pl.col("given").str.extract(r" (.)\.$")).drop_nulls("middle")
    assert (middle.group_by("entity").agg(pl.col("middle").n_unique())["middle"] == 1).all()


def test_everyone_on_a_paper_is_another_and_sees_the_others(mentions):
    assert not mentions.select("paper", "entity").is_duplicated().any()
    for paper in mentions.head(300).partition_by("paper", maintain_order=True)[:-1]:
        keys = [f"{surname} {given[0]}" for surname, given in paper.select("surname", "given").iter_rows()]
        for i, coauthors in enumerate(paper["coauthors"].to_list()):
            assert coauthors == keys[:i] + keys[i + 1 :]
        assert paper.select(pl.col("title", "venue", "year").n_unique()).row(0) == (1, 1, 1)


def test_sizes_are_those_of_a_bibliography(mentions):
    per_author = mentions.group_by("entity").len()["len"]
    assert 3.5 < per_author.mean() < 5
    assert per_author.median() <= 2
    assert per_author.max() > 100
    team = mentions.group_by("paper").len()["len"]
    assert team.min() == 1
    assert team.max() <= 8
    assert 2.8 < team.mean() < 3.8
    assert mentions["year"].is_between(1965, 2024).all()


def test_papers_an_author_are_as_unequal_as_in_a_real_bibliography():
    """In the ACL Anthology half the mentions are of names with up to 9 papers, a tenth of names with more than 80."""
    mentions = generate_author_mentions(300_000, seed=0)
    size = mentions.select(pl.len().over("entity")).to_series()
    assert 6 <= size.quantile(0.5) <= 12
    assert 22 <= size.quantile(0.75) <= 40
    assert 65 <= size.quantile(0.9) <= 115
    assert size.max() < 1000


def test_names_are_printed_in_four_ways(mentions):
    shares = {r"^[A-Z][a-z]+$": 0.88, r"^[A-Z][a-z]+ [A-Z]\.$": 0.065, r"^[A-Z]\.$": 0.05, r"^[A-Z]\. [A-Z]\.$": 0.004}
    for form, share in shares.items():
        assert mentions["given"].str.contains(form).mean() == pytest.approx(share, rel=0.5), form


def test_no_surname_or_given_name_is_listed_twice():
    for names in (_surnames(), _given_names()):
        assert len(set(names)) == len(names)


def test_some_printed_names_belong_to_several_authors(mentions):
    shared = mentions.group_by("surname", "given").agg(pl.col("entity").n_unique(), pl.len())
    share = shared.filter(pl.col("entity") > 1)["len"].sum() / N_MENTIONS
    assert 0.005 < share < 0.25
    full = shared.filter((pl.col("entity") > 1) & pl.col("given").str.contains(r"^[A-Z][a-z]"))
    assert full.height > 10


def test_coauthors_and_venues_tell_authors_apart(mentions):
    author = mentions.filter(pl.col("entity") == mentions["entity"].mode()[0])
    coauthors = author["coauthors"].explode().drop_nulls()
    assert coauthors.value_counts()["count"].max() > 2
    assert author["venue"].value_counts()["count"].max() > 0.2 * author.height


@pytest.mark.parametrize("n_mentions", [1, 2, 50])
def test_few_mentions_can_be_had(n_mentions):
    assert generate_author_mentions(n_mentions).height == n_mentions


def test_no_mentions_at_all_are_refused():
    with pytest.raises(ValueError, match="n_mentions is 0; ask for at least 1"):
        generate_author_mentions(0)


@pytest.mark.slow
def test_five_million_mentions_have_the_blocks_of_a_real_bibliography():
    began = time.perf_counter()
    mentions = generate_author_mentions(5_000_000)
    assert time.perf_counter() - began < 120
    blocks = mentions.group_by("surname", pl.col("given").str.slice(0, 1)).len()["len"]
    assert 400_000 < len(blocks) < 480_000
    assert 11_000 < blocks.max() < 15_000
    assert 1.5e9 < (blocks * (blocks - 1) / 2).sum() < 2.1e9
    assert mentions.group_by("entity").len()["len"].max() > 300
