import gzip
import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from walkstep.data.catalogue import DataNotFound, find
from walkstep.data.readers.seminars import FIELD_TAGS, Announcement, Field, read_seminars, tokenise
from walkstep.data.tagging_schemes import span_bounds

MAIL = """<0.1.2.95.someone+@andrew.cmu.edu.0>
Type:     cmu.andrew.talks
Time:     <stime>3:30 p.m</stime>. - <etime>5</etime>
Place:    <location>4623 Wean Hall</location>

<paragraph><sentence>Come and hear <speaker>Dr. A. B.
  Smith</sentence></speaker> <I believe>.</paragraph>
-----------
"""


def field_of(text, tag, words):
    start = text.index(words)
    return {"tag": tag, "start": start, "end": start + len(words), "text": words}


def packed(folder, *lines, name="tiny.jsonl"):
    path = folder / name
    data = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def sgml(folder, text, name="talk.sgml"):
    path = folder / name
    path.write_text(text)
    return path


def spans(sequences):
    bounds = span_bounds(sequences.tags, sequences.sentence_ptr)
    return [
        (bounds.types[kind], " ".join(sequences.tokens[a:b]))
        for a, b, kind in zip(bounds.start, bounds.stop, bounds.type_of_span, strict=True)
    ]


def test_a_tagged_mail_becomes_lines_of_tokens(tmp_path):
    seminars = read_seminars(sgml(tmp_path, MAIL))
    sequences = seminars.sequences
    assert sequences.n_documents == 1
    assert sequences.sentence(2) == ["Time", ":", "3", ":", "30", "p", ".", "m", ".", "-", "5"]
    assert sequences.sentence(6) == ["-----------"]
    assert spans(sequences) == [
        ("stime", "3 : 30 p . m"),
        ("etime", "5"),
        ("location", "4623 Wean Hall"),
        ("speaker", "Dr . A . B ."),
        ("speaker", "Smith"),
    ]
    assert [(misfit.trouble, misfit.field.tag) for misfit in seminars.misfits] == [("broken", "speaker")]
    assert seminars.speakers == [["Dr. A. B.\n  Smith"]]
    assert "<I believe>" in seminars.texts[0]
    assert "sentence" not in seminars.texts[0]


def test_a_document_can_be_one_sentence_and_fields_stay_whole(tmp_path):
    seminars = read_seminars(sgml(tmp_path, MAIL), sentences="document")
    assert seminars.sequences.n_sentences == 1
    assert spans(seminars.sequences)[-1] == ("speaker", "Dr . A . B . Smith")
    assert seminars.misfits == ()


def test_columns_show_the_layout(tmp_path):
    seminars = read_seminars(sgml(tmp_path, "Who: Ada\n\tHarlow\n\n  Where: DH\nat 3:30\n"))
    columns = seminars.sequences.columns
    assert seminars.sequences.tokens == ["Who", ":", "Ada", "Harlow", "Where", ":", "DH", "at", "3", ":", "30"]
    assert columns["label"] == ["who"] * 3 + ["who+"] + ["where"] * 3 + ["where+"] * 4
    assert columns["part"] == ["header"] * 4 + ["body"] * 7
    assert columns["indent"] == ["0"] * 3 + ["8-23"] + ["1-7"] * 3 + ["0"] * 4
    gaps = ["line", "nothing", "space", "line", "line", "nothing", "space", "line", "space", "nothing", "nothing"]
    assert columns["gap"] == gaps


@pytest.mark.parametrize("name", ["tiny.jsonl", "tiny.jsonl.gz"])
def test_packed_lines_are_read(tmp_path, name):
    text = "Mel Siegel at 3pm, room A12 "
    fields = [
        field_of(text, "speaker", "Mel Siege"),
        field_of(text, "stime", "3pm"),
        field_of(text, "location", "A12 "),
    ]
    blank = {"id": 8, "text": " \n", "fields": []}
    seminars = read_seminars(packed(tmp_path, {"id": 7, "text": text, "fields": fields}, "", blank, name=name))
    # A field that ends inside a word takes all of it; a blank at its edge is no fault.
    assert spans(seminars.sequences) == [("speaker", "Mel Siegel"), ("stime", "3 pm"), ("location", "A 12")]
    assert [(misfit.announcement, misfit.trouble) for misfit in seminars.misfits] == [("7", "widened")]
    assert seminars.blank == ("8",)
    assert seminars.sequences.n_documents == len(seminars.announcements) == 1


def test_fields_that_overlap_or_are_empty_are_told():
    text = "Ada Harlow 3pm"
    fields = (Field("speaker", 0, 10), Field("location", 4, 14), Field("stime", 10, 11), Field("etime", 14, 14))
    seminars = tokenise([Announcement("a", text, fields)])
    assert spans(seminars.sequences) == [("speaker", "Ada Harlow"), ("location", "3 pm")]
    assert [(m.field.tag, m.trouble) for m in seminars.misfits] == [
        ("location", "overlapping"),
        ("stime", "empty"),
        ("etime", "empty"),
    ]


def test_a_folder_is_read_in_order_of_its_numbers(tmp_path):
    for name in ("10.txt", "2.txt", ".hidden", "1.txt"):
        sgml(tmp_path, "" if name == "1.txt" else f"talk {name}", name)
    seminars = read_seminars(tmp_path)
    assert [announcement.name for announcement in seminars.announcements] == ["2.txt", "10.txt"]
    assert seminars.blank == ("1.txt",)


