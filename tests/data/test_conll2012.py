import gzip
import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from walkstep.data.mentions import GENDERS, MENTION_TYPES, MentionDocuments
from walkstep.data.readers.conll2012 import read_conll2012, write_conll2012

STANDARD = """\
#begin document (nw/wsj/00/wsj_0001); part 000
nw/wsj/00/wsj_0001   0   0   The       DT    (NP*   -    -   -   Speaker#1   *          -      (0
nw/wsj/00/wsj_0001   0   1   chairman  NN    *      -    -   -   Speaker#1   *          (ARG0* -
nw/wsj/00/wsj_0001   0   2   of        IN    *      -    -   -   Speaker#1   *          *      -
nw/wsj/00/wsj_0001   0   3   Quill     NNP   *      -    -   -   Speaker#1   (ORG*      *      (1
nw/wsj/00/wsj_0001   0   4   Motors    NNPS  *)     -    -   -   Speaker#1   *)         *      1)|0)
nw/wsj/00/wsj_0001   0   5   left      VBD   *      leave -  -   Speaker#1   *          (V*)   -

nw/wsj/00/wsj_0001   0   0   He        PRP   *      -    -   -   -           *    (0)
nw/wsj/00/wsj_0001   0   1   met       VBD   *      meet -   -   -           *    -
nw/wsj/00/wsj_0001   0   2   Mr.       NNP   *      -    -   -   -           *    (2
nw/wsj/00/wsj_0001   0   3   Pell      NNP   *      -    -   -   -           (PERSON)  2)

#end document
#begin document (nw/wsj/00/wsj_0001); part 001
nw/wsj/00/wsj_0001   1   0   It        PRP   *      -    -   -   -           *    (0)

#end document
"""
GUM = """\
#begin document (GUM_academic_art); part 000
a\t0\t1\tInsights\tNNS\tNOUN\tinsight\t0\troot\t-\t(abstract-3\t(1
a\t0\t2\tfrom\tIN\tADP\tfrom\t5\tcase\t-\t-\t-
a\t0\t3\tEye\tNN\tNOUN\teye\t5\tcompound\t-\t(abstract-4|(object-5)\t-
a\t0\t4\t-\tHYPH\tPUNCT\t-\t3\tpunct\t-\t-\t-
a\t0\t5\tTracking\tNN\tNOUN\ttracking\t1\tnmod\t-\tabstract-4)|abstract-3)\t1)

a\t0\t1\tThese\tDT\tPRON\tthis\t2\tnsubj\tAda\t(abstract-3)\t(1)
a\t0\t2\thelp\tVBP\tVERB\thelp\t0\troot\tAda\t-\t-
#end document
"""


def written(folder, text, name="tiny.conll"):
    path = Path(folder, name)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_standard_files_are_read_with_parts_names_and_speakers(tmp_path):
    documents = read_conll2012(written(tmp_path, STANDARD))
    assert documents.names == ["nw/wsj/00/wsj_0001"] * 2
    assert documents.parts == [0, 1]
    assert documents.genres == ["nw", "nw"]
    assert documents.text == ["The chairman of Quill Motors", "Quill Motors", "He", "Mr. Pell", "It"]
    assert documents.entity.tolist() == [0, 1, 0, 2, 3]
    assert documents.head_text == ["chairman", "Motors", "He", "Pell", "It"]
    assert documents.entity_type == ["", "ORG", "", "PERSON", ""]
    assert documents.speaker == ["Speaker#1", "Speaker#1", "", "", ""]
    assert [MENTION_TYPES[k] for k in documents.mention_type] == ["common", "proper", "pronoun", "proper", "pronoun"]
    assert [GENDERS[g] for g in documents.gender] == ["unknown", "neuter", "masculine", "masculine", "neuter"]
    assert documents.columns["lemma"][5] == "leave"


def test_gum_mentions_have_types_and_singletons(tmp_path):
    documents = read_conll2012(written(tmp_path, GUM), layer="gum")
    assert documents.text == ["Insights from Eye - Tracking", "Eye - Tracking", "Eye", "These"]
    assert documents.entity_type == ["abstract", "abstract", "object", "abstract"]
    assert documents.entity.tolist() == [0, 1, 2, 0]
    assert documents.head_text == ["Insights", "Tracking", "Eye", "These"]
    assert documents.head_lemma == ["insight", "tracking", "eye", "this"]
    assert documents.genres == ["academic"]
    assert documents.speaker == ["", "", "", "Ada"]


