import json
import subprocess
import sys

import polars as pl
import pytest

from walkstep import CollectiveClassifier
from walkstep.data.debates import generate_debates
from walkstep.data.readers.tables import read_table, write_table

pytestmark = pytest.mark.xdist_group("command")

WITHOUT_JAX = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "jax":
            raise ModuleNotFoundError("No module named 'jax'", name="jax")
sys.meta_path.insert(0, Absent())
from walkstep.cli.main import app
app(sys.argv[1:], standalone_mode=False)
"""
COLUMNS = ("--label", "vote", "--group", "debate")


@pytest.fixture(scope="module")
def files(command, tmp_path_factory):
    """A model, and the items and links it was trained on."""
    folder = tmp_path_factory.mktemp("debates")
    items, links = generate_debates(12, 6, seed=0)
    write_table(items, folder / "items.csv")
    write_table(links, folder / "links.jsonl")
    model = folder / "votes.walk"
    options = ("--epochs", 2, "--first-epochs", 3, *COLUMNS)
    result = command("fit", "collective", folder / "items.csv", folder / "links.jsonl", "--model", model, *options)
    assert result.exit_code == 0, result.output
    assert f"trained on 72 items and {links.height} links: 2 classes, " in result.stdout
    assert f"saved {model}" in result.stdout
    assert f"read 72 items of {folder / 'items.csv'}, 72 with labels, and {links.height} links" in result.stderr
    assert "words and the columns minutes" in result.stderr
    assert "epoch 5/5" in result.stderr
    return model, folder / "items.csv", folder / "links.jsonl"


def test_predictions_are_a_table_of_labels(command, files, tmp_path):
    model, items, links = files
    result = command("predict", model, items, "--links", links)
    assert (result.exit_code, result.stderr) == (0, "")
    expected = CollectiveClassifier.load(model).predict(items, links)
    assert result.stdout == expected.write_csv()
    assert command("predict", model, items, "--links", links, "-o", tmp_path / "votes.parquet").exit_code == 0
    assert read_table(tmp_path / "votes.parquet").equals(expected)


def test_labels_need_not_be_there_and_can_be_held_to(command, files, tmp_path):
    model, items, links = files
    table = read_table(items)
    write_table(table.drop("vote"), tmp_path / "new.csv")
    assert command("predict", model, tmp_path / "new.csv", "--links", links).exit_code == 0
    held = read_table(items)["vote"].to_list()
    answers = command("predict", model, items, "--links", links, "--hold-labels").stdout.splitlines()[1:]
    assert [answer.rpartition(",")[2] for answer in answers] == held


def test_marginals_are_probabilities(command, files):
    model, items, links = files
    result = command("predict", model, items, "--links", links, "--marginals")
    chances = pl.read_csv(result.stdout.encode())
    assert chances.columns == ["id", "against", "for"]
    assert ((chances["against"] + chances["for"] - 1).abs() < 1e-9).all()


def test_evaluation_prints_and_writes_what_the_classifier_says(command, files, tmp_path):
    model, items, links = files
    result = command("evaluate", model, items, "--links", links, "--json", tmp_path / "scores.json")
    assert result.exit_code == 0, result.stderr
    expected = CollectiveClassifier.load(model).evaluate(items, links)
    assert result.stdout == expected.table() + "\n"
    assert json.loads((tmp_path / "scores.json").read_text()) == expected.to_dict()
    other = tmp_path / "other.csv"
    write_table(read_table(items).rename({"vote": "truth"}), other)
    assert command("evaluate", model, other, "--links", links, "--truth", "truth").stdout == result.stdout


def test_one_of_a_kind_is_counted_as_one(command, files, tmp_path):
    _, items, links = files
    write_table(read_table(links).head(1), tmp_path / "one.csv")
    options = ("--learner", "perceptron", "--epochs", 1, *COLUMNS)
    result = command("fit", "collective", items, tmp_path / "one.csv", "--model", tmp_path / "m.walk", *options)
    assert "trained on 72 items and 1 link: 2 classes, " in result.stdout
    assert " weights, 1 epoch, " in result.stdout
    assert "72 with labels, and 1 link\n" in result.stderr


def test_development_items_choose_the_epoch(command, files, tmp_path):
    _, items, links = files
    options = ("--dev", items, "--dev-links", links, "--epochs", 2, "--first-epochs", 3, "-q", *COLUMNS)
    result = command("fit", "collective", items, links, "--model", tmp_path / "m.walk", *options)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "development loss 0." in result.stdout


def test_without_jax_the_command_says_what_to_install(files):
    model, items, _ = files
    run = subprocess.run([sys.executable, "-c", WITHOUT_JAX, "predict", model, items], capture_output=True, text=True)
    assert run.stdout == ""
    assert run.stderr == (
        "error: walkstep.CollectiveClassifier takes jax, which is not installed: pip install 'walkstep[jax]'\n"
    )
