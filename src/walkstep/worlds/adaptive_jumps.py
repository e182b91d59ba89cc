"""Jumps that are learned while a walk goes on, at a cost that does not grow with the world.

How often each kind of jump is tried is learned; and what is merged or split is chosen among a few candidates, with odds
log-linear in the features that the model has of pairs (Rohanimanesh et al., 2009, Eq. 11, by samples). Blocks supply
the candidates: pairs of mentions drawn whatever the partition is. Their probability cancels, so that what a choice
costs is a few comparisons, there and back, and detailed balance holds for any weights.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled
from walkstep.model.partition_templates import PartitionModel
from walkstep.separate import separate
from walkstep.worlds.block_mates import draw_mate
from walkstep.worlds.group_jumps import move_several
from walkstep.worlds.mention_jumps import to_any_entity, to_drawn_entity, to_entity_of_mate
from walkstep.worlds.merge_jumps import merge_or_split_two
from walkstep.worlds.pair_levels import look
from walkstep.worlds.pair_scores import pair_score
from walkstep.worlds.partition_proposers import TransferProposer, with_scratch
from walkstep.worlds.randomness import below, uniform
from walkstep.worlds.split_sides import FARTHEST
from walkstep.worlds.swap_jumps import swap
from walkstep.worlds.transfers import same_atom, stay
from walkstep.worlds.unsettled import NOTHING, leave, settle_transfer

MENTION, MERGE, SEVERAL, SWAP, ANY, DRAWN = range(6)
KINDS = ("mention", "merge or split", "several", "swap", "any entity", "best entity")
"""Kinds of jumps, as shares of them are given."""
_N_LOGGED = 1 << 12


class AdaptiveJumps(NamedTuple):
    """Where jumps are drawn from; see `adaptive`. K is the number of candidates, L of samples that are kept."""

    transfers: TransferProposer
    shares: NDArray[np.float64]  # (6,) of each kind
    split_weights: NDArray[np.float64]  # (n_weights + 2,) of a pair that is together; then of 1, and of the size
    merge_weights: NDArray[np.float64]  # of a pair that is apart
    kind: NDArray[np.int64]  # (2,) of the jump drawn last, and the candidate that was chosen
    pairs: NDArray[np.int64]  # (K, 2) the candidates
    odds: NDArray[np.float64]  # (K,) of each
    tally: NDArray[np.float64]  # (6, 4) of each kind: tried, taken, what those gained, and factors touched or looked at
    n_logged: NDArray[np.int64]  # (1,) jumps so far; the last L are kept
    log_kind: NDArray[np.int8]  # (L,)
    log_gain: NDArray[np.float64]  # (L,) what each would gain
    log_worth: NDArray[np.float64]  # (L,) the same for each factor it touches
    log_choice: NDArray[np.int8]  # (L,) the candidate that was chosen, -1 for kinds that have none
    log_pairs: NDArray[np.int32]  # (L, K, 2)
    log_size: NDArray[np.float32]  # (L, K) logarithms of the pairs a jump would make or break; negative: together

    @property
    def focus(self) -> NDArray[np.int32]:
        """The mentions to move; all where it is empty."""
        return self.transfers.focus

    @property
    def max_pairs(self) -> int:
        """The most pairs that a merge or a split makes or breaks."""
        return self.transfers.max_pairs


def adaptive(
    transfers: TransferProposer,
    model: PartitionModel,
    *,
    shares: ArrayLike = (0.05, 0.9, 0.02, 0.02, 0.0, 0.01),
    weights: ArrayLike | None = None,
    sharpness: float = 3.0,
    n_candidates: int = 16,
) -> AdaptiveJumps:
    """Jumps whose kinds and candidates a walk can learn; see `walkstep.inference.jump_learning`.

    Parameters
    ----------
    transfers : TransferProposer
        What `block_guided` gives, for its blocks, focus, guide and largest merge; its own shares are not used.
    model : PartitionModel
    shares : float array (6,)
        Of single mentions, of merges and splits, of moves of several, of swaps, and of moves to any entity and to the
        one that draws a mention most.
    weights : float array (n_weights,), optional
        Of the model. Pairs that they speak for are merged more often at first, and those they speak against are
        split; without them all candidates are alike.
    sharpness : float
        How much they say at first: a pair that they score x is merged with odds of exp(sharpness x), or split with
        exp(-sharpness x).
    n_candidates : int
        Pairs among which a merge or a split is chosen.

    Examples
    --------
    >>> from walkstep.features.blocks import Blocks
    >>> from walkstep.model.partition_templates import Affinity, ground_partition
    >>> from walkstep.worlds import block_guided
    >>> one_block = Blocks(np.array([0, 4]), np.arange(4), np.arange(5), np.zeros(4, int))
    >>> jumps = adaptive(block_guided(one_block), ground_partition([Affinity()], {"title": 3}, {}).model)
    >>> dict(zip(KINDS, jumps.shares.tolist()))
    {'mention': 0.05, 'merge or split': 0.9, 'several': 0.02, 'swap': 0.02, 'any entity': 0.0, 'best entity': 0.01}
    """
    share = np.array(shares, dtype=np.float64)
    if share.shape != (len(KINDS),) or not (share >= 0.0).all() or not np.isclose(share.sum(), 1.0):
        raise ValueError(f"shares are {shares}; give one for each of {', '.join(KINDS)}, that add up to 1")
    if len(transfers.record_ptr) < 2:
        raise ValueError(
            "transfers have no blocks, from which mates and candidates are drawn; give those of block_guided"
        )
    if not 0.0 <= sharpness < np.inf:
        raise ValueError(f"sharpness is {sharpness}; give 0, where candidates are alike, or more")
    if not 1 <= n_candidates < 128:
        raise ValueError(f"n_candidates is {n_candidates}; give at least 1, and below 128")
    split, merge = np.zeros(model.n_weights + 2), np.zeros(model.n_weights + 2)
    if weights is not None:
        given = np.asarray(weights, dtype=np.float64)
        if given.shape != (model.n_weights,):
            raise ValueError(f"weights have shape {given.shape}; give one for each of {model.n_weights} statistics")
        split[:-2], merge[:-2] = -sharpness * given, sharpness * given
    return AdaptiveJumps(
        with_scratch(transfers),
        share / share.sum(),  # what decimals leave over would go to the last kind
        split,
        merge,
        np.zeros(2, np.int64),
        np.zeros((n_candidates, 2), np.int64),
        np.zeros(n_candidates),
        np.zeros((len(KINDS), 4)),
        np.zeros(1, np.int64),
        np.zeros(_N_LOGGED, np.int8),
        np.zeros(_N_LOGGED),
        np.zeros(_N_LOGGED),
        np.zeros(_N_LOGGED, np.int8),
        np.zeros((_N_LOGGED, n_candidates, 2), np.int32),
        np.zeros((_N_LOGGED, n_candidates), np.float32),
    )


@compiled(inline=True)
def _cluster_after(world, move, m):
    """The cluster of a mention once a transfer is made."""
    held = world.clusters
    slot = held.cluster_of[m]
    if move.n > 0 and slot == move.source and held.position[m] >= held.size[slot] - move.n:
        return np.int64(move.target)
    return np.int64(slot)


@compiled(inline=True)
def _size_after(world, move, slot):
    size = np.int64(world.clusters.size[slot])
    if move.n > 0:
        if slot == move.source:
            size -= move.n
        elif slot == move.target:
            size += move.n
    return size


@compiled(inline=True)
def _log_pairs(world, move, one, two):
    """The log of how many pairs a jump of two mentions makes or breaks, once a transfer is made; and if together."""
    first, second = _cluster_after(world, move, one), _cluster_after(world, move, two)
    n = _size_after(world, move, first)
    if first == second:
        return np.log(0.5 * n * (n - 1.0)), True
    return np.log(np.float64(n) * _size_after(world, move, second)), False


@compiled(part=True, allocates=False)
def _odds(jumps, world, move, k):
    """The odds that a candidate is chosen, once a transfer is made; 0 where there is no such pair."""
    one, two = jumps.pairs[k, 0], jumps.pairs[k, 1]
    if two < 0 or same_atom(world, one, two):
        return 0.0
    size, is_together = _log_pairs(world, move, one, two)
    weights = jumps.split_weights if is_together else jumps.merge_weights
    n = len(weights)
    x = pair_score(world.model, world.pairs, look(world.pairs, one, two), weights)
    x += weights[n - 2] + weights[n - 1] * size
    return np.exp(max(-FARTHEST, min(FARTHEST, x)))


@compiled(inline=True)
def _is_touched(jumps, world, move, k):
    """Whether a transfer changes the cluster of one of a candidate's two, or its size."""
    if jumps.odds[k] == 0.0:
        return False
    one, two = world.clusters.cluster_of[jumps.pairs[k, 0]], world.clusters.cluster_of[jumps.pairs[k, 1]]
    return one == move.source or one == move.target or two == move.source or two == move.target


