"""ConVote: speeches of US House debates, the votes of their speakers, and who refers to whom."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from walkstep.data.readers._json_lines import json_objects, text_of

REFERENCE_WORD = "<reference>"
SPLITS = ("training", "development", "test")
VOTES = ("Y", "N")

# Six digits are the speaker's; the authors' README calls the seventh a relic of early experiments.
_MARK = re.compile(r"xz(\d{6})\d")
_ANY_MARK = re.compile(r"(?<!\S)xz\d{7}(?!\S)")
_KEYS = ("debate", "speaker", "page", "position", "bill_mentioned", "vote", "stages", "text_refs")


@dataclass(frozen=True)
class Speech:
    """What one member said without a break.

    Parameters
    ----------
    name : str
        Debate, speaker, page and position: the file's name in the original release, without
        its ending, which tells party and vote.
    debate, speaker : str
        The bill under discussion, and who speaks.
    vote : {"Y", "N"}
        How the speaker voted on the bill: the label.
    page, position : int
        Page of the record, and place on the page: the order of speeches.
    bill_mentioned : bool
        Whether the speech itself names the bill, or only another speech of its page.
    stages : tuple of int
        Which of the three data stages hold the speech: 1 trains the agreement classifier, 2 gives
        references, 3 is classified.
    text : str or None
        The text to classify; ``None`` if the speech is not in stage three.
    full_text : str
        The text of stages one and two, reference marks taken out.
    """

    name: str
    debate: str
    speaker: str
    vote: str
    page: int
    position: int
    bill_mentioned: bool
    stages: tuple[int, ...]
    text: str | None
    full_text: str


@dataclass(frozen=True)
class Reference:
    """One member naming another.

    Parameters
    ----------
    speech : int
        Position of the speech in which it stands.
    debate, speaker, target : str
        The debate, who refers, and to whom.
    target_stages : tuple of int
        The data stages in which the target speaks in this debate; empty if never.
    left, right : tuple of str
        The words before and after the mark; other marks among them are ``REFERENCE_WORD``.
    """

    speech: int
    debate: str
    speaker: str
    target: str
    target_stages: tuple[int, ...]
    left: tuple[str, ...]
    right: tuple[str, ...]

    @property
    def target_speaks(self) -> bool:
        """Whether the one referred to speaks in this debate."""
        return bool(self.target_stages)


@dataclass(frozen=True)
class Debate:
    """All that was said on one bill: its speakers, and the positions of its speeches, in order of the record."""

    name: str
    speakers: tuple[str, ...]
    speeches: tuple[int, ...]


@dataclass(frozen=True)
class Debates:
    """Debates with their speeches and references; parties are left out, as the authors left them out.

    Examples
    --------
    >>> Debates((), (), ()).speakers
    ()
    """

    debates: tuple[Debate, ...]
    speeches: tuple[Speech, ...]
    references: tuple[Reference, ...]

    @property
    def speakers(self) -> tuple[str, ...]:
        """Everyone who speaks, in order of their numbers."""
        return tuple(sorted({speech.speaker for speech in self.speeches}))


def read_convote(path: str | os.PathLike, *, words_before: int = 30, words_after: int = 20) -> Debates:
    """Read the speeches of one part of the corpus.

    Each line is an object with ``debate``, ``speaker``, ``page``, ``position``, ``bill_mentioned``
    (M or O), ``vote`` (Y or N), ``stages``, ``text_refs`` and, in stage three, ``text``; others are not read.
    References stand in ``text_refs`` as a word of ``xz`` and seven digits, of which the first six are the
    speaker referred to; other words are left as they are.

    Parameters
    ----------
    path : path
        A UTF-8 text file, or such a file packed as ``.gz``.
    words_before, words_after : int
        How many words around a mark are kept with the reference, within the speech.

    Raises
    ------
    ValueError
        With the file and line of what is missing or does not fit.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> speech = {"debate": "006", "speaker": "400001", "page": "0002"}
    >>> speech |= {"position": "001", "bill_mentioned": "O", "vote": "Y", "stages": [1, 2]}
    >>> speech |= {"text_refs": "i thank ( mr. smith ) xz4000020 for this"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "tiny.jsonl")
    ...     _ = path.write_text(json.dumps(speech))
    ...     reference = read_convote(path, words_before=4).references[0]
    >>> reference.target, reference.target_speaks, reference.left, reference.right
    ('400002', False, ('(', 'mr.', 'smith', ')'), ('for', 'this'))
    """
    for name, n_words in (("words_before", words_before), ("words_after", words_after)):
        if n_words < 0:
            raise ValueError(f"{name} is {n_words}; give 0 or more")
    speeches: list[Speech] = []
    marked: list[str] = []
    line_of_name: dict[str, str] = {}
    vote_of_speaker: dict[tuple[str, str], str] = {}
    for where, content in json_objects(path, _KEYS):
        speech = _speech(where, content)
        if speech.name in line_of_name:
            raise ValueError(
                f"{where}: speech {speech.name!r} stands at {line_of_name[speech.name]} too; leave one out"
            )
        line_of_name[speech.name] = where
        # A debate is one vote, so a speaker has one label in it.
        if vote_of_speaker.setdefault((speech.debate, speech.speaker), speech.vote) != speech.vote:
            raise ValueError(
                f"{where}: speaker {speech.speaker} votes {speech.vote} in debate {speech.debate}, "
                "and otherwise in an earlier line; give each speaker of a debate one vote"
            )
        speeches.append(speech)
        marked.append(content["text_refs"])
    references = _references(speeches, marked, words_before, words_after)
    return Debates(_debates(speeches), tuple(speeches), tuple(references))


def read_convote_splits(
    folder: str | os.PathLike, *, words_before: int = 30, words_after: int = 20
) -> dict[str, Debates]:
    """Read whichever of the parts training, development and test lie in a folder.

    They are the files ``speeches.training.jsonl.gz`` and so on.

    Examples
    --------
    >>> read_convote_splits("no-such-folder")
    Traceback (most recent call last):
    ...
    FileNotFoundError: no-such-folder holds no file speeches.*.jsonl.gz of training, development, test; \
