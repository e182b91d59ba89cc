import csv
import json

import numpy as np
import pytest

from walkstep.apps.multi_label_classifier import MultiLabelClassifier
from walkstep.data.demo import generate_rows

pytestmark = pytest.mark.xdist_group("command")


def write_rows(path, rows, *, with_labels=True):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*rows.feature_names, *(rows.label_names if with_labels else ())])
        writer.writerows([*x, *(y if with_labels else ())] for x, y in zip(rows.X, rows.Y.tolist(), strict=True))
    return path


@pytest.fixture(scope="module")
def rows():
    return generate_rows(80, 3, seed=0, n_features=5)


@pytest.fixture(scope="module")
def files(command, rows, tmp_path_factory):
    """A model, its training rows, and the same rows without labels."""
    folder = tmp_path_factory.mktemp("rows")
    data = write_rows(folder / "rows.csv", rows)
    unlabelled = write_rows(folder / "new.csv", rows, with_labels=False)
    model = folder / "labels.walk"
    result = command("fit", "multilabel", data, "--labels", 3, "--model", model, "--epochs", 3)
    assert result.exit_code == 0, result.output
    assert "trained on 80 rows: 3 labels, 5 features, 3 epochs" in result.stdout
    assert f"saved {model}" in result.stdout
    assert "epoch 3/3" in result.stderr
    return model, data, unlabelled


def table_of(text):
    header, *cells = csv.reader(text.splitlines())
    return tuple(header), np.array(cells, dtype=float)


def test_predictions_are_a_table_of_0_and_1(command, files, rows):
    model, data, unlabelled = files
    result = command("predict", model, unlabelled)
    assert (result.exit_code, result.stderr) == (0, "")
    header, cells = table_of(result.stdout)
    assert header == rows.label_names
    np.testing.assert_array_equal(cells, MultiLabelClassifier.load(model).predict(rows.X))
    assert command("predict", model, data).stdout == result.stdout


def test_predictions_can_be_names(command, files, rows, tmp_path):
    model, _, unlabelled = files
    output = tmp_path / "sets.txt"
    assert command("predict", model, unlabelled, "--names", "-o", output).exit_code == 0
    predicted = MultiLabelClassifier.load(model).predict(rows.X)
    expected = [[rows.label_names[k] for k in np.flatnonzero(row)] for row in predicted]
    assert [line.split() for line in output.read_text().splitlines()] == expected


def test_marginals_are_probabilities(command, files, rows):
    model, _, unlabelled = files
    _, cells = table_of(command("predict", model, unlabelled, "--marginals").stdout)
    np.testing.assert_allclose(cells, MultiLabelClassifier.load(model).predict_proba(rows.X), atol=5e-5)


def test_evaluation_prints_and_writes_what_the_classifier_says(command, files, rows, tmp_path):
    model, data, _ = files
    scores = tmp_path / "scores.json"
    result = command("evaluate", model, data, "--json", scores)
    assert result.exit_code == 0
    expected = MultiLabelClassifier.load(model).evaluate(rows.X, rows.Y)
    assert result.stdout == expected.table() + "\n"
    assert json.loads(scores.read_text()) == expected.to_dict()


def test_sparse_rows_take_the_same_way(command, rows, tmp_path):
    data, model = tmp_path / "rows.libsvm", tmp_path / "labels.walk"
    lines = []
    for x, y in zip(rows.X, rows.Y, strict=True):
        labels = ",".join(rows.label_names[k] for k in np.flatnonzero(y))
        lines.append(" ".join([labels, *(f"{c + 1}:{value!r}" for c, value in enumerate(x.tolist()))]).strip())
    data.write_text("\n".join(lines) + "\n")
    fitted = command("fit", "multilabel", data, "--model", model, "--epochs", 2, "--decision", "map", "-q")
    assert fitted.exit_code == 0, fitted.stderr
    new = tmp_path / "new.libsvm"
    new.write_text("1:0.5\n")  # a row need not have every feature
    header, cells = table_of(command("predict", model, new).stdout)
    assert header == rows.label_names
    assert cells.shape == (1, 3)
    assert "Hamming accuracy" in command("evaluate", model, data).stdout


def test_rows_are_learned_by_messages(command, rows, files, tmp_path):
    _, data, unlabelled = files
    model = tmp_path / "risk.walk"
    settings = ("--learner", "risk", "--loss", "f1", "--inference", "sum-product", "--rounds", 3, "--pairs", "seen")
    fitted = command("fit", "multilabel", data, "--labels", 3, "--model", model, "--epochs", 2, *settings)
    assert fitted.exit_code == 0, fitted.stderr
    assert "3 labels, 5 features, 3 epochs" in fitted.stdout  # one by likelihood comes first
    assert "epoch 3/3  objective" in fitted.stderr
    _, cells = table_of(command("predict", model, unlabelled).stdout)
    np.testing.assert_array_equal(cells, MultiLabelClassifier.load(model).predict(rows.X))


def test_rows_are_learned_from_samples(command, rows, files, tmp_path):
    _, data, unlabelled = files
    model = tmp_path / "drawn.walk"
    settings = ("--learner", "sampled-map", "--l2", 1e-4, "--epochs", 4)
    fitted = command("fit", "multilabel", data, "--labels", 3, "--model", model, *settings)
    assert fitted.exit_code == 0, fitted.stderr
    assert "3 labels, 5 features, 4 epochs" in fitted.stdout
    assert "epoch 4/4  slope" in fitted.stderr
    _, cells = table_of(command("predict", model, unlabelled).stdout)
    np.testing.assert_array_equal(cells, MultiLabelClassifier.load(model).predict(rows.X))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("--learner", "risky"), "learner 'risky' is not known; choose one of samplerank"),
        (("--learner", "risk", "--signal", "f1"), "--signal is for learners that walk, and 'risk' does not"),
        (("--learner", "svm", "--loss", "f1"), "--loss is for the learner risk, and 'svm' has one of its own"),
        (("--rounds", 4), "--rounds is for learners by messages, but 'samplerank-svm' walks"),
        (("--learner", "sampled-map", "--rounds", 4), "--rounds is for learners by messages, but 'sampled-map' draws"),
        (("--learner", "sampled-map", "--rate", 1), "--rate is for learners that walk, and 'sampled-map' does not"),
        (("--pairs", "most"), "--pairs is 'most'; give all, none, seen, or how many pairs are joined"),
        (("--learner", "risk", "--batch-size", 0), "--batch-size is 0"),
        (("--learner", "risk", "--damping", 2), "damping is 2.0; give a number from 0 to below 1"),
    ],
)
def test_options_that_do_not_go_together_are_refused(command, files, given, says, tmp_path):
    _, data, _ = files
    result = command("fit", "multilabel", data, "--labels", 3, "--model", tmp_path / "m.walk", *given, "-q")
    assert result.exit_code == 2
    assert says in result.stderr
