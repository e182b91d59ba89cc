"""Parts of batches, padded or not, against the whole, and how often they are traced."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from document_graphs import Documents, documents, plain_documents, quick_jit
from walkstep.inference import enumerate_worlds
from walkstep.inference.graph_batch import graph_batch
from walkstep.messages import answers
from walkstep.messages.answers import log_beliefs
from walkstep.messages.message_passing import is_contradictory, pass_messages, score_terms
from walkstep.messages.minibatches import minibatches
from walkstep.messages.objectives import Inference, Objective
from walkstep.messages.padding import bucket, pad
from walkstep.messages.selection import select
from walkstep.messages.tree_schedule import tree_schedule
from walkstep.model import Factors, ground
from walkstep.model.score import score, statistics


@pytest.fixture(autouse=True)
def _double_precision():
    with jax.enable_x64(True):
        yield


CASES = {
    "loopy union": ([4, 3, 1, 5, 3, 2, 1], True, True),
    "forest union": ([1, 3, 1, 5, 3, 2, 1], False, True),
    "loopy copies": ([3] * 5, True, False),
    "forest copies": ([4] * 5, False, True),
}


@pytest.mark.parametrize("name", CASES)
def test_scores_of_parts_are_those_of_their_documents_with_every_kind_of_factor(name):
    sizes, cycles, mixed = CASES[name]
    given = documents(7, sizes, cycles=cycles, mixed=mixed)
    whole, weights = given.batch, jnp.asarray(given.weights)
    assert (whole.n_copies > 1) == ("copies" in name)
    traces = []

    @quick_jit
    def score_and_slope(weights, batch):
        traces.append(batch)

        def total(weights):
            of_documents = batch.by_document(*score_terms(batch.wired, batch.tables.scores(weights), batch.truth))
            return (of_documents * (batch.by_document(batch.weight) > 0.0)).sum()

        return jax.value_and_grad(total)(weights)

    parts = minibatches(whole, 2, np.random.default_rng(0))
    assert len(parts) == -(-len(sizes) // 2)
    made = [score_and_slope(weights, part) for part in parts]
    assert len(traces) == 1
    selected = [score_and_slope(weights, select(whole, chosen)) for chosen in ([0, 1], range(2, len(sizes)))]
    for found in (selected, made):
        value, slope = map(sum, zip(*found, strict=True))
        np.testing.assert_allclose(value, score(given.graph, given.weights, given.truth), atol=1e-10)
        np.testing.assert_allclose(slope, statistics(given.graph, given.truth), atol=1e-10)


PLAIN_CASES = {
    "loopy union": ([4, 3, 1, 5, 3, 2, 1], 3, "risk"),
    "forest union": ([1, 3, 1, 5, 3, 2, 1], 2, "likelihood"),
    "loopy copies": ([3] * 5, 2, "likelihood"),
    "forest copies": ([4] * 5, 2, "risk"),
}


@pytest.mark.parametrize("name", PLAIN_CASES)
def test_the_whole_is_the_weighted_sum_of_its_parts_which_are_traced_once(name):
    sizes, n_values, kind = PLAIN_CASES[name]
    given = plain_documents(7, sizes, n_values, cycles="loopy" in name, latent="forest" in name)
    whole, weights = given.batch, jnp.asarray(given.weights)
    objective, traces = Objective(kind, Inference(n_rounds=2, damping=0.2)), []

    @quick_jit
    def value_and_slope(weights, batch):
        traces.append(batch)
        return jax.value_and_grad(objective)(weights, batch)

    expected = value_and_slope(weights, whole)
    parts = minibatches(whole, 2, np.random.default_rng(0))
    shares = np.array([part.weight.sum() for part in parts]) / whole.weight.sum()
    assert shares.sum() == pytest.approx(1.0)
    made = [value_and_slope(weights, part) for part in parts]
    assert len(traces) == 2, "once for the whole, once for all parts"
    for k in range(2):
        total = sum(share * one[k] for share, one in zip(shares, made, strict=True))
        np.testing.assert_allclose(total, expected[k], atol=1e-9)


def one_by_one(given: Documents):
    """Each document as a graph of its own, for the slow way."""
    exact = enumerate_worlds(given.graph, given.weights)
    return [exact.marginals()[a:b] for a, b in pairwise(given.ptr)]


@pytest.mark.parametrize("sizes", [[3, 1, 4, 2], [3, 3, 3]], ids=["union", "copies"])
def test_beliefs_of_parts_are_those_of_the_whole(sizes):
    given = documents(3, sizes, cycles=False)
    exact = one_by_one(given)
    whole = given.batch
    for chosen in ([1], [0, 2]):
        found = np.exp(log_beliefs(select(whole, chosen), given.weights, Inference(), precise=True))
        flat = np.moveaxis(found, (2, 1), (0, 1)).reshape(-1, found.shape[0])
        np.testing.assert_allclose(flat, np.concatenate([exact[d] for d in chosen]), atol=1e-10)


def test_answers_to_batches_of_one_bucket_are_traced_once():
    before = answers._log_beliefs._cache_size()
    for sizes in ([4, 3, 1, 3], [3, 1, 4, 3], [5, 1, 3, 2]):
        given = plain_documents(0, sizes, 2, cycles=True)
        log_beliefs(given.batch, given.weights, Inference(n_rounds=2))
    assert answers._log_beliefs._cache_size() == before + 1
    for seed, n_copies in enumerate((19, 20, 20)):  # features of 57 and of 60 rows
        copies = plain_documents(seed, [3] * n_copies, 2, cycles=True)
        log_beliefs(copies.batch, copies.weights, Inference(n_rounds=2))
    assert answers._log_beliefs._cache_size() == before + 2


def test_factors_that_fill_a_batch_up_change_nothing_however_many_they_are():
    # One table for all, which forbids (0, 0) and likes other values much better than the first that it allows.
    n = 2100
    chain = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    edges = np.concatenate([chain, [[0, 2]]])  # a cycle
    rule = Factors("rule", edges, fixed=np.array([[-np.inf, 0.0], [0.0, 0.0]]))
    graph, _ = ground(np.full(n, 2), [rule, Factors("edge", edges)])
    weights = jnp.array([0.0, 0.0, 40.0, 60.0])
    batch = graph_batch(graph, np.ones(n, int))
    padded = pad([batch])[0]
    assert padded.wired.scopes[0].shape[1] - len(edges) > 400
    kinds = (("softmax-margin", "sum-product"), ("svm", "sum-product"), ("risk", "max-product"))
    objectives = [Objective(kind, Inference(how, n_rounds=3)) for kind, how in kinds]

    @quick_jit
    def found(one):
        scores = one.tables.scores(weights)
        passed = pass_messages(one.wired, scores, n_rounds=3)
        values = jnp.stack([objective(weights, one) for objective in objectives])
        return values, is_contradictory(one.wired, scores, passed.messages).any()

    (plain, _), (filled, is_impossible) = found(batch), found(padded)
    np.testing.assert_allclose(filled, plain, atol=1e-9)
    assert not is_impossible


def test_documents_without_factors_have_a_schedule_too():
    schedule = tree_schedule(3, (np.zeros((2, 0), np.int32),))
    assert schedule is not None
    assert schedule.n_steps == 0
    given = documents(3, [1, 3, 1], cycles=False)
    found = np.exp(log_beliefs(select(given.batch, [0, 2]), given.weights, Inference(), precise=True))
    exact = enumerate_worlds(given.graph, given.weights).marginals()
    np.testing.assert_allclose(found[:, :, 0].T, exact[[0, 4]], atol=1e-10)


def test_sizes_are_few_and_a_quarter_more_at_most():
    sizes = [bucket(n) for n in range(4, 5000)]
    assert len(set(sizes)) < 45
    assert all(n <= size <= 1.25 * n for n, size in zip(range(4, 5000), sizes, strict=True))


def test_weights_that_the_graphs_do_not_take_are_refused():
    given = plain_documents(0, [3, 2], 2, cycles=False)
    with pytest.raises(ValueError, match=rf"weights have shape \(3,\); these graphs take \({len(given.weights)},\)"):
        log_beliefs(given.batch, given.weights[:3], Inference())
