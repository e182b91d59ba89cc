"""Rankings of labels for feature rows: what is learned, in every form, by every learner, and what is refused."""

import itertools
import re

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from walkstep import LabelRanker
from walkstep.apps.ranking_truth import ranking_truth
from walkstep.apps.structured_learners import BY_LIKELIHOOD
from walkstep.data.archive import ArchiveError
from walkstep.data.demo_structures import generate_rankings
from walkstep.learning.structured_map import MapProblem
from walkstep.learning.structured_model import StructuredModel
from walkstep.worlds import Permutations

pytestmark = pytest.mark.xdist_group("spaces")

ROWS = generate_rankings(200, n_labels=4, seed=0)
TEXTS = ROWS.rankings.texts()
N = 140


def quick(**settings) -> LabelRanker:
    return LabelRanker(**{"features": "linear", "sigma": 3.0, "random_state": 0, **settings})


@pytest.fixture(scope="module")
def fitted() -> LabelRanker:
    return quick().fit(ROWS.X[:N], TEXTS[:N])


def test_rankings_are_learned(fitted):
    scores = fitted.evaluate(ROWS.X[N:], TEXTS[N:])
    assert scores.kendall_tau > 0.6
    assert fitted.score(ROWS.X[N:], TEXTS[N:]) == scores.kendall_tau
    assert fitted.label_names_ == ROWS.rankings.label_names
    assert set(fitted.predict(ROWS.X[N:])) <= {">".join(order) for order in itertools.permutations(fitted.label_names_)}


def test_pairs_are_as_probable_as_enumeration_says(fitted):
    chances = fitted.predict_pairs(ROWS.X[N:])
    space = fitted.space_
    structures = space.all_structures()
    rows = fitted.features_.transform(ROWS.X[N:])
    logits = StructuredModel(fitted.coefficients_, fitted.intercepts_).scores(rows) @ space.statistics(structures).T
    probabilities = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
    before = structures[:, :, None] < structures[:, None, :]
    np.testing.assert_allclose(chances, np.einsum("rs,sij->rij", probabilities, before), atol=1e-9)


def test_risk_chooses_the_least_expected_distance(fitted):
    chances = fitted.predict_pairs(ROWS.X[N:])
    places = fitted.predict_places(ROWS.X[N:])
    orders = np.array(list(itertools.permutations(range(4))))
    before = orders[:, :, None] < orders[:, None, :]
    best = np.einsum("rij,sij->rs", chances, before).max(axis=1)
    found = (chances * (places[:, :, None] < places[:, None, :])).sum(axis=(1, 2))
    np.testing.assert_allclose(found, best, atol=1e-9)


def test_map_chooses_the_most_probable(fitted):
    ranker = clone(fitted).set_params(decision="map").fit(ROWS.X[:N], TEXTS[:N])
    rows = ranker.features_.transform(ROWS.X[N:])
    scores = StructuredModel(ranker.coefficients_, ranker.intercepts_).scores(rows)
    structures = ranker.space_.all_structures()
    every = scores @ ranker.space_.statistics(structures).T
    found = (scores * ranker.space_.statistics(ranker.predict_places(ROWS.X[N:]))).sum(axis=1)
    np.testing.assert_allclose(found, every.max(axis=1))


@pytest.mark.parametrize("learner", ["sampled-map", "sampled-map-sgd", "samplerank", "samplerank-svm", "pcd"])
def test_every_learner_learns(learner, fitted):
    ranker = quick(learner=learner).fit(ROWS.X[:N], TEXTS[:N])
    assert ranker.score(ROWS.X[N:], TEXTS[N:]) > fitted.score(ROWS.X[N:], TEXTS[N:]) - 0.06
    short = [quick(learner=learner, n_epochs=2).fit(ROWS.X[:N], TEXTS[:N]) for _ in range(2)]
    np.testing.assert_array_equal(short[0].coefficients_, short[1].coefficients_)
    if learner in BY_LIKELIHOOD:
        apart = np.abs(ranker.predict_pairs(ROWS.X[N:]) - fitted.predict_pairs(ROWS.X[N:])).mean()
        assert apart < 0.02


@pytest.mark.parametrize("moves", ["local", "uniform"])
def test_every_chain_learns(moves):
    ranker = quick(learner="sampled-map", moves=moves).fit(ROWS.X[:N], TEXTS[:N])
    assert ranker.score(ROWS.X[N:], TEXTS[N:]) > 0.6


