"""Where the moves of partition worlds come from.

Every move is a transfer: some members of one cluster go to another one, which may be empty. A single mention
that moves, a merge (all members go) and a split (some go to an empty cluster) are the same thing.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.compiled import compiled
from walkstep.separate import separate
from walkstep.worlds.clusters import bring_to, member
from walkstep.worlds.pair_levels import look
from walkstep.worlds.randomness import below, next_word, uniform

RARITY = 0.75
"""How much more often a walk looks into small blocks; see `block_guided`."""


class Transfer(NamedTuple):
    """The last ``n`` members of cluster ``source`` go to cluster ``target``."""

    source: int | np.integer
    target: int | np.integer
    n: int | np.integer


class TransferProposer(NamedTuple):
    """Where transfers are drawn from; see `block_guided` and `uniform_mention`.

    One class for all of them, so that one compiled loop serves them all.
    """

    block_ptr: NDArray[np.int64]  # (B+1,)
    block_members: NDArray[np.int32]
    record_ptr: NDArray[np.int64]  # (M+1,)
    record_blocks: NDArray[np.int32]
    record_reach: NDArray[np.float64]  # weights of each record's blocks, added up; empty where it has one at most
    block_of: NDArray[np.int32]  # (M,) the block of each mention, -1 for none; empty where some lie in several
    focus: NDArray[np.int32]  # mentions to move; all of them where it is empty
    guide: NDArray[np.float64]  # weights that say which side of a split a mention is drawn to; levels where empty
    share_merge: float
    share_uniform: float
    max_pairs: int  # merges and splits of more pairs are not tried
    is_even: bool  # whether coins alone decide the sides of a split
    side: NDArray[np.int8]  # scratch: the side of a split each mention goes to


def uniform_mention() -> TransferProposer:
    """Move a random mention to a random entity, or out of its own (section 5.1 of the SampleRank paper)."""
    nothing = np.zeros(0, np.int32)
    return _proposer((np.zeros(1), nothing, np.zeros(1), nothing), nothing, np.zeros(0), 0.0, 1.0, 0, False, 0)


def block_guided(
    blocks: Any,
    *,
    share_merge: float = 0.1,
    share_uniform: float = 0.0,
    focus: NDArray[np.integer] | None = None,
    guide: NDArray[np.float64] | None = None,
    max_pairs: int = 1 << 14,
    even_splits: bool = False,
    rarity: float = RARITY,
) -> TransferProposer:
    """Move a random mention to the entity of one that shares a block with it; or merge, or split, those of both.

    Parameters
    ----------
    blocks : Blocks
        From `walkstep.features.blocking`: members of each block, and blocks of each record. In a world of several
        documents no block may reach across them.
    share_merge, share_uniform : float
        Shares of merges and splits, and of moves to any entity at all.
    focus : int array, optional
        The mentions to move; by default all.
    guide : float array (n_weights,), optional
        Weights that pull mentions to one side of a split or the other; by default their levels do.
    max_pairs : int
        Merges and splits that make or break more pairs than this are not tried.
    even_splits : bool
        Whether coins decide the sides of a split, not likeness: few splits are then any good, but neither they nor
        merges, whose way back they are, compare a mention with others before they are priced.
    rarity : float
        Of the blocks of a mention, one of which mates are drawn from, one with n others is chosen with probability
        proportional to n ** -rarity: 0 takes all alike, 1 looks twice as often into one of half the size.
    """
    if not 0.0 <= rarity < np.inf:
        raise ValueError(f"rarity is {rarity}; give 0, where blocks count alike, or more")
    if min(share_merge, share_uniform) < 0.0 or not share_merge + share_uniform <= 1.0:
        raise ValueError(f"shares are {share_merge} and {share_uniform}; give two from 0 to 1, at most 1 together")
    n = len(blocks.record_ptr) - 1
    return _proposer(
        (blocks.block_ptr, blocks.block_members, blocks.record_ptr, blocks.record_blocks),
        np.zeros(0) if focus is None else focus,
        np.zeros(0) if guide is None else guide,
        float(share_merge),
        float(share_uniform),
        int(max_pairs),
        bool(even_splits),
        n if share_merge > 0.0 else 0,
        rarity,
    )


def _only_block(record_ptr, record_blocks) -> NDArray[np.int32]:
    """The block of each mention where none lies in two, else nothing."""
    n_blocks = np.diff(record_ptr)
    if n_blocks.max(initial=0) > 1:
        return np.zeros(0, np.int32)
    block_of = np.full(len(n_blocks), -1, np.int32)
    block_of[n_blocks > 0] = record_blocks
    return block_of


def _reaches(blocks, rarity: float) -> NDArray[np.float64]:
    """The weights of each record's blocks, added up; nothing where no record lies in two."""
    block_ptr, _, record_ptr, record_blocks = blocks
    if np.diff(record_ptr).max(initial=0) <= 1:
        return np.zeros(0)
    n_others = np.diff(block_ptr)[record_blocks] - 1.0
    total = np.concatenate([[0.0], np.cumsum(np.maximum(n_others, 1.0) ** -rarity)])
    return total[1:] - np.repeat(total[record_ptr[:-1]], np.diff(record_ptr))


