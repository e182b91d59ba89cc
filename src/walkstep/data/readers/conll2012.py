"""Coreference files of CoNLL-2012: one token a line, entities as brackets; and the same with GUM's columns."""

import os
import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from walkstep.data.mention_properties import find_head
from walkstep.data.mentions import MentionDocuments
from walkstep.data.readers._files import read_lines, written_whole

Layer = Literal["conll2012", "gum", "ontogum"]

_BEGIN = re.compile(r"#begin document \(?(.*?)\)?\s*(?:;\s*part\s+(\d+))?\s*$")
_N_COLUMNS = 12  # in standard files more where the sentence has predicates
_GUM_ENTITIES = 10
_NOTHING = ("-", "_", "*", "")
_Span = tuple[int, int]


def read_conll2012(path: str | os.PathLike, layer: Layer = "conll2012") -> MentionDocuments:
    """Read documents with mentions and their entities.

    Columns are separated by tabs where a line holds one, otherwise by white space. ``#begin document`` and
    ``#end document`` stand around each document (and each part of one), blank lines between sentences.

    Parameters
    ----------
    path : path
        A UTF-8 text file, or such a file packed as ``.gz``.
    layer : {"conll2012", "gum", "ontogum"}
        ``"conll2012"``: the standard columns, with names (the eleventh column) as entity types.
        The others are for files with GUM's columns, which include dependencies:
        ``"gum"`` reads the mentions with entity types, singletons included; ``"ontogum"`` reads the chains
        of the last column, typed by the GUM mention of the same words, or else of the same head.

    Returns
    -------
    MentionDocuments
        Genres are the first part of a name with slashes, or the second of a name with underscores.

    Raises
    ------
    ValueError
        With the file and line, where a bracket does not open or close, a column is missing, or the file is
        not UTF-8.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> line = "nw/a 0 {} {} {} * - - - - * {}"
    >>> rows = [line.format(0, "Ada", "NNP", "(0)"), line.format(1, "left", "VBD", "-")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "tiny.conll")
    ...     _ = path.write_text("\\n".join(["#begin document (nw/a); part 000", *rows, "", "#end document"]))
    ...     documents = read_conll2012(path)
    >>> documents.names, documents.genres, documents.text
    (['nw/a'], ['nw'], ['Ada'])
    """
    if layer not in ("conll2012", "gum", "ontogum"):
        raise ValueError(f"layer is {layer!r}; give 'conll2012', 'gum' or 'ontogum'")
    documents: list[dict[str, Any]] = []
    document: dict[str, Any] | None = None
    rows: list[list[str]] = []
    for i, line in enumerate([*read_lines(path), ""]):
        if line.strip() and not line.startswith(("#begin document", "#end document")):
            if document is None:
                raise ValueError(f"{path}, line {i + 1}: {line[:40]!r} before any '#begin document'; add that line")
            rows.append(_columns(path, i, line, layer))
            continue
        if rows and document is not None:
            _add_sentence(document, rows, layer, f"{path}, line", i - len(rows) + 1)
            rows = []
        if line.startswith("#begin"):
            document = _opened(path, i, line, layer)
            documents.append(document)
        elif line.startswith("#end"):
            document = None
    if not documents:
        raise ValueError(f"{path} has no line '#begin document'; give a file in the layout of CoNLL-2012")
    return MentionDocuments.from_dicts(documents)