give the folder that holds them
    """
    paths = {split: Path(folder, f"speeches.{split}.jsonl.gz") for split in SPLITS}
    found = {
        split: read_convote(path, words_before=words_before, words_after=words_after)
        for split, path in paths.items()
        if path.is_file()
    }
    if not found:
        raise FileNotFoundError(
            f"{folder} holds no file speeches.*.jsonl.gz of {', '.join(SPLITS)}; give the folder that holds them"
        )
    return found


def _speech(where: str, content: dict[str, Any]) -> Speech:
    """One line as a speech."""
    stages = content["stages"]
    if not isinstance(stages, list) or not stages or not set(map(repr, stages)) <= {"1", "2", "3"}:
        raise ValueError(f"{where}: stages is {stages!r}; write a list of some of 1, 2, 3")
    if (3 in stages) != (content.get("text") is not None):
        raise ValueError(f"{where}: stages is {stages!r}; give text where it holds 3, and nowhere else")
    debate, speaker = text_of(where, content, "debate"), text_of(where, content, "speaker")
    mentioned = _one_of(where, content, "bill_mentioned", ("M", "O")) == "M"
    return Speech(
        name=f"{debate}_{speaker}_{content['page']}{content['position']}",
        debate=debate,
        speaker=speaker,
        vote=_one_of(where, content, "vote", VOTES),
        page=_number(where, content, "page"),
        position=_number(where, content, "position"),
        bill_mentioned=mentioned,
        stages=tuple(sorted(stages)),
        text=text_of(where, content, "text") if 3 in stages else None,
        full_text=_ANY_MARK.sub("", text_of(where, content, "text_refs")),
    )


def _one_of(where: str, content: dict[str, Any], key: str, options: Iterable[str]) -> str:
    """An entry that must be one of a few."""
    if content[key] not in options:
        raise ValueError(f"{where}: {key} is {content[key]!r}; give one of {', '.join(options)}")
    return content[key]


def _number(where: str, content: dict[str, Any], key: str) -> int:
    """An entry written in digits."""
    written = str(content[key])
    if not written.isdecimal():
        raise ValueError(f"{where}: {key} is {content[key]!r}; write it in digits")
    return int(written)


def _references(speeches: list[Speech], marked: list[str], words_before: int, words_after: int) -> list[Reference]:
    """Every mark with its surroundings, speech by speech."""
    stages: dict[tuple[str, str], set[int]] = {}
    for speech in speeches:
        stages.setdefault((speech.debate, speech.speaker), set()).update(speech.stages)
    references = []
    for s, (speech, text) in enumerate(zip(speeches, marked, strict=True)):
        if "xz" not in text:
            continue
        words = text.split()
        marks = [(w, match[1]) for w, word in enumerate(words) if (match := _MARK.fullmatch(word))]
        for w, _ in marks:
            words[w] = REFERENCE_WORD
        for w, target in marks:
            target_stages = tuple(sorted(stages.get((speech.debate, target), ())))
            left = tuple(words[max(0, w - words_before) : w])
            right = tuple(words[w + 1 : w + 1 + words_after])
            references.append(Reference(s, speech.debate, speech.speaker, target, target_stages, left, right))
    return references


def _debates(speeches: list[Speech]) -> tuple[Debate, ...]:
    """Speeches gathered by debate, in order of the record."""
    members: dict[str, list[int]] = {}
    for s, speech in enumerate(speeches):
        members.setdefault(speech.debate, []).append(s)
    return tuple(
        Debate(
            name,
            tuple(sorted({speeches[s].speaker for s in inside})),
            tuple(sorted(inside, key=lambda s: (speeches[s].page, speeches[s].position))),
        )
        for name, inside in sorted(members.items())
    )
