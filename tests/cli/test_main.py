import os

import pytest

import walkstep
from walkstep.data import archive
from walkstep.data.catalogue import CATALOGUE

pytestmark = pytest.mark.xdist_group("command")


def test_version_is_that_of_the_package(command):
    result = command("--version")
    assert (result.exit_code, result.stdout) == (0, f"walkstep {walkstep.__version__}\n")


def test_help_names_every_verb(command):
    result = command("--help")
    assert result.exit_code == 0
    for verb in ("fit", "predict", "evaluate", "reproduce", "data", "demo"):
        assert f"  {verb} " in result.stdout


@pytest.mark.parametrize("verb", ["fit tag", "fit multilabel", "predict", "evaluate", "reproduce", "data", "demo"])
def test_every_verb_has_help(command, verb):
    result = command(*verb.split(), "--help")
    assert result.exit_code == 0
    assert "Usage: " in result.stdout


def test_an_unknown_verb_is_a_usage_error(command):
    result = command("train")
    assert result.exit_code == 2
    assert "'train'" in result.stderr
    assert result.stdout == ""


def test_a_known_error_is_one_line_on_stderr(command, tmp_path):
    result = command("predict", tmp_path / "none.walk", __file__)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr == (
        f"error: there is no model at {tmp_path / 'none.walk'}; check the name, or train one with `walkstep fit`\n"
    )


def test_debug_lets_the_error_through(command, tmp_path):
    result = command("--debug", "predict", tmp_path / "none.walk", __file__)
    assert isinstance(result.exception, FileNotFoundError)


def test_errors_of_the_system_name_the_file_and_a_way_out(command, monkeypatch, tmp_path, tagger_file):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(archive, "kind_of", refuse)
    result = command("predict", tagger_file, __file__)
    assert result.exit_code == 2
    assert result.stderr == f"error: {tagger_file}: Permission denied; check the name and the permissions\n"


def test_a_bug_is_not_hidden(command, monkeypatch, tagger_file):
    def stumble(path):
        raise KeyError("a bug")

    monkeypatch.setattr(archive, "kind_of", stumble)
    assert isinstance(command("predict", tagger_file, __file__).exception, KeyError)


def test_an_interrupt_ends_with_130(command, monkeypatch, tagger_file):
    def interrupt(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(archive, "kind_of", interrupt)
    result = command("predict", tagger_file, __file__)
    assert (result.exit_code, result.stderr) == (130, "interrupted; nothing was written\n")


def test_data_lists_every_set_and_what_is_missing(command, monkeypatch, tmp_path):
    monkeypatch.setenv("WALKSTEP_DATA", str(tmp_path))
    (tmp_path / "conll2003").mkdir()
    (tmp_path / "conll2003" / "eng.train").touch()
    result = command("data")
    assert result.exit_code == 0
    for name, data_set in CATALOGUE.items():
        assert f"\n{name}: " in result.stdout
        assert data_set.licence.split()[0] in result.stdout
    assert "conll2003: incomplete" in result.stdout
    assert "missing  eng.testa" in result.stdout
    assert f"0 of {len(CATALOGUE)} data sets found" in result.stdout


def test_data_says_which_variable_to_set(command, monkeypatch):
    monkeypatch.delenv("WALKSTEP_DATA", raising=False)
    assert command("data").stdout.startswith("WALKSTEP_DATA is not set; set it to the folder")


@pytest.mark.skipif(os.name == "nt", reason="folders have other permissions there")
def test_outputs_are_checked_before_inputs_are_read(command, tmp_path):
    broken = tmp_path / "broken.conll"
    broken.write_text("one column\nor two\n\x00")
    result = command("fit", "tag", broken, "--model", tmp_path / "nowhere" / "ner.walk")
    assert result.exit_code == 2
    assert f"folder {tmp_path / 'nowhere'} does not exist; create it" in result.stderr
