"""Small models to feed bad input to, and a way to run the command."""

import pytest
from typer.testing import CliRunner

from walkstep import MultiLabelClassifier, SequenceTagger
from walkstep.cli.main import app
from walkstep.data.demo import generate_rows

SENTENCES = [["Ada", "met", "Bob"], ["Bob", "slept"]]
TAGS = [["B-PER", "O", "B-PER"], ["B-PER", "O"]]


@pytest.fixture(scope="session")
def tagger():
    return SequenceTagger(n_epochs=2, features=["word", "lower"], random_state=0).fit(SENTENCES * 3, TAGS * 3)


@pytest.fixture(scope="session")
def tagger_file(tagger, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "names.walk"
    tagger.save(path)
    return path


@pytest.fixture(scope="session")
def classifier():
    rows = generate_rows(60, 3, seed=0, n_features=4)
    return MultiLabelClassifier(n_epochs=2, decision="map", random_state=0).fit(rows.X, rows.Y)


@pytest.fixture(scope="session")
def classifier_file(classifier, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "labels.walk"
    classifier.save(path)
    return path


@pytest.fixture
def refused(tmp_path):
    """Run a command that must fail with one message, and leave no file behind; the message."""

    def run(*arguments):
        before = sorted(tmp_path.rglob("*"))
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        assert result.stderr.startswith("error: ")
        assert "Traceback" not in result.stderr
        assert sorted(tmp_path.rglob("*")) == before, "something half-written stays on disk"
        return result.stderr.removeprefix("error: ").rstrip("\n")

    return run
