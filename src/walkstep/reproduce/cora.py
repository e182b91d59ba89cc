"""Cora citation matching, three folds by entity: learn from two thirds of the papers, resolve the rest.

Folds are drawn by entity, so that no paper is seen in training and in test. The resolver comes as it is: columns,
comparators, blocking and templates are chosen from the training records. The figure of a fold is that of its own
records alone; their mean is reported, and each fold's.

Beside it stand two resolvers whose weights the walk learns on the joint answer (SampleRank), from the same start: of
pairs alone, and of pairs and whole clusters.
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
from walkstep.model.partition_templates import Affinity

NAME = "cora"
N_FOLDS = 3
_DEFAULT = "as it comes"
_RESOLVERS: dict[str, dict[str, Any]] = {
    _DEFAULT: {},
    "pairs, learned by the walk": {"n_epochs": 3, "templates": [Affinity()]},
    "pairs and clusters, learned by the walk": {"n_epochs": 3},
}
_METRICS = {"b_cubed": "B³ F1", "pairwise": "pairwise F1"}
_BARS = {"b_cubed": "cora-b3", "pairwise": "cora-pairwise"}


def run(seed: int, quick: bool = False, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Train and resolve fold by fold.

    Parameters
    ----------
    seed : int
        Of the folds and of the resolver.
    quick : bool
        A third of the papers and at most one epoch: figures for no table.
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
    found = {name: {metric: [] for metric in _METRICS} for name in _RESOLVERS}
    for k in range(N_FOLDS):
        train, test = records.filter(pl.Series(fold != k)), records.filter(pl.Series(fold == k))
        for name, settings in _RESOLVERS.items():
            started = time.perf_counter()
            made = EntityResolver(id="id", random_state=seed, **settings)
            if quick:
                made.set_params(n_epochs=min(made.n_epochs, 1), n_samples=20)
            answer = made.fit(train, entity="entity").resolve(test.drop("entity")).assignment
            scores = cluster_scores(answer, test["entity"])
            for metric, values in found[name].items():
                values.append(getattr(scores, metric).f1)
            say(
                f"fold {k + 1}, {name}: B³ F1 {scores.b_cubed.f1:.4f}, pairwise F1 {scores.pairwise.f1:.4f}, "
                f"{test.height} records, {time.perf_counter() - started:.1f} s"
            )
    rows = [
        {"row": f"fold {k + 1}", "metric": label, "paper": None, "ours": found[_DEFAULT][metric][k]}
        for k in range(N_FOLDS)
        for metric, label in _METRICS.items()
    ]
    rows += [
        {"row": f"mean of folds, {name}", "metric": label, "paper": None, "ours": float(np.mean(of[metric]))}
        for name, of in found.items()
        for metric, label in _METRICS.items()
    ]
    bars = [{"id": _BARS[metric], "ours": float(np.mean(values))} for metric, values in found[_DEFAULT].items()]
    return {"name": NAME, "seed": seed, "seconds": time.perf_counter() - began, "rows": rows, "bars": bars}


def folds_by_entity(entity: pl.Series, seed: int, n_folds: int = N_FOLDS) -> np.ndarray:
    """The fold of each record; all records of an entity are in one."""
    number = entity.rank("dense").to_numpy() - 1
    dealt = np.empty(int(number.max()) + 1, np.int64)
    dealt[np.random.default_rng(seed).permutation(len(dealt))] = np.arange(len(dealt)) % n_folds
    return dealt[number]
