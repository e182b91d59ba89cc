"""A check of worlds: that what their verbs say of a move is what the move does."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled, loop_for
from walkstep.inference.metropolis import own_arrays
from walkstep.model import score
from walkstep.references import refer
from walkstep.worlds.base import VERBS, commit, delta, difference, enter, factor, n_factors, propose, signal, verbs_of
from walkstep.worlds.labels import LabelWorld
from walkstep.worlds.randomness import Seed, as_generator, stream
from walkstep.worlds.sparse import clear, sparse_vector

_N_ENOUGH = 50  # proposals that make a share of them worth comparing
_N_NEIGHBOURS = 3


class WorldChecks(NamedTuple):
    """What `check_world` could look at."""

    n_moves: int  # moves that were priced and made
    n_undone: int  # of the neighbours tried, those from which the way back was seen, so that balance was checked


class _Price(NamedTuple):
    """What the verbs say of one move."""

    log_q_ratio: float
    change: float
    unlearned: float  # the change of score at weights of zero: what fixed factors say
    difference: NDArray[np.float64]
    by_factors: tuple[NDArray[np.float64], NDArray[np.float64]]  # first to last, last to first
    signal: float


class _Hits(NamedTuple):
    """Proposals that led to one world."""

    rng: NDArray[np.uint64]  # the random numbers of the first one
    changes: list[float]
    log_q_ratios: list[float]

    def flow(self, n_tries: int) -> tuple[float, float]:
        """Log of the share of tries that Metropolis-Hastings takes there, and its squared standard error."""
        log_odds = np.array(self.changes) + np.array(self.log_q_ratios)
        taken = np.exp(np.minimum(log_odds, 0.0))
        mean = taken.sum() / n_tries
        variance = (taken @ taken / n_tries - mean**2) / n_tries
        return float(np.log(mean)), float(variance / mean**2)


def check_world(
    world: Any,
    weights: ArrayLike,
    *,
    n_moves: int = 50,
    n_tries: int = 2000,
    rng: Seed = 0,
    document: int = 0,
    look: Callable[[Any], NDArray[Any]] | None = None,
    statistics: Callable[[Any], NDArray[np.float64]] | None = None,
) -> WorldChecks:
    """Check the verbs of any registered world along a random walk.

    Of every move: no verb but ``commit`` changes the world; the touched factors, in any order, add up to
    ``difference``; ``delta`` is the weights times that, plus what fixed factors say; the same random numbers
    propose the same move. Of a few neighbours of where the walk ends: making a move and its opposite gives back the
    same world, ``difference``, ``delta`` and ``signal`` of the two cancel, and Metropolis-Hastings keeps detailed
    balance between them, within five standard errors.

    What cannot be checked: a proposer is only seen to propose, it does not tell the probability of a given move. So
    the balance is checked where both ways turn up among ``n_tries`` proposals, and not elsewhere: take a small world,
    and look at ``n_undone``. Nor can anyone but you say what the statistics of a whole world are: without
    ``statistics``, a ``difference`` that agrees with itself may still be that of another model.

    Parameters
    ----------
    world : NamedTuple
        The walk has its own copy of the arrays, but for those that are read-only.
    weights : float array (n_weights,)
        Best random ones; zeros tell nothing apart.
    n_moves : int
        How many moves to look at.
    n_tries : int
        Proposals from each of a few neighbouring worlds, to find ways back; 0 leaves that out.
    rng : int or Generator
    document : int
        The document to enter, for worlds that have such.
    look : callable, optional
        ``(world) -> array``, what tells worlds apart; by default their ``values``.
    statistics : callable, optional
        ``(world) -> float array (n_weights,)``, the statistics of a whole world, written plainly. Label worlds need
        none.

    Examples
    --------
    >>> from walkstep.model import Factors, ground
    >>> from walkstep.worlds import label_world
    >>> graph, layout = ground([3, 3], [Factors("edge", [[0, 1]])])
    >>> check_world(label_world(graph), np.arange(9.0))
    WorldChecks(n_moves=50, n_undone=3)
    """
    generator = as_generator(rng)
    checker = _Checker(world, weights, look, statistics)
    walker = own_arrays(world)
    if "enter" in verbs_of(type(world)):
        loop_for(_enter, world)(walker, document)
    for _ in range(n_moves):
        walker = checker.check_move(walker, stream(generator))
    return WorldChecks(n_moves, checker.check_neighbours(walker, n_tries, generator) if n_tries else 0)


class _Checker:
    """Asks a world in compiled code, a move at a time.

    Moves stay in compiled code; a move is meant by the random numbers that propose it.
    """

    def __init__(self, world: Any, weights: ArrayLike, look: Any, statistics: Any) -> None:
        self.name = type(world).__name__
        verbs = verbs_of(type(world))
        for verb in ("propose", "n_factors", "factor", "commit"):
            assert verb in verbs, f"world {self.name} does not answer {verb!r}; register it: {VERBS[verb]}"
        self.weights = np.array(weights, dtype=np.float64)
        if isinstance(world, LabelWorld):
            n_weights = world.graph.n_weights
            if self.weights.shape != (n_weights,):
                raise ValueError(f"weights have shape {self.weights.shape}; the graph has {n_weights} weights")
            statistics = statistics or (lambda world: score.statistics(world.graph, world.values))
        if look is None and not hasattr(world, "values"):
            raise ValueError(f"{self.name} has no field 'values'; say with look= what tells its worlds apart")
        self._look, self.statistics = look, statistics
        self.has_signal = "signal" in verbs
        self._make, self._add_factors, self._gain = (loop_for(loop, world) for loop in (_make, _add_factors, _gain))
        self._phi = sparse_vector(len(self.weights))

    def look(self, world: Any) -> NDArray[Any]:
        """What tells worlds apart, as it is now."""
        return np.array(world.values if self._look is None else self._look(world))

    def price(self, world: Any, rng: NDArray[np.uint64]) -> _Price:
        """What the verbs say of a move, after which the world must be as it was."""
        before = self.look(world)
        unlearned, _ = self._ask(world, np.zeros_like(self.weights), rng, is_made=False)
        change, log_q_ratio = self._ask(world, self.weights, rng, is_made=False)
        whole = self._dense()
        sums = []
        for is_backward in (False, True):
            self._add_factors(world, is_backward, self._phi, rng.copy())
            sums.append(self._dense())
        gained = self._gain(world, rng.copy()) if self.has_signal else 0.0
        assert np.array_equal(self.look(world), before), (
            f"world {self.name} is {self.look(world)} after its verbs were asked about a move, and was {before}; "
            "let no verb but commit change it"
        )
        return _Price(log_q_ratio, change, unlearned, whole, (sums[0], sums[1]), gained)

    def make(self, world: Any, rng: NDArray[np.uint64]) -> tuple[Any, float, float]:
        """The world after a move, with the change of score and log q(back) - log q(there)."""
        after = own_arrays(world)
        return after, *self._ask(after, self.weights, rng, is_made=True)

    def _ask(
        self, world: Any, weights: NDArray[np.float64], rng: NDArray[np.uint64], *, is_made: bool
    ) -> tuple[float, float]:
        """The change of score and the log ratio of a move; its change of statistics is left in phi."""
        answers = np.zeros(2)
        _clear(self._phi)
        self._make(world, weights, self._phi, rng.copy(), answers, is_made)
        return float(answers[0]), float(answers[1])

    def check_move(self, world: Any, rng: NDArray[np.uint64]) -> Any:
        """Check one move, and make it unless it is forbidden."""
        price = self.price(world, rng)
        after, change, log_q_ratio = self.make(world, rng)
        where = f"world {self.name}, the move from {self.look(world)} to {self.look(after)}:"
        assert not np.isnan([price.change, price.log_q_ratio]).any(), (
            f"{where} the change of score is {price.change} and the log ratio {price.log_q_ratio}; return numbers"
        )
        assert np.allclose((change, log_q_ratio), (price.change, price.log_q_ratio), rtol=1e-9, atol=1e-9), (
            f"{where} the same random numbers propose it with change {price.change:g} and log ratio "
            f"{price.log_q_ratio:g}, then with {change:g} and {log_q_ratio:g}; "
            "let propose draw from the rng it is handed alone"
        )
        for order, summed in zip(("first to last", "last to first"), price.by_factors, strict=True):
            self._check_statistics(summed, price.difference, f"{where} factors added {order} change", "difference says")
        expected = price.unlearned
        if np.isfinite(expected):
            expected += float(self.weights @ price.difference)
        assert _close(price.change, expected), (
            f"{where} delta says {price.change:g}, but weights times difference, with what fixed factors add, is "
            f"{expected:g}; correct delta, or leave it out of register"
        )
        if self.statistics is not None:
            whole = self.statistics(after) - self.statistics(world)
            self._check_statistics(price.difference, whole, f"{where} difference changes", "whole worlds say")
        return after if price.change > -np.inf else world

    def check_neighbours(self, world: Any, n_tries: int, generator: np.random.Generator) -> int:
        """Check the ways to a few neighbours and back; how many of them were seen."""
        home = self.look(world).tobytes()
        found = self._try(world, n_tries, generator)
        found.pop(home, None)
        n_undone = 0
        for there in sorted(found.values(), key=lambda hits: -len(hits.changes))[:_N_NEIGHBOURS]:
            if not np.isfinite(there.changes[0]):
                continue
            neighbour = self.make(world, there.rng)[0]
            back = self._try(neighbour, n_tries, generator).get(home)
            where = f"world {self.name}, between {self.look(world)} and {self.look(neighbour)}:"
            if back is None:
                n_expected = float(np.exp(there.log_q_ratios).sum())
                assert n_expected < _N_ENOUGH, (
                    f"{where} the way back was not once among {n_tries} proposals, and by the log ratio it should be "
                    f"{n_expected:.0f} times; propose it, or return -inf where there is none"
                )
                continue
            self._check_opposites(world, there, neighbour, back, where)
            if min(len(there.changes), len(back.changes)) >= _N_ENOUGH:
                self._check_balance(there, back, n_tries, where)
                n_undone += 1
        return n_undone

    def _try(self, world: Any, n_tries: int, generator: np.random.Generator) -> dict[bytes, _Hits]:
        """Where proposals lead."""
        found: dict[bytes, _Hits] = {}
        for _ in range(n_tries):
            rng = stream(generator)
            after, change, log_q_ratio = self.make(world, rng)
            hits = found.setdefault(self.look(after).tobytes(), _Hits(rng, [], []))
            hits.changes.append(change)
            hits.log_q_ratios.append(log_q_ratio)
        return found

    def _check_opposites(self, world: Any, there: _Hits, neighbour: Any, back: _Hits, where: str) -> None:
        """A move and its opposite must cancel, and leave nothing behind."""
        one, other = self.price(world, there.rng), self.price(neighbour, back.rng)
        self._check_statistics(one.difference, -other.difference, f"{where} there, difference changes", "minus back is")
        again = self.price(self.make(neighbour, back.rng)[0], there.rng)
        for verb, forth, hither, twice in (
            ("delta", one.change, other.change, again.change),
            ("signal", one.signal, other.signal, again.signal),
        ):
            assert _close(forth, -hither), (
                f"{where} {verb} is {forth:g} there and {hither:g} back; return after minus before, and keep in commit "
                "what it counts"
            )
            assert _close(forth, twice), (
                f"{where} {verb} is {forth:g}, and {twice:g} when asked again after going there and back; "
                "let commit undo what commit did"
            )

    def _check_balance(self, there: _Hits, back: _Hits, n_tries: int, where: str) -> None:
        """What flows there must flow back, in equilibrium."""
        (forth, noise), (hither, other_noise) = there.flow(n_tries), back.flow(n_tries)
        bound = 5.0 * np.sqrt(noise + other_noise)
        assert abs(forth - hither - there.changes[0]) <= bound, (
            f"{where} detailed balance fails: the log of the flow there over the flow back is {forth - hither:.3g} and "
            f"should be {there.changes[0]:.3g} within {bound:.2g}; return log q(back) - log q(there) from propose"
        )

    def _check_statistics(self, given: NDArray, expected: NDArray, who: str, what: str) -> None:
        """Two changes of statistics must be the same."""
        at = int(np.argmax(np.abs(given - expected))) if len(given) else 0
        assert np.allclose(given, expected, rtol=1e-9, atol=1e-9), (
            f"{who} statistic {at} by {given[at]:g}, but {what} {expected[at]:g}; make them agree"
        )

    def _dense(self) -> NDArray[np.float64]:
        """What phi holds, in full; it is emptied."""
        dense = np.zeros(len(self.weights))
        for index, value in self._phi.to_dict().items():
            dense[index] = value
        _clear(self._phi)
        return dense


def _close(one: float, other: float) -> bool:
    """Equal, but for rounding."""
    return bool(np.isclose(one, other, rtol=1e-9, atol=1e-9))


@compiled(allocates=False)
def _enter(world, document):
    enter(refer(world), document)


@compiled(allocates=False)
def _make(world, weights, phi, rng, answers, is_made):
    here = refer(world)
    move, log_q_ratio = propose(here, rng)
    answers[0] = delta(here, move, weights, phi)
    answers[1] = log_q_ratio
    clear(phi)
    difference(here, move, phi)
    if is_made:
        commit(here, move)


@compiled(allocates=False)
def _add_factors(world, is_backward, phi, rng):
    here = refer(world)
    move, _ = propose(here, rng)
    n = n_factors(here, move)
    for k in range(n):
        factor(here, move, n - 1 - k if is_backward else k, phi)


@compiled(allocates=False)
def _gain(world, rng):
    here = refer(world)
    return signal(here, propose(here, rng)[0])


@compiled(allocates=False)
def _clear(phi):
    clear(phi)
