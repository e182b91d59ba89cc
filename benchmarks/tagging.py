"""Our side of the tagging benchmarks; each function runs in a process of its own."""

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measure import cpu_timer, repeat
from walkstep import SequenceTagger
from walkstep.data.catalogue import find
from walkstep.data.readers import read_conll
from walkstep.data.sequences import Sequences
from walkstep.data.tagging_schemes import allowed_transitions, to_bio
from walkstep.features.default_features import DEFAULT_FEATURES
from walkstep.features.tokens import TokenFeatures
from walkstep.inference import Constraints, forest, viterbi
from walkstep.learning import Trainer, step_rule
from walkstep.learning.maximum_likelihood import maximum_likelihood
from walkstep.worlds import label_world


def corpora(n_sentences: int | None = None) -> tuple[Sequences, Sequences]:
    """CoNLL-2003's training and development data, or the beginning of each."""
    folder = find("conll2003")
    train, test = read_conll(folder / "eng.train"), read_conll(folder / "eng.testa")
    return (train, test) if n_sentences is None else (train.head(n_sentences), test.head(n_sentences))


def features(n_sentences: int | None = None) -> dict:
    """The rows that both sides train on, and how fast they are extracted."""
    train, test = corpora(n_sentences)
    extractor = TokenFeatures(DEFAULT_FEATURES)
    extractor.fit_transform(train.head(50))  # compile
    fitting = repeat(lambda: extractor.fit_transform(_again(train)), 5)
    transforming = repeat(lambda: extractor.transform(_again(test)), 5)
    train_rows, test_rows = extractor.fit_transform(train), extractor.transform(test)
    tags = sorted({tag for tag in to_bio(train.tags or [], train.sentence_ptr) if tag})
    code = {tag: k for k, tag in enumerate(tags)}
    return {
        "train_rows": [train_rows.ptr, train_rows.index],
        "test_rows": [test_rows.ptr, test_rows.index],
        "train_ptr": train.sentence_ptr,
        "test_ptr": test.sentence_ptr,
        "train_tags": np.array([code[tag] for tag in to_bio(train.tags or [], train.sentence_ptr) if tag]),
        "tags": tags,
        "test_truth": [str(tag) for tag in test.tags or []],
        "features_per_token": len(train_rows.index) / train.n_tokens,
        "fit_tokens_per_second": train.n_tokens / fitting.best,
        "transform_tokens_per_second": test.n_tokens / transforming.best,
        "fit_seconds": fitting.best,
    }


def _again(corpus: Sequences) -> Sequences:
    """The same text in strings of its own, so that nothing is remembered about them."""
    return Sequences(
        [token[:1] + token[1:] if len(token) > 1 else token for token in corpus.tokens],
        corpus.sentence_ptr,
        corpus.document_ptr,
        corpus.columns,
    )


def fit_to_file(n_sentences: int | None = None) -> dict:
    """Training end to end: from the file of text to the file of the model, in CPU-seconds."""
    whole, test = corpora(n_sentences)
    with tempfile.TemporaryDirectory(prefix="walkstep-bench-") as folder:
        SequenceTagger(n_epochs=1, random_state=0).fit(whole.head(50)).save(Path(folder) / "warm")  # compile
        with cpu_timer() as timer:
            train, _ = corpora(n_sentences)
            tagger = SequenceTagger(random_state=0).fit(train)
            tagger.save(Path(folder) / "model")
    return {"seconds": timer.seconds, "f1": tagger.evaluate(test).f1}


def walk_and_decode(n_sentences: int | None = None, n_epochs: int = 10) -> dict:
    """Tokens per CPU-second of the learning walk (mean over the epochs), and of exact decoding."""
    train, test = corpora(n_sentences)
    tagger = SequenceTagger(n_epochs=1, random_state=0).fit(train)  # compiles, and grounds
    graph, _ = tagger.grounding_.ground(train)
    truth = tagger.grounding_.domains[0].encode(to_bio(train.tags or [], train.sentence_ptr))
    world = label_world(graph, truth, document_ptr=train.sentence_ptr)
    trainer = Trainer(
        world,
        rule=step_rule(tagger.step, rate=tagger.rate),
        temperature=tagger.temperature,
        rival=tagger.rival,
        rng=0,
    )
    seconds = []
    for _ in range(n_epochs):
        with cpu_timer() as timer:
            trainer.epoch()
        seconds.append(timer.seconds)
    test_graph, _ = tagger.grounding_.ground(test)
    constraints = Constraints(*allowed_transitions(tagger.classes_, "bio"))
    weights = trainer.weights

    def decode():
        return viterbi(forest(test_graph, sentence_ptr=test.sentence_ptr), weights, constraints=constraints)

    decode()  # compile
    decoding = repeat(decode, 5)
    return {
        "walk_tokens_per_second": train.n_tokens * n_epochs / sum(seconds),
        "walk_best_epoch": train.n_tokens / min(seconds),
        "decode_tokens_per_second": test.n_tokens / decoding.best,
    }


def likelihood(l2: float, n_iterations: int, n_sentences: int | None = None) -> dict:
    """Tokens per CPU-second of an L-BFGS iteration, what comes before the first one counted, and the F1 it gives."""
    train, test = corpora(n_sentences)
    tagger = SequenceTagger(learner="likelihood", n_epochs=1).fit(train)  # compiles, and grounds
    graph, _ = tagger.grounding_.ground(train)
    truth = tagger.grounding_.domains[0].encode(to_bio(train.tags or [], train.sentence_ptr))
    with cpu_timer() as timer:
        for estimate in maximum_likelihood(graph, truth, l2=l2, max_iter=n_iterations, sentence_ptr=train.sentence_ptr):
            reached = estimate
        tagger.weights_ = reached.weights
    iteration = reached.iteration
    return {
        "tokens_per_second": train.n_tokens * iteration.number / timer.seconds,
        "seconds": timer.seconds,
        "n_iterations": iteration.number,
        "n_evaluations": iteration.n_evaluations,
        "n_weights": graph.n_weights,
        "n_distinct": len(reached.point) - 1,  # the last one stands for weights that nothing reads
        "f1": tagger.evaluate(test).f1,
    }