@compiled(inline=True)
def _draw_mention(jumps, world, rng):
    focus = jumps.transfers.focus
    if len(focus) > 0:
        return np.int64(focus[below(rng, len(focus))])
    return world.window[0] + below(rng, world.window[1] - world.window[0])


@separate
def _choose_and_merge(jumps, world, rng):
    """Draw candidates, choose one by its odds, and merge or split it.

    Candidates are drawn whatever the partition is; the one that is chosen leads back when it is chosen again.
    """
    n = len(jumps.pairs)
    total = 0.0
    nowhere = stay()[0]
    for k in range(n):
        jumps.pairs[k, 0] = _draw_mention(jumps, world, rng)
        jumps.pairs[k, 1] = draw_mate(jumps.transfers, jumps.pairs[k, 0], rng)
        jumps.odds[k] = _odds(jumps, world, nowhere, k)
        total += jumps.odds[k]
    jumps.kind[1] = -1
    if total == 0.0:
        return stay()
    left = uniform(rng) * total
    chosen = np.int64(-1)
    for k in range(n):
        if jumps.odds[k] > 0.0:
            chosen = np.int64(k)
            left -= jumps.odds[k]
            if left < 0.0:
                break
    jumps.kind[1] = chosen
    return merge_or_split_two(jumps.transfers, world, jumps.pairs[chosen, 0], jumps.pairs[chosen, 1], rng)


