"""`check_jump`: all of our own jumps pass, and what is wrong with others is said."""

import math
from functools import cache

import numpy as np
import pytest

from walkstep.testing import check_jump
from walkstep.testing.jumps import all_partitions
from walkstep.worlds import as_jump, below, link_constraints, members_of, partition_world, uniform, uniform_mention
from walkstep.worlds.partition_proposers import block_guided
from walkstep.worlds.split_merge import split_merge
from worlds.naive_partition import Toy, blocks_of, partitions

pytestmark = pytest.mark.xdist_group("partition")

GROUPS = [[0, 1, 2], [1, 2, 3], [0, 3]]


@cache
def toy():
    return Toy(4, seed=1)


def world_of_four():
    return partition_world(toy().model, toy().comparisons, n_mentions=4)


def split_merge_of(**settings):
    return split_merge(toy().model, [0, 4], **settings)


def weights(seed):
    return np.random.default_rng(seed).normal(scale=0.4, size=toy().model.n_weights + 1)


OURS = {
    "uniform_mention": lambda: uniform_mention(),
    "block_guided": lambda: block_guided(blocks_of(4, GROUPS), share_merge=0.5),
    "every kind": lambda: block_guided(
        blocks_of(4, GROUPS), share_merge=0.2, share_uniform=0.2, share_swap=0.2, share_several=0.2
    ),
    "split_merge": lambda: split_merge_of(),
    "weighted split_merge": lambda: split_merge_of(split_weights=weights(0), merge_weights=weights(1), share_split=0.3),
    "guided split_merge": lambda: split_merge_of(guide=0.3 * toy().weights, n_scans=1),
}


@pytest.mark.parametrize("constraints", [None, {"together": [[0, 2]]}, {"apart": [[1, 3]]}], ids=str)
@pytest.mark.slow  # proved exactly, all of them, in the tests of worlds
@pytest.mark.parametrize("name", OURS)
def test_our_jumps_pass(name, constraints):
    held = None if constraints is None else link_constraints(4, **constraints)
    checks = check_jump(OURS[name](), world=world_of_four(), constraints=held, n_jumps=4000)
    assert checks.n_parts == 1
    assert checks.n_partitions == {None: 15, "together": 5, "apart": 10}[constraints and next(iter(constraints))]
    assert checks.finest < 0.5


def test_all_partitions_are_listed():
    assert [tuple(partition) for partition in all_partitions(5).tolist()] == partitions(5)


# --- what is wrong


def leave_or_join(partition, first, last, moved, rng):
    """To the cluster of any other mention, or out of its own where the other is there too."""
    m = first + below(rng, last - first)
    other = first + below(rng, last - first - 1)
    other += other >= m
    own, target = partition.cluster_of[m], partition.cluster_of[other]
    moved[0] = m
    rest = partition.size[own] - 1
    if own == target:
        return 1, -1, 0.0
    if rest == 0:
        return 1, other, 0.0
    return 1, other, math.log(rest / partition.size[target])


def forgetful(partition, first, last, moved, rng):
    m = first + below(rng, last - first)
    other = first + below(rng, last - first - 1)
    other += other >= m
    moved[0] = m
    return 1, -1 if partition.cluster_of[m] == partition.cluster_of[other] else other, 0.0


def hesitant(partition, first, last, moved, rng):
    """Right, but for a ratio that is too small on the way out."""
    m = first + below(rng, last - first)
    other = first + below(rng, last - first - 1)
    other += other >= m
    own, target = partition.cluster_of[m], partition.cluster_of[other]
    moved[0] = m
    rest = partition.size[own] - 1
    if own == target:
        return 1, -1, -0.5
    if rest == 0:
        return 1, other, 0.0
    return 1, other, math.log(rest / partition.size[target])


