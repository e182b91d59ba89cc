"""Splits and merges of clusters, chosen by what the clusters hold (Rohanimanesh et al., 2009, section 4).

A jump splits a cluster or merges two. Which ones is drawn from all there are, with odds that are log-linear in the
features that the model itself has of clusters, under weights of the proposer's own: how little a cluster holds together
says what to split, how well two go together says what to merge. With all weights zero every cluster, and every pair
of them, is as likely as any other.

All pairs of clusters are weighed, so this is for documents; where blocks say who may meet, see `block_guided`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled
from walkstep.model.partition_templates import PartitionModel
from walkstep.references import refer
from walkstep.separate import separate
from walkstep.worlds.clusters import member
from walkstep.worlds.jump_features import FIRST, N_OWN, SECOND, Groups, add_one, add_two, count_group, groups, n_atoms
from walkstep.worlds.randomness import below, uniform
from walkstep.worlds.sparse import SparseVector, clear, dot, sparse_vector
from walkstep.worlds.split_sides import FARTHEST, atom_at, draw_even, launch, log_even, scan
from walkstep.worlds.transfers import Transfer, bring_side, free_slot, stay

SPLIT, MERGE = 0, 1


class SplitMerge(NamedTuple):
    """Where splits and merges are drawn from; see `split_merge`. S is the size of the largest document."""

    share_split: NDArray[np.float64]  # (1,) beta of Eq. 10
    split_weights: NDArray[np.float64]  # (n_weights + 1,) of what a cluster holds: lambda of Eq. 11
    merge_weights: NDArray[np.float64]  # of what two clusters hold together
    guide: NDArray[np.float64]  # weights that draw mentions to a side of a split; every way is alike where it is empty
    n_scans: int  # over the sides, before the one that counts
    max_pairs: int
    focus: NDArray[np.int32]  # empty: all mentions may move
    split_odds: NDArray[np.float64]  # (S,) of each slot of the document entered, 0 where it cannot be split
    merge_odds: NDArray[np.float64]  # (S, S) of each pair of slots
    row_odds: NDArray[np.float64]  # (S,) of merging each slot with one that comes before it
    totals: NDArray[np.float64]  # (2,) the odds of all splits and of all merges
    mark: NDArray[np.uint64]  # (S,) who was in each slot when its odds were taken
    stale: NDArray[np.int64]  # (S,) scratch: slots whose odds are to be taken anew
    side: NDArray[np.int8]  # (M,) scratch: the side of a split each mention goes to
    chosen: NDArray[np.int64]  # (3,) the jump drawn last: its kind, and one or two slots
    anchors: NDArray[np.int64]  # (2,) the two members that part
    groups: Groups
    phi: SparseVector  # scratch


def split_merge(
    model: PartitionModel,
    document_ptr: ArrayLike,
    *,
    share_split: float = 0.5,
    split_weights: ArrayLike | None = None,
    merge_weights: ArrayLike | None = None,
    guide: ArrayLike | None = None,
    n_scans: int = 2,
    max_pairs: int = 1 << 14,
) -> SplitMerge:
    """Split a cluster, or merge two, chosen by what they hold (Eq. 10 and 11).

    Parameters
    ----------
    model : PartitionModel
        Whose features of clusters the odds are made of.
    document_ptr : int array (n_documents + 1,)
        Documents as ranges of mentions; jumps stay in the one that is entered.
    share_split : float
        How often a split is tried, where both are possible.
    split_weights, merge_weights : float array (n_weights + 1,), optional
        Of features of a cluster, and of two clusters; by default 0, which makes all equally likely (the paper's
        uniform split-merge proposer). The last weight is that of the logarithm of the number of pairs.
    guide : float array (n_weights,), optional
        Weights of pairs that say how a cluster is split: two members drawn at random part, and the others choose a
        side by restricted Gibbs sampling (Jain and Neal, 2004). By default every split is as likely as any other.
    n_scans : int
        Scans of that sampling before the one that counts.
    max_pairs : int
        The most pairs that a jump breaks or makes, for walks that look at a sample of factors.

    Examples
    --------
    >>> from walkstep.model.partition_templates import Affinity, ground_partition
    >>> jumps = split_merge(ground_partition([Affinity()], {"title": 3}, {}).model, [0, 40])
    >>> jumps.merge_weights.shape
    (4,)
    """
    n_features = model.n_weights + N_OWN
    given = {"split_weights": split_weights, "merge_weights": merge_weights}
    weights = {name: np.zeros(n_features) if x is None else np.array(x, np.float64) for name, x in given.items()}
    for name, array in weights.items():
        if array.shape != (n_features,):
            raise ValueError(
                f"{name} has shape {array.shape}; give one weight for each of the {model.n_weights} statistics of the "
                "model, and one for the logarithm of the number of pairs"
            )
    if not 0.0 < share_split < 1.0:
        raise ValueError(f"share_split is {share_split}; give a share above 0 and below 1, or there is no way back")
    if n_scans < 0:
        raise ValueError(f"n_scans is {n_scans}; give 0 or more")
    pull = np.zeros(0) if guide is None else np.array(guide, dtype=np.float64)
    if guide is not None and pull.shape != (model.n_weights,):
        raise ValueError(f"guide has shape {pull.shape}; give one weight for each of {model.n_weights} statistics")
    ptr = np.asarray(document_ptr, dtype=np.int64)
    largest = int(np.diff(ptr).max(initial=1))
    return SplitMerge(
        np.array([share_split]),
        weights["split_weights"],
        weights["merge_weights"],
        pull,
        int(n_scans),
        int(max_pairs),
        np.zeros(0, np.int32),
        np.zeros(largest),
        np.zeros((largest, largest)),
        np.zeros(largest),
        np.zeros(2),
        np.zeros(largest, np.uint64),
        np.zeros(largest, np.int64),
        np.zeros(int(ptr[-1]), np.int8),
        np.zeros(3, np.int64),
        np.zeros(2, np.int64),
        groups(model, ptr),
        sparse_vector(n_features),
    )


def steer(
    jumps: SplitMerge, share_split: float, split_weights: NDArray[np.float64], merge_weights: NDArray[np.float64]
) -> None:
    """Let jumps go by other parameters from now on."""
    jumps.share_split[0] = share_split
    jumps.split_weights[:] = split_weights
    jumps.merge_weights[:] = merge_weights
    jumps.mark[:] = 0


# --- odds


@compiled(inline=True)
def _odds(phi, weights):
    """Eq. 11 before it is normalised."""
    return np.exp(min(FARTHEST, max(-FARTHEST, dot(phi, weights))))


@compiled(part=True, allocates=False)
def _split_odds(jumps, world, group):
    if n_atoms(world, jumps.groups, group) < 2:
        return 0.0
    if _is_uniform(jumps):
        return 1.0
    clear(jumps.phi)
    add_one(world, jumps.groups, group, jumps.phi)
    return _odds(jumps.phi, jumps.split_weights)


@compiled(part=True, allocates=False)
def _merge_odds(jumps, world, one, two):
    if _is_uniform(jumps):
        return 1.0
    clear(jumps.phi)
    add_two(world, jumps.groups, one, two, jumps.phi)
    return _odds(jumps.phi, jumps.merge_weights)


@compiled(inline=True)
def _is_uniform(jumps):
    """Whether all weights are zero, so that nothing has to be compared."""
    for k in range(len(jumps.split_weights)):
        if jumps.split_weights[k] != 0.0 or jumps.merge_weights[k] != 0.0:
            return False
    return True


@compiled(inline=True)
def _signature(world, slot):
    """A number for who is in a cluster, whatever their order; never 0."""
    total = np.uint64(0)
    for k in range(world.clusters.size[slot]):
        z = (np.uint64(member(world.clusters, slot, k)) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        total += (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return total | np.uint64(1)


@separate
def refresh(jumps, world):
    """Take the odds anew of all clusters that are not as they were."""
    held, first = world.clusters, world.window[0]
    n = held.n_used[world.window[2]]
    n_stale = 0
    for p in range(n):
        slot = np.int64(held.order[first + p])
        mark = _signature(world, slot)
        if jumps.mark[slot - first] != mark:
            jumps.mark[slot - first] = mark
            jumps.stale[n_stale] = slot
            n_stale += 1
            jumps.split_odds[slot - first] = _split_odds(jumps, world, slot)
    for place in range(first + n, world.window[1]):  # whoever comes there is new to those that are taken now
        jumps.mark[held.order[place] - first] = 0
    for k in range(n_stale):
        slot = jumps.stale[k]
        for p in range(n):
            other = np.int64(held.order[first + p])
            if other != slot:
                odds = _merge_odds(jumps, world, slot, other)
                jumps.merge_odds[slot - first, other - first] = odds
                jumps.merge_odds[other - first, slot - first] = odds
    # Slots change places without being changed themselves, so that sums over those before are always taken anew.
    jumps.totals[0], jumps.totals[1] = _totals(jumps, world, np.int64(-1), np.int64(-1))


@compiled(allocates=False)
def hold_odds(whole, splits, merges):
    """Take odds as given: of the clusters that can be split, and of all pairs, in the order of the document's slots."""
    world = refer(whole)
    jumps, held, first = world.proposer, world.clusters, world.window[0]
    n_split = n_merge = 0
    for p in range(held.n_used[world.window[2]]):
        slot = np.int64(held.order[first + p]) - first
        jumps.mark[slot] = _signature(world, slot + first)
        jumps.split_odds[slot] = 0.0
        if n_atoms(world, jumps.groups, slot + first) > 1:
            jumps.split_odds[slot] = splits[n_split]
            n_split += 1
        for q in range(p):
            other = np.int64(held.order[first + q]) - first
            jumps.merge_odds[slot, other] = merges[n_merge]
            jumps.merge_odds[other, slot] = merges[n_merge]
            n_merge += 1


