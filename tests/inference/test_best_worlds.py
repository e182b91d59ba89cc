"""Searches for the best world, against enumeration."""

import numpy as np
import pytest

from random_graphs import random_binary_graph, random_graph
from walkstep.inference import (
    Outcome,
    anneal,
    constant,
    enumerate_worlds,
    geometric,
    gibbs,
    hill_climbing,
    linear,
    metropolis,
    potentials,
    total_score,
)


@pytest.mark.parametrize("make", [gibbs, metropolis])
@pytest.mark.parametrize("seed", range(5))
def test_annealing_finds_the_best_world(make, seed):
    graph, weights = random_graph(seed, 6)
    best = anneal(make(graph, weights), np.ones(6, int), 60 if make is gibbs else 600, rng=0)
    _, score = enumerate_worlds(graph, weights).best()
    assert best.score == pytest.approx(score)
    assert total_score(potentials(graph, weights), best.values) == pytest.approx(score)
    assert best.converged


@pytest.mark.parametrize("schedule", [geometric(3.0, 0.1), linear(3.0, 0.0), constant(0.5), lambda p: 2 - p])
def test_any_schedule_serves(schedule):
    graph, weights = random_binary_graph(4, 8, tied=True)
    best = anneal(gibbs(graph, weights), None, 60, rng=0, schedule=schedule)
    assert best.score == pytest.approx(enumerate_worlds(graph, weights).best()[1])


def test_annealing_keeps_the_best_world_even_if_it_leaves_it():
    graph, weights = random_graph(1, 6)
    values, score = enumerate_worlds(graph, weights).best()
    best = anneal(gibbs(graph, weights), values, 20, rng=0, schedule=constant(50.0), max_greedy=0)
    assert best.score == pytest.approx(score)
    assert best.outcome is Outcome.NOT_CONVERGED


def test_an_interrupted_annealing_returns_what_it_has():
    graph, weights = random_graph(1, 6)

    def interrupt(done, state, info):
        raise KeyboardInterrupt

    best = anneal(gibbs(graph, weights), np.ones(6, int), 20, rng=0, callback=interrupt)
    assert (best.outcome, best.n_steps) == (Outcome.INTERRUPTED, 1)
    assert total_score(potentials(graph, weights), best.values) == pytest.approx(best.score)


def test_a_schedule_that_gives_no_temperature_is_named():
    graph, weights = random_graph(1)
    with pytest.raises(ValueError, match=r"temperature is -1.0"):
        anneal(gibbs(graph, weights), None, 5, rng=0, schedule=lambda progress: -1.0)
    with pytest.raises(ValueError, match=r"geometric schedule goes from 1\.0 to 0\.0"):
        geometric(1.0, 0.0)


@pytest.mark.parametrize("seed", range(8))
def test_hill_climbing_with_restarts_finds_the_best_world(seed):
    graph, weights = random_graph(seed, 6)
    found = hill_climbing(graph, weights, n_restarts=40, rng=seed)
    assert found.score == pytest.approx(enumerate_worlds(graph, weights).best()[1])


@pytest.mark.parametrize("seed", range(5))
def test_a_climb_ends_where_no_single_change_helps(seed):
    graph, weights = random_graph(seed, 6)
    held = potentials(graph, weights)
    found = hill_climbing(graph, weights, start=np.ones(6, int), clamp={2: 1})
    assert found.converged
    assert found.values[2] == 1
    for v in (0, 1, 3, 4, 5):
        for k in range(graph.n_values[v]):
            other = found.values.copy()
            other[v] = k
            assert total_score(held, other) <= found.score + 1e-9


def test_a_climb_cut_short_says_so():
    graph, weights = random_graph(1, 6)
    start = enumerate_worlds(graph, weights).worlds[enumerate_worlds(graph, weights).log_weights.argmin()]
    assert hill_climbing(graph, weights, start=start, max_sweeps=1).outcome is Outcome.NOT_CONVERGED