def by_path(partition, first, last, moved, rng):
    """Two ways to the same partitions, whose ratios differ: one is taken twice as often from below as from above."""
    m = first + below(rng, last - first)
    other = first + below(rng, last - first - 1)
    other += other >= m
    own, target = partition.cluster_of[m], partition.cluster_of[other]
    moved[0] = m
    is_up = m > other
    is_first_way = uniform(rng) < (0.8 if is_up == (own == target) else 0.3)
    rest = partition.size[own] - 1
    ratio = 0.0 if own == target or rest == 0 else math.log(rest / partition.size[target])
    if own != target and rest > 0:
        return 1, other, ratio
    there = 0.8 if is_up == (own == target) else 0.3
    back = 0.8 if is_up == (own != target) else 0.3
    ratio += math.log(back / there) if is_first_way else math.log((1.0 - back) / (1.0 - there))
    return 1, -1 if own == target else other, ratio


def merges_only(partition, first, last, moved, rng):
    m = first + below(rng, last - first)
    members = members_of(partition, partition.cluster_of[m])
    moved[: len(members)] = members
    return len(members), first, -math.inf


def no_way_back(partition, first, last, moved, rng):
    moved[0] = first + below(rng, last - first)
    return 1, -1, 0.0


def swaps(partition, first, last, moved, rng):
    moved[0] = first + below(rng, last - first)
    moved[1] = first + below(rng, last - first)
    return 2, moved[1], 0.0


def forgets_first(partition, first, last, moved, rng):
    moved[0] = below(rng, last)
    return 1, -1, 0.0


def own_numbers(partition, first, last, moved, rng):
    moved[0] = first + int(np.random.random() * (last - first))  # noqa: NPY002 - that is what is wrong
    return 1, -1, -math.inf


def test_a_jump_with_the_right_ratio_passes():
    checks = check_jump(as_jump(leave_or_join), n_mentions=4)
    assert (checks.n_partitions, checks.n_parts) == (15, 1)
    assert checks.finest < 0.2


def test_ratios_may_differ_from_path_to_path():
    assert check_jump(as_jump(by_path), n_mentions=4).n_parts == 1


def test_symmetric_jumps_need_not_reach_all():
    checks = check_jump(as_jump(swaps), n_mentions=4, reaches_all=False)
    assert checks.n_parts == 5  # one for each way to add up to four
    with pytest.raises(AssertionError, match=r"swaps never comes from \[2, 3, 4, 5\] to .*: there are 5 parts"):
        check_jump(as_jump(swaps), n_mentions=4)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (forgetful, r"jump forgetful, from \[.*\] to \[.*\]: detailed balance fails: in equilibrium .* flow there and"),
        (forgetful, r"of 20000 jumps from either, \d+ go there and \d+ back, which makes a log ratio of -?\d\.\d+,"),
        (hesitant, r"and the jump says -0\.5; return log q\(back\) - log q\(there\)"),
        (no_way_back, r"go there and 0 back, which makes a log ratio of -inf, and the jump says 0; .* -inf where"),
        (merges_only, "merges_only never comes from .* there are 15 parts without a way between them"),
        (forgets_first, r"forgets_first, from \[2, 3, 4, 5\]: the jump moved a mention outside of the document"),
        (own_numbers, "the same random numbers do not give the same jumps; draw from the rng"),
    ],
)
def test_what_is_wrong_is_said(function, message):
    with pytest.raises(AssertionError, match=message):
        check_jump(as_jump(function), n_mentions=4)


def test_a_ratio_that_forgets_who_must_stay_together_is_wrong_only_there():
    jump = as_jump(leave_or_join)
    check_jump(jump, n_mentions=4, constraints=link_constraints(8, apart=[[3, 5]]))
    with pytest.raises(AssertionError, match=r"from \[2, 3.* detailed balance fails"):
        check_jump(jump, n_mentions=4, constraints=link_constraints(8, together=[[2, 3]]))


def test_jumps_to_another_document_are_seen():
    across = block_guided(blocks_of(8, [[0, 2, 3, 4, 5]]))  # which partition_world would refuse
    with pytest.raises(AssertionError, match=r"TransferProposer, from .*: mention [2-5] goes to another document"):
        check_jump(across, n_mentions=4)


def test_documents_that_are_too_large_are_refused():
    with pytest.raises(ValueError, match="the document has 7 mentions; give one of 2 to 6"):
        check_jump(uniform_mention(), n_mentions=7)
