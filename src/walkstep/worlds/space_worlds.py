"""Worlds over a space: a structure for each row, walked through by drawing anew or by local moves."""

from typing import Any, NamedTuple

import numpy as np
import scipy  # its parts load at first use
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled
from walkstep.references import LARGE
from walkstep.worlds.base import register
from walkstep.worlds.randomness import Seed
from walkstep.worlds.space import Space
from walkstep.worlds.sparse import add
from walkstep.worlds.structure import Structure, frozen

MOVES = ("auto", "local", "uniform")


class SeenRows(NamedTuple):
    """Rows of features, as sparse ones are kept."""

    ptr: NDArray[np.int64]  # (n_rows+1,)
    column: NDArray[np.int64]
    value: NDArray[np.float64]
    n_columns: int


class SpaceWorld(NamedTuple):
    """Where a walk is: a structure for every row, the one of the row entered at hand.

    A weight belongs to a statistic and a column of the rows, for those statistics that see rows, statistic by
    statistic; then one more to each statistic, which is its score whatever the row.
    """

    structure: Structure
    rows: SeenRows
    values: NDArray[np.int32]  # (size,) the structure at hand
    kept: NDArray[np.int32]  # (n_rows, size) those of all rows; that of the row entered is not up to date
    now: NDArray[np.float64]  # (n_statistics,) what the one at hand counts
    truth: NDArray[np.float64]  # (n_rows, n_statistics) what the true ones count
    importance: NDArray[np.float64]  # (n_statistics,) what a difference costs
    fresh: NDArray[np.int32]  # scratch: (size,) another structure
    after: NDArray[np.float64]  # scratch: (n_statistics,) what it counts
    sites: NDArray[np.int64]  # scratch: the values that the last move changes,
    new_values: NDArray[np.int32]  # what they become,
    n_sites: NDArray[np.int64]  # (1,) and how many they are
    changed: NDArray[np.int64]  # scratch: the statistics that it changes, each once,
    amount: NDArray[np.float64]  # and by how much
    window: NDArray[np.int64]  # (1,) the row entered
    n_seen: int
    is_local: bool


class SpaceMove(NamedTuple):
    """The move that was proposed last; its changes lie in the world."""

    n_changes: Any  # int; numpy's whole numbers inside loops


def space_world(
    space: Space,
    values: ArrayLike | None = None,
    *,
    rows: Any = None,
    truth: ArrayLike | None = None,
    true_statistics: ArrayLike | None = None,
    moves: str = "auto",
    rng: Seed = None,
) -> SpaceWorld:
    """A world over a space.

    Parameters
    ----------
    space : Space
    values : int array (size,) or (n_rows, size), optional
        Where the walk starts; by default structures that are drawn uniformly.
    rows : float array or sparse matrix (n_rows, n_columns), optional
        Features, for learning; without them there is one row without columns, and the weights are the scores of
        the statistics.
    truth : int array (n_rows, size), optional
        The true structures.
    true_statistics : float array (n_rows, n_statistics), optional
        What they count, where that is all that is known of them; 0 for a pair whose order is not.
    moves : {"auto", "local", "uniform"}
        The space's local moves, or structures drawn anew each time, which is the chain META (section 5 of the paper);
        by default local ones where the space has some.
    rng : seed
        For the start.

    Examples
    --------
    >>> from walkstep.inference import metropolis, run
    >>> from walkstep.worlds import Permutations, space_world
    >>> world = space_world(Permutations(3), [0, 1, 2])
    >>> samples = run(metropolis(world, np.array([9.0, 9.0, 9.0]), n_moves=10), None, 100, rng=0)
    >>> samples.best_values.tolist()
    [0, 1, 2]
    """
    if moves not in MOVES:
        raise ValueError(f"moves is {moves!r}; choose one of {', '.join(MOVES)}")
    if moves == "local" and not space.structure.has_move:
        raise ValueError(f"{type(space).__name__} has no local moves; choose moves='uniform', or give it some")
    seen = seen_rows(np.zeros((1, 0)) if rows is None else rows)
    n_rows = len(seen.ptr) - 1
    known = None if truth is None else space.check(truth)
    if values is None:
        start = space.draw(n_rows, rng)
    else:
        start = space.check(np.atleast_2d(np.asarray(values)))
    for name, array in (("values", start), ("truth", known)):
        if array is not None and len(array) != n_rows:
            raise ValueError(f"{name} has {len(array)} structures for {n_rows} rows; give one for each")
    counted = np.zeros((0, space.n_statistics))
    if true_statistics is not None:
        counted = np.array(true_statistics, np.float64)
        if counted.shape != (n_rows, space.n_statistics):
            raise ValueError(f"true_statistics has shape {counted.shape}; give ({n_rows}, {space.n_statistics})")
    elif known is not None:
        counted = space.statistics(known)
    most = max(space.size, space.n_statistics)
    return SpaceWorld(
        space.structure,
        seen,
        start[0].copy(),
        start,
        np.array(space.statistics(start[0])),
        frozen(counted),
        frozen(space.importance),
        np.zeros(space.size, np.int32),
        np.zeros(space.n_statistics),
        np.zeros(most + 1, np.int64),
        np.zeros(most + 1, np.int32),
        np.zeros(1, np.int64),
        np.zeros(2 * most + 2, np.int64),
        np.zeros(2 * most + 2),
        np.zeros(1, np.int64),
        space.n_seen if seen.n_columns else 0,
        moves != "uniform" and space.structure.has_move,
    )


