"""Theorem 1 of Rohanimanesh, Wick and McCallum (2009): SR-Learn makes at most R² / δ² errors on separable data.

The data are chains made to be separable: a unit vector U is drawn, then tokens and their true values such that
under U the truth beats every other value of a site by at least δ, whatever its neighbours are. Both δ and R, the
longest difference of statistics, are then found exactly: a move touches one site and its two neighbours, so
listing all values of the three lists every pair of neighbouring worlds. An error is a pair ranked wrongly or
tied; the proof holds for ties too. In one more problem every token has a feature of its own: there the bound is
nearly met.
"""

import time
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.learning.train import Trainer
from walkstep.model.factors import Factors
from walkstep.model.graph import Graph, ground
from walkstep.model.weights import Layout
from walkstep.worlds.labels import label_world

NAME = "srlearn-bound"

# variables, values, features, and the least margin asked of each token (before it is measured)
_SIZES = ((8, 2, 3, 0.05), (30, 3, 5, 0.05), (100, 3, 8, 0.1), (300, 4, 10, 0.1))
_WALKS = (("gibbs", "drawn"), ("gibbs", "violating"), ("metropolis", "drawn"))
_CALM = 5  # epochs without an error before a walk counts as done
_MAX_EPOCHS = 2000


class Problem(NamedTuple):
    """A chain with its truth, and a unit vector that ranks all neighbouring worlds of it rightly."""

    graph: Graph
    layout: Layout
    features: NDArray[np.float64]  # (n_variables, n_features)
    truth: NDArray[np.int32]
    separator: NDArray[np.float64]  # U, of length 1
    margin: float  # delta
    radius: float  # R

    @property
    def bound(self) -> float:
        """The most errors that Theorem 1 allows."""
        return (self.radius / self.margin) ** 2


