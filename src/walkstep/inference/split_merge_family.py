"""Splits and merges as a family of distributions over jumps, for the cross-entropy method.

From where a walk stands, a `SplitMerge` proposer draws jumps; what they gain is their performance, and the proposer is
fitted to those that gain most: its weights by Eq. 2, its share of splits in closed form (Rohanimanesh et al., 2009).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from walkstep.compiled import compiled
from walkstep.lbfgs import lbfgs
from walkstep.references import refer
from walkstep.worlds.base import commit, delta, difference, enter, forbids, signal
from walkstep.worlds.clusters import bring_to
from walkstep.worlds.jump_features import add_one, add_two
from walkstep.worlds.partition import PartitionWorld
from walkstep.worlds.randomness import stream
from walkstep.worlds.sparse import SparseVector, clear, sparse_vector
from walkstep.worlds.split_merge import SPLIT, SplitMerge, draw_jump, hold_odds, refresh, steer
from walkstep.worlds.split_sides import FARTHEST
from walkstep.worlds.transfers import Transfer

SHARES = (0.05, 0.95)
"""Within which the share of splits is learned, so that neither kind of jump dies out."""


class Rows(NamedTuple):
    """Features of all that a jump may choose among."""

    table: Any  # sparse (n_rows, n_seen)
    seen: NDArray[np.intp]  # which features its columns are; what no row has says nothing
    n_rows: int


class SplitMergeFamily:
    """The jumps from where a world stands.

    Parameters are one vector: the share of splits, the weights of splits, the weights of merges. A sample says what
    was split or merged, what that gains, and who moves.

    Parameters
    ----------
    world : PartitionWorld
        Its proposer is a `SplitMerge`.
    weights : float array (n_weights,)
        Of the model.
    document : int
        The one to jump in.
    by_signal : bool
        Whether a jump gains what the metric says, or what the model's score says.
    l2 : float
        How much each fit is drawn to the parameters it starts from; see `LogDensity`.
    learns_share : bool
        Whether the share of splits is learned with the weights; the paper holds it.
    """

    def __init__(
        self,
        world: PartitionWorld,
        weights: NDArray[np.float64],
        *,
        document: int = 0,
        by_signal: bool = False,
        l2: float = 1.0,
        learns_share: bool = True,
    ):
        if not isinstance(world.proposer, SplitMerge):
            raise TypeError(f"jumps come from {type(world.proposer).__name__}; give it those of split_merge")
        self.world, self.weights = world, np.ascontiguousarray(weights, dtype=np.float64)
        self.by_signal, self.l2, self.learns_share = by_signal, l2, learns_share
        self.jumps: SplitMerge = world.proposer
        self._phi = sparse_vector(world.model.n_weights)
        largest = self.jumps.groups.members.shape[1]
        self._sample = np.dtype(
            [("kind", "i8"), ("row", "i8"), ("gain", "f8"), ("target", "i8"), ("n", "i8"), ("moved", "i4", (largest,))]
        )
        self._features: tuple[Rows, Rows] | None = None
        _enter(world, document)

    @property
    def n_features(self) -> int:
        """How many features jumps are chosen by."""
        return len(self.jumps.split_weights)

    @property
    def parameters(self) -> NDArray[np.float64]:
        """Those that the proposer has now."""
        jumps = self.jumps
        return np.concatenate([jumps.share_split, jumps.split_weights, jumps.merge_weights])

    def steer(self, parameters: NDArray[np.float64]) -> None:
        """Let the proposer go by these parameters from now on."""
        d = self.n_features
        if len(parameters) != 1 + 2 * d:
            raise ValueError(f"there are {len(parameters)} parameters; give a share and two weights for {d} features")
        if np.array_equal(parameters, self.parameters):
            return
        share = float(np.clip(parameters[0], *SHARES))
        steer(self.jumps, share, parameters[1 : 1 + d], parameters[1 + d :])
        if self._features is not None:  # quicker than to compare everything again
            given = zip(self._features, np.split(parameters[1:], 2), strict=True)
            log_odds = (rows.table @ weights[rows.seen] for rows, weights in given)
            hold_odds(self.world, *(np.exp(np.clip(x, -FARTHEST, FARTHEST)) for x in log_odds))

    def draw(self, parameters: NDArray[np.float64], n: int, rng: np.random.Generator) -> Any:
        """``n`` jumps from where the world stands."""
        self.steer(parameters)
        found = np.zeros(n, self._sample)
        columns = {name: np.ascontiguousarray(found[name]) for name in found.dtype.names or ()}
        _draw(self.world, self.weights, self.by_signal, stream(rng), self._phi, *columns.values())
        for name, column in columns.items():
            found[name] = column
        return found

    def performance(self, samples: Any) -> NDArray[np.float64]:
        """What jumps gain; one that loses is not taken, and gains nothing."""
        return np.maximum(samples["gain"], 0.0)

    def fit(self, parameters: NDArray[np.float64], samples: Any, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """Eq. 2: the weights by L-BFGS, the share of splits by how many of the samples are splits."""
        d = self.n_features
        fitted = np.array(parameters)
        if self._features is None:
            self._features = self.features()
        splits, merges = self._features
        is_split = samples["kind"] == SPLIT
        if self.learns_share and splits.n_rows and merges.n_rows:
            fitted[0] = np.clip(share[is_split].sum() / share.sum(), *SHARES)
        for rows, chosen, first in ((splits, is_split, 1), (merges, ~is_split, 1 + d)):
            if chosen.any() and rows.n_rows > 1:
                picked = np.zeros(rows.n_rows)
                np.add.at(picked, samples["row"][chosen], share[chosen])
                fitted[first : first + d] = _fitted(rows, picked, fitted[first : first + d], self.l2)
        return fitted

    def features(self) -> tuple["Rows", "Rows"]:
        """Features of all clusters that can be split, and of all pairs of clusters, as samples number them."""
        n_entries = 1 << 16
        while True:
            ptr = np.zeros((2, 1 + _n_pairs(self.world)), np.int64)
            index, value = np.zeros((2, n_entries), np.int32), np.zeros((2, n_entries))
            n_rows = np.zeros(2, np.int64)
            needed = int(_write_features(self.world, self.jumps.phi, ptr, index, value, n_rows))
            if needed <= n_entries:
                break
            n_entries = 2 * needed
        splits, merges = (_rows(ptr[k], index[k], value[k], int(n_rows[k])) for k in range(2))
        return splits, merges

    def difference(self, sample: Any) -> SparseVector:
        """What a jump changes of the model's statistics; good until the next."""
        _difference(self.world, sample["moved"].astype(np.int64), int(sample["n"]), int(sample["target"]), self._phi)
        return self._phi

    def make(self, sample: Any) -> None:
        """Jump there."""
        _make(self.world, sample["moved"].astype(np.int64), int(sample["n"]), int(sample["target"]))
        self._features = None