@separate
def settle_adaptive(jumps, world, move, ratio):
    """The whole log ratio of the transfer suggested last: with the odds of its candidate, there and back."""
    ratio = settle_transfer(jumps.transfers, world, move, ratio)
    chosen = jumps.kind[1]
    if chosen < 0 or move.n == 0:
        return ratio
    total = total_back = back = 0.0
    for k in range(len(jumps.pairs)):
        odds = _odds(jumps, world, move, k) if _is_touched(jumps, world, move, k) else jumps.odds[k]
        total += jumps.odds[k]
        total_back += odds
        if k == chosen:
            back = odds
    return ratio + np.log(back / total_back * (total / jumps.odds[chosen]))


@separate
def suggest_adaptive(jumps, world, rng):
    """A transfer, and log q(back) - log q(there) but for what `settle_adaptive` adds."""
    leave(jumps.transfers, NOTHING, np.int64(-1), np.int64(-1))
    jumps.transfers.n_looked[0] = 0
    point = uniform(rng)
    kind = 0
    while kind < len(jumps.shares) - 1 and point >= jumps.shares[kind]:
        point -= jumps.shares[kind]
        kind += 1
    jumps.kind[0] = kind
    jumps.kind[1] = -1
    if kind == MERGE:
        return _choose_and_merge(jumps, world, rng)
    mention = _draw_mention(jumps, world, rng)
    if kind == MENTION:
        return to_entity_of_mate(jumps.transfers, world, mention, rng)
    if kind == SEVERAL:
        return move_several(jumps.transfers, world, mention, rng)
    if kind == SWAP:
        return swap(jumps.transfers, world, mention, rng)
    if kind == DRAWN:
        return to_drawn_entity(jumps.transfers, world, mention, rng)
    return to_any_entity(world, mention, rng)


@compiled(part=True, allocates=False)
def note_jump(jumps, world, move, change, accepted):
    """Write down what became of the jump drawn last, before it is made."""
    kind, chosen = jumps.kind[0], jumps.kind[1]
    held = world.clusters
    rest = held.size[move.source] - move.n
    cost = 1.0
    if kind == MERGE:
        cost += len(jumps.pairs)
    elif kind == DRAWN:
        cost += jumps.transfers.n_looked[0]
    if move.n > 0:
        cost += np.float64(move.n) * (rest + held.size[move.target])
    jumps.tally[kind, 0] += 1.0
    jumps.tally[kind, 3] += cost
    if accepted and move.n > 0:
        jumps.tally[kind, 1] += 1.0
        if np.isfinite(change):
            jumps.tally[kind, 2] += change
    at = jumps.n_logged[0] % len(jumps.log_kind)
    jumps.n_logged[0] += 1
    jumps.log_kind[at] = kind
    jumps.log_gain[at] = change if move.n > 0 else 0.0
    jumps.log_worth[at] = change / cost if move.n > 0 else 0.0
    jumps.log_choice[at] = chosen
    if chosen >= 0:
        nowhere = stay()[0]
        for k in range(len(jumps.pairs)):
            one, two = jumps.pairs[k, 0], jumps.pairs[k, 1]
            jumps.log_pairs[at, k, 0], jumps.log_pairs[at, k, 1] = one, two
            if two < 0 or same_atom(world, one, two):
                jumps.log_pairs[at, k, 1] = -1
                continue
            size, is_together = _log_pairs(world, nowhere, one, two)
            jumps.log_size[at, k] = -1.0 - size if is_together else size
