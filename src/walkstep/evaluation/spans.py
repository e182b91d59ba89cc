"""How well tagged spans agree with the truth: precision, recall and F1, as conlleval counts them."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.data.tagging_schemes import SpanBounds, span_bounds

Tags = Sequence[str | None]


class Span(NamedTuple):
    """Tokens ``start:stop`` of a corpus, of one sentence, and what they are."""

    start: int
    stop: int
    type: str


class Agreement(NamedTuple):
    """Counts of spans, and the rates that follow from them; a rate with nothing to count is 0."""

    n_correct: int
    n_predicted: int
    n_true: int

    @property
    def precision(self) -> float:
        """Share of the predicted spans that are true."""
        return _ratio(self.n_correct, self.n_predicted)

    @property
    def recall(self) -> float:
        """Share of the true spans that were predicted."""
        return _ratio(self.n_correct, self.n_true)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall: 2 correct / (predicted + true)."""
        return _ratio(2 * self.n_correct, self.n_predicted + self.n_true)

    def to_dict(self) -> dict[str, float | int]:
        """Rates and counts, for JSON."""
        return {"precision": self.precision, "recall": self.recall, "f1": self.f1, **self._asdict()}


@dataclass(frozen=True)
class SpanScores:
    """Agreement of predicted spans with true ones, overall and by type.

    Parameters
    ----------
    by_type : dict of str to Agreement
        Counts and rates of each type of span, in order of name.
    n_tokens : int
        How many tokens were compared: those whose true tag is known.
    n_correct_tokens : int
        How many of them have exactly the true tag.
    """

    by_type: dict[str, Agreement]
    n_tokens: int
    n_correct_tokens: int

    @property
    def overall(self) -> Agreement:
        """Counts of all types together (the micro average)."""
        counts = np.array([tuple(one) for one in self.by_type.values()], dtype=np.int64).reshape(-1, 3)
        return Agreement(*counts.sum(axis=0).tolist())

    @property
    def precision(self) -> float:
        """Share of all predicted spans that are true."""
        return self.overall.precision

    @property
    def recall(self) -> float:
        """Share of all true spans that were predicted."""
        return self.overall.recall

    @property
    def f1(self) -> float:
        """F1 of all spans together."""
        return self.overall.f1

    @property
    def accuracy(self) -> float:
        """Share of the tokens that have exactly the true tag."""
        return _ratio(self.n_correct_tokens, self.n_tokens)

    def to_dict(self) -> dict:
        """All figures as plain numbers, for JSON."""
        return {
            **self.overall.to_dict(),
            "accuracy": self.accuracy,
            "n_tokens": self.n_tokens,
            "by_type": {name: one.to_dict() for name, one in self.by_type.items()},
        }

    def table(self) -> str:
        """All figures as plain text, a line for each type and one for all.

        Examples
        --------
        >>> print(span_scores(["B-PER", "O", "B-LOC"], ["B-PER", "O", "B-ORG"], [0, 3]).table())
        type  precision  recall      F1     true  predicted  correct
        LOC      0.0000  0.0000  0.0000        1          0        0
        ORG      0.0000  0.0000  0.0000        0          1        0
        PER      1.0000  1.0000  1.0000        1          1        1
        all      0.5000  0.5000  0.5000        2          2        1
        token accuracy 0.6667 (2 of 3)
        """
        width = max([4, *map(len, self.by_type)])
        lines = [f"{'type':<{width}}  precision  recall      F1     true  predicted  correct"]
        for name, one in [*self.by_type.items(), ("all", self.overall)]:
            lines.append(
                f"{name:<{width}}  {one.precision:>9.4f}  {one.recall:.4f}  {one.f1:.4f}"
                f"  {one.n_true:>7}  {one.n_predicted:>9}  {one.n_correct:>7}"
            )
        lines.append(f"token accuracy {self.accuracy:.4f} ({self.n_correct_tokens} of {self.n_tokens})")
        return "\n".join(lines)


def spans(tags: Tags, sentence_ptr: ArrayLike) -> list[Span]:
    """The spans of a tagging in any scheme (IOB1, BIO, BILOU), as the conlleval script would find them.

    A span that its scheme does not allow is still a span: I after O begins one. Tags without a prefix
    (parts of speech) are spans of one token; unknown tags (``None``) are outside.

    Parameters
    ----------
    tags : sequence of str or None, one a token
        The tags of all sentences.
    sentence_ptr : int array (n_sentences + 1,)
        Sentence ``s`` holds tokens ``sentence_ptr[s]:sentence_ptr[s + 1]``.

    Examples
    --------
    >>> spans(["B-PER", "I-PER", "O", "I-LOC"], [0, 4])
    [Span(start=0, stop=2, type='PER'), Span(start=3, stop=4, type='LOC')]
    """
    bounds = span_bounds(tags, sentence_ptr)
    types = [bounds.types[k] for k in bounds.type_of_span.tolist()]
    return [Span(*one) for one in zip(bounds.start.tolist(), bounds.stop.tolist(), types, strict=True)]