def _proposer(
    blocks, focus, guide, share_merge, share_uniform, max_pairs, is_even, n_sides, rarity=0.0
) -> TransferProposer:
    """Arrays in the one form that loops are compiled for: contiguous and read-only."""
    forms = (np.int64, np.int32, np.int64, np.int32, np.float64, np.int32, np.int32, np.float64)
    given = (*blocks, _reaches(blocks, rarity), _only_block(*blocks[2:]), focus, guide)
    arrays = [np.ascontiguousarray(x, form).view() for x, form in zip(given, forms, strict=True)]
    for array in arrays:
        array.flags.writeable = False
    fields: tuple[Any, ...] = (*arrays, share_merge, share_uniform, max_pairs, is_even, np.zeros(n_sides, np.int8))
    return TransferProposer(*fields)


def check_blocks_within(proposer: TransferProposer, document_ptr: NDArray[np.int64]) -> None:
    """An error if a block reaches across documents, between which no mention can go."""
    if len(document_ptr) == 2 or len(proposer.block_members) == 0:
        return
    members = proposer.block_members
    document = np.repeat(np.arange(len(document_ptr) - 1), np.diff(document_ptr))[members]
    block = np.repeat(np.arange(len(proposer.block_ptr) - 1), np.diff(proposer.block_ptr))
    wrong = np.flatnonzero((document[1:] != document[:-1]) & (block[1:] == block[:-1]))
    if len(wrong):
        at = wrong[0]
        raise ValueError(
            f"a block holds mentions {members[at]} and {members[at + 1]}, of documents {document[at]} and "
            f"{document[at + 1]}, between which nothing moves; give block_guided blocks of each document by itself"
        )


def n_mates(proposer: TransferProposer, n_mentions: int) -> float:
    """How many others a mention meets, on average over mentions."""
    if len(proposer.record_ptr) < 2:  # no blocks: it may meet any
        return float(n_mentions)
    size = np.diff(proposer.block_ptr).astype(np.float64)
    return float((size * (size - 1)).sum() / max(n_mentions, 1))


def n_drawn_from(proposer: TransferProposer, n_mentions: int) -> float:
    """Among how many others a mention's mate is drawn, on average over mentions and their blocks."""
    n_others = np.diff(proposer.block_ptr)[proposer.record_blocks] - 1.0
    if len(proposer.record_reach) == 0:
        return float(n_others.sum() / max(n_mentions, 1))
    first, last = proposer.record_ptr[:-1], proposer.record_ptr[1:]
    weight = np.diff(proposer.record_reach, prepend=0.0)
    weight[first[first < last]] = proposer.record_reach[first[first < last]]
    share = weight / np.repeat(proposer.record_reach[np.maximum(last - 1, 0)], last - first)
    return float((share * n_others).sum() / max(n_mentions, 1))


