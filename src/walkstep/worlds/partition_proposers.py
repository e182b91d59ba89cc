"""Where the moves of partition worlds come from: proposers, which hold what jumps need and how often each is tried."""

from math import fsum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.compiled import compiled
from walkstep.worlds.group_jumps import move_several
from walkstep.worlds.mention_jumps import to_any_entity, to_drawn_entity, to_entity_of_mate
from walkstep.worlds.merge_jumps import merge_or_split
from walkstep.worlds.pair_scores import pair_score, score_of_pair
from walkstep.worlds.randomness import below, uniform
from walkstep.worlds.swap_jumps import swap
from walkstep.worlds.transfers import Transfer, free_slot, gather, representative, same_atom
from walkstep.worlds.unsettled import NOTHING, leave

RARITY = 0.75
"""How much more often a walk looks into small blocks; see `block_guided`."""
MOST_LOOKED_AT = 512
"""Mates that a mention looks at before it goes to the entity that draws it; in larger blocks, so many of them."""
_SHARES = ("share_merge", "share_uniform", "share_swap", "share_several", "share_drawn")

__all__ = [
    "MOST_LOOKED_AT",
    "RARITY",
    "Transfer",
    "TransferProposer",
    "block_guided",
    "block_order",
    "check_blocks_within",
    "free_slot",
    "gather",
    "n_drawn_from",
    "n_mates",
    "pair_score",
    "representative",
    "same_atom",
    "score_of_pair",
    "suggest_transfer",
    "uniform_mention",
]


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
    share_swap: float
    share_several: float
    share_drawn: float
    max_pairs: int  # merges, splits and moves of several that break or make more pairs are not tried
    is_even: bool  # whether coins alone decide the sides of a split
    side: NDArray[np.int8]  # scratch: the side of a split each mention goes to
    unsettled: NDArray[np.int64]  # (3,) what the ratio of the last move still depends on
    n_looked: NDArray[np.int64]  # (1,) mates that the last mention to be drawn by them has looked at
    drawn: NDArray[np.float64]  # scratch: how much each entity draws a mention
    reached: NDArray[np.int32]  # scratch: which entities these are
    place: NDArray[np.int32]  # scratch: where among them each slot is, -1 where it is not


def uniform_mention() -> TransferProposer:
    """Move a random mention to a random entity, or out of its own (section 5.1 of the SampleRank paper)."""
    nothing = np.zeros(0, np.int32)
    shares = (0.0, 1.0, 0.0, 0.0, 0.0)
    return _proposer((np.zeros(1), nothing, np.zeros(1), nothing), nothing, np.zeros(0), shares, 0, False)


def block_guided(
    blocks: Any,
    *,
    share_merge: float = 0.1,
    share_uniform: float = 0.0,
    share_swap: float = 0.0,
    share_several: float = 0.0,
    share_drawn: float = 0.0,
    focus: NDArray[np.integer] | None = None,
    guide: NDArray[np.float64] | None = None,
    max_pairs: int = 1 << 14,
    even_splits: bool = False,
    rarity: float = RARITY,
) -> TransferProposer:
    """Move a random mention to the entity of one that shares a block with it, its mate; or make one of other jumps.

    Parameters
    ----------
    blocks : Blocks
        From `walkstep.features.blocking`: members of each block, and blocks of each record. In a world of several
        documents no block may reach across them.
    share_merge, share_uniform : float
        Shares of merges and splits of the entities of a mention and its mate, and of moves to any entity at all.
    share_swap : float
        Share of moves to the entity of a mate from which one of its members, any of them, comes back: for entities
        that have room for one only, by constraints or by what clusters score.
    share_several : float
        Share of moves from the entity of one mate to that of another, along with whoever is drawn to the second.
    share_drawn : float
        Share of moves to the entity that draws a mention most, by its likeness to all its mates of one block at once.
    focus : int array, optional
        The mentions to move, by default all; merges, splits, swaps and moves of several take others with them.
    guide : float array (n_weights,), optional
        Weights that draw mentions to an entity, or to one side of a split or the other; by default their levels do.
    max_pairs : int
        Merges, splits and moves of several that make or break more pairs than this are not tried.
    even_splits : bool
        Whether coins decide the sides of a split, not likeness: few splits are then any good, but neither they nor
        merges, whose way back they are, compare a mention with others before they are priced. So it is with who goes
        along in moves of several.
    rarity : float
        Of the blocks of a mention, one of which mates are drawn from, one with n others is chosen with probability
        proportional to n ** -rarity: 0 takes all alike, 1 looks twice as often into one of half the size.
    """
    if not 0.0 <= rarity < np.inf:
        raise ValueError(f"rarity is {rarity}; give 0, where blocks count alike, or more")
    shares = (float(share_merge), float(share_uniform), float(share_swap), float(share_several), float(share_drawn))
    if not (min(shares) >= 0.0 and fsum(shares) <= 1.0):
        said = ", ".join(f"{name}={share}" for name, share in zip(_SHARES, shares, strict=True))
        raise ValueError(f"shares are {said}; give each from 0 to 1, at most 1 together")
    made = _proposer(
        (blocks.block_ptr, blocks.block_members, blocks.record_ptr, blocks.record_blocks),
        np.zeros(0) if focus is None else focus,
        np.zeros(0) if guide is None else guide,
        shares,
        int(max_pairs),
        bool(even_splits),
        rarity,
    )
    if share_drawn > 0.0:
        return with_scratch(made)
    return with_scratch(made, is_drawing=False) if share_merge + share_several > 0.0 else made


