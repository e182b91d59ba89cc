"""Cora citation matching, three folds by entity: learn from two thirds of the papers, resolve the rest.

Folds are drawn by entity, so that no paper is seen in training and in test. The resolver comes as it is: columns,
comparators, blocking and templates are chosen from the training records. The figure of a fold is that of its own
records alone; their mean is reported, and each fold's.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from walkstep.apps.entity_resolver import EntityResolver
from walkstep.data.catalogue import find
from walkstep.data.records import as_frame
from walkstep.evaluation.clusters import cluster_scores

NAME = "cora"
N_FOLDS = 3
_METRICS = {"b_cubed": "B³ F1", "pairwise": "pairwise F1"}
_BARS = {"b_cubed": "cora-b3", "pairwise": "cora-pairwise"}


def run(seed: int, quick: bool = False, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Train and resolve fold by fold.

    Parameters
    ----------
    seed : int
        Of the folds and of the resolver.
    quick : bool
        A third of the papers and one epoch: figures for no table.
    progress : callable, optional
        Called with a line of text now and then.
    """
    began = time.perf_counter()
    say = progress or (lambda text: None)
    records = as_frame(find("cora") / "cora1295.jsonl")
    if quick:
        kept = records["entity"].unique(maintain_order=True)[::3]
        records = records.filter(pl.col("entity").is_in(kept.implode()))
    fold = folds_by_entity(records["entity"], seed)
    settings: dict[str, Any] = {"n_epochs": 1, "n_samples": 20} if quick else {}
    found: dict[str, list[float]] = {metric: [] for metric in _METRICS}
    rows: list[dict[str, Any]] = []
    for k in range(N_FOLDS):
        started = time.perf_counter()
        train, test = records.filter(pl.Series(fold != k)), records.filter(pl.Series(fold == k))
        resolver = EntityResolver(id="id", random_state=seed, **settings).fit(train, entity="entity")
        scores = cluster_scores(resolver.resolve(test.drop("entity")).assignment, test["entity"])
        seconds = time.perf_counter() - started
        for metric, name in _METRICS.items():
            found[metric].append(getattr(scores, metric).f1)
            rows.append({"row": f"fold {k + 1}", "metric": name, "paper": None, "ours": found[metric][-1]})
        b_cubed, pairwise = found["b_cubed"][-1], found["pairwise"][-1]
        say(f"fold {k + 1}: B³ F1 {b_cubed:.4f}, pairwise F1 {pairwise:.4f}, {test.height} records, {seconds:.1f} s")
    means = {metric: float(np.mean(values)) for metric, values in found.items()}
    rows += [
        {"row": "mean of folds", "metric": name, "paper": None, "ours": means[metric]}
        for metric, name in _METRICS.items()
    ]
    bars = [{"id": _BARS[metric], "ours": mean} for metric, mean in means.items()]
    return {"name": NAME, "seed": seed, "seconds": time.perf_counter() - began, "rows": rows, "bars": bars}


def folds_by_entity(entity: pl.Series, seed: int, n_folds: int = N_FOLDS) -> np.ndarray:
    """The fold of each record; all records of an entity are in one."""
    number = entity.rank("dense").to_numpy() - 1
    dealt = np.empty(int(number.max()) + 1, np.int64)
    dealt[np.random.default_rng(seed).permutation(len(dealt))] = np.arange(len(dealt)) % n_folds
    return dealt[number]
