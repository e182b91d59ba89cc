"""The loop that runs samplers: thinning, callbacks, chains, interrupts."""

import numpy as np
import pytest

from random_graphs import random_binary_graph, random_graph
from walkstep.inference import gibbs, metropolis, run, run_chains
from walkstep.worlds import stream


@pytest.fixture(scope="module")
def sampler():
    return gibbs(*random_binary_graph(1, 5, tied=True))


def test_the_same_seed_gives_the_same_chain_and_thinning_takes_every_kth_draw(sampler):
    every = run(sampler, None, 30, rng=4)
    again = run(sampler, None, 30, rng=4)
    np.testing.assert_array_equal(every.draws, again.draws)
    thinned = run(sampler, None, 20, rng=4, burn_in=10, thin=4)
    np.testing.assert_array_equal(thinned.draws, every.draws[:, 13::4])
    np.testing.assert_array_equal(thinned.scores, every.scores[:, 13::4])


def test_a_run_goes_on_from_the_state_of_another(sampler):
    rng = stream(3)
    state = sampler.init(None)
    for _ in range(5):
        state, _ = sampler.step(rng, state)
    values = state.values
    samples = run(sampler, state, 0, rng=0)
    np.testing.assert_array_equal(samples.states[0].values, values)


def test_scores_best_world_and_marginals_belong_to_the_draws(sampler):
    samples = run_chains(sampler, None, 3, 40, rng=0)
    at = np.unravel_index(samples.scores.argmax(), samples.scores.shape)
    assert samples.best_score >= samples.scores[at]
    one = samples.draws.reshape(-1, 5).mean(axis=0)
    np.testing.assert_allclose(samples.marginals()[:, 1], one)
    np.testing.assert_allclose(run_chains(sampler, None, 3, 40, rng=0, keep=False).marginals()[:, 1], one)


@pytest.mark.parametrize("make", [gibbs, metropolis])
def test_chains_do_not_depend_on_the_number_of_threads(make):
    sampler = make(*random_graph(1))
    one = run_chains(sampler, None, 4, 30, rng=5, n_threads=1)
    many = run_chains(sampler, None, 4, 30, rng=5, n_threads=3)
    np.testing.assert_array_equal(one.draws, many.draws)
    np.testing.assert_array_equal(one.scores, many.scores)
    assert not np.array_equal(one.draws[0], one.draws[1])


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_interrupt_returns_the_best_so_far(sampler, n_threads):
    def interrupt(done, state, info):
        if done == 7:
            raise KeyboardInterrupt

    samples = run_chains(sampler, None, 2, 1000, rng=0, callback=interrupt, n_threads=n_threads)
    assert samples.interrupted
    assert 7 <= samples.draws.shape[0] * samples.draws.shape[1] < 2000
    assert samples.best_score == pytest.approx(max(samples.best_score, samples.scores.max()))
    assert samples.marginals().shape == (5, 2)
    assert not run(sampler, None, 3, rng=0).interrupted


def test_errors_in_a_callback_reach_the_caller(sampler):
    def fail(done, state, info):
        raise RuntimeError("no")

    for n_threads in (1, 2):
        with pytest.raises(RuntimeError, match="no"):
            run_chains(sampler, None, 2, 5, rng=0, callback=fail, n_threads=n_threads)


def test_bad_arguments_are_named(sampler):
    with pytest.raises(ValueError, match="thin is 0; give at least 1"):
        run(sampler, None, 5, rng=0, thin=0)
    with pytest.raises(ValueError, match="there are 1 starts for 2 chains"):
        run_chains(sampler, [None], 2, 5, rng=0)
    with pytest.raises(ValueError, match="no draw was made"):
        run(sampler, None, 0, rng=0).marginals()
