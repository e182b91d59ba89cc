"""Likelihood and margins against enumeration and slow twins in plain NumPy, of documents alone and together."""

from functools import partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from document_graphs import Documents, documents, plain, plain_documents, quick_jit
from walkstep.inference import enumerate_worlds
from walkstep.inference.exact import all_worlds
from walkstep.inference.graph_batch import graph_batch
from walkstep.messages.message_passing import Scores, log_partition, settle
from walkstep.messages.objectives import Dials, Inference, Objective
from walkstep.messages.padding import pad
from walkstep.messages.selection import select
from walkstep.model import Factors, ground
from walkstep.model.score import score, statistics

SMOOTH = ("likelihood", "softmax-margin")
MARGINS = ("svm", "perceptron")
EVERY = (*SMOOTH, *MARGINS, "risk")


@pytest.fixture(autouse=True)
def _double_precision():
    with jax.enable_x64(True):
        yield


@partial(quick_jit, static_argnames=("kinds", "cost", "n_rounds"))
def objectives(weights, batch, kinds, cost=0.7, n_rounds=3):
    """All of some kinds at once, with their gradients: one compilation."""
    made = [Objective(kind, Inference(n_rounds=n_rounds), cost=cost) for kind in kinds]

    def twice(weights):
        found = jnp.stack([one(weights, batch) for one in made])
        return found, found

    slope, value = jax.jacrev(twice, has_aux=True)(weights)
    return value, slope


class Worlds:
    """Every world of a graph, with its score, its statistics, its cost, and whether it agrees with what is known."""

    def __init__(self, given: Documents, cost: float):
        exact = enumerate_worlds(given.graph, given.weights)
        known = given.truth >= 0
        wrong = (exact.worlds != given.truth) & known
        self.scores, self.costs = exact.log_weights, cost * wrong.sum(axis=1)
        self.agrees = ~wrong.any(axis=1)
        self.statistics = np.array([statistics(given.graph, world) for world in exact.worlds])
        self.n_known = int(known.sum())

    def soft(self, scores):
        """The log of the sum of exponentials, and the statistics to be expected."""
        top = scores.max()
        log_z = top + np.log(np.exp(scores - top).sum())
        return log_z, np.exp(scores - log_z) @ self.statistics

    def best(self, scores):
        at = int(scores.argmax())
        return scores[at], self.statistics[at]

    def expected(self, kind):
        """An objective and its gradient."""
        pick = self.soft if kind in SMOOTH else self.best
        costs = self.costs if kind in ("softmax-margin", "svm") else 0.0
        above, held = pick(self.scores + costs), pick(np.where(self.agrees, self.scores, -np.inf))
        return [(one - other) / self.n_known for one, other in zip(above, held, strict=True)]


@pytest.mark.parametrize(("name", "latent"), [("forest union", True), ("forest copies", False)])
def test_on_forests_objectives_and_their_gradients_are_those_of_enumeration(name, latent):
    given = plain(name, latent=latent)
    assert given.batch.has_latent == latent
    worlds = Worlds(given, 0.7)
    value, slope = objectives(jnp.asarray(given.weights), given.batch, SMOOTH + MARGINS)
    for k, kind in enumerate(SMOOTH + MARGINS):
        expected, along = worlds.expected(kind)
        np.testing.assert_allclose(value[k], expected, atol=1e-9, err_msg=kind)
        np.testing.assert_allclose(slope[k], along, atol=1e-9, err_msg=kind)
    likelihood, softmax_margin, hinge, violation = value
    assert softmax_margin >= likelihood >= 0.0
    assert softmax_margin >= hinge >= violation >= 0.0


@pytest.mark.parametrize("latent", [False, True])
def test_with_cycles_the_gradient_is_what_is_believed_less_what_is_true(latent):
    given = plain("loopy copies", latent=latent)
    batch, weights = given.batch, given.weights
    value, slope = objectives(jnp.asarray(weights), batch, ("likelihood",), n_rounds=60)
    truth = np.asarray(batch.truth)
    scores = batch.tables.scores(jnp.asarray(weights))
    free = believed(given, scores)
    if latent:
        values = np.arange(2)[:, None, None]
        clamped = Scores(jnp.where((truth >= 0) & (values != truth), -jnp.inf, scores.own), scores.tables)
        expected = free - believed(given, clamped)
    else:
        expected = free - statistics(given.graph, given.truth)
    n_known = (truth >= 0).sum()
    np.testing.assert_allclose(slope[0], expected / n_known, atol=1e-7)
    assert np.isfinite(value).all()


