"""Losses of certain answers against plain metrics, weights, what is not known, and functions that are refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.metrics import f1_score

from walkstep.inference.graph_batch import graph_batch
from walkstep.messages.losses import LOSSES, as_loss, f_measure
from walkstep.model import Factors, ground


@pytest.fixture(autouse=True)
def _double_precision():
    with jax.enable_x64(True):
        yield


def made(sizes, n_values, rng, *, unknown=0.0, weight=None):
    """A batch of variables that no factor joins, with the truth."""
    n = sum(sizes)
    graph, _ = ground(np.full(n, n_values), [Factors("site", np.arange(n)[:, None])])
    truth = np.where(rng.random(n) < unknown, -1, rng.integers(0, n_values, n))
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    return graph_batch(graph, truth, document_ptr=ptr, weight=weight), truth


def certain(values, batch, n_values):
    """Answers without doubt, laid out as the batch is."""
    shape = np.asarray(batch.truth).shape
    return jnp.asarray(np.eye(n_values)[values.reshape(shape[1], shape[0]).T].transpose(2, 0, 1))


SHAPES = {"union": [4, 3, 5, 1], "copies": [4, 4, 4]}


@pytest.mark.parametrize("sizes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_losses_of_certain_answers_are_the_metrics(sizes, seed):
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 3, sum(sizes)) / 2.0
    batch, truth = made(sizes, 3, rng, unknown=0.2, weight=weight)
    answer = rng.integers(0, 3, len(truth))
    counts = weight * (truth >= 0)
    right = answer == truth
    found = {name: float(loss(certain(answer, batch, 3), batch)) for name, loss in LOSSES.items()}
    wrong = (counts * ~right).sum() / counts.sum()
    assert found["accuracy"] == pytest.approx(wrong)
    assert found["mse"] == pytest.approx(2.0 * wrong)
    assert found["l1"] == pytest.approx(2.0 * wrong)
    hits = (counts * (right & (truth > 0))).sum()
    both = (counts * (answer > 0)).sum() + (counts * (truth > 0)).sum()
    assert found["f1"] == pytest.approx(1.0 - 2.0 * hits / both)
    assert found["log-likelihood"] == pytest.approx(-np.log(1e-30) * wrong)


@pytest.mark.parametrize("sizes", [[4, 4, 4, 4, 4]], ids=["copies"])
@pytest.mark.parametrize("seed", range(3))
def test_the_f_measure_of_label_sets_is_that_of_scikit_learn(sizes, seed):
    rng = np.random.default_rng(seed)
    batch, truth = made(sizes, 2, rng)
    answer = rng.integers(0, 2, len(truth))
    answer[:4] = truth[:4] = 0  # nothing to be found, and nothing found
    batch.truth[:, 0] = 0
    expected = f1_score(truth.reshape(5, 4), answer.reshape(5, 4), average="samples", zero_division=1.0)
    assert float(LOSSES["label-set-f1"](certain(answer, batch, 2), batch)) == pytest.approx(1.0 - expected)


def test_label_sets_of_uneven_documents_count_alike_whatever_their_weights():
    rng = np.random.default_rng(0)
    weight = np.array([0.1, 0.1, 0.1, 2.0, 2.0, 0.0])
    batch, truth = made([3, 2, 1], 2, rng, weight=weight)
    answer = rng.integers(0, 2, 6)
    scores = []
    for mine in (slice(0, 3), slice(3, 5)):  # the third does not count
        hits = (weight * answer * truth)[mine].sum()
        both = (weight * (answer + truth))[mine].sum()
        scores.append(2.0 * hits / both if both else 1.0)
    assert float(LOSSES["label-set-f1"](certain(answer, batch, 2), batch)) == pytest.approx(1.0 - np.mean(scores))


def test_the_f_measure_may_favour_recall_and_leave_another_value_out():
    rng = np.random.default_rng(4)
    batch, truth = made([30], 3, rng)
    answer = rng.integers(0, 3, 30)
    hits, found, wanted = ((answer == truth) & (truth != 2)).sum(), (answer != 2).sum(), (truth != 2).sum()
    precision, recall = hits / found, hits / wanted
    expected = 5.0 * precision * recall / (4.0 * precision + recall)
    loss = f_measure(certain(answer, batch, 3), batch, outside=2, beta=2.0)
    assert float(loss) == pytest.approx(1.0 - expected)


def test_where_nothing_counts_losses_are_nothing():
    batch, _ = made([3], 2, np.random.default_rng(0), unknown=1.0)
    answer = certain(np.zeros(3, int), batch, 2)
    assert {name: float(loss(answer, batch)) for name, loss in LOSSES.items()} == dict.fromkeys(LOSSES, 0.0)


def test_functions_of_the_user_are_tried_with_their_number_of_values():
    costs = jnp.asarray(np.random.default_rng(0).random((3, 3)))

    def costly(decoded, truth, weight):
        return (weight * (costs[truth].transpose(2, 0, 1) * decoded).sum(axis=0)).sum()

    assert as_loss(costly, 3) == as_loss(costly, 3)
    assert hash(as_loss(costly, 3)) == hash(as_loss(costly, 3))


def step(decoded, truth, weight):
    return (decoded.argmax(axis=0) != truth).mean() * 1.0


def in_numpy(decoded, truth, weight):
    return np.abs(np.asarray(decoded)).sum()


def branching(decoded, truth, weight):
    return decoded.sum() if decoded[0, 0, 0] > 0.5 else decoded[0].sum()


def many(decoded, truth, weight):
    return decoded[0]


def steep(decoded, truth, weight):
    return jnp.sqrt(jnp.abs(decoded - decoded)).sum()


def nowhere(decoded, truth, weight):
    return jnp.log(-decoded).sum()


@pytest.mark.parametrize(
    ("loss", "error", "said"),
    [
        (step, ValueError, "slope of loss 'step' is 0 everywhere"),
        (in_numpy, TypeError, "'in_numpy' cannot be differentiated by JAX; compose it of jax.numpy"),
        (branching, TypeError, "'branching' cannot be differentiated"),
        (many, ValueError, r"'many' gives an array of shape \(3, 4\); give one number"),
        (steep, ValueError, "'steep' has a slope that is not finite"),
        (nowhere, ValueError, "'nowhere' is nan of ordinary distributions"),
        ("f2", ValueError, "loss is 'f2'; choose one of accuracy, mse"),
    ],
)
def test_what_cannot_be_learned_from_is_named(loss, error, said):
    with pytest.raises(error, match=said):
        as_loss(loss)
