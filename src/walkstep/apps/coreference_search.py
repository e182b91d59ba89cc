"""The best entities of one document, by walks of several kinds of jumps."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.features.blocks import Blocks
from walkstep.inference.annealing import anneal, geometric
from walkstep.inference.jump_learning import JumpLearning, learn_jumps
from walkstep.inference.metropolis import metropolis
from walkstep.model.partition_templates import PartitionModel
from walkstep.worlds.adaptive_jumps import KINDS, AdaptiveJumps, adaptive
from walkstep.worlds.jumps import Jumps
from walkstep.worlds.partition import PartitionWorld
from walkstep.worlds.partition_proposers import TransferProposer, block_guided, uniform_mention

JUMPS = ("adaptive", "guided", "single", "uniform")
"""Ways to walk through the entities of a document."""
N_TO_LEARN_FROM = 10
"""Training documents that jumps learn from before they go to new ones."""
N_SWEEPS = {"guided": 200, "single": 200, "uniform": 200, "adaptive": 10}
"""Moves of a search for each mention, unless it is told."""
_N_STEPS = 20  # looks at the temperature, at most, and greedy ones at the end
_SHARES = (0.05, 0.1, 0.02, 0.02, 0.05, 0.76)  # of adaptive jumps, at first


class BestEntities(NamedTuple):
    """The best partition found, and what jumps that learn have learned until then."""

    values: NDArray[np.integer]
    score: float
    learned: NDArray[np.float64]


def walk_jumps(
    name: str, document_ptr: NDArray[np.int64], guide: NDArray[np.float64] | None = None
) -> TransferProposer:
    """The jumps of training walks."""
    if name == "uniform":
        return uniform_mention()
    share_merge = 0.0 if name == "single" else 0.05
    return block_guided(_blocks(document_ptr), share_merge=share_merge, share_uniform=0.25, guide=guide)


def search_jumps(
    name: str, model: PartitionModel, document_ptr: NDArray[np.int64], weights: NDArray[np.float64]
) -> Jumps:
    """The jumps of searches under given weights."""
    walk = walk_jumps(name, document_ptr, weights)
    return adaptive(walk, model, shares=_SHARES, weights=weights) if name == "adaptive" else walk


def best_entities(
    world: PartitionWorld,
    weights: NDArray[np.float64],
    learned: NDArray[np.float64],
    *,
    n_sweeps: int,
    n_restarts: int = 1,
    learns: bool = False,
    seed: int = 0,
) -> BestEntities:
    """Search a document from all mentions apart, again and again, by jumps that others have learned, or that learn."""
    rngs = np.random.default_rng(seed).spawn(n_restarts)
    tries = [_annealed(world, weights, learned, n_sweeps, learns, rng) for rng in rngs]
    return max(tries, key=lambda found: found.score)


def _annealed(
    world: PartitionWorld,
    weights: NDArray[np.float64],
    learned: NDArray[np.float64],
    n_sweeps: int,
    learns: bool,
    rng: np.random.Generator,
) -> BestEntities:
    n = len(world.truth)
    n_steps = min(n_sweeps, _N_STEPS)
    sampler = metropolis(world, weights, n_moves=max(1, n_sweeps * n // n_steps))
    state = sampler.init(np.arange(n))
    jumps = state.world.proposer
    if isinstance(jumps, AdaptiveJumps) and len(learned):
        _put(jumps, learned)

    learning = JumpLearning()

    def learn(step, state, info):
        if learns and learning.is_due(jumps):
            learn_jumps(state.world, learning, temperature=info.temperature)

    found = anneal(sampler, state, n_steps, rng=rng, schedule=geometric(1.0, 0.05), max_greedy=_N_STEPS, callback=learn)
    kept = _taken(jumps) if isinstance(jumps, AdaptiveJumps) else learned
    return BestEntities(found.values, found.score, kept)


def _put(jumps: AdaptiveJumps, learned: NDArray[np.float64]) -> None:
    """Let jumps start from what was learned."""
    n = len(jumps.shares)
    jumps.shares[:] = learned[:n] / learned[:n].sum()  # rounded when it was saved
    jumps.split_weights[:], jumps.merge_weights[:] = np.split(learned[n:], 2)


def known_jumps(learned: NDArray[np.float64], n_weights: int) -> NDArray[np.float64]:
    """What a saved model says of jumps, an error where it is of kinds that there are no more."""
    n = len(KINDS) + 2 * (n_weights + 2)
    if len(learned) not in (0, n):
        raise ValueError(
            f"the model holds {len(learned)} numbers of jumps that learned, where those of today have {n}: it was "
            "saved by an earlier version; fit it again"
        )
    return learned


def _taken(jumps: AdaptiveJumps) -> NDArray[np.float64]:
    """What jumps have learned, as one vector."""
    return np.concatenate([jumps.shares, jumps.split_weights, jumps.merge_weights])


def _blocks(document_ptr: NDArray[np.int64]) -> Blocks:
    """Each document with two mentions or more as one block."""
    size = np.diff(document_ptr)
    is_block = size > 1
    member = np.repeat(is_block, size)
    block_of = np.repeat(np.cumsum(is_block) - 1, size)[member]
    return Blocks(
        np.concatenate([[0], np.cumsum(size[is_block])]).astype(np.int64),
        np.flatnonzero(member).astype(np.int32),
        np.concatenate([[0], np.cumsum(member)]).astype(np.int64),
        block_of.astype(np.int32),
    )
