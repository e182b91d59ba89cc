"""Feature rows in, label sets out."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from walkstep.apps.label_pairs import Pairwise
from walkstep.apps.label_set_beliefs import believed_log_odds
from walkstep.apps.label_set_file import load_classifier, save_classifier
from walkstep.apps.label_set_inference import best_label_sets, label_marginals
from walkstep.apps.label_set_learners import in_jax, passes_messages
from walkstep.apps.label_set_model import LabelSetModel
from walkstep.apps.label_set_temperatures import choose_temperatures
from walkstep.apps.label_set_training import (
    message_learner,
    n_epochs_before_risk,
    train_label_sets,
    trained_inference,
)
from walkstep.apps.label_set_truth import read_truth
from walkstep.apps.progress import EpochProgress
from walkstep.evaluation.labels import LabelSetScores, label_set_scores

DECISIONS = ("map", "marginals", "f1", "auto")


class MultiLabelClassifier(ClassifierMixin, BaseEstimator):
    """Give feature rows sets of labels.

    A Markov random field over the labels of a row, every pair of them joined (Finley and Joachims, 2008), trained by
    walking from label set to label set on the metric of your choice (SampleRank, Wick et al., 2011). Up to
    14 labels are answered exactly, more by annealing and Gibbs sampling.

    Or it is trained by passing messages, for the very inference and loss that it will be used with (minimum risk,
    Stoyanov and Eisner, 2012), and for comparison by likelihood and margins; answers then come from that inference.

    Parameters
    ----------
    features : {"linear", "rbf", "both"}
        What a label sees of a row: its columns, the leading components of a Gaussian kernel between rows, or both.
    learner : str
        A row of the table of learners: samplerank, samplerank-svm, samplerank-svm-1, hybrid, pcd, cd-k, sr-learn.
        By messages, with JAX: risk, likelihood, softmax-margin, svm, perceptron. From samples: sampled-map, the
        maximum a posteriori of the same model, which reads ``l2``, ``n_epochs`` and ``pairwise``.
    step : {"constant", "mira", "adagrad", "arow", "perceptron"}
        How far each correction goes.
    rate : float, optional
        Of that step; see `walkstep.learning.step_rule`. By messages: of the optimiser's steps.
    l2 : float
        Share by which weights shrink at each step of the walk; ``l2 / rate`` is the strength of regularisation. By
        messages and from samples: what the sum of squared weights costs, beside a mean over single labels.
    temperature : float
        Of the training walk. It, ``step``, ``rival``, ``signal`` and ``n_threads`` are for walks alone.
    rival : {"violating", "drawn"}
        Which neighbour SampleRank learns from: each label's other value, or the one that the walk drew (the paper's).
    n_epochs : int
        Passes over the training rows.
    average : bool
        Use the average of the weights over the second half of the walk, or of the optimiser's steps.
    signal : {"hamming", "f1"} or callable
        The metric to train on, of one row's label set; a function ``(values, truth) -> float`` is compiled.
    pairwise : bool, "seen" or int
        Whether pairs of labels are joined; without, every label is learned on its own. ``"seen"`` joins those that a
        training row bears together, a number so many of those that say most about each other.
    decision : {"map", "marginals", "f1", "auto"}
        Predict the best whole set; or every label more probable than not, which is the better answer to
        Hamming loss if the model's probabilities are right; or the set with the best F1 to be expected. ``auto`` asks
        three-fold cross-validation on the training rows, at three times the cost, and with it how sharp the
        probabilities should be. By messages, ``auto`` is the best value of each label by ``inference``, at no cost.
    loss : {"accuracy", "f1", "label-set-f1", "mse", "l1", "log-likelihood"} or callable
        What minimum risk is about: ``f1`` is that of all labels of a batch of rows together, ``label-set-f1`` the mean
        over rows; a function is one of JAX, ``(decoded, truth, weight) -> number``.
    inference : {"sum-product", "max-product"}, optional
        What weights are trained by messages to be used with; by default what suits ``decision``, and for ``auto`` the
        learner: max-product for margins, otherwise sum-product.
    n_rounds, damping : int, float
        Rounds of messages, in training and in answers, and the share of its last message that a pair keeps.
    decode_temperature : float
        Of the soft decoder that risk is taken through.
    cost : float
        Of margins by messages: what a wrong label costs.
    optimiser : {"adam", "adagrad", "sgd", "pegasos", "smd", "lbfgs"}
        By which messages train.
    n_first_epochs : int, optional
        Passes by likelihood before those by risk; by default half as many.
    batch_size : int
        Rows that a step of the optimiser looks at.
    standardize : bool
        Whether columns get mean 0 (dense ones only) and variance 1, and rows a mean length of 1.
    bandwidth : float
        For ``rbf``: the kernel's width as a multiple of the median distance between rows.
    n_landmarks, n_components : int
        For ``rbf``: how many training rows the kernel is told by, and how many of its components are kept.
    n_threads : int
        Shards that train side by side; the result depends on the number, never on timing.
    random_state : int, RandomState or None
    verbose : int

    Attributes
    ----------
    classes_ : array
        The labels' numbers; for a one-dimensional ``Y`` its two classes.
    label_names_ : tuple of str
    coefficients_ : float array (n_labels, n_features of the model)
        How much each feature speaks for each label, in log odds.
    intercepts_ : float array (n_labels,)
    coupling_ : float array (n_labels, n_labels)
        How much a label speaks for another one, in log odds.
    decision_temperature_ : float
        0 where the best whole set is predicted, else that of the marginals which are cut at one half.
    proba_temperature_ : float
        That of the marginals which `predict_proba` gives.
    epochs_ : list of Epoch, or of MessageEpoch
    interrupted_ : bool
        Whether training was ended by Ctrl-C.
    n_features_in_ : int
    feature_names_in_ : array of str
        Where ``X`` is a dataframe.

    Examples
    --------
    >>> from walkstep.data.demo import generate_rows
    >>> rows = generate_rows(300, 4, seed=0)
    >>> model = MultiLabelClassifier(random_state=0).fit(rows.X[:200], rows.Y[:200])
    >>> model.predict(rows.X[200:]).shape
    (100, 4)
    >>> model.evaluate(rows.X[200:], rows.Y[200:]).hamming_error < 0.3
    True
    """

    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        *,
        features: str = "linear",
        learner: str = "samplerank-svm",
        step: str = "constant",
        rate: float | None = 0.03,
        l2: float = 1e-5,
        temperature: float = 1.0,
        rival: str = "violating",
        n_epochs: int = 60,
        average: bool = True,
        signal: str | Callable[..., float] = "hamming",
        pairwise: Pairwise = True,
        decision: str = "auto",
        loss: str | Callable[..., Any] = "accuracy",
        inference: str | None = None,
        n_rounds: int = 10,
        damping: float = 0.0,
        decode_temperature: float = 0.1,
        cost: float = 1.0,
        optimiser: str = "adam",
        n_first_epochs: int | None = None,
        batch_size: int = 64,
        standardize: bool = True,
        bandwidth: float = 0.7,
        n_landmarks: int = 2000,
        n_components: int = 300,
        n_threads: int = 1,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.features = features
        self.learner = learner
        self.step = step
        self.rate = rate
        self.l2 = l2
        self.temperature = temperature
        self.rival = rival
        self.n_epochs = n_epochs
        self.average = average
        self.signal = signal
        self.pairwise = pairwise
        self.decision = decision
        self.loss = loss
        self.inference = inference
        self.n_rounds = n_rounds
        self.damping = damping
        self.decode_temperature = decode_temperature
        self.cost = cost
        self.optimiser = optimiser
        self.n_first_epochs = n_first_epochs
        self.batch_size = batch_size
        self.standardize = standardize
        self.bandwidth = bandwidth
        self.n_landmarks = n_landmarks
        self.n_components = n_components
        self.n_threads = n_threads
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        return tags

    # Training

    def fit(self, X: Any, Y: Any, *, label_names: Sequence[str] | None = None) -> Self:
        """Learn from rows and their label sets.

        Parameters
        ----------
        X : array, sparse matrix or dataframe (n_rows, n_features)
        Y : array, sparse matrix or dataframe (n_rows, n_labels)
            1 or True where a row bears a label, else 0; -1 or NaN where that is unknown: nothing is learned
            there. One-dimensional with two classes of any kind, it is a single label.
        label_names : sequence of str, optional
            Names of the labels; by default the columns of a dataframe, or numbers.
        """
        if self.n_epochs < 1:
            raise ValueError(f"n_epochs is {self.n_epochs}; give 1 or more")
        if self.decision not in DECISIONS:
            raise ValueError(f"decision is {self.decision!r}; choose one of {', '.join(DECISIONS)}")
        if Y is None:
            raise ValueError("MultiLabelClassifier requires y to be passed, but the target y is None")
        by_messages = passes_messages(self.learner)
        if by_messages:
            message_learner(self, 0).check()
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        truth, self.label_names_, self.classes_, self.is_single_ = read_truth(Y, label_names)
        check_consistent_length(X, truth)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        self.seed_ = int(rng.integers(2**31))
        self.decision_temperature_ = 0.0 if self.decision == "map" else 1.0
        self.proba_temperature_ = 1.0
        self.interrupted_ = False
        with EpochProgress(self.n_epochs_asked, self.verbose) as progress:
            if self.decision == "auto" and not by_messages:
                chosen = choose_temperatures(partial(train_label_sets, self), X, truth, rng, self.seed_)
                self.decision_temperature_, self.proba_temperature_, self.interrupted_ = chosen
            self.features_, model, self.epochs_, interrupted = train_label_sets(self, X, truth, rng, progress)
        self.interrupted_ |= interrupted
        self.coefficients_, self.intercepts_, self.coupling_ = model
        return self

    @property
    def n_epochs_asked(self) -> int:
        """Passes over the training rows, with those by likelihood that come before risk."""
        return self.n_epochs + (n_epochs_before_risk(self) if self.learner == "risk" else 0)

    # Answers

    def predict(self, X: Any) -> NDArray[Any]:
        """Label sets of rows: 1 where a row bears a label (n_rows, n_labels); classes if ``Y`` had one dimension."""
        log_odds = self._log_odds(X)
        if self.decision == "f1":
            values = self._best_f1(log_odds)
        elif passes_messages(self.learner):
            kind = {"map": "max-product", "marginals": "sum-product"}.get(self.decision, trained_inference(self))
            values = (self._believed(log_odds, kind) > 0.0).astype(np.int64)
        elif self.decision_temperature_ == 0.0:
            values = best_label_sets(log_odds, self.coupling_, rng=self.seed_)
        else:
            values = (self._marginals(log_odds, self.decision_temperature_) > 0.5).astype(np.int64)
        if not self.is_single_:
            return values
        return self.classes_[np.minimum(values[:, 0], len(self.classes_) - 1)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """How probable each label is, whatever the others (n_rows, n_labels); of each class if ``Y`` had one dimension.

        Exact up to 14 labels, from Gibbs samples beyond. A model trained by margins ranks well but is not
        calibrated by itself: ``decision="auto"`` makes it so. Trained by messages, they are those of sum-product; only
        likelihood trains for how sure a model is.
        """
        chance = self._marginals(self._log_odds(X), self.proba_temperature_)
        tiny = np.finfo(np.float64).eps
        chance = np.clip(chance, tiny, 1.0 - tiny)
        if not self.is_single_:
            return chance
        return np.ones_like(chance) if len(self.classes_) == 1 else np.hstack([1.0 - chance, chance])

    def _marginals(self, log_odds: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
        """How probable each label is, by the inference that the model was trained for."""
        if passes_messages(self.learner):
            return 0.5 * (1.0 + np.tanh(0.5 * self._believed(log_odds, "sum-product")))
        return label_marginals(log_odds, self.coupling_, temperature=temperature, rng=self.seed_)

    def _believed(self, log_odds: NDArray[np.float64], inference: Any) -> NDArray[np.float64]:
        settings = {"inference": inference, "n_rounds": self.n_rounds, "damping": self.damping}
        return believed_log_odds(log_odds, self.coupling_, **settings)

    def _best_f1(self, log_odds: NDArray[np.float64]) -> NDArray[np.int64]:
        """The set of each row that has the best F1 to be expected."""
        decoders = in_jax("walkstep.messages.decoders", "decision 'f1'")
        chance = self._marginals(log_odds, self.proba_temperature_)
        sets = [decoders.best_f1(np.stack([1.0 - row, row], axis=1)) for row in chance]
        return np.array(sets, dtype=np.int64).reshape(chance.shape)

    def evaluate(self, X: Any, Y: Any) -> LabelSetScores:
        """Hamming and subset accuracy, precision, recall and F1, overall and by label."""
        predicted = self.predict(X)
        if self.is_single_:
            predicted, Y = (predicted == self.classes_[-1])[:, None], (np.asarray(Y) == self.classes_[-1])[:, None]
        return label_set_scores(Y, predicted, self.label_names_)

    def _log_odds(self, X: Any) -> NDArray[np.float64]:
        """Each label's log odds with all other labels off."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        model = LabelSetModel(self.coefficients_, self.intercepts_, self.coupling_)
        return model.log_odds(self.features_.transform(X))

    # Keeping

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trained model to one file: plain arrays and JSON, no code."""
        check_is_fitted(self)
        save_classifier(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote."""
        return load_classifier(cls, path)
