"""Table 1 of the minimum-risk paper (Stoyanov and Eisner, 2012): fields of seminar announcements.

Token-wise F-measure over five folds of announcements, those of one talk in one fold, pooled over all documents: a token
is right where its field is. Skip-chain models are trained in four ways and tested with both kinds of inference; a chain
is the baseline without cycles. All rows see the same features. Likelihood is maximised by L-BFGS, and the other
trainings begin with its weights (section 5.1): softmax-margin by L-BFGS, risk for twelve passes of Adam.

Rates, penalties and the soft decoder's temperature were chosen by the first two folds, and so was which
matched pair of training and inference is the bar; a row gives the other three folds by themselves.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.apps.sequence_tagger import SequenceTagger
from walkstep.apps.tag_decoding import TagDecoder
from walkstep.apps.tag_messages import TagBeliefs, tag_batch, tag_loss
from walkstep.data.catalogue import find
from walkstep.data.readers.seminars import FIELD_TAGS, read_seminars
from walkstep.data.reposts import grouped_folds, talk_groups
from walkstep.data.sequences import Sequences
from walkstep.evaluation.significance import bootstrap_interval, f1_of_counts, permutation_test
from walkstep.features.default_features import column_features
from walkstep.learning.message_learning import MessageLearner
from walkstep.messages.objectives import Inference, Kind
from walkstep.model.domains import Domain
from walkstep.model.grounding import Grounding
from walkstep.model.templates import skip_chain

NAME = "erma-table1-seminars"
N_FOLDS = 5
N_CHOSEN_ON = 2  # folds that settings were chosen on
INFERENCES: tuple[Kind, ...] = ("max-product", "sum-product")

_N_ROUNDS = 6
_MIN_COUNT = 2
_LIKELIHOOD = MessageLearner("likelihood", n_rounds=_N_ROUNDS, optimiser="lbfgs", l2=5e-6, n_epochs=100)
_RISK = MessageLearner(
    "risk",
    n_rounds=_N_ROUNDS,
    decode_temperature=1.0,
    optimiser="adam",
    rate=0.008,
    l2=3e-6,
    n_epochs=12,
    n_first_epochs=0,
    batch_size=16,
    average=True,
)
_TRAININGS: dict[str, MessageLearner | None] = {
    "MLE": None,  # with which the others begin
    "Softmax-margin": replace(_LIKELIHOOD, learner="softmax-margin", n_epochs=40),
    "Min-risk (max-product)": replace(_RISK, inference="max-product"),
    "Min-risk (sum-product)": replace(_RISK, inference="sum-product"),
}
_MATCHED = ("Min-risk (sum-product)", "sum-product")
_CHAIN = {"Chain, MLE": 0.862, "Chain, min-risk": 0.871}
_PAPER = {
    "MLE": (0.890, 0.895),
    "Softmax-margin": (0.901, 0.902),
    "Min-risk (max-product)": (0.909, 0.907),
    "Min-risk (sum-product)": (0.903, 0.909),
}

Say = Callable[[str], None]


def run(seed: int, quick: bool = False, progress: Say | None = None) -> dict[str, Any]:
    """Train in all ways on each part of the announcements, and score them on the rest.

    Parameters
    ----------
    seed : int
    quick : bool
        One fold of few announcements, few passes: figures for no table.
    progress : callable, optional
        Called with a line of text now and then.
    """
    began = time.perf_counter()
    say = progress or (lambda text: None)
    folder = find("cmu_seminars")
    seminars = read_seminars(folder / "seminars.train.jsonl")
    corpus = _by_field(seminars.sequences)
    fold = np.asarray(grouped_folds(talk_groups(seminars.texts, seminars.speakers), N_FOLDS, seed=0))
    folds = list(range(N_FOLDS))
    if quick:
        fold, folds = np.where(np.arange(len(fold)) < 90, fold, -1), [0]
    say(f"read {corpus.n_tokens:,} tokens of {corpus.n_documents} announcements")
    results: dict[str, _Result] = {}
    for f in folds:
        # Without the last documents in a quick run.
        train, test = (_documents(corpus, np.flatnonzero(chosen)) for chosen in ((fold != f) & (fold >= 0), fold == f))
        heard = _prefixed(say, f"fold {f + 1}: ")
        for name, counts in _trained_and_tested(train, test, seed, quick, heard):
            results.setdefault(name, _Result([])).parts.append(counts)
    rows = _rows(results)
    if not quick:
        late = f1_of_counts(_token_counts(np.concatenate(results[_name(*_MATCHED)].parts[N_CHOSEN_ON:])).sum(axis=0))
        mle = f1_of_counts(_token_counts(np.concatenate(results[_name("MLE", _MATCHED[1])].parts[N_CHOSEN_ON:])).sum(0))
        note = f"the folds that settings were not chosen by; MLE there {mle:.4f}"
        rows.append(_row(f"{_name(*_MATCHED)}, folds 3 to 5", None, late, note))
    if (folder / "seminars.test.jsonl").is_file() and not quick:
        unseen = _by_field(read_seminars(folder / "seminars.test.jsonl").sequences)
        tested = _trained_and_tested(corpus, unseen, seed, quick, _prefixed(say, "test set: "))
        rows += [{**row, "row": f"{row['row']}, test set"} for row in _rows({n: _Result([c]) for n, c in tested})]
    bars = [{"id": "seminars", "ours": results[_name(*_MATCHED)].f1}]
    return {"name": NAME, "seed": seed, "seconds": time.perf_counter() - began, "rows": rows, "bars": bars}


class _Result(NamedTuple):
    """How a model did: of each fold, of each document, of each field (correct, predicted, true) tokens."""

    parts: list[NDArray[np.int64]]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Of each document, over all fields."""
        return _token_counts(np.concatenate(self.parts))

    @property
    def f1(self) -> float:
        """Over all tokens."""
        return f1_of_counts(self.counts.sum(axis=0))

    @property
    def macro(self) -> float:
        """The mean of the four fields'."""
        return float(np.mean([f1_of_counts(field) for field in np.concatenate(self.parts).sum(axis=0)]))


