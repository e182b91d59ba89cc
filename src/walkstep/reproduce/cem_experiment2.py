"""The second experiment of Rohanimanesh, Wick and McCallum (2009): does a learned proposer find the wrong cluster?

Thirty documents stand at their truth, but for two entities of two mentions or more that were merged. Of all clusters
that can be split one is wrong. The uniform proposer picks it as often as any other; the adaptive one learns for ten
iterations of a hundred samples, told by the metric what jumps gain, and then draws a hundred.
"""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.evaluation.significance import bootstrap_interval
from walkstep.inference.cross_entropy import cross_entropy
from walkstep.inference.split_merge_family import SplitMergeFamily
from walkstep.reproduce.cem_documents import Document, thirty_documents
from walkstep.worlds.split_merge import SPLIT

NAME = "cem-experiment2"
PAPER = {"USMP": 0.15, "CEMP": 0.50}
N_TRIALS = 10  # merges tried in each document
N_LEARNING, N_ITERATIONS, N_DRAWN = 100, 10, 100
_L2 = 0.2


class Picks(NamedTuple):
    """What was picked in one document, over all trials."""

    right: int  # splits of the wrong cluster
    splits: int


def run(seed: int, quick: bool = False, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Count how often each proposer picks the wrong cluster.

    Parameters
    ----------
    seed : int
    quick : bool
        Two documents of each corpus and one merge in each, to see that it works.
    progress : callable, optional

    Returns
    -------
    dict
        ``{name, seed, seconds, rows, bars}``. The bar is the share of the adaptive proposer's splits that are of the
        wrong cluster, with its 95 % interval over documents.
    """
    began = time.perf_counter()
    say = progress or (lambda text: None)
    documents = [one for one in thirty_documents(seed, 2 if quick else 15) if len(_large(one.truth)) > 1]
    seeds = np.random.default_rng(seed).integers(2**31, size=len(documents))
    n_trials = 1 if quick else N_TRIALS
    rows: list[dict[str, Any]] = []
    bars: list[dict[str, Any]] = []
    for method in PAPER:
        jobs = zip(documents, seeds, strict=True)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            picks = [*pool.map(lambda one, m=method: pick(one[0], m == "CEMP", n_trials, int(one[1])), jobs)]
        found = bootstrap_interval(np.array(picks, dtype=np.float64), _share, seed=seed)
        say(f"{method}: {found}")
        note = f"95 % interval over {len(documents)} documents {found.low:.3f} to {found.high:.3f}"
        row = {"row": method, "metric": "wrong cluster picked", "paper": PAPER[method], "ours": found.score}
        rows.append(row | {"note": note})
        if method == "CEMP":
            bars.append({"id": "cem-pick", "ours": found.score, "low": found.low, "high": found.high})
    n_clusters = float(np.mean([len(_large(one.truth)) - 1 for one in documents]))
    rows.append({"row": "clusters that can be split", "metric": "mean", "paper": None, "ours": n_clusters})
    return {"name": NAME, "seed": seed, "seconds": time.perf_counter() - began, "rows": rows, "bars": bars}


def pick(document: Document, is_adaptive: bool, n_trials: int, seed: int) -> Picks:
    """Merge two entities, learn or not, and see what is split; again and again, each time from the truth."""
    rng = np.random.default_rng(seed)
    right = splits = 0
    for _ in range(n_trials):
        one, two = rng.choice(_large(document.truth), 2, replace=False)
        wrong = np.where(document.truth == two, one, document.truth)
        world = document.world(wrong)
        family = SplitMergeFamily(world, np.zeros(world.model.n_weights), by_signal=True, l2=_L2, learns_share=False)
        parameters = family.parameters
        if is_adaptive:
            found = cross_entropy(
                family,
                family.performance,
                parameters,
                n_samples=N_LEARNING,
                n_iterations=N_ITERATIONS,
                patience=N_ITERATIONS,
                rng=rng,
            )
            parameters = found.parameters
        samples = family.draw(parameters, N_DRAWN, rng)
        is_split = samples["kind"] == SPLIT
        right += int((wrong[samples["moved"][is_split, 0]] == one).sum())
        splits += int(is_split.sum())
    return Picks(right, splits)


def _large(truth: NDArray[np.int64]) -> NDArray[np.intp]:
    """The entities of two mentions or more."""
    return np.flatnonzero(np.bincount(truth) > 1)


def _share(totals: NDArray[np.float64]) -> float:
    return float(totals[0] / totals[1])
