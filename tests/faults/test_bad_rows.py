import numpy as np
import pytest

from walkstep import MultiLabelClassifier
from walkstep.model.factors import Factors

pytestmark = pytest.mark.xdist_group("command")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_features_that_are_not_finite_are_refused(classifier, value):
    X, Y = np.ones((6, 4)), np.tile([[0, 1, 0], [1, 0, 1]], (3, 1))
    X[2, 1] = value
    for act in (lambda: MultiLabelClassifier().fit(X, Y), lambda: classifier.predict(X)):
        with pytest.raises(ValueError, match=r"(?i)nan|infinity"):
            act()


def test_factors_name_the_feature_that_is_not_finite():
    with pytest.raises(ValueError, match="feature 1 of row 2 is nan; fill or drop what is not a finite number"):
        Factors("label", [[0], [1], [2]], features=np.array([[0.0, 0.0], [0.0, 0.0], [0.0, np.nan]]))


def test_wrong_shapes_are_refused(classifier):
    X, Y = np.ones((6, 4)), np.tile([[0, 1, 0], [1, 0, 1]], (3, 1))
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: .6, 5"):
        MultiLabelClassifier().fit(X, Y[:5])
    with pytest.raises(ValueError, match="X has 3 features, but MultiLabelClassifier is expecting 4 features"):
        classifier.predict(X[:, :3])
    with pytest.raises(ValueError, match=r"Reshape your data"):
        classifier.predict(X[0])
    with pytest.raises(ValueError, match=r"truth has shape \(6, 2\) but predicted has \(6, 3\); give the same rows"):
        classifier.evaluate(X, Y[:, :2])


def test_labels_other_than_0_and_1_are_refused():
    with pytest.raises(ValueError, match=r"Y\[1, 0\] is 7; give 1 where a row bears a label"):
        MultiLabelClassifier().fit(np.ones((2, 2)), [[0, 1], [7, 0]])


def write(path, rows, header="a,b,c,d,label0,label1,label2"):
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_the_command_names_the_cell_that_is_not_finite(refused, classifier_file, tmp_path, value):
    data = write(tmp_path / "rows.csv", ["1,2,3,4,0,1,0", f"1,{value},3,4,0,1,0", "1,2,3,5,1,0,1"])
    for arguments in (
        ("fit", "multilabel", data, "--labels", 3, "--model", tmp_path / "labels.walk", "-q"),
        ("predict", classifier_file, data, "-o", tmp_path / "out.csv"),
        ("evaluate", classifier_file, data, "--json", tmp_path / "out.json"),
    ):
        message = refused(*arguments)
        assert f"{data}, line 3 (row 1), column 'b': the value is {value}; fill it in, or leave the row out" in message


def test_the_command_names_files_of_another_width(refused, classifier_file, tmp_path):
    data = write(tmp_path / "rows.csv", ["1,2,3,0,1,0"], header="a,b,c,label0,label1,label2")
    message = f"{data} has 3 features, but the model was trained with 4; give rows with the same columns"
    assert message in refused("predict", classifier_file, data)
    assert message in refused("evaluate", classifier_file, data)


def test_the_command_names_a_label_that_is_missing(refused, classifier_file, tmp_path):
    data = write(tmp_path / "rows.csv", ["1,2,3,4,0,1"], header="a,b,c,d,label0,label1")
    assert f"{data} has no column 'label2', which labels asks for" in refused("evaluate", classifier_file, data)


def test_the_command_names_an_unknown_label(refused, classifier_file, tmp_path):
    data = tmp_path / "rows.libsvm"
    data.write_text("label0,label9 1:0.5 4:1\n")
    message = refused("evaluate", classifier_file, data)
    assert f"{data}, line 1: label 'label9' is none of the 3 in labels" in message


def test_the_command_names_a_ragged_line(refused, tmp_path):
    data = write(tmp_path / "rows.csv", ["1,2,3,4,0,1,0", "1,2,3,4,0,1"])
    message = refused("fit", "multilabel", data, "--model", tmp_path / "labels.walk", "-q")
    assert message == f"{data}, line 3: 6 cell(s), expected 7 as in the header; complete the line"


def test_the_command_names_a_wrong_label(refused, tmp_path):
    data = write(tmp_path / "rows.csv", ["1,2,3,4,0,1,0", "1,2,3,4,0,5,0"])
    message = refused("fit", "multilabel", data, "--labels", "label", "--model", tmp_path / "labels.walk", "-q")
    assert f"{data}, line 3: label 'label1' is 5, expected 0 or 1" in message


def test_rows_without_labels_cannot_be_learned_from(refused, tmp_path):
    data = write(tmp_path / "rows.csv", ["1,2", "3,4"], header="a,b")
    message = refused("fit", "multilabel", data, "--labels", 0, "--model", tmp_path / "labels.walk", "-q")
    assert message.startswith(f"{data} has no labels; say with --labels")


def test_an_unknown_format_is_refused(refused, tmp_path):
    data = tmp_path / "rows.xlsx"
    data.touch()
    message = refused("fit", "multilabel", data, "--model", tmp_path / "labels.walk")
    assert message.startswith(f"{data} ends in '.xlsx', which is no known format; give one of .arff")


def test_options_for_taggers_are_refused(refused, classifier_file, tmp_path):
    data = write(tmp_path / "rows.csv", ["1,2,3,4,0,1,0"])
    message = refused("predict", classifier_file, data, "--k-best", 2)
    assert message == f"--k-best is for taggers, but {classifier_file} predicts label sets; leave it out"
