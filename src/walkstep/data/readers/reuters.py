"""Reuters-21578: newswire stories and their topics, as JSON lines or in the original SGML."""

import html
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from walkstep.data.readers._files import read_bytes
from walkstep.data.readers._json_lines import json_objects, text_of

Split = Literal["train", "test"]

_STORY = re.compile(r"<REUTERS\b([^>]*)>(.*?)</REUTERS>", re.DOTALL)
_OPENING = re.compile(r"<REUTERS\b")
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
_TOPIC = re.compile(r"<D>(.*?)</D>", re.DOTALL)
_TEXT = re.compile(r"<TEXT\b[^>]*>(.*?)</TEXT>", re.DOTALL)
_TITLE = re.compile(r"<TITLE>(.*?)</TITLE>", re.DOTALL)
_BODY = re.compile(r"<BODY>(.*?)</BODY>", re.DOTALL)
_LINE_ABOVE = re.compile(r"<(TITLE|AUTHOR|DATELINE)>.*?</\1>", re.DOTALL)


class Story(NamedTuple):
    """A newswire story."""

    id: int  # NEWID of the original
    topics: frozenset[str]
    title: str  # may be empty
    body: str

    @property
    def text(self) -> str:
        """Title and body, a line end between them."""
        return f"{self.title}\n{self.body}" if self.title else self.body


@dataclass(frozen=True)
class Stories:
    """Newswire stories, with the texts and the topic sets that a classifier takes.

    Examples
    --------
    >>> stories = Stories((Story(1, frozenset({"grain", "corn"}), "CORN UP", "Prices rose."),))
    >>> stories.texts, stories.topic_names
    (['CORN UP\\nPrices rose.'], ['corn', 'grain'])
    """

    stories: tuple[Story, ...]

    def __len__(self) -> int:
        return len(self.stories)

    def __iter__(self) -> Iterator[Story]:
        return iter(self.stories)

    @property
    def texts(self) -> list[str]:
        """The text of each story."""
        return [story.text for story in self.stories]

    @property
    def topics(self) -> list[frozenset[str]]:
        """The topic set of each story."""
        return [story.topics for story in self.stories]

    @property
    def topic_names(self) -> list[str]:
        """All topics that occur, in order."""
        return sorted(set[str]().union(*self.topics))


def read_reuters(path: str | os.PathLike) -> Stories:
    """Read stories from JSON lines.

    Each line is an object with ``id``, ``topics`` (a list of names), ``title`` and ``body``.

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
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "tiny.jsonl")
    ...     line = json.dumps({"id": 6, "topics": ["grain"], "title": "CORN UP", "body": "Prices rose."})
    ...     _ = path.write_text(line)
    ...     read_reuters(path).topics
    [frozenset({'grain'})]
    """
    stories = []
    for where, content in json_objects(path, ("id", "topics", "title", "body")):
        topics = content["topics"]
        if not isinstance(topics, list) or not all(isinstance(topic, str) for topic in topics):
            raise ValueError(f"{where}: topics is {topics!r:.60}; write a list of names")
        if not isinstance(content["id"], int):
            raise ValueError(f"{where}: id is {content['id']!r}; write a whole number")
        title, body = text_of(where, content, "title"), text_of(where, content, "body")
        stories.append(Story(content["id"], frozenset(topics), title, body))
    return _checked(path, stories)


def read_reuters_sgml(path: str | os.PathLike, split: Split = "train") -> Stories:
    """Read one side of the ModApte split from the original SGML.

    ModApte takes the stories with the attribute ``TOPICS="YES"`` and ``LEWISSPLIT`` of ``TRAIN`` or
    ``TEST``. As in the packed files, stories without any topic are left out.

    Parameters
    ----------
    path : path
        One file (``reut2-000.sgm``), or a folder that holds all of them.
    split : {"train", "test"}
        Which side.

    Raises
    ------
    ValueError
        With the file and line of a story that is not closed or bears no number, or if no story is left.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "reut2-000.sgm")
    ...     _ = path.write_text(
    ...         '<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" NEWID="6"><TOPICS><D>grain</D></TOPICS>'
    ...         "<TEXT><TITLE>CORN UP</TITLE><BODY>Prices of A&amp;B rose.&#3;</BODY></TEXT></REUTERS>"
    ...     )
    ...     read_reuters_sgml(folder).texts
    ['CORN UP\\nPrices of A&B rose.']
    """
    if split not in get_args(Split):
        raise ValueError(f"split is {split!r}; give one of {', '.join(get_args(Split))}")
    files = [Path(path)]
    if files[0].is_dir():
        files = sorted(files[0].glob("reut2-*.sgm"))
        if not files:
            raise ValueError(f"{path} holds no file reut2-*.sgm; give the folder of the unpacked collection")
    stories = [story for file in files for story in _sgml_stories(file, split)]
    if not stories:
        raise ValueError(f"{path} holds no {split} story with a topic; give other files or the other split")
    return _checked(path, stories)


def _sgml_stories(path: Path, split: Split) -> list[Story]:
    """The stories of one file that are on one side of the split and have a topic."""
    # The collection is ASCII but for a few stray bytes (reut2-017.sgm), which Latin-1 lets pass.
    text = read_bytes(path).decode("latin-1").replace("\r\n", "\n")
    stories = []
    end = 0
    for opening in _OPENING.finditer(text):
        where = f"{path}, line {text.count(chr(10), 0, opening.start()) + 1}"
        match = _STORY.match(text, opening.start())
        if opening.start() < end or match is None or _OPENING.search(match[2]):
            raise ValueError(f"{where}: the story is not closed by </REUTERS>; fetch the file again if it is cut off")
        end = match.end()
        attributes = dict(_ATTRIBUTE.findall(match[1]))
        if not attributes.get("NEWID", "").isdecimal():
            raise ValueError(f"{where}: NEWID is {attributes.get('NEWID')!r}; give every story its number")
        topics = _TOPICS.search(match[2])
        names = frozenset(_clean(name) for name in _TOPIC.findall(topics[1])) if topics else frozenset[str]()
        if names and attributes.get("TOPICS") == "YES" and attributes.get("LEWISSPLIT") == split.upper():
            stories.append(Story(int(attributes["NEWID"]), names, *_title_and_body(match[2])))
    return stories


def _title_and_body(content: str) -> tuple[str, str]:
    """Title and body of a story; of one that was not cut into parts, all its text is body."""
    text = _TEXT.search(content)
    whole = text[1] if text else ""
    title, body = _TITLE.search(whole), _BODY.search(whole)
    return _clean(title[1]) if title else "", _clean(body[1] if body else _LINE_ABOVE.sub("", whole))


def _clean(text: str) -> str:
    """Text without entities and the end mark (character 3), white space around it cut."""
    return html.unescape(text).replace("\x03", "").strip()


def _checked(path: str | os.PathLike, stories: list[Story]) -> Stories:
    """All stories, after a look for two with one number."""
    seen = set[int]()
    for story in stories:
        if story.id in seen:
            raise ValueError(f"{path} holds story {story.id} twice; leave one out")
        seen.add(story.id)
    return Stories(tuple(stories))
