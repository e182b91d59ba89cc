"""How many true pairs blocks keep apart."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from walkstep.compiled import compiled
from walkstep.features.blocks import Blocks

_PAIRS_CHECKED = 20_000_000  # true pairs looked at one by one before a sample has to do


class LostPairs(NamedTuple):
    """True pairs that blocks keep apart.

    Parameters
    ----------
    n_pairs : int
        Pairs of records of one entity.
    lost : float
        Share of them that have no block in common.
    unchained : float
        Share of them that cannot even be joined step by step through records of the same entity that share
        blocks: no walk over these blocks can bring them together rightly.
    is_sampled : bool
        Whether ``lost`` comes from a sample of the pairs.
    """

    n_pairs: int
    lost: float
    unchained: float
    is_sampled: bool


def lost_pairs(
    blocks: Blocks, truth: Sequence[Any] | ArrayLike | pl.Series, *, max_pairs: int = _PAIRS_CHECKED, seed: int = 0
) -> LostPairs:
    """How many true pairs the blocks lose.

    Parameters
    ----------
    blocks : Blocks
        Of N records.
    truth : sequence (N,)
        The entity of each record, None where it is unknown.
    max_pairs : int
        Where there are more true pairs than this, so many are drawn, uniformly.
    seed : int
        Of the draw.

    Examples
    --------
    >>> from walkstep.features.block_keys import Same
    >>> from walkstep.features.blocking import Blocking
    >>> frame = pl.DataFrame({"a": ["x", "x", None], "b": [None, "y", "y"]})
    >>> lost_pairs(Blocking([Same("a"), Same("b")]).build(frame).blocks, ["e", "e", "e"])
    LostPairs(n_pairs=3, lost=0.3333333333333333, unchained=0.0, is_sampled=False)
    """
    names = truth if isinstance(truth, pl.Series) else pl.Series(list(np.asarray(truth, object)), strict=False)
    n_records = len(blocks.record_ptr) - 1
    if len(names) != n_records:
        raise ValueError(f"truth names the entities of {len(names)} records but the blocks hold {n_records}")
    number = names.rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1
    order = np.argsort(number, kind="stable")
    order = order[np.searchsorted(number[order], 0) :]
    ptr = np.concatenate([[0], np.cumsum(np.bincount(number[order], minlength=1))]).astype(np.int64)
    pairs = np.diff(ptr) * (np.diff(ptr) - 1) // 2
    n_pairs = int(pairs.sum())
    if not n_pairs:
        return LostPairs(0, 0.0, 0.0, False)
    component = _chains(blocks.block_ptr, blocks.block_members, number, len(ptr) - 1)
    chained = np.bincount(component[order], minlength=n_records)
    unchained = n_pairs - int((chained * (chained - 1) // 2).sum())
    is_sampled = n_pairs > max_pairs
    if is_sampled:
        rng = np.random.default_rng(seed)
        drawn = rng.choice(len(pairs), max_pairs, p=pairs / n_pairs)
        first = rng.integers(0, ptr[drawn + 1] - ptr[drawn])
        second = rng.integers(0, ptr[drawn + 1] - ptr[drawn] - 1)
        second += second >= first
        n_apart = _count_apart(blocks, order[ptr[drawn] + first], order[ptr[drawn] + second])
        return LostPairs(n_pairs, n_apart / max_pairs, unchained / n_pairs, True)
    n_apart = _count_all_apart(blocks, order, ptr)
    return LostPairs(n_pairs, n_apart / n_pairs, unchained / n_pairs, False)


@compiled(inline=True)
def _root(parent, r):
    """The record that stands for all those joined with ``r``; the way there is shortened."""
    while parent[r] != r:
        parent[r] = parent[parent[r]]
        r = parent[r]
    return r


@compiled
def _chains(block_ptr, block_members, entity, n_entities):
    """The component of each record, where records of one entity and one block are joined."""
    parent = np.arange(entity.size)
    last = np.full(n_entities, -1, np.int64)
    for b in range(block_ptr.size - 1):
        for k in range(block_ptr[b], block_ptr[b + 1]):
            r = block_members[k]
            e = entity[r]
            if e >= 0:
                if last[e] >= 0:
                    parent[_root(parent, r)] = _root(parent, last[e])
                last[e] = r
        for k in range(block_ptr[b], block_ptr[b + 1]):
            if entity[block_members[k]] >= 0:
                last[entity[block_members[k]]] = -1
    for r in range(entity.size):
        parent[r] = _root(parent, r)
    return parent


@compiled(inline=True)
def _is_apart(blocks, i, j):
    """Whether two records share no block."""
    a, b = blocks.record_ptr[i], blocks.record_ptr[j]
    while a < blocks.record_ptr[i + 1] and b < blocks.record_ptr[j + 1]:
        if blocks.record_blocks[a] == blocks.record_blocks[b]:
            return False
        if blocks.record_blocks[a] < blocks.record_blocks[b]:
            a += 1
        else:
            b += 1
    return True


@compiled
def _count_apart(blocks, first, second):
    """How many of the pairs share no block."""
    n = 0
    for k in range(first.size):
        n += _is_apart(blocks, first[k], second[k])
    return n


@compiled
def _count_all_apart(blocks, order, ptr):
    """How many pairs of records of one entity share no block."""
    n = 0
    for e in range(ptr.size - 1):
        for a in range(ptr[e], ptr[e + 1]):
            for b in range(a + 1, ptr[e + 1]):
                n += _is_apart(blocks, order[a], order[b])
    return n
