"""Documents cut into passages of about as many mentions each."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from walkstep.data.mentions import MentionDocuments


def cut_passages(
    documents: MentionDocuments, n_mentions: int, most: int | None = None
) -> tuple[MentionDocuments, NDArray[np.int64]]:
    """Documents cut at sentence ends into passages of about so many mentions, and the document of each.

    Parameters
    ----------
    documents : MentionDocuments
    n_mentions : int
    most : int, optional
        Passages kept of one document, from its beginning.
    """
    bounds, names, parts, genres, source = [], [], [], [], []
    of_mention = documents.sentence + documents.document_sentence_ptr[documents.document_of_mention]
    before = np.searchsorted(of_mention, np.arange(documents.n_sentences + 1))  # mentions before each sentence
    for d in range(len(documents)):
        first, last = documents.document_sentence_ptr[d : d + 2]
        n_passages = max(1, round(int(before[last] - before[first]) / n_mentions))
        goals = np.linspace(before[first], before[last], n_passages + 1)[:-1]
        begins = np.unique([first + np.abs(before[first:last] - goal).argmin() for goal in goals])
        bounds += begins.tolist()
        names += [documents.names[d]] * len(begins)
        parts += range(len(begins))
        genres += [documents.genres[d]] * len(begins)
        source += [d] * len(begins)
    sentence_ptr = np.array([*bounds, documents.n_sentences], np.int64)
    made = replace(
        documents,
        document_sentence_ptr=sentence_ptr,
        document_ptr=before[sentence_ptr].astype(np.int64),
        names=names,
        parts=parts,
        genres=genres,
        sentence=of_mention - np.repeat(sentence_ptr[:-1], np.diff(before[sentence_ptr])),
    )
    kept = np.flatnonzero([most is None or part < most for part in parts])
    return made.select(kept), np.array(source, np.int64)[kept]
