from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from walkstep.compiled import compiled
from walkstep.worlds.clusters import bring_to, clusters, first_mentions, member, members, place

pytestmark = pytest.mark.xdist_group("partition")


@compiled
def read_members(partition, slot, out):
    for k in range(partition.size[slot]):
        out[k] = member(partition, slot, k)


@compiled
def bring(partition, mention, to):
    bring_to(partition, mention, to)


def check_against_twin(partition, twin, document_ptr):
    """A twin is a dict of sets: the members of each slot in use."""
    n = len(partition.cluster_of)
    stretches = []
    for slot in range(n):
        held = twin.get(slot, set())
        assert partition.size[slot] == len(held)
        if not held:
            continue
        found = np.full(len(held), -1)
        read_members(partition, slot, found)
        assert set(found.tolist()) == held
        assert partition.position[found].tolist() == list(range(len(held)))
        assert set(members(partition, min(held))) == held
        room = 1 << int(partition.capacity[slot])
        assert len(held) <= room
        stretches.append((int(partition.first[slot]), int(partition.first[slot]) + room))
    stretches.sort()
    assert all(end <= start for (_, end), (start, _) in pairwise(stretches))
    assert stretches[-1][1] <= partition.heap[1] <= partition.pool.shape[1]
    assert all(partition.cluster_of[m] == slot for slot, held in twin.items() for m in held)
    np.testing.assert_array_equal(partition.rank[partition.order], np.arange(n))
    for d, (first, last) in enumerate(pairwise(document_ptr)):
        used = {slot for slot, held in twin.items() if held and first <= slot < last}
        assert partition.n_used[d] == len(used)
        assert set(partition.order[first : first + len(used)].tolist()) == used
        assert set(partition.order[first:last].tolist()) == set(range(first, last))


def twin_of(partition):
    twin = {}
    for m, slot in enumerate(partition.cluster_of.tolist()):
        twin.setdefault(slot, set()).add(m)
    return twin


@given(
    sizes=st.lists(st.integers(1, 7), min_size=1, max_size=3),
    seed=st.integers(0, 10**6),
    steps=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=40),
)
def test_places_agree_with_a_dict_of_sets(sizes, seed, steps):
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    n = int(ptr[-1])
    document = np.repeat(np.arange(len(sizes)), sizes)
    partition = clusters(np.random.default_rng(seed).integers(0, 3, n), ptr)
    twin = twin_of(partition)
    check_against_twin(partition, twin, ptr)
    for a, b in steps:
        m = a % n
        d = document[m]
        target = int(ptr[d] + b % sizes[d])
        twin[int(partition.cluster_of[m])].discard(m)
        twin.setdefault(target, set()).add(m)
        place(partition, m, target, d, ptr[d])
    check_against_twin(partition, twin, ptr)


def test_a_pool_that_is_full_is_packed():
    n = 40
    partition = clusters(np.arange(n))
    rng = np.random.default_rng(0)
    twin = twin_of(partition)
    rows = set()
    for step in range(3000):
        # Gather in a few slots for a while, then scatter: stretches of all sizes are left behind.
        m, target = int(rng.integers(n)), int(rng.integers(4 if step // 300 % 2 else n))
        twin[int(partition.cluster_of[m])].discard(m)
        twin.setdefault(target, set()).add(m)
        place(partition, m, target, 0, 0)
        rows.add(int(partition.heap[0]))
        if step % 100 == 0:
            check_against_twin(partition, twin, [0, n])
    check_against_twin(partition, twin, [0, n])
    assert rows == {0, 1}


def test_one_cluster_of_all_fits_whatever_it_grew_from():
    for n in (1, 2, 3, 5, 17, 64, 65):
        partition = clusters(np.arange(n))
        for m in range(n):
            place(partition, m, n - 1, 0, 0)
        check_against_twin(partition, {n - 1: set(range(n))}, [0, n])


def test_a_mention_placed_where_it_is_stays():
    partition = clusters([3, 3, 5])
    before = [np.array(array) for array in partition]
    place(partition, 1, int(partition.cluster_of[1]), 0, 0)
    for array, kept in zip(partition, before, strict=True):
        np.testing.assert_array_equal(array, kept)


def test_a_member_is_brought_to_any_place():
    partition = clusters([0, 0, 0, 0])
    for m, to in ((0, 3), (2, 0), (2, 3), (1, 1)):
        bring(partition, m, to)
        assert partition.position[m] == to
        check_against_twin(partition, {0: {0, 1, 2, 3}}, [0, 4])


def test_numbers_are_local_to_their_document():
    partition = clusters([1, 1, 1, 1, 2], [0, 2, 5])
    assert twin_of(partition) == {0: {0, 1}, 2: {2, 3}, 4: {4}}
    assert partition.n_used.tolist() == [1, 2]


@given(st.lists(st.integers(0, 6), min_size=1, max_size=7))
def test_clusters_are_named_by_their_first_mention(assignment):
    slots = np.array(assignment, np.int32) % len(assignment)
    expected = [slots.tolist().index(slot) for slot in slots.tolist()]
    assert first_mentions(slots).tolist() == expected
