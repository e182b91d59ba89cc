"""Training by messages: every optimiser near the optimum, what is kept, what is refused, and risk below likelihood."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from document_graphs import plain, plain_documents
from walkstep.inference.graph_batch import graph_batch
from walkstep.learning.descent import OPTIMISERS, over_all
from walkstep.learning.message_learning import MessageLearner
from walkstep.learning.meta_descent import MetaDescent
from walkstep.messages.answers import log_beliefs
from walkstep.messages.objectives import Dials, Inference, Objective
from walkstep.model import Factors, ground


def sites(n_documents=40, seed=0, n_columns=3):
    """Binary variables by themselves with noisy truth: logistic regression, with one optimum."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_documents, n_columns))
    features[:, -1] *= 0.1  # a feature that says nothing
    truth = (features[:, 0] + 0.5 * features[:, 1] + rng.normal(size=n_documents) > 0).astype(int)
    graph, _ = ground(np.full(n_documents, 2), [Factors("site", np.arange(n_documents)[:, None], features=features)])
    return graph_batch(graph, truth, document_ptr=np.arange(n_documents + 1)), features, truth


def newton(features, truth, l2):
    """The optimum of logistic regression with weights for both values: their difference counts, each has half of it."""
    w = np.zeros(features.shape[1])  # of value 1; of value 0 it is the opposite
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(-2.0 * features @ w))
        slope = 2.0 * features.T @ (p - truth) / len(truth) + 4.0 * l2 * w
        curved = 4.0 * (features.T * (p * (1.0 - p))) @ features / len(truth) + 4.0 * l2 * np.eye(len(w))
        w = w - np.linalg.solve(curved, slope)
    return np.stack([-w, w], axis=1).ravel()


SETTINGS = {
    "adam": {"rate": 0.02, "n_epochs": 60},
    "adagrad": {"rate": 0.3, "n_epochs": 60},
    "sgd": {"rate": 0.3, "n_epochs": 60},
    "pegasos": {"rate": 1.0, "n_epochs": 60},
    "smd": {"rate": 0.1, "n_epochs": 60},
    "lbfgs": {"n_epochs": 60},
}


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_every_optimiser_comes_near_the_optimum(optimiser):
    batch, features, truth = sites()
    best = newton(features, truth, 0.01)
    settings = {"learner": "likelihood", "l2": 0.01, "batch_size": 10, "precise": True, "average": optimiser == "sgd"}
    learner = MessageLearner(optimiser=optimiser, **settings, **SETTINGS[optimiser])
    learned = learner.learn(batch)
    if optimiser == "lbfgs":
        np.testing.assert_allclose(learned.weights, best, atol=1e-5)
    with jax.enable_x64(True):
        value = over_all(Objective("likelihood"), [batch], dials=Dials(), l2=0.01, dtype=float)
        assert value(learned.weights)[0] <= value(best)[0] + 0.01
    again = learner.learn(batch)
    np.testing.assert_array_equal(again.weights, learned.weights)


@pytest.mark.parametrize("optimiser", ["lbfgs", "adagrad", "adam"])
def test_absolute_weights_that_cost_become_zero_and_the_others_are_optimal(optimiser):
    batch, *_ = sites()
    l1, rate = 0.06, {"adagrad": 0.3}.get(optimiser, 0.01)
    learner = MessageLearner(
        "likelihood", optimiser=optimiser, l1=l1, n_epochs=200, rate=rate, batch_size=40, precise=True
    )
    weights = learner.learn(batch).weights
    with jax.enable_x64(True):
        _, slope = over_all(Objective("likelihood"), [batch], dials=Dials(), l2=0.0, dtype=float)(weights)
    assert (weights[-2:] == 0.0).all()
    assert (weights[:2] != 0.0).all()
    kept = weights != 0.0
    np.testing.assert_allclose(slope[kept], -l1 * np.sign(weights[kept]), atol=2e-3)
    assert (np.abs(slope[~kept]) <= l1 + 1e-3).all()


