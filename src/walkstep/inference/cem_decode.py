"""Decoding by jumps that learn where to go: CEM-Decode (Algorithm 3) of Rohanimanesh, Wick and McCallum (2009).

Every so many jumps a round of the cross-entropy method fits the proposer of splits and merges to the jumps that gain
most from where the walk stands; in between the best of a few samples is taken (section 5 of the paper). What a jump
gains is told by the model's score or, in training, by the metric.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.inference.annealing import Outcome
from walkstep.inference.cross_entropy import cross_entropy
from walkstep.inference.metropolis import own_arrays
from walkstep.inference.split_merge_family import SplitMergeFamily
from walkstep.worlds.partition import PartitionWorld
from walkstep.worlds.randomness import Seed, as_generator


@dataclass(frozen=True)
class Rounds:
    """When and how a proposer learns.

    Parameters
    ----------
    every : int
        A round of learning comes before every so many jumps; 1 is Algorithm 3.
    n_samples : int
        Jumps drawn in between, the best of which is proposed.
    n_learning, n_iterations : int
        Samples in each iteration of a round, and iterations.
    elite, smoothing : float
        As `cross_entropy` takes them.
    keep : float
        The share of its weights that a round starts with: what was learned elsewhere wears off, so that a proposer
        that has narrowed down to jumps of one kind finds others when those are made.
    l2 : float
        How much each fit is drawn to the weights it starts from.
    learns_share : bool
        Whether the share of splits is learned too; the paper holds it.
    is_adaptive : bool
        Whether it learns at all. If not, as many samples are drawn, for comparison.
    """

    every: int = 5
    n_samples: int = 5
    n_learning: int = 50
    n_iterations: int = 20
    elite: float = 0.1
    smoothing: float = 0.7
    keep: float = 0.5
    l2: float = 0.2
    learns_share: bool = True
    is_adaptive: bool = True

    def __post_init__(self) -> None:
        for name in ("every", "n_samples", "n_iterations"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; give at least 1")
        if not 0.0 <= self.keep <= 1.0:
            raise ValueError(f"keep is {self.keep}; give a share from 0 to 1")
        if not 0.0 <= self.l2 < np.inf:
            raise ValueError(f"l2 is {self.l2}; give 0 or more")


class Decoded(NamedTuple):
    """What decoding has come to."""

    assignment: NDArray[np.int32]  # (M,) the entity of each mention, named by its first one
    gain: float  # over the start, in scores or in the metric
    n_jumps: int  # proposed, each the best of several samples
    n_taken: int  # of these
    n_samples: int  # drawn in all
    parameters: NDArray[np.float64]  # of the proposer, to start from elsewhere
    outcome: Outcome

    @property
    def converged(self) -> bool:
        """Whether a whole round found nothing that gains; or the goal was reached."""
        return self.outcome is Outcome.CONVERGED


def cem_decode(
    world: PartitionWorld,
    weights: ArrayLike,
    *,
    document: int = 0,
    by_signal: bool = False,
    rounds: Rounds | None = None,
    parameters: ArrayLike | None = None,
    max_jumps: int = 10_000,
    tolerance: float = 1e-9,
    goal: float | None = None,
    rng: Seed = None,
    callback: Callable[[int, SplitMergeFamily, Any], object] | None = None,
) -> Decoded:
    """Climb from where a world stands by splits and merges that are drawn better and better.

    Parameters
    ----------
    world : PartitionWorld
        Its proposer is what `split_merge` gives. It stays as it is; the walk has its own copy.
    weights : float array (n_weights,)
        Of the model.
    document : int
        The one to walk in.
    by_signal : bool
        Whether jumps gain what the metric says, as in training, or what the model says.
    rounds : Rounds, optional
    parameters : float array, optional
        Of the proposer at the start, such as another document's walk has learned; by default the proposer's own.
    max_jumps : int
    tolerance : float
        A jump that gains no more is not taken; a round that finds none but such ends the walk.
    goal : float, optional
        The walk ends as soon as it has gained this much, and not before: rounds that find nothing are made again.
    rng : int or numpy Generator
    callback : callable, optional
        ``(number of the jump, family, sample)``, called before a jump is made or left.

    Returns
    -------
    Decoded
        Ctrl-C ends the walk early, with what it has come to.

    Examples
    --------
    >>> import polars as pl
    >>> from walkstep.features.comparators import exact
    >>> from walkstep.features.encodings import encode
    >>> from walkstep.model.partition_templates import Affinity, ground_partition
    >>> from walkstep.worlds import partition_world
    >>> from walkstep.worlds.split_merge import split_merge
    >>> records = encode(pl.DataFrame({"year": ["1990", "1991", "1990", "1991", "1990"]}), [exact("year")])
    >>> model = ground_partition([Affinity()], {"exact(year)": 3}, {}).model
    >>> world = partition_world(model, records.comparisons, n_mentions=5, proposer=split_merge(model, [0, 5]))
    >>> found = cem_decode(world, [0.0, -2.0, 1.0], rounds=Rounds(n_iterations=3), rng=0)
    >>> found.assignment.tolist(), round(found.gain, 6), found.converged
    ([0, 1, 0, 1, 0], 4.0, True)
    """
    rounds = Rounds() if rounds is None else rounds
    if max_jumps < 1 or not tolerance >= 0.0:
        raise ValueError(f"max_jumps is {max_jumps} and tolerance {tolerance}; give at least 1 and at least 0")
    own = own_arrays(world)
    theta = np.asarray(weights, dtype=np.float64)
    family = SplitMergeFamily(
        own, theta, document=document, by_signal=by_signal, l2=rounds.l2, learns_share=rounds.learns_share
    )
    generator = as_generator(rng)
    held = family.parameters if parameters is None else np.array(parameters, dtype=np.float64)
    gain, n_jumps, n_taken, n_samples = 0.0, 0, 0, 0
    outcome = Outcome.NOT_CONVERGED
    if len(own.truth) < 2 or (goal is not None and goal <= 0.0):
        return Decoded(own.values, gain, 0, 0, 0, held, Outcome.CONVERGED)
    try:
        while n_jumps < max_jumps:
            is_round = n_jumps % rounds.every == 0
            best, held, n = _propose(family, held, rounds, is_round, generator)
            n_samples += n
            if callback is not None:
                callback(n_jumps, family, best)
            n_jumps += 1
            if best["gain"] > tolerance:
                family.make(best)
                gain += float(best["gain"])
                n_taken += 1
                if goal is not None and gain >= goal:
                    outcome = Outcome.CONVERGED
                    break
            elif is_round and goal is None:
                outcome = Outcome.CONVERGED
                break
    except KeyboardInterrupt:
        outcome = Outcome.INTERRUPTED
    return Decoded(own.values, gain, n_jumps, n_taken, n_samples, held, outcome)


def _propose(
    family: SplitMergeFamily, held: NDArray[np.float64], rounds: Rounds, is_round: bool, rng: np.random.Generator
) -> tuple[Any, NDArray[np.float64], int]:
    """The best of some jumps; the parameters after them; and how many there were."""
    if is_round and rounds.is_adaptive:
        start = np.concatenate([held[:1], rounds.keep * held[1:]])
        found = cross_entropy(
            family,
            family.performance,
            start,
            n_samples=rounds.n_learning,
            elite=rounds.elite,
            smoothing=rounds.smoothing,
            n_iterations=rounds.n_iterations,
            patience=rounds.n_iterations,
            rng=rng,
        )
        if found.best is None:
            raise KeyboardInterrupt
        return found.best, found.parameters, found.n_samples
    n = rounds.n_learning * rounds.n_iterations if is_round else rounds.n_samples
    samples = family.draw(held, n, rng)
    return samples[int(np.argmax(samples["gain"]))], held, n