def test_ontogum_chains_take_types_from_gum(tmp_path):
    documents = read_conll2012(written(tmp_path, GUM), layer="ontogum")
    assert documents.text == ["Insights from Eye - Tracking", "These"]
    assert documents.entity_type == ["abstract", "abstract"]
    longer = GUM.replace("(abstract-3\t(1", "(abstract-3)\t(1").replace("abstract-4)|abstract-3)", "abstract-4)")
    documents = read_conll2012(written(tmp_path, longer), layer="ontogum")
    assert documents.entity_type == ["abstract", "abstract"]


def test_packed_files_and_other_line_ends_are_read(tmp_path):
    path = written(tmp_path, gzip.compress(GUM.replace("\n", "\r\n").encode()), "tiny.conll.gz")
    assert read_conll2012(path, "gum").n_mentions == 4


def test_mentions_of_one_entity_may_be_nested(tmp_path):
    text = STANDARD.replace("(1\n", "(0\n").replace("1)|0)", "0)|0)")
    documents = read_conll2012(written(tmp_path, text))
    assert documents.text[:2] == ["The chairman of Quill Motors", "Quill Motors"]
    assert documents.entity[0] == documents.entity[1]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1)|0)", "1)", r"tiny.conll, line 2: mention '\(0' is never closed in its sentence; add '0\)'"),
        ("1)|0)", "1)|0)|7)", r"tiny.conll, line 6: '7\)' closes a mention that was not opened"),
        ("1)|0)", "1)|0", r"tiny.conll, line 6: '0' in '1\)\|0'; write"),
        ("1)|0)", "1)||0)", r"line 6: '' in '1\)\|\|0\)'"),
        ("leave -  -   Speaker#1   *          (V*)   -", "leave", r"line 7: .* has 7 column\(s\), layer 'conll2012'"),
        ("#begin document (nw/wsj/00/wsj_0001); part 000\n", "", "line 1: .* before any '#begin document'"),
        ("#begin document (nw/wsj/00/wsj_0001); part 000", "#begin document ()", "line 1: .* names no document"),
    ],
)
def test_errors_name_file_and_line(tmp_path, old, new, message):
    assert old in STANDARD
    with pytest.raises(ValueError, match=message):
        read_conll2012(written(tmp_path, STANDARD.replace(old, new, 1)))


def test_a_head_outside_of_the_sentence_is_named(tmp_path):
    with pytest.raises(ValueError, match="line 3: head '9' in a sentence of 5 words"):
        read_conll2012(written(tmp_path, GUM.replace("from\t5", "from\t9")), "gum")


def test_text_that_is_not_utf8_and_files_of_another_kind_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"tiny.conll is not UTF-8: byte 0xe9 .*line 3"):
        read_conll2012(written(tmp_path, GUM.encode().replace(b"from\tIN", b"fr\xe9m\tIN")), "gum")
    with pytest.raises(ValueError, match="no line '#begin document'"):
        read_conll2012(written(tmp_path, "\n\n"))
    with pytest.raises(ValueError, match="layer is 'ace'; give 'conll2012', 'gum' or 'ontogum'"):
        read_conll2012(written(tmp_path, GUM), layer="ace")


def test_a_response_has_closing_brackets_before_opening_ones(tmp_path):
    documents = MentionDocuments.from_dicts(
        [
            {
                "name": "d",
                "sentences": [["a", "b", "c"]],
                "mentions": [
                    {"sentence": 0, "start": start, "end": end} for start, end in ((0, 3), (0, 2), (1, 3), (1, 2))
                ],
            }
        ]
    )
    path = tmp_path / "response.conll"
    write_conll2012(documents, [4, 9, 9, 7], path)
    lines = path.read_text().splitlines()
    assert lines[0] == "#begin document (d); part 000"
    assert [line.split("\t")[-1] for line in lines[1:4]] == ["(0|(2", "2)|(2|(1)", "2)|0)"]
    assert lines[-2:] == ["", "#end document"]


def test_mentions_of_no_cluster_are_left_out_of_a_response(tmp_path):
    documents = read_conll2012(written(tmp_path, STANDARD))
    write_conll2012(documents, [-1, 3, -1, -1, 3], tmp_path / "response.conll")
    assert read_conll2012(tmp_path / "response.conll").text == ["Quill Motors", "It"]