def test_meta_descent_takes_exact_products_and_adapts_its_rates():
    with jax.enable_x64(True):
        curved = jnp.array([[3.0, 1.0], [1.0, 2.0]])

        def function(w):
            return 0.5 * w @ curved @ w + (w**3).sum()

        steps = MetaDescent(rate=0.05, meta_rate=0.1, decay=0.9)
        weights = jnp.array([1.0, -0.5])
        state = steps.init(weights)._replace(trace=jnp.array([0.3, -0.2]))
        slope = jax.grad(function)(weights)
        along = (
            jax.grad(function)(weights + 1e-6 * state.trace) - jax.grad(function)(weights - 1e-6 * state.trace)
        ) / 2e-6
        fresh, after, value = steps.step(function, weights, state)
        rates = 0.05 * np.maximum(0.5, 1.0 - 0.1 * slope * state.trace)
        np.testing.assert_allclose(after.rates, rates)
        np.testing.assert_allclose(after.trace, 0.9 * state.trace - rates * (slope + 0.9 * along), atol=1e-6)
        np.testing.assert_allclose(fresh, weights - rates * slope)
        assert float(value) == pytest.approx(float(function(weights)))
        # Where steps go on in one direction, rates rise.
        state = steps.init(weights)
        for _ in range(5):
            _, state, _ = steps.step(lambda w: w.sum(), weights, state)
        assert (state.rates > 0.05).all()


def test_the_best_epoch_on_development_data_is_kept_and_patience_ends_training():
    batch, *_ = sites()
    seen = []

    def dev(weights):
        seen.append(weights)
        return abs(len(seen) - 3.0)  # the third epoch is the best

    learned = MessageLearner("likelihood", n_epochs=20, patience=2).learn(batch, dev=dev)
    assert [epoch.dev for epoch in learned.epochs] == [2.0, 1.0, 0.0, 1.0, 2.0]
    np.testing.assert_array_equal(learned.weights, seen[2])
    assert not learned.interrupted
    seen.clear()
    learned = MessageLearner("likelihood", n_epochs=20, patience=2, optimiser="lbfgs").learn(batch, dev=dev)
    assert len(learned.epochs) == 5


def test_of_restarts_the_best_is_kept():
    batch, *_ = sites()
    losses = iter([3.0, 1.0, 2.0])
    seen = []

    def dev(weights):
        seen.append(weights)
        return next(losses)

    learned = MessageLearner("likelihood", n_epochs=1, n_restarts=2).learn(batch, dev=dev)
    np.testing.assert_array_equal(learned.weights, seen[1])
    assert not np.array_equal(seen[0], seen[1])


@pytest.mark.parametrize("n_restarts", [0, 1])
def test_an_interrupt_keeps_what_was_learned(n_restarts):
    batch, *_ = sites()
    shown = []

    def show(epoch):
        shown.append(epoch)
        if len(shown) == 3:
            raise KeyboardInterrupt

    learner = MessageLearner("likelihood", n_epochs=2 if n_restarts else 10, n_restarts=n_restarts)
    learned = learner.learn(batch, show=show)
    assert learned.interrupted
    assert learned.weights.any()

    def at_once(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):  # before an epoch was through
        learner.learn(batch, dev=at_once)


def test_a_perceptron_stands_still_once_it_separates_the_data():
    graph, _ = ground(
        [2] * 4, [Factors("site", [[0], [1], [2], [3]], features=np.array([[2.0], [1.0], [-1.0], [-2.0]]))]
    )
    batch = graph_batch(graph, [1, 1, 0, 0], document_ptr=[0, 1, 2, 3, 4])
    learned = MessageLearner("perceptron", optimiser="sgd", rate=1.0, n_epochs=4, batch_size=1).learn(batch)
    assert learned.epochs[-1].objective == 0.0
    more = MessageLearner("perceptron", optimiser="sgd", rate=1.0, n_epochs=2, batch_size=1)
    np.testing.assert_array_equal(more.learn(batch, start=learned.weights).weights, learned.weights)