@compiled(part=True, allocates=False)
def _totals(jumps, world, one, two):
    """The odds of all splits and of all merges, those of two clusters (or of none, which is -1) left out."""
    held, first = world.clusters, world.window[0]
    n = held.n_used[world.window[2]]
    splits = merges = 0.0
    for p in range(n):
        slot = held.order[first + p]
        if slot == one or slot == two:
            continue
        splits += jumps.split_odds[slot - first]
        row = 0.0
        for q in range(p):
            other = held.order[first + q]
            if other != one and other != two:
                row += jumps.merge_odds[slot - first, other - first]
        merges += row
        if one < 0:
            jumps.row_odds[slot - first] = row
    return splits, merges


@compiled(inline=True)
def _share(jumps, splits, merges):
    """How likely a split is: certain, or impossible, where only one of the two can be."""
    if merges == 0.0:
        return 1.0
    return jumps.share_split[0] if splits > 0.0 else 0.0


# --- jumps


@compiled(inline=True)
def _draw_split(jumps, world, splits, rng):
    """The slot to split."""
    held, first = world.clusters, world.window[0]
    slot = np.int64(-1)
    left = uniform(rng) * splits
    for p in range(held.n_used[world.window[2]]):
        odds = jumps.split_odds[held.order[first + p] - first]
        if odds > 0.0:
            slot = np.int64(held.order[first + p])
            left -= odds
            if left < 0.0:
                break
    return slot


