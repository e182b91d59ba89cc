"""LitBank's coreference as JSON lines: one document a line, with typed mentions and their entities."""

import json
import os
from typing import Any

from walkstep.data.mentions import MentionDocuments
from walkstep.data.readers._files import read_lines

_MENTION_TYPE = {"PROP": "proper", "NOM": "common", "PRON": "pronoun"}


def read_litbank(path: str | os.PathLike) -> MentionDocuments:
    """Read documents of fiction with mentions, their types and their entities.

    Each line is an object with ``doc`` (the name), ``sentences`` (lists of words) and ``mentions``: objects
    with ``sent``, ``start``, ``end`` (the last word, included), ``entity_type``, ``mention_type`` (PROP,
    NOM or PRON) and ``entity``. There are no tags: heads are found by rules.

    Parameters
    ----------
    path : path
        A UTF-8 text file, or such a file packed as ``.gz``.

    Raises
    ------
    ValueError
        With the file and line of what is missing or does not fit.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> he = {"sent": 0, "start": 0, "end": 0, "entity_type": "PER", "mention_type": "PRON", "entity": "x"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "tiny.jsonl")
    ...     _ = path.write_text(json.dumps({"doc": "a", "sentences": [["He", "left"]], "mentions": [he]}))
    ...     read_litbank(path).text
    ['He']
    """
    documents = [_document(f"{path}, line {i + 1}", line) for i, line in enumerate(read_lines(path)) if line.strip()]
    if not documents:
        raise ValueError(f"{path} holds no document; give a file with one JSON object a line")
    try:
        return MentionDocuments.from_dicts(documents)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error


def _document(where: str, line: str) -> dict[str, Any]:
    """One line as `MentionDocuments.from_dicts` takes it."""
    try:
        content = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"{where} is no JSON ({error}); write one object a line") from error
    if not isinstance(content, dict):
        raise ValueError(f"{where} is {line[:40]!r}; write an object with doc, sentences and mentions")
    try:
        return {
            "name": content["doc"],
            "genre": "fiction",
            "sentences": content["sentences"],
            "mentions": [_mention(where, mention) for mention in content["mentions"]],
        }
    except KeyError as error:
        raise ValueError(f"{where} lacks {error}; complete the object") from None


def _mention(where: str, mention: dict[str, Any]) -> dict[str, Any]:
    """One mention, its end no longer included."""
    kind = mention["mention_type"]
    if kind not in _MENTION_TYPE:
        raise ValueError(f"{where}: mention_type {kind!r}; give one of {', '.join(_MENTION_TYPE)}")
    return {
        "sentence": mention["sent"],
        "start": mention["start"],
        "end": mention["end"] + 1,
        "entity": mention["entity"],
        "entity_type": mention["entity_type"],
        "mention_type": _MENTION_TYPE[kind],
    }
