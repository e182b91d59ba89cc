"""Tagging CoNLL-2003 beside python-crfsuite: extraction, training walk, decoding, file to model."""

from benchmarks.measure import Record, measure_in_subprocess, record
from walkstep.data.catalogue import DataNotFound, find
from walkstep.evaluation.spans import span_scores


def run(quick: bool) -> list[Record]:
    """Rates in tokens per CPU-second, and CPU-seconds from file to model, on the same features."""
    ids = ("extract-tokens", "walk-tokens", "decode-tokens", "fit-vs-crfsuite")
    try:
        find("conll2003")
    except DataNotFound as error:
        return [record(id, None, "python-crfsuite", None, reason=str(error)) for id in ids]
    n_sentences = 500 if quick else None
    ours = measure_in_subprocess("benchmarks.tagging", "features", n_sentences=n_sentences)
    walk = measure_in_subprocess("benchmarks.tagging", "walk_and_decode", n_sentences=n_sentences)
    fit = measure_in_subprocess("benchmarks.tagging", "fit_to_file", n_sentences=n_sentences)
    peer = measure_in_subprocess(
        "benchmarks.peers.crfsuite",
        "train_and_tag",
        train_rows=ours["train_rows"],
        train_tags=ours["train_tags"],
        train_ptr=ours["train_ptr"],
        test_rows=ours["test_rows"],
        test_ptr=ours["test_ptr"],
    )
    plain = measure_in_subprocess("benchmarks.bench_tagging", "python_extraction", n_sentences=n_sentences or 3000)
    predicted = [ours["tags"][int(code)] for code in peer["tags"]]
    peer_f1 = span_scores(ours["test_truth"], predicted, ours["test_ptr"]).f1
    # The peer is given our reading and extraction; only what it does itself is counted beyond them.
    peer_seconds = ours["fit_seconds"] + peer["append_seconds"] + peer["train_seconds"]
    print(
        f"{ours['features_per_token']:.1f} features a token; testa F1 {fit['f1']:.4f} ours, {peer_f1:.4f} crfsuite "
        f"({peer['n_iterations']} iterations)"
    )
    extract = min(ours["fit_tokens_per_second"], ours["transform_tokens_per_second"])
    is_as_good = fit["f1"] >= peer_f1
    return [
        record("extract-tokens", extract, "pure Python", plain["tokens_per_second"]),
        record("walk-tokens", walk["walk_tokens_per_second"], "python-crfsuite", peer["train_tokens_per_second"]),
        record("decode-tokens", walk["decode_tokens_per_second"], "python-crfsuite", peer["decode_tokens_per_second"]),
        record(
            "fit-vs-crfsuite",
            fit["seconds"],
            "python-crfsuite",
            peer_seconds,
            lower_is_better=True,
            reason=None if is_as_good else f"F1 {fit['f1']:.4f} is below the peer's {peer_f1:.4f}",
        ),
    ]


def python_extraction(n_sentences: int) -> dict:
    """The pure-Python peer on the beginning of the same text."""
    from benchmarks.peers.python_features import tokens_per_second
    from benchmarks.tagging import corpora

    train, _ = corpora(n_sentences)
    return tokens_per_second(train.split(train.tokens), train.split(train.columns["pos"]))
