from itertools import product

import numpy as np
import pytest

from walkstep.model.score import statistics
from walkstep.reproduce import srlearn_bound
from walkstep.reproduce.srlearn_bound import count_errors, measured, own_features, ranked_pairs, separable_chain

pytestmark = pytest.mark.xdist_group("command")
WALKS = [("gibbs", "drawn"), ("gibbs", "violating"), ("metropolis", "drawn")]


def all_ranked_pairs(problem):
    """phi(y+) - phi(y-) of all pairs of neighbouring worlds, world by world: the slow twin."""
    n_values = problem.graph.n_values.tolist()
    for world in product(*map(range, n_values)):
        for v, n in enumerate(n_values):
            if world[v] != problem.truth[v]:
                continue
            for wrong in set(range(n)) - {world[v]}:
                worse = list(world)
                worse[v] = wrong
                yield statistics(problem.graph, world) - statistics(problem.graph, worse)


def test_margin_and_radius_hold_over_every_pair_of_worlds():
    problem = separable_chain(5, 3, 2, 0.05, rng=np.random.default_rng(0))
    assert np.linalg.norm(problem.separator) == pytest.approx(1.0)
    pairs = np.array(list(all_ranked_pairs(problem)))
    assert problem.margin == pytest.approx((pairs @ problem.separator).min())
    assert problem.margin > 0
    assert problem.radius == pytest.approx(np.linalg.norm(pairs, axis=1).max())
    local = {tuple(phi.round(9)) for phi in ranked_pairs(problem)}
    assert local == {tuple(phi) for phi in pairs.round(9)}


@pytest.mark.parametrize(("sampler", "rival"), WALKS)
@pytest.mark.parametrize("seed", range(3))
def test_errors_stay_within_the_bound_and_are_made(sampler, rival, seed):
    rng = np.random.default_rng(seed)
    problem = separable_chain(20, 3, 4, 0.05, rng=rng)
    errors = count_errors(problem, sampler=sampler, rival=rival, rng=rng)
    assert 0 < errors <= problem.bound


@pytest.mark.parametrize(("sampler", "rival"), WALKS)
def test_the_bound_is_met_where_tokens_share_nothing(sampler, rival):
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=12)
    toward = np.where(np.arange(2) == truth[:, None], 1.0, -1.0)
    problem = measured(np.eye(12), truth, 2, {"emission": toward})
    assert problem.bound == pytest.approx(12.0)
    assert count_errors(problem, sampler=sampler, rival=rival, rng=rng) == 12


def test_the_bound_is_nearly_met_by_the_hard_problem():
    rng = np.random.default_rng(0)
    problem = own_features(20, rng=rng)
    assert 0.6 < count_errors(problem, sampler="gibbs", rival="violating", rng=rng) / problem.bound <= 1.0


def test_a_vector_that_does_not_separate_is_refused():
    with pytest.raises(ValueError, match=r"ranks a pair of worlds wrongly \(margin -"):
        measured(np.eye(2), np.array([0, 1]), 2, {"emission": np.array([[1.0, -1.0], [1.0, -1.0]])})


def test_the_reproduction_keeps_its_contract():
    lines = []
    result = srlearn_bound.run(0, quick=True, progress=lines.append)
    assert set(result) == {"name", "seed", "seconds", "rows", "bars"}
    assert (result["name"], result["seed"]) == ("srlearn-bound", 0)
    assert all({"row", "metric", "paper", "ours"} <= set(row) for row in result["rows"])
    [bar] = result["bars"]
    assert bar["id"] == "srlearn-bound"
    assert 0 < bar["ours"] <= 1
    assert bar["ours"] == max(row["ours"] / row["paper"] for row in result["rows"])
    assert len(lines) == len(result["rows"]) - 1
    again = srlearn_bound.run(0, quick=True)
    assert again["rows"] == result["rows"]
