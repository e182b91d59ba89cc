"""Feature rows in, branches of a hierarchy out."""

import os
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from walkstep.apps.structured_estimator import StructuredEstimator
from walkstep.apps.structured_learners import is_by_likelihood
from walkstep.data.subtrees import Form, read_subtrees, subtrees_as_given
from walkstep.data.trees import Tree, tree_from
from walkstep.evaluation.hierarchies import HierarchyScores, hierarchy_scores
from walkstep.evaluation.significance import f1_of_counts
from walkstep.inference.decoding_structures import chances, decode, hierarchical_risk_scores, risk_scores
from walkstep.learning.structured_model import known_truth
from walkstep.worlds.subtree import Subtrees

_THRESHOLDS = np.concatenate([np.arange(0.02, 0.1, 0.01), np.arange(0.1, 0.7, 0.025)])


class HierarchyClassifier(StructuredEstimator):
    """Give feature rows classes of a tree; with a class, a row always has its ancestors too.

    A conditional exponential family over the subtrees of the tree that have its root: every class has a score that is
    linear in the row's features, and every class with children two more, for stopping there and for each child more
    than one. Trained by maximum a posteriori estimation (Vembu, Gaertner and Boley, 2009), by default exactly.

    Parameters
    ----------
    tree : nested dict, edges, dataframe or Tree
        ``{"animal": {"dog": {}, "cat": {}}}``, pairs of (parent, child), or a dataframe of such. Where several classes
        have no parent, a root is added above them that is no class.
    features : {"auto", "linear", "rbf", "both"}
        What classes see of a row: its columns, the leading components of a Gaussian kernel between rows, or both;
        ``auto`` asks cross-validation on the training rows.
    learner : str
        ``map`` sums over all subtrees; ``sampled-map`` draws them, by chains that go on from iteration to iteration;
        ``sampled-map-sgd`` takes many small steps instead; ``auto`` is ``map``. Or a row of the table of learners,
        which walks on the number of wrong classes: samplerank, samplerank-svm, ...
    sigma : float, optional
        Standard deviation of the normal prior on weights; by default cross-validation chooses.
    decision : {"auto", "f1", "hamming", "h-loss", "map"}
        Predict for F1 of all classes of all rows: every class more probable than a threshold, which cross-validation
        chooses; or for the fewest wrong classes; for the hierarchical loss, which forgives what follows from a mistake
        higher up; or the most probable subtree. ``auto`` is ``f1``, unless the learner walks, whose scores are no log
        odds: then ``map``.
    branching : bool
        Whether stopping and forking have scores of their own.
    n_epochs : int, optional
        Iterations at most; by default 100 of ``map``, 30 of ``sampled-map`` and of walks, and 60 of
        ``sampled-map-sgd``, or more where rows are few, for a thousand steps.
    n_samples : int
        Subtrees that are drawn for each row at each iteration.
    moves : {"auto", "local", "uniform"}
        How chains move: by putting paths in and taking them out, or, which is the paper's META, by drawing anew.
    rate : float, optional
        Of stochastic steps (0.05), and of those of walks.
    batch_size : int
        Rows of a stochastic step.
    step : {"mira", "adagrad", "arow", "constant", "perceptron"}
        How far each correction of a walk goes.
    n_folds : int, optional
        Of the cross-validation that chooses features, sigma and threshold; by default ten up to 300 rows, five up to
        1,000, then three.
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
    tree_ : Tree
    coefficients_ : float array (n_nodes, n_features of the model)
        How much each feature speaks for each class beside its parent, in log odds.
    intercepts_ : float array (n_statistics,)
        What classes score by themselves; then stopping at each class that has children, and forking there.
    space_ : Subtrees
    sigma_, threshold_, bandwidth_ : float
    cross_validated_ : float or None
        What cross-validation saw of the settings chosen: F1, less wrong classes or less loss, as ``decision`` wants.
    epochs_ : list of MapEpoch
    interrupted_ : bool
        Whether training was ended by Ctrl-C.
    n_features_in_ : int
    feature_names_in_ : array of str
        Where ``X`` is a dataframe.

    Examples
    --------
    >>> from walkstep.data.demo_structures import generate_hierarchy
    >>> rows = generate_hierarchy(300, seed=0)
    >>> classifier = HierarchyClassifier(rows.tree, sigma=3.0).fit(rows.X[:200], rows.values[:200, 1:])
    >>> classifier.predict(rows.X[200:]).shape == rows.values[200:, 1:].shape
    True
    >>> classifier.evaluate(rows.X[200:], rows.values[200:, 1:]).f1 > 0.6
    True
    """

    DECISIONS: ClassVar[tuple[str, ...]] = ("auto", "f1", "hamming", "h-loss", "map")

    def __init__(
        self,
        tree: Any = None,
        *,
        features: str = "auto",
        learner: str = "auto",
        sigma: float | None = None,
        decision: str = "auto",
        branching: bool = True,
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
        self.tree = tree
        self.features = features
        self.learner = learner
        self.sigma = sigma
        self.decision = decision
        self.branching = branching
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

    def fit(self, X: Any, classes: Any) -> Self:
        """Learn from rows and their classes.

        Parameters
        ----------
        X : array, sparse matrix or dataframe (n_rows, n_features)
            NaN where a feature is missing.
        classes : sequence, matrix or dataframe
            The classes of each row: names in a set or list, or joined by ``@`` in a text, or 0 and 1 for each class of
            the tree. Ancestors need not be named.
        """
        self._check_settings()
        if self.tree is None:
            raise ValueError("tree is None; give the tree of classes as a nested dict, edges or a dataframe")
        if classes is None:
            raise ValueError("HierarchyClassifier requires y to be passed, but the target y is None")
        tree = tree_from(self.tree)
        rows = self._rows(X, reset=True)
        self.form_: Form
        values, self.form_ = read_subtrees(classes, tree)
        if len(values) != rows.shape[0]:
            raise ValueError(
                f"X has {rows.shape[0]} rows, but there are classes of {len(values)}; give some for each row"
            )
        if tree.n_nodes < 2:
            raise ValueError(f"the tree has no class below {tree.names[0]!r}; there is nothing to learn")
        self.tree_ = tree
        space = Subtrees(tree.parent, branching=self.branching)
        decision = self._decision()

        def judge(scores: NDArray[np.float64], at: NDArray[np.int64]) -> tuple[float, float]:
            truth = values[at]
            if decision == "f1":
                return best_threshold(truth, chances(space, scores, rng=0)[:, : space.size])
            found = hierarchy_scores(truth, self._subtrees(space, scores, 0.5, 0), tree)
            return {"hamming": 1.0 - found.hamming_error, "h-loss": -found.h_loss}.get(decision, found.f1), 0.5

        self._train(rows, space, known_truth(space, values.astype(np.int32)), judge, needs_threshold=decision == "f1")
        return self

    def predict(self, X: Any) -> Any:
        """The classes of each row, in the form in which classes were given to `fit`; always closed under parent."""
        return subtrees_as_given(self.predict_subtrees(X), self.tree_, self.form_)

    def predict_subtrees(self, X: Any) -> NDArray[np.int32]:
        """1 for each node of the tree that a row has, the root among them: (n_rows, n_nodes)."""
        scores = self._scores(X)
        return self._subtrees(self.space_, scores, self.threshold_, self.seed_)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """How probable each node of the tree is: (n_rows, n_nodes); never more than its parent.

        Learners that walk rank well, but what they say here is not calibrated.
        """
        scores = self._scores(X)
        return chances(self.space_, scores, rng=self.seed_)[:, : self.space_.size]

    def evaluate(self, X: Any, classes: Any) -> HierarchyScores:
        """Hierarchical precision, recall and F1, wrong classes and the hierarchical loss."""
        predicted = self.predict_subtrees(X)
        return hierarchy_scores(read_subtrees(classes, self.tree_)[0], predicted, self.tree_)

    def score(self, X: Any, classes: Any) -> float:
        """Hierarchical F1 over all rows."""
        return self.evaluate(X, classes).f1

    def _decision(self) -> str:
        if self.decision != "auto":
            return self.decision
        return "f1" if is_by_likelihood(self.learner) else "map"

    def _subtrees(self, space: Subtrees, scores: NDArray[np.float64], threshold: float, seed: int) -> NDArray[np.int32]:
        """Subtrees by their scores."""
        decision = self._decision()
        if decision == "map":
            return decode(space, scores, rng=seed)
        expected = chances(space, scores, rng=seed)
        if decision == "f1":
            chosen = (expected[:, : space.size] > threshold).astype(np.int32)
            chosen[:, 0] = 1
            return chosen
        risk = hierarchical_risk_scores if decision == "h-loss" else risk_scores
        return decode(space, risk(space, expected), rng=seed)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trained model to one file: plain arrays and JSON, no code."""
        check_is_fitted(self)
        tree = {"names": self.tree_.names, "parent": self.tree_.parent.tolist()}
        self._save(path, {"tree": tree, "form": self.form_})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote."""
        made, about = cls._load(path)
        made.tree_ = Tree(tuple(about["tree"]["names"]), np.array(about["tree"]["parent"], np.int64))
        made.tree, made.form_ = made.tree_, about["form"]
        made.space_ = Subtrees(made.tree_.parent, branching=made.branching)
        return made


def best_threshold(truth: NDArray[np.int8], chance: NDArray[np.float64]) -> tuple[float, float]:
    """The best F1 of all nodes but the root, and the threshold of their chances that has it.

    Parameters
    ----------
    truth : 0/1 array (n_rows, n_nodes)
    chance : float array (n_rows, n_nodes)

    Examples
    --------
    >>> best_threshold(np.array([[1, 1, 0]]), np.array([[1.0, 0.3, 0.1]]))
    (1.0, 0.1)
    """
    true = truth[:, 1:].astype(bool)
    found = []
    for threshold in _THRESHOLDS:
        guessed = chance[:, 1:] > threshold
        found.append(f1_of_counts(np.array([(guessed & true).sum(), guessed.sum(), true.sum()])))
    at = int(np.argmax(found))
    return found[at], float(_THRESHOLDS[at])