def seen_rows(rows: Any) -> SeenRows:
    """Rows of features, dense or sparse, as a world reads them."""
    if scipy.sparse.issparse(rows):
        table = scipy.sparse.csr_array(rows)
        ptr, column = np.asarray(table.indptr, np.int64), np.asarray(table.indices, np.int64)
        return SeenRows(frozen(ptr), frozen(column), frozen(np.asarray(table.data, np.float64)), int(rows.shape[1]))
    dense = np.asarray(rows, np.float64)
    n_rows, n_columns = dense.shape
    column = np.tile(np.arange(n_columns), n_rows)
    return SeenRows(frozen(np.arange(n_rows + 1) * n_columns), frozen(column), frozen(dense.ravel()), n_columns)


@compiled(inline=True)
def count_now(world):
    """Count the statistics of the structure at hand."""
    space = world.structure
    space.statistics(space.ints, space.floats, world.values, world.now)


def _enter(world, document):
    row = world.window[0]
    for i in range(len(world.values)):
        world.kept[row, i] = world.values[i]
        world.values[i] = world.kept[document, i]
    world.window[0] = document
    count_now(world)
    return len(world.values)


def _propose(world, rng):
    space = world.structure
    if not world.is_local:
        space.draw(space.ints, space.floats, world.fresh, rng)
        return _to_fresh(world), 0.0
    ratio = space.move(space.ints, space.floats, world.values, world.sites, world.new_values, world.n_sites, rng)
    if world.n_sites[0] < 0 or world.n_sites[0] > len(world.values):
        raise ValueError("a local move changed more values than there are, or fewer than none; see as_space")
    if space.has_difference:
        n = space.difference(
            space.ints,
            space.floats,
            world.values,
            world.sites,
            world.new_values,
            world.n_sites,
            world.changed,
            world.amount,
        )
        return SpaceMove(n), ratio
    for i in range(len(world.values)):
        world.fresh[i] = world.values[i]
    for e in range(world.n_sites[0]):
        world.fresh[world.sites[e]] = world.new_values[e]
    return _to_fresh(world), ratio


@compiled(inline=True)
def _to_fresh(world):
    """The move to the structure that scratch holds."""
    space = world.structure
    n_sites = 0
    for i in range(len(world.values)):
        if world.fresh[i] != world.values[i]:
            world.sites[n_sites], world.new_values[n_sites] = i, world.fresh[i]
            n_sites += 1
    world.n_sites[0] = n_sites
    space.statistics(space.ints, space.floats, world.fresh, world.after)
    n = np.int64(0)
    for k in range(len(world.now)):
        if world.after[k] != world.now[k]:
            world.changed[n], world.amount[n] = k, world.after[k] - world.now[k]
            n += 1
    return SpaceMove(n)


def _n_factors(world, move):
    return move.n_changes


@compiled(inline=True)
def _add_statistic(world, k, amount, phi):
    """Add what a statistic's change does: along the row it sees, and by itself."""
    rows, row = world.rows, world.window[0]
    if k < world.n_seen:
        for e in range(rows.ptr[row], rows.ptr[row + 1]):
            add(phi, k * rows.n_columns + rows.column[e], amount * rows.value[e])
    add(phi, world.n_seen * rows.n_columns + k, amount)


@compiled(inline=True)
def score_of_statistic(world, k, weights):
    """The score of a statistic, for the row entered."""
    rows, row = world.rows, world.window[0]
    score = weights[world.n_seen * rows.n_columns + k]
    if k < world.n_seen:
        for e in range(rows.ptr[row], rows.ptr[row + 1]):
            score += weights[k * rows.n_columns + rows.column[e]] * rows.value[e]
    return score


def _factor(world, move, k, phi):
    _add_statistic(world, world.changed[k], world.amount[k], phi)


def _factor_score(world, move, k, weights, phi):
    return world.amount[k] * score_of_statistic(world, world.changed[k], weights)


def _difference(world, move, phi):
    for k in range(move.n_changes):
        _add_statistic(world, world.changed[k], world.amount[k], phi)


def _delta(world, move, weights, phi):
    total = 0.0
    for k in range(move.n_changes):
        total += world.amount[k] * score_of_statistic(world, world.changed[k], weights)
    return total


def _signal(world, move):
    total = 0.0
    if len(world.truth) > 0:
        true = world.truth[world.window[0]]
        for e in range(move.n_changes):
            k = world.changed[e]
            gap = world.now[k] - true[k]
            total += world.importance[k] * (abs(gap) - abs(gap + world.amount[e]))
    return total


def _is_silent(world, move):
    return False


def _commit(world, move):
    for e in range(world.n_sites[0]):
        world.values[world.sites[e]] = world.new_values[e]
    for e in range(move.n_changes):
        world.now[world.changed[e]] += world.amount[e]


def _retrace(world, goal, phi):
    gap = 0.0
    true = world.truth[world.window[0]]
    for k in range(len(world.now)):
        if goal.now[k] != world.now[k]:
            _add_statistic(world, k, goal.now[k] - world.now[k], phi)
            gap += world.importance[k] * (abs(world.now[k] - true[k]) - abs(goal.now[k] - true[k]))
    return gap


def _restart(world, goal):
    for i in range(len(world.values)):
        world.values[i] = goal.values[i]
    for k in range(len(world.now)):
        world.now[k] = goal.now[k]


LARGE.add(SpaceWorld)
register(
    SpaceWorld,
    enter=_enter,
    propose=_propose,
    n_factors=_n_factors,
    factor=_factor,
    factor_score=_factor_score,
    difference=_difference,
    delta=_delta,
    signal=_signal,
    is_silent=_is_silent,
    commit=_commit,
    retrace=_retrace,
    restart=_restart,
)