def write_conll2012(
    documents: MentionDocuments,
    clusters: Sequence[int] | NDArray[np.integer],
    path: str | os.PathLike,
    *,
    singletons: bool = True,
) -> None:
    """Write clusters of mentions as a response (or key) for the official scorer of CoNLL-2012.

    The file is written whole or not at all. Columns are separated by tabs; what is not known is ``-``.

    Parameters
    ----------
    documents : MentionDocuments
        The documents.
    clusters : integer array (n_mentions,)
        The cluster of every mention, such as ``documents.entity``; mentions of cluster -1 are left out.
    path : path
        Where to write.
    singletons : bool
        Whether to write clusters of a single mention, which OntoNotes leaves out.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> one = {"name": "a", "sentences": [["He", "left"]], "mentions": [{"sentence": 0, "start": 0, "end": 1}]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "response.conll")
    ...     write_conll2012(MentionDocuments.from_dicts([one]), [0], path)
    ...     path.read_text().splitlines()[1].split()[-1]
    '(0)'
    """
    cluster = np.asarray(clusters)
    if cluster.shape != (documents.n_mentions,) or not np.issubdtype(cluster.dtype, np.integer):
        raise ValueError(
            f"clusters has shape {cluster.shape} and type {cluster.dtype}, but there are {documents.n_mentions} "
            "mentions; give one integer a mention"
        )
    numbers = np.full(len(cluster), -1)
    for d in range(len(documents)):
        begin, end = documents.document_ptr[d : d + 2]
        _, code, size = np.unique(cluster[begin:end], return_inverse=True, return_counts=True)
        written = (cluster[begin:end] >= 0) & (singletons | (size[code] > 1))
        # Numbers start at 0 in every document, in the order of clusters.
        numbers[begin:end][written] = np.unique(code[written], return_inverse=True)[1]
    brackets = _brackets(documents, numbers)
    pos, lemma, speaker = (
        documents.columns.get(name, [""] * documents.n_tokens) for name in ("pos", "lemma", "speaker")
    )
    with written_whole(path) as file:
        for d, (name, part) in enumerate(zip(documents.names, documents.parts, strict=True)):
            file.write(f"#begin document ({name}); part {part:03d}\n")
            for s in range(*documents.document_sentence_ptr[d : d + 2].tolist()):
                begin, end = documents.sentence_ptr[s : s + 2].tolist()
                for t in range(begin, end):
                    cells = (name, str(part), str(t - begin), documents.tokens[t], pos[t] or "-", "-", lemma[t] or "-")
                    cells += ("-", "-", speaker[t] or "-", "*", brackets[t] or "-")
                    file.write("\t".join(cells) + "\n")
                file.write("\n")
            file.write("#end document\n")


def _brackets(documents: MentionDocuments, numbers: NDArray[np.int64]) -> list[str]:
    """The last column: closing brackets, inner ones first, then opening ones, outer ones first."""
    opening: dict[int, list[str]] = {}
    closing: dict[int, list[str]] = {}
    spans = zip(documents.start.tolist(), documents.end.tolist(), numbers.tolist(), strict=True)
    for start, end, number in spans:
        if number < 0:
            continue
        if end - start == 1:
            opening.setdefault(start, []).append(f"({number})")
            continue
        opening.setdefault(start, []).append(f"({number}")
        closing.setdefault(end - 1, []).insert(0, f"{number})")
    return ["|".join(closing.get(t, []) + opening.get(t, [])) for t in range(documents.n_tokens)]


def _opened(path: str | os.PathLike, i: int, line: str, layer: Layer) -> dict[str, Any]:
    """A document that has nothing yet, from the line which opens it."""
    match = _BEGIN.match(line)
    if match is None or not match[1]:
        raise ValueError(f"{path}, line {i + 1}: {line!r} names no document; write '#begin document (NAME); part 000'")
    name = match[1]
    genre = name.split("/")[0] if "/" in name else name.split("_")[1] if name.count("_") > 1 else ""
    lists = ["sentences", "mentions", "pos", "lemma", "speaker"]
    if layer != "conll2012":
        lists += ["heads", "relation"]
    return {"name": name, "part": int(match[2] or 0), "genre": genre} | {key: [] for key in lists}


def _columns(path: str | os.PathLike, i: int, line: str, layer: Layer) -> list[str]:
    """The cells of one token's line."""
    cells = line.split("\t") if "\t" in line else line.split()
    if len(cells) < _N_COLUMNS:
        raise ValueError(
            f"{path}, line {i + 1}: {line[:40]!r} has {len(cells)} column(s), layer {layer!r} needs {_N_COLUMNS}; "
            "complete the line or choose another layer"
        )
    return cells


