"""python-crfsuite (L-BFGS) on the features of ours: training, decoding, and what it predicts."""

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pycrfsuite

from benchmarks.measure import cpu_timer, repeat


def train_and_tag(
    train_rows: Sequence,
    train_tags: np.ndarray,
    train_ptr: np.ndarray,
    test_rows: Sequence,
    test_ptr: np.ndarray,
    **params,
) -> dict:
    """Train on binary features, tag the test part, and time each stage in CPU-seconds.

    Parameters
    ----------
    train_rows, test_rows : (ptr, index) or binary SparseRows
        Features of token t are ``index[ptr[t]:ptr[t + 1]]``; feature 123 becomes the name "f123".
    train_tags : (n_tokens,) array of int
        Tags of the training tokens.
    train_ptr, test_ptr : (n_sentences + 1,) array of int
        Sentence s is tokens ``ptr[s]`` to ``ptr[s + 1]``.
    **params
        Settings of crfsuite, over these: c1=0, c2=1, max_iterations=100, feature.possible_transitions.
        Give names with a dot as a mapping: ``**{"feature.minfreq": 2}``.

    Returns
    -------
    dict
        ``append_seconds`` (strings to crfsuite's own form), ``train_seconds`` (all of training, of which
        ``generation_seconds`` went by before the first iteration began), ``n_iterations``,
        ``n_evaluations`` (gradients: a line search may take several an iteration),
        ``train_tokens_per_second`` (tokens × iterations over the time of the iterations alone),
        ``decode_tokens_per_second`` (Viterbi on items already in crfsuite's form),
        ``tag_tokens_per_second`` (from lists of strings), ``n_features``, ``tags`` (test tokens, int).
    """
    settings = {"c1": 0.0, "c2": 1.0, "max_iterations": 100, "feature.possible_transitions": True} | params
    train_items = _sentences(train_rows, train_ptr)
    train_names = [[str(tag) for tag in train_tags[a:b]] for a, b in _spans(train_ptr)]
    test_items = _sentences(test_rows, test_ptr)
    n_train, n_test = int(train_ptr[-1] - train_ptr[0]), int(test_ptr[-1] - test_ptr[0])

    trainer = _Stopwatch(algorithm="lbfgs", params=settings, verbose=False)
    with cpu_timer() as appending:
        for items, names in zip(train_items, train_names, strict=True):
            trainer.append(items, names)
    with tempfile.TemporaryDirectory(prefix="walkstep-bench-") as folder:
        model = str(Path(folder) / "model.crfsuite")
        with cpu_timer() as training:
            start = time.process_time()
            trainer.train(model)
        generation_seconds = trainer.entered["AFTER_FEATGEN"] - start
        iterating_seconds = trainer.entered["STORING"] - trainer.entered["AFTER_FEATGEN"]
        iterations = trainer.logparser.iterations
        tagger = pycrfsuite.Tagger()
        tagger.open(model)
        tags = [tagger.tag(items) for items in test_items]
        ready = [pycrfsuite.ItemSequence(items) for items in test_items]
        tagging = repeat(lambda: [tagger.tag(items) for items in test_items], 3)
        decoding = repeat(lambda: [tagger.tag(items) for items in ready], 3)
        tagger.close()
    return {
        "append_seconds": appending.seconds,
        "train_seconds": training.seconds,
        "n_iterations": len(iterations),
        "n_evaluations": sum(step["linesearch_trials"] for step in iterations),
        "generation_seconds": generation_seconds,
        "n_features": trainer.logparser.featgen_num_features,
        "train_tokens_per_second": n_train * len(iterations) / iterating_seconds,
        "decode_tokens_per_second": n_test / decoding.best,
        "tag_tokens_per_second": n_test / tagging.best,
        "tags": np.array([int(tag) for sentence in tags for tag in sentence], np.int64),
    }


class _Stopwatch(pycrfsuite.Trainer):
    """A trainer that notes the CPU time at which each stage of its log begins.

    The ``on_*`` hooks are called only when verbose, so the log parser's state is watched instead.
    """

    def message(self, message):
        """Take one line of crfsuite's log."""
        super().message(message)
        self.__dict__.setdefault("entered", {}).setdefault(self.logparser.state, time.process_time())


def _spans(ptr):
    return zip(ptr[:-1].tolist(), ptr[1:].tolist(), strict=True)


def _sentences(rows, sentence_ptr):
    """Lists of lists of feature names; each name is one string object, shared by all its tokens."""
    row_ptr, index, *values = rows
    if values and len(values[0]):
        raise ValueError(f"rows hold {len(values[0])} real numbers; this peer is given binary features only")
    names = [f"f{k}" for k in range(int(index.max(initial=-1)) + 1)]
    named = [names[k] for k in index.tolist()]
    tokens = [named[a:b] for a, b in _spans(row_ptr)]
    return [tokens[a:b] for a, b in _spans(sentence_ptr)]
