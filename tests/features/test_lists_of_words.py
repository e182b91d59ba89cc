import pytest

from walkstep.features.clusters import read_clusters
from walkstep.features.gazetteers import read_gazetteer
from walkstep.features.tokens import TokenFeatures


def test_a_gazetteer_file_has_one_phrase_a_line(tmp_path):
    path = tmp_path / "cities.txt"
    path.write_bytes("\ufeffNew  York \r\n\nZürich\n".encode())
    assert read_gazetteer(path).phrases == ["New York", "Zürich"]
    assert TokenFeatures(["gazetteer"], gazetteers={"city": str(path)}).gazetteers is not None


def test_a_wrong_gazetteer_file_is_named(tmp_path):
    path = tmp_path / "cities.txt"
    path.write_bytes(b"Paris\nZ\xfcrich\n")
    with pytest.raises(ValueError, match=r"cities.txt, line 2: not UTF-8 \(b'\\xfc'\); save"):
        read_gazetteer(path)
    path.write_bytes(b" \n")
    with pytest.raises(ValueError, match=r"cities.txt holds no phrase"):
        read_gazetteer(path)


def test_a_clusters_file_has_bits_and_words(tmp_path):
    path = tmp_path / "paths"
    path.write_text("0110\tMonday\t12\r\n10\t\u00e9t\u00e9\t3\n", encoding="utf-8")
    assert read_clusters(path) == {"Monday": "0110", "été": "10"}


@pytest.mark.parametrize("line", ["Monday 0110", "0110", "0120\tMonday\t1", "\tMonday\t1"])
def test_a_wrong_clusters_line_is_named(tmp_path, line):
    path = tmp_path / "paths"
    path.write_text(f"0\tfine\t1\n{line}\n")
    with pytest.raises(ValueError, match=r"paths, line 2: .* is not a bit string, a word and a count"):
        read_clusters(path)


def test_a_clusters_file_without_words_or_not_in_utf8_is_named(tmp_path):
    path = tmp_path / "paths"
    path.write_bytes(b"\n")
    with pytest.raises(ValueError, match="paths holds no word"):
        read_clusters(path)
    path.write_bytes(b"01\tZ\xfcrich\t1\n")
    with pytest.raises(ValueError, match=r"paths, line 1: not UTF-8"):
        read_clusters(path)
