"""Seminar announcements by e-mail, with start time, end time, speaker and location marked."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from walkstep.data.readers._files import read_lines
from walkstep.data.readers._json_lines import json_objects, text_of
from walkstep.data.sequences import Sequences

FIELD_TAGS = ("stime", "etime", "speaker", "location")
STRUCTURE_TAGS = ("paragraph", "sentence")

Sentences = Literal["line", "document"]
Trouble = Literal["widened", "broken", "overlapping", "empty"]

# Letters, digits and punctuation part, so that fields may begin and end at any of them ("<stime>5:00 p.m</stime>.");
# a run of one punctuation mark, a ruled line say, is one token.
_TOKEN = re.compile(r"[^\W\d_]+|\d+|([^\w\s]|_)\1*")
_TAG = re.compile(r"<(/?)([A-Za-z]+)>")
_LABEL = re.compile(r"[^\w\n]*([A-Za-z][A-Za-z/&.'-]*(?: [A-Za-z/&.'-]+){0,2})\s*:(?!//)")
_NO_LABEL = "none"
_INDENTS = ((0, "0"), (7, "1-7"), (23, "8-23"))
_WIDE_INDENT = "24+"


class Field(NamedTuple):
    """A marked stretch of an announcement: characters ``start:stop`` of its text."""

    tag: str
    start: int
    stop: int


class Announcement(NamedTuple):
    """One e-mail."""

    name: str
    text: str
    fields: tuple[Field, ...]

    def words_of(self, tag: str) -> list[str]:
        """The text of every field of one kind."""
        return [self.text[field.start : field.stop] for field in self.fields if field.tag == tag]


class Misfit(NamedTuple):
    """A field whose tokens do not spell it exactly, and why.

    ``"widened"``: it begins or ends inside a word, and takes the whole word. ``"broken"``: it goes over the
    end of a line, and is a span in each. ``"overlapping"``: its tokens, or part of them, are another field's.
    ``"empty"``: no token is in it.
    """

    announcement: str
    field: Field
    trouble: Trouble


@dataclass(frozen=True)
class Seminars:
    """Announcements, and their tokens with tags.

    Parameters
    ----------
    announcements : tuple of Announcement
        The texts and fields.
    sequences : Sequences
        One document an announcement. Tags are BIO. Columns show the layout: ``part`` (``header``, the lines
        before the first blank one, or ``body``), ``label`` (the words before a colon that open the
        line, or with a ``+`` those of the lines above it up to a blank line), ``gap`` (what stands before
        the token: ``line``, ``space`` or ``nothing``) and ``indent`` of the line, in four classes.
    misfits : tuple of Misfit
        Fields that do not stand in the tags exactly as marked.
    blank : tuple of str
        Names of announcements without a word, which are left out of all the others. (The corpus has one.)
    """

    announcements: tuple[Announcement, ...]
    sequences: Sequences
    misfits: tuple[Misfit, ...]
    blank: tuple[str, ...] = ()

    @property
    def texts(self) -> list[str]:
        """The text of each announcement."""
        return [announcement.text for announcement in self.announcements]

    @property
    def speakers(self) -> list[list[str]]:
        """The speakers marked in each announcement."""
        return [announcement.words_of("speaker") for announcement in self.announcements]


def read_seminars(
    path: str | os.PathLike,
    *,
    sentences: Sentences = "line",
    structure: Sequence[str] = STRUCTURE_TAGS,
) -> Seminars:
    """Read seminar announcements, packed as JSON lines or in the original SGML.

    Parameters
    ----------
    path : path
        A file whose name ends in ``.jsonl`` or ``.jsonl.gz``: each line an object with ``id``, ``text`` and
        ``fields``, a list of objects with ``tag``, ``start``, ``end`` (characters of the text) and,
        if it is to be checked, ``text``. Or one announcement in SGML; or a folder of such files.
    sentences : {"line", "document"}
        What is one sentence: each line of the e-mail, or all of it. Fields that go over the end of a
        line stay whole with ``"document"`` only.
    structure : sequence of str
        Tags of the SGML that are taken out. They carry nothing here, so they need not be balanced: in
        the original, some are not. ``<word>`` is read as text if no ``</word>`` is in the file.

    Raises
    ------
    ValueError
        With file and line of: JSON that is cut off, fields outside the text, tags that are unknown or not
        balanced; or if no announcement has a word.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "talk.sgml")
    ...     _ = path.write_text("Time: <stime>3:30 PM</stime>\\nWho: <speaker>Dr. A. Smith</speaker>\\n")
    ...     seminars = read_seminars(path)
    >>> seminars.sequences.sentence(0), seminars.sequences.tags[:5]
    (['Time', ':', '3', ':', '30', 'PM'], ['O', 'O', 'B-stime', 'I-stime', 'I-stime'])
    >>> seminars.sequences.columns["label"][-1], seminars.misfits
    ('who', ())
    """
    if sentences not in get_args(Sentences):
        raise ValueError(f"sentences is {sentences!r}; give one of {', '.join(get_args(Sentences))}")
    path = Path(path)
    if path.name.removesuffix(".gz").endswith(".jsonl"):
        announcements = [_from_json(where, content) for where, content in json_objects(path, ("id", "text", "fields"))]
    else:
        files = _files_of_folder(path) if path.is_dir() else [path]
        announcements = [_from_sgml(file, structure) for file in files]
    seminars = tokenise(announcements, sentences=sentences)
    if not seminars.announcements:
        raise ValueError(f"{path} holds no word; give a file or folder of announcements")
    return seminars


def tokenise(announcements: Iterable[Announcement], *, sentences: Sentences = "line") -> Seminars:
    """Cut announcements into tokens, with tags in BIO and columns of their layout. See `read_seminars`.

    Examples
    --------
    >>> talk = Announcement("a", "Mel Siegel talks", (Field("speaker", 0, 9),))
    >>> seminars = tokenise([talk])
    >>> seminars.sequences.tags, seminars.misfits[0].trouble
    (['B-speaker', 'I-speaker', 'O'], 'widened')
    """
    given = tuple(announcements)
    announcements = tuple(announcement for announcement in given if _TOKEN.search(announcement.text))
    tokens: list[str] = []
    tags: list[str | None] = []
    columns: dict[str, list[str]] = {"part": [], "label": [], "gap": [], "indent": []}
    sentence_starts: list[int] = []
    document_ptr = [0]
    misfits: list[Misfit] = []
    for announcement in announcements:
        text = announcement.text
        matches = list(_TOKEN.finditer(text))
        starts = np.fromiter((match.start() for match in matches), np.int64, len(matches))
        stops = np.fromiter((match.end() for match in matches), np.int64, len(matches))
        line_ends = np.flatnonzero(np.frombuffer(text.encode("utf-32-le"), np.uint32) == ord("\n"))
        line = np.searchsorted(line_ends, starts)
        opens_line = np.diff(line, prepend=-1) != 0
        opens = opens_line if sentences == "line" else np.arange(len(matches)) == 0
        tags += _tags(announcement, starts, stops, opens, misfits)
        for name, of_line in _layout(text).items():
            columns[name] += [of_line[i] for i in line.tolist()]
        touches = starts == np.concatenate([[-1], stops[:-1]])
        columns["gap"] += np.where(opens_line, "line", np.where(touches, "nothing", "space")).tolist()
        sentence_starts += (len(tokens) + np.flatnonzero(opens)).tolist()
        document_ptr.append(len(sentence_starts))
        tokens += [match[0] for match in matches]
    sentence_ptr = np.array([*sentence_starts, len(tokens)], np.int64)
    sequences = Sequences(tokens, sentence_ptr, np.array(document_ptr, np.int64), columns, tags)
    blank = tuple(announcement.name for announcement in given if not _TOKEN.search(announcement.text))
    return Seminars(announcements, sequences, tuple(misfits), blank)


def _tags(
    announcement: Announcement,
    starts: np.ndarray,
    stops: np.ndarray,
    opens: np.ndarray,
    misfits: list[Misfit],
) -> list[str]:
    """BIO tags of one announcement's tokens; what does not fit is added to ``misfits``."""
    tags = ["O"] * len(starts)
    for field in sorted(announcement.fields, key=lambda field: (field.start, field.stop)):
        inside = announcement.text[field.start : field.stop]
        # Blanks at the edges of a field are no part of any token.
        start = field.start + len(inside) - len(inside.lstrip())
        stop = field.start + len(inside.rstrip())
        first = int(np.searchsorted(stops, start, side="right"))
        last = int(np.searchsorted(starts, stop, side="left"))
        if first >= last or start >= stop:
            misfits.append(Misfit(announcement.name, field, "empty"))
            continue
        if starts[first] != start or stops[last - 1] != stop:
            misfits.append(Misfit(announcement.name, field, "widened"))
        if opens[first + 1 : last].any():
            misfits.append(Misfit(announcement.name, field, "broken"))
        free = [t for t in range(first, last) if tags[t] == "O"]
        if len(free) < last - first:
            misfits.append(Misfit(announcement.name, field, "overlapping"))
        for k, t in enumerate(free):
            tags[t] = f"{'B' if k == 0 or opens[t] else 'I'}-{field.tag}"
    return tags


