"""The search for the best partition, against all partitions of a small world."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from walkstep.features.comparators import exact, jaccard, number
from walkstep.features.encodings import encode
from walkstep.inference import Outcome, constant, metropolis
from walkstep.inference.partition_search import coarse_to_fine, default_moves, keeps, partition_sampler, search
from walkstep.model import Factors, ground
from walkstep.model.partition_templates import Affinity, Aggregate, Distinct, Size, ground_partition
from walkstep.worlds.link_constraints import link_constraints
from walkstep.worlds.partition import at_assignment, partition_score, partition_world
from walkstep.worlds.partition_proposers import block_guided
from walkstep.worlds.randomness import stream

pytestmark = pytest.mark.xdist_group("partition")

N = 6
FRAME = pl.DataFrame(
    {
        "a": ["x", "y", "x", None, "z", "y"],
        "b": ["p q", "q r", "p q", "p r s", None, "q r"],
        "y": [1, 2, 1, 3, 3, 2],
    }
)
ENCODED = encode(FRAME, [exact("a"), jaccard("b"), number("y")])
LEVELS = {c.name: c.n_levels for c in ENCODED.comparators}
GROUNDED = ground_partition(
    [Affinity(), Aggregate("jaccard(b)", "mean"), Size(), Distinct("a")], LEVELS, {"a": np.array([0, 1, 0, -1, 2, 1])}
)
BLOCKS = SimpleNamespace(
    block_ptr=[0, 6], block_members=list(range(N)), record_ptr=list(range(N + 1)), record_blocks=[0] * N
)
WEIGHTS = np.random.default_rng(3).normal(size=GROUNDED.layout.size)


def world(**settings):
    settings = {"assignment": np.arange(N), "proposer": block_guided(BLOCKS, share_merge=0.3), **settings}
    return partition_world(GROUNDED.model, ENCODED.comparisons, **settings)


def every_partition(n):
    """All partitions of n things, as restricted growth strings."""
    rows = [[0]]
    for _ in range(n - 1):
        rows = [[*row, label] for row in rows for label in range(max(row) + 2)]
    return np.array(rows)


def scores_of_all(here, weights, n=N):
    return np.array([partition_score(at_assignment(here, row), weights) for row in every_partition(n)])


@pytest.mark.parametrize("seed", range(4))
def test_search_finds_the_best_of_all_partitions(seed):
    weights = np.random.default_rng(seed).normal(size=GROUNDED.layout.size)
    here = world()
    found = search(here, weights, rng=seed, temperatures=constant(1.0))
    assert found.score == pytest.approx(scores_of_all(here, weights).max())
    assert partition_score(at_assignment(here, found.assignment), weights) == pytest.approx(found.score)
    assert found.outcome is Outcome.CONVERGED
    assert found.converged
    assert found.n_moves >= default_moves(here)


def test_search_leaves_its_world_alone_and_repeats_itself():
    here = world()
    first, again = (search(here, WEIGHTS, n_moves=300, rng=1) for _ in range(2))
    assert here.values.tolist() == list(range(N))
    assert first.assignment.tolist() == again.assignment.tolist()
    assert (first.score, first.n_moves, first.n_factors) == (again.score, again.n_moves, again.n_factors)


def test_a_screened_search_looks_at_fewer_factors_and_its_greedy_end_at_all():
    here = world()
    plain = search(here, WEIGHTS, n_moves=5000, rng=0)
    screened = search(here, WEIGHTS, n_moves=5000, rng=0, screen=True)
    assert screened.n_factors < 0.8 * plain.n_factors
    assert partition_score(at_assignment(here, screened.assignment), WEIGHTS) == pytest.approx(screened.score)
    assert screened.converged


def test_what_a_search_has_compared_is_not_compared_again():
    here = world()
    found = search(here, WEIGHTS, n_moves=2000, rng=0)
    assert found.pairs.n_compared[0] > 0
    again = search(here._replace(pairs=found.pairs), WEIGHTS, n_moves=2000, rng=0)
    assert again.pairs.n_compared[0] == found.pairs.n_compared[0]
    assert again.assignment.tolist() == found.assignment.tolist()


def test_coarse_shares_look_at_fewer_factors_and_end_exactly():
    here = world()
    fine = search(here, WEIGHTS, n_moves=5000, rng=0)
    coarse = search(here, WEIGHTS, n_moves=5000, rng=0, shares=coarse_to_fine(0.1, exact_from=0.9))
    assert coarse.n_factors < fine.n_factors
    assert partition_score(at_assignment(here, coarse.assignment), WEIGHTS) == pytest.approx(coarse.score)


def test_ctrl_c_gives_the_best_partition_so_far():
    here = world()
    seen = []

    def interrupt(n_blocks, state, info):
        seen.append((partition_score(state.world, WEIGHTS), state.values.tolist()))
        if n_blocks == 3:
            raise KeyboardInterrupt

    found = search(here, WEIGHTS, n_moves=500, rng=0, callback=interrupt)
    assert found.interrupted
    assert found.outcome is Outcome.INTERRUPTED
    assert found.score == pytest.approx(max(partition_score(here, WEIGHTS), *(score for score, _ in seen)))


def test_only_mentions_in_focus_move():
    here = world(proposer=block_guided(BLOCKS, share_merge=0.0), assignment=[0, 0, 1, 1, 2, 2])
    rng = np.random.default_rng(0)
    for seed in range(5):
        found = search(here, rng.normal(size=GROUNDED.layout.size), n_moves=200, focus=[4, 5], rng=seed)
        assert found.assignment[[0, 1, 2, 3]].tolist() == [0, 0, 2, 2]


def test_constraints_are_kept_even_when_the_start_breaks_them():
    held = link_constraints(N, together=[[0, 3]], apart=[[1, 5]], source=[7, 8, 7, -1, -1, 9])
    pull = np.zeros(GROUNDED.layout.size)
    pull[: GROUNDED.layout["size"].offset] = 1.0  # every pair pulls
    here = world(constraints=held, assignment=np.zeros(N, int))
    assert not keeps(held, here.values)
    found = search(here, pull, rng=0)
    assert keeps(held, found.assignment)
    assert found.assignment[0] == found.assignment[3]
    allowed = [row for row in every_partition(N) if keeps(held, row) and row[0] == row[3]]
    assert found.score == pytest.approx(max(partition_score(at_assignment(here, row), pull) for row in allowed))


def two_documents():
    apart = SimpleNamespace(**vars(BLOCKS) | {"block_ptr": [0, 3, 6], "record_blocks": [0, 0, 0, 1, 1, 1]})
    return world(document_ptr=[0, 3, 6], proposer=block_guided(apart, share_merge=0.3))


def test_every_document_is_searched():
    here = two_documents()
    found = search(here, WEIGHTS, rng=0, temperatures=constant(1.0))
    rows = [[*one, *(two + 3)] for one in every_partition(3) for two in every_partition(3)]
    assert found.score == pytest.approx(max(partition_score(at_assignment(here, row), WEIGHTS) for row in rows))
    sampler = partition_sampler(here, WEIGHTS, n_moves=10)
    _, info = sampler.step(stream(0), sampler.init())
    assert info.n_moves == 10


def test_a_plain_walk_says_which_document_it_stays_in():
    here = two_documents()
    with pytest.raises(ValueError, match=r"has 2 documents, .* name it with document=, .* partition_sampler"):
        metropolis(here, WEIGHTS)
    with pytest.raises(ValueError, match="document is 2; the world has documents 0 to 1"):
        metropolis(here, WEIGHTS, document=2)
    with pytest.raises(ValueError, match="document is 0, but LabelWorld is no partition world; leave it out"):
        metropolis(ground([2, 2], [Factors("edge", [[0, 1]])])[0], np.zeros(4), document=0)
    for document, outside in enumerate(([3, 4, 5], [0, 1, 2])):
        sampler = metropolis(here, WEIGHTS, document=document, temperature=5.0, n_moves=50)
        for start in (None, here.values):
            state, info = sampler.step(stream(0), sampler.init(start))
            assert state.values[outside].tolist() == outside
            assert info.n_accepted > 0


def test_the_focus_must_name_mentions_and_a_single_document():
    with pytest.raises(ValueError, match="from 0 to 5"):
        search(world(), WEIGHTS, focus=[6])
    with pytest.raises(ValueError, match="2 documents"):
        search(two_documents(), WEIGHTS, focus=[1])


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"n_moves": 0}, "n_moves is 0"),
        ({"n_blocks": 0}, "n_blocks is 0"),
        ({"shares": constant(2.0)}, "gives 2.0"),
        ({"temperatures": lambda progress: -1.0}, "temperature"),
    ],
)
def test_settings_out_of_range_are_named(settings, named):
    with pytest.raises(ValueError, match=named):
        search(world(), WEIGHTS, **settings)


@pytest.mark.parametrize(("start", "exact_from"), [(0.0, 0.5), (1.5, 0.5), (0.1, 0.0)])
def test_schedules_of_shares_are_checked(start, exact_from):
    with pytest.raises(ValueError, match="give"):
        coarse_to_fine(start, exact_from)