def test_singletons_can_be_left_out_of_a_response(tmp_path):
    documents = read_conll2012(written(tmp_path, STANDARD))
    write_conll2012(documents, documents.entity, tmp_path / "key.conll", singletons=False)
    again = read_conll2012(tmp_path / "key.conll")
    assert again.text == ["The chairman of Quill Motors", "He"]
    assert again.parts == [0, 1]


def test_clusters_of_another_shape_are_refused_and_leave_no_file(tmp_path):
    documents = read_conll2012(written(tmp_path, STANDARD))
    with pytest.raises(ValueError, match=r"clusters has shape \(2,\) .* there are 5 mentions"):
        write_conll2012(documents, [0, 1], tmp_path / "response.conll")
    with pytest.raises(ValueError, match="type float64"):
        write_conll2012(documents, np.zeros(5), tmp_path / "response.conll")
    assert not (tmp_path / "response.conll").exists()


@st.composite
def clustered_documents(draw):
    made = []
    for d in range(draw(st.integers(1, 3))):
        lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
        mentions = []
        for _ in range(draw(st.integers(0, 8))):
            s = draw(st.integers(0, len(lengths) - 1))
            start = draw(st.integers(0, lengths[s] - 1))
            end = draw(st.integers(start + 1, lengths[s]))
            entity = draw(st.integers(0, 2))
            # Crossing mentions of one entity cannot be written in this format.
            crosses = any(
                m["sentence"] == s
                and m["entity"] == entity
                and (m["start"] < start < m["end"] < end or start < m["start"] < end < m["end"])
                for m in mentions
            )
            if not crosses:
                mentions.append({"sentence": s, "start": start, "end": end, "entity": entity})
        made.append({"name": f"x/{d}", "sentences": [["w"] * n for n in lengths], "mentions": mentions})
    return MentionDocuments.from_dicts(made)


@given(clustered_documents())
def test_what_is_written_is_read_back(tmp_path_factory, documents):
    path = tmp_path_factory.getbasetemp() / "again.conll"
    write_conll2012(documents, documents.entity, path)
    again = read_conll2012(path)
    assert again.names == documents.names
    assert again.tokens == documents.tokens
    np.testing.assert_array_equal(again.sentence_ptr, documents.sentence_ptr)

    def chains(of):
        found: dict[int, list] = {}
        for start, end, entity in zip(of.start.tolist(), of.end.tolist(), of.entity.tolist(), strict=True):
            found.setdefault(entity, []).append((start, end))
        return sorted(found.values())

    assert chains(again) == chains(documents)


def gum_file(name):
    path = Path(os.environ.get("WALKSTEP_DATA", "nowhere"), "gum_coref", name)
    if not path.exists():
        pytest.skip("set WALKSTEP_DATA to a folder that holds gum_coref")
    return path


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "layer", "sizes", "median"),
    [
        ("gum.train.conll.gz", "gum", (177, 10_224, 177_410, 49_649, 25_758, 18_750), 289),
        ("gum.train.conll.gz", "ontogum", (177, 10_224, 177_410, 23_320, 5_311, None), 130),
        ("gum.dev.conll.gz", "gum", (29, 1_534, 27_048, 7_585, 3_791, 2_738), 255),
        ("gum.dev.conll.gz", "ontogum", (29, 1_534, 27_048, 3_700, 819, None), 130),
    ],
)
def test_gum_has_its_published_counts(name, layer, sizes, median):
    began = time.perf_counter()
    documents = read_conll2012(gum_file(name), layer)
    assert time.perf_counter() - began < 20
    singletons = int((np.bincount(documents.entity) == 1).sum()) if layer == "gum" else None
    assert sizes == (
        len(documents),
        documents.n_sentences,
        documents.n_tokens,
        documents.n_mentions,
        documents.n_entities,
        singletons,
    )
    assert np.median(np.diff(documents.document_ptr)) == median


@pytest.mark.real_data
def test_gum_survives_writing_and_reading(tmp_path):
    documents = read_conll2012(gum_file("gum.dev.conll.gz"), "gum")
    write_conll2012(documents, documents.entity, tmp_path / "again.conll")
    again = read_conll2012(tmp_path / "again.conll")
    assert again.n_entities == documents.n_entities
    assert again.text == documents.text
    assert again.speaker == documents.speaker
