"""Where a resolver's weights come from: known entities, labelled pairs, or the records alone."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.apps.pair_labels import PairLabels
from walkstep.apps.record_model import PreparedRecords
from walkstep.evaluation.clusters import b_cubed as b_cubed_score
from walkstep.features.comparisons import compare_pairs
from walkstep.inference.pair_posterior import fit_temperature
from walkstep.inference.partition_search import search
from walkstep.learning.fellegi_sunter import draw_pairs, fellegi_sunter, levels_without_labels
from walkstep.learning.pair_regression import pair_regression
from walkstep.learning.steps import step_rule
from walkstep.learning.train import Epoch, Trainer
from walkstep.worlds.link_constraints import LinkConstraints
from walkstep.worlds.partition_signals import PartitionSignal, b_cubed, pair_accuracy, pair_f1

N_PAIRS = 50_000
"""Pairs drawn from blocks to learn what comparators say."""
SHIFTS = (0.0, 1.0, 2.0)
"""How much more than the regression says pairs are pulled together, in logarithms of odds."""
N_PARTS = 3
"""Parts that training records are dealt to by entity, to try shifts on records that were not learned from."""
SHARE_MERGE_OF_SAMPLES = 0.02
"""Merges and splits make or break many pairs; samples around an answer need few of them."""
N_CALIBRATED = 500
"""Records whose samples a temperature is chosen by."""
TEMPERATURES = (0.5, 1.0, 2.0)
_MANY_PAIRS = 0.3  # the rate of a regression on many pairs
_SELDOM = 0.1  # comparators that have both values in fewer pairs than this say too little to learn from few labels


class Learned(NamedTuple):
    """Weights, and where they come from."""

    weights: NDArray[np.float64]
    temperature: float
    source: str
    epochs: list[Epoch]


class Training(NamedTuple):
    """How the walk is to learn."""

    learner: str
    step: str
    rate: float | None
    signal: str
    n_epochs: int
    n_sweeps: float


def learn_from_truth(
    prepared: PreparedRecords,
    truth: NDArray[np.int32],
    held: LinkConstraints | None,
    training: Training,
    *,
    rng: np.random.Generator,
    show: Callable[[int, str], None],
) -> Learned:
    """Weights from records whose entities are known, all or some.

    Pair weights start from a regression on pairs drawn from blocks; how far pairs are pulled together beyond that is
    chosen by resolving parts of the records that were left out, by entity. The walk then learns on the joint answer,
    from there on, if it is asked for epochs.
    """
    pairs = _known_pairs(prepared, truth, rng)
    start = _regressed(prepared, *pairs)
    start[: _n_first(prepared)] += _best_shift(prepared, truth, pairs, held, rng)
    weights, epochs = start, []
    if training.n_epochs:
        weights, epochs = _walked(prepared, truth, held, start, training, rng, show)
    temperature = _temperature(prepared, truth, weights, held, rng)
    n_known = int((truth >= 0).sum())
    many = "" if n_known == len(truth) else f" of {len(truth)}"
    return Learned(weights, temperature, f"the entities of {n_known}{many} records", epochs)


def learn_from_pairs(prepared: PreparedRecords, labelled: PairLabels, *, rng: np.random.Generator) -> Learned:
    """Weights from labelled pairs alone."""
    if labelled.same.all() or not labelled.same.any():
        what = "the same" if labelled.same.all() else "different"
        raise ValueError(f"all {len(labelled.same)} labelled pairs are {what}; learning takes some of both")
    seen, _ = levels_without_labels(prepared.encoded.comparisons, prepared.index.blocks, n_pairs=N_PAIRS, rng=rng)
    often = (seen > 0).mean(axis=0) >= _SELDOM
    groups = [group if common else None for group, common in zip(_groups(prepared), often, strict=True)]
    if all(group is None for group in groups):
        groups = _groups(prepared)
    levels = compare_pairs(prepared.encoded.comparisons, labelled.left, labelled.right)
    found = pair_regression(levels, labelled.same, _sizes(prepared), groups=groups)
    return Learned(_laid_out(prepared, found.vector), 1.0, f"{len(labelled.same)} labelled pairs", [])


def learn_unlabelled(prepared: PreparedRecords, *, rng: np.random.Generator) -> Learned:
    """Weights from the records alone."""
    within, anywhere = levels_without_labels(
        prepared.encoded.comparisons, prepared.index.blocks, n_pairs=N_PAIRS, rng=rng
    )
    if len(within) == 0:
        raise ValueError("no two records share a block, so there is nothing to learn from; block more widely")
    found = fellegi_sunter(within, _sizes(prepared), random_levels=anywhere, groups=_groups(prepared))
    return Learned(_laid_out(prepared, found.vector), 1.0, f"no labels at all: {found}", [])


# What comparators say


def _groups(prepared: PreparedRecords) -> list[str | None]:
    """Comparators of one column share what a single one could say."""
    return [comparator.column for comparator in prepared.encoded.comparators]


def _rising(prepared: PreparedRecords) -> list[bool]:
    return [comparator.is_rising for comparator in prepared.encoded.comparators]


def _sizes(prepared: PreparedRecords) -> list[int]:
    return prepared.encoded.comparisons.n_levels.tolist()


def _n_first(prepared: PreparedRecords) -> int:
    """Levels of the first comparator: every pair has one of them, so that what all pairs share is added there."""
    return _sizes(prepared)[0]


def _laid_out(prepared: PreparedRecords, pair_weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pair weights at the head of all weights; clusters as such say nothing yet."""
    weights = np.zeros(prepared.grounded.layout.size)
    weights[: len(pair_weights)] = pair_weights
    return weights


