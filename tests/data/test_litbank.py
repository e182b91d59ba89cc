import gzip
import json
import os
from pathlib import Path

import pytest

from walkstep.data.mentions import MENTION_TYPES
from walkstep.data.readers.litbank import read_litbank


def mention(sent, start, end, kind="NOM", entity="e", **more):
    base = {"id": "T1", "sent": sent, "start": start, "end": end, "text": "-", "entity_type": "PER"}
    return base | {"mention_type": kind, "entity": entity} | more


BOOK = {
    "doc": "1_book",
    "sentences": [["The", "king", "of", "Spain", "slept"], ["He", "dreamt"]],
    "mentions": [
        mention(0, 0, 3, entity="k"),
        mention(0, 3, 3, "PROP", "s", entity_type="GPE"),
        mention(1, 0, 0, "PRON", "k"),
    ],
    "links": [],
}


def written(folder, *lines, name="tiny.jsonl"):
    path = Path(folder, name)
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return path


@pytest.mark.parametrize("name", ["tiny.jsonl", "tiny.jsonl.gz"])
def test_books_are_read_with_their_types(tmp_path, name):
    documents = read_litbank(written(tmp_path, BOOK, "", BOOK | {"doc": "2_book"}, name=name))
    assert documents.names == ["1_book", "2_book"]
    assert documents.text[:3] == ["The king of Spain", "Spain", "He"]
    assert documents.head_text[:3] == ["king", "Spain", "He"]
    assert documents.entity_type[:3] == ["PER", "GPE", "PER"]
    assert [MENTION_TYPES[k] for k in documents.mention_type[:3]] == ["common", "proper", "pronoun"]
    assert documents.entity.tolist() == [0, 1, 0, 2, 3, 2]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "tiny.jsonl, line 2 is no JSON"),
        ("[1]", r"tiny.jsonl, line 2 is '\[1\]'; write an object"),
        ({"doc": "a", "sentences": []}, "tiny.jsonl, line 2 lacks 'mentions'"),
        (BOOK | {"mentions": [mention(0, 0, 0, "X")]}, "tiny.jsonl, line 2: mention_type 'X'; give one of PROP"),
        (BOOK | {"mentions": [mention(0, 4, 5)]}, "tiny.jsonl: document '1_book', mention 0: words 4:6 of sentence 0"),
    ],
)
def test_errors_name_file_and_line(tmp_path, line, message):
    with pytest.raises(ValueError, match=message):
        read_litbank(written(tmp_path, BOOK, line))


def test_an_empty_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match="holds no document"):
        read_litbank(written(tmp_path, ""))


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("litbank.train.jsonl.gz", (80, 6_956, 168_638, 23_150, 6_304)),
        ("litbank.dev.jsonl.gz", (10, 792, 21_037, 2_819, 760)),
    ],
)
def test_litbank_has_its_published_counts(name, sizes):
    path = Path(os.environ.get("WALKSTEP_DATA", "nowhere"), "litbank", name)
    if not path.exists():
        pytest.skip("set WALKSTEP_DATA to a folder that holds litbank")
    documents = read_litbank(path)
    assert sizes == (
        len(documents),
        documents.n_sentences,
        documents.n_tokens,
        documents.n_mentions,
        documents.n_entities,
    )