def believed(given, scores):
    """The statistics to be expected if factors are believed by themselves, factor by factor in NumPy."""
    batch, graph = given.batch, given.graph

    @quick_jit  # the slope of log Z by the scores of factors is what is believed of them
    def slope_of(scores):
        messages = settle(batch.wired, scores, max_rounds=200, tolerance=1e-12).messages
        return jax.grad(lambda s: log_partition(batch.wired, s, messages).sum())(scores)

    slope = slope_of(Scores(scores.own, _full(batch, scores)))
    total = np.zeros(graph.n_weights)
    size = batch.truth.shape[0]
    scopes = np.asarray(batch.wired.scopes[0])
    for f in range(graph.n_factors):
        scope = graph.factor_variables[graph.factor_ptr[f] : graph.factor_ptr[f + 1]]
        copy, local = scope[0] // size, scope % size
        if len(scope) == 1:
            chances = np.asarray(slope.own[:, local[0], copy])
        else:
            place = int(np.flatnonzero((scopes == local[:, None]).all(axis=0))[0])
            chances = np.asarray(slope.tables[0][:, :, place, copy]).ravel()
        start, n = graph.factor_weight[f], graph.group_cells[graph.factor_group[f]]
        if len(scope) == 1:
            row = graph.dense_value[graph.factor_row[f] : graph.factor_row[f] + 2]
            total[start : start + 2 * n] += np.outer(row, chances).ravel()
        else:
            total[start : start + n] += chances
    return total


def _full(batch, scores):
    """Tables written out for every factor and copy."""
    shape = (batch.wired.scopes[0].shape[1], batch.n_copies)
    return tuple(jnp.broadcast_to(table, (*table.shape[:-2], *shape)) for table in scores.tables)


def test_the_hinge_bounds_the_cost_of_the_answer_and_is_convex():
    given = plain("forest union")
    rng = np.random.default_rng(1)
    for _ in range(10):
        one, other = rng.normal(size=(2, len(given.weights)))
        ends = [
            float(objectives(jnp.asarray(w), given.batch, ("svm",), cost=1.0)[0][0])
            for w in (one, other, (one + other) / 2)
        ]
        assert ends[2] <= (ends[0] + ends[1]) / 2 + 1e-12
        best, _ = enumerate_worlds(given.graph, one).best()
        assert ends[0] >= (best != given.truth).mean() - 1e-12


def test_loss_augmented_inference_counts_by_weight():
    graph, layout = ground([2, 2], [Factors("site", [[0], [1]])])
    batch = graph_batch(graph, [0, 0], weight=[1.0, 3.0])
    value, _ = objectives(jnp.zeros(layout.size), batch, ("svm",), cost=1.0)
    np.testing.assert_allclose(value[0], (1.0 + 3.0) / 4.0)


def test_the_continuation_ends_in_the_loss_itself_and_begins_with_the_squared_error():
    given = plain("forest copies")
    weights = jnp.asarray(given.weights)

    def share(decoded, batch):
        return decoded[0].mean()

    risk = quick_jit(Objective("risk", loss=share, decode_temperature=1.0))
    exact = enumerate_worlds(given.graph, given.weights).marginals()
    ends = [float(risk(weights, given.batch, Dials(1.0, blend))) for blend in (0.0, 0.5, 1.0)]
    right = np.eye(3)[given.truth]
    np.testing.assert_allclose(ends[0], ((exact - right) ** 2).sum(axis=1).mean(), atol=1e-10)
    np.testing.assert_allclose(ends[2], exact[:, 0].mean(), atol=1e-10)
    np.testing.assert_allclose(ends[1], (ends[0] + ends[2]) / 2, atol=1e-12)


