"""Metropolis-Hastings: a walk through any world, each proposed move taken or left."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import Again, compiled, loop_for
from walkstep.inference.base import Sampler
from walkstep.inference.gibbs import check_temperature
from walkstep.inference.monte_carlo import max_factors as most_factors
from walkstep.inference.monte_carlo import monte_carlo_transition
from walkstep.inference.potentials import Potentials, frozen_graph, potentials, total_score
from walkstep.inference.transitions import attempt, metropolis_transition
from walkstep.model.graph import Graph
from walkstep.references import refer
from walkstep.worlds.base import commit, note, verbs_of
from walkstep.worlds.labels import LabelWorld, label_world
from walkstep.worlds.pair_levels import own_memory, with_scores
from walkstep.worlds.partition import PartitionWorld, at_assignment, partition_score
from walkstep.worlds.proposers import UniformFlip
from walkstep.worlds.signals import Hamming
from walkstep.worlds.sparse import SparseVector, sparse_vector


class MetropolisState(NamedTuple):
    """Where the walk stands."""

    world: Any
    tally: NDArray[np.float64]  # (2,) score, counted from the start where the world cannot say; moves accepted
    phi: SparseVector  # scratch
    transition: Any

    @property
    def values(self) -> NDArray[np.integer]:
        """The world's values."""
        return self.world.values


class MetropolisInfo(NamedTuple):
    """What one block of moves did."""

    n_moves: int
    n_accepted: int
    temperature: float
    n_factors: int | None = None  # factors looked at, where they are counted


def metropolis(
    world: Any,
    weights: ArrayLike,
    *,
    temperature: float = 1.0,
    proposer: Any = None,
    document: int | None = None,
    n_moves: int | None = None,
    look: Any = None,
    share: float | None = None,
    width: float | None = None,
    by_side: bool = True,
    screen: bool = False,
    max_factors: int | None = None,
) -> Sampler:
    """Walk through a world, taking a move with probability min(1, exp(delta / T) q(back) / q(there)).

    One step is a block of ``n_moves`` moves; a move costs what it touches, however many variables there are.

    Parameters
    ----------
    world : Graph or registered world
        A graph stands for label variables over it. The walk has its own copy of the arrays of a world, but for
        those that are read-only.
    weights : float array (n_weights,)
    temperature : float
        1 samples the model, lower is greedier, 0 takes only moves that do not lose.
    proposer : optional
        For label worlds, where the moves come from: `UniformFlip`, or what `as_proposer` gives. By default the
        world's own.
    document : int, optional
        For a partition world of several documents, the one to walk in: all other mentions stay where they are.
        `partition_sampler` walks through all documents.
    n_moves : int, optional
        Moves in one step; by default one for each variable, and 1000 in worlds that are not over labels.
    look : callable, optional
        ``(world) -> array``, what a draw keeps of it; by default its ``values``.
    share, width, by_side, screen : optional
        Price moves by a sample of the factors they touch (Monte Carlo MCMC; see `monte_carlo_transition`), and
        count them. A ``share`` of 1 looks at all and counts. Given to a step, a share counts for that step alone.
    max_factors : int, optional
        For a world of your own and sampled factors, the most factors that one move touches.

    Examples
    --------
    >>> from walkstep.inference import run
    >>> from walkstep.model import Factors, ground
    >>> graph, layout = ground([3, 3], [Factors("edge", [[0, 1]])])
    >>> samples = run(metropolis(graph, 20 * np.eye(3).ravel()), [0, 1], 50, rng=0)
    >>> samples.best_score
    20.0
    """
    check_temperature(temperature)
    if n_moves is not None and n_moves < 1:
        raise ValueError(f"n_moves is {n_moves}; give at least 1")
    block = 1000 if n_moves is None else n_moves
    theta = np.ascontiguousarray(weights, dtype=np.float64)
    held: Potentials | None = None
    if isinstance(world, Graph):
        world = label_world(world)
    _check_document(world, document)
    if screen and "n_leaving" not in verbs_of(type(world)):
        raise ValueError(
            f"screen=True looks first at where a move goes, and {type(world).__name__} has no verb 'n_leaving' to tell"
        )
    # Partitions always count their factors, so that one compiled loop serves both ways.
    is_sampled = share is not None or width is not None or isinstance(world, PartitionWorld)
    if is_sampled:  # what is wrong with them is said now
        monte_carlo_transition(0, share=1.0 if share is None else share, width=width, by_side=by_side, screen=screen)
    if isinstance(world, LabelWorld):
        # Weights are held, so factors become tables; and a walk that only answers needs no metric. A sampled walk
        # keeps the graph, which tells the factors that forbid, and are always looked at, from all others.
        held = potentials(world.graph, theta)
        graph = world.graph if is_sampled else frozen_graph(held)
        theta = theta if is_sampled else np.zeros(0)
        world = label_world(
            graph,
            values=world.values,
            signal=Hamming(),
            proposer=world.proposer if proposer is None else proposer,
        )
        if isinstance(world.proposer, UniformFlip) and int(world.graph.n_values.max(initial=1)) < 2:
            raise ValueError("every variable has a single value, so no move changes anything")
        block = max(world.graph.n_variables, 1) if n_moves is None else n_moves
    else:
        verbs_of(type(world))
        if proposer is not None:
            raise ValueError(
                f"proposer is given, but {type(world).__name__} proposes by its own verb; register another one"
            )
    if look is None and not hasattr(world, "values"):
        raise ValueError(f"{type(world).__name__} has no field 'values'; say with look= what a draw keeps of it")
    walk = Again(loop_for(_walk, world))
    template = world
    if is_sampled and max_factors is None:
        max_factors = most_factors(world)

    def score_of(world):
        if isinstance(world, PartitionWorld):
            return partition_score(world, theta)
        return 0.0 if held is None else total_score(held, world.values)

    def init(values=None):
        transition: Any = metropolis_transition(temperature)
        if is_sampled:
            of_all = 1.0 if share is None else share
            most = max_factors or 0
            transition = monte_carlo_transition(most, temperature, share=of_all, by_side=by_side, screen=screen)
        own = own_world(template)
        if isinstance(template, PartitionWorld):
            own = own if values is None else at_assignment(own, values)
            own = own._replace(pairs=with_scores(own.pairs))
            if document is not None:
                own.window[:] = *own.document_ptr[document : document + 2], document
        elif values is not None:
            if held is not None:
                values = label_world(own.graph, values=values).values
            own.values[...] = values
        return MetropolisState(own, np.array([score_of(own), 0.0]), sparse_vector(len(theta)), transition)

    def step(rng, state, temperature=temperature, share=1.0 if share is None else share):
        transition = state.transition
        transition.temperature[0] = temperature
        is_exact = share == 1.0 and not width
        if is_sampled:
            transition.share[0] = share
            transition.width[0] = -1.0 if width is None else width
            transition.screens[0] = screen  # a state goes from one sampler to another
            transition.examined[0] = 0
        state.tally[1] = 0.0
        walk(state.world, transition, theta, block, state.phi, rng, state.tally)
        if is_sampled and not is_exact:
            state.tally[0] = np.nan  # what was summed up are estimates
        elif not np.isfinite(state.tally[0]):  # the walk has left a forbidden world, or a stretch of estimates
            state.tally[0] = score_of(state.world)
        n_factors = int(transition.examined[0]) if is_sampled else None
        return state, MetropolisInfo(block, int(state.tally[1]), temperature, n_factors)

    def score(state):
        if np.isnan(state.tally[0]):
            state.tally[0] = score_of(state.world)
        return float(state.tally[0])

    sizes = None if held is None else held.graph.n_values
    if look is None:
        return Sampler(init, step, score, sizes)
    return Sampler(init, step, score, None, lambda state: look(state.world))


