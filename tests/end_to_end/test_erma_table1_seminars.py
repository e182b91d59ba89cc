import json
import os

import numpy as np
import pytest

from walkstep.data.catalogue import DataNotFound
from walkstep.reproduce import erma_table1_seminars

pytestmark = pytest.mark.xdist_group("command")

SPEAKERS = ("Ada Harlow", "Milo Brask", "Dr. Ines Tolland", "Prof. K. Ashby", "Ruth Selwick", "Tom Crane")
PLACES = ("Wean Hall 5409", "Baker Hall 355", "Doherty Hall 2315")


def announcement(n):
    """An invented e-mail in which the speaker is named twice."""
    rng = np.random.default_rng(n)
    speaker, place = SPEAKERS[n % len(SPEAKERS)], PLACES[rng.integers(3)]
    hour, room = rng.integers(1, 9), rng.integers(100, 999)
    pieces = [("Who: ", ""), (speaker, "speaker"), ("\nTopic: matters of ", ""), (f"kind {room}{n}", "")]
    pieces += [("\nWhen: ", ""), (f"{hour}:30 PM", "stime"), (" - ", ""), (f"{hour + 1}:30 PM", "etime")]
    pieces += [("\nWhere: ", ""), (place, "location"), ("\n\n", ""), (speaker, "speaker"), (f" speaks on {n}.\n", "")]
    text, fields = "", []
    for words, tag in pieces:
        if tag:
            fields.append({"tag": tag, "start": len(text), "end": len(text) + len(words)})
        text += words
    return {"id": str(n), "text": text, "fields": fields}


@pytest.fixture
def announcements(tmp_path, monkeypatch):
    folder = tmp_path / "cmu_seminars"
    folder.mkdir()
    lines = [json.dumps(announcement(n)) for n in range(40)]
    (folder / "seminars.train.jsonl").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("WALKSTEP_DATA", str(tmp_path))
    return folder


@pytest.mark.slow
def test_rows_and_bars_keep_the_contract(announcements):
    lines = []
    result = erma_table1_seminars.run(0, quick=True, progress=lines.append)
    assert set(result) == {"name", "seed", "seconds", "rows", "bars"}
    paper = {row["row"]: row["paper"] for row in result["rows"]}
    assert paper["Chain, MLE"] == 0.862
    assert paper["MLE, tested by max-product"] == 0.890
    assert paper["Min-risk (sum-product), tested by sum-product"] == 0.909
    assert len(paper) == 10
    assert all(0.0 <= row["ours"] <= 1.0 for row in result["rows"])
    noted = [row["row"] for row in result["rows"] if "p = " in row["note"]]
    assert len(noted) == 7  # all but the chain by MLE, and MLE by both kinds of inference
    assert [bar["id"] for bar in result["bars"]] == ["seminars"]
    assert any("skip-chain" in line for line in lines)


def test_counts_are_by_document_and_field(announcements):
    corpus = erma_table1_seminars._by_field(
        erma_table1_seminars.read_seminars(announcements / "seminars.train.jsonl").sequences
    )
    part = erma_table1_seminars._documents(corpus, np.array([2, 5]))
    assert (part.n_documents, part.tags[:2]) == (2, ["O", "O"])
    right = erma_table1_seminars._field_counts(part, part.tags)
    assert right.shape == (2, 4, 3)
    assert (right[:, :, 0] == right[:, :, 2]).all()
    nothing = erma_table1_seminars._field_counts(part, ["O"] * part.n_tokens)
    assert nothing[:, :, :2].sum() == 0
    assert (nothing[:, :, 2] == right[:, :, 2]).all()


def test_missing_data_is_named(monkeypatch):
    monkeypatch.delenv("WALKSTEP_DATA", raising=False)
    with pytest.raises(DataNotFound, match="data set 'cmu_seminars' needs the environment variable WALKSTEP_DATA"):
        erma_table1_seminars.run(0)


@pytest.mark.real_data
@pytest.mark.slow
def test_minimum_risk_reaches_the_paper():
    if not os.environ.get("WALKSTEP_DATA"):
        pytest.skip("set WALKSTEP_DATA to a folder that holds cmu_seminars")
    result = erma_table1_seminars.run(0)
    assert result["bars"][0]["ours"] >= 0.909
    ours = {row["row"]: row["ours"] for row in result["rows"]}
    assert ours["Min-risk (sum-product), tested by sum-product"] > ours["MLE, tested by sum-product"]
