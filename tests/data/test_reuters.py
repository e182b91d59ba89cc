import gzip
import json
from collections import Counter

import pytest

from walkstep.data.catalogue import DataNotFound, find
from walkstep.data.readers.reuters import read_reuters, read_reuters_sgml

STORY = {"id": 5, "topics": ["grain", "corn", "grain"], "title": "CORN UP", "body": "Prices rose."}


def written(folder, *lines, name="tiny.jsonl"):
    path = folder / name
    data = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("name", ["tiny.jsonl", "tiny.jsonl.gz"])
def test_stories_are_read(tmp_path, name):
    stories = read_reuters(written(tmp_path, STORY, STORY | {"id": 6, "title": "", "topics": ["ship"]}, name=name))
    assert [story.id for story in stories] == [5, 6]
    assert stories.texts == ["CORN UP\nPrices rose.", "Prices rose."]
    assert stories.topics == [{"grain", "corn"}, {"ship"}]
    assert stories.topic_names == ["corn", "grain", "ship"]
    assert len(stories) == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": 6, ', "tiny.jsonl, line 2 is no JSON .* cut off"),
        ({"id": 6}, "tiny.jsonl, line 2 lacks 'topics', 'title', 'body'"),
        (STORY | {"id": "6"}, "line 2: id is '6'; write a whole number"),
        (STORY | {"topics": "grain"}, "line 2: topics is 'grain'; write a list of names"),
        (STORY | {"body": None}, "line 2: body is None; write a string"),
        (STORY, "tiny.jsonl holds story 5 twice; leave one out"),
    ],
)
def test_faults_name_file_line_and_way_out(tmp_path, line, message):
    with pytest.raises(ValueError, match=message):
        read_reuters(written(tmp_path, STORY, line))


def sgml(number, topics="<D>grain</D><D>corn</D>", side="TRAIN", used="YES", text=None):
    text = text or "<TITLE>CORN &lt;UP></TITLE><DATELINE> ROME </DATELINE><BODY>Up at A&amp;B.\n Reuter\n&#3;</BODY>"
    return (
        f'<REUTERS TOPICS="{used}" LEWISSPLIT="{side}" OLDID="1" NEWID="{number}">\n<DATE>1-JAN</DATE>\n'
        f"<TOPICS>{topics}</TOPICS>\n<PLACES><D>usa</D></PLACES>\n<TEXT>&#2;\n{text}</TEXT>\n</REUTERS>\n"
    )


def test_the_original_is_cut_as_modapte_does(tmp_path):
    first = tmp_path / "reut2-000.sgm"
    first.write_text(
        "<!DOCTYPE lewis>\n"
        + sgml(1)
        + sgml(2, side="TEST")
        + sgml(3, used="NO")
        + sgml(4, topics="")
        + sgml(5, side="NOT-USED")
    )
    # A stray byte that is no UTF-8, and a story that is not cut into parts.
    (tmp_path / "reut2-001.sgm").write_bytes(sgml(6, text="<TITLE>T</TITLE>caf\xe9 up").encode("latin-1"))
    stories = read_reuters_sgml(tmp_path)
    assert [story.id for story in stories] == [1, 6]
    assert stories.topics == [{"grain", "corn"}] * 2
    assert (stories.stories[0].title, stories.stories[0].body) == ("CORN <UP>", "Up at A&B.\n Reuter")
    assert stories.texts[1] == "T\ncafé up"
    assert [story.id for story in read_reuters_sgml(first, "test")] == [2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (sgml(1) + sgml(2)[:80], "reut2-000.sgm, line 10: the story is not closed by </REUTERS>; fetch"),
        (sgml(1)[:80] + sgml(2), "reut2-000.sgm, line 1: the story is not closed"),
        (sgml("x"), "reut2-000.sgm, line 1: NEWID is 'x'; give every story its number"),
        (sgml(1) + sgml(1), "holds story 1 twice"),
        (sgml(1, side="TEST"), "holds no train story with a topic; give other files or the other split"),
    ],
)
def test_faults_of_the_original_are_named(tmp_path, text, message):
    path = tmp_path / "reut2-000.sgm"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_reuters_sgml(path)


def test_other_faults_are_named(tmp_path):
    with pytest.raises(ValueError, match="holds nothing; give a file"):
        read_reuters(written(tmp_path, ""))
    with pytest.raises(ValueError, match=r"holds no file reut2-\*.sgm; give the folder"):
        read_reuters_sgml(tmp_path)
    with pytest.raises(ValueError, match="split is 'dev'; give one of train, test"):
        read_reuters_sgml(tmp_path, "dev")


@pytest.mark.real_data
def test_reuters_has_its_published_counts():
    try:
        stories = read_reuters(find("reuters21578") / "modapte.train.jsonl.gz")
    except DataNotFound as absent:
        pytest.skip(str(absent))
    assert len(stories) == 7_775
    counts = Counter(topic for topics in stories.topics for topic in topics)
    top = ["earn", "acq", "money-fx", "grain", "crude", "trade", "interest", "wheat", "ship", "corn"]
    assert [topic for topic, _ in counts.most_common(10)] == top
    assert sum(len(topics) > 1 for topics in stories.topics) == 1_223
