import numpy as np
import pytest

from walkstep.cli.reproduce import table_of
from walkstep.reproduce import load
from walkstep.reproduce.montecarlo_figure2 import (
    N_FACTORS,
    SETTINGS,
    errors_of,
    exact_marginal,
    factors_to_reach,
    marks_up_to,
    run,
)

pytestmark = pytest.mark.xdist_group("partition")


def star(difference, spread=0.0, seed=0):
    """Scores of both labels whose changes have this mean and this spread."""
    noise = np.random.default_rng(seed).normal(size=N_FACTORS)
    noise = (noise - noise.mean()) / noise.std()
    return np.stack([np.zeros(N_FACTORS), (difference + spread * noise) / N_FACTORS], axis=1)


def test_the_exact_marginal_is_that_of_both_labels_scores():
    scores = star(1.0, 0.5)
    table = np.exp(scores.sum(axis=0))
    assert exact_marginal(scores) == pytest.approx(table[1] / table.sum())


def test_marks_rise_by_the_same_factor():
    marks = marks_up_to(10_000)
    assert (marks[0], marks[10], marks[20]) == (100, 1000, 10_000)
    assert len(marks) == 21


def test_factors_are_counted_until_the_error_stays_small():
    marks = np.array([100, 200, 300, 400])
    assert factors_to_reach(0.1, marks, np.array([0.3, 0.1, 0.2, 0.1])) == 400
    assert factors_to_reach(0.1, marks, np.array([0.3, 0.1, 0.1, 0.2])) is None
    assert factors_to_reach(0.5, marks, np.array([0.3, 0.1, 0.1, 0.2])) == 100


def test_the_first_mark_allows_one_exact_sample():
    scores, rng = star(0.0), np.random.default_rng(0)
    errors = [errors_of(scores, np.array([100, 250]), rng=rng) for _ in range(20)]
    assert {first for first, _ in errors} == {0.5}
    assert {second for _, second in errors} == {0.0, 0.5}  # two samples, the third would go beyond


@pytest.mark.statistical
@pytest.mark.parametrize("setting", [{}, {"share": 0.1}, {"width": 0.05}])
def test_samples_find_the_marginal_where_factors_are_alike(setting):
    errors = [errors_of(star(1.0), np.array([100_000]), rng=np.random.default_rng(k), **setting)[0] for k in range(5)]
    # A thousand exact samples or more: five standard errors are 0.07.
    assert max(errors) < 0.07


@pytest.mark.statistical
@pytest.mark.parametrize("share", [0.1, 0.02])
def test_a_sampled_walk_is_off_by_what_the_noise_of_its_estimates_explains(share):
    scores = star(1.0, 10.0)
    size = round(share * N_FACTORS)
    rng = np.random.default_rng(1)
    changes = scores[:, 1] - scores[:, 0]
    estimates = N_FACTORS * np.array([rng.choice(changes, size, replace=False).mean() for _ in range(20_000)])
    expected = abs((1 / (1 + np.exp(-estimates))).mean() - exact_marginal(scores))
    error = errors_of(scores, np.array([200_000]), rng=rng, share=share)[0]
    n_samples = 200_000 / size
    assert abs(error - expected) < 5 * (np.sqrt(0.25 / n_samples) + estimates.std() / 4 / np.sqrt(20_000))
    assert expected > 0.05


def test_the_reproduction_keeps_its_contract():
    lines = []
    assert load("montecarlo-figure2").run is run
    result = run(0, quick=True, progress=lines.append)
    assert set(result) == {"name", "seed", "seconds", "rows", "bars"}
    assert (result["name"], result["seed"], result["bars"]) == ("montecarlo-figure2", 0, [])
    assert len(lines) == 2 * len(SETTINGS)
    assert len(result["rows"]) == len(SETTINGS) * 7  # three marks for both readings, and the speed-up for one
    assert all({"row", "metric", "paper", "ours"} <= set(row) for row in result["rows"])
    assert table_of(result).count("\n") == len(result["rows"]) + 1
    ours = {(row["row"], row["metric"]): row["ours"] for row in result["rows"]}
    assert ours["mean, p = 1", "error at 100 factors"] > 0.2
    assert ours["mean, p = 1", "error at 10,000 factors"] < 0.1
    assert ours["mean, p = 0.1", "error at 1,000 factors"] < ours["mean, p = 1", "error at 1,000 factors"]
    assert ours["sum, p = 1", "error at 100 factors"] == pytest.approx(0.0, abs=1e-12)
    assert ours["sum, p = 0.1", "error at 10,000 factors"] > 0.0
    again = run(0, quick=True)
    assert again["rows"] == result["rows"]
