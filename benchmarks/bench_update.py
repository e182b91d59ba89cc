"""Adding one record in a hundred by `update`, against resolving all of them from scratch: time, and what is lost."""

from typing import Any

import numpy as np
import polars as pl

from benchmarks.measure import Record, cpu_timer, measure_in_subprocess, record
from walkstep.apps.entity_resolver import EntityResolver
from walkstep.apps.resolution import Resolution
from walkstep.data.bibliography import generate_bibliography
from walkstep.evaluation.clusters import b_cubed

SHARE_NEW = 0.01
SHARE_ALLOWED, LOSS_ALLOWED = 0.05, 0.005


def run(quick: bool) -> list[Record]:
    """CPU-seconds and B³ F1 of both, with no samples of the posterior and with the usual hundred."""
    n_papers = 400 if quick else 1000
    bars = []
    for n_samples, ending in ((0, ""), (100, "-with-samples")):
        found = measure_in_subprocess("benchmarks.bench_update", "both", n_papers=n_papers, n_samples=n_samples)
        share = found["update_seconds"] / found["scratch_seconds"]
        loss = found["scratch_f1"] - found["update_f1"]
        what = f"{found['n_new']:,} of {found['n_records']:,} records new, {n_samples} samples"
        print(
            f"  {what}: update {found['update_seconds']:.2f} s, from scratch {found['scratch_seconds']:.2f} s "
            f"({share:.1%}); B³ F1 {found['update_f1']:.4f}, from scratch {found['scratch_f1']:.4f}"
        )
        bars += [
            record(
                f"update-time{ending}",
                found["update_seconds"],
                "from scratch",
                found["scratch_seconds"],
                lower_is_better=True,
                reason=f"{share:.1%} of the time, {SHARE_ALLOWED:.0%} allowed; {what}",
            ),
            record(
                f"update-loss{ending}",
                found["update_f1"],
                "from scratch",
                found["scratch_f1"],
                reason=f"{loss:.4f} lost, {LOSS_ALLOWED} allowed; {what}",
            ),
        ]
    return bars


def both(n_papers: int, n_samples: int) -> dict[str, Any]:
    """Resolve all but a few records and add those, then resolve all of them, under weights learned elsewhere."""
    trained = EntityResolver(id="id", n_samples=n_samples, random_state=0)
    trained.fit(generate_bibliography(200, seed=1), entity="entity")
    # A first round on few records compiles what is not on disk yet, and reads the rest from there.
    _round(trained, generate_bibliography(60, seed=2))
    return _round(trained, generate_bibliography(n_papers, seed=3))


def _round(resolver: EntityResolver, citations: pl.DataFrame) -> dict[str, Any]:
    """Seconds and accuracy of both ways; the citations come in random order, so the last ones are as good as any."""
    truth = citations["entity"].to_numpy()
    records = citations.drop("entity")
    n_new = max(1, round(SHARE_NEW * records.height))
    before = resolver.resolve(records[:-n_new])
    with cpu_timer() as updating:
        updated = resolver.update(before, records[-n_new:])
    with cpu_timer() as resolving:
        resolved = resolver.resolve(records)
    return {
        "n_records": records.height,
        "n_new": n_new,
        "update_seconds": updating.seconds,
        "scratch_seconds": resolving.seconds,
        "update_f1": _f1(updated, truth),
        "scratch_f1": _f1(resolved, truth),
    }


def _f1(result: Resolution, truth: np.ndarray) -> float:
    return b_cubed(result.assignment, truth).f1
