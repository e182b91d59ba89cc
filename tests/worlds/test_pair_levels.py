import numpy as np
import pytest

from walkstep.compiled import compiled
from walkstep.features.comparisons import compare_pairs
from walkstep.references import refer
from walkstep.worlds.pair_levels import look, pair_levels
from walkstep.worlds.partition import partition_world
from walkstep.worlds.partition_proposers import block_guided, block_order, n_mates, uniform_mention
from worlds.naive_partition import Toy, blocks_of

pytestmark = pytest.mark.xdist_group("partition")

N = 60


@compiled(allocates=False)
def ask(world, left, right, found):
    """The levels of pairs, one after the other."""
    pairs = refer(world).pairs
    for k in range(len(left)):
        at = look(pairs, left[k], right[k])
        for c in range(found.shape[1]):
            found[k, c] = pairs.levels[at, c]


def world_with(toy, memory):
    return partition_world(toy.model, toy.comparisons, n_mentions=N)._replace(pairs=memory)


@pytest.mark.parametrize(
    ("n_places", "n_partners"),
    [(1 << 12, 2 * N), (1 << 12, 4), (16, 2 * N), (16, 0)],
    ids=["all fits", "short rows", "few places and patterns", "hardly anything"],
)
@pytest.mark.parametrize("has_rows", [True, False])
def test_what_is_remembered_is_what_comparing_gives(n_places, n_partners, has_rows):
    toy = Toy(N)
    rng = np.random.default_rng(0)
    left = rng.integers(0, N, 4000)
    right = (left + rng.integers(1, N, 4000)) % N
    order = rng.permutation(N).astype(np.int32) if has_rows else None
    memory = pair_levels(toy.comparisons, n_places, order, n_partners)
    found = np.empty((4000, len(toy.comparisons.n_levels)), np.uint8)
    ask(world_with(toy, memory), left, right, found)
    np.testing.assert_array_equal(found, compare_pairs(toy.comparisons, left, right))
    if has_rows:
        known = memory.levels[: memory.n_patterns[0]]
        assert len(np.unique(known, axis=0)) == len(known) <= min(n_places, 5 * 5 * 3)
    else:
        assert memory.n_patterns[0] == 0


def test_a_pair_is_compared_once_where_all_fits():
    toy = Toy(N)
    left, right = np.triu_indices(N, 1)
    memory = pair_levels(toy.comparisons, 1 << 16, np.arange(N, dtype=np.int32), N)
    found = np.empty((len(left), 3), np.uint8)
    for one, other in ((left, right), (right, left)):
        ask(world_with(toy, memory), one, other, found)
    assert memory.n_compared[0] <= 1.1 * len(left)  # two pairs may want one place


def test_mentions_of_a_block_stand_side_by_side():
    blocks = blocks_of(8, [[0, 5], [1, 4, 6, 7], [2, 3, 5]])
    order = block_order(block_guided(blocks), 8)
    assert sorted(order.tolist()) == list(range(8))
    assert np.ptp(order[[1, 4, 6, 7]]) == 3
    assert np.ptp(order[[2, 3, 5]]) == 2
    assert n_mates(block_guided(blocks), 8) == pytest.approx((2 + 12 + 6) / 8)
    assert block_order(uniform_mention(), 3).tolist() == [0, 1, 2]
    assert n_mates(uniform_mention(), 3) == 3
