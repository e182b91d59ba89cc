"""Token sequences: the words of a corpus, flat, with its sentences, documents and other columns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Sequences:
    """Sentences of tokens, stored flat.

    Parameters
    ----------
    tokens : list of str
        Every word of the corpus, sentence after sentence.
    sentence_ptr : int64 array (n_sentences + 1,)
        Sentence ``s`` holds tokens ``sentence_ptr[s]:sentence_ptr[s + 1]``.
    document_ptr : int64 array (n_documents + 1,)
        Document ``d`` holds sentences ``document_ptr[d]:document_ptr[d + 1]``.
    columns : dict of str to list of str
        Further observed columns, one entry a token: part of speech, chunk, ...
    tags : list of str or None, optional
        The truth, one entry a token; ``None`` where it is unknown.

    Examples
    --------
    >>> corpus = Sequences.from_lists([["Ada", "wrote"], ["She", "did"]], tags=[["B-PER", "O"], ["O", None]])
    >>> corpus.n_sentences, corpus.n_tokens, corpus.sentence(0)
    (2, 4, ['Ada', 'wrote'])
    """

    tokens: list[str]
    sentence_ptr: NDArray[np.int64]
    document_ptr: NDArray[np.int64]
    columns: dict[str, list[str]] = field(default_factory=dict)
    tags: list[str | None] | None = None

    @property
    def n_tokens(self) -> int:
        """How many tokens there are."""
        return len(self.tokens)

    @property
    def n_sentences(self) -> int:
        """How many sentences there are."""
        return len(self.sentence_ptr) - 1

    @property
    def n_documents(self) -> int:
        """How many documents there are."""
        return len(self.document_ptr) - 1

    def sentence(self, s: int) -> list[str]:
        """The words of sentence ``s``."""
        return self.tokens[self.sentence_ptr[s] : self.sentence_ptr[s + 1]]

    def head(self, n_sentences: int) -> "Sequences":
        """The first documents, as many as it takes to have so many sentences."""
        n_documents = int(np.searchsorted(self.document_ptr, min(n_sentences, self.n_sentences)))
        last = int(self.document_ptr[n_documents])
        stop = int(self.sentence_ptr[last])
        return Sequences(
            self.tokens[:stop],
            self.sentence_ptr[: last + 1],
            self.document_ptr[: n_documents + 1],
            {name: column[:stop] for name, column in self.columns.items()},
            None if self.tags is None else self.tags[:stop],
        )

    def split(self, flat: Sequence) -> list[list]:
        """Cut anything that has one entry a token into one list a sentence."""
        return [list(flat[a:b]) for a, b in pairwise(self.sentence_ptr.tolist())]

    @classmethod
    def from_lists(
        cls,
        sentences: Iterable[Sequence[str] | Sequence[tuple[str, ...]]],
        tags: Iterable[Sequence[str | None]] | None = None,
        *,
        columns: Mapping[str, Iterable[Sequence[str]]] | None = None,
        documents: Sequence[int] | None = None,
    ) -> "Sequences":
        """Flatten lists of tokens, naming the sentence of anything that does not fit.

        Parameters
        ----------
        sentences : iterable of sequences of str
            The words. A token may also be a tuple: the word, then the entries of further columns, which are
            called ``column1``, ``column2``, ...
        tags : iterable of sequences of str or None, optional
            The truth, shaped like ``sentences``.
        columns : mapping of str to such iterables, optional
            Further observed columns, shaped like ``sentences``.
        documents : sequence of int, optional
            The document of each sentence; sentences of a document stand together. Without it,
            all sentences are one document each.
        """
        nested: list[list] = []
        for s, sentence in enumerate(sentences):
            if isinstance(sentence, str):
                raise TypeError(f"sentence {s} is the string {sentence[:40]!r}; split it into a list of words")
            nested.append(list(sentence))
            if not nested[-1]:
                raise ValueError(f"sentence {s} is empty; leave empty sentences out")
        lengths = [len(sentence) for sentence in nested]
        flat: list = [token for sentence in nested for token in sentence]
        gathered: dict[str, list[str]] = {}
        if flat and isinstance(flat[0], tuple):
            width = len(flat[0])
            for t, token in enumerate(flat):
                if not isinstance(token, tuple) or len(token) != width:
                    s = int(np.searchsorted(np.cumsum(lengths), t, side="right"))
                    raise ValueError(
                        f"a token of sentence {s} is {token!r}, but the first token has {width} columns; "
                        "give every token the same columns"
                    )
            tokens, *rest = (list(column) for column in zip(*flat, strict=True))
            gathered = {f"column{c + 1}": column for c, column in enumerate(rest)}
        else:
            tokens = flat
        for t, token in enumerate(tokens):
            if not isinstance(token, str):
                s = int(np.searchsorted(np.cumsum(lengths), t, side="right"))
                raise TypeError(f"a token of sentence {s} is {token!r}, not a string; convert it with str()")
        for name, column in (columns or {}).items():
            gathered[name] = _flatten(f"column {name!r}", column, lengths)
        return cls(
            tokens=tokens,
            sentence_ptr=np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64),
            document_ptr=_document_ptr(documents, len(nested)),
            columns=gathered,
            tags=None if tags is None else _flatten("tags", tags, lengths),
        )


def _flatten(name: str, nested: Iterable[Sequence], lengths: list[int]) -> list:
    """One flat list, after checking that the nested one has the sentences' shape."""
    parts = [list(part) for part in nested]
    if len(parts) != len(lengths):
        raise ValueError(f"there are {len(lengths)} sentences but {name} has {len(parts)}; give one each")
    for s, (part, length) in enumerate(zip(parts, lengths, strict=True)):
        if len(part) != length:
            raise ValueError(
                f"sentence {s} has {length} tokens but {len(part)} entries in {name}; give one entry a token"
            )
    return [entry for part in parts for entry in part]


def _document_ptr(documents: Sequence[int] | None, n_sentences: int) -> NDArray[np.int64]:
    """Where documents begin, from each sentence's document."""
    if documents is None:
        return np.arange(n_sentences + 1, dtype=np.int64)
    names = np.asarray(documents)
    if len(names) != n_sentences:
        raise ValueError(f"there are {n_sentences} sentences but documents names {len(names)}; give one each")
    starts = np.flatnonzero(np.concatenate([[True], names[1:] != names[:-1]])) if n_sentences else np.zeros(0)
    if len(np.unique(names)) != len(starts):
        raise ValueError("the sentences of a document must stand together; sort the sentences by document")
    return np.concatenate([starts, [n_sentences]]).astype(np.int64)
