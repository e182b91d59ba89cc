"""Message passing on a GPU: messages a second, and milliseconds for a minimum-risk gradient of a set of Yeast's size.

Takes Python, NumPy and JAX, nothing else: ``PYTHONPATH=src python3 benchmarks/gpu_messages.py``. It prints one line of
JSON for each figure. Time is that of the clock, from the call until the answer lies on the device; compilation is given
apart. Answers are first compared with those of NumPy in double precision. ``--quick`` takes small sizes, on any device.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for a run as a script

from benchmarks.messages import N_ROUNDS, Problem, check_marginals, exact_rounds, problem
from walkstep.messages.message_passing import Scores, beliefs, pass_messages, wiring

N_ROWS, N_FEATURES, N_LABELS = 2417, 103, 14  # of Yeast
T_DECODE = 0.1


# Messages a second -----------------------------------------------------------------------------------


def measure_messages(shape: str, n_copies: int, n_repeats: int) -> Iterator[dict[str, Any]]:
    """All figures of one shape of graphs: forward, more rounds, one table for all graphs, with gradients."""
    small = problem(shape, 5)
    n_values, n_variables, _ = small.own.shape
    wired = wiring([n_values] * n_variables, [small.scope])
    scores = _random_scores(small, n_copies)
    shared = scores._replace(tables=(scores.tables[0][..., :1],))
    n_messages = small.scope.size * n_copies

    def marginals(scores: Scores, n_rounds: int = N_ROUNDS, is_general: bool = False) -> jax.Array:
        passed = pass_messages(wired, scores, n_rounds=n_rounds, is_general=is_general)
        return jax.nn.softmax(beliefs(wired, scores, passed.messages), axis=0)

    def expected_error(scores: Scores) -> jax.Array:
        return (1.0 - marginals(scores)[0]).sum()

    for one in (scores, shared):
        own, table = np.asarray(one.own[..., :5]), np.asarray(one.tables[0][..., :5])
        few = Problem(small.scope, own, np.broadcast_to(table, (*table.shape[:-1], own.shape[-1])))
        for is_general in (False, True):
            answer = jax.jit(partial(marginals, is_general=is_general))
            check_marginals(np.asarray(answer(one)[..., :5]), few)

    name = "gpu-messages" if shape == "labels" else "gpu-messages-nine"
    about = {"graphs": n_copies, "values": n_values, "unit": "messages a second"}
    figures: list[tuple[str, Callable[..., Any], Scores, int]] = [
        ("", marginals, scores, N_ROUNDS),
        ("-grad", jax.value_and_grad(expected_error), scores, N_ROUNDS),
        ("-long", partial(marginals, n_rounds=5 * N_ROUNDS), scores, 5 * N_ROUNDS),
        ("-one-table", marginals, shared, N_ROUNDS),
    ]
    if shape == "labels":
        figures.append(("-general", partial(marginals, is_general=True), scores, N_ROUNDS))
    for ending, function, given, n_rounds in figures:
        taken = _seconds(function, given, n_repeats=n_repeats)
        yield about | _rate(name + ending, taken, n_messages * n_rounds) | {"rounds": n_rounds}


def _random_scores(small: Problem, n_copies: int) -> Scores:
    """Made on the device, so that nothing large travels."""
    one, other = jax.random.split(jax.random.key(0))
    own = jax.random.normal(one, (*small.own.shape[:-1], n_copies), jnp.float32)
    return Scores(own, (0.3 * jax.random.normal(other, (*small.table.shape[:-1], n_copies), jnp.float32),))


# Minimum risk ----------------------------------------------------------------------------------------


class Weights(NamedTuple):
    """Of a multi-label model: each label by the features, each pair of labels by a table."""

    label: Any  # (D + 1, V), the bias last
    pair: Any  # (2, 2, F)


def measure_risk(n_rows: int, n_repeats: int) -> Iterator[dict[str, Any]]:
    """Milliseconds from weights to the value and gradient of the expected loss of all rows."""
    rng = np.random.default_rng(0)
    scope = np.stack(np.triu_indices(N_LABELS, 1))
    features = np.concatenate([rng.normal(size=(n_rows, N_FEATURES)), np.ones((n_rows, 1))], axis=1)
    truth = (rng.random((N_LABELS, n_rows)) < 0.3).astype(np.float64)
    weights = Weights(0.1 * rng.normal(size=(N_FEATURES + 1, N_LABELS)), 0.3 * rng.normal(size=(2, 2, scope.shape[1])))
    along = Weights(*(rng.normal(size=part.shape) for part in weights))

    for loss in (f1_loss, error_loss):
        risk = _risk(scope, jnp.asarray(features, jnp.float32), jnp.asarray(truth, jnp.float32), loss)
        value, slope = jax.jit(jax.value_and_grad(risk))(_single(weights))
        step = 1e-5
        moved = [jax.tree.map(lambda w, a, by=by: w + by * a, weights, along) for by in (-step, 0.0, step)]
        plain = [_plain_risk(scope, features, truth, loss, one) for one in moved]
        found = [float(value), sum(float((np.asarray(s) * a).sum()) for s, a in zip(slope, along, strict=True))]
        np.testing.assert_allclose(found, [plain[1], (plain[2] - plain[0]) / (2 * step)], rtol=2e-3, atol=1e-4)
        taken = _seconds(jax.value_and_grad(risk), _single(weights), n_repeats=10 * n_repeats)
        id = "gpu-risk-ms" if loss is f1_loss else "gpu-risk-ms-accuracy"
        about = {"rows": n_rows, "rounds": N_ROUNDS, "unit": "milliseconds a gradient"}
        figure = {"id": id, "value": 1e3 * taken["median"], "best": 1e3 * taken["best"]}
        yield about | figure | {"first_run_s": taken["first"]}


def f1_loss(on: Any, truth: Any) -> Any:
    """One minus F1 of each row's label set, in expectation over and under the line: (V, B) give (B,)."""
    return 1.0 - 2.0 * (on * truth).sum(axis=0) / (on.sum(axis=0) + truth.sum(axis=0) + 1e-6)


