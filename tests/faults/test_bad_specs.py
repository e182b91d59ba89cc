import pytest

from walkstep import SequenceTagger
from walkstep.model.language import LanguageError

pytestmark = pytest.mark.xdist_group("command")
DATA = [["Ada", "left"]], [["B-PER", "O"]]


def test_an_unknown_feature_is_pointed_at():
    with pytest.raises(LanguageError) as error:
        SequenceTagger(templates="emission: tag[i] ~ word[i],\n  shpae[i-1]").fit(*DATA)
    assert (error.value.line, error.value.column) == (2, 3)
    assert "'shpae'" in str(error.value)
    assert "did you mean 'shape'?" in str(error.value)


def test_an_unknown_feature_of_a_shape_is_named():
    with pytest.raises(ValueError, match=r"'shpae'.*did you mean 'shape'\?"):
        SequenceTagger(features=["word", "shpae"]).fit(*DATA)


def test_an_unknown_variable_is_named():
    with pytest.raises(ValueError, match=r"'tga'.*tag"):
        SequenceTagger(templates="tga[i] ~ word[i]").fit(*DATA)


def test_the_command_names_the_file_and_the_place(refused, tmp_path):
    data, spec = tmp_path / "train.conll", tmp_path / "model.spec"
    data.write_text("Ada B-PER\nleft O\n")
    spec.write_text("emission: tag[i] ~ word[i]\nmore: tag[i] ~ shpae[i-1]\n")
    message = refused("fit", "tag", data, "--templates", spec, "--model", tmp_path / "ner.walk", "-q")
    assert message.startswith(f"{spec}, line 2, column 16: ")
    assert "did you mean 'shape'?" in message
    spec.write_text("emission: tag[i ~ word[i]\n")
    message = refused("fit", "tag", data, "--templates", spec, "--model", tmp_path / "ner.walk", "-q")
    assert message.startswith(f"{spec}, line 1, column 17: expected ")
    message = refused("fit", "tag", data, "--features", "word,shpae", "--model", tmp_path / "ner.walk", "-q")
    assert "did you mean 'shape'?" in message


def test_a_spec_and_features_are_not_mixed(refused, tmp_path):
    data, spec = tmp_path / "train.conll", tmp_path / "model.spec"
    data.write_text("Ada B-PER\nleft O\n")
    spec.write_text("tag[i] ~ word[i]\n")
    message = refused("fit", "tag", data, "--templates", spec, "--features", "word", "--model", tmp_path / "ner.walk")
    assert message == f"--features goes with a ready-made shape, but --templates is {spec}; name them in that file"


def test_a_spec_without_templates_is_refused(refused, tmp_path):
    data, spec = tmp_path / "train.conll", tmp_path / "model.spec"
    data.write_text("Ada B-PER\nleft O\n")
    spec.write_text("# nothing yet\n")
    assert refused("fit", "tag", data, "--templates", spec, "--model", tmp_path / "ner.walk", "-q")


def test_a_list_of_phrases_without_phrases_is_refused(refused, tmp_path):
    data, towns = tmp_path / "train.conll", tmp_path / "towns.txt"
    data.write_text("Ada B-PER\nleft O\n")
    towns.touch()
    message = refused("fit", "tag", data, "--gazetteer", f"town={towns}", "--model", tmp_path / "ner.walk", "-q")
    assert message == f"{towns} holds no phrase; write one a line"
