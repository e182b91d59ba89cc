"""Moves through partitions: proposals per CPU-second of one core, in inference and training, by size of clusters.

Citations of invented papers, each paper cited equally often, four papers to a block; a pairwise model of eight
comparators. The walk moves single mentions to entities of their block, and stays around the truth, so that
clusters keep their size.
"""

from typing import Any

import numpy as np
import polars as pl

from benchmarks.measure import Record, measure_in_subprocess, record, repeat
from walkstep.data.bibliography import generate_bibliography
from walkstep.features.block_keys import Same
from walkstep.features.blocking import Blocking
from walkstep.features.comparators import cosine, edit, exact, jaccard, missing, names, number
from walkstep.features.encodings import encode
from walkstep.inference import metropolis
from walkstep.learning.train import Trainer
from walkstep.model.partition_templates import Affinity, ground_partition
from walkstep.worlds.partition import PartitionWorld, partition_world
from walkstep.worlds.partition_proposers import block_guided
from walkstep.worlds.randomness import stream

SIZES = (2, 10, 100)
COMPARATORS = (
    jaccard("title"),
    cosine("title"),
    edit("title"),
    names("author"),
    jaccard("venue"),
    number("year"),
    exact("pages"),
    missing("pages"),
)
PAPERS_PER_BLOCK = 4


def run(quick: bool) -> list[Record]:
    """Proposals per CPU-second at clusters of ten; those of other sizes are said along with it."""
    n_mentions = 2000 if quick else 10_000
    found = {
        size: measure_in_subprocess("benchmarks.bench_moves", "rates", cluster_size=size, n_mentions=n_mentions)
        for size in SIZES
    }
    bars = []
    for id, what in (("moves-infer", "inference"), ("moves-train", "training")):
        by_size = ", ".join(f"{found[size][what]:,.0f} at clusters of {size}" for size in SIZES)
        factors = ", ".join(f"{found[size]['factors']:.1f}" for size in SIZES)
        print(f"  {what}: {by_size}; factors a move: {factors}")
        bars.append(record(id, found[10][what], reason=f"{by_size}; {n_mentions:,} mentions"))
    return bars


def rates(cluster_size: int, n_mentions: int, n_moves: int = 1_000_000, n_repeats: int = 3) -> dict[str, float]:
    """Proposals per CPU-second of a SampleRank walk, and of Metropolis-Hastings under the weights it learned."""
    world = citations_world(cluster_size, n_mentions)
    n_sweeps = n_moves / n_mentions
    trainer = Trainer(world, sampler="metropolis", rule="mira", n_sweeps=n_sweeps, rng=0)
    train = repeat(trainer.epoch, n_repeats, n_warm_up=1)
    sampler = metropolis(world, trainer.weights, n_moves=n_moves)
    state, rng = sampler.init(world.truth), stream(1)
    examined: list[int] = []
    infer = repeat(lambda: examined.append(sampler.step(rng, state)[1].n_factors), n_repeats, n_warm_up=1)
    sizes = np.bincount(np.unique(state.values, return_inverse=True)[1])
    return {
        "training": trainer.epochs[-1].tally.steps / train.best,
        "inference": n_moves / infer.best,
        "factors": examined[-1] / n_moves,
        "mean_size": float((sizes**2).sum() / sizes.sum()),
    }


def citations_world(cluster_size: int, n_mentions: int) -> PartitionWorld:
    """Papers of ``cluster_size`` citations each, at the truth."""
    frame = _citations(cluster_size, n_mentions // cluster_size)
    encoded = encode(frame, COMPARATORS)
    levels: dict[str, Any] = {c.name: c.n_levels for c in encoded.comparators}
    model = ground_partition([Affinity()], levels).model
    blocks = Blocking([Same("block")], max_block=PAPERS_PER_BLOCK * cluster_size).build(frame).blocks
    truth = frame["entity"].to_numpy()
    return partition_world(
        model, encoded.comparisons, truth, assignment=truth, proposer=block_guided(blocks, share_merge=0.0)
    )


def _citations(cluster_size: int, n_papers: int) -> pl.DataFrame:
    """So many citations of each paper, drawn from those that a bibliography has, in random order."""
    rng = np.random.default_rng(0)
    few = generate_bibliography(n_papers, seed=0).sort("entity")
    count = few.group_by("entity", maintain_order=True).len()["len"].to_numpy().astype(np.int64)
    first = np.cumsum(count) - count
    drawn = first[:, None] + rng.integers(0, count[:, None], (n_papers, cluster_size))
    frame = few[rng.permutation(drawn.ravel())]
    return frame.with_columns(block=pl.col("entity") // PAPERS_PER_BLOCK)
