import csv
import json

import numpy as np
import polars as pl
import pytest

from walkstep import LabelRanker
from walkstep.apps.progress import EpochProgress
from walkstep.data.demo_structures import generate_rankings

pytestmark = pytest.mark.xdist_group("spaces")

QUICK = ("--features", "linear", "--sigma", 3, "-q")


def write_table(path, columns):
    """Columns by name as a CSV table."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def table_of(text):
    header, *cells = csv.reader(text.splitlines())
    return header, cells


def refused(command, *arguments):
    """Run a command that must fail with one line; the line."""
    result = command(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.fixture(scope="module")
def rows():
    return generate_rankings(60, 4, seed=0)


@pytest.fixture(scope="module")
def features(rows):
    return dict(zip(rows.feature_names, rows.X.T.tolist(), strict=True))


@pytest.fixture(scope="module")
def frame(rows):
    return pl.DataFrame(rows.X, schema=list(rows.feature_names))


@pytest.fixture(scope="module")
def files(command, rows, features, tmp_path_factory):
    """A model, its training rows, and the same rows without rankings."""
    folder = tmp_path_factory.mktemp("rankings")
    data = write_table(folder / "rows.csv", features | {"ranking": rows.rankings.texts()})
    unranked = write_table(folder / "new.csv", features)
    model = folder / "ranks.walk"
    result = command("fit", "rank", data, "--model", model, "--features", "linear")
    assert result.exit_code == 0, result.output
    ranker = LabelRanker.load(model)
    first, second, third = result.stdout.splitlines()
    assert first.startswith("trained on 60 rows: 4 labels, 6 features, ")
    assert " epochs of map, " in first
    tau = ranker.cross_validated_
    assert second == f"linear features, sigma {ranker.sigma_:g}: Kendall's tau {tau:.4f} in cross-validation"
    assert third.startswith(f"saved {model} (")
    assert result.stderr.startswith(f"read 60 rows of {data}: 4 labels, 6 features\nlinear features, sigma 0.3: ")
    assert "epoch 2/100  objective " in result.stderr
    return model, data, unranked


def test_predictions_are_a_ranking_a_row(command, files, frame):
    model, data, unranked = files
    result = command("predict", model, unranked)
    assert (result.exit_code, result.stderr) == (0, "")
    header, cells = table_of(result.stdout)
    assert header == ["ranking"]
    assert [text for (text,) in cells] == LabelRanker.load(model).predict(frame).tolist()
    assert command("predict", model, data).stdout == result.stdout


def test_predictions_beside_features_serve_as_truth(command, files, features, tmp_path):
    model, _, unranked = files
    output = tmp_path / "ranked.csv"
    assert command("predict", model, unranked, "-o", output).exit_code == 0
    _, cells = table_of(output.read_text())
    truth = write_table(tmp_path / "truth.csv", features | {"ranking": [text for (text,) in cells]})
    assert "Kendall's tau 1.0000" in command("evaluate", model, truth).stdout


def test_marginals_are_probabilities_of_pairs(command, files, rows, frame):
    model, _, unranked = files
    header, cells = table_of(command("predict", model, unranked, "--marginals").stdout)
    a, b, c, d = rows.rankings.label_names
    assert header == [f"{a}>{b}", f"{a}>{c}", f"{a}>{d}", f"{b}>{c}", f"{b}>{d}", f"{c}>{d}"]
    chances = LabelRanker.load(model).predict_pairs(frame)
    expected = [chances[:, i, j] for i, j in zip(*np.triu_indices(4, 1), strict=True)]
    np.testing.assert_allclose(np.array(cells, dtype=float).T, expected, atol=5e-5)


def test_evaluation_prints_and_writes_what_the_ranker_says(command, files, rows, frame, tmp_path):
    model, data, _ = files
    scores = tmp_path / "scores.json"
    result = command("evaluate", model, data, "--json", scores)
    assert result.exit_code == 0, result.stderr
    expected = LabelRanker.load(model).evaluate(frame, rows.rankings)
    assert result.stdout == expected.table() + "\n"
    assert json.loads(scores.read_text()) == expected.to_dict()


def test_the_column_of_rankings_may_have_another_name(command, files, rows, features, tmp_path):
    model, data, unranked = files
    other = write_table(tmp_path / "rows.csv", {"order": rows.rankings.texts()} | features)
    again = tmp_path / "again.walk"
    fitted = command("fit", "rank", other, "--ranking", "order", "--model", again, *QUICK)
    assert (fitted.exit_code, fitted.stderr) == (0, "")
    assert LabelRanker.load(again).n_features_in_ == 6
    assert command("predict", again, other).stdout == command("predict", again, unranked).stdout
    expected = command("evaluate", model, data).stdout
    assert command("evaluate", model, other, "--truth", "order").stdout == expected


def test_columns_are_found_by_name(command, files, rows, features, tmp_path):
    model, _, unranked = files
    columns = dict(reversed(features.items())) | {"weight": range(60), "note": ["no number"] * 60}
    mixed = write_table(tmp_path / "mixed.csv", columns)
    assert command("predict", model, mixed).stdout == command("predict", model, unranked).stdout


def test_words_become_columns_that_new_rows_have_too(command, tmp_path):
    towns = ["Oslo", "Rome", "Bonn"] * 8
    likes = {"Oslo": "snow>rain>sun", "Rome": "sun>rain>snow", "Bonn": "rain>sun>snow"}
    columns = {"town": towns, "size": range(24), "ranking": [likes[town] for town in towns]}
    model = tmp_path / "towns.walk"
    fitted = command("fit", "rank", write_table(tmp_path / "towns.csv", columns), "--model", model, *QUICK)
    assert "3 labels, 4 features" in fitted.stdout
    new = write_table(tmp_path / "new.csv", {"size": [3, 12, "?", 4], "town": ["Rome", "Bonn", "Rome", "Kyiv"]})
    result = command("predict", model, new)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[:4] == ["ranking", likes["Rome"], likes["Bonn"], likes["Rome"]]
    truth = write_table(tmp_path / "truth.csv", {"town": ["Oslo"], "size": [7], "ranking": [likes["Oslo"]]})
    assert "all right 1.0000 (1 of 1 rows)" in command("evaluate", model, truth).stdout


def test_rankings_may_tell_a_part(command, rows, features, tmp_path):
    partial = [text.partition(">")[0] + ">" + text.rpartition(">")[2] for text in rows.rankings.texts()]
    partial[:2] = ["", "label0=label1>label2"]
    data = write_table(tmp_path / "rows.csv", features | {"ranking": partial})
    model = tmp_path / "ranks.walk"
    assert command("fit", "rank", data, "--model", model, *QUICK).exit_code == 0
    assert "(58 rows)" not in command("evaluate", model, data).stdout
    assert " of 59 rows)" in command("evaluate", model, data).stdout
    line = refused(command, "fit", "rank", data, "--model", model, "--learner", "hybrid", "--features", "linear", "-q")
    assert f"{data}: learner 'hybrid' compares with the truth, which row 0 tells only in part" in line


def test_options_reach_the_ranker(command, files, tmp_path):
    _, data, _ = files
    model = tmp_path / "ranks.walk"
    of_samples = ("--learner", "sampled-map-sgd", "--samples", 5, "--moves", "uniform", "--rate", 0.1)
    of_kernel = ("--features", "rbf", "--bandwidth", 1.5, "--landmarks", 20, "--components", 7)
    others = ("--batch-size", 16, "--epochs", 4, "--folds", 2, "--sigma", 2, "--decision", "map", "--no-standardize")
    result = command("fit", "rank", data, "--model", model, *of_samples, *of_kernel, *others, "--seed", 7)
    assert result.exit_code == 0, result.output
    first, second = result.stdout.splitlines()
    assert "4 labels, 6 features, 4 epochs of sampled-map-sgd, " in first
    assert second.startswith("saved ")  # nothing was left to cross-validation
    assert "epoch 4/4  slope " in result.stderr
    ranker = LabelRanker.load(model)
    expected = {
        "learner": "sampled-map-sgd",
        "n_samples": 5,
        "moves": "uniform",
        "rate": 0.1,
        "features": "rbf",
        "bandwidth": 1.5,
        "n_landmarks": 20,
        "n_components": 7,
        "batch_size": 16,
        "n_epochs": 4,
        "n_folds": 2,
        "sigma": 2.0,
        "decision": "map",
        "standardize": False,
    }
    assert expected.items() <= ranker.get_params().items()
    assert ranker.coefficients_.shape == (6, 7)
    same, other = (tmp_path / "same.walk", tmp_path / "other.walk")
    for again, seed in ((same, 7), (other, 8)):
        command("fit", "rank", data, "--model", again, *of_samples, *of_kernel, *others, "--seed", seed, "-q")
    np.testing.assert_array_equal(LabelRanker.load(same).coefficients_, ranker.coefficients_)
    assert not np.array_equal(LabelRanker.load(other).coefficients_, ranker.coefficients_)


def test_walks_learn_rankings(command, files, tmp_path):
    _, data, _ = files
    model = tmp_path / "walk.walk"
    options = ("--learner", "samplerank", "--step", "mira", "--rate", 0.5, "--moves", "local", "--epochs", 3)
    result = command("fit", "rank", data, "--model", model, *options, "--features", "linear")
    assert result.exit_code == 0, result.output
    assert "3 epochs of samplerank" in result.stdout
    assert "cross-validation" not in result.stdout
    assert "of pairs corrected" in result.stderr
    expected = {"step": "mira", "rate": 0.5, "moves": "local"}
    assert expected.items() <= LabelRanker.load(model).get_params().items()
    assert LabelRanker.load(model).coefficients_.any()


def test_an_interrupt_keeps_what_was_learned(command, files, monkeypatch, tmp_path):
    _, data, _ = files
    shown = EpochProgress.show
    interrupts = iter([KeyboardInterrupt])

    def show(self, epoch, text):
        if epoch == 2:
            for interrupt in interrupts:
                raise interrupt
        shown(self, epoch, text)

    monkeypatch.setattr(EpochProgress, "show", show)
    model = tmp_path / "ranks.walk"
    result = command("fit", "rank", data, "--model", model, *QUICK, "--epochs", 9)
    assert result.exit_code == 130
    assert result.stderr == f"interrupted after 2 of 9 epochs; {model} holds what was learned so far\n"
    assert command("predict", model, data).exit_code == 0


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("--learner", "mapp"), "learner 'mapp' is not known; choose one of auto, map, sampled-map"),
        (("--learner", "map", "--samples", 5), "--samples says nothing to learner 'map', which takes --sigma;"),
        (("--step", "mira"), "--step says nothing to learner 'auto', which takes --sigma, --samples, --moves"),
        (("--learner", "pcd", "--sigma", 1), "--sigma says nothing to learner 'pcd', which takes --moves, --step,"),
        (("--learner", "sampled-map", "--batch-size", 9), "--batch-size says nothing to learner 'sampled-map'"),
        (("--features", "linear", "--landmarks", 9), "--landmarks is of the kernel, but features are linear"),
        (("--sigma", 0), "--sigma is 0.0; give a positive number"),
        (("--bandwidth", "inf"), "--bandwidth is inf; give a positive number"),
        (("--learner", "samplerank", "--rate", -1), "--rate is -1.0; give a positive number"),
        (("--folds", 1), "--folds is 1; give 2 or more"),
        (("--epochs", 0), "--epochs is 0; give 1 or more"),
        (("--ranking", "rank"), "has no column 'rank' of rankings; its last columns are ["),
        (("--ranking", "feature0"), "rankings order no two labels in any row; give at least one row that does"),
    ],
)
def test_settings_that_cannot_be_are_refused(command, files, given, says, tmp_path):
    _, data, _ = files
    model = tmp_path / "m.walk"
    line = refused(command, "fit", "rank", data, "--model", model, *given, "-q")
    assert says in line
    assert ("--ranking" not in given) or str(data) in line
    assert not model.exists()


def test_columns_that_are_wrong_name_the_option(command, files, tmp_path):
    model, data, unranked = files
    line = refused(command, "fit", "rank", unranked, "--model", tmp_path / "m.walk")
    assert f"{unranked} has no column 'ranking' of rankings" in line
    assert line.endswith("name it with --ranking\n")
    assert refused(command, "evaluate", model, unranked).endswith("name it with --truth\n")
    assert "has no column 'order' of rankings" in refused(command, "evaluate", model, data, "--truth", "order")


@pytest.mark.parametrize("arguments", [("fit", "rank", "{}", "--model", "m.walk"), ("predict", "{model}", "{}")])
def test_files_must_be_tables(command, files, arguments, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    other = tmp_path / "rows.arff"
    other.write_text("@relation rows\n")
    for path, says in (
        (tmp_path / "none.csv", f"there is no file {tmp_path / 'none.csv'}; check the name"),
        (other, f"{other} ends in '.arff', but rankings are read from .csv or .csv.gz"),
    ):
        assert says in refused(command, *(part.format(path, model=files[0]) for part in arguments))


def test_broken_rankings_are_told_with_their_line(command, tmp_path):
    data, model = tmp_path / "rows.csv", tmp_path / "m.walk"
    write_table(data, {"size": [1, 2, 3], "ranking": ["a>b", "b>>a", "a>b"]})
    assert f"{data}, line 3: 'b>>a' lacks a label" in refused(command, "fit", "rank", data, "--model", model)
    write_table(data, {"size": [1, 2, 3], "ranking": ["a>b", "b>a>b", "a>b"]})
    assert f"{data}, line 3 ranks 'b' twice" in refused(command, "fit", "rank", data, "--model", model)
    write_table(data, {"ranking": ["a>b", "b>a"]})
    assert f"{data} has no column of features" in refused(command, "fit", "rank", data, "--model", model)


def test_rows_that_do_not_fit_the_model_are_refused(command, files, rows, features, tmp_path):
    model, _, _ = files
    few = write_table(tmp_path / "few.csv", dict(list(features.items())[:4]) | {"ranking": rows.rankings.texts()})
    for verb in ("predict", "evaluate"):
        assert (
            f"{few} lacks 2 of the 6 features that the model was trained with: 'feature4', 'feature5'; give rows with"
        ) in refused(command, verb, model, few)
    words = write_table(tmp_path / "words.csv", features | {"feature2": ["many"] * 60})
    assert "line 2: column 'feature2' holds 'many', which is not a number" in refused(command, "predict", model, words)
    other = write_table(tmp_path / "other.csv", features | {"ranking": ["label0>label9"] * 60})
    assert "line 2 ranks 'label9', which is none of the labels" in refused(command, "evaluate", model, other)
    empty = write_table(tmp_path / "empty.csv", features | {"ranking": [""] * 60})
    assert f"{empty}: truth orders no two labels in any row" in refused(command, "evaluate", model, empty)


def test_models_trained_on_plain_arrays_go_by_position(command, rows, features, files, tmp_path):
    _, _, unranked = files
    model = tmp_path / "plain.walk"
    orders = [[label for (label,) in rows.rankings.order(row)] for row in range(rows.n_rows)]
    ranker = LabelRanker(features="linear", sigma=3.0).fit(rows.X, orders)
    ranker.save(model)
    _, cells = table_of(command("predict", model, unranked).stdout)
    assert [text for (text,) in cells] == [">".join(order) for order in ranker.predict(rows.X)]
    wide = write_table(tmp_path / "wide.csv", features | {"weight": range(60)})
    assert f"{wide} has 7 features, but the model was trained with 6" in refused(command, "predict", model, wide)


@pytest.mark.parametrize(
    ("verb", "given", "says"),
    [
        ("predict", ("--names",), "--names and --k-best say nothing to the LabelRanker in "),
        ("predict", ("--k-best", 2), "--names and --k-best say nothing to the LabelRanker in "),
        ("predict", ("--encoding", "latin-1"), "--encoding is for linked items, but "),
        ("evaluate", ("--encoding", "latin-1"), "--encoding is for tables of records, but "),
    ],
)
def test_options_of_other_models_are_refused(command, files, verb, given, says):
    model, data, _ = files
    assert says in refused(command, verb, model, data, *given)