def test_minimum_risk_training_beats_likelihood_where_the_model_is_wrong():
    # Truth by a threshold, and outliers that likelihood pays for dearly.
    rng = np.random.default_rng(0)
    n = 60
    x = np.concatenate([rng.normal(size=n - 5), np.full(5, -4.0)])
    truth = (x > -0.2).astype(int)
    truth[-5:] = 1
    features = np.stack([x, np.ones(n)], axis=1)
    graph, _ = ground(np.full(n, 2), [Factors("site", np.arange(n)[:, None], features=features)])
    batch = graph_batch(graph, truth, document_ptr=np.arange(n + 1))

    def wrong(weights):
        return float((log_beliefs(batch, weights, Inference()).argmax(axis=0).ravel() != truth).mean())

    how = {"n_epochs": 60, "rate": 0.1, "batch_size": n}
    likely = wrong(MessageLearner("likelihood", **how).learn(batch).weights)
    risky = MessageLearner("risk", loss="accuracy", **how).learn(batch)
    assert wrong(risky.weights) <= likely - 0.2
    assert len(risky.epochs) == 70


def test_annealed_training_ends_near_what_max_product_gives():
    given = plain_documents(3, [3] * 20, 2, cycles=True)
    learner = MessageLearner(
        "risk", inference="max-product", n_epochs=12, n_first_epochs=3, n_rounds=4, batch_size=20, rate=0.1
    )
    learned = learner.learn(given.batch)
    answer = log_beliefs(given.batch, learned.weights, learner.test_inference()).argmax(axis=0)
    assert abs(learned.epochs[-1].objective - (answer != given.batch.truth).mean()) < 0.1
    assert learned.epochs[-1].objective < 0.45


def test_the_settings_that_make_no_sense_are_named():
    for settings, said in [
        ({"learner": "mle"}, "learner is 'mle'; choose one of likelihood"),
        ({"inference": "exact"}, "inference is 'exact'; choose 'sum-product'"),
        ({"n_epochs": 0}, "n_epochs is 0; give 1 or more"),
        ({"l1": -1.0}, "l1 is -1.0; give 0 or more"),
        ({"damping": 1.0}, "damping is 1.0"),
        ({"decode_temperature": 0.0}, "decode_temperature is 0.0"),
        ({"optimiser": "adma"}, "optimiser is 'adma'"),
        ({"rate": float("nan")}, "rate is nan"),
        ({"optimiser": "pegasos"}, "give an l2 above 0"),
        ({"loss": "f2"}, "loss is 'f2'"),
    ]:
        with pytest.raises(ValueError, match=said):
            MessageLearner(**settings).check()


def test_data_that_cannot_be_learned_from_are_named():
    given = plain("forest union")
    n = len(given.weights)
    learner = MessageLearner("likelihood", n_epochs=1)
    with pytest.raises(ValueError, match=rf"weights have shape \({n + 1},\); the graphs of this batch take \({n},\)"):
        learner.learn(given.batch, start=np.zeros(n + 1))
    with pytest.raises(ValueError, match="weight 0 is nan"):
        learner.learn(given.batch, start=np.full(n, np.nan))
    with pytest.raises(ValueError, match="no truth is known of any variable"):
        learner.learn(graph_batch(given.graph, document_ptr=given.ptr))
    table = np.array([[0.0, 0.0], [0.0, -np.inf]])
    graph, _ = ground([2] * 6, [Factors("never", [[1, 0], [3, 2], [5, 4]], fixed=table), Factors("site", [[0]])])
    for ptr, document, variables in [([0, 2, 4, 6], 1, [0, 1]), ([0, 2, 6], 1, [0, 1]), (None, 0, [2, 3])]:
        batch = graph_batch(graph, [0, 1, 1, 1, 1, 0], document_ptr=ptr)
        with pytest.raises(
            ValueError, match=rf"truth of document {document} is forbidden.*variables \[{variables[0]}, "
        ):
            learner.learn(batch)
    known = graph_batch(graph, [0, 1, 1, -1, 1, 0])
    assert np.isfinite(MessageLearner("likelihood", n_epochs=1).learn(known).weights).all()


def test_an_objective_that_is_not_finite_is_named():
    batch, *_ = sites()
    with pytest.raises(
        ValueError, match=r"the objective became (nan|inf) in epoch \d+; lower the rate \(it is 1e\+30\)"
    ):
        MessageLearner("likelihood", optimiser="sgd", rate=1e30, n_epochs=5).learn(batch)
