import dataclasses
import gzip
import json
import shutil

import pytest

from walkstep.data.catalogue import DataNotFound, find
from walkstep.data.readers.convote import REFERENCE_WORD, Speech, read_convote, read_convote_splits


def speech(debate="006", speaker="400001", page="0002", position="001", vote="Y", stages=(1, 2), **more):
    base = {"file": f"{debate}_{speaker}_{page}{position}_DO{vote}.txt", "debate": debate, "speaker": speaker}
    base |= {"page": page, "position": position, "party": "D", "bill_mentioned": "O", "vote": vote}
    return base | {"stages": list(stages), "text_refs": "i rise . \n"} | more


def written(folder, *lines, name="tiny.jsonl"):
    path = folder / name
    data = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


TALK = [
    speech(
        position="003", text_refs="i thank mr. rosk xz4000020 and mr. pell xz4000031 and mr. no xz4009990 , xz12 .\n"
    ),
    speech(speaker="400002", position="001", vote="N", stages=(1, 2, 3), bill_mentioned="M", text="no ."),
    speech(speaker="400003", position="002", stages=(1,)),
    speech(debate="004", speaker="400999", text_refs="xz4000010 is absent here"),
]


@pytest.mark.parametrize("name", ["tiny.jsonl", "tiny.jsonl.gz"])
def test_speeches_debates_and_references_are_read(tmp_path, name):
    read = read_convote(written(tmp_path, *TALK, name=name), words_before=3, words_after=4)
    assert [debate.name for debate in read.debates] == ["004", "006"]
    assert read.debates[1].speakers == ("400001", "400002", "400003")
    assert read.debates[1].speeches == (1, 2, 0)
    assert read.speakers == ("400001", "400002", "400003", "400999")
    assert read.speeches[1] == Speech(
        name="006_400002_0002001",
        debate="006",
        speaker="400002",
        vote="N",
        page=2,
        position=1,
        bill_mentioned=True,
        stages=(1, 2, 3),
        text="no .",
        full_text="i rise . \n",
    )
    assert read.speeches[0].text is None
    assert " ".join(read.speeches[0].full_text.split()) == "i thank mr. rosk and mr. pell and mr. no , xz12 ."
    first, second, third, fourth = read.references
    assert (first.speech, first.speaker, first.target) == (0, "400001", "400002")
    assert first.left == ("thank", "mr.", "rosk")
    assert first.right == ("and", "mr.", "pell", REFERENCE_WORD)
    assert second.target_stages == (1,)
    assert third.right == (",", "xz12", ".")
    # 400999 and 400001 speak, but not in the debate in which they are named.
    assert [reference.target_speaks for reference in read.references] == [True, True, False, False]
    assert (fourth.left, fourth.right) == ((), ("is", "absent", "here"))


def test_no_party_is_offered(tmp_path):
    read = read_convote(written(tmp_path, *TALK))
    fields = {field.name for kind in (read, *read.speeches, *read.references) for field in dataclasses.fields(kind)}
    assert "party" not in fields
    # The original file names end in party and vote.
    assert all("D" not in speech.name for speech in read.speeches)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"file": "a', "tiny.jsonl, line 5 is no JSON .* cut off"),
        ("3", "tiny.jsonl, line 5 is '3'; write an object with debate, speaker"),
        ({"file": "a"}, "line 5 lacks 'debate', 'speaker', 'page'"),
        (speech(vote="A"), "line 5: vote is 'A'; give one of Y, N"),
        (speech(bill_mentioned="?"), "line 5: bill_mentioned is '\\?'; give one of M, O"),
        (speech(page="p2"), "line 5: page is 'p2'; write it in digits"),
        (speech(stages=[]), r"line 5: stages is \[\]; write a list of some of 1, 2, 3"),
        (speech(stages=[4]), r"line 5: stages is \[4\]; write"),
        (speech(stages=[1, 3]), r"line 5: stages is \[1, 3\]; give text where it holds 3"),
        (speech(text="a"), r"line 5: stages is \[1, 2\]; give text where it holds 3, and nowhere else"),
        (speech(text_refs=None), "line 5: text_refs is None; write a string"),
        (TALK[0], "line 5: speech '006_400001_0002003' stands at .*line 1 too; leave one out"),
        (speech(vote="N"), "line 5: speaker 400001 votes N in debate 006, and otherwise in an earlier line"),
    ],
)
def test_faults_name_file_line_and_way_out(tmp_path, line, message):
    with pytest.raises(ValueError, match=message):
        read_convote(written(tmp_path, *TALK, line))


def test_other_faults_are_named(tmp_path):
    with pytest.raises(ValueError, match="holds nothing; give a file"):
        read_convote(written(tmp_path, ""))
    with pytest.raises(ValueError, match="words_after is -1; give 0 or more"):
        read_convote(written(tmp_path, *TALK), words_after=-1)


def test_a_test_part_is_read_where_it_lies(tmp_path):
    training = written(tmp_path, *TALK, name="speeches.training.jsonl.gz")
    assert list(read_convote_splits(tmp_path)) == ["training"]
    shutil.copy(training, tmp_path / "speeches.test.jsonl.gz")
    splits = read_convote_splits(tmp_path, words_after=1)
    assert list(splits) == ["training", "test"]
    assert splits["test"].references[0].right == ("and",)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("split", "by_stage", "votes", "n_debates", "n_speakers", "n_references"),
    [
        ("training", [5_660, 4_189, 2_740], (1_436, 1_304), 38, 380, 2_769),
        ("development", [702, 418, 257], (139, 118), 5, 154, 468),
    ],
)
def test_convote_has_its_published_counts(split, by_stage, votes, n_debates, n_speakers, n_references):
    try:
        read = read_convote(find("convote") / f"speeches.{split}.jsonl.gz")
    except DataNotFound as absent:
        pytest.skip(str(absent))
    assert [sum(stage in speech.stages for speech in read.speeches) for stage in (1, 2, 3)] == by_stage
    classified = [speech.vote for speech in read.speeches if speech.text is not None]
    assert (classified.count("Y"), classified.count("N")) == votes
    assert (len(read.debates), len(read.speakers), len(read.references)) == (n_debates, n_speakers, n_references)
    if split == "development":
        # The authors' graph joins references of stage two to whoever speaks in stage two.
        used = [r for r in read.references if 2 in read.speeches[r.speech].stages and 2 in r.target_stages]
        assert len(used) == 146