@compiled(inline=True)
def _draw_merge(jumps, world, merges, rng):
    """The two slots to merge."""
    held, first = world.clusters, world.window[0]
    n = held.n_used[world.window[2]]
    left = uniform(rng) * merges
    p = np.int64(1)
    while p < n - 1 and left >= jumps.row_odds[held.order[first + p] - first]:
        left -= jumps.row_odds[held.order[first + p] - first]
        p += 1
    one = np.int64(held.order[first + p])
    q = np.int64(0)
    while q < p - 1 and left >= jumps.merge_odds[one - first, held.order[first + q] - first]:
        left -= jumps.merge_odds[one - first, held.order[first + q] - first]
        q += 1
    return one, np.int64(held.order[first + q])


@separate
def draw_jump(jumps, world, rng):
    """A split or a merge as a transfer, and its log probability; odds are fresh.

    Where a split is guided, the state of sides that its last scan starts from is not counted.
    """
    first = world.window[0]
    splits, merges = jumps.totals[0], jumps.totals[1]
    share = _share(jumps, splits, merges)
    is_guided = len(jumps.guide) > 0
    if uniform(rng) < share:
        slot = _draw_split(jumps, world, splits, rng)
        jumps.chosen[0], jumps.chosen[1], jumps.chosen[2] = SPLIT, slot, -1
        log_q = np.log(share * jumps.split_odds[slot - first] / splits)
        n_parts = n_atoms(world, jumps.groups, slot)
        if is_guided:
            one, two = below(rng, n_parts), below(rng, n_parts - 1)
            two += two >= one
            jumps.anchors[0], jumps.anchors[1] = atom_at(world, slot, one), atom_at(world, slot, two)
            launch(world, jumps.side, jumps.guide, jumps.n_scans, jumps.anchors, slot, slot, rng)
            log_q += scan(world, jumps.side, jumps.guide, jumps.anchors, slot, slot, True, rng)
            log_q -= np.log(np.float64(n_parts) * (n_parts - 1))
        else:
            draw_even(world, jumps.side, slot, rng)
            log_q += log_even(n_parts)
        return Transfer(slot, free_slot(world), bring_side(world, jumps.side, slot), np.int64(0)), log_q
    one, two = _draw_merge(jumps, world, merges, rng)
    jumps.chosen[0], jumps.chosen[1], jumps.chosen[2] = MERGE, one, two
    log_q = np.log((1.0 - share) * jumps.merge_odds[one - first, two - first] / merges)
    if is_guided:
        if below(rng, 2) == 1:
            one, two = two, one
        n_one, n_two = n_atoms(world, jumps.groups, one), n_atoms(world, jumps.groups, two)
        jumps.anchors[0] = atom_at(world, one, below(rng, n_one))
        jumps.anchors[1] = atom_at(world, two, below(rng, n_two))
        log_q -= np.log(2.0 * n_one * n_two)
    return Transfer(one, two, np.int64(world.clusters.size[one]), np.int64(0)), log_q


