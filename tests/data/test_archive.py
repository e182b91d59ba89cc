import numpy as np
import pytest

from walkstep.data.archive import ArchiveError, kind_of, load_archive, save_archive


def test_arrays_and_description_come_back_as_they_were(tmp_path):
    path = tmp_path / "m.walk"
    arrays = {
        "w": np.arange(6.0).reshape(2, 3).T,
        "scalar": np.array(3),
        "k": np.array([1, 2], np.uint64),
        "empty": np.zeros(0, np.int32),
    }
    save_archive(path, "Thing", {"a": [1, "ä"]}, arrays)
    description, loaded = load_archive(path, "Thing")
    assert description == {"a": [1, "ä"]}
    assert kind_of(path) == "Thing"
    for name, array in arrays.items():
        np.testing.assert_array_equal(loaded[name], array)
        assert loaded[name].dtype == array.dtype


def test_another_kind_is_refused_by_name(tmp_path):
    save_archive(tmp_path / "m", "Thing", {}, {})
    with pytest.raises(ArchiveError, match="holds a Thing, not a Other"):
        load_archive(tmp_path / "m", "Other")


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x80\x04pickle", b"\x10\x00\x00\x00\x00\x00\x00\x00{}"])
def test_foreign_files_are_refused(tmp_path, content):
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ArchiveError, match="not a Walkstep model"):
        load_archive(tmp_path / "m", "Thing")


def test_a_cut_off_model_is_refused(tmp_path):
    save_archive(tmp_path / "m", "Thing", {}, {"w": np.zeros(1000)})
    whole = (tmp_path / "m").read_bytes()
    (tmp_path / "m").write_bytes(whole[:-100])
    with pytest.raises(ArchiveError, match="damaged"):
        load_archive(tmp_path / "m", "Thing")


def test_a_failed_save_leaves_the_old_model_and_no_draft(tmp_path):
    save_archive(tmp_path / "m", "Thing", {"version": 1}, {})
    with pytest.raises(TypeError):
        save_archive(tmp_path / "m", "Thing", {"version": object()}, {})
    assert load_archive(tmp_path / "m", "Thing")[0] == {"version": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["m"]


def test_missing_folder_and_missing_file_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        save_archive(tmp_path / "no" / "m", "Thing", {}, {})
    with pytest.raises(FileNotFoundError, match="no model at"):
        load_archive(tmp_path / "no", "Thing")
