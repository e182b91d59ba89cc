"""Training a tagger by walking: SampleRank and its rivals."""

from collections.abc import Iterator
from typing import Any

from walkstep.apps.tag_training import TagEpoch, TagTruth, Way
from walkstep.learning.steps import step_rule
from walkstep.learning.train import Trainer
from walkstep.worlds.labels import label_world
from walkstep.worlds.signals import Hamming, as_metric, span_f1, token_f1

_SIGNALS = ("hamming", "token-f1", "span-f1")


def _epochs(tagger: Any, data: TagTruth, n_epochs: int, l2: float) -> Iterator[TagEpoch]:
    """Walks through all documents."""
    if tagger.l1:
        raise ValueError(f"l1 is {tagger.l1}, but learner {tagger.learner!r} has no such penalty; use l2")
    corpus = data.corpus
    documents = corpus.sentence_ptr[corpus.document_ptr] if data.joins_sentences else corpus.sentence_ptr
    trainer = Trainer(
        label_world(data.graph, data.truth, document_ptr=documents, signal=_signal(tagger.signal, data)),
        learner=tagger.learner,
        rule=step_rule(tagger.step, rate=tagger.rate, l2=l2),
        rival=tagger.rival,
        temperature=tagger.temperature,
        average=tagger.average,
        n_threads=tagger.n_threads,
        rng=tagger.random_state,
    )
    for _ in range(n_epochs):
        epoch = trainer.epoch()
        text = f"{epoch.violations:.1%} of pairs corrected, {epoch.steps_per_second:,.0f} tokens/s"
        yield TagEpoch(epoch, text, lambda: trainer.weights)


def _signal(signal: Any, data: TagTruth) -> Any:
    """The metric to train on, from its name."""
    if callable(signal):
        return as_metric(signal)
    if signal == "hamming":
        return Hamming()
    if signal == "token-f1":
        return token_f1(data.classes.index("O") if "O" in data.classes else 0, scale=10.0)
    if signal == "span-f1":
        return span_f1(data.classes, data.truth, data.corpus.sentence_ptr, scale=10.0)
    raise ValueError(f"signal is {signal!r}; choose one of {', '.join(_SIGNALS)}, or pass a function")


WALK = Way(_epochs, n_epochs=10)
