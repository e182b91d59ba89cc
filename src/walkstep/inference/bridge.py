"""ln Z in practice: chains that cool down from uniform draws, bridged level by level until the error seen is small.

Particles start at structures drawn uniformly and walk along a schedule of temperatures. Two estimates come of the same
walks: annealed importance sampling (Neal, 2001), which is unbiased for Z whatever the chains are, and the
acceptance-ratio bridges between neighbouring levels (Bennett, 1976), which vary less and take the chains to be where
they should be. So particles make as many moves at each level as it takes to forget the one before, and more where the
two estimates disagree by more than chance. Where coupling from the past costs little, bridges stand on exact samples
instead.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from walkstep.compiled import compiled
from walkstep.inference.coupling import N_PILOT, TooCostly, coupling_cost, run_coupled, score_of
from walkstep.inference.row_walks import RowWalks
from walkstep.inference.transitions import attempt, metropolis_transition
from walkstep.references import refer
from walkstep.worlds.base import commit
from walkstep.worlds.randomness import Seed, next_word, stream
from walkstep.worlds.space import Space
from walkstep.worlds.space_worlds import count_now, space_world
from walkstep.worlds.sparse import sparse_vector

_N_AHEAD = 64  # particles that go ahead to find levels,
_N_REMEMBERING = 256  # and so many where they are also to tell how soon they forget
_MIN_PARTICLES = 64
_N_ROUNDS = 12
_MAX_LEVELS = 2000
_DISAGREES = 3.0  # standard errors
_CHEAP = 1000.0  # steps that an exact sample may take
_MEMORY = 0.1  # how much is left of what particles were when their memory is measured
_CARE = 0.8  # an error that is only seen, and looked at until it is small, has to be somewhat smaller than it need be
_LEFT = 0.2  # of the error that is wanted, what memory may leave
DRAWS = ("auto", "exact", "chain")


@dataclass(frozen=True)
class BridgeSettings:
    """What can be set of the walks.

    Parameters
    ----------
    draws : {"auto", "exact", "chain"}
        Whether bridges stand on exact samples or on chains; by default on exact ones where they take no more than a
        thousand steps each. Annealed importance sampling is by chains.
    n_moves : int, optional
        Moves of a particle at each level; by default as many as it takes to forget where it was.
    moves : {"auto", "local", "uniform"}
        See `space_world`.
    overlap : float
        Levels are so close that of particles at one of them, weighted for the next, this share is as good as
        independent.
    """

    draws: str = "auto"
    n_moves: int | None = None
    moves: str = "auto"
    overlap: float = 0.4

    def __post_init__(self) -> None:
        if self.draws not in DRAWS:
            raise ValueError(f"draws is {self.draws!r}; choose one of {', '.join(DRAWS)}")
        if self.n_moves is not None and self.n_moves < 1:
            raise ValueError(f"n_moves is {self.n_moves}; give at least 1")
        if not 0.0 < self.overlap < 1.0:
            raise ValueError(f"overlap is {self.overlap}; give a number between 0 and 1")


class Bridged(NamedTuple):
    """ln of Z over how many structures there are."""

    log_ratio: float
    standard_error: float
    quantile: float  # how many standard errors were asked to be within the bound
    n_samples: int  # of all particles, those that went ahead and those that were given up too
    n_steps: int
    betas: NDArray[np.float64]


def bridge(
    space: Space,
    scores: NDArray[np.float64],
    *,
    epsilon: float,
    delta: float,
    max_steps: float,
    is_annealed: bool = False,
    rng: Seed = None,
    **settings: Any,
) -> Bridged:
    """Estimate ln (Z / number of structures), to within epsilon but for a chance of delta, as its own error says.

    Parameters
    ----------
    space : Space
    scores : float array (n_statistics,)
    epsilon, delta, max_steps, rng
        As for `log_partition`.
    is_annealed : bool
        Whether the estimate is that of annealed importance sampling.
    **settings
        Of `BridgeSettings`.
    """
    chosen = BridgeSettings(**settings)
    quantile = NormalDist().inv_cdf(1.0 - 0.5 * delta)
    wanted = _CARE * math.log1p(epsilon) / quantile
    walker = _Walker(space, scores, chosen, stream(rng), max_steps, is_annealed)
    betas = walker.schedule()
    walker.forget(_LEFT * wanted)
    found = walker.samples(betas, _MIN_PARTICLES)
    for _ in range(_N_ROUNDS):
        bridged, annealed = _bridged(found, betas), _annealed(found, betas)
        value, error = annealed if is_annealed else bridged
        apart = abs(bridged[0] - annealed[0]) / max(math.hypot(bridged[1], annealed[1]), 1e-300)
        if apart > _DISAGREES and not walker.is_exact:
            walker.n_moves *= 2
            walker.check_budget(len(betas), len(found), error)
            found = walker.samples(betas, len(found))
            continue
        if error <= wanted:
            break
        # The error falls with the root of how many particles there are; that of few is not to be trusted far.
        n_more = math.ceil(len(found) * min((error / wanted) ** 2 * 1.05 - 1.0, 15.0))
        walker.check_budget(len(betas), n_more, error)
        found = np.concatenate([found, walker.samples(betas, n_more)])
    value, error = _annealed(found, betas) if is_annealed else _bridged(found, betas)
    return Bridged(value, error, quantile, walker.n_samples, walker.n_steps, betas)


class _Walker:
    """Particles that cool down, and what they have cost so far."""

    def __init__(
        self,
        space: Space,
        scores: NDArray[np.float64],
        settings: BridgeSettings,
        words: NDArray[np.uint64],
        max_steps: float,
        is_annealed: bool,
    ):
        self.space, self.scores, self.settings, self.words = space, scores, settings, words
        self.max_steps, self.n_moves = max_steps, settings.n_moves or space.size
        self.n_samples = self.n_steps = 0
        # Annealed particles walk, whatever an exact sample would cost.
        self.is_exact = not is_annealed and self._chooses_exact()
        self.exact_cost = 0.0  # steps of a particle's exact samples, on average
        self.n_ahead = _N_AHEAD if self.is_exact or settings.n_moves is not None else _N_REMEMBERING
        self.pilot = RowWalks(space, self.n_ahead, moves=settings.moves, rng=_seed(words))
        self._count(self.n_ahead, self.n_ahead)
        self.world = space_world(space, self.pilot.values[0], moves=settings.moves)
        self.transition = metropolis_transition()
        self.phi = sparse_vector(space.n_statistics)
        self.counted = np.empty(space.n_statistics)

    def _chooses_exact(self) -> bool:
        """Whether bridges stand on exact samples; where nobody has said, a look at some structures tells."""
        if self.settings.draws != "auto":
            return self.settings.draws == "exact"
        self._count(0, N_PILOT)
        return coupling_cost(self.space, self.scores, rng=_seed(self.words)).likely <= _CHEAP

    def _count(self, n_samples: int, n_steps: int) -> None:
        """Note what was spent."""
        self.n_samples += n_samples
        self.n_steps += n_steps

    def check_budget(self, n_levels: int, n: int, error: float) -> None:
        """An error where so many more particles are too many."""
        cost = math.ceil(n * (self.exact_cost if self.is_exact else self._walked(n_levels)))
        if self.n_steps + cost > self.max_steps:
            raise TooCostly(
                f"after {self.n_steps:,} steps ln Z is known to {error:.3g}, and {cost:,} more steps are asked for; "
                f"that exceeds max_steps={self.max_steps:.3g}: raise it, or epsilon"
            )

    def _walked(self, n_levels: int) -> int:
        """Structures that a particle looks at on its way through the levels: its start, then the moves at each."""
        return 1 + (n_levels - 1) * self.n_moves

    def samples(self, betas: NDArray[np.float64], n: int) -> NDArray[np.float64]:
        """The scores of n samples at each level: (n, n_levels), a particle a row."""
        found = np.empty((n, len(betas)))
        if not self.is_exact:
            held = self.world, self.transition, self.scores
            _cool(*held, betas, self.n_moves, self.phi, self.counted, self.words, found)
            self._count(found.size, n * self._walked(len(betas)))
            return found
        top = self.space.score_range(self.scores)[1]
        values, scores = np.empty((n, self.space.size), np.int32), np.empty(n)
        before = self.n_steps
        for level, beta in enumerate(betas):
            left = self.max_steps - self.n_steps
            steps = run_coupled(self.space, beta * self.scores, beta * top, self.words, left, values, scores)
            found[:, level] = self.space.statistics(values) @ self.scores
            self._count(n, steps)
        self.exact_cost = (self.n_steps - before) / n
        return found

    def schedule(self) -> NDArray[np.float64]:
        """Levels that overlap as much as was asked, found by a few particles that go from each to the next."""
        found = self.space.statistics(self.pilot.values) @ self.scores
        betas = [0.0]
        while betas[-1] < 1.0:
            step = _next_step(found, 1.0 - betas[-1], self.settings.overlap)
            betas.append(min(betas[-1] + step, 1.0))
            if len(betas) > _MAX_LEVELS or self.n_steps > self.max_steps:
                raise TooCostly(
                    f"after {len(betas)} levels and {self.n_steps:,} steps the schedule has come to a temperature of "
                    f"{1.0 / betas[-1]:.3g}; scores are too large for that, or raise max_steps={self.max_steps:.3g}"
                )
            # Those that weigh more have more offspring, each of which then walks at the new temperature.
            weight = np.exp(step * (found - found.max()))
            at = (np.arange(self.n_ahead) + 0.5) / self.n_ahead
            parents = np.searchsorted(np.cumsum(weight) / weight.sum(), at).clip(max=self.n_ahead - 1)
            self.pilot.values = self.pilot.values[parents]
            found = self._walk(betas[-1], self.n_moves) @ self.scores
        return np.array(betas)

    def forget(self, left: float) -> None:
        """Choose how many moves it takes until only so much is left of what a particle was, where nobody has said.

        What is left is looked at in all statistics together, each counting as much as it moves scores: a score alone
        may forget quickly most of what it is, and slowly the rest.
        """
        if self.settings.n_moves is not None or self.is_exact:
            return
        before, n_moves = self._scaled(), self.n_moves
        while True:
            self._walk(1.0, n_moves)
            after = self._scaled()
            spread = np.linalg.norm(before) * np.linalg.norm(after)
            memory = float((before * after).sum() / spread) if spread > 0.0 else 0.0
            if memory < _MEMORY or self.n_steps > self.max_steps:
                break
            before, n_moves = after, 2 * n_moves
        time = n_moves / -math.log(max(memory, 0.05))
        self.n_moves = math.ceil(time * math.log(1.0 / left))

    def _scaled(self) -> NDArray[np.float64]:
        """What each statistic adds to the scores of the pilot's particles, beyond its mean: (n_ahead, n_statistics)."""
        counted = self.space.statistics(self.pilot.values) * self.scores
        return counted - counted.mean(axis=0)

    def _walk(self, beta: float, n_moves: int) -> NDArray[np.float64]:
        """Let the pilot's particles walk at one temperature; their statistics."""
        self.pilot.move(np.tile(beta * self.scores, (self.n_ahead, 1)), n_moves)
        self._count(self.n_ahead, self.n_ahead * n_moves)
        return self.space.statistics(self.pilot.values)


