import pytest

from walkstep.apps.sequence_tagger import SequenceTagger
from walkstep.data.readers import _files
from walkstep.data.readers.conll import read_conll

pytestmark = pytest.mark.xdist_group("command")


@pytest.fixture
def raw_file(tmp_path):
    path = tmp_path / "raw.txt"
    path.write_text("Ada Harlow left .\nNobody saw Mr. Brask there .\n")
    return path


def test_tags_go_to_stdout(command, tagger_file, raw_file):
    result = command("predict", tagger_file, raw_file)
    assert (result.exit_code, result.stderr) == (0, "")
    tags = SequenceTagger.load(tagger_file).predict([line.split() for line in raw_file.read_text().splitlines()])
    lines = [line.split() for line in result.stdout.splitlines() if line]
    assert [tag for _, tag in lines] == [tag for sentence in tags for tag in sentence]


def test_a_file_holds_what_stdout_would(command, tagger_file, raw_file, tmp_path):
    output = tmp_path / "tagged.conll"
    result = command("predict", tagger_file, raw_file, "-o", output)
    assert (result.exit_code, result.stdout) == (0, "")
    assert output.read_text() == command("predict", tagger_file, raw_file).stdout


def test_tagged_data_keeps_its_tags_beside_the_predicted_ones(command, tagger_file, news_file):
    result = command("predict", tagger_file, news_file)
    rows = [line.split() for line in result.stdout.splitlines() if line and "-DOCSTART-" not in line]
    truth = read_conll(news_file)
    assert [row[0] for row in rows] == truth.tokens
    assert [row[1] for row in rows] == truth.tags


def test_columns_are_found_in_new_data_with_and_without_tags(command, tmp_path):
    train = tmp_path / "train.conll"
    train.write_text("Ada NNP B-PER\nleft VBD O\n\nBob NNP B-PER\nslept VBD O\n" * 3)
    model = tmp_path / "pos.walk"
    fitted = command("fit", "tag", train, "--model", model, "--features", "word,column1", "--epochs", 2, "-q")
    assert fitted.exit_code == 0, fitted.stderr
    unseen = tmp_path / "unseen.conll"
    unseen.write_text("Cid NNP\nslept VBD\n\nDot NNP\nleft VBD\n")
    assert command("predict", model, unseen).stdout == "Cid NNP B-PER\nslept VBD O\n\nDot NNP B-PER\nleft VBD O\n"
    assert command("predict", model, train).exit_code == 0


def test_marginals_are_probabilities_of_every_tag(command, tagger_file, raw_file):
    result = command("predict", tagger_file, raw_file, "--marginals")
    assert result.exit_code == 0
    rows = [line.split("\t") for line in result.stdout.splitlines() if line]
    assert len(rows) == 10
    for row in rows:
        named = dict(cell.rsplit("=", 1) for cell in row[2:])
        assert list(named) == SequenceTagger.load(tagger_file).classes_
        assert sum(map(float, named.values())) == pytest.approx(1.0, abs=1e-3)


def test_k_best_taggings_come_best_first_under_their_score(command, tagger_file, raw_file):
    result = command("predict", tagger_file, raw_file, "--k-best", 3)
    assert result.exit_code == 0
    heads = [line.split() for line in result.stdout.splitlines() if line.startswith("# ")]
    assert [head[1] for head in heads] == ["1", "2", "3"] * 2
    scores = [float(head[2]) for head in heads]
    assert scores[:3] == sorted(scores[:3], reverse=True)


def test_marginals_and_k_best_are_one_or_the_other(command, tagger_file, raw_file):
    result = command("predict", tagger_file, raw_file, "--marginals", "--k-best", 2)
    assert result.exit_code == 2
    assert "--marginals and --k-best cannot be combined" in result.stderr


def test_an_option_for_label_sets_is_refused(command, tagger_file, raw_file):
    result = command("predict", tagger_file, raw_file, "--names")
    assert f"--names is for label sets, but {tagger_file} is a tagger" in result.stderr


def test_a_failed_write_keeps_the_old_file_and_no_draft(command, tagger_file, raw_file, tmp_path, monkeypatch):
    output = tmp_path / "tagged.conll"
    output.write_text("the old tags")

    def fail(source, target):
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr(_files.os, "replace", fail)
    result = command("predict", tagger_file, raw_file, "-o", output)
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["raw.txt", "tagged.conll"]
    assert output.read_text() == "the old tags"


def test_a_missing_folder_is_refused_before_the_model_is_read(command, raw_file, tmp_path):
    result = command("predict", tmp_path / "none.walk", raw_file, "-o", tmp_path / "none" / "tagged.conll")
    assert result.exit_code == 2
    assert f"folder {tmp_path / 'none'} does not exist; create it, or write tagged.conll elsewhere" in result.stderr
