import pytest

from walkstep.data.catalogue import CATALOGUE, DataNotFound, find, listing


def test_every_set_says_what_whose_and_under_which_licence():
    assert len(CATALOGUE) == 19
    for name, data_set in CATALOGUE.items():
        assert data_set.name == name
        assert data_set.what
        assert data_set.whose
        assert data_set.licence
        assert data_set.files


def test_a_set_is_found_when_all_its_files_are_there(tmp_path, monkeypatch):
    monkeypatch.setenv("WALKSTEP_DATA", str(tmp_path))
    (tmp_path / "conll2003").mkdir()
    (tmp_path / "conll2003" / "eng.train").touch()
    with pytest.raises(DataNotFound, match=r"conll2003 lacks eng.testa; set WALKSTEP_DATA to a folder"):
        find("conll2003")
    row = next(row for row in listing() if row.data_set.name == "conll2003")
    assert (row.found, row.missing, row.is_complete) == (("eng.train",), ("eng.testa",), False)
    (tmp_path / "conll2003" / "eng.testa").touch()
    assert find("conll2003") == tmp_path / "conll2003"


@pytest.mark.parametrize(
    ("name", "test_file"),
    [
        ("cmu_seminars", "seminars.test.jsonl"),
        ("convote", "speeches.test.jsonl.gz"),
        ("reuters21578", "modapte.test.jsonl.gz"),
    ],
)
def test_a_set_is_complete_without_its_test_file(tmp_path, monkeypatch, name, test_file):
    monkeypatch.setenv("WALKSTEP_DATA", str(tmp_path))
    assert test_file not in CATALOGUE[name].files
    (tmp_path / name).mkdir()
    for file in CATALOGUE[name].files:
        (tmp_path / name / file).touch()
    assert find(name) == tmp_path / name


@pytest.mark.parametrize("value", [None, ""])
def test_without_the_variable_the_message_names_it_and_the_files(monkeypatch, value):
    if value is None:
        monkeypatch.delenv("WALKSTEP_DATA", raising=False)
    else:
        monkeypatch.setenv("WALKSTEP_DATA", value)
    with pytest.raises(DataNotFound, match=r"WALKSTEP_DATA, which is not set; .* conll2003/ with eng.train, eng.testa"):
        find("conll2003")
    assert all(row.folder is None and not row.found for row in listing())


def test_a_missing_set_is_a_missing_file():
    assert issubclass(DataNotFound, FileNotFoundError)


def test_an_unknown_name_is_corrected():
    with pytest.raises(ValueError, match="did you mean 'litbank'"):
        find("litbnk")
    with pytest.raises(ValueError, match="'walkstep data' lists all"):
        find("xyzzy")
