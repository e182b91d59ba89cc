"""Every peer alone, on made-up input: a check that they run and sample what they should."""

from typing import Any

import numpy as np

from benchmarks.measure import ChildError, Record, measure_in_subprocess, record

ON_REQUEST = True


def run(quick: bool) -> list[Record]:
    """Rates of all peers; ``ours`` stays empty."""
    side = 200 if quick else 1000
    n_sentences = 300 if quick else 2000
    bars = []
    for peer in ("bare_numba", "thrml", "numbskull"):
        bars += _rates(f"{peer}_ising", "updates_per_second", {"ising-updates": "updates_per_second"}, side=side)
    sentences, pos, tags = _sentences(n_sentences)
    bars += _rates(
        "python_features",
        "tokens_per_second",
        {"extract-tokens": "tokens_per_second"},
        sentences=sentences,
        pos=pos,
    )
    rows, ptr = _rows(sentences)
    bars += _rates(
        "crfsuite",
        "train_and_tag",
        {
            "walk-tokens": "train_tokens_per_second",
            "decode-tokens": "decode_tokens_per_second",
            "decode-tokens from strings": "tag_tokens_per_second",
            "append-seconds": "append_seconds",
            "train-seconds": "train_seconds",
        },
        train_rows=rows,
        train_tags=tags,
        train_ptr=ptr,
        test_rows=rows,
        test_ptr=ptr,
        max_iterations=30,
    )
    return bars


def _rates(module: str, function: str, figures: dict[str, str], **kwargs: Any) -> list[Record]:
    try:
        result = measure_in_subprocess(f"benchmarks.peers.{module}", function, **kwargs)
    except ChildError as error:
        return [record(id, None, module, None, reason=str(error)) for id in figures]
    if "tags" in result:
        accuracy = float((result["tags"] == kwargs["train_tags"]).mean())
        if accuracy < 0.85:
            reason = f"accuracy {accuracy:.2f} on its own training data: features and tags do not fit together"
            return [record(id, None, module, None, reason=reason) for id in figures]
        result["accuracy"] = accuracy
    print(f"  {module}: " + ", ".join(f"{k} {v:.5g}" for k, v in result.items() if np.isscalar(v)))
    return [record(id, None, module, result[key]) for id, key in figures.items()]


def _sentences(n_sentences: int) -> tuple[list[list[str]], list[list[str]], np.ndarray]:
    """Words by Zipf's law; a tag is its word's own nine times in ten, else that of the token before."""
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(rng.choice(letters, rng.integers(2, 10))) for _ in range(5000)]
    words = [word.title() if rng.random() < 0.2 else word for word in words]
    sentences, pos, tags = [], [], []
    for length in rng.integers(3, 30, n_sentences):
        ids = np.minimum(rng.zipf(1.3, length) - 1, len(words) - 1)
        sentences.append([words[k] for k in ids])
        pos.append([f"P{k % 20}" for k in ids])
        before = 0
        for k in ids:
            before = int(k) % 5 if rng.random() < 0.9 else before
            tags.append(before)
    return sentences, pos, np.array(tags)


def _rows(sentences: list[list[str]]) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """About 45 binary features a token: its own number and others hashed from its neighbourhood."""
    sentence_ptr = np.cumsum([0, *map(len, sentences)])
    vocabulary: dict[str, int] = {}
    ids = np.array([vocabulary.setdefault(word, len(vocabulary)) for words in sentences for word in words])
    window = np.stack([np.roll(ids, offset) for offset in (0, 1, -1, 2, -2)], axis=1)
    buckets = np.array([10_007, 5_003, 997, 499, 251, 101, 53, 29, 13])
    features = window[:, :, None] * 7919 % buckets + np.cumsum([0, *buckets[:-1]])
    features = features + np.arange(5)[None, :, None] * buckets.sum()
    index = features.reshape(len(ids), -1)
    row_ptr = np.arange(len(ids) + 1) * index.shape[1]
    return (row_ptr, index.ravel()), sentence_ptr
