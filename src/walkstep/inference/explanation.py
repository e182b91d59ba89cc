"""Why two records are together or apart: every factor of the pair, and what the whole model says of joining them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled
from walkstep.features.comparators import Comparator
from walkstep.features.comparisons import compare_pairs
from walkstep.model.partition_templates import (
    DISTINCT,
    DISTINCT_SHARE,
    MEAN,
    N_BINS,
    N_SIZES,
    SHARE,
    SIZE,
)
from walkstep.model.weights import Layout
from walkstep.references import refer
from walkstep.worlds.base import difference, factor
from walkstep.worlds.partition import PartitionWorld, transfer
from walkstep.worlds.sparse import clear, sparse_vector

_DISTINCT = ("none", "1", "2", "3", "4", "5 to 6", "7 to 9", "10 or more")


@dataclass(frozen=True)
class PairFactor:
    """What one comparator, or several together, say of a pair."""

    name: str
    level: str  # in words
    score: float


@dataclass(frozen=True)
class Change:
    """What one template gains or loses by a move."""

    name: str
    where: str  # "pairs", "entity left", "entity joined" or "between entities"
    before: str
    after: str
    score: float


@dataclass(frozen=True)
class Explanation:
    """Why two records are together or apart.

    Parameters
    ----------
    left, right : int
        The two records.
    together : bool
        Whether they are in one entity.
    factors : tuple of PairFactor
        What is said of the two alone, the largest first.
    moved : tuple of int
        Who moves when ``left`` leaves the entity of ``right``, or joins it: itself and those it must stay with.
    changes : tuple of Change
        What that move changes, the largest first within pairs and within entities.
    forbidden : tuple of str
        Constraints that forbid the move.
    """

    left: int
    right: int
    together: bool
    factors: tuple[PairFactor, ...]
    moved: tuple[int, ...]
    changes: tuple[Change, ...]
    forbidden: tuple[str, ...]

    @property
    def pair_score(self) -> float:
        """The score of the two being together, by their own factors alone."""
        return float(sum(one.score for one in self.factors))

    @property
    def score_change(self) -> float:
        """What the move would change of the score of the whole partition, were it allowed."""
        return float(sum(change.score for change in self.changes))

    @property
    def delta(self) -> float:
        """The same, and minus infinity where constraints forbid the move."""
        return -np.inf if self.forbidden else self.score_change

    def to_frame(self) -> pl.DataFrame:
        """One row for each factor of the pair and for each change that the move makes."""
        rows = [("the two", one.name, None, one.level, one.score) for one in self.factors]
        rows += [(one.where, one.name, one.before, one.after, one.score) for one in self.changes]
        schema = {
            "where": pl.String,
            "name": pl.String,
            "before": pl.String,
            "after": pl.String,
            "score": pl.Float64,
        }
        return pl.DataFrame(rows, schema=schema, orient="row")

    def __str__(self) -> str:
        state = "together" if self.together else "apart"
        lines = [
            f"Records {self.left} and {self.right} are {state}.",
            f"The two alone: {self.pair_score:+.3f}",
        ]
        lines += [f"  {one.score:+8.3f}  {one.name}: {one.level}" for one in self.factors]
        verb = "out of" if self.together else "into"
        whom = " and ".join(str(m) for m in self.moved[:3]) + (" and others" if len(self.moved) > 3 else "")
        if self.moved:
            lines.append(f"Moving {whom} {verb} the entity of {self.right}: {self.score_change:+.3f}")
            lines += [
                f"  {one.score:+8.3f}  {one.name} ({one.where}): {one.before} -> {one.after}" for one in self.changes
            ]
        lines += [f"Forbidden: {reason}" for reason in self.forbidden]
        return "\n".join(lines)


def explain(
    world: PartitionWorld,
    weights: ArrayLike,
    layout: Layout,
    comparators: Sequence[Comparator],
    left: int,
    right: int,
) -> Explanation:
    """Say which factors pull two records together, which push them apart, and by how much.

    Parameters
    ----------
    world : PartitionWorld
        At the partition to explain, which stays as it is.
    weights : float array (n_weights,)
    layout : Layout
        Names of the weights, from `ground_partition`.
    comparators : sequence of Comparator
        As they were encoded; they know what levels mean.
    left, right : int
        Two different records. ``left`` is the one that would leave the entity of the other, or join it.
    """
    theta = np.ascontiguousarray(weights, dtype=np.float64)
    n = len(world.truth)
    for name, record in (("left", left), ("right", right)):
        if not 0 <= record < n:
            raise ValueError(f"{name} is {record}; give a record from 0 to {n - 1}")
    if left == right:
        raise ValueError(f"left and right are both {left}; give two different records")
    if theta.shape != (world.model.n_weights,):
        raise ValueError(f"weights have shape {theta.shape}; the world's model has {world.model.n_weights}")
    if len(comparators) != len(world.model.pair_offset):
        raise ValueError(
            f"there are {len(comparators)} comparators, but the world compares by {len(world.model.pair_offset)}; "
            "pass those of encode(...).comparators"
        )
    cluster_of = world.clusters.cluster_of
    is_together = bool(cluster_of[left] == cluster_of[right])
    moved, forbidden = _movers(world, left, right, is_together)
    words = _Words(world, layout, comparators)
    changes = _changes(world, theta, words, moved, right, is_together) if len(moved) else []
    return Explanation(
        left,
        right,
        is_together,
        tuple(_by_size(words.factors(theta, left, right))),
        tuple(moved.tolist()),
        tuple(changes),
        tuple(forbidden),
    )


def _by_size(rows: list) -> list:
    return sorted(rows, key=lambda row: -abs(row.score))


def _movers(world: PartitionWorld, left: int, right: int, is_together: bool) -> tuple[NDArray[np.int64], list[str]]:
    """Who moves with ``left``, and what forbids it."""
    held = world.constraints
    moved = np.array([left])
    if len(held.atom_of):
        a = held.atom_of[left]
        moved = held.atom_members[held.atom_ptr[a] : held.atom_ptr[a + 1]].astype(np.int64)
    nobody = np.zeros(0, np.int64)
    if right in moved:
        return nobody, [f"records {left} and {right} must stay together"]
    document = np.searchsorted(world.document_ptr, [left, right], side="right")
    if document[0] != document[1]:
        return nobody, [f"records {left} and {right} are of different documents"]
    if is_together:
        return moved, []
    joined = np.flatnonzero(world.clusters.cluster_of == world.clusters.cluster_of[right])
    reasons = []
    for m in moved.tolist():
        if len(held.apart):
            mates = held.apart[held.apart_ptr[m] : held.apart_ptr[m + 1]]
            reasons += [f"records {m} and {other} must stay apart" for other in np.intersect1d(mates, joined)]
        if len(held.source) and held.source[m] >= 0:
            same = joined[held.source[joined] == held.source[m]]
            reasons += [f"records {m} and {other} are of the same source" for other in same]
    return moved, reasons


class _Words:
    """What weights are called and what levels mean."""

    def __init__(self, world: PartitionWorld, layout: Layout, comparators: Sequence[Comparator]):
        self.model, self.comparisons = world.model, world.pairs.comparisons
        self.name_at = {block.offset: block.name for block in layout}
        self.levels = [comparator.level_names() for comparator in comparators]

    def factors(self, weights: NDArray[np.float64], left: int, right: int) -> list[PairFactor]:
        """Factors of one pair."""
        model = self.model
        level = compare_pairs(self.comparisons, [min(left, right)], [max(left, right)])[0].astype(np.int64)
        rows = [
            PairFactor(
                self.name_at[int(at)],
                self.levels[c][level[c]],
                float(weights[at + level[c]]),
            )
            for c, at in enumerate(model.pair_offset)
            if at >= 0
        ]
        for q, at in enumerate(model.conjunction_offset):
            part = slice(model.conjunction_ptr[q], model.conjunction_ptr[q + 1])
            of = model.conjunction_of[part]
            index = at + int((model.conjunction_stride[part] * level[of]).sum())
            said = " & ".join(self.levels[c][level[c]] for c in of)
            rows.append(PairFactor(self.name_at[int(at)], said, float(weights[index])))
        return rows

    def statistic(self, t: int, index: int, amount: float) -> str:
        """One statistic of cluster template ``t``, in words."""
        model = self.model
        kind, bin_ = int(model.kind[t]), index - int(model.offset[t])
        if kind == SIZE:
            said = _sizes(bin_)
        elif kind == DISTINCT:
            said = _DISTINCT[bin_]
        elif kind in (MEAN, DISTINCT_SHARE):
            said = f"{bin_ / N_BINS:g} to {(bin_ + 1) / N_BINS:g}"
        else:
            said = self.levels[model.counted[model.source[t]]][bin_]
        if kind == SHARE:
            return f"{said} by {abs(amount):.2g}"
        return f"{said}, {abs(amount):g} times" if model.scale[t] else said


def _sizes(bin_: int) -> str:
    """The sizes of clusters that fall into a bin: two bins to an octave."""
    low = int(np.ceil(2.0 ** (bin_ / 2.0) - 1e-9))
    high = int(np.ceil(2.0 ** ((bin_ + 1) / 2.0) - 1e-9)) - 1
    if bin_ == N_SIZES - 1:
        return f"{low} or more"
    return f"{low}" if low == high else f"{low} to {high}"


def _changes(
    world: PartitionWorld,
    weights: NDArray[np.float64],
    words: _Words,
    moved: NDArray[np.int64],
    right: int,
    is_together: bool,
) -> list[Change]:
    """What the move of some records out of the entity of ``right``, or into it, changes."""
    window = world.window.copy()
    target = None if is_together else int(world.clusters.cluster_of[right])
    move = transfer(world, moved, target)
    model, phi = world.model, sparse_vector(len(weights))
    rest, n_target = (
        int(world.clusters.size[move.source]) - move.n,
        int(world.clusters.size[move.target]),
    )

    def asked(k: int) -> dict[int, float]:
        _ask(world, move, k, phi)
        return phi.to_dict()

    whole = asked(-1)
    pair_blocks = [int(at) for at in (*model.pair_offset, *model.conjunction_offset) if at >= 0]
    starts = np.array(sorted(words.name_at))
    sums = dict.fromkeys(pair_blocks, 0.0)
    for index, value in whole.items():
        block = int(starts[np.searchsorted(starts, index, side="right") - 1])
        if block in sums:
            sums[block] += value * weights[index]
    broken, made = (f"{n} pair{'s' * (n != 1)}" for n in (move.n * rest, move.n * n_target))
    of_pairs = [Change(words.name_at[block], "pairs", broken, made, float(score)) for block, score in sums.items()]
    of_entities = []
    n_pairs, n_templates = move.n * (rest + n_target), len(model.kind)
    for t in range(n_templates):
        for side, where in enumerate(("entity left", "entity joined")):
            found = asked(n_pairs + 2 * t + side)
            if found:
                said = [", ".join(words.statistic(t, i, v) for i, v in found.items() if v * s > 0) for s in (-1, 1)]
                score = sum(v * weights[i] for i, v in found.items())
                name = words.name_at[int(model.offset[t])]
                of_entities.append(Change(name, where, said[0] or "none", said[1] or "none", float(score)))
    for s in range(len(model.spread_column)):
        for index, value in asked(n_pairs + 2 * n_templates + s).items():
            said = f"{value:+g} values in several entities"
            score = float(value * weights[index])
            of_entities.append(Change(words.name_at[index], "between entities", "", said, score))
    world.window[:] = window
    return _by_size(of_pairs) + _by_size(of_entities)


@compiled(allocates=False)
def _ask(world, move, k, phi):
    """What a move changes of the k-th factor that it touches, or of all of them where k is -1."""
    here = refer(world)
    clear(phi)
    if k < 0:
        difference(here, move, phi)
    else:
        factor(here, move, k, phi)
