import gzip
import io
import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from walkstep.data.readers import read_conll, read_sentences, read_tokens, write_conll
from walkstep.data.sequences import Sequences

CONLL_2003 = """-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects VBZ I-VP O

Peter NNP I-NP I-PER
-DOCSTART- -X- O O
BRUSSELS NNP I-NP I-LOC
"""


def written(folder, text, name="tiny.conll"):
    path = Path(folder, name)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_four_columns_are_read_as_conll_2003(tmp_path):
    corpus = read_conll(written(tmp_path, CONLL_2003))
    assert corpus.tokens == ["EU", "rejects", "Peter", "BRUSSELS"]
    assert corpus.tags == ["I-ORG", "O", "I-PER", "I-LOC"]
    assert corpus.columns == {
        "pos": ["NNP", "VBZ", "NNP", "NNP"],
        "chunk": ["I-NP", "I-VP", "I-NP", "I-NP"],
    }
    assert corpus.sentence_ptr.tolist() == [0, 2, 3, 4]
    assert corpus.document_ptr.tolist() == [0, 2, 3]
    assert corpus.sentence_ptr.dtype == corpus.document_ptr.dtype == np.int64


def test_without_docstart_every_sentence_is_a_document(tmp_path):
    corpus = read_conll(written(tmp_path, "\n\na O\n\n\nb O\nc O"))
    assert corpus.document_ptr.tolist() == [0, 1, 2]
    assert corpus.sentence_ptr.tolist() == [0, 1, 3]


def test_a_docstart_without_a_sentence_opens_nothing(tmp_path):
    corpus = read_conll(written(tmp_path, "-DOCSTART-\n-DOCSTART- O\n\na O\n\n-DOCSTART-"))
    assert corpus.n_documents == 1


def test_a_word_that_only_contains_docstart_is_a_word(tmp_path):
    corpus = read_conll(written(tmp_path, "-DOCSTART-x O\nx-DOCSTART- O\n"))
    assert corpus.tokens == ["-DOCSTART-x", "x-DOCSTART-"]


def test_docstart_lines_do_not_shift_line_numbers(tmp_path):
    path = written(tmp_path, "-DOCSTART-\n\na O\nb O\n-DOCSTART-\nc\n")
    with pytest.raises(ValueError, match=r"tiny.conll, line 6: 'c' has 1 column\(s\), expected 2"):
        read_conll(path)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", " \t\n"])
def test_any_line_end_and_trailing_white_space_are_read(tmp_path, end):
    corpus = read_conll(written(tmp_path, end.join(["a O", "b O", "", "c O", ""])))
    assert corpus.split(corpus.tokens) == [["a", "b"], ["c"]]


def test_unknown_tags_become_none(tmp_path):
    assert read_conll(written(tmp_path, "a O\nb _\nc ?\n")).tags == ["O", None, None]


def test_a_file_without_tags_has_none(tmp_path):
    corpus = read_conll(written(tmp_path, "a\nb\n\nc\n"), tag_column=None)
    assert corpus.tags is None
    assert corpus.columns == {}
    assert corpus.n_sentences == 2


def test_one_column_read_for_tags_names_the_way_out(tmp_path):
    with pytest.raises(ValueError, match="pass tag_column=None"):
        read_conll(written(tmp_path, "a\nb\n"))


@pytest.mark.parametrize(
    ("text", "tag_column", "names"),
    [
        ("a b c\n", -1, ["column1"]),
        ("a b c d\n", -1, ["pos", "chunk"]),
        ("a b c\n", None, ["pos", "chunk"]),
        ("a b c d\n", None, ["pos", "chunk", "column3"]),
        ("a b c d e\n", -1, ["column1", "column2", "column3"]),
        ("a b c d\n", 1, ["column1", "column2"]),
    ],
)
def test_remaining_columns_are_named_by_their_place(tmp_path, text, tag_column, names):
    assert list(read_conll(written(tmp_path, text), tag_column=tag_column).columns) == names


def test_columns_can_be_chosen_and_named(tmp_path):
    path = written(tmp_path, "O 1 a\nB 2 b\n")
    corpus = read_conll(path, word_column=2, tag_column=0, column_names=["number"])
    assert (corpus.tokens, corpus.tags, corpus.columns) == (["a", "b"], ["O", "B"], {"number": ["1", "2"]})
    with pytest.raises(ValueError, match=r"1 column\(s\) besides words and tags, but column_names is \['x', 'y'\]"):
        read_conll(path, column_names=["x", "y"])
    with pytest.raises(ValueError, match="there is no tag_column=3"):
        read_conll(path, tag_column=3)