def _token_counts(of_fields: NDArray[np.int64]) -> NDArray[np.int64]:
    return of_fields.sum(axis=1)


def _trained_and_tested(train: Sequences, test: Sequences, seed: int, quick: bool, say: Say):
    """Each model's name, and what it found."""
    features = ["default", *column_features(train.columns)]
    say(f"{train.n_documents} announcements to train on, {test.n_documents} to test")
    yield from _chains(train, test, features, seed, quick, say)
    grounding = Grounding(skip_chain(features), min_count=_MIN_COUNT)
    domain = Domain("tag", ("O", *FIELD_TAGS))
    grounding.fit_ground(train, domain)
    decoder = TagDecoder(grounding, list(domain.values), None)
    batch = tag_batch(decoder, train, domain.encode(train.tags or []))
    beliefs = {kind: TagBeliefs(decoder, test, Inference(kind, _N_ROUNDS, is_wide=True)) for kind in INFERENCES}
    start = _made_quick(_LIKELIHOOD, quick).learn(batch).weights
    say("skip-chain by likelihood")
    for name, settings in _TRAININGS.items():
        weights = start
        if settings is not None:
            learner = replace(settings, loss=tag_loss("f1", decoder.classes, "raw"), random_state=seed)
            weights = _made_quick(learner, quick).learn(batch, start=start).weights
        for kind in INFERENCES:
            found = _field_counts(test, [decoder.classes[k] for k in beliefs[kind].best(weights).tolist()])
            say(f"{_name(name, kind)}: F {f1_of_counts(_token_counts(found).sum(axis=0)):.4f}")
            yield _name(name, kind), found


