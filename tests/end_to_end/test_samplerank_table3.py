import os

import pytest

from walkstep.data.catalogue import DataNotFound
from walkstep.data.demo import generate_news
from walkstep.data.readers import write_conll
from walkstep.data.sequences import Sequences
from walkstep.reproduce import samplerank_table3

pytestmark = pytest.mark.xdist_group("command")


def columns_of(news):
    """News laid out as CoNLL-2003 is."""
    columns = {"pos": ["NN"] * news.n_tokens, "chunk": ["B-NP"] * news.n_tokens}
    return Sequences(news.tokens, news.sentence_ptr, news.document_ptr, columns)


def test_rows_and_bars_keep_the_contract_with_and_without_test_b(tmp_path, monkeypatch):
    folder = tmp_path / "conll2003"
    folder.mkdir()
    for file, seed in (("eng.train", 0), ("eng.testa", 1), ("eng.testb", 2)):
        news = generate_news(60, seed=seed)
        write_conll(folder / file, columns_of(news), news.tags)
    monkeypatch.setenv("WALKSTEP_DATA", str(tmp_path))
    lines = []
    result = samplerank_table3.run(0, quick=True, progress=lines.append)
    assert set(result) == {"name", "seed", "seconds", "rows", "bars"}
    assert [bar["id"] for bar in result["bars"]] == ["conll-testa-10", "conll-testa-1"]
    assert all(0 < bar["ours"] <= 1 for bar in result["bars"])
    paper = {(row["row"], row["metric"]): row["paper"] for row in result["rows"]}
    assert paper["SampleRank, 10 epochs", "Test-A F1"] == 0.913
    assert paper["SampleRank, 1 epoch", "Test-B F1"] == 0.825
    assert paper["MaxLike-L2", "Test-B F1"] == 0.832
    assert paper["SVM (c = 0.1, 1, 10)", "Test-A F1"] == 0.886
    assert all(row["ours"] is not None for row in result["rows"])
    (folder / "eng.testb").unlink()
    again = samplerank_table3.run(0, quick=True)
    assert again["rows"] == [row for row in result["rows"] if row["metric"] == "Test-A F1"]


def test_missing_data_is_named(monkeypatch):
    monkeypatch.delenv("WALKSTEP_DATA", raising=False)
    with pytest.raises(DataNotFound, match="data set 'conll2003' needs the environment variable WALKSTEP_DATA"):
        samplerank_table3.run(0)


@pytest.mark.real_data
@pytest.mark.slow
def test_ten_epochs_reach_the_paper():
    if not os.environ.get("WALKSTEP_DATA"):
        pytest.skip("set WALKSTEP_DATA to a folder that holds conll2003")
    result = samplerank_table3.run(0)
    bars = {bar["id"]: bar["ours"] for bar in result["bars"]}
    assert bars["conll-testa-10"] >= 0.913
    assert bars["conll-testa-1"] >= 0.888
    likely = {row["metric"]: row["ours"] for row in result["rows"] if row["row"] == "MaxLike-L2"}
    assert likely["Test-A F1"] >= 0.896
