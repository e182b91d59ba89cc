"""Column files: one token a line, a blank line between sentences; and plain running text."""

import os
from collections.abc import Sequence
from typing import IO

import numpy as np
from numpy.typing import NDArray

from walkstep.data.readers._files import decode, read_bytes, written_whole
from walkstep.data.sequences import Sequences

DOCUMENT_START = "-DOCSTART-"
UNKNOWN_TAGS = ("_", "?")
_WHITE = b" \t\n\r\x0b\x0c"  # what bytes.split() splits on; a no-break space is part of a word
_NEWLINE = 10


def read_conll(
    path: str | os.PathLike,
    *,
    tag_column: int | None = -1,
    word_column: int = 0,
    column_names: Sequence[str] | None = None,
) -> Sequences:
    """Read a file of columns: one token a line, a blank line between sentences.

    Columns are separated by runs of white space. Where the first token's line holds a tab, and no two tabs
    of the file touch, they are separated by tabs alone, so that a word may contain spaces.
    Lines whose first column is ``-DOCSTART-`` open a document and are not tokens; in a file without them,
    every sentence is a document of its own.

    Parameters
    ----------
    path : path
        A UTF-8 text file, or such a file packed as ``.gz``.
    tag_column : int or None
        Which column holds the tags, counted from 0, or from the end if negative. ``_`` and ``?`` stand for
        unknown tags and become ``None``. With ``tag_column=None`` no column holds tags.
    word_column : int
        Which column holds the words.
    column_names : sequence of str, optional
        Names of the remaining columns, in order. Without it they are ``column1``, ``column2``, ..., except
        that the two columns after the word are ``pos`` and ``chunk`` in files laid out as CoNLL-2003:
        four columns, or three of which none holds tags.

    Returns
    -------
    Sequences
        Words, sentences, documents, remaining columns, and tags (``None`` if ``tag_column`` is).

    Raises
    ------
    ValueError
        If the file has no token, is not UTF-8, or has a line with another number of columns than most.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "tiny.conll")
    ...     _ = path.write_text("Ada B-PER\\nwrote O\\n\\nShe O\\ndid _\\n")
    ...     corpus = read_conll(path)
    >>> corpus.n_sentences, corpus.tokens, corpus.tags
    (2, ['Ada', 'wrote', 'She', 'did'], ['B-PER', 'O', 'O', None])
    """
    data = _with_newlines(read_bytes(path))
    decode(path, data)
    return _parse(path, data, tag_column, word_column, column_names)


def read_sentences(path: str | os.PathLike) -> Sequences:
    """Read running text: one sentence a line, words separated by white space.

    Empty lines are passed over; every sentence is a document of its own.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "raw.txt")
    ...     _ = path.write_text("Ada wrote it .\\n\\nShe did .\\n")
    ...     read_sentences(path).sentence(1)
    ['She', 'did', '.']
    """
    text = decode(path, _with_newlines(read_bytes(path)))
    sentences = [words for line in text.split("\n") if (words := line.split())]
    if not sentences:
        raise ValueError(f"{path} holds no words; give a file with one sentence a line")
    return Sequences.from_lists(sentences)


def read_tokens(path: str | os.PathLike, *, tag_column: int | None = None) -> Sequences:
    """Read tokens to be tagged, from a file of columns or from running text, whichever it is.

    A file is read as columns (`read_conll`) if its lines that are not blank

    1. include one that begins with ``-DOCSTART-``, or
    2. hold one word each, or
    3. all hold a tab, or
    4. all hold the same number of words, and are at least four, or are in groups between blank lines
       of which one has several lines;

    otherwise as one sentence a line (`read_sentences`). Call either of these where you know better.

    Parameters
    ----------
    path : path
        The file.
    tag_column : int or None
        Which column holds tags, if the file has columns and they are wanted.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "raw.txt")
    ...     _ = path.write_text("Ada\\nwrote\\n\\nShe\\ndid\\n")
    ...     columns = read_tokens(path)
    ...     _ = path.write_text("Ada wrote\\nShe did so\\n")
    ...     text = read_tokens(path)
    >>> columns.sentence(1), text.sentence(1)
    (['She', 'did'], ['She', 'did', 'so'])
    """
    data = _with_newlines(read_bytes(path))
    decode(path, data)
    if _looks_like_columns(data):
        return _parse(path, data, tag_column, 0, None)
    return read_sentences(path)


def write_conll(
    path_or_file: str | os.PathLike | IO[str],
    sequences: Sequences,
    tags: Sequence[str | None] | None,
) -> None:
    """Write tokens and their tags as columns: the word, the further columns, the tag.

    A path is written whole or not at all: whatever goes wrong, no half-written file stays behind.
    Columns are separated by a space, or by a tab if a cell contains a space. Unknown tags are written as
    ``_``; documents of several sentences open with a ``-DOCSTART-`` line. `read_conll` reads it back.

    Parameters
    ----------
    path_or_file : path or text file
        Where to write.
    sequences : Sequences
        The words, and their further columns.
    tags : sequence of str or None, one a token, or None
        The tags; with ``None``, no tag column is written.

    Examples
    --------
    >>> import sys
    >>> corpus = Sequences.from_lists([["Ada", "wrote"], ["She"]])
    >>> write_conll(sys.stdout, corpus, ["B-PER", "O", None])
    Ada B-PER
    wrote O
    <BLANKLINE>
    She _
    """
    text = _format(sequences, tags)
    if isinstance(path_or_file, str | os.PathLike):
        with written_whole(path_or_file) as file:
            file.write(text)
    else:
        path_or_file.write(text)


