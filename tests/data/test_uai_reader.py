"""Models, evidence and answers in UAI format; what is wrong with a file is said by file and word."""

import numpy as np
import pytest

from walkstep.data.readers.uai import (
    read_uai,
    read_uai_evidence,
    read_uai_marginals,
    read_uai_partition,
    write_uai_marginals,
    write_uai_partition,
)

MODEL = """MARKOV
3
2 2 3
2
2 0 1
2 1 2

4
 1.0 0.5 0.25 2
6
 1 2 3
 4 5 0
"""


@pytest.fixture
def written(tmp_path):
    def write(text, name="model.uai"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_tables_are_read_with_the_last_variable_fastest(written):
    model = read_uai(written(MODEL))
    assert model.n_values.tolist() == [2, 2, 3]
    assert model.scopes == [(0, 1), (1, 2)]
    np.testing.assert_array_equal(model.tables[0], [[1.0, 0.5], [0.25, 2.0]])
    np.testing.assert_array_equal(model.tables[1], [[1, 2, 3], [4, 5, 0]])
    assert model.n_variables == 3


def test_evidence_and_answers_come_back_as_written(written):
    assert read_uai_evidence(written("2 0 1 2 0", "e"), np.array([2, 2, 3])) == {0: 1, 2: 0}
    assert read_uai_evidence(written("0", "none"), np.array([2])) == {}
    marginals = np.array([[0.25, 0.75, 0.0], [0.1, 0.2, 0.7]])
    found = read_uai_marginals(written(write_uai_marginals(marginals, np.array([2, 3])), "m"))
    np.testing.assert_allclose(found[0], [0.25, 0.75])
    np.testing.assert_allclose(found[1], [0.1, 0.2, 0.7])
    assert read_uai_partition(written(write_uai_partition(-4.5), "p")) == pytest.approx(-4.5 / np.log(10.0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("GRAPH 1", "begins with 'GRAPH'; a UAI model begins with MARKOV or BAYES"),
        (MODEL[:-9], "ends after 20 words, in the middle of the table of factor 1; it seems to be cut off"),
        (MODEL[:20], "in the middle of"),
        ("", "ends after 0 words"),
        (MODEL.replace("2 0 1", "2 0 3"), "says that a variable of factor 0 is 3; it must be from 0 to 2"),
        (MODEL.replace("2 0 1", "2 1 1"), r"factor 0 joins variables \[1, 1\], one of them twice"),
        (MODEL.replace("2 2 3", "2 0 3"), "says that the number of values of variable 1 is 0; it must be at least 1"),
        (MODEL.replace("0.5", "-0.5"), "entry 1 of factor 0 is -0.5; give 0 or more"),
        (MODEL.replace("0.5", "nan"), "entry 1 of factor 0 is nan; give 0 or more"),
        (MODEL.replace("0.5", "half"), "the table of factor 0 holds a word that is no number"),
        (MODEL.replace("\n4\n", "\n3\n"), r"factor 0 has 3 entries; its variables \[0, 1\] take 4"),
        (MODEL + "7", "goes on for 1 words after its last table"),
        (MODEL.replace("3\n2 2", "three\n2 2"), "word 2 is 'three', where the number of variables belongs"),
    ],
)
def test_what_is_wrong_with_a_model_is_named(written, text, message):
    with pytest.raises(ValueError, match=message):
        read_uai(written(text))


def test_what_is_wrong_with_evidence_is_named(written):
    with pytest.raises(ValueError, match="the value of variable 0 is 2; it must be from 0 to 1"):
        read_uai_evidence(written("1 0 2"), np.array([2]))
    with pytest.raises(ValueError, match="observes variable 0 as 1 and as 0; leave one out"):
        read_uai_evidence(written("2 0 1 0 0"), np.array([2]))
    with pytest.raises(ValueError, match="an answer to MAR begins with MAR"):
        read_uai_marginals(written("PR 1"))


def test_a_file_that_is_no_text_is_named(tmp_path):
    (tmp_path / "model.uai").write_bytes(b"MARKOV \xff")
    with pytest.raises(ValueError, match="is no text: byte 7 cannot be read; give a UAI file"):
        read_uai(tmp_path / "model.uai")