def _seed(words: NDArray[np.uint64]) -> int:
    """A seed of NumPy's from a compiled loop's random numbers."""
    return int(next_word(words))


def _next_step(found: NDArray[np.float64], most: float, overlap: float) -> float:
    """The largest step after which so large a share of the particles is still as good as independent."""

    def excess(step: float) -> float:
        weight = np.exp(step * (found - found.max()))
        return float(weight.sum() ** 2 / (weight @ weight)) / len(found) - overlap

    if excess(most) >= 0.0:
        return most
    step: Any = brentq(excess, 0.0, most)
    return float(step)


def _annealed(found: NDArray[np.float64], betas: NDArray[np.float64]) -> tuple[float, float]:
    """The log of the mean weight of particles, and its error."""
    log_weights = found[:, :-1] @ np.diff(betas)
    top = float(log_weights.max())
    weight = np.exp(log_weights - top)
    return top + math.log(weight.mean()), float(weight.std() / weight.mean()) / math.sqrt(len(found))


def _bridged(found: NDArray[np.float64], betas: NDArray[np.float64]) -> tuple[float, float]:
    """The sum of Bennett's log ratios, and its error: a particle may be much the same from level to level."""
    total, influence = 0.0, np.zeros(len(found))
    for level, step in enumerate(np.diff(betas)):
        forth, back = step * found[:, level], step * found[:, level + 1]

        def imbalance(r: float, forth=forth, back=back) -> float:
            return float(expit(forth - r).sum() - expit(r - back).sum())

        r: Any = brentq(imbalance, min(forth.min(), back.min()) - 1.0, max(forth.max(), back.max()) + 1.0)
        one, other = expit(forth - r), expit(r - back)
        total += float(r)
        influence += (one - other) / float((one * (1.0 - one)).mean() + (other * (1.0 - other)).mean())
    return total, float(influence.std()) / math.sqrt(len(found))


@compiled(allocates=False)
def _cool(world, transition, scores, betas, n_moves, phi, counted, rng, found):
    """Let particles go through the levels one after the other, and note the score of each at each."""
    here = refer(world)
    space = world.structure
    for particle in range(len(found)):
        space.draw(space.ints, space.floats, here.values, rng)
        count_now(here)
        score = score_of(space, here.values, scores, counted)
        for level in range(len(betas)):
            if level > 0:
                for _ in range(n_moves):
                    move, _, accepted = attempt(transition, here, scores, betas[level], phi, rng)
                    if accepted:
                        commit(here, move)
                score = score_of(space, here.values, scores, counted)
            found[particle, level] = score