def _n_pairs(world: PartitionWorld) -> int:
    n = int(world.clusters.n_used[world.window[2]])
    return max(n, n * (n - 1) // 2)


def _rows(ptr: NDArray[Any], index: NDArray[Any], value: NDArray[np.float64], n: int) -> Rows:
    """Rows from what was written, with the features that some row has."""
    ends = ptr[: n + 1]
    seen, places = np.unique(index[: ends[-1]], return_inverse=True)
    return Rows(csr_array((value[: ends[-1]], places, ends), shape=(n, len(seen))), seen, n)


def _fitted(rows: Rows, picked: NDArray[np.float64], start: NDArray[np.float64], l2: float) -> NDArray[np.float64]:
    """The weights under which the rows that were picked are likely, drawn to those of the start."""
    total = float(picked.sum())
    table, present = rows.table, start[rows.seen]
    goal = picked @ table

    def objective(weights):
        log_odds = table @ weights
        top = log_odds.max()
        odds = np.exp(log_odds - top)
        norm = odds.sum()
        away = weights - present
        loss = total * (top + np.log(norm)) - goal @ weights + 0.5 * l2 * away @ away
        return loss / total, (total * (odds @ table) / norm - goal + l2 * away) / total

    *_, last = lbfgs(objective, present, max_iter=30, tolerance=1e-4)
    found = start.copy()
    found[rows.seen] = last.weights
    return found


@compiled(allocates=False)
def _enter(whole, document):
    """Turn to a document, with its metric counted."""
    enter(refer(whole), document)


@compiled(allocates=False)
def _draw(whole, weights, by_signal, rng, phi, kind, row, gain, target, n_moved, moved):
    """Draw jumps and price them; each says its row among all splits, or all merges."""
    world = refer(whole)
    jumps = world.proposer
    refresh(jumps, world)
    held, first = world.clusters, world.window[0]
    for k in range(len(kind)):
        move, _ = draw_jump(jumps, world, rng)
        world.clock[0] += 1
        kind[k] = jumps.chosen[0]
        if forbids(world, move):
            gain[k] = -np.inf
        elif by_signal:
            gain[k] = signal(world, move)
        else:
            gain[k] = delta(world, move, weights, phi)
        if kind[k] == SPLIT:
            row[k] = 0
            for p in range(held.rank[jumps.chosen[1]] - first):
                row[k] += jumps.split_odds[held.order[first + p] - first] > 0.0
        else:
            one, two = held.rank[jumps.chosen[1]] - first, held.rank[jumps.chosen[2]] - first
            p, q = max(one, two), min(one, two)
            row[k] = p * (p - 1) // 2 + q
        target[k] = move.target
        n_moved[k] = move.n
        start = held.first[move.source] + held.size[move.source] - move.n
        for i in range(move.n):
            moved[k, i] = held.pool[held.heap[0], start + i]


@compiled(allocates=False)
def _write_features(whole, phi, ptr, index, value, n_rows):
    """Features of splits (0) and merges (1), in rows; returns how many entries there are, written or not."""
    world = refer(whole)
    jumps = world.proposer
    refresh(jumps, world)
    held, first = world.clusters, world.window[0]
    most = np.int64(0)
    for k in range(2):
        at = np.int64(0)
        for p in range(held.n_used[world.window[2]]):
            one = np.int64(held.order[first + p])
            for q in range(p if k == 1 else (1 if jumps.split_odds[one - first] > 0.0 else 0)):
                clear(phi)
                if k == 0:
                    add_one(world, jumps.groups, one, phi)
                else:
                    add_two(world, jumps.groups, one, np.int64(held.order[first + q]), phi)
                for e in range(phi.size[0]):
                    if at < index.shape[1]:
                        index[k, at] = phi.index[e]
                        value[k, at] = phi.value[e]
                    at += 1
                n_rows[k] += 1
                ptr[k, n_rows[k]] = at
        most = max(most, at)
    return most


@compiled(allocates=False)
def _difference(whole, moved, n, target, phi):
    """Write down what it changes that mentions of one cluster go to another."""
    world = refer(whole)
    clear(phi)
    difference(world, _as_transfer(world, moved, n, target), phi)


@compiled(allocates=False)
def _make(whole, moved, n, target):
    """Let mentions of one cluster go to another."""
    world = refer(whole)
    commit(world, _as_transfer(world, moved, n, target))


@compiled(inline=True)
def _as_transfer(world, moved, n, target):
    """The move that takes mentions of one cluster to a slot."""
    held = world.clusters
    source = np.int64(held.cluster_of[moved[0]])
    size = np.int64(held.size[source])
    for k in range(n):
        bring_to(held, moved[k], size - 1 - k)
    world.clock[0] += 1
    return Transfer(source, np.int64(target), np.int64(n), np.int64(0))
