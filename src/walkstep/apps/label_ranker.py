"""Feature rows in, rankings of labels out."""

import os
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from walkstep.apps.ranking_truth import ranking_truth
from walkstep.apps.structured_estimator import StructuredEstimator
from walkstep.apps.structured_learners import is_by_likelihood
from walkstep.data.rankings import Form, as_given, read_rankings
from walkstep.evaluation.rankings import RankingScores, kendall_taus, ranking_scores
from walkstep.inference.decoding_structures import chances, decode, risk_scores
from walkstep.worlds.permutation import Permutations


class LabelRanker(StructuredEstimator):
    """Rank labels for feature rows.

    A conditional exponential family over permutations: every two labels have a score that is linear in the row's
    features, and a ranking is the more probable the more pairs it puts as their scores want. Trained by maximum a
    posteriori estimation (Vembu, Gaertner and Boley, 2009): exactly up to twelve labels, from samples beyond. Training
    rankings may be partial.

    Parameters
    ----------
    features : {"auto", "linear", "rbf", "both"}
        What pairs see of a row: its columns, the leading components of a Gaussian kernel between rows, or both;
        ``auto`` asks cross-validation on the training rows.
    learner : str
        ``map`` sums over all rankings; ``sampled-map`` draws them, by chains that go on from iteration to iteration;
        ``sampled-map-sgd`` takes many small steps instead; ``auto`` is ``map`` where that is possible. Or a row of the
        table of learners, which walks on the metric: samplerank, samplerank-svm, ...
    sigma : float, optional
        Standard deviation of the normal prior on weights; by default cross-validation chooses.
    decision : {"auto", "risk", "map"}
        Predict the ranking of the least expected Kendall distance, or the most probable one; ``auto`` is ``risk``
        unless the learner walks, whose scores are no log odds.
    n_epochs : int, optional
        Iterations at most; by default 100 of ``map``, 30 of ``sampled-map`` and of walks, and 60 of
        ``sampled-map-sgd``, or more where rows are few, for a thousand steps.
    n_samples : int
        Rankings that are drawn for each row at each iteration.
    moves : {"auto", "local", "uniform"}
        How chains move: by taking a label out and putting it in elsewhere, or, which is the paper's META, by drawing
        anew.
    rate : float, optional
        Of stochastic steps (0.05), and of those of walks.
    batch_size : int
        Rows of a stochastic step.
    step : {"mira", "adagrad", "arow", "constant", "perceptron"}
        How far each correction of a walk goes.
    n_folds : int, optional
        Of the cross-validation that chooses features and sigma; by default ten up to 300 rows, five up to 1,000,
        then three.
    standardize : bool
        Whether columns get mean 0 and variance 1, and rows a mean length of 1.
    bandwidth : float, optional
        Of the kernel, as a multiple of the median distance between rows; by default cross-validation chooses.
    n_landmarks, n_components : int
        How many training rows the kernel is told by, and how many of its components are kept.
    random_state : int, RandomState or None
    verbose : int

    Attributes
    ----------
    label_names_ : tuple of str
    coefficients_ : float array (n_pairs, n_features of the model)
        How much each feature speaks for the first label of a pair before the second, in log odds.
    intercepts_ : float array (n_pairs,)
    space_ : Permutations
        Whose ``first`` and ``second`` say which labels each pair is of.
    sigma_, bandwidth_ : float
    cross_validated_ : float or None
        The mean Kendall tau that cross-validation saw of the settings chosen.
    epochs_ : list of MapEpoch
    interrupted_ : bool
        Whether training was ended by Ctrl-C.
    n_features_in_ : int
    feature_names_in_ : array of str
        Where ``X`` is a dataframe.

    Examples
    --------
    >>> from walkstep.data.demo_structures import generate_rankings
    >>> rows = generate_rankings(300, seed=0)
    >>> ranker = LabelRanker(features="linear", sigma=3.0).fit(rows.X[:200], rows.rankings.texts()[:200])
    >>> ranker.predict(rows.X[200:])[0] in set(rows.rankings.texts())
    True
    >>> ranker.evaluate(rows.X[200:], rows.rankings.texts()[200:]).kendall_tau > 0.5
    True
    """

    DECISIONS: ClassVar[tuple[str, ...]] = ("auto", "risk", "map")

    def __init__(
        self,
        *,
        features: str = "auto",
        learner: str = "auto",
        sigma: float | None = None,
        decision: str = "auto",
        n_epochs: int | None = None,
        n_samples: int = 20,
        moves: str = "auto",
        rate: float | None = None,
        batch_size: int = 64,
        step: str = "adagrad",
        n_folds: int | None = None,
        standardize: bool = True,
        bandwidth: float | None = None,
        n_landmarks: int = 2000,
        n_components: int = 300,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.features = features
        self.learner = learner
        self.sigma = sigma
        self.decision = decision
        self.n_epochs = n_epochs
        self.n_samples = n_samples
        self.moves = moves
        self.rate = rate
        self.batch_size = batch_size
        self.step = step
        self.n_folds = n_folds
        self.standardize = standardize
        self.bandwidth = bandwidth
        self.n_landmarks = n_landmarks
        self.n_components = n_components
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, rankings: Any, *, label_names: Sequence[str] | None = None) -> Self:
        """Learn from rows and their rankings.

        Parameters
        ----------
        X : array, sparse matrix or dataframe (n_rows, n_features)
            NaN where a feature is missing.
        rankings : sequence, matrix or dataframe
            A ranking for each row: a text such as ``c>a=b>d``, labels in order, or the place of each label. Ties are
            pairs whose order is not known, and so are pairs with a label that is left out.
        label_names : sequence of str, optional
            All labels, in the order wanted; by default those that are found.
        """
        self._check_settings()
        if rankings is None:
            raise ValueError("LabelRanker requires y to be passed, but the target y is None")
        rows = self._rows(X, reset=True)
        self.form_: Form
        known, self.form_ = read_rankings(rankings, label_names)
        if known.n_rows != rows.shape[0]:
            raise ValueError(
                f"X has {rows.shape[0]} rows, but there are {known.n_rows} rankings; give one for each row"
            )
        self.label_names_ = known.label_names
        space = Permutations(known.n_labels)
        truth = ranking_truth(space, known.places)
        if not truth.statistics.any():
            raise ValueError("rankings order no two labels in any row; give at least one row that does")

        def judge(scores: NDArray[np.float64], at: NDArray[np.int64]) -> tuple[float, float]:
            taus = kendall_taus(known.places[at], self._places(space, scores))
            return float(np.nanmean(taus)) if not np.isnan(taus).all() else 0.0, 0.5

        self.seed_ = 0
        self._train(rows, space, truth, judge, needs_threshold=False)
        return self

    def predict(self, X: Any) -> Any:
        """The best ranking of each row, in the form in which rankings were given to `fit`."""
        return as_given(self.predict_places(X), self.label_names_, self.form_)

    def predict_places(self, X: Any) -> NDArray[np.int32]:
        """The place of each label, 0 being the best: (n_rows, n_labels)."""
        scores = self._scores(X)
        return self._places(self.space_, scores)

    def predict_pairs(self, X: Any) -> NDArray[np.float64]:
        """How probable it is that one label comes before another: (n_rows, n_labels, n_labels).

        Learners that walk rank well, but what they say here is not calibrated.
        """
        scores = self._scores(X)
        expected = chances(self.space_, scores, rng=self.seed_)
        n = self.space_.size
        found = np.zeros((len(expected), n, n))
        found[:, self.space_.first, self.space_.second] = 0.5 + expected
        found[:, self.space_.second, self.space_.first] = 0.5 - expected
        return found

    def evaluate(self, X: Any, rankings: Any) -> RankingScores:
        """Kendall's tau, Spearman's rho, and shares of rows and pairs that are right, by what is known of rankings."""
        places = self.predict_places(X)
        known, _ = read_rankings(rankings, self.label_names_)
        return ranking_scores(known.places, places, self.label_names_)

    def score(self, X: Any, rankings: Any) -> float:
        """The mean Kendall tau."""
        return self.evaluate(X, rankings).kendall_tau

    def _places(self, space: Permutations, scores: NDArray[np.float64]) -> NDArray[np.int32]:
        """Rankings by their scores."""
        by_risk = self.decision == "risk" or (self.decision == "auto" and is_by_likelihood(self.learner))
        if by_risk:
            scores = risk_scores(space, chances(space, scores, rng=self.seed_))
        return decode(space, scores, rng=self.seed_)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trained model to one file: plain arrays and JSON, no code."""
        check_is_fitted(self)
        self._save(path, {"label_names": self.label_names_, "form": self.form_})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote."""
        made, about = cls._load(path)
        made.label_names_, made.form_ = tuple(about["label_names"]), about["form"]
        made.space_ = Permutations(len(made.label_names_))
        return made
