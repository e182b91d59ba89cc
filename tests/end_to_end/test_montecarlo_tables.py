"""Tables 1 and 2 of the Monte Carlo MCMC paper at sizes that say nothing, so that the way there stays walkable."""

import numpy as np
import polars as pl
import pytest

from walkstep.data.author_mentions import generate_author_mentions
from walkstep.data.records import truth_codes
from walkstep.evaluation.clusters import b_cubed
from walkstep.features.comparisons import compare_pairs
from walkstep.inference.annealing import constant
from walkstep.reproduce import montecarlo_table1, montecarlo_table2
from walkstep.reproduce.montecarlo_table1 import (
    Climb,
    Setting,
    best_constant,
    climb,
    scores_of_pairs,
    settings,
    table,
)
from walkstep.reproduce.montecarlo_table2 import author_world, learned, race, some_blocks
from walkstep.worlds.partition import at_assignment, partition_score

EXACT = Setting(1.0, None, 1.0)
TENTH = Setting(0.1, None, 7.29)
WIDE = Setting(None, 20.0, 6.90)


@pytest.fixture(scope="module")
def mentions() -> pl.DataFrame:
    """Mentions of few enough names to share blocks."""
    frame = generate_author_mentions(3000, seed=0)
    common = frame["surname"].value_counts(sort=True)["surname"][:20]
    return frame.filter(pl.col("surname").is_in(common.implode()))


def walked(mentions: pl.DataFrame, setting: Setting, target: float) -> Climb:
    truth = truth_codes(mentions, "entity")
    world = author_world(mentions, truth)
    weights = np.zeros(world.model.n_weights)
    for at, n in zip(world.model.pair_offset, world.pairs.comparisons.n_levels, strict=True):
        weights[at : at + n] = np.linspace(-1.0, 1.0, n)
    return climb(
        world,
        weights,
        setting,
        [lambda values: b_cubed(values, truth).f1],
        target=target,
        n_moves=500,
        max_moves=5000,
        schedule=constant(0.1),
        seed=0,
    )[0]


def test_a_climb_ends_at_the_first_look_that_sees_the_target(mentions: pl.DataFrame):
    found = walked(mentions, EXACT, target=0.01)
    assert found.is_reached
    assert found.n_moves == 500
    assert found.n_factors > 0


def test_a_climb_that_never_arrives_says_so(mentions: pl.DataFrame):
    found = walked(mentions, EXACT, target=1.01)
    assert not found.is_reached
    assert found.n_moves == 5000
    assert 0.0 < found.best <= 1.0


@pytest.mark.parametrize("setting", [TENTH, WIDE], ids=["share", "width"])
def test_sampled_walks_look_at_fewer_factors(mentions: pl.DataFrame, setting: Setting):
    exact, sampled = (walked(mentions, s, target=1.01) for s in (EXACT, setting))
    assert sampled.n_factors < exact.n_factors


def test_speed_ups_are_factors_of_the_baseline_over_those_of_a_setting():
    climbs = {
        EXACT.name: [Climb(True, 900, 10, 1.0, 0.9), Climb(True, 1100, 10, 1.0, 0.9)],
        TENTH.name: [Climb(True, 100, 10, 0.5, 0.9), Climb(True, 100, 10, 0.5, 0.9)],
        WIDE.name: [Climb(True, 10, 10, 0.5, 0.9), Climb(False, 90, 90, 0.5, 0.7)],
    }
    lines, speedups = table([EXACT, TENTH, WIDE], climbs, lambda text: None)
    assert speedups == {"p = 1": 1.0, "p = 0.1": 10.0}
    assert lines[2]["ours"] is None
    assert "1 of 2" in lines[2]["note"]


def test_scores_of_pairs_are_those_of_partitions(mentions: pl.DataFrame):
    few = mentions.head(40)
    world = author_world(few, truth_codes(few, "entity"))
    weights = np.random.default_rng(0).normal(size=world.model.n_weights)
    one, other = np.triu_indices(len(few), 1)
    scores = scores_of_pairs(world.model, weights, compare_pairs(world.pairs.comparisons, one, other))
    together = at_assignment(world, np.zeros(len(few), int))
    assert scores.sum() == pytest.approx(partition_score(together, weights))


def test_the_best_constant_keeps_true_pairs_above_nought():
    rng = np.random.default_rng(0)
    same = rng.random(500) < 0.1
    score = np.where(same, 7.0, 2.0) + rng.uniform(-1.0, 1.0, 500)
    constant, size = best_constant(score, same)
    assert ((score + constant > 0) == same).all()
    assert size == pytest.approx(np.abs(score + constant).mean())


def test_settings_are_named_as_in_the_paper():
    assert Setting(0.1, None, None, by_side=False).name == "p = 0.1, sides alike"
    assert [s.name for s in settings({1.0: 1.0}, {1e-5: 0.96, 20.0: 6.9})] == ["p = 1", "i = 1e-05", "i = 20"]


def test_a_sample_of_blocks_holds_them_whole(mentions: pl.DataFrame):
    sample = some_blocks(mentions, 100, np.random.default_rng(0))
    key = pl.concat_str("surname", pl.col("given").str.head(1))
    whole = mentions.filter(key.is_in(sample.select(key).to_series().unique().implode()))
    assert 100 <= sample.height < mentions.height
    assert whole.height == sample.height


def test_a_race_of_authors_reports_every_setting(mentions: pl.DataFrame, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(montecarlo_table2, "_MAX_SWEEPS", 3)
    said: list[str] = []
    weights = learned(mentions, seed=0, quick=True)
    names = ("p = 1", "p = 0.1", "i = 100")
    lines, _ = race(mentions, "tiny", weights, seed=0, names=names, say=said.append)
    assert [line["row"] for line in lines[:3]] == ["tiny, p = 1", "tiny, p = 0.1", "tiny, i = 100"]
    assert all(line["note"] for line in lines[:3])
    assert len(said) >= 1 + len(names)


def test_modules_are_named_for_their_reproductions():
    assert (montecarlo_table1.NAME, montecarlo_table2.NAME) == ("montecarlo-table1", "montecarlo-table2")
