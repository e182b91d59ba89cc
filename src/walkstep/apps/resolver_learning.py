"""Where a resolver's weights come from: known entities, labelled pairs, or the records alone."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from walkstep.apps.pair_labels import PairLabels
from walkstep.apps.record_model import PreparedRecords
from walkstep.features.comparisons import compare_pairs
from walkstep.inference.pair_posterior import fit_temperature
from walkstep.inference.partition_search import search
from walkstep.learning.fellegi_sunter import draw_pairs, fellegi_sunter, levels_without_labels
from walkstep.learning.steps import step_rule
from walkstep.learning.train import Epoch, Trainer
from walkstep.worlds.link_constraints import LinkConstraints
from walkstep.worlds.partition_signals import PartitionSignal, b_cubed, pair_accuracy, pair_f1

N_PAIRS = 100_000
"""Pairs drawn from blocks to start from."""
SHIFTS = (0.0, 1.0, 2.0, 3.0)
"""How much more than the regression says pairs are pulled together: tried on the training records."""


class Learned(NamedTuple):
    """Weights, and where they come from."""

    weights: NDArray[np.float64]
    temperature: float
    source: str
    epochs: list[Epoch]


def learn_from_truth(
    prepared: PreparedRecords,
    truth: NDArray[np.int32],
    held: LinkConstraints | None,
    *,
    learner: str,
    step: str,
    rate: float | None,
    signal: str,
    n_epochs: int,
    n_sweeps: float,
    rng: np.random.Generator,
    show: Callable[[int, str], None],
) -> Learned:
    """Weights from records whose entities are known, all or some.

    Pair weights start from a regression on pairs drawn from blocks; SampleRank then learns, on the joint answer, what
    whole clusters say, and corrects the pair weights.
    """
    known = np.flatnonzero(truth >= 0)
    left, right = draw_pairs(prepared.index.blocks, 4 * N_PAIRS, rng)
    is_known = (truth[left] >= 0) & (truth[right] >= 0)
    left, right = left[is_known][:N_PAIRS], right[is_known][:N_PAIRS]
    same = truth[left] == truth[right]
    if len(left) == 0 or same.all() or not same.any():
        raise ValueError(
            f"of the pairs that share a block {int(same.sum())} are the same and {int((~same).sum())} are not; "
            "learning takes some of both: label more records, or block more widely"
        )
    start = _regressed(prepared, left, right, same)
    weights, epochs = start, []
    world = prepared.world(
        truth=truth, constraints=held, guide=start, signal=_signal(signal, truth, len(known)), share_merge=0.02
    )
    trainer = Trainer(
        world,
        learner=learner,
        rule=step_rule(step, rate=rate),
        sampler="metropolis",
        n_sweeps=n_sweeps,
        weights=start,
        rng=rng,
    )
    try:
        for _ in range(n_epochs):
            epoch = trainer.epoch()
            show(epoch.number, f"{epoch.violations:.1%} of neighbours ranked wrongly")
    except KeyboardInterrupt:
        pass
    weights, epochs = trainer.weights, trainer.epochs
    temperature = _temperature(prepared, truth, weights, held, rng)
    many = "" if len(known) == len(truth) else f" of {len(truth)}"
    return Learned(weights, temperature, f"the entities of {len(known)}{many} records", epochs)


def learn_from_pairs(prepared: PreparedRecords, labelled: PairLabels, *, rng: np.random.Generator) -> Learned:
    """Weights from labelled pairs alone."""
    if labelled.same.all() or not labelled.same.any():
        what = "the same" if labelled.same.all() else "different"
        raise ValueError(f"all {len(labelled.same)} labelled pairs are {what}; learning takes some of both")
    weights = _regressed(prepared, labelled.left, labelled.right, labelled.same)
    return Learned(weights, 1.0, f"{len(labelled.same)} labelled pairs", [])


def learn_unlabelled(prepared: PreparedRecords, *, rng: np.random.Generator) -> Learned:
    """Weights from the records alone."""
    within, anywhere = levels_without_labels(prepared.encoded.comparisons, prepared.index.blocks, rng=rng)
    found = fellegi_sunter(within, prepared.encoded.comparisons.n_levels, random_levels=anywhere)
    weights = np.zeros(prepared.grounded.layout.size)
    weights[: len(found.vector)] = found.vector
    return Learned(weights, 1.0, f"no labels at all: {found}", [])


def _regressed(prepared: PreparedRecords, left: Any, right: Any, same: Any) -> NDArray[np.float64]:
    levels = compare_pairs(prepared.encoded.comparisons, left, right).astype(np.int64)
    sizes = prepared.encoded.comparisons.n_levels
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    n_pairs, n_comparators = levels.shape
    ptr = np.arange(0, levels.size + 1, n_comparators)
    design = csr_array((np.ones(levels.size), (levels + first).ravel(), ptr), shape=(n_pairs, int(sizes.sum())))
    found = LogisticRegression(C=0.1, max_iter=500).fit(design, same)
    weights = np.zeros(prepared.grounded.layout.size)
    weights[: design.shape[1]] = found.coef_[0]
    weights[: sizes[0]] += found.intercept_[0]  # every pair has one level of the first comparator
    return weights


def _signal(name: str, truth: NDArray[np.int32], n_known: int) -> PartitionSignal:
    # A perfect answer is worth as much as there are records, so that one record moved is worth about one.
    if name == "pair-accuracy":
        return pair_accuracy()
    return pair_f1(scale=n_known) if name == "pair-f1" else b_cubed(truth, scale=n_known)


def _temperature(
    prepared: PreparedRecords,
    truth: NDArray[np.int32],
    weights: NDArray[np.float64],
    held: LinkConstraints | None,
    rng: np.random.Generator,
) -> float:
    """At which samples come true on the training records."""
    world = prepared.world(truth=truth, constraints=held, guide=weights)
    best = search(world, weights, rng=rng)
    standing = prepared.world(truth=truth, assignment=best.assignment, constraints=held, guide=weights)
    return fit_temperature(standing, weights, rng=rng).temperature
