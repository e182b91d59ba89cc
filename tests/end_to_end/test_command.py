"""The way of a user, in processes of its own: fit, predict, evaluate, and the same again from Python."""

import csv
import json
import subprocess
import sys

import pytest

from walkstep import MultiLabelClassifier, SequenceTagger
from walkstep.data.demo import generate_news, generate_rows
from walkstep.data.readers import read_conll, read_rows, write_conll

pytestmark = pytest.mark.xdist_group("command")


def walkstep(*arguments, folder):
    command = [sys.executable, "-m", "walkstep.cli.main", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)


def test_names_from_file_to_scores(tmp_path):
    for name, news in {"train": generate_news(300, seed=0), "test": generate_news(100, seed=1)}.items():
        write_conll(tmp_path / f"{name}.conll", news, news.tags)
    fitted = walkstep("fit", "tag", "train.conll", "--model", "ner.walk", "--epochs", 5, folder=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    assert "saved ner.walk" in fitted.stdout
    predicted = walkstep("predict", "ner.walk", "test.conll", "-o", "tagged.conll", folder=tmp_path)
    assert (predicted.returncode, predicted.stdout) == (0, ""), predicted.stderr
    evaluated = walkstep("evaluate", "ner.walk", "test.conll", "--json", "scores.json", folder=tmp_path)
    assert evaluated.returncode == 0, evaluated.stderr
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert scores["f1"] > 0.85
    assert set(scores["by_type"]) == {"LOC", "MISC", "ORG", "PER"}
    assert {path.name for path in tmp_path.iterdir()} == {
        "train.conll",
        "test.conll",
        "ner.walk",
        "tagged.conll",
        "scores.json",
    }

    # The file gives the same answers in this process, also after it was saved once more.
    tagger = SequenceTagger.load(tmp_path / "ner.walk")
    test = read_conll(tmp_path / "test.conll")
    tags = [tag for sentence in tagger.predict(test) for tag in sentence]
    assert read_conll(tmp_path / "tagged.conll").tags == tags
    assert tagger.evaluate(test).f1 == scores["f1"]
    tagger.save(tmp_path / "again.walk")
    assert SequenceTagger.load(tmp_path / "again.walk").predict(test) == tagger.predict(test)

    # And so does the same training from Python.
    twin = SequenceTagger(n_epochs=5, random_state=0).fit(read_conll(tmp_path / "train.conll"))
    assert twin.predict(test) == tagger.predict(test)


def test_label_sets_from_file_to_scores(tmp_path):
    rows = generate_rows(300, 4, seed=0)
    for name, part in {"train": slice(0, 200), "test": slice(200, 300)}.items():
        with open(tmp_path / f"{name}.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*rows.feature_names, *rows.label_names])
            writer.writerows([*x, *y] for x, y in zip(rows.X[part], rows.Y[part].tolist(), strict=True))
    fitted = walkstep("fit", "multilabel", "train.csv", "--model", "labels.walk", "--epochs", 20, folder=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    predicted = walkstep("predict", "labels.walk", "test.csv", "-o", "predicted.csv", folder=tmp_path)
    assert predicted.returncode == 0, predicted.stderr
    evaluated = walkstep("evaluate", "labels.walk", "test.csv", "--json", "scores.json", folder=tmp_path)
    assert evaluated.returncode == 0, evaluated.stderr
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert scores["hamming_error"] < 0.3

    classifier = MultiLabelClassifier.load(tmp_path / "labels.walk")
    test = read_rows(tmp_path / "test.csv", labels="label")
    answers = classifier.predict(test.X)
    with open(tmp_path / "predicted.csv", newline="") as file:
        header, *cells = csv.reader(file)
    assert tuple(header) == rows.label_names
    assert [[int(cell) for cell in row] for row in cells] == answers.tolist()
    classifier.save(tmp_path / "again.walk")
    assert (MultiLabelClassifier.load(tmp_path / "again.walk").predict(test.X) == answers).all()