def _layout(text: str) -> dict[str, list[str]]:
    """What is known of each line of an announcement."""
    parts, labels, indents = [], [], []
    part, above, begun = "header", _NO_LABEL, False
    for line in text.split("\n"):
        blank = not line.strip()
        if blank:
            part, above = ("body" if begun else part), _NO_LABEL
        begun |= not blank
        match = _LABEL.match(line)
        if match:
            label = match[1].lower().replace(" ", "_")
            above = f"{label}+"
        else:
            label = above
        parts.append(part)
        labels.append(label)
        wide = line.expandtabs()
        indent = len(wide) - len(wide.lstrip())
        indents.append(next((name for most, name in _INDENTS if indent <= most), _WIDE_INDENT))
    return {"part": parts, "label": labels, "indent": indents}


def _from_json(where: str, content: dict[str, Any]) -> Announcement:
    """One line as an announcement."""
    text = text_of(where, content, "text")
    if not isinstance(content["fields"], list):
        raise ValueError(f"{where}: fields is {content['fields']!r:.60}; write a list of objects")
    fields = []
    for f, entry in enumerate(content["fields"]):
        at = f"{where}, field {f}"
        if not isinstance(entry, dict) or not {"tag", "start", "end"} <= entry.keys():
            raise ValueError(f"{at} is {entry!r:.60}; write an object with tag, start and end")
        tag, start, stop = entry["tag"], entry["start"], entry["end"]
        if tag not in FIELD_TAGS:
            raise ValueError(f"{at}: tag is {tag!r}; give one of {', '.join(FIELD_TAGS)}")
        if not (isinstance(start, int) and isinstance(stop, int) and 0 <= start <= stop <= len(text)):
            raise ValueError(f"{at}: characters {start!r}:{stop!r} are not within the text's {len(text)}; correct them")
        if entry.get("text", text[start:stop]) != text[start:stop]:
            raise ValueError(
                f"{at} is said to be {entry['text']!r:.40}, but characters {start}:{stop} are "
                f"{text[start:stop]!r:.40}; correct start and end"
            )
        fields.append(Field(tag, start, stop))
    return Announcement(str(content["id"]), text, tuple(fields))