def _known_pairs(
    prepared: PreparedRecords, truth: NDArray[np.int32], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Pairs that share a block and whose truth is known, and whether they are the same."""
    left, right = draw_pairs(prepared.index.blocks, 4 * N_PAIRS, rng)
    known = np.flatnonzero((truth[left] >= 0) & (truth[right] >= 0))
    if len(known) > N_PAIRS:
        known = rng.choice(known, N_PAIRS, replace=False)
    left, right = left[known], right[known]
    same = truth[left] == truth[right]
    if same.all() or not same.any():
        raise ValueError(
            f"of the pairs that share a block {int(same.sum())} are the same and {int((~same).sum())} are not; "
            "learning takes some of both: label more records, or block more widely"
        )
    return left, right, same


def _regressed(prepared: PreparedRecords, left: Any, right: Any, same: NDArray[np.bool_]) -> NDArray[np.float64]:
    levels = compare_pairs(prepared.encoded.comparisons, left, right)
    found = pair_regression(levels, same, _sizes(prepared), rising=_rising(prepared), rate=_MANY_PAIRS, max_iter=200)
    return _laid_out(prepared, found.vector)


def _best_shift(
    prepared: PreparedRecords,
    truth: NDArray[np.int32],
    pairs: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]],
    held: LinkConstraints | None,
    rng: np.random.Generator,
) -> float:
    """The shift that resolves left-out entities best, by B³; 0 where there are too few to try."""
    entities = np.unique(truth[truth >= 0])
    if len(entities) < 4 * N_PARTS or held is not None:
        return 0.0
    part_of_entity = np.full(int(entities.max()) + 1, -1)
    part_of_entity[rng.permutation(entities)] = np.arange(len(entities)) % N_PARTS
    part = np.where(truth >= 0, part_of_entity[truth], -1)
    left, right, same = pairs
    found = np.zeros(len(SHIFTS))
    for k in range(N_PARTS):
        others = (part[left] != k) & (part[right] != k)
        if not same[others].any() or same[others].all():
            return 0.0
        weights = _regressed(prepared, left[others], right[others], same[others])
        rows = np.flatnonzero(part == k)
        trial = prepared.select(rows)
        for s, shift in enumerate(SHIFTS):
            shifted = weights.copy()
            shifted[: _n_first(prepared)] += shift
            answer = search(trial.world(guide=shifted), shifted, screen=True, rng=rng).assignment
            found[s] += b_cubed_score(answer, truth[rows]).f1
    return SHIFTS[int(np.argmax(found))]


# The joint answer


def _walked(
    prepared: PreparedRecords,
    truth: NDArray[np.int32],
    held: LinkConstraints | None,
    start: NDArray[np.float64],
    training: Training,
    rng: np.random.Generator,
    show: Callable[[int, str], None],
) -> tuple[NDArray[np.float64], list[Epoch]]:
    """Weights learned by walking through partitions; Ctrl-C keeps what was learned."""
    signal = _signal(training.signal, truth)
    world = prepared.world(truth=truth, constraints=held, guide=start, signal=signal, share_merge=0.02)
    trainer = Trainer(
        world,
        learner=training.learner,
        rule=step_rule(training.step, rate=training.rate),
        sampler="metropolis",
        n_sweeps=training.n_sweeps,
        weights=start,
        rng=rng,
    )
    try:
        for _ in range(training.n_epochs):
            epoch = trainer.epoch()
            show(epoch.number, f"{epoch.violations:.1%} of neighbours ranked wrongly")
    except KeyboardInterrupt:
        pass
    return trainer.weights, trainer.epochs


def _signal(name: str, truth: NDArray[np.int32]) -> PartitionSignal:
    # A perfect answer is worth as much as there are records, so that one record moved is worth about one.
    n_known = int((truth >= 0).sum())
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
    """At which samples come true, on some of the training records; whole entities are taken."""
    if held is not None:
        return 1.0
    entities = rng.permutation(np.unique(truth[truth >= 0]))
    sizes = np.bincount(truth[truth >= 0])[entities]
    taken = entities[: max(1, int(np.searchsorted(np.cumsum(sizes), N_CALIBRATED)))]
    rows = np.flatnonzero(np.isin(truth, taken))
    trial = prepared.select(rows)
    best = search(trial.world(guide=weights), weights, screen=True, rng=rng)
    standing = trial.world(
        truth=truth[rows], assignment=best.assignment, guide=weights, share_merge=SHARE_MERGE_OF_SAMPLES
    )._replace(pairs=best.pairs)
    try:
        return fit_temperature(standing, weights, temperatures=TEMPERATURES, n_samples=20, rng=rng).temperature
    except ValueError:  # no two records are ever together, so that nothing can be told
        return 1.0
