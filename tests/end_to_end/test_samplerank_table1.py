import gzip
import json
import os

import numpy as np
import pytest

from walkstep.data.catalogue import DataNotFound
from walkstep.data.mentions import MentionDocuments
from walkstep.data.passages import cut_passages
from walkstep.reproduce import samplerank_table1
from walkstep.reproduce.samplerank_table1 import SETTINGS

pytestmark = pytest.mark.xdist_group("partition")

NAMES = ["Ada", "Otto", "Clara", "Bruno", "Edda", "Emil"]


def tales(n_documents, n_sentences=6):
    """Documents of sentences 'NAME met NAME .', every name one person."""
    rng = np.random.default_rng(0)
    return [[rng.choice(NAMES, 2, replace=False).tolist() for _ in range(n_sentences)] for _ in range(n_documents)]


def gum(documents):
    """Tales laid out as GUM's files are."""
    lines = []
    for d, sentences in enumerate(documents):
        lines.append(f"#begin document (GUM_news_{d})")
        for first, second in sentences:
            for k, (word, tag) in enumerate([(first, "NNP"), ("met", "VBD"), (second, "NNP")]):
                entity = f"(person-{NAMES.index(word)})" if word in NAMES else "-"
                cells = ["a", "0", str(k + 1), word, tag, "X", word.lower(), "2" if k != 1 else "0", "dep", "-", entity]
                lines.append("\t".join([*cells, "-"]))
            lines.append("")
        lines.append("#end document")
    return "\n".join(lines) + "\n"


def litbank(documents):
    """Tales laid out as LitBank's are."""
    lines = []
    for d, sentences in enumerate(documents):
        mentions = [
            {"sent": s, "start": 2 * k, "end": 2 * k, "entity_type": "PER", "mention_type": "PROP", "entity": word}
            for s, pair in enumerate(sentences)
            for k, word in enumerate(pair)
        ]
        words = [[first, "met", second] for first, second in sentences]
        lines.append(json.dumps({"doc": f"tale {d}", "sentences": words, "mentions": mentions}))
    return "\n".join(lines)


def test_rows_and_bars_keep_the_contract(tmp_path, monkeypatch):
    for folder, name, text in (("gum_coref", "gum.{}.conll.gz", gum), ("litbank", "litbank.{}.jsonl.gz", litbank)):
        (tmp_path / folder).mkdir()
        for part in ("train", "dev"):
            with gzip.open(tmp_path / folder / name.format(part), "wt") as file:
                file.write(text(tales(9)))
    monkeypatch.setenv("WALKSTEP_DATA", str(tmp_path))
    lines = []
    result = samplerank_table1.run(0, quick=True, progress=lines.append)
    assert set(result) == {"name", "seed", "seconds", "rows", "bars"}
    assert [bar["id"] for bar in result["bars"]] == ["coref-error-cut"]
    assert 0 < result["bars"][0]["p_value"] <= 1
    assert len(lines) == 2 * 3 * len(SETTINGS)
    ours = {(row["row"], row["metric"]): row["ours"] for row in result["rows"]}
    assert all(0 < ours[f"{method}, both", "B-cubed F1"] <= 1 for method in SETTINGS)
    assert ours["SampleRank (MIRA), both", "B-cubed F1"] > 0.8
    assert json.loads(json.dumps(result)) == result


def test_documents_are_cut_at_sentence_ends_into_passages_of_about_one_size():
    documents = MentionDocuments.from_dicts(
        [
            {
                "name": f"tale {d}",
                "sentences": [[first, "met", second] for first, second in sentences],
                "mentions": [
                    {"sentence": s, "start": k, "end": k + 1, "entity": pair[k // 2]}
                    for s, pair in enumerate(sentences)
                    for k in (0, 2)
                ],
            }
            for d, sentences in enumerate(tales(3, n_sentences=10))
        ]
    )
    passages, source = cut_passages(documents, 8)
    assert source.tolist() == [0, 0, 1, 1, 2, 2]
    assert np.diff(passages.document_ptr).tolist() == [10] * 6
    assert passages.text == documents.text
    assert passages.sentence.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4] * 6
    assert passages.names == [f"tale {d}" for d in source]
    first, its_source = cut_passages(documents, 8, 1)
    assert its_source.tolist() == [0, 1, 2]
    assert first.text == [documents.text[20 * d + m] for d in range(3) for m in range(10)]
    whole, _ = cut_passages(documents, 1000)
    np.testing.assert_array_equal(whole.document_ptr, documents.document_ptr)


def test_missing_coreference_data_is_named(monkeypatch):
    monkeypatch.delenv("WALKSTEP_DATA", raising=False)
    with pytest.raises(DataNotFound, match="data set 'gum_coref' needs the environment variable WALKSTEP_DATA"):
        samplerank_table1.run(0)


@pytest.mark.real_data
@pytest.mark.slow
def test_samplerank_beats_contrastive_divergence():
    if not os.environ.get("WALKSTEP_DATA"):
        pytest.skip("set WALKSTEP_DATA to a folder that holds gum_coref and litbank")
    bar = samplerank_table1.run(0)["bars"][0]
    assert bar["ours"] > 0
    assert bar["p_value"] < 0.01