def _with_newlines(data: bytes) -> bytes:
    """Lines that end in a carriage return alone are given newlines; other endings are white space anyway."""
    return data.replace(b"\r", b"\n") if b"\r" in data and b"\n" not in data else data


def _parse(
    path: str | os.PathLike,
    data: bytes,
    tag_column: int | None,
    word_column: int,
    column_names: Sequence[str] | None,
) -> Sequences:
    """The sequences of a file's bytes, which are known to be UTF-8."""
    document_line, data = _cut_document_starts(data)
    n_columns_of_line, words = _words(data)
    is_token = n_columns_of_line > 0
    token_line = np.flatnonzero(is_token)
    if len(token_line) == 0:
        raise ValueError(f"{path} holds no token; give a file with one token a line")
    if _is_tab_separated(data, int(token_line[0])):
        lines = data.split(b"\n")
        rows = [lines[i].strip(_WHITE).split(b"\t") for i in token_line.tolist()]
        n_columns_of_line[token_line] = [len(row) for row in rows]
        words = b"\n".join([cell.strip(_WHITE) for row in rows for cell in row])
    width = _common_width(path, data, n_columns_of_line, token_line)
    flat = words.decode("utf-8").split("\n")
    columns = [flat[c::width] for c in range(width)]

    word = _position(path, "word_column", word_column, width)
    tag = None if tag_column is None else _position(path, "tag_column", tag_column, width)
    if tag == word:
        raise ValueError(
            f"{path} has {width} column(s), and column {word} is both word_column and tag_column; "
            "pass tag_column=None if the file has no tags"
        )
    rest = [c for c in range(width) if c not in (word, tag)]
    names = _column_names(path, rest, width, has_tags=tag is not None, given=column_names)

    starts_sentence = is_token.copy()
    starts_sentence[1:] &= ~is_token[:-1]
    first_line = np.flatnonzero(starts_sentence)
    return Sequences(
        tokens=columns[word],
        sentence_ptr=np.append(np.searchsorted(token_line, first_line), len(token_line)).astype(np.int64),
        document_ptr=_document_ptr(document_line, first_line),
        columns={name: columns[c] for name, c in zip(names, rest, strict=True)},
        tags=None if tag is None else _without_unknown(columns[tag]),
    )


def _cut_document_starts(data: bytes) -> tuple[NDArray[np.int64], bytes]:
    """The lines that open documents, and the bytes with those lines left blank."""
    mark = DOCUMENT_START.encode()
    pieces, lines = [], []
    n_lines = done = counted = 0
    at = data.find(mark)
    while at >= 0:
        line_start = data.rfind(b"\n", 0, at) + 1
        after = at + len(mark)
        if not data[line_start:at].strip(_WHITE) and not data[after : after + 1].strip(_WHITE):
            n_lines += data.count(b"\n", counted, line_start)
            counted = line_start
            lines.append(n_lines)
            line_end = data.find(b"\n", after)
            pieces.append(data[done:line_start])
            done = after = len(data) if line_end < 0 else line_end
        at = data.find(mark, after)
    pieces.append(data[done:])
    return np.array(lines, dtype=np.int64), b"".join(pieces)


def _words(data: bytes) -> tuple[NDArray[np.int64], bytes]:
    """How many white-space separated words each line holds, and all words with a newline between them."""
    # Whole-array work, so that a large file costs one decode and one split instead of one a line.
    is_white = np.zeros(256, dtype=bool)
    is_white[list(_WHITE)] = True
    characters = np.frombuffer(data, dtype=np.uint8)
    white = is_white[characters]
    follows_white = np.concatenate([[True], white[:-1]])[: len(white)]
    newline = np.flatnonzero(characters == _NEWLINE)
    line_of_word = np.searchsorted(newline, np.flatnonzero(~white & follows_white))
    kept = np.where(white, np.uint8(_NEWLINE), characters)[~(white & follows_white)]
    return np.bincount(line_of_word, minlength=len(newline) + 1), kept.tobytes().removesuffix(b"\n")


def _is_tab_separated(data: bytes, first_token_line: int) -> bool:
    """Whether the first token's line holds a tab, and tabs are not there to line columns up."""
    if b"\t" not in data or b"\t\t" in data:
        return False
    return b"\t" in data.split(b"\n", first_token_line + 1)[first_token_line].strip(_WHITE)


