"""Peak memory of resolving five million author mentions: reading, encoding, blocking, and a walk with its metric."""

import resource
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.measure import Record, measure_in_subprocess, record
from walkstep.data.author_mentions import generate_author_mentions
from walkstep.data.records import truth_codes
from walkstep.evaluation.clusters import b_cubed
from walkstep.inference import metropolis
from walkstep.reproduce.montecarlo_table2 import author_world
from walkstep.worlds.randomness import stream

ON_REQUEST = True  # several minutes and as many gigabytes


def run(quick: bool) -> list[Record]:
    """The largest resident set of a process that holds everything, in bytes; the mentions come from a file."""
    n_mentions = 100_000 if quick else 5_000_000
    with tempfile.TemporaryDirectory(prefix="walkstep-bench-") as folder:
        path = str(Path(folder) / "mentions.parquet")
        measure_in_subprocess("benchmarks.bench_memory", "write", path=path, n_mentions=n_mentions)
        found = measure_in_subprocess("benchmarks.bench_memory", "peak", path=path)
    print("  " + ", ".join(f"{stage} {size / 2**30:.2f} GiB" for stage, size in found.items()))
    reason = f"{n_mentions:,} mentions, {found['after the walk'] / n_mentions:,.0f} bytes each; 8 GiB are allowed"
    return [record("memory-5m", found["after the walk"], reason=reason)]


def write(path: str, n_mentions: int) -> None:
    """Make the mentions, in a process of their own."""
    generate_author_mentions(n_mentions).write_parquet(path)


def peak(path: str) -> dict[str, int]:
    """The peak so far, after each stage."""
    frame = pl.read_parquet(path)
    truth = truth_codes(frame, "entity")
    found = {"after reading": _largest()}
    world = author_world(frame, truth)
    del frame
    found["after encoding"] = _largest()
    n = len(truth)
    # What is learned does not matter here; levels above the second speak for being together.
    weights = np.concatenate([np.linspace(-1.0, 1.0, levels) for levels in world.pairs.comparisons.n_levels])
    sampler = metropolis(world, weights, n_moves=n)
    state = sampler.init(np.arange(n))
    state, _ = sampler.step(stream(0), state, 0.1)
    b_cubed(state.values, truth)
    return found | {"after the walk": _largest()}


def _largest() -> int:
    """The largest resident set of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