def block_order(proposer: TransferProposer, n_mentions: int) -> NDArray[np.int32]:
    """Where each mention stands when those of a block stand side by side; with several blocks the largest counts."""
    block = np.full(n_mentions, -1, np.int64)
    if len(proposer.record_ptr) > 1:
        record = np.repeat(np.arange(n_mentions), np.diff(proposer.record_ptr))
        by_size = np.argsort(np.diff(proposer.block_ptr)[proposer.record_blocks], kind="stable")
        block[record[by_size]] = proposer.record_blocks[by_size]  # written last, the largest stays
    order = np.empty(n_mentions, np.int32)
    order[np.argsort(block, kind="stable")] = np.arange(n_mentions)
    return order


@compiled(inline=True)
def pair_score(model, pairs, place, weights):
    """The score of the pair whose levels lie at ``place``."""
    total = 0.0
    for c in range(len(model.pair_offset)):
        at = model.pair_offset[c]
        if at >= 0:
            total += weights[at + pairs.levels[place, c]]
    for q in range(len(model.conjunction_offset)):
        at = model.conjunction_offset[q]
        for e in range(model.conjunction_ptr[q], model.conjunction_ptr[q + 1]):
            at += model.conjunction_stride[e] * pairs.levels[place, model.conjunction_of[e]]
        total += weights[at]
    return total


@compiled(inline=True)
def score_of_pair(model, pairs, m, i, weights):
    """The score of two mentions together, remembered where weights are held; ``m`` is the one that moves."""
    at = look(pairs, m, i)
    if at >= len(pairs.score):
        return pair_score(model, pairs, at, weights)
    score = pairs.score[at]
    if np.isnan(score):
        score = pair_score(model, pairs, at, weights)
        pairs.score[at] = score
    return score


@compiled(inline=True)
def same_atom(world, i, j):
    """Whether two mentions must stay together."""
    atom_of = world.constraints.atom_of
    return i == j or (len(atom_of) > 0 and atom_of[i] == atom_of[j])


@compiled(inline=True)
def gather(world, mention):
    """Bring a mention, with those that must stay with it, to the end of its cluster; returns how many they are."""
    clusters, constraints = world.clusters, world.constraints
    size = clusters.size[clusters.cluster_of[mention]]
    if len(constraints.atom_of) == 0:
        bring_to(clusters, mention, size - 1)
        return 1
    a = constraints.atom_of[mention]
    n = 0
    for e in range(constraints.atom_ptr[a], constraints.atom_ptr[a + 1]):
        n += 1
        bring_to(clusters, np.int64(constraints.atom_members[e]), size - n)
    return n


@compiled(inline=True)
def free_slot(world):
    """A free slot of the document entered, or -1 where every mention is alone."""
    first, d = world.window[0], world.window[2]
    place = first + world.clusters.n_used[d]
    return np.int64(world.clusters.order[place]) if place < world.window[1] else np.int64(-1)


@compiled(inline=True)
def _stay():
    """No move at all."""
    return Transfer(np.int64(0), np.int64(0), np.int64(0)), 0.0


@separate
def _uniform_mention(world, mention, rng):
    """To any entity, all equally likely; to its own means out of it."""
    clusters = world.clusters
    n_entities = clusters.n_used[world.window[2]]
    source = np.int64(clusters.cluster_of[mention])
    target = np.int64(clusters.order[world.window[0] + below(rng, n_entities)])
    n = np.int64(gather(world, mention))
    is_alone = n == clusters.size[source]
    if target == source:
        if is_alone:
            return _stay()
        # Out there are n_entities to choose from, and one more on the way back.
        return Transfer(source, free_slot(world), n), np.log(n_entities / (n_entities + 1.0))
    if is_alone:
        return Transfer(source, target, n), np.log(n_entities / (n_entities - 1.0))
    return Transfer(source, target, n), 0.0