def run(seed: int, quick: bool = False, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Count the errors of SR-Learn on separable chains of several sizes, against the bound.

    Parameters
    ----------
    seed : int
    quick : bool
        One problem of each of the two smallest sizes.
    progress : callable, optional
        Called with a line of text for each problem.
    """
    began = time.perf_counter()
    say = progress or (lambda text: None)
    rows: list[dict[str, Any]] = []
    largest = 0.0
    for k, size in product(range(1 if quick else 3), _SIZES[:2] if quick else _SIZES):
        n_variables, n_values, n_features, _ = size
        name = f"{n_variables} variables, {n_values} values, {n_features} features"
        rng = np.random.default_rng([seed, k, *size[:3]])
        problems = {f"{name}, set {k + 1}": separable_chain(*size, rng=rng)}
        if n_values == 2:
            problems[f"{n_variables} variables, {n_values} values, own features, set {k + 1}"] = own_features(
                n_variables, rng=rng
            )
        for row, problem in problems.items():
            errors = max(count_errors(problem, sampler=sampler, rival=rival, rng=rng) for sampler, rival in _WALKS)
            largest = max(largest, errors / problem.bound)
            say(f"{row}: {errors} errors, at most {problem.bound:.1f} by the theorem")
            rows.append({"row": row, "metric": "errors", "paper": problem.bound, "ours": errors})
    rows.append({"row": "all", "metric": "errors / bound", "paper": 1.0, "ours": largest})
    return {
        "name": NAME,
        "seed": seed,
        "seconds": time.perf_counter() - began,
        "rows": rows,
        "bars": [{"id": NAME, "ours": largest}],
    }


def separable_chain(
    n_variables: int, n_values: int, n_features: int, least_margin: float, *, rng: np.random.Generator
) -> Problem:
    """A chain that a known unit vector separates.

    Parameters
    ----------
    n_variables, n_values, n_features : int
        Tokens; values of each; features that a value sees, dense.
    least_margin : float
        Tokens whose truth does not win by that much, whatever their neighbours are, are drawn again.
    rng : Generator
    """
    emission = rng.normal(size=(n_features, n_values))
    transition = 0.1 * rng.normal(size=(n_values, n_values))
    length = np.sqrt((emission**2).sum() + (transition**2).sum())
    emission, transition = emission / length, transition / length
    # What the two neighbours can do, at worst, to the lead of value a over value b.
    lead = transition[:, :, None] - transition[:, None, :]  # (left, a, b)
    swing = lead.min(axis=0) + (transition.T[:, :, None] - transition.T[:, None, :]).min(axis=0)
    features = np.zeros((0, n_features))
    while len(features) < n_variables:
        drawn = rng.normal(size=(4 * n_variables, n_features))
        wins = _worst_leads(drawn @ emission, np.minimum(swing, 0.0)) >= least_margin
        features = np.concatenate([features, drawn[wins]])[:n_variables]
    truth = (features @ emission).argmax(axis=1)
    return measured(features, truth, n_values, {"emission": emission, "transition": transition})


def own_features(n_variables: int, *, rng: np.random.Generator) -> Problem:
    """Tokens of two values that share no feature, so that each one costs an error: the bound is nearly met."""
    strength = rng.uniform(0.8, 1.0, n_variables)
    truth = rng.integers(2, size=n_variables)
    toward = np.where(np.arange(2) == truth[:, None], 1.0, -1.0)  # (token, value)
    return measured(np.diag(strength), truth, 2, {"emission": toward / strength[:, None]})


def _worst_leads(scores: NDArray[np.float64], swing: NDArray[np.float64]) -> NDArray[np.float64]:
    """By how much the best value of each token leads any other one when its neighbours are at their worst."""
    best = scores.argmax(axis=1)
    leads = scores[np.arange(len(scores)), best][:, None] - scores + swing[best]
    leads[np.arange(len(scores)), best] = np.inf
    return leads.min(axis=1)


def measured(
    features: NDArray[np.float64],
    truth: NDArray[np.integer],
    n_values: int,
    separator: dict[str, NDArray[np.float64]],
) -> Problem:
    """A problem of emissions and, where the separator has them, transitions; with its margin and radius found."""
    n_variables = len(features)
    site = np.arange(n_variables)
    groups = [Factors("emission", site[:, None], features=features)]
    if "transition" in separator:
        groups.append(Factors("transition", np.stack([site[:-1], site[1:]], axis=1)))
    graph, layout = ground(np.full(n_variables, n_values), groups)
    unit = np.zeros(graph.n_weights)
    for name, table in separator.items():
        layout.view(unit, name)[...] = table
    unit /= np.linalg.norm(unit)
    problem = Problem(graph, layout, features, np.asarray(truth, np.int32), unit, 0.0, 0.0)
    pairs = list(ranked_pairs(problem))
    margin = min(float(unit @ phi) for phi in pairs)
    if margin <= 0.0:
        raise ValueError(f"the separator ranks a pair of worlds wrongly (margin {margin:g}); draw other tokens")
    return problem._replace(margin=margin, radius=max(float(np.linalg.norm(phi)) for phi in pairs))


def ranked_pairs(problem: Problem) -> Iterator[NDArray[np.float64]]:
    """phi(y+) - phi(y-) of all neighbouring worlds that differ in the metric, each found by its local part."""
    graph, layout = problem.graph, problem.layout
    n_values = int(graph.n_values[0])
    last = graph.n_variables - 1
    has_transition = "transition" in layout
    for v in range(graph.n_variables):
        lefts = range(n_values) if has_transition and v > 0 else (None,)
        rights = range(n_values) if has_transition and v < last else (None,)
        true = int(problem.truth[v])
        for wrong, left, right in product(range(n_values), lefts, rights):
            if wrong == true:
                continue
            phi = np.zeros(graph.n_weights)
            for value, sign in ((true, 1.0), (wrong, -1.0)):
                layout.view(phi, "emission")[0, :, value] += sign * problem.features[v]
                if left is not None:
                    layout.view(phi, "transition")[0, 0, left, value] += sign
                if right is not None:
                    layout.view(phi, "transition")[0, 0, value, right] += sign
            yield phi


def count_errors(problem: Problem, *, sampler: str, rival: str, rng: np.random.Generator) -> int:
    """Errors of SR-Learn (Algorithm 1) from zero weights, until it has made none for a while."""
    start = rng.integers(problem.graph.n_values).astype(np.int32)
    trainer = Trainer(
        label_world(problem.graph, problem.truth, values=start),
        learner="sr-learn",
        rule="perceptron",
        sampler=sampler,
        rival=rival,
        average=False,
        rng=rng,
    )
    errors = calm = 0
    while calm < _CALM and len(trainer.epochs) < _MAX_EPOCHS:
        violated = trainer.epoch().tally.violated
        errors += violated
        calm = 0 if violated else calm + 1
    return errors