GOOD = {"id": 1, "text": "at 3pm", "fields": [{"tag": "stime", "start": 3, "end": 6, "text": "3pm"}]}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": 2, "text": "at', r"tiny.jsonl, line 2 is no JSON .*fetch the file again if it is cut off"),
        ("[1]", r"tiny.jsonl, line 2 is '\[1\]'; write an object with id, text, fields"),
        ({"id": 2, "text": "a"}, "tiny.jsonl, line 2 lacks 'fields'; complete"),
        (GOOD | {"text": 3}, "line 2: text is 3; write a string"),
        (GOOD | {"fields": {}}, r"line 2: fields is \{\}; write a list"),
        (GOOD | {"fields": [{"tag": "stime"}]}, "line 2, field 0 is .*; write an object with tag, start and end"),
        (GOOD | {"fields": [{"tag": "title", "start": 0, "end": 2}]}, "field 0: tag is 'title'; give one of stime"),
        (GOOD | {"fields": [{"tag": "stime", "start": 3, "end": 7}]}, "characters 3:7 are not within the text's 6"),
        (GOOD | {"fields": [{"tag": "stime", "start": 2, "end": 5, "text": "3pm"}]}, "said to be '3pm', but .* ' 3p'"),
    ],
)
def test_faults_of_packed_lines_name_file_line_and_way_out(tmp_path, line, message):
    with pytest.raises(ValueError, match=message):
        read_seminars(packed(tmp_path, GOOD, line))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\n<stime>3pm", "talk.sgml, line 2: <stime> is not closed; write </stime>"),
        ("a\n3pm</stime>", "talk.sgml, line 2: </stime> closes what is not open; remove it"),
        ("<stime>3\n<stime>pm</stime>", "line 2: <stime> opens inside that of .*line 1; close it first"),
        ("a\n\n<title>b</title>", "line 3: tag <title> is not known; the fields are .* add it there"),
        ("", "holds no word; give a file or folder"),
    ],
)
def test_faults_of_sgml_name_file_line_and_way_out(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_seminars(sgml(tmp_path, text))


def test_further_structure_can_be_named(tmp_path):
    path = sgml(tmp_path, "<title>A <speaker>B</speaker></title> <sentence>")
    assert read_seminars(path, structure=("title", "sentence")).texts == ["A B "]


def test_other_faults_are_named(tmp_path):
    with pytest.raises(ValueError, match="holds no file; give a folder"):
        read_seminars(tmp_path)
    with pytest.raises(ValueError, match="holds nothing; give a file with one JSON object a line"):
        read_seminars(packed(tmp_path, ""))
    with pytest.raises(ValueError, match=r"holds tiny.jsonl, which is packed; give that file"):
        read_seminars(tmp_path)
    with pytest.raises(ValueError, match="sentences is 'page'; give one of line, document"):
        read_seminars(packed(tmp_path, GOOD), sentences="page")


@given(st.lists(st.sampled_from(["Ada", " ", "\n", "3", ":", "--", "p.m", "(", "é", "_"]), min_size=1), st.data())
def test_tags_spell_the_fields_character_by_character(pieces, data):
    """The slow twin: a token is in a field if any of its characters is, looked at one by one."""
    text = "".join(["x", *pieces])
    cuts = sorted(set(data.draw(st.lists(st.integers(0, len(text)), max_size=4))))
    fields = tuple(Field("speaker", a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=False))
    sequences = tokenise([Announcement("a", text, fields)], sentences="document").sequences
    assert "".join(sequences.tokens) == "".join(text.split())
    inside = [any(field.start <= i < field.stop for field in fields) for i in range(len(text))]
    place = 0
    for token, tag in zip(sequences.tokens, sequences.tags, strict=True):
        place = text.index(token, place)
        assert (tag != "O") == any(inside[place : place + len(token)])
        place += len(token)


def seminars_file():
    try:
        return find("cmu_seminars") / "seminars.train.jsonl"
    except DataNotFound as absent:
        pytest.skip(str(absent))


@pytest.mark.real_data
def test_the_corpus_has_its_published_counts():
    seminars = read_seminars(seminars_file())
    counts = Counter(field.tag for announcement in seminars.announcements for field in announcement.fields)
    assert [counts[tag] for tag in FIELD_TAGS] == [785, 346, 616, 513]
    holders = [sum(bool(a.words_of(tag)) for a in seminars.announcements) for tag in FIELD_TAGS]
    assert holders == [388, 181, 328, 371]
    # Document 485 is empty, and three speakers are marked without their last letter.
    assert len(seminars.announcements) + len(seminars.blank) == 389
    assert seminars.blank == ("485",)
    assert Counter(misfit.trouble for misfit in seminars.misfits) == {"broken": 36, "widened": 3}
    assert np.diff(seminars.sequences.document_ptr).min() > 0
    whole = read_seminars(seminars_file(), sentences="document")
    assert Counter(kind for kind, _ in spans(whole.sequences)) == counts


@pytest.mark.real_data
def test_the_original_sgml_gives_the_packed_fields(tmp_path):
    packed_seminars = read_seminars(seminars_file())
    for line in seminars_file().read_text().splitlines():
        content = json.loads(line)
        sgml(tmp_path, content["sgml"], f"{content['id']}.txt")
    original = read_seminars(tmp_path)
    assert original.texts == packed_seminars.texts
    assert original.sequences.tags == packed_seminars.sequences.tags