def _from_sgml(path: Path, structure: Sequence[str]) -> Announcement:
    """One tagged file as an announcement: tags out, fields as offsets into what is left."""
    source = "\n".join(read_lines(path))
    tags = [(match, match[1] == "/", match[2].lower()) for match in _TAG.finditer(source)]
    closed = {name for _, closes, name in tags if closes}
    pieces: list[str] = []
    fields: list[Field] = []
    opened: dict[str, tuple[int, str]] = {}
    kept = copied = 0
    for match, closes, name in tags:
        where = f"{path}, line {source.count(chr(10), 0, match.start()) + 1}"
        if name not in FIELD_TAGS and name not in structure:
            if name in closed:
                raise ValueError(
                    f"{where}: tag {match[0]} is not known; the fields are {', '.join(FIELD_TAGS)}, "
                    f"and tags named in structure={tuple(structure)} are taken out: add it there"
                )
            continue
        pieces.append(source[copied : match.start()])
        kept += len(pieces[-1])
        copied = match.end()
        if name in structure:
            continue
        if not closes:
            if name in opened:
                raise ValueError(f"{where}: {match[0]} opens inside that of {opened[name][1]}; close it first")
            opened[name] = (kept, where)
        elif name in opened:
            fields.append(Field(name, opened.pop(name)[0], kept))
        else:
            raise ValueError(f"{where}: {match[0]} closes what is not open; remove it, or open it with <{name}>")
    if opened:
        name, (_, where) = next(iter(opened.items()))
        raise ValueError(f"{where}: <{name}> is not closed; write </{name}> where the field ends")
    text = "".join([*pieces, source[copied:]])
    return Announcement(path.name, text, tuple(sorted(fields, key=lambda field: (field.start, field.stop))))


def _files_of_folder(folder: Path) -> list[Path]:
    """The announcements of a folder, 2 before 10."""
    files = [file for file in folder.iterdir() if file.is_file() and not file.name.startswith(".")]
    for file in files:
        if file.name.removesuffix(".gz").endswith(".jsonl"):
            raise ValueError(f"{folder} holds {file.name}, which is packed; give that file, or a folder of SGML alone")
    if not files:
        raise ValueError(f"{folder} holds no file; give a folder with one announcement a file")
    return sorted(files, key=lambda file: [int(p) if p.isdecimal() else p for p in re.split(r"([0-9]+)", file.name)])
