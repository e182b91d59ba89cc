import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from walkstep import MultiLabelClassifier, SequenceTagger
from walkstep.data.archive import ArchiveError, save_archive

pytestmark = pytest.mark.xdist_group("command")


@pytest.fixture
def raw(tmp_path):
    path = tmp_path / "raw.txt"
    path.write_text("Ada left .\n")
    return path


def write_pickle(path, tagger_file):
    path.write_bytes(b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x07a model\x94.")


def write_nothing(path, tagger_file):
    path.touch()


def write_half(path, tagger_file):
    content = tagger_file.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def write_foreign_arrays(path, tagger_file):
    save_file({"weights": np.zeros(3)}, path)


def write_later_format(path, tagger_file):
    metadata = {"walkstep": json.dumps({"format": "99", "kind": "SequenceTagger", "description": {}})}
    save_file({"weights": np.zeros(3)}, path, metadata=metadata)


def write_folder(path, tagger_file):
    path.mkdir()


CASES = {
    write_pickle: "is not a Walkstep model, or it is damaged",
    write_nothing: "is not a Walkstep model, or it is damaged",
    write_half: "is not a Walkstep model, or it is damaged",
    write_foreign_arrays: "is a file of arrays, but not a Walkstep model; train one with `walkstep fit`",
    write_later_format: "was saved in format 99, but this version reads format",
    write_folder: "is a folder, not a model; give the file that `save` wrote",
}


@pytest.mark.parametrize(("write", "message"), CASES.items(), ids=lambda case: getattr(case, "__name__", ""))
def test_unreadable_and_foreign_files_are_refused(refused, tagger_file, raw, tmp_path, write, message):
    path = tmp_path / "odd.walk"
    write(path, tagger_file)
    for kind in (SequenceTagger, MultiLabelClassifier):
        with pytest.raises(ArchiveError) as error:
            kind.load(path)
        assert f"{path} {message}" in str(error.value)
    for arguments in (("predict", path, raw, "-o", tmp_path / "out.conll"), ("evaluate", path, raw)):
        assert f"{path} {message}" in refused(*arguments)


def test_a_model_that_is_not_there_is_named(refused, raw, tmp_path):
    path = tmp_path / "absent.walk"
    message = f"there is no model at {path}; check the name, or train one with `walkstep fit`"
    with pytest.raises(FileNotFoundError) as error:
        SequenceTagger.load(path)
    assert str(error.value) == message
    assert refused("predict", path, raw) == message


def test_a_model_of_another_kind_is_refused(tagger_file, classifier_file):
    with pytest.raises(ArchiveError, match=r"holds a MultiLabelClassifier, not a SequenceTagger; load it with Multi"):
        SequenceTagger.load(classifier_file)
    with pytest.raises(ArchiveError, match=r"holds a SequenceTagger, not a MultiLabelClassifier; load it with Seq"):
        MultiLabelClassifier.load(tagger_file)


def test_a_kind_that_the_command_does_not_know_is_refused(refused, raw, tmp_path):
    path = tmp_path / "new.walk"
    save_archive(path, "Seer", {}, {"weights": np.zeros(1)})
    for verb in ("predict", "evaluate"):
        message = refused(verb, path, raw)
        assert message == f"{path} holds a Seer, which `walkstep {verb}` does not know; use Seer.load in Python"


def test_a_model_cannot_be_saved_over_a_folder(tagger, tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder; give the name of a file to save the model in"):
        tagger.save(tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist; create it, or save the model elsewhere"):
        tagger.save(tmp_path / "none" / "ner.walk")
    assert list(tmp_path.iterdir()) == []
