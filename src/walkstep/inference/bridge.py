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
from walkstep.inference.coupling import TooCostly, coupling_cost, run_coupled, score_of
from walkstep.inference.row_walks import RowWalks
from walkstep.inference.transitions import attempt, metropolis_transition
from walkstep.references import refer
from walkstep.worlds.base import commit
from walkstep.worlds.randomness import Seed, next_word, stream
from walkstep.worlds.space import Space
from walkstep.worlds.space_worlds import count_now, space_world
from walkstep.worlds.sparse import sparse_vector

_N_PILOT = 256
_MIN_PARTICLES = 64
_N_ROUNDS = 12
_MAX_LEVELS = 2000
_DISAGREES = 4.0  # standard errors
_CHEAP = 1000.0  # steps that an exact sample may take
_MEMORY = 0.3  # how much of a particle's score is left when its memory is measured
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
    n_samples: int
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
    words = stream(rng)
    is_cheap = chosen.draws == "exact" or (
        chosen.draws == "auto" and coupling_cost(space, scores, rng=_seed(words)).likely <= _CHEAP
    )
    walker = _Walker(space, scores, chosen, words, is_cheap and not is_annealed)
    betas = walker.schedule(max_steps)
    walker.forget(_LEFT * wanted, max_steps)
    found = walker.samples(betas, _MIN_PARTICLES)
    for _ in range(_N_ROUNDS):
        bridged, annealed = _bridged(found, betas), _annealed(found, betas)
        value, error = annealed if is_annealed else bridged
        apart = abs(bridged[0] - annealed[0]) / max(math.hypot(bridged[1], annealed[1]), 1e-300)
        if apart > _DISAGREES and not walker.is_exact:
            walker.n_moves *= 2
            walker.check_budget(len(betas), len(found), max_steps, error)
            found = walker.samples(betas, len(found))
            continue
        if error <= wanted:
            break
        # The error falls with the root of how many particles there are; that of few is not to be trusted far.
        n_more = math.ceil(len(found) * min((error / wanted) ** 2 * 1.05 - 1.0, 15.0))
        walker.check_budget(len(betas), n_more, max_steps, error)
        found = np.concatenate([found, walker.samples(betas, n_more)])
    value, error = _annealed(found, betas) if is_annealed else _bridged(found, betas)
    return Bridged(value, error, quantile, found.size + walker.n_pilot, walker.n_steps, betas)


class _Walker:
    """Particles that cool down."""

    def __init__(
        self,
        space: Space,
        scores: NDArray[np.float64],
        settings: BridgeSettings,
        words: NDArray[np.uint64],
        is_exact: bool,
    ):
        self.space, self.scores, self.settings, self.words, self.is_exact = space, scores, settings, words, is_exact
        self.n_moves = settings.n_moves or space.size
        self.pilot = RowWalks(space, _N_PILOT, moves=settings.moves, rng=_seed(words))
        self.world = space_world(space, self.pilot.values[0], moves=settings.moves)
        self.transition = metropolis_transition()
        self.phi = sparse_vector(space.n_statistics)
        self.counted = np.empty(space.n_statistics)
        self.n_steps, self.n_pilot = 0, 0

    def check_budget(self, n_levels: int, n: int, max_steps: float, error: float) -> None:
        """An error where so many more particles are too many."""
        cost = n * (1 + (n_levels - 1) * self.n_moves)
        if self.n_steps + cost > max_steps:
            raise TooCostly(
                f"after {self.n_steps:,} steps ln Z is known to {error:.3g}, and {cost:,} more steps are asked for; "
                f"that "
                f"exceeds max_steps={max_steps:.3g}: raise it, or epsilon"
            )

    def samples(self, betas: NDArray[np.float64], n: int) -> NDArray[np.float64]:
        """The scores of n samples at each level: (n, n_levels), a particle a row."""
        found = np.empty((n, len(betas)))
        if not self.is_exact:
            held = self.world, self.transition, self.scores
            _cool(*held, betas, self.n_moves, self.phi, self.counted, self.words, found)
            self.n_steps += n * (1 + (len(betas) - 1) * self.n_moves)
            return found
        top = self.space.score_range(self.scores)[1]
        values, scores = np.empty((n, self.space.size), np.int32), np.empty(n)
        for level, beta in enumerate(betas):
            self.n_steps += run_coupled(self.space, beta * self.scores, beta * top, self.words, 1e12, values, scores)
            found[:, level] = self.space.statistics(values) @ self.scores
        return found

    def schedule(self, max_steps: float) -> NDArray[np.float64]:
        """Levels that overlap as much as was asked, found by a few particles that go from each to the next."""
        found = self.space.statistics(self.pilot.values) @ self.scores
        self.n_steps += _N_PILOT
        betas = [0.0]
        while betas[-1] < 1.0:
            step = _next_step(found, 1.0 - betas[-1], self.settings.overlap)
            betas.append(min(betas[-1] + step, 1.0))
            self.n_pilot += _N_PILOT
            if len(betas) > _MAX_LEVELS or self.n_steps > max_steps:
                raise TooCostly(
                    f"after {len(betas)} levels and {self.n_steps:,} steps the schedule has come to a temperature of "
                    f"{1.0 / betas[-1]:.3g}; scores are too large for that, or raise max_steps={max_steps:.3g}"
                )
            # Those that weigh more have more offspring, each of which then walks at the new temperature.
            weight = np.exp(step * (found - found.max()))
            at = (np.arange(_N_PILOT) + 0.5) / _N_PILOT
            parents = np.searchsorted(np.cumsum(weight) / weight.sum(), at).clip(max=_N_PILOT - 1)
            self.pilot.values = self.pilot.values[parents]
            found = self._walk(betas[-1], self.n_moves)
        return np.array(betas)

    def forget(self, left: float, max_steps: float) -> None:
        """Choose how many moves it takes until only so much is left of what a particle was, where nobody has said."""
        if self.settings.n_moves is not None or self.is_exact:
            return
        before = self.space.statistics(self.pilot.values) @ self.scores
        n_moves = self.n_moves
        while True:
            after = self._walk(1.0, n_moves)
            spread = before.std() * after.std()
            memory = float(((before - before.mean()) * (after - after.mean())).mean() / spread) if spread > 0.0 else 0.0
            if memory < _MEMORY or self.n_steps > max_steps:
                break
            before, n_moves = after, 2 * n_moves
        time = n_moves / -math.log(max(memory, 0.05))
        self.n_moves = math.ceil(time * math.log(1.0 / left))

    def _walk(self, beta: float, n_moves: int) -> NDArray[np.float64]:
        """Let the pilot's particles walk at one temperature; their scores."""
        self.pilot.move(np.tile(beta * self.scores, (_N_PILOT, 1)), n_moves)
        self.n_steps += _N_PILOT * n_moves
        return self.space.statistics(self.pilot.values) @ self.scores


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
