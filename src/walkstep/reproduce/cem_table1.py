"""Table 1 of Rohanimanesh, Wick and McCallum (2009): jumps that learned splits and merges save.

SR-Learn walks through thirty documents of coreference, from all mentions apart, until it is within 95 % of the true
score. Every fifth jump is the best of a thousand samples, the others the best of five or of ten. The adaptive proposer
(CEMP) spends the thousand on twenty iterations of the cross-entropy method and goes on with what it has learned; the
uniform one (USMP) goes on as before. Both are told what jumps gain by the metric, B-cubed F1.
"""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.evaluation.clusters import b_cubed as b_cubed_score
from walkstep.evaluation.significance import bootstrap_interval, permutation_test
from walkstep.inference.cem_decode import Rounds, cem_decode
from walkstep.reproduce.cem_documents import GOAL, Document, thirty_documents

NAME = "cem-table1"
MOST_JUMPS = 2000
PAPER = {("CEMP", 5): (2942, 98.1), ("USMP", 5): (3988, 132.9), ("CEMP", 10): (2534, 84.5), ("USMP", 10): (2822, 94.1)}
"""Jumps in all and by document, on ACE 2004."""
SETTINGS = {"CEMP": Rounds(learns_share=False), "USMP": Rounds(is_adaptive=False)}


class Trial(NamedTuple):
    """One walk through one document."""

    n_jumps: int
    reached: bool
    n_errors: int  # pairs of neighbours that SR-Learn's weights ranked wrongly


class SRLearn:
    """Algorithm 1: perceptron updates of the model on every pair of neighbours that is ranked wrongly."""

    def __init__(self, n_weights: int):
        self.weights = np.zeros(n_weights)
        self.n_errors = 0

    def look(self, number: int, family: Any, sample: Any) -> None:
        """Learn from where the walk stands and where a jump leads."""
        phi = family.difference(sample)
        n = int(phi.size[0])
        index, value = phi.index[:n], phi.value[:n]
        sign = np.sign(sample["gain"])
        if sign != 0.0 and sign * (self.weights[index] @ value) <= 0.0:  # wrongly, or not at all
            self.weights[index] += sign * value
            self.n_errors += 1


def run(seed: int, quick: bool = False, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Count the jumps of both proposers in every document.

    Parameters
    ----------
    seed : int
    quick : bool
        Two documents of each corpus, to see that it works.
    progress : callable, optional
        Called with a line of text after each row.

    Returns
    -------
    dict
        ``{name, seed, seconds, rows, bars}``. The bars are the shares of USMP's jumps that CEMP saves, with 95 %
        intervals over documents and p-values of paired permutation tests.
    """
    began = time.perf_counter()
    say = progress or (lambda text: None)
    documents = thirty_documents(seed, 2 if quick else 15)
    rows: list[dict[str, Any]] = []
    bars: list[dict[str, Any]] = []
    for n_samples in (5, 10):
        jumps: dict[str, NDArray[np.float64]] = {}
        for method in SETTINGS:
            trials = _walked(documents, method, n_samples, seed)
            jumps[method] = np.array([trial.n_jumps for trial in trials], dtype=np.float64)
            rows += _rows(method, n_samples, trials)
            say(f"{method}, {n_samples} samples: {jumps[method].mean():.1f} jumps a document")
        bars.append(_bar(f"cem-jumps-{n_samples}", jumps["CEMP"], jumps["USMP"], seed))
        note = "95 % interval over documents {low:.3f} to {high:.3f}, p = {p_value:.4f}".format(**bars[-1])
        paper = 1.0 - PAPER["CEMP", n_samples][0] / PAPER["USMP", n_samples][0]
        saved = {"row": f"{n_samples} samples", "metric": "jumps saved", "paper": paper, "ours": bars[-1]["ours"]}
        rows.append(saved | {"note": note})
    return {"name": NAME, "seed": seed, "seconds": time.perf_counter() - began, "rows": rows, "bars": bars}


def walk(document: Document, rounds: Rounds, seed: int) -> Trial:
    """From all mentions apart to within 95 % of the truth."""
    world = document.world()
    alone = b_cubed_score(np.arange(len(document.truth)), document.truth).f1
    learner = SRLearn(world.model.n_weights)
    found = cem_decode(
        world,
        learner.weights,
        by_signal=True,
        rounds=rounds,
        goal=GOAL - alone,
        max_jumps=MOST_JUMPS,
        rng=seed,
        callback=learner.look,
    )
    return Trial(found.n_jumps, found.converged, learner.n_errors)


def _walked(documents: list[Document], method: str, n_samples: int, seed: int) -> list[Trial]:
    rounds = replace(SETTINGS[method], n_samples=n_samples)
    seeds = np.random.default_rng(seed).integers(2**31, size=len(documents))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [*pool.map(lambda one: walk(one[0], rounds, int(one[1])), zip(documents, seeds, strict=True))]


def _rows(method: str, n_samples: int, trials: list[Trial]) -> list[dict[str, Any]]:
    name = f"SR+{method}, {n_samples} samples"
    total, mean = PAPER[method, n_samples]
    jumps = np.array([trial.n_jumps for trial in trials])
    missed = sum(not trial.reached for trial in trials)
    note = {"note": f"{missed} walks ended at {MOST_JUMPS} jumps without reaching the goal"} if missed else {}
    errors = np.mean([trial.n_errors for trial in trials])
    return [
        {"row": name, "metric": "jumps in all", "paper": total, "ours": int(jumps.sum())} | note,
        {"row": name, "metric": "jumps a document", "paper": mean, "ours": float(jumps.mean())},
        {"row": name, "metric": "SR-Learn's corrections a document", "paper": None, "ours": float(errors)},
    ]


def _bar(name: str, ours: NDArray[np.float64], theirs: NDArray[np.float64], seed: int) -> dict[str, Any]:
    """The share of jumps saved, its interval, and the p-value of the difference."""
    table = np.stack([ours, theirs], axis=1)
    interval = bootstrap_interval(table, _saved, seed=seed)
    test = permutation_test(ours[:, None], theirs[:, None], _total, seed=seed)
    return {
        "id": name,
        "ours": _saved(table.sum(axis=0)),
        "low": interval.low,
        "high": interval.high,
        "p_value": test.p_value,
    }


def _saved(totals: NDArray[np.float64]) -> float:
    return float(1.0 - totals[0] / totals[1])


def _total(totals: NDArray[np.float64]) -> float:
    return float(totals[0])