@pytest.mark.parametrize("name", ["loopy copies", "forest union"])
def test_beliefs_come_to_those_of_max_product_as_the_temperature_falls(name):
    given = plain(name)
    batch = given.batch

    @quick_jit
    def both(weights):
        scores, cold = (batch.tables.scores(w) for w in (weights, weights / 0.01))
        best = Inference("max-product").log_beliefs(batch, scores)
        return best.argmax(axis=0), jnp.exp(Inference("sum-product", is_wide=True).log_beliefs(batch, cold))

    best, found = map(np.asarray, both(jnp.asarray(given.weights)))
    np.testing.assert_allclose(np.take_along_axis(found, best[None], axis=0), 1.0, atol=1e-3)
    if "forest" in name:
        exact, _ = enumerate_worlds(given.graph, given.weights).best()
        np.testing.assert_array_equal(best[:, 0], exact)


@pytest.mark.parametrize("cycles", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["loopy", "forest"])
def test_objectives_of_a_union_are_sums_over_its_documents_and_those_without_weight_change_nothing(cycles):
    given = plain_documents(1, [4, 3, 1], 2, cycles=cycles, latent=not cycles)
    weights = jnp.asarray(given.weights)
    for left_out in ([], [0], [1, 2]):
        counts = (~np.isin(np.repeat(np.arange(3), np.diff(given.ptr)), left_out)).astype(float)
        counts[1] *= 0.5
        batch = graph_batch(given.graph, given.truth, document_ptr=given.ptr, weight=counts)
        assert batch.n_copies == 1
        kept = [d for d in range(3) if d not in left_out]
        each = pad([select(batch, [d]) for d in range(3)])
        alone = [objectives(weights, each[d], EVERY) for d in kept]
        for k, part in enumerate(objectives(weights, batch, EVERY)):
            expected = sum(one[k] * each[d].weight.sum() for one, d in zip(alone, kept, strict=True))
            np.testing.assert_allclose(part, expected / counts[np.asarray(batch.truth)[:, 0] >= 0].sum(), atol=1e-10)


def test_a_copy_that_does_not_count_changes_nothing():
    given, kinds = plain("loopy copies"), ("likelihood", "perceptron")
    batch = graph_batch(given.graph, given.truth, document_ptr=given.ptr, weight=np.repeat([1.0, 0.0, 1.0], 3))
    found = objectives(jnp.asarray(given.weights), batch, kinds)
    without = objectives(jnp.asarray(given.weights), select(given.batch, [0, 2]), kinds)
    for one, other in zip(found, without, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("seed", [83, 90], ids=["a rival below the truth", "a rival that is forbidden"])
def test_a_hinge_is_that_of_each_document_by_itself(seed):
    # Messages around a cycle may name a rival that is worse than the truth: its document stands still, and it alone.
    given, cost = documents(seed, [4, 3, 1, 2], cycles=True, mixed=False), 0.7
    batch, truth = given.batch, given.truth

    @quick_jit
    def rivals(weights):
        scores = batch.tables.scores(weights)
        wrong = jnp.arange(2)[:, None, None] != batch.truth
        raised = scores._replace(own=scores.own + cost * wrong)
        return Inference("max-product", n_rounds=3).log_beliefs(batch, raised).argmax(axis=0)[:, 0]

    def gap(values, a, b):
        """Of a world that is the truth but for one document, by the graph itself."""
        world = truth.copy()
        world[a:b] = values
        return score(given.graph, given.weights, world) - true_score + cost * (values != truth[a:b]).sum(), world

    rival, true_score = np.asarray(rivals(jnp.asarray(given.weights))), score(given.graph, given.weights, truth)
    gaps, total, along = [], 0.0, np.zeros(len(given.weights))
    for a, b in pairwise(given.ptr):
        mine, world = gap(rival[a:b], a, b)
        gaps.append(mine)
        best = max(gap(values, a, b)[0] for values in all_worlds(given.graph.n_values[a:b]))
        assert mine <= best + 1e-9
        if b - a < 3:  # no cycle: the best of all
            assert mine == pytest.approx(best, abs=1e-9)
        if mine > 0.0:
            total += mine
            along += statistics(given.graph, world) - statistics(given.graph, truth)
    assert min(gaps) < 0.0 < max(gaps)
    value, slope = objectives(jnp.asarray(given.weights), batch, ("svm",), cost=cost)
    np.testing.assert_allclose(value[0], total / len(truth), atol=1e-9)
    np.testing.assert_allclose(slope[0], along / len(truth), atol=1e-9)