@compiled(inline=True)
def _mate(proposer, mention, rng):
    """Another mention of one of its blocks, or -1 where it has no block."""
    first, last = proposer.record_ptr[mention], proposer.record_ptr[mention + 1]
    if first == last:
        return np.int64(-1)
    at = first
    if last - first > 1:
        point = uniform(rng) * proposer.record_reach[last - 1]
        while at < last - 1 and proposer.record_reach[at] <= point:
            at += 1
    b = proposer.record_blocks[at]
    start = proposer.block_ptr[b]
    n = proposer.block_ptr[b + 1] - start
    while True:
        other = proposer.block_members[start + below(rng, n)]
        if other != mention:
            return np.int64(other)


@compiled(inline=True)
def _pull(proposer, mention, other):
    """The probability that ``other`` is drawn as a mate of ``mention``, where mentions lie in several blocks."""
    first, last_i = proposer.record_ptr[mention], proposer.record_ptr[mention + 1]
    j, last_j = proposer.record_ptr[other], proposer.record_ptr[other + 1]
    reach = proposer.record_reach
    total = 0.0
    i = first
    while i < last_i and j < last_j:
        a, b = proposer.record_blocks[i], proposer.record_blocks[j]
        if a == b:
            weight = reach[i] - (reach[i - 1] if i > first else 0.0)
            total += weight / (proposer.block_ptr[a + 1] - proposer.block_ptr[a] - 1)
            i += 1
            j += 1
        elif a < b:
            i += 1
        else:
            j += 1
    return total / reach[last_i - 1]


@compiled(inline=True)
def _pull_of_cluster(proposer, world, mention, slot, n):
    """The probability that a mate of ``mention`` is drawn from the first ``n`` members of a cluster."""
    total = 0.0
    if len(proposer.block_of) > 0:
        b = proposer.block_of[mention]
        n_mates = 0
        for k in range(n):
            n_mates += proposer.block_of[member(world.clusters, slot, k)] == b
        return n_mates / (proposer.block_ptr[b + 1] - proposer.block_ptr[b] - 1)
    for k in range(n):
        total += _pull(proposer, mention, member(world.clusters, slot, k))
    return total


@separate
def _block_mention(proposer, world, mention, rng):
    """To the entity of a mate; where that is its own, out of it."""
    clusters = world.clusters
    mate = _mate(proposer, mention, rng)
    if mate < 0 or same_atom(world, mention, mate):
        return _stay()
    source, target = np.int64(clusters.cluster_of[mention]), np.int64(clusters.cluster_of[mate])
    n = np.int64(gather(world, mention))
    rest = clusters.size[source] - n
    if source == target:
        return Transfer(source, free_slot(world), n), 0.0
    if rest == 0:
        return Transfer(source, target, n), 0.0
    # There by any mate in the target, back by any mate among those left; alone or not, ways out and in are equal.
    there = _pull_of_cluster(proposer, world, mention, target, np.int64(clusters.size[target]))
    back = _pull_of_cluster(proposer, world, mention, source, rest)
    if back == 0.0:
        return _stay()
    return Transfer(source, target, n), np.log(back / there)


@compiled(inline=True)
def _likeness(proposer, world, i, j):
    """How much two mentions are alike, by the guiding weights or else by their levels."""
    pairs = world.pairs
    place = look(pairs, i, j)
    if len(proposer.guide) > 0:
        return pair_score(world.model, pairs, place, proposer.guide)
    total = 0.0
    for c in range(len(pairs.comparisons.n_levels)):
        total += pairs.levels[place, c] / max(1, pairs.comparisons.n_levels[c] - 1)
    return total


