"""From documents as a user writes them down to flat lists: everything checked, properties worked out."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from walkstep.data.mention_properties import (
    DETERMINERS,
    GENDERS,
    MENTION_TYPES,
    NUMBERS,
    determiner,
    find_head,
    guess_gender,
    guess_number,
    mention_type,
)

_TOKEN_COLUMNS = ("pos", "lemma", "relation", "speaker")
_OF_DOCUMENTS = ("names", "parts", "genres")
# Of mentions: the type of numbers, None for strings.
_KIND_OF_PROPERTY = {
    **dict.fromkeys(("start", "end", "head_token", "sentence", "position", "entity"), np.int64),
    **dict.fromkeys(("mention_type", "gender", "number", "determiner"), np.int8),
    **dict.fromkeys(("text", "head_text", "head_lemma", "entity_type", "speaker")),
}


def gather_mentions(documents: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The fields of a ``MentionDocuments``, whose ``from_dicts`` tells what goes in."""
    gathered = _Gathered()
    for d, document in enumerate(documents):
        gathered.add(document, str(document.get("name", d)))
    if not gathered.lists["names"]:
        raise ValueError("there are no documents; give at least one")
    return gathered.finished()


class _Gathered:
    """Lists that grow document by document."""

    def __init__(self) -> None:
        self.lists: dict[str, list] = {name: [] for name in ("tokens", *_OF_DOCUMENTS, *_KIND_OF_PROPERTY)}
        self.columns: dict[str, list[str]] = {}
        self.ptrs: dict[str, list[int]] = {"sentence_ptr": [0], "document_sentence_ptr": [0], "document_ptr": [0]}
        self.n_entities = 0

    def add(self, document: Mapping[str, Any], name: str) -> None:
        """Take one document in, after checking it."""
        sentences = _checked_sentences(document, name)
        layers = {layer: _checked_layer(document, layer, name, sentences) for layer in (*_TOKEN_COLUMNS, "heads")}
        lists = self.lists
        lists["names"].append(name)
        lists["parts"].append(int(document.get("part", 0)))
        lists["genres"].append(str(document.get("genre", "")))
        begins = [len(lists["tokens"])]
        for sentence in sentences:
            lists["tokens"].extend(sentence)
            begins.append(len(lists["tokens"]))
        self.ptrs["sentence_ptr"].extend(begins[1:])
        for layer in _TOKEN_COLUMNS:
            self._extend_column(layer, layers[layer], begins[0], begins[-1])
        checked = [
            (_checked_mention(mention, m, name, sentences), mention)
            for m, mention in enumerate(document.get("mentions", ()))
        ]
        checked.sort(key=lambda pair: (pair[0][0], pair[0][1], -pair[0][2]))
        codes: dict[Hashable, int] = {}
        for (s, start, end), mention in checked:
            self._add_mention(mention, s, start, end, sentences[s], layers, begins[s])
            entity = mention.get("entity")
            lists["entity"].append(-1 if entity is None else self.n_entities + codes.setdefault(entity, len(codes)))
        self.n_entities += len(codes)
        self.ptrs["document_sentence_ptr"].append(len(self.ptrs["sentence_ptr"]) - 1)
        self.ptrs["document_ptr"].append(len(lists["text"]))

    def _extend_column(self, name: str, layer: list[list] | None, begin: int, end: int) -> None:
        """Add a document's entries to a token column, empty ones where it or earlier documents have none."""
        if layer is not None:
            column = self.columns.setdefault(name, [""] * begin)
            for entries in layer:
                column.extend(entries)
        elif name in self.columns:
            self.columns[name].extend([""] * (end - begin))

    def _add_mention(
        self, mention: Mapping[str, Any], s: int, start: int, end: int, words: list[str], layers: dict, begin: int
    ) -> None:
        """Work out one mention's properties."""
        cut = {layer: None if rows is None else rows[s][start:end] for layer, rows in layers.items()}
        inside, tags = words[start:end], cut["pos"]
        heads = None if cut["heads"] is None else [h - start for h in cut["heads"]]
        given = mention.get("head")
        head = given - start if given is not None else find_head(inside, tags, heads, cut["relation"])
        kind = mention.get("mention_type") or mention_type(inside, head, tags, opens=start == 0)
        entity_type = mention.get("entity_type") or ""
        lemma = inside[head] if cut["lemma"] is None else cut["lemma"][head]
        lists = self.lists
        lists["start"].append(begin + start)
        lists["end"].append(begin + end)
        lists["head_token"].append(begin + start + head)
        lists["sentence"].append(s)
        lists["position"].append(start)
        lists["text"].append(" ".join(inside))
        lists["head_text"].append(inside[head])
        lists["head_lemma"].append(lemma.lower())
        lists["entity_type"].append(entity_type)
        lists["mention_type"].append(MENTION_TYPES.index(kind))
        lists["gender"].append(GENDERS.index(guess_gender(inside, head, kind, entity_type)))
        lists["number"].append(NUMBERS.index(guess_number(inside, head, kind, tags)))
        lists["determiner"].append(DETERMINERS.index(determiner(inside)))
        lists["speaker"].append("" if cut["speaker"] is None else cut["speaker"][0])

    def finished(self) -> dict[str, Any]:
        """Everything gathered, as arrays where there are numbers."""
        arrays = {
            name: np.array(self.lists[name], kind) for name, kind in _KIND_OF_PROPERTY.items() if kind is not None
        }
        ptrs = {name: np.array(ptr, np.int64) for name, ptr in self.ptrs.items()}
        return self.lists | arrays | ptrs | {"columns": self.columns}