def test_cross_validation_chooses():
    rows = generate_rankings(120, n_labels=3, seed=1)
    ranker = LabelRanker(random_state=0).fit(rows.X[:90], rows.rankings.texts()[:90])
    assert ranker.sigma_ in (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
    assert ranker.cross_validated_ == pytest.approx(ranker.score(rows.X[90:], rows.rankings.texts()[90:]), abs=0.25)
    given = LabelRanker(features="rbf", bandwidth=1.0, sigma=2.0, random_state=0).fit(
        rows.X[:90], rows.rankings.texts()[:90]
    )
    assert given.cross_validated_ is None
    assert given.sigma_ == 2.0
    assert given.features_.kind == "rbf"


@pytest.mark.parametrize(("n_rows", "n_folds"), [(90, 10), (301, 5), (1001, 3)])
def test_few_rows_are_folded_more_often(n_rows, n_folds, capsys):
    rows = generate_rankings(n_rows, n_labels=3, seed=1)
    LabelRanker(features="linear", learner="samplerank", n_epochs=1, verbose=1).fit(rows.X, rows.rankings)
    assert capsys.readouterr().err.count("folds") == 0  # nothing is open
    LabelRanker(features="linear", n_epochs=1, verbose=1).fit(rows.X, rows.rankings)
    assert "linear features, sigma 0.3: 0." in (told := capsys.readouterr().err)
    assert told.count(f" in {n_folds} folds") >= 3


@pytest.mark.parametrize(("speed", "best", "tried"), [(20.0, 0.35, 3), (3.0, 0.7, 3)])
def test_widths_of_kernels_are_climbed(speed, best, tried, capsys):
    X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(150, 1))
    places = np.argsort(np.argsort(np.sin(speed * X + np.arange(3.0)), axis=1), axis=1)
    ranker = LabelRanker(features="rbf", random_state=0, verbose=1).fit(X, places)
    assert ranker.bandwidth_ == best
    assert len(set(re.findall(r"bandwidth ([\d.]+)", capsys.readouterr().err))) == tried


def test_partial_rankings_teach_pairs():
    """With the middle of each ranking left out, and ties, as much is learned as ends tell."""
    places = ROWS.rankings.places.copy()
    partial = np.where((places == 1) | (places == 2), np.nan, places)
    tied = np.where(places >= 2, 2, places)
    full = quick().fit(ROWS.X[:N], TEXTS[:N]).score(ROWS.X[N:], TEXTS[N:])
    names = ROWS.rankings.label_names
    for given in (partial, tied):
        frame = pl.DataFrame(given, schema=list(names))
        ranker = quick().fit(ROWS.X[:N], frame[:N])
        assert 0.3 < ranker.score(ROWS.X[N:], TEXTS[N:]) < full + 0.03
        sampled = quick(learner="sampled-map", n_samples=40).fit(ROWS.X[:N], frame[:N])
        problem = MapProblem(
            ranker.space_, ranker.features_.transform(ROWS.X[:N]), ranking_truth(ranker.space_, given[:N]), 3.0
        )
        best, found, none = (
            problem.exact(StructuredModel(*model).weights)[0]
            for model in (
                (ranker.coefficients_, ranker.intercepts_),
                (sampled.coefficients_, sampled.intercepts_),
                (0.0 * ranker.coefficients_, 0.0 * ranker.intercepts_),
            )
        )
        assert best < found < best + 0.03 * (none - best)


def test_rankings_come_back_in_the_form_given(fitted):
    places = ROWS.rankings.places[:N]
    names = ROWS.rankings.label_names
    orders = [[names[k] for k in np.argsort(row)] for row in places]
    assert quick().fit(ROWS.X[:N], orders).predict(ROWS.X[N:])[0] == tuple(fitted.predict(ROWS.X[N:])[0].split(">"))
    frame = pl.DataFrame(places + 1, schema=list(names))
    found = quick().fit(ROWS.X[:N], frame).predict(ROWS.X[N:])
    np.testing.assert_array_equal(np.asarray(found) - 1, fitted.predict_places(ROWS.X[N:]))


def test_sparse_and_missing_features():
    sparse = quick(standardize=False).fit(csr_matrix(ROWS.X[:N]), TEXTS[:N])
    dense = quick(standardize=False).fit(ROWS.X[:N], TEXTS[:N])
    np.testing.assert_allclose(sparse.predict_pairs(csr_matrix(ROWS.X)), dense.predict_pairs(ROWS.X), atol=1e-3)
    holes = ROWS.X.copy()
    holes[::3, 1] = np.nan
    ranker = quick().fit(holes[:N], TEXTS[:N])
    assert ranker.score(holes[N:], TEXTS[N:]) > 0.5
    filled = np.where(np.isnan(holes), np.nanmean(holes[:N], axis=0), holes)
    np.testing.assert_array_equal(ranker.predict(holes), ranker.predict(filled))


def test_answers_of_a_row_do_not_hang_on_other_rows():
    """Beyond twelve labels answers are sampled; each row's are its own."""
    rows = generate_rankings(60, n_labels=13, seed=0)
    ranker = quick(n_epochs=3, n_samples=5).fit(rows.X[:40], rows.rankings.texts()[:40])
    assert ranker.epochs_[-1].n_steps > 0
    together = ranker.predict_places(rows.X[40:44])
    for row, places in zip(rows.X[40:44], together, strict=True):
        np.testing.assert_array_equal(ranker.predict_places(row[None])[0], places)
        assert sorted(places) == list(range(13))


