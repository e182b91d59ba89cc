"""Maximum likelihood of a chain on CoNLL-2003 beside python-crfsuite: the same features, penalty and optimiser."""

from benchmarks.measure import Record, measure_in_subprocess, record
from walkstep.data.catalogue import DataNotFound, find
from walkstep.evaluation.spans import span_scores

L2 = 1.0  # ours is l2 / 2 times the sum of squared weights, crfsuite's c2 times it
N_ITERATIONS = 100


def run(quick: bool) -> list[Record]:
    """Tokens per CPU-second of an L-BFGS iteration, at an F1 no lower than the peer's."""
    try:
        find("conll2003")
    except DataNotFound as error:
        return [record("likelihood-tokens", None, "python-crfsuite", None, reason=str(error))]
    n_sentences = 500 if quick else None
    n_iterations = 10 if quick else N_ITERATIONS
    ours = measure_in_subprocess(
        "benchmarks.tagging", "likelihood", l2=L2, n_iterations=n_iterations, n_sentences=n_sentences
    )
    rows = measure_in_subprocess("benchmarks.tagging", "features", n_sentences=n_sentences)
    peer = measure_in_subprocess(
        "benchmarks.peers.crfsuite",
        "train_and_tag",
        train_rows=rows["train_rows"],
        train_tags=rows["train_tags"],
        train_ptr=rows["train_ptr"],
        test_rows=rows["test_rows"],
        test_ptr=rows["test_ptr"],
        c2=L2 / 2,
        max_iterations=n_iterations,
    )
    predicted = [rows["tags"][int(code)] for code in peer["tags"]]
    peer_f1 = span_scores(rows["test_truth"], predicted, rows["test_ptr"]).f1
    print(
        f"ours: {ours['n_iterations']} iterations, {ours['n_evaluations']} gradients, {ours['seconds']:.1f} s, "
        f"{ours['n_weights']:,} weights ({ours['n_distinct']:,} distinct), testa F1 {ours['f1']:.4f}"
    )
    print(
        f"crfsuite: {peer['n_iterations']} iterations, {peer['n_evaluations']} gradients, "
        f"{peer['train_seconds'] - peer['generation_seconds']:.1f} s, {peer['n_features']:,} weights, "
        f"testa F1 {peer_f1:.4f}"
    )
    return [
        record(
            "likelihood-tokens",
            ours["tokens_per_second"],
            "python-crfsuite",
            peer["train_tokens_per_second"],
            reason=None if ours["f1"] >= peer_f1 else f"F1 {ours['f1']:.4f} is below the peer's {peer_f1:.4f}",
        )
    ]
