"""Messages per CPU-second of loopy belief propagation, forward and with gradients, beside PGMax, pgmpy and libDAI."""

from typing import Any

from benchmarks.measure import ChildError, Record, cpu_timer, measure_in_subprocess, record, repeat
from benchmarks.messages import N_ROUNDS, check_marginals, problem

# Of each bar: the graphs, whether in the general form where log odds would do, whether with gradients, the peer.
BARS = {
    "bp-general": ("labels", True, False, "PGMax"),
    "bp-general-pgmpy": ("labels", True, False, "pgmpy"),
    "bp-general-libdai": ("labels", True, False, "libDAI"),
    "bp-binary": ("labels", False, False, "PGMax"),
    "bp-grad": ("labels", True, True, "PGMax"),
    "bp-grad-binary": ("labels", False, True, "PGMax"),
    "bp-nine": ("tokens", True, False, "PGMax"),
    "bp-nine-grad": ("tokens", True, True, "PGMax"),
}
N_COPIES = {"labels": 2417, "tokens": 100}


def run(quick: bool) -> list[Record]:
    """Ours and the peer's one after the other, each in a process of its own, single-threaded."""
    bars = []
    known: dict[tuple[Any, ...], Any] = {}
    for id, (shape, is_general, with_gradient, peer) in BARS.items():
        work = {"shape": shape, "n_copies": N_COPIES[shape] // (20 if quick else 1), "with_gradient": with_gradient}
        ours = measure_in_subprocess("benchmarks.bench_messages", "messages_per_second", is_general=is_general, **work)
        say = f"compiled in {ours['first_run_seconds']:.1f} s"
        key = (peer, shape, with_gradient)
        if key not in known:
            try:
                module = f"benchmarks.peers.{peer.lower()}_messages"
                known[key] = measure_in_subprocess(module, "messages_per_second", **work)
            except ChildError as error:
                known[key] = error
        theirs = known[key]
        if isinstance(theirs, ChildError):
            bars.append(record(id, ours["messages_per_second"], peer, None, reason=str(theirs)))
            continue
        say += f", theirs in {theirs['first_run_seconds']:.1f} s{theirs.get('remark', '')}"
        bars.append(record(id, ours["messages_per_second"], peer, theirs["messages_per_second"], reason=say))
    return bars


def messages_per_second(
    shape: str, n_copies: int, is_general: bool, with_gradient: bool, n_repeats: int = 7
) -> dict[str, float]:
    """Messages per CPU-second in rounds from scores to marginals, or to the gradient of their error by the scores."""
    import jax
    import jax.numpy as jnp

    from walkstep.messages.message_passing import Scores, beliefs, pass_messages, wiring

    given = problem(shape, n_copies)
    wired = wiring([given.own.shape[0]] * given.own.shape[1], [given.scope])
    scores = Scores(jnp.asarray(given.own), (jnp.asarray(given.table),))

    def marginals(scores):
        passed = pass_messages(wired, scores, n_rounds=N_ROUNDS, is_general=is_general)
        return jax.nn.softmax(beliefs(wired, scores, passed.messages), axis=0)

    def expected_error(scores):
        """As if value 0 were the truth everywhere."""
        return (1.0 - marginals(scores)[0]).sum()

    answer = jax.jit(jax.value_and_grad(expected_error) if with_gradient else marginals)
    with cpu_timer() as compilation:
        jax.block_until_ready(answer(scores))
    timings = repeat(lambda: jax.block_until_ready(answer(scores)), n_repeats)
    check_marginals(jax.device_get(jax.jit(marginals)(scores)), given)
    work = given.n_messages * N_ROUNDS
    return {
        "messages_per_second": work / timings.best,
        "messages_per_second_median": work / timings.median,
        "first_run_seconds": compilation.seconds,
    }