def _add_sentence(document: dict[str, Any], rows: list[list[str]], layer: Layer, file: str, first_line: int) -> None:
    """Take the lines of one sentence into a document."""
    s = len(document["sentences"])
    sentence: dict[str, list] = {
        "sentences": [row[3] for row in rows],
        "pos": [row[4] for row in rows],
        "lemma": [row[3] if row[6] in _NOTHING else row[6] for row in rows],
        "speaker": ["" if row[9] in _NOTHING else row[9] for row in rows],
    }
    chains = _spans([row[-1] for row in rows], file, first_line)
    typed = _names([row[10] for row in rows])
    if layer != "conll2012":
        sentence["heads"] = [_head(row[7], len(rows), f"{file} {first_line + i}") for i, row in enumerate(rows)]
        sentence["relation"] = [row[8] for row in rows]
        entities = _spans([row[_GUM_ENTITIES] for row in rows], file, first_line)
        typed = {span: name.rpartition("-")[0] for span, name in entities}
        if layer == "gum":
            chains = [(span, name.rpartition("-")[2]) for span, name in entities]
    for key, entries in sentence.items():
        document[key].append(entries)
    for span, name in chains:
        kind = typed[span] if span in typed else _type_of_head(sentence, span, typed)
        document["mentions"].append(
            {"sentence": s, "start": span[0], "end": span[1], "entity": name, "entity_type": kind}
        )


def _type_of_head(sentence: dict[str, list], span: _Span, typed: dict[_Span, str]) -> str:
    """The type of the shortest typed span that has the same head, ``""`` if there is none."""
    head = _place_of_head(sentence, span)
    around = sorted((b - a, (a, b)) for a, b in typed if a <= head < b)
    return next((typed[other] for _, other in around if _place_of_head(sentence, other) == head), "")


def _place_of_head(sentence: dict[str, list], span: _Span) -> int:
    """Which word of the sentence is the head of a span."""
    start, end = span
    cut = {key: entries[start:end] for key, entries in sentence.items()}
    heads = [place - start for place in cut["heads"]] if "heads" in cut else None
    return start + find_head(cut["sentences"], cut["pos"], heads, cut.get("relation"))


def _head(cell: str, n: int, where: str) -> int:
    """The place in the sentence of the word depended on, -1 for the root."""
    if not cell.isdigit() or int(cell) > n:
        raise ValueError(f"{where}: head {cell!r} in a sentence of {n} words; give a number from 0 (root) to {n}")
    return int(cell) - 1


def _spans(cells: list[str], file: str, first_line: int) -> list[tuple[_Span, str]]:
    """The bracketed spans of a sentence's column, each with the name in its brackets."""
    spans: list[tuple[_Span, str]] = []
    open_at: dict[str, list[int]] = {}
    for i, cell in enumerate(cells):
        if cell in _NOTHING:
            continue
        for piece in cell.split("|"):
            opens, closes, name = piece.startswith("("), piece.endswith(")"), piece.strip("()")
            if not name or not (opens or closes):
                raise ValueError(f"{file} {first_line + i}: {piece!r} in {cell!r}; write '(4', '4)' or '(4)'")
            if opens:
                open_at.setdefault(name, []).append(i)
            if closes:
                if not open_at.get(name):
                    raise ValueError(
                        f"{file} {first_line + i}: {piece!r} closes a mention that was not opened in this sentence; "
                        f"add '({name}' before it"
                    )
                # Of several open mentions of an entity the last one closes first.
                spans.append(((open_at[name].pop(), i + 1), name))
    for name, places in open_at.items():
        if places:
            raise ValueError(
                f"{file} {first_line + places[-1]}: mention '({name}' is never closed in its sentence; add '{name})'"
            )
    return spans


def _names(cells: list[str]) -> dict[_Span, str]:
    """The spans of a column of names such as ``(PERSON*``, ``*)`` and ``(GPE)``, without complaint."""
    types: dict[_Span, str] = {}
    start, name = 0, ""
    for i, cell in enumerate(cells):
        if cell.startswith("("):
            start, name = i, cell.strip("(*)")
        if cell.endswith(")") and name:
            types[start, i + 1] = name
            name = ""
    return types