def error_loss(on: Any, truth: Any) -> Any:
    """The share of a row's labels that are wrong, in expectation."""
    return (on * (1.0 - truth) + (1.0 - on) * truth).mean(axis=0)


def _risk(scope: np.ndarray, features: jax.Array, truth: jax.Array, loss: Callable[..., Any]):
    wired = wiring([2] * N_LABELS, [scope])

    def risk(weights: Weights) -> jax.Array:
        odds = jnp.matmul(features, weights.label, precision="highest").T
        scores = Scores(jnp.stack([jnp.zeros_like(odds), odds]), (weights.pair[..., None],))
        heard = beliefs(wired, scores, pass_messages(wired, scores, n_rounds=N_ROUNDS).messages)
        on = jax.nn.sigmoid((heard[1] - heard[0]) / T_DECODE)  # the soft decoder, of two values
        return loss(on, truth).mean()

    return risk


def _plain_risk(scope, features, truth, loss, weights: Weights) -> float:
    odds = (features @ weights.label).T
    table = np.broadcast_to(weights.pair[..., None], (*weights.pair.shape, odds.shape[1]))
    off, on = exact_rounds(Problem(scope, np.stack([np.zeros_like(odds), odds]), table))
    return float(loss(on ** (1 / T_DECODE) / (on ** (1 / T_DECODE) + off ** (1 / T_DECODE)), truth).mean())


def _single(weights: Weights) -> Weights:
    return Weights(*(jnp.asarray(part, jnp.float32) for part in weights))


# The clock -------------------------------------------------------------------------------------------


def _seconds(function: Callable[..., Any], given: Any, n_repeats: int) -> dict[str, float]:
    """Of the first call, with its compilation, and of calls after it."""
    compiled = jax.jit(function)
    taken = []
    for _ in range(n_repeats + 1):
        start = time.perf_counter()
        jax.block_until_ready(compiled(given))
        taken.append(time.perf_counter() - start)
    return {"first": taken[0], "best": min(taken[1:]), "median": statistics.median(taken[1:])}


def _rate(id: str, taken: dict[str, float], work: int) -> dict[str, Any]:
    return {
        "id": id,
        "value": work / taken["median"],
        "best": work / taken["best"],
        "ms": 1e3 * taken["median"],
        "first_run_s": taken["first"],
    }


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description="Message passing on a GPU.")
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look; any device")
    parser.add_argument("--only", choices=["risk", "labels", "tokens"], help="this part alone")
    options = parser.parse_args()
    quick = options.quick
    device = jax.devices()[0]
    if device.platform == "cpu" and not quick:
        sys.exit("JAX sees no GPU here; --quick takes sizes that a CPU can do")
    seen = {"device": device.device_kind, "jax": jax.__version__}
    n_repeats = 2 if quick else 20
    sizes = {"labels": 24 if quick else 241_700, "tokens": 2 if quick else 24_170}
    parts = {"risk": partial(measure_risk, 40 if quick else N_ROWS, n_repeats)}
    for shape, n_copies in sizes.items():
        parts[shape] = partial(measure_messages, shape, n_copies, n_repeats)
    for part in [options.only] if options.only else parts:
        for figure in parts[part]():
            print(json.dumps(figure | seen), flush=True)


if __name__ == "__main__":
    main()