def span_scores(truth: Tags, predicted: Tags, sentence_ptr: ArrayLike) -> SpanScores:
    """Compare a predicted tagging with the true one.

    A predicted span is correct if a true one has the same first token, last token and type. The two
    taggings may be in different schemes, but then the token accuracy, which compares tags as they are
    written, says little.

    Where the true tag is unknown (``None``) the predicted one is not looked at: both count as outside
    there, spans are cut at such tokens, and the token accuracy leaves them out.

    Parameters
    ----------
    truth, predicted : sequences of str, one a token
        The tags of all sentences.
    sentence_ptr : int array (n_sentences + 1,)
        Sentence ``s`` holds tokens ``sentence_ptr[s]:sentence_ptr[s + 1]``.

    Examples
    --------
    >>> scores = span_scores(["B-PER", "I-PER", "O", "B-LOC"], ["B-PER", "O", "O", "B-LOC"], [0, 4])
    >>> scores.f1, scores.by_type["LOC"].f1, scores.accuracy
    (0.5, 1.0, 0.75)
    """
    predicted = _comparable(truth, predicted)
    types, true, guessed, correct = _matched(truth, predicted, sentence_ptr)
    n_true = np.bincount(true.type_of_span, minlength=len(types))
    n_predicted = np.bincount(guessed.type_of_span, minlength=len(types))
    n_correct = np.bincount(guessed.type_of_span[correct], minlength=len(types))
    by_type = {name: Agreement(int(n_correct[k]), int(n_predicted[k]), int(n_true[k])) for k, name in enumerate(types)}
    n_unknown = sum(tag is None for tag in truth)
    n_equal = sum(map(operator.eq, truth, predicted))
    return SpanScores(by_type, len(truth) - n_unknown, n_equal - n_unknown)


def span_counts(
    truth: Tags, predicted: Tags, sentence_ptr: ArrayLike, document_ptr: ArrayLike | None = None
) -> NDArray[np.int64]:
    """Counts of spans by document, for intervals and tests of significance.

    Parameters
    ----------
    truth, predicted : sequences of str, one a token
        The tags of all sentences.
    sentence_ptr : int array (n_sentences + 1,)
        Where sentences begin, in tokens.
    document_ptr : int array (n_documents + 1,), optional
        Where documents begin, in sentences; every sentence is a document if not given.

    Returns
    -------
    int64 array (n_documents, 3)
        Correct, predicted and true spans, as `f1_of_counts` takes them.

    Examples
    --------
    >>> span_counts(["B-PER", "O", "B-LOC"], ["B-PER", "O", "O"], [0, 2, 3]).tolist()
    [[1, 1, 1], [0, 0, 1]]
    """
    predicted = _comparable(truth, predicted)
    _, true, guessed, correct = _matched(truth, predicted, sentence_ptr)
    first_token = np.asarray(sentence_ptr, dtype=np.int64)
    if document_ptr is not None:
        ptr = np.asarray(document_ptr, dtype=np.int64)
        n_sentences = len(first_token) - 1
        if len(ptr) == 0 or ptr[0] != 0 or ptr[-1] != n_sentences or (np.diff(ptr) < 0).any():
            raise ValueError(f"document_ptr must rise from 0 to the {n_sentences} sentences; it is {ptr}")
        first_token = first_token[ptr]
    n_documents = len(first_token) - 1

    def by_document(start: NDArray[np.int64]) -> NDArray[np.int64]:
        document = np.searchsorted(first_token, start, side="right") - 1
        return np.bincount(document, minlength=n_documents)

    counted = [by_document(start) for start in (guessed.start[correct], guessed.start, true.start)]
    return np.stack(counted, axis=1).astype(np.int64)


def _comparable(truth: Tags, predicted: Tags) -> Tags:
    """The predicted tags, unknown where the truth is, after a check that they can be compared."""
    if len(truth) != len(predicted):
        raise ValueError(
            f"truth has {len(truth)} tags but predicted has {len(predicted)}; give one tag a token in both"
        )
    if None in truth:
        pairs = list(zip(truth, predicted, strict=True))
        predicted = [None if true is None else guess for true, guess in pairs]
        t = next((t for t, (true, guess) in enumerate(pairs) if guess is None and true is not None), None)
    else:
        t = predicted.index(None) if None in predicted else None
    if t is not None:
        raise ValueError(f"predicted has no tag for token {t}, whose truth is {truth[t]!r}; predict all")
    return predicted


def _matched(
    truth: Tags, predicted: Tags, sentence_ptr: ArrayLike
) -> tuple[tuple[str, ...], SpanBounds, SpanBounds, NDArray[np.bool_]]:
    """All types, the spans of both taggings in terms of these, and which predicted ones are correct."""
    true, guessed = span_bounds(truth, sentence_ptr), span_bounds(predicted, sentence_ptr)
    types = tuple(sorted({*true.types, *guessed.types}))
    position = {name: k for k, name in enumerate(types)}
    for one in (true, guessed):
        renumbered = np.array([position[name] for name in one.types], dtype=np.int64)
        one.type_of_span[:] = renumbered[one.type_of_span]
    # No two spans of a tagging begin at one token, so a span is found by where it begins.
    stop_at = np.zeros(len(truth) + 1, dtype=np.int64)
    type_at = np.full(len(truth) + 1, -1)
    stop_at[true.start], type_at[true.start] = true.stop, true.type_of_span
    correct = (stop_at[guessed.start] == guessed.stop) & (type_at[guessed.start] == guessed.type_of_span)
    return types, true, guessed, correct


def _ratio(part: int, whole: int) -> float:
    """A share, 0 of nothing."""
    return part / whole if whole else 0.0