def _checked_sentences(document: Mapping[str, Any], name: str) -> list[list[str]]:
    """A document's sentences, which are lists of words."""
    if "sentences" not in document:
        raise ValueError(f"document {name!r} has no 'sentences', only {sorted(document)}; give lists of words")
    sentences = []
    for s, sentence in enumerate(document["sentences"]):
        if isinstance(sentence, str) or not all(isinstance(word, str) for word in sentence) or not len(sentence):
            raise TypeError(f"document {name!r}, sentence {s} is {sentence!r:.60}; give a list of at least one word")
        sentences.append(list(sentence))
    return sentences


def _checked_layer(document: Mapping[str, Any], layer: str, name: str, sentences: list[list[str]]) -> list[list] | None:
    """One entry a word, or nothing at all."""
    if document.get(layer) is None:
        return None
    rows = [list(row) for row in document[layer]]
    if len(rows) != len(sentences):
        raise ValueError(
            f"document {name!r} has {len(sentences)} sentences but {len(rows)} in {layer!r}; give one list a sentence"
        )
    for s, (row, sentence) in enumerate(zip(rows, sentences, strict=True)):
        if len(row) != len(sentence):
            raise ValueError(
                f"document {name!r}, sentence {s} has {len(sentence)} words but {len(row)} entries in {layer!r}; "
                "give one entry a word"
            )
    return rows


def _checked_mention(
    mention: Mapping[str, Any], m: int, name: str, sentences: Sequence[Sequence[str]]
) -> tuple[int, int, int]:
    """Where a mention stands: its sentence, first word and end."""
    where = f"document {name!r}, mention {m}"
    try:
        s, start, end = (int(mention[key]) for key in ("sentence", "start", "end"))
    except KeyError as error:
        raise ValueError(f"{where} has no {error}; give 'sentence', 'start' and 'end'") from None
    if not 0 <= s < len(sentences):
        raise ValueError(f"{where}: sentence {s} of {len(sentences)}; count sentences from 0")
    if not 0 <= start < end <= len(sentences[s]):
        raise ValueError(
            f"{where}: words {start}:{end} of sentence {s}, which has {len(sentences[s])} word(s); "
            "count words from 0 and leave the end out"
        )
    head = mention.get("head")
    if head is not None and not start <= head < end:
        raise ValueError(f"{where}: head {head} is not one of its words {start}:{end}; give a word of the sentence")
    kind = mention.get("mention_type")
    if kind is not None and kind not in MENTION_TYPES:
        raise ValueError(f"{where}: mention_type {kind!r}; give one of {', '.join(MENTION_TYPES)}")
    return s, start, end
