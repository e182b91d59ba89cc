"""Documents with mentions: the data of coreference, where noun phrases are grouped by whom they mean."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from walkstep.data.gathered_mentions import gather_mentions
from walkstep.data.mention_properties import DETERMINERS, GENDERS, MENTION_TYPES, NUMBERS

__all__ = ["DETERMINERS", "GENDERS", "MENTION_TYPES", "NUMBERS", "MentionDocuments"]


@dataclass(frozen=True)
class MentionDocuments:
    """Documents of sentences of tokens, and the mentions in them, stored flat.

    Mentions of a document stand in order of appearance; of two that begin together, the longer comes first.
    Make one with `from_dicts` or a reader rather than by hand.

    Parameters
    ----------
    tokens : list of str
        Every word, sentence after sentence.
    sentence_ptr : int64 array (n_sentences + 1,)
        Sentence ``s`` holds tokens ``sentence_ptr[s]:sentence_ptr[s + 1]``.
    document_sentence_ptr : int64 array (n_documents + 1,)
        Document ``d`` holds sentences ``document_sentence_ptr[d]:document_sentence_ptr[d + 1]``.
    document_ptr : int64 array (n_documents + 1,)
        Document ``d`` holds mentions ``document_ptr[d]:document_ptr[d + 1]``.
    names, parts, genres : list of str, list of int, list of str (n_documents,)
        What each document is called, its part (0 unless a file cuts it), and its genre (``""`` if unknown).
    start, end, head_token : int64 array (n_mentions,)
        Mention ``m`` is ``tokens[start[m]:end[m]]``, its lexical head ``tokens[head_token[m]]``.
    sentence, position : int64 array (n_mentions,)
        The number of the sentence in the document, and of the first word in the sentence.
    text, head_text, head_lemma : list of str (n_mentions,)
        The words of the mention joined by spaces, its head, and the head's lemma (lower case).
    entity_type : list of str (n_mentions,)
        ``person``, ``GPE``, ... as the source calls it; ``""`` if unknown.
    mention_type, gender, number, determiner : int8 array (n_mentions,)
        Places in `MENTION_TYPES`, `GENDERS`, `NUMBERS` and `DETERMINERS`.
    speaker : list of str (n_mentions,)
        Who says the mention; ``""`` if unknown.
    entity : int64 array (n_mentions,)
        The true entity, numbered from 0 over all documents; -1 where it is unknown.
    columns : dict of str to list of str
        What else is known of tokens: ``pos``, ``lemma``, ``relation``, ``speaker``.

    Examples
    --------
    >>> documents = MentionDocuments.from_dicts([{
    ...     "sentences": [["Mrs.", "Quill", "came", "."], ["She", "sat", "."]],
    ...     "mentions": [{"sentence": 0, "start": 0, "end": 2, "entity": "q"},
    ...                  {"sentence": 1, "start": 0, "end": 1, "entity": "q"}]}])
    >>> len(documents), documents.text, [GENDERS[g] for g in documents.gender], documents.entity.tolist()
    (1, ['Mrs. Quill', 'She'], ['feminine', 'feminine'], [0, 0])
    """

    tokens: list[str]
    sentence_ptr: NDArray[np.int64]
    document_sentence_ptr: NDArray[np.int64]
    document_ptr: NDArray[np.int64]
    names: list[str]
    parts: list[int]
    genres: list[str]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    head_token: NDArray[np.int64]
    sentence: NDArray[np.int64]
    position: NDArray[np.int64]
    text: list[str]
    head_text: list[str]
    head_lemma: list[str]
    entity_type: list[str]
    mention_type: NDArray[np.int8]
    gender: NDArray[np.int8]
    number: NDArray[np.int8]
    determiner: NDArray[np.int8]
    speaker: list[str]
    entity: NDArray[np.int64]
    columns: dict[str, list[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        """How many documents there are."""
        return len(self.names)

    @property
    def n_mentions(self) -> int:
        """How many mentions there are."""
        return len(self.text)

    @property
    def n_sentences(self) -> int:
        """How many sentences there are."""
        return len(self.sentence_ptr) - 1

    @property
    def n_tokens(self) -> int:
        """How many tokens there are."""
        return len(self.tokens)

    @property
    def n_entities(self) -> int:
        """How many entities the truth knows."""
        return len(np.unique(self.entity[self.entity >= 0]))

    @property
    def document_of_mention(self) -> NDArray[np.int64]:
        """The document of every mention."""
        return np.repeat(np.arange(len(self)), np.diff(self.document_ptr))

    def head(self, n_documents: int) -> "MentionDocuments":
        """The first documents."""
        return self.select(range(min(n_documents, len(self))))

    def select(self, documents: Iterable[int]) -> "MentionDocuments":
        """Some of the documents, in the order given; entities keep their numbers.

        Examples
        --------
        >>> one = {"sentences": [["He"]], "mentions": [{"sentence": 0, "start": 0, "end": 1}]}
        >>> MentionDocuments.from_dicts([one | {"name": "a"}, one | {"name": "b"}]).select([1]).names
        ['b']
        """
        chosen = np.array([int(d) for d in documents], np.int64)
        for d in chosen:
            if not 0 <= d < len(self):
                raise ValueError(f"document {d} was selected but there are {len(self)}; count from 0")
        sentence_rows, document_sentence_ptr = _ranges(self.document_sentence_ptr, chosen)
        token_rows, sentence_ptr = _ranges(self.sentence_ptr, sentence_rows)
        mention_rows, document_ptr = _ranges(self.document_ptr, chosen)
        # Where each chosen document's tokens begin now, less where they began before.
        began = self.sentence_ptr[self.document_sentence_ptr[chosen]]
        begins = sentence_ptr[document_sentence_ptr[:-1]]
        shift = np.repeat(begins - began, np.diff(document_ptr))
        taken: dict[str, Any] = {
            "tokens": _taken(self.tokens, token_rows),
            "sentence_ptr": sentence_ptr,
            "document_sentence_ptr": document_sentence_ptr,
            "document_ptr": document_ptr,
            "columns": {name: _taken(column, token_rows) for name, column in self.columns.items()},
        }
        for one in fields(self):
            if one.name in taken:
                continue
            rows = chosen if one.name in ("names", "parts", "genres") else mention_rows
            taken[one.name] = _taken(getattr(self, one.name), rows)
        for name in ("start", "end", "head_token"):
            taken[name] = taken[name] + shift
        return MentionDocuments(**taken)

    def split(self, share: float = 0.8, seed: int = 0) -> tuple["MentionDocuments", "MentionDocuments"]:
        """Cut the documents in two at random: a share of them, and the rest, both in their old order."""
        if not 0 < share < 1 or len(self) < 2:
            raise ValueError(f"share is {share} of {len(self)} documents; give a share in (0, 1) of at least two")
        n_first = min(max(1, round(share * len(self))), len(self) - 1)
        order = np.random.default_rng(seed).permutation(len(self))
        return self.select(np.sort(order[:n_first])), self.select(np.sort(order[n_first:]))

    @classmethod
    def from_dicts(cls, documents: Iterable[Mapping[str, Any]]) -> "MentionDocuments":
        """Gather documents, working out what is not given and naming the document of what does not fit.

        Mentions are put in order of appearance, and everything that has one entry a mention follows it.

        Parameters
        ----------
        documents : iterable of mappings
            Each with

            - ``sentences``: lists of words;
            - ``mentions``: mappings with ``sentence``, ``start`` and ``end`` (words ``start:end`` of that
              sentence, counted from 0, the end not included), and optionally ``entity`` (any name, the same
              for mentions that corefer; ``None`` if unknown), ``entity_type``, ``mention_type`` (one of
              `MENTION_TYPES`) and ``head`` (a word of that sentence);
            - optionally ``name``, ``part``, ``genre``;
            - optionally, shaped like ``sentences``: ``pos`` (Penn tags), ``lemma``, ``heads`` (the word that
              each depends on, counted from 0, -1 for the root), ``relation``, ``speaker``.

        Examples
        --------
        >>> MentionDocuments.from_dicts([{"name": "a", "sentences": [["He"]],
        ...                               "mentions": [{"sentence": 0, "start": 0, "end": 2}]}])
        Traceback (most recent call last):
        ...
        ValueError: document 'a', mention 0: words 0:2 of sentence 0, which has 1 word(s); \
count words from 0 and leave the end out
        """
        return cls(**gather_mentions(documents))


def _ranges(ptr: NDArray[np.int64], chosen: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of some ranges, one after another, and where each range now begins."""
    size = ptr[chosen + 1] - ptr[chosen]
    new_ptr = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    return np.arange(new_ptr[-1]) + np.repeat(ptr[chosen] - new_ptr[:-1], size), new_ptr


def _taken(values: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows of an array or a list."""
    return values[rows] if isinstance(values, np.ndarray) else [values[i] for i in rows.tolist()]
