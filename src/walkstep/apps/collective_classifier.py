"""Linked items in, their labels out, all at once."""

import os
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from walkstep.apps.base import Estimator
from walkstep.apps.collective_answers import Answers
from walkstep.apps.collective_model import PAIRS, CollectiveModel
from walkstep.apps.progress import EpochProgress
from walkstep.data.archive import load_archive, save_archive
from walkstep.data.linked_items import Label, LinkedItems, linked_parts
from walkstep.data.records import check_column
from walkstep.evaluation.classes import ClassScores, class_scores
from walkstep.features.bag_of_words import TOKEN_PATTERN, BagOfWords
from walkstep.learning.message_learning import MessageEpoch, MessageLearner

# What goes to the learner, and what to the tables, as it is.
_OF_LEARNER = (
    *("learner", "loss", "inference", "n_rounds", "damping", "decode_temperature", "cost", "optimiser", "rate"),
    *("n_epochs", "n_first_epochs", "batch_size", "l1", "l2", "patience", "n_restarts", "average"),
)
_OF_TABLES = ("id", "text", "group", "source", "target", "type", "link_text", "ignore")
_OF_WORDS = ("weighting", "n_grams", "token_pattern")


class CollectiveClassifier(Estimator):
    """Label items that are linked to each other: each by what it says, and by the labels of its neighbours.

    A variable for each item, with a factor of its words and numbers; a factor for each link, of the link's own words
    and numbers, by type of link. Labels come from belief propagation, and weights are trained for that very inference
    and for the loss that you are judged by (Stoyanov and Eisner, 2012), or by likelihood or margins.

    Parameters
    ----------
    learner : {"risk", "likelihood", "softmax-margin", "svm", "perceptron"}
    loss : {"accuracy", "mse", "l1", "log-likelihood", "f1", "label-set-f1"} or callable
        What risk is about; and what epochs are judged by on development data.
    inference : {"max-product", "sum-product"}
        By which labels are found.
    n_rounds, damping : int, float
        Rounds of messages where links close cycles, and the share of its last message that a factor keeps.
    decode_temperature : float
        Of the soft decoder that risk is taken through.
    cost : float
        Of margins: what a wrong label costs.
    optimiser : {"adam", "adagrad", "sgd", "pegasos", "smd", "lbfgs"}
    rate : float
        Of the optimiser's steps.
    n_epochs, n_first_epochs : int
        Passes over the graphs; and, for risk, passes of likelihood before.
    batch_size : int
        Graphs that a step looks at.
    l1, l2 : float
        What absolute and squared weights cost.
    patience : int, optional
        Stop after so many epochs without a better loss on development data.
    n_restarts : int
        Further trainings from weights drawn at random.
    average : bool
        Use the mean of the weights over the last half of the steps.
    min_count : int
        Words that stand in fewer items, or in fewer links of a type, are left out.
    weighting : {"binary", "normalised"}
        A word is there or not; or counts, brought to length 1.
    n_grams : int
        Runs of up to so many words are words too.
    token_pattern : str
        A regular expression of words.
    pairs : {"table", "agreement"}
        What a feature of a link speaks for: each pair of classes by itself, or whether the two are the same. The latter
        has far fewer weights, and cannot say that one class follows another.
    agree : sequence of str
        Columns of items, such as the speaker's name: items of a graph with the same value there are joined, one after
        the other, by links of a type of their own.
    weight : str, optional
        A column of items that says how much each counts in the loss, such as how many cases it stands for.
    outside : str, optional
        The class that F-measure does not count; by default the first.
    id, label, text, group, source, target, type, link_text, ignore
        The columns of tables: see `walkstep.data.linked_items.LinkedItems.from_frames`. All other columns that hold
        numbers are features, unless they are named in ``ignore``; those that hold something else are left aside.
    random_state : int, optional
    verbose : int

    Attributes
    ----------
    classes_ : list
        In the order of columns of marginals.
    model_ : CollectiveModel
        Features, and the layout of weights.
    weights_ : float array
    temperature_ : float
        What weights are divided by for marginals; 1 where there was no development data.
    epochs_ : list of MessageEpoch
    interrupted_ : bool
        Whether training was ended by Ctrl-C.

    Examples
    --------
    >>> items = {"id": [1, 2, 3, 4], "text": ["aye", "aye", "no", "no"], "label": ["Y", "Y", "N", "N"]}
    >>> links = {"source": [1, 3], "target": [2, 4]}
    >>> classifier = CollectiveClassifier(min_count=1, n_epochs=5, random_state=0).fit(items, links)
    >>> new = {"id": ["a", "b"], "text": ["aye", "hm"]}
    >>> classifier.predict(new, {"source": ["a"], "target": ["b"]}).rows()
    [('a', 'Y'), ('b', 'Y')]
    """

    def __init__(
        self,
        *,
        learner: str = "risk",
        loss: str | Callable[..., Any] = "accuracy",
        inference: str = "max-product",
        n_rounds: int = 10,
        damping: float = 0.0,
        decode_temperature: float = 0.1,
        cost: float = 1.0,
        optimiser: str = "adam",
        rate: float = 0.01,
        n_epochs: int = 20,
        n_first_epochs: int = 10,
        batch_size: int = 8,
        l1: float = 0.0,
        l2: float = 1e-4,
        patience: int | None = None,
        n_restarts: int = 0,
        average: bool = False,
        min_count: int = 2,
        weighting: str = "binary",
        n_grams: int = 1,
        token_pattern: str = TOKEN_PATTERN,
        pairs: str = "table",
        agree: Sequence[str] = (),
        weight: str | None = None,
        outside: Label | None = None,
        id: str = "id",
        label: str | None = None,
        text: str | None = None,
        group: str | None = None,
        source: str = "source",
        target: str = "target",
        type: str | None = None,
        link_text: str | None = None,
        ignore: Sequence[str] = (),
        random_state: int | None = None,
        verbose: int = 0,
    ):
        self.learner = learner
        self.loss = loss
        self.inference = inference
        self.n_rounds = n_rounds
        self.damping = damping
        self.decode_temperature = decode_temperature
        self.cost = cost
        self.optimiser = optimiser
        self.rate = rate
        self.n_epochs = n_epochs
        self.n_first_epochs = n_first_epochs
        self.batch_size = batch_size
        self.l1 = l1
        self.l2 = l2
        self.patience = patience
        self.n_restarts = n_restarts
        self.average = average
        self.min_count = min_count
        self.weighting = weighting
        self.n_grams = n_grams
        self.token_pattern = token_pattern
        self.pairs = pairs
        self.agree = agree
        self.weight = weight
        self.outside = outside
        self.id = id
        self.label = label
        self.text = text
        self.group = group
        self.source = source
        self.target = target
        self.type = type
        self.link_text = link_text
        self.ignore = ignore
        self.random_state = random_state
        self.verbose = verbose

    # Training

    def fit(self, items: Any, links: Any = None, *, dev: Any = None) -> Self:
        """Learn from items of which some have labels.

        Parameters
        ----------
        items : dataframe, list of dicts, dict of columns, path, LinkedItems, or a list of LinkedItems
            Where a label is missing, nothing is learned from the item itself, and what its links say of the others is
            summed over all that it may be.
        links : dataframe, list of dicts, dict of columns or path, optional
            Where ``items`` is a table.
        dev : (items, links) or LinkedItems or a list of them, optional
            Development data: the weights of the epoch with the least loss on it are kept. Without it, risk keeps those
            of the epoch with the least loss on the training data.
        """
        learner = self._learner()
        linked = self.read(items, links)
        held_out = None if dev is None else self.read(*(dev if isinstance(dev, tuple) else (dev,)))
        settings = {name: getattr(self, name) for name in _OF_WORDS}
        classes = self._classes(linked)
        chosen: dict[str, Any] = {"pairs": self.pairs, "min_count": self.min_count}
        chosen["ignore"] = () if self.weight is None else (self.weight,)
        self.model_ = CollectiveModel.fit(linked, classes, self.agree, **chosen, **settings)
        self.classes_ = classes
        mine = self._answers(linked, self.model_.truth(linked))
        judge = mine
        if held_out is not None:
            if not held_out.n_known:
                raise ValueError(
                    f"none of the {held_out.n_items} development items has a label; give the truth of some"
                )
            judge = self._answers(held_out, self.model_.truth(held_out))
        # Risk is not convex and its last epochs need not be its best: without development data, training data tells.
        is_judged = held_out is not None or self.learner == "risk"
        whose = "training" if held_out is None else "dev"
        n_epochs = self.n_epochs + (self.n_first_epochs if self.learner == "risk" else 0)
        with EpochProgress(n_epochs, self.verbose) as progress:

            def show(epoch: MessageEpoch) -> None:
                judged = "" if epoch.dev is None else f", {whose} loss {epoch.dev:.4f}"
                progress.show(epoch.number, f"objective {epoch.objective:.4f}{judged}")

            dev_loss = judge.loss if is_judged else None
            learned = learner.learn(mine.batch, dev=dev_loss, show=show)
        # As a saved model holds them, so that it answers as this one does.
        self.weights_ = learned.weights.astype(np.float32).astype(np.float64)
        self.temperature_ = 1.0 if held_out is None else judge.temperature(self.weights_)
        self.epochs_, self.interrupted_ = learned.epochs, learned.interrupted
        return self

    def _learner(self) -> MessageLearner:
        """The learner, after a check of all settings."""
        if self.min_count < 1:
            raise ValueError(f"min_count is {self.min_count}; give 1 or more")
        BagOfWords((), **{name: getattr(self, name) for name in _OF_WORDS})
        if self.pairs not in PAIRS:
            raise ValueError(f"pairs is {self.pairs!r}; choose one of {', '.join(PAIRS)}")
        if isinstance(self.agree, str):
            raise ValueError(f"agree is {self.agree!r}; give a list of columns, such as [{self.agree!r}]")
        seed = int(np.random.default_rng(self.random_state).integers(2**31))
        learner = MessageLearner(**{name: getattr(self, name) for name in _OF_LEARNER}, random_state=seed)
        learner.check()
        return learner

    def _classes(self, linked: LinkedItems) -> list[Label]:
        """The labels there are, that which F-measure leaves out first."""
        found = {str(label): label for label in linked.labels if label is not None}
        if not found:
            wanted = f"a column {self.label or 'label'!r}"
            raise ValueError(f"none of the {linked.n_items} items has a label; give {wanted} with the truth of some")
        if len(found) == 1:
            raise ValueError(f"all labels are {next(iter(found.values()))!r}; learning takes two classes or more")
        classes = sorted(found.values(), key=lambda label: (isinstance(label, str), label))
        if self.outside is not None:
            if str(self.outside) not in found:
                raise ValueError(f"outside is {self.outside!r}, but labels are {', '.join(map(repr, classes))}")
            classes.sort(key=lambda label: str(label) != str(self.outside))
        return classes

    # Answers

    def predict(self, items: Any, links: Any = None, *, hold_labels: bool = False) -> pl.DataFrame:
        """The best label of each item.

        Parameters
        ----------
        items, links
            As `fit` takes them; labels may be missing altogether.
        hold_labels : bool
            Take the labels that are there as known, and answer the others given these.

        Returns
        -------
        DataFrame
            With columns ``id`` and ``label``; of a list of graphs, the number of the graph comes first.
        """
        frame, answers = self._asked(items, links, hold_labels)
        values = answers.best(self.weights_).tolist()
        return frame.hstack([pl.Series("label", [self.classes_[value] for value in values])])

    def predict_marginals(self, items: Any, links: Any = None, *, hold_labels: bool = False) -> pl.DataFrame:
        """How probable each class of each item is, by sum-product: a column for each class after ``id``.

        How sharp they are is fitted to the development data given to `fit`. Without such data they are as the weights
        have them, and those of risk and margins come out too sure of themselves.
        """
        frame, answers = self._asked(items, links, hold_labels)
        chances = answers.chances(self.weights_ / self.temperature_)
        return frame.hstack([pl.Series(str(name), chances[:, k]) for k, name in enumerate(self.classes_)])

    def evaluate(self, items: Any, links: Any = None) -> ClassScores:
        """Accuracy, and precision, recall and F1 of each class, over the items whose label is known."""
        self._check_fitted("weights_")
        linked = self.read(items, links)
        if not linked.n_known:
            raise ValueError(f"none of the {linked.n_items} items has a label to compare with; give the truth of some")
        truth = self.model_.truth(linked)
        return class_scores(truth, self._answers(linked, truth).best(self.weights_), self.classes_)

    def score(self, items: Any, links: Any = None) -> float:
        """Share of the labels that are right."""
        return self.evaluate(items, links).accuracy

    def _asked(self, items: Any, links: Any, hold_labels: bool) -> tuple[pl.DataFrame, Answers]:
        """The first columns of the answer, and items to be answered."""
        self._check_fitted("weights_")
        parts = self._parts(items, links, self.label if hold_labels else None)
        linked = LinkedItems.joined(parts)
        frame = pl.DataFrame({"id": linked.ids}, strict=False)
        if not isinstance(items, LinkedItems) and parts[0] is not linked:
            graph = np.repeat(np.arange(len(parts)), [part.n_items for part in parts])
            frame = frame.select(pl.Series("graph", graph), pl.col("id"))
        truth = self.model_.truth(linked) if hold_labels else None
        return frame, self._answers(linked, truth, hold=hold_labels)

    def _answers(self, linked: LinkedItems, truth: NDArray[np.int32] | None, *, hold: bool = False) -> Answers:
        inference = self._learner().test_inference()
        weight = None if truth is None or hold else self._weights_of(linked)
        return Answers(self.model_, linked, inference, self.loss, truth=truth, weight=weight, hold=hold)

    def _weights_of(self, linked: LinkedItems) -> NDArray[np.float64] | None:
        """How much each item counts."""
        if self.weight is None:
            return None
        check_column(linked.columns, self.weight)
        column = linked.columns[self.weight]
        if not column.dtype.is_numeric():
            raise ValueError(f"column {self.weight!r} should say how much items count, but holds {column.dtype}")
        counts = column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        if len(bad := np.flatnonzero(~(counts >= 0.0) | np.isinf(counts))):
            raise ValueError(
                f"column {self.weight!r} is {column[int(bad[0])]} in row {bad[0]}; give a number, 0 or more"
            )
        return counts

    def read(self, items: Any, links: Any = None, *, with_labels: bool = True) -> LinkedItems:
        """Tables as linked items, by the columns that this classifier knows.

        Parameters
        ----------
        items, links : dataframe, list of dicts, dict of columns or path
        with_labels : bool
            Whether a column of labels that is named must be there.
        """
        return LinkedItems.joined(self._parts(items, links, self.label if with_labels else None))

    def _parts(self, items: Any, links: Any, label: str | None) -> list[LinkedItems]:
        columns = {name: getattr(self, name) for name in _OF_TABLES}
        return linked_parts(items, links, **columns, label=label)

    # Keeping

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trained model to one file: plain arrays and JSON, no code."""
        self._check_fitted("weights_")
        settings = {
            name: list(value) if name in ("agree", "ignore") else value
            for name, value in self.get_params().items()
            if not callable(value)
        }
        described, arrays = self.model_.state()
        description = {"settings": settings, "model": described, "temperature": self.temperature_}
        save_archive(path, "CollectiveClassifier", description, {**arrays, "weights": self.weights_.astype(np.float32)})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote; a loss of your own is not kept."""
        description, arrays = load_archive(path, "CollectiveClassifier")
        made = cls(**description["settings"])
        made.weights_ = arrays.pop("weights").astype(np.float64)
        made.model_ = CollectiveModel.from_state(description["model"], arrays)
        made.classes_ = list(made.model_.classes)
        made.temperature_ = description["temperature"]
        made.epochs_, made.interrupted_ = [], False
        return made