def with_scratch(proposer: TransferProposer, *, is_drawing: bool = True) -> TransferProposer:
    """The same proposer with room for what jumps of its kinds write down on the way."""
    n = len(proposer.record_ptr) - 1
    sided = proposer._replace(side=np.zeros(n, np.int8))
    if not is_drawing:
        return sided
    n_looked = min(MOST_LOOKED_AT, int(np.diff(proposer.block_ptr).max(initial=0)))
    return sided._replace(
        drawn=np.zeros(n_looked),
        reached=np.zeros(n_looked, np.int32),
        place=np.full(n, -1, np.int32),
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


def _proposer(blocks, focus, guide, shares, max_pairs, is_even, rarity=0.0) -> TransferProposer:
    """Arrays in the one form that loops are compiled for: contiguous and read-only."""
    forms = (np.int64, np.int32, np.int64, np.int32, np.float64, np.int32, np.int32, np.float64)
    given = (*blocks, _reaches(blocks, rarity), _only_block(*blocks[2:]), focus, guide)
    arrays = [np.ascontiguousarray(x, form).view() for x, form in zip(given, forms, strict=True)]
    for array in arrays:
        array.flags.writeable = False
    nothing = np.zeros(0), np.zeros(0, np.int32), np.zeros(0, np.int32)
    scratch = np.zeros(0, np.int8), np.zeros(3, np.int64), np.zeros(1, np.int64), *nothing
    fields: tuple[Any, ...] = (*arrays, *shares, max_pairs, is_even, *scratch)
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
def suggest_transfer(proposer, world, rng):
    """A transfer, and log q(back) - log q(there) but for what `settle_transfer` adds."""
    leave(proposer, NOTHING, np.int64(-1), np.int64(-1))
    first, last = world.window[0], world.window[1]
    if len(proposer.focus) > 0:
        mention = np.int64(proposer.focus[below(rng, len(proposer.focus))])
    else:
        mention = first + below(rng, last - first)
    kind = 0.0 if proposer.share_uniform >= 1.0 else uniform(rng)
    if kind < proposer.share_uniform:
        return to_any_entity(world, mention, rng)
    reach = proposer.share_uniform + proposer.share_merge
    if kind < reach:
        return merge_or_split(proposer, world, mention, rng)
    rarer = proposer.share_swap + proposer.share_several
    if kind >= reach + (rarer + proposer.share_drawn):  # most moves: asked before the rarer ones
        return to_entity_of_mate(proposer, world, mention, rng)
    if kind < reach + proposer.share_swap:
        return swap(proposer, world, mention, rng)
    if kind < reach + rarer:
        return move_several(proposer, world, mention, rng)
    return to_drawn_entity(proposer, world, mention, rng)