def test_a_missing_column_names_file_and_line(tmp_path):
    path = written(tmp_path, "a N O\nb N O\n\nc O\nd N O\n")
    with pytest.raises(ValueError, match=r"tiny.conll, line 4: 'c O' has 2 column\(s\), expected 3"):
        read_conll(path)


def test_the_first_line_is_named_when_it_is_the_odd_one(tmp_path):
    with pytest.raises(ValueError, match="line 1: 'title here now'"):
        read_conll(written(tmp_path, "title here now\na O\nb O\n"))


def test_a_missing_column_among_tabs_names_its_line(tmp_path):
    with pytest.raises(ValueError, match=r"line 2: 'b c' has 1 column\(s\), expected 2"):
        read_conll(written(tmp_path, "a x\tO\nb c\nd\tO\n"))


def test_words_may_hold_spaces_where_tabs_part_columns(tmp_path):
    corpus = read_conll(written(tmp_path, "New York\tB-LOC\nis\tO\n"))
    assert corpus.tokens == ["New York", "is"]


def test_tabs_that_line_columns_up_are_white_space(tmp_path):
    corpus = read_conll(written(tmp_path, "York\t\tB-LOC\nis\t\tO\n"))
    assert (corpus.tokens, corpus.tags) == (["York", "is"], ["B-LOC", "O"])


def test_a_no_break_space_is_part_of_a_word(tmp_path):
    assert read_conll(written(tmp_path, "10\u00a0000 O\nx\u2028y O\n")).tokens == ["10\u00a0000", "x\u2028y"]


@pytest.mark.parametrize("text", ["", "\n \n", "-DOCSTART-\n\n"])
def test_a_file_without_tokens_is_an_error(tmp_path, text):
    with pytest.raises(ValueError, match=r"tiny\.conll holds no token"):
        read_conll(written(tmp_path, text))


def test_bytes_that_are_not_utf8_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"tiny.conll is not UTF-8: byte 0xe9 at offset 8 \(line 2\)"):
        read_conll(written(tmp_path, b"abc O\nde\xe9 O\n"))


def test_a_byte_order_mark_is_not_part_of_the_first_word(tmp_path):
    assert read_conll(written(tmp_path, b"\xef\xbb\xbfa O\n")).tokens == ["a"]


def test_packed_files_are_read(tmp_path):
    path = written(tmp_path, gzip.compress(CONLL_2003.encode()), "tiny.gz")
    assert read_conll(path).n_tokens == 4
    with pytest.raises(ValueError, match="does not unpack"):
        read_conll(written(tmp_path, b"a O\n", "plain.gz"))


def test_large_files_are_read_fast(tmp_path):
    path = written(tmp_path, "EU NNP I-NP I-ORG\nrejects VBZ I-VP O\n. . O O\n\n" * 55_000)
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        corpus = read_conll(path)
        seconds.append(time.perf_counter() - start)
    assert corpus.n_tokens == 165_000
    assert min(seconds) < 1.0  # about 0.1 s on an idle core; the rest is for busy machines


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff\t\n\r\v\f"), min_size=1).filter(
    lambda word: word == word.strip(" ") and word != "-DOCSTART-"
)
SENTENCES = st.lists(
    st.lists(st.tuples(WORDS, WORDS, st.none() | st.sampled_from(["O", "B-PER"])), min_size=1), min_size=1
)