@compiled(inline=True)
def _log_merge_back(jumps, world, move):
    """The log probability of merging again what a split parts."""
    held, first, parted = world.clusters, world.window[0], jumps.groups
    slot = np.int64(move.source)
    splits, merges = _totals(jumps, world, slot, slot)
    rest = np.int64(held.size[slot] - move.n)
    parted.size[0], parted.size[1] = rest, move.n
    for k in range(held.size[slot]):
        parted.members[0 if k < rest else 1, k if k < rest else k - rest] = member(held, slot, k)
    for group in (FIRST, SECOND):
        count_group(world, parted, group)
        splits += _split_odds(jumps, world, group)
        for p in range(held.n_used[world.window[2]]):
            other = np.int64(held.order[first + p])
            if other != slot:
                merges += _merge_odds(jumps, world, group, other)
    both = _merge_odds(jumps, world, FIRST, SECOND)
    merges += both
    log_q = np.log((1.0 - _share(jumps, splits, merges)) * both / merges)
    if len(jumps.guide) > 0:
        log_q -= np.log(2.0 * n_atoms(world, parted, FIRST) * n_atoms(world, parted, SECOND))
    return log_q


@compiled(inline=True)
def _log_split_back(jumps, world, move, rng):
    """The log probability of splitting what a merge joins into what there is now."""
    held, joined = world.clusters, jumps.groups
    one, two = np.int64(move.source), np.int64(move.target)
    splits, _ = _totals(jumps, world, one, two)
    n_one = np.int64(held.size[one])
    joined.size[0] = n_one + held.size[two]
    for k in range(joined.size[0]):
        joined.members[0, k] = member(held, one, k) if k < n_one else member(held, two, k - n_one)
    count_group(world, joined, FIRST)
    odds = _split_odds(jumps, world, FIRST)
    splits += odds
    is_alone = held.n_used[world.window[2]] == 2  # then there is nothing left to merge
    log_q = np.log(_share(jumps, splits, 0.0 if is_alone else 1.0) * odds / splits)
    n_parts = n_atoms(world, joined, FIRST)
    if len(jumps.guide) == 0:
        return log_q + log_even(n_parts)
    launch(world, jumps.side, jumps.guide, jumps.n_scans, jumps.anchors, one, two, rng)
    log_q += scan(world, jumps.side, jumps.guide, jumps.anchors, one, two, False, rng)
    return log_q - np.log(np.float64(n_parts) * (n_parts - 1))


@separate
def suggest_split_merge(jumps, world, rng):
    """A split or a merge, and log q(back) - log q(there)."""
    if world.window[1] - world.window[0] < 2:
        return stay()
    refresh(jumps, world)
    if jumps.totals[0] + jumps.totals[1] == 0.0:  # all mentions must stay together
        return stay()
    move, there = draw_jump(jumps, world, rng)
    if jumps.chosen[0] == SPLIT:
        return move, _log_merge_back(jumps, world, move) - there
    return move, _log_split_back(jumps, world, move, rng) - there
