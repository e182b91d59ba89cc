"""Learn jumps while a walk goes on: the cross-entropy method on what the walk has tried anyway.

The samples of a round are the jumps that an `adaptive` proposer drew since the last one, and their performance is what
each would gain for a factor looked at. The shares of kinds are fitted to the elite in closed form, the weights that
choose among candidates by Eq. 2 of Rohanimanesh, Wick and McCallum (2009); both go part of the way there. Between two
rounds nothing changes, so that a walk keeps detailed balance from one round to the next.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from walkstep.features.comparisons import compare_pairs
from walkstep.inference.families import Categorical
from walkstep.lbfgs import lbfgs
from walkstep.worlds.adaptive_jumps import KINDS, AdaptiveJumps
from walkstep.worlds.partition import PartitionWorld


@dataclass(frozen=True)
class JumpLearning:
    """How jumps learn.

    Parameters
    ----------
    elite : float
        The share of the jumps tried that are learned from: those that would gain most for a factor looked at. Jumps
        that would not gain are never among them.
    smoothing : float
        How far to go to what was fitted.
    floor : float
        The least share of a kind that has one, so that none dies out.
    l2 : float
        How much the weights of candidates are drawn to the present ones.
    margin : float
        Jumps that would gain less than so many times the temperature are not learned from either: a walk makes up by
        them for what it loses by chance, and gets nowhere.
    fewest : int
        Fewer jumps than this in an elite teach nothing.
    most : int
        No more than so many jumps, the best ones, teach how to choose candidates.
    every : int
        Searches learn once so many jumps have been tried since the last time.

    Examples
    --------
    >>> JumpLearning(smoothing=0.1, floor=0.05)
    JumpLearning(elite=0.1, smoothing=0.1, floor=0.05, l2=1.0, margin=3.0, fewest=5, most=64, every=512)
    """

    elite: float = 0.1
    smoothing: float = 0.3
    floor: float = 0.005
    l2: float = 1.0
    margin: float = 3.0
    fewest: int = 5
    most: int = 64
    every: int = 512

    def __post_init__(self) -> None:
        if not 0.0 < self.elite <= 1.0 or not 0.0 <= self.smoothing <= 1.0:
            raise ValueError(
                f"elite is {self.elite} and smoothing {self.smoothing}; give a share above 0, and one from 0 to 1"
            )
        if not 0.0 <= self.floor <= 1.0 / len(KINDS):
            raise ValueError(f"floor is {self.floor}; give a share from 0 to {1.0 / len(KINDS)}")
        if not 0.0 <= self.l2 < np.inf or self.fewest < 1:
            raise ValueError(f"l2 is {self.l2} and fewest {self.fewest}; give 0 or more, and at least 1")
        if self.most < 0 or self.every < 0:
            raise ValueError(f"most is {self.most} and every {self.every}; give numbers of jumps, 0 or more")

    def is_due(self, jumps: AdaptiveJumps) -> bool:
        """Whether enough jumps have been tried to learn from."""
        return bool(jumps.n_logged[0] >= self.every)


class JumpTally(NamedTuple):
    """What became of the jumps of one kind."""

    kind: str
    share: float  # of all jumps that are tried, as it was learned
    tried: int
    taken: int
    gain: float  # in score, of those that were taken
    factors: int  # touched


def tallies(jumps: AdaptiveJumps) -> list[JumpTally]:
    """What became of the jumps of each kind that was tried."""
    return [
        JumpTally(kind, float(share), int(row[0]), int(row[1]), float(row[2]), int(row[3]))
        for kind, share, row in zip(KINDS, jumps.shares, jumps.tally, strict=True)
        if row[0] > 0
    ]


def learn_jumps(world: PartitionWorld, learning: JumpLearning | None = None, *, temperature: float = 0.0) -> None:
    """Fit the jumps of a world to the best of those tried since they were last fitted; the world's own are changed.

    Parameters
    ----------
    world : PartitionWorld
    learning : JumpLearning, optional
    temperature : float
        Of the walk that tried them.

    Examples
    --------
    Twenty records of five years; merging those of one year is what gains.

    >>> import polars as pl
    >>> from walkstep.features.blocks import Blocks
    >>> from walkstep.features.comparators import exact
    >>> from walkstep.features.encodings import encode
    >>> from walkstep.inference import metropolis
    >>> from walkstep.model.partition_templates import Affinity, ground_partition
    >>> from walkstep.worlds import block_guided, partition_world, stream
    >>> from walkstep.worlds.adaptive_jumps import adaptive
    >>> records = encode(pl.DataFrame({"year": [str(1990 + m // 4) for m in range(20)]}), [exact("year")])
    >>> model = ground_partition([Affinity()], {"exact(year)": 3}, {}).model
    >>> one_block = Blocks(np.array([0, 20]), np.arange(20), np.arange(21), np.zeros(20, int))
    >>> jumps = adaptive(block_guided(one_block), model)
    >>> world = partition_world(model, records.comparisons, n_mentions=20, proposer=jumps)
    >>> sampler = metropolis(world, np.array([0.0, -2.0, 1.0]), n_moves=2000)
    >>> state, _ = sampler.step(stream(0), sampler.init())
    >>> learn_jumps(state.world)
    >>> _, unlike, alike, *_ = state.world.proposer.merge_weights
    >>> bool(unlike < 0.0 < alike)
    True
    """
    jumps = world.proposer
    if not isinstance(jumps, AdaptiveJumps):
        raise TypeError(
            f"jumps come from {type(jumps).__name__}, which does not learn; give the world those of adaptive"
        )
    learning = JumpLearning() if learning is None else learning
    n = min(int(jumps.n_logged[0]), len(jumps.log_kind))
    jumps.n_logged[0] = 0
    told = ~np.isnan(jumps.log_worth[:n]) & (jumps.log_gain[:n] >= learning.margin * temperature)
    worth = np.where(told, jumps.log_worth[:n], -np.inf)
    best = _elite(np.where(told, jumps.log_gain[:n], -np.inf), learning)
    if len(best) >= learning.fewest:
        # A jump counts by what it takes to try one of its kind: what is sampled are factors, not jumps.
        kinds = jumps.log_kind[best]
        cost = jumps.tally[:, 3] / np.maximum(jumps.tally[:, 0], 1.0)
        fitted = Categorical().fit(jumps.shares, kinds, 1.0 / cost[kinds])
        jumps.shares[:] = _smoothed(jumps.shares, fitted, learning)
    chosen = np.flatnonzero(jumps.log_choice[:n] >= 0)
    best = chosen[_elite(worth[chosen], learning)[: learning.most]]
    if len(best) >= learning.fewest:
        _learn_candidates(world, jumps, best, learning)


def _elite(worth: NDArray[np.float64], learning: JumpLearning) -> NDArray[np.intp]:
    """The jumps that would gain most."""
    n = int(np.ceil(learning.elite * len(worth)))
    best = np.argsort(-worth, kind="stable")[:n]
    return best[worth[best] > 0.0]


def _smoothed(present: NDArray[np.float64], fitted: NDArray[np.float64], learning: JumpLearning) -> NDArray[np.float64]:
    """Part of the way; kinds that have no share get none, and no other falls below the floor."""
    mixed = learning.smoothing * fitted + (1.0 - learning.smoothing) * present
    return _floored(mixed, np.where(present > 0.0, learning.floor, 0.0))


def _floored(shares: NDArray[np.float64], floor: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares that add up to 1, none below its floor: what is above floors is scaled to fit."""
    above = np.maximum(shares - floor, 0.0)
    return floor + above * (1.0 - floor.sum()) / max(above.sum(), 1e-300)


def _learn_candidates(
    world: PartitionWorld, jumps: AdaptiveJumps, best: NDArray[np.intp], learning: JumpLearning
) -> None:
    """Eq. 2: weights under which the candidates chosen in the elite are likely among those they were drawn with."""
    start = np.concatenate([jumps.split_weights, jumps.merge_weights])
    features, group, chosen = _candidates(world, jumps, best)
    seen, table = features
    present = start[seen]
    n_groups = len(best)

    def objective(weights):
        log_odds = table @ weights
        top = np.full(n_groups, -np.inf)
        np.maximum.at(top, group, log_odds)
        odds = np.exp(log_odds - top[group])
        norm = np.bincount(group, odds, minlength=n_groups)
        away = weights - present
        slack = odds / norm[group]
        slack[chosen] -= 1.0
        loss = float((top + np.log(norm) - log_odds[chosen]).sum()) + 0.5 * learning.l2 * float(away @ away)
        return loss / n_groups, (table.T @ slack + learning.l2 * away) / n_groups

    *_, last = lbfgs(objective, present, max_iter=30, tolerance=1e-4)
    start[seen] += learning.smoothing * (last.weights - present)
    jumps.split_weights[:], jumps.merge_weights[:] = np.split(start, 2)


def _candidates(
    world: PartitionWorld, jumps: AdaptiveJumps, best: NDArray[np.intp]
) -> tuple[tuple[NDArray[np.int64], csr_array], NDArray[np.intp], NDArray[np.int64]]:
    """Features of all candidates of some jumps, the jump of each, and where those lie that were chosen.

    Of the weights of splits, followed by those of merges, the columns are those named first.
    """
    pairs, size = jumps.log_pairs[best], jumps.log_size[best]
    group, place = np.nonzero(pairs[:, :, 1] >= 0)
    rows = np.full(pairs.shape[:2], -1, np.int64)
    rows[group, place] = np.arange(len(group))
    chosen = rows[np.arange(len(best)), jumps.log_choice[best]]
    left, right = pairs[group, place].T.astype(np.int64)
    is_together = size[group, place] < 0.0
    log_size = np.where(is_together, -1.0 - size[group, place], size[group, place])
    index = pair_columns(world, left, right)
    n_weights = world.model.n_weights + 2
    own = np.tile([n_weights - 2, n_weights - 1], (len(group), 1))
    columns = np.concatenate([index, own], axis=1) + np.where(is_together, 0, n_weights)[:, None]
    values = np.concatenate([np.ones((len(group), index.shape[1] + 1)), log_size[:, None]], axis=1)
    ends = np.arange(len(group) + 1) * columns.shape[1]
    seen, places = np.unique(columns, return_inverse=True)  # what no candidate has says nothing
    table = csr_array((values.ravel(), places.ravel(), ends), shape=(len(group), len(seen)))
    return (seen, table), group, chosen


def pair_columns(world: PartitionWorld, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """Which statistics each pair has, (n_pairs, n_features)."""
    model = world.model
    levels = compare_pairs(world.pairs.comparisons, np.minimum(left, right), np.maximum(left, right)).astype(np.int64)
    told = model.pair_offset >= 0
    columns = [model.pair_offset[told] + levels[:, told]]
    for q, offset in enumerate(model.conjunction_offset.tolist()):
        part = slice(model.conjunction_ptr[q], model.conjunction_ptr[q + 1])
        joined = levels[:, model.conjunction_of[part]] @ model.conjunction_stride[part].astype(np.int64)
        columns.append((offset + joined)[:, None])
    return np.concatenate(columns, axis=1)