def _common_width(
    path: str | os.PathLike, data: bytes, n_columns: NDArray[np.int64], token_line: NDArray[np.int64]
) -> int:
    """How many columns all lines have, or an error that names the first line with another number."""
    widths = n_columns[token_line]
    counts = np.bincount(widths)
    width = int(np.flatnonzero(counts == counts.max())[-1])  # of equals the larger: a column gets lost, none is found
    odd = token_line[widths != width]
    if len(odd):
        line = int(odd[0])
        content = data.split(b"\n", line + 1)[line].decode("utf-8").rstrip("\r")
        raise ValueError(
            f"{path}, line {line + 1}: {content!r} has {n_columns[line]} column(s), expected {width} "
            f"as in other lines; complete the line, or leave a blank line between sentences"
        )
    return width


def _position(path: str | os.PathLike, name: str, column: int, width: int) -> int:
    """A column counted from 0, or an error if the file has no such column."""
    if not -width <= column < width:
        raise ValueError(
            f"{path} has {width} column(s), so there is no {name}={column}; "
            f"give one from 0 to {width - 1}, or from -{width} to -1"
        )
    return column % width


def _column_names(
    path: str | os.PathLike, rest: list[int], width: int, *, has_tags: bool, given: Sequence[str] | None
) -> list[str]:
    """Names of the columns that hold neither words nor tags."""
    if given is not None:
        if len(given) != len(rest) or len(set(given)) != len(given):
            raise ValueError(
                f"{path} has {len(rest)} column(s) besides words and tags, "
                f"but column_names is {list(given)}; give each one its own name"
            )
        return list(given)
    names = [f"column{i + 1}" for i in range(len(rest))]
    if rest[:2] == [1, 2] and (width == 4 or (width == 3 and not has_tags)):
        names[:2] = ["pos", "chunk"]
    return names


def _document_ptr(document_line: NDArray[np.int64], first_line: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where documents begin, in sentences; documents without a sentence are not there."""
    n_sentences = len(first_line)
    if len(document_line) == 0:
        return np.arange(n_sentences + 1, dtype=np.int64)
    document = np.searchsorted(document_line, first_line)
    starts = np.flatnonzero(np.concatenate([[True], document[1:] != document[:-1]]))
    return np.append(starts, n_sentences).astype(np.int64)


def _without_unknown(tags: list[str]) -> list[str | None]:
    """The tags, with ``None`` for the marks of an unknown one."""
    if set(UNKNOWN_TAGS).isdisjoint(tags):
        return list(tags)
    return [None if tag in UNKNOWN_TAGS else tag for tag in tags]


def _looks_like_columns(data: bytes) -> bool:
    """Whether bytes are one token a line: the rules stand in `read_tokens`."""
    document_line, data = _cut_document_starts(data)
    if len(document_line):
        return True
    n_words, _ = _words(data)
    is_token = n_words > 0
    if not is_token.any():
        return False
    widths = n_words[is_token]
    if (widths == 1).all():
        return True
    if b"\t" in data and all(b"\t" in line.strip(_WHITE) for line in data.split(b"\n") if line.strip(_WHITE)):
        return True
    starts = np.flatnonzero(is_token & ~np.concatenate([[False], is_token[:-1]]))
    several_groups = 1 < len(starts) < len(widths)
    return bool((widths == widths[0]).all() and (len(widths) >= 4 or several_groups))


def _format(sequences: Sequences, tags: Sequence[str | None] | None) -> str:
    """The text of a file of columns."""
    columns: list[list[str]] = [list(sequences.tokens), *map(list, sequences.columns.values())]
    if tags is not None:
        if len(tags) != sequences.n_tokens:
            raise ValueError(f"there are {sequences.n_tokens} tokens but {len(tags)} tags; give one a token")
        columns.append([UNKNOWN_TAGS[0] if tag is None else tag for tag in tags])
    distinct = {cell for column in columns for cell in column}
    has_space = any(" " in cell for cell in distinct)
    bad = {cell for cell in distinct if not cell or cell.strip(" ") != cell or set(cell) & set("\t\n\r\v\f")}
    if DOCUMENT_START in distinct:
        bad.add(DOCUMENT_START)
    if has_space and len(columns) == 1:
        bad.update(cell for cell in distinct if " " in cell)
    if bad:
        t, cell = next((t, c) for t, row in enumerate(zip(*columns, strict=True)) for c in row if c in bad)
        s = int(np.searchsorted(sequences.sentence_ptr, t, side="right")) - 1
        raise ValueError(
            f"sentence {s}, token {t - int(sequences.sentence_ptr[s])}: {cell!r} cannot stand in a file of "
            "columns; replace empty cells, white space and -DOCSTART- first"
        )
    separator = "\t" if has_space else " "
    lines = [separator.join(row) for row in zip(*columns, strict=True)]
    document_line = separator.join([DOCUMENT_START, *["-X-"] * len(sequences.columns), "O"])
    opens = set()
    if sequences.n_documents != sequences.n_sentences:
        opens = set(sequences.document_ptr[:-1].tolist())
    blocks = []
    ptr = sequences.sentence_ptr.tolist()
    for s in range(sequences.n_sentences):
        if s in opens:
            blocks.append(document_line)
        blocks.append("\n".join(lines[ptr[s] : ptr[s + 1]]))
    return "\n\n".join(blocks) + "\n" if blocks else ""