@compiled(part=True, allocates=False)
def _to_first(proposer, world, m, one, two):
    """The probability that a mention goes to the side of ``one`` in a split between ``one`` and ``two``."""
    if proposer.is_even:
        return 0.5
    x = _likeness(proposer, world, m, one) - _likeness(proposer, world, m, two)
    return min(0.99, max(0.01, 1.0 / (1.0 + np.exp(-x))))


@compiled(inline=True)
def _representative(world, m):
    """The mention that decides for all that must stay together."""
    constraints = world.constraints
    if len(constraints.atom_of) == 0:
        return np.int64(m)
    return np.int64(constraints.atom_members[constraints.atom_ptr[constraints.atom_of[m]]])


@compiled(part=True, allocates=False)
def _log_sides(proposer, world, slot, one, two, is_first):
    """The log probability that a split sends the members of a cluster to the side of ``one`` (or of ``two``)."""
    total = 0.0
    if proposer.is_even and len(world.constraints.atom_of) == 0:  # all but the one that has its side
        return (world.clusters.size[slot] - 1) * np.log(0.5)
    for k in range(world.clusters.size[slot]):
        m = np.int64(member(world.clusters, slot, k))
        if m != _representative(world, m) or same_atom(world, m, one) or same_atom(world, m, two):
            continue
        p = _to_first(proposer, world, m, one, two)
        total += np.log(p if is_first else 1.0 - p)
    return total


@compiled(inline=True)
def _coin(seed, m):
    """A number in [0, 1) for a mention, from a random word: the same in whatever order members lie (SplitMix64)."""
    z = seed + np.uint64(m) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@separate
def _merge_or_split(proposer, world, one, rng):
    """Merge the entities of two block mates, or split the one they share.

    The two are drawn whatever the partition is, so their probability cancels; a merge has one way, a split
    as many as there are sides to choose (as in Jain and Neal, 2004, with sides drawn by likeness).
    """
    clusters = world.clusters
    two = _mate(proposer, one, rng)
    if two < 0 or same_atom(world, one, two):
        return _stay()
    source, target = np.int64(clusters.cluster_of[one]), np.int64(clusters.cluster_of[two])
    size = np.int64(clusters.size[source])
    if source != target:
        if size * clusters.size[target] > proposer.max_pairs:
            return _stay()
        back = _log_sides(proposer, world, source, one, two, True)
        back += _log_sides(proposer, world, target, one, two, False)
        return Transfer(source, target, size), back
    if size - 1 > proposer.max_pairs:  # the least that any split breaks
        return _stay()
    there = 0.0
    seed = next_word(rng)
    for k in range(size):
        m = np.int64(member(clusters, source, k))
        if m != _representative(world, m):
            continue
        if same_atom(world, m, one):
            proposer.side[m] = 1
        elif same_atom(world, m, two):
            proposer.side[m] = 0
        else:
            p = _to_first(proposer, world, m, one, two)
            proposer.side[m] = _coin(seed, m) < p
            there += np.log(p if proposer.side[m] == 1 else 1.0 - p)
    end, k = size, 0
    while k < end:
        m = np.int64(member(clusters, source, k))
        if proposer.side[_representative(world, m)] == 1:
            end -= 1
            bring_to(clusters, m, end)
        else:
            k += 1
    n = size - end
    if n * end > proposer.max_pairs:
        return _stay()
    return Transfer(source, free_slot(world), n), -there


@compiled(inline=True)
def suggest_transfer(proposer, world, rng):
    """A transfer, and log q(back) - log q(there)."""
    first, last = world.window[0], world.window[1]
    if len(proposer.focus) > 0:
        mention = np.int64(proposer.focus[below(rng, len(proposer.focus))])
    else:
        mention = first + below(rng, last - first)
    kind = 0.0 if proposer.share_uniform >= 1.0 else uniform(rng)
    if kind < proposer.share_uniform:
        return _uniform_mention(world, mention, rng)
    if kind < proposer.share_uniform + proposer.share_merge:
        return _merge_or_split(proposer, world, mention, rng)
    return _block_mention(proposer, world, mention, rng)