def test_a_saved_ranker_answers_alike(fitted, tmp_path):
    path = tmp_path / "ranker.walkstep"
    for ranker in (fitted, quick(features="rbf", bandwidth=0.7).fit(ROWS.X[:N], TEXTS[:N])):
        ranker.save(path)
        loaded = LabelRanker.load(path)
        assert loaded.get_params() == clone(ranker).set_params(random_state=None).get_params()
        assert list(loaded.predict(ROWS.X[N:])) == list(ranker.predict(ROWS.X[N:]))
        np.testing.assert_array_equal(loaded.predict_pairs(ROWS.X[N:]), ranker.predict_pairs(ROWS.X[N:]))


def test_dataframes_name_their_columns(tmp_path):
    frame = pl.DataFrame(ROWS.X, schema=[f"f{k}" for k in range(ROWS.X.shape[1])])
    ranker = quick().fit(frame[:N], TEXTS[:N])
    assert list(ranker.feature_names_in_) == list(frame.columns)
    ranker.save(tmp_path / "ranker.walkstep")
    with pytest.raises(ValueError, match="feature names"):
        LabelRanker.load(tmp_path / "ranker.walkstep").predict(frame.rename({"f0": "other"}))


def test_a_label_that_is_never_ranked_is_allowed():
    ranker = quick().fit(ROWS.X[:N], TEXTS[:N], label_names=[*ROWS.rankings.label_names, "new"])
    assert ranker.predict_places(ROWS.X[N:]).shape == (len(ROWS.X) - N, 5)


def test_one_row_and_one_label():
    ranker = LabelRanker(random_state=0).fit(ROWS.X[:1], TEXTS[:1])
    assert list(ranker.predict(ROWS.X[:1])) == TEXTS[:1]
    with pytest.raises(ValueError, match="label"):
        quick().fit(ROWS.X[:3], ["a", "a", "a"])


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"learner": "guess"}, "learner 'guess' is not known; choose one of auto, map, sampled-map"),
        ({"features": "cubic"}, "features is 'cubic'; choose one of auto, linear, rbf, both"),
        ({"decision": "f1"}, "decision is 'f1'; choose one of auto, risk, map"),
        ({"moves": "far"}, "moves is 'far'; choose one of"),
        ({"n_samples": 0}, "n_samples is 0; give 1 or more"),
        ({"n_folds": 1}, "n_folds is 1; give 2 or more"),
        ({"n_epochs": 0}, "n_epochs is 0; give 1 or more"),
        ({"sigma": -1.0}, "sigma is -1.0; give a positive number"),
        ({"bandwidth": 0.0}, "bandwidth is 0.0; give a positive number"),
        ({"step": "leap"}, "leap"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, says):
    with pytest.raises(ValueError, match=says):
        quick(**{"learner": "samplerank", **settings}).fit(ROWS.X[:20], TEXTS[:20])


def test_input_that_cannot_be_is_refused(fitted):
    with pytest.raises(ValueError, match="X has 20 rows, but there are 19 rankings"):
        quick().fit(ROWS.X[:20], TEXTS[:19])
    with pytest.raises(ValueError, match="requires y to be passed"):
        quick().fit(ROWS.X[:20], None)
    with pytest.raises(ValueError, match="X has 2 features, but LabelRanker is expecting"):
        fitted.predict(ROWS.X[:, :2])
    with pytest.raises(NotFittedError):
        quick().predict(ROWS.X)
    with pytest.raises(ValueError, match="infinity"):
        quick().fit(np.where(ROWS.X[:20] > 1, np.inf, ROWS.X[:20]), TEXTS[:20])
    holes = csr_matrix(np.where(ROWS.X[:20] > 1, np.nan, ROWS.X[:20]))
    with pytest.raises(ValueError, match="X is sparse and holds NaN"):
        quick().fit(holes, TEXTS[:20])
    rows = generate_rankings(20, n_labels=13, seed=0)
    with pytest.raises(ValueError, match="too large for that; choose 'sampled-map'"):
        quick(learner="map").fit(rows.X, rows.rankings.texts())
    with pytest.raises(ValueError, match="compares with the truth, which row 0 tells only in part"):
        quick(learner="pcd").fit(ROWS.X[:20], [text.rsplit(">", 1)[0] for text in TEXTS[:20]])


def test_a_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "other.walkstep"
    path.write_bytes(b"nothing")
    with pytest.raises(ArchiveError):
        LabelRanker.load(path)


def test_the_truth_of_pairs_is_half_way_where_it_is_open():
    truth = ranking_truth(Permutations(3), np.array([[0.0, 0.0, 1.0]]))
    assert truth.statistics.tolist() == [[0.0, 0.5, 0.5]]
    assert truth.held.tolist() == [[0.0, 1.0, 1.0]]


@pytest.mark.parametrize("seed", range(3))
def test_samples_that_are_all_alike_do_not_let_weights_run_away(seed):
    rng = np.random.default_rng(0)
    X, wishes = rng.normal(size=(60, 4)), rng.normal(size=(4, 3))
    places = np.argsort(np.argsort(X @ wishes, axis=1), axis=1)
    settings = {"features": "rbf", "bandwidth": 0.7, "sigma": 30.0, "learner": "sampled-map"}
    assert LabelRanker(random_state=seed, **settings).fit(X, places).score(X, places) > 0.98