def _chains(train: Sequences, test: Sequences, features: list[str], seed: int, quick: bool, say: Say):
    """The baseline without cycles: by exact likelihood, and from there by risk."""
    n_epochs = 5 if quick else None
    tagger = SequenceTagger(features=features, learner="likelihood", min_count=_MIN_COUNT, n_epochs=n_epochs).fit(train)
    decoder = TagDecoder(tagger.grounding_, tagger.classes_, None)
    batch = tag_batch(decoder, train, Domain("tag", tuple(tagger.classes_)).encode(train.tags or []))
    learner = replace(_RISK, loss=tag_loss("f1", tagger.classes_, "raw"), random_state=seed)
    risky = _made_quick(learner, quick).learn(batch, start=tagger.weights_).weights
    beliefs = TagBeliefs(decoder, test, learner.test_inference())
    for name, weights in zip(_CHAIN, (tagger.weights_, risky), strict=True):
        found = _field_counts(test, [tagger.classes_[k] for k in beliefs.best(weights).tolist()])
        say(f"{name}: F {f1_of_counts(_token_counts(found).sum(axis=0)):.4f}")
        yield name, found


def _prefixed(say: Say, prefix: str) -> Say:
    return lambda text: say(prefix + text)


def _made_quick(learner: MessageLearner, quick: bool) -> MessageLearner:
    return replace(learner, n_epochs=3) if quick else learner


def _name(training: str, inference: str) -> str:
    return f"{training}, tested by {inference}"


def _rows(results: dict[str, _Result]) -> list[dict[str, Any]]:
    """All results beside the paper's, each compared with what it is to be better than."""
    rows = []
    for name, result in results.items():
        training, _, inference = name.partition(", tested by ")
        interval = bootstrap_interval(result.counts)
        note = f"95% {interval.low:.3f} to {interval.high:.3f}; mean of fields {result.macro:.4f}"
        rival = "Chain, MLE" if name in _CHAIN else _name("MLE", inference)
        if name != rival:
            compared = permutation_test(result.counts, results[rival].counts)
            note += f"; {compared.difference:+.4f} to MLE, p = {compared.p_value:.4f}"
        paper = _CHAIN[name] if name in _CHAIN else _PAPER[training][INFERENCES.index(inference)]  # pyright: ignore[reportArgumentType]
        rows.append(_row(name, paper, result.f1, note))
    return rows


def _row(name: str, paper: float | None, ours: float, note: str) -> dict[str, Any]:
    return {"row": name, "metric": "token F1", "paper": paper, "ours": ours, "note": note}


def _by_field(corpus: Sequences) -> Sequences:
    """Tags without the place in a span, for F-measure counts tokens of a field."""
    tags: list[str | None] = [None if tag is None else tag.rpartition("-")[2] for tag in corpus.tags or []]
    return Sequences(corpus.tokens, corpus.sentence_ptr, corpus.document_ptr, corpus.columns, tags)


def _documents(corpus: Sequences, chosen: NDArray[np.integer]) -> Sequences:
    """Some documents of a corpus."""
    n_sentences = np.diff(corpus.document_ptr)
    is_chosen = np.isin(np.arange(corpus.n_documents), chosen)
    of_sentences = np.repeat(is_chosen, n_sentences)
    lengths = np.diff(corpus.sentence_ptr)
    tokens = np.flatnonzero(np.repeat(of_sentences, lengths)).tolist()
    tags = corpus.tags or []
    return Sequences(
        [corpus.tokens[t] for t in tokens],
        np.concatenate([[0], np.cumsum(lengths[of_sentences])]),
        np.concatenate([[0], np.cumsum(n_sentences[is_chosen])]),
        {name: [column[t] for t in tokens] for name, column in corpus.columns.items()},
        [tags[t] for t in tokens],
    )


def _field_counts(corpus: Sequences, found: list[str]) -> NDArray[np.int64]:
    """(correct, predicted, true) tokens of each field of each document: (n_documents, n_fields, 3)."""
    lengths = np.diff(corpus.sentence_ptr[corpus.document_ptr])
    document = np.repeat(np.arange(corpus.n_documents), lengths)
    counts = np.zeros((corpus.n_documents, len(FIELD_TAGS), 3), np.int64)
    predicted, true = np.array(found), np.array(corpus.tags)
    for k, field in enumerate(FIELD_TAGS):
        is_found, is_true = predicted == field, true == field
        for c, which in enumerate((is_found & is_true, is_found, is_true)):
            counts[:, k, c] = np.bincount(document[which], minlength=corpus.n_documents)
    return counts