@settings(max_examples=40, deadline=None)
@given(SENTENCES, st.data())
def test_what_is_written_is_read_back(tmp_path_factory, sentences, data):
    size = data.draw(st.integers(1, len(sentences)))
    corpus = Sequences.from_lists(
        [[word for word, _, _ in sentence] for sentence in sentences],
        [[tag for _, _, tag in sentence] for sentence in sentences],
        columns={"column1": [[cell for _, cell, _ in sentence] for sentence in sentences]},
        documents=[s // size for s in range(len(sentences))],
    )
    path = tmp_path_factory.mktemp("written") / "corpus.conll"
    write_conll(path, corpus, corpus.tags)
    again = read_conll(path)
    assert (again.tokens, again.tags, again.columns) == (corpus.tokens, corpus.tags, corpus.columns)
    assert again.sentence_ptr.tolist() == corpus.sentence_ptr.tolist()
    assert again.document_ptr.tolist() == corpus.document_ptr.tolist()


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from("ab \t\n\r\u00a0\x1c?-") | st.characters(exclude_categories=["Cs"]), max_size=40))
def test_any_text_is_read_or_refused_with_the_files_name(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "any.txt"
    path.write_bytes(text.encode())
    for read in (read_tokens, lambda path: read_conll(path, tag_column=None)):
        try:
            corpus = read(path)
        except ValueError as error:
            assert "any.txt" in str(error)  # noqa: PT017 - reading it is as good
        else:
            assert corpus.sentence_ptr[-1] == corpus.n_tokens
            assert all(corpus.tokens)
            assert all(len(column) == corpus.n_tokens for column in corpus.columns.values())


def test_an_open_file_can_be_written_to():
    file = io.StringIO()
    write_conll(file, Sequences.from_lists([["a", "b"], ["c"]]), None)
    assert file.getvalue() == "a\nb\n\nc\n"


@pytest.mark.parametrize("word", ["", "a\tb", "a\nb", " a", "-DOCSTART-"])
def test_a_word_that_would_break_the_file_is_named(tmp_path, word):
    corpus = Sequences.from_lists([["x"], ["y", word]])
    with pytest.raises(ValueError, match="sentence 1, token 1"):
        write_conll(tmp_path / "out", corpus, ["O", "O", "O"])
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_number_of_tags_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="there are 1 tokens but 2 tags"):
        write_conll(tmp_path / "out", Sequences.from_lists([["x"]]), ["O", "O"])


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = written(tmp_path, "old O\n")
    with pytest.raises(UnicodeEncodeError):
        write_conll(path, Sequences.from_lists([["\ud800"]]), ["O"])
    assert [file.name for file in tmp_path.iterdir()] == ["tiny.conll"]
    assert path.read_text() == "old O\n"


def test_running_text_has_one_sentence_a_line(tmp_path):
    corpus = read_sentences(written(tmp_path, "Ada wrote it .\n\n  She did .\n"))
    assert corpus.split(corpus.tokens) == [["Ada", "wrote", "it", "."], ["She", "did", "."]]
    assert corpus.n_documents == 2
    with pytest.raises(ValueError, match="holds no words"):
        read_sentences(written(tmp_path, "\n"))


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Ada\nwrote\n\nShe\ndid\n", ["Ada", "wrote"]),  # one word a line
        ("Ada\n", ["Ada"]),
        ("-DOCSTART-\n\nAda N\n", ["Ada"]),
        ("Ada N O\nwrote V O\n\nShe P O\n", ["Ada", "wrote"]),  # groups of lines of one width
        ("Ada N\nwrote V\nher N\nbook N\n", ["Ada", "wrote", "her", "book"]),
        ("New York\tN\nis\tV\n", ["New York", "is"]),  # tabs
        ("Ada wrote it .\n", ["Ada", "wrote", "it", "."]),  # running text
        ("Ada wrote\nShe did so\nYes\n", ["Ada", "wrote"]),
        ("Ada wrote .\nShe did .\n", ["Ada", "wrote", "."]),
        ("Ada wrote .\n\nShe did .\n", ["Ada", "wrote", "."]),
    ],
)
def test_columns_and_running_text_are_told_apart(tmp_path, text, first):
    assert read_tokens(written(tmp_path, text)).sentence(0) == first


def test_tagged_columns_can_be_read_as_raw_tokens(tmp_path):
    path = written(tmp_path, CONLL_2003)
    assert read_tokens(path).tags is None
    assert read_tokens(path, tag_column=-1).tags == ["I-ORG", "O", "I-PER", "I-LOC"]


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "documents", "sentences", "tokens"),
    [("eng.train", 946, 14_041, 203_621), ("eng.testa", 216, 3_250, 51_362)],
)
def test_conll_2003_has_its_published_counts(name, documents, sentences, tokens):
    path = Path(os.environ.get("WALKSTEP_DATA", "nowhere"), "conll2003", name)
    if not path.exists():
        pytest.skip("set WALKSTEP_DATA to a folder that holds conll2003")
    corpus = read_conll(path)
    assert (corpus.n_documents, corpus.n_sentences, corpus.n_tokens) == (documents, sentences, tokens)


def test_of_two_lines_the_shorter_one_lacks_a_column(tmp_path):
    path = tmp_path / "two.conll"
    path.write_text("a O\nb\n")
    with pytest.raises(ValueError, match=r"two.conll, line 2: 'b' has 1 column\(s\), expected 2"):
        read_conll(path)