def _check_document(world: Any, document: int | None) -> None:
    """An error unless it is clear where a walk is to go: one that enters a document never leaves it."""
    n = len(world.document_ptr) - 1 if isinstance(world, PartitionWorld) else 1
    if document is None and n > 1:
        raise ValueError(
            f"the world has {n} documents, and this walk stays in one of them; name it with document=, "
            "or walk through all with partition_sampler"
        )
    if document is not None and not isinstance(world, PartitionWorld):
        raise ValueError(f"document is {document}, but {type(world).__name__} is no partition world; leave it out")
    if document is not None and not 0 <= document < n:
        raise ValueError(f"document is {document}; the world has documents 0 to {n - 1}")


def own_world(world: Any) -> Any:
    """A copy of a world that shares only what is read-only; nothing is copied of a memory that holds nothing yet."""
    if not isinstance(world, PartitionWorld):
        return own_arrays(world)
    return own_arrays(world._replace(pairs=None))._replace(pairs=own_memory(world.pairs))


def own_arrays(world: Any) -> Any:
    """A copy of a world that shares only what is read-only.

    Examples
    --------
    >>> shared = np.zeros(2)
    >>> shared.flags.writeable = False
    >>> copy = own_arrays((shared, np.zeros(2)))
    >>> copy[0] is shared, copy[1] is shared
    (True, False)
    """
    if isinstance(world, np.ndarray):
        return world.copy() if world.flags.writeable else world
    if isinstance(world, tuple):
        parts = [own_arrays(part) for part in world]
        return type(world)(*parts) if hasattr(world, "_fields") else tuple(parts)
    return world


@compiled(allocates=False)
def _walk(world, transition, weights, n_moves, phi, rng, tally):
    """A block of moves; the tally holds the score and how many were accepted."""
    here = refer(world)
    for _ in range(n_moves):
        move, change, accepted = attempt(transition, here, weights, 1.0, phi, rng)
        note(here, move, change, accepted)
        if accepted:
            tally[0] += change
            tally[1] += 1.0
            commit(here, move)
