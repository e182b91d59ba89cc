"""Documents with mentions in, entities out."""

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from walkstep.apps.base import Estimator
from walkstep.apps.coreference_search import (
    JUMPS,
    N_SWEEPS,
    N_TO_LEARN_FROM,
    best_entities,
    known_jumps,
    search_jumps,
    walk_jumps,
)
from walkstep.apps.progress import EpochProgress
from walkstep.data.archive import load_archive, save_archive
from walkstep.data.mentions import MentionDocuments
from walkstep.evaluation.clusters import ClusterScores, cluster_scores
from walkstep.features.comparators import Comparator
from walkstep.features.mention_features import CONJUNCTIONS, DISTINCT_COLUMNS, EncodedMentions, MentionFeatures
from walkstep.learning.steps import step_rule
from walkstep.learning.train import Epoch, Trainer
from walkstep.model.partition_templates import (
    Affinity,
    Aggregate,
    Distinct,
    PartitionTemplate,
    Size,
    Spread,
    ground_partition,
)
from walkstep.worlds.partition import PartitionWorld, partition_world
from walkstep.worlds.partition_signals import PartitionSignal, b_cubed, pair_accuracy, pair_f1

Documents = MentionDocuments | Iterable[Mapping[str, Any]]

_TEMPLATES = {kind.__name__: kind for kind in (Affinity, Aggregate, Distinct, Size, Spread)}
_SIGNALS = ("pair-accuracy", "pair-f1", "b-cubed")
_F1_SCALE = 100.0  # a gain of one percent is worth a margin of one


def default_templates() -> list[PartitionTemplate]:
    """Affinities of pairs with conjunctions, and what whole entities hold: likeness, types, genders, names, size."""
    return [
        Affinity(CONJUNCTIONS),
        Aggregate("tf-idf", "mean"),
        Aggregate("same head", "share"),
        Aggregate("same type", "share"),
        Aggregate("names in common", "min"),
        Size(),
        Distinct("entity_type"),
        Distinct("gender"),
        Distinct("number"),
        Distinct("name_head"),
        Distinct("head", "share"),
    ]


class CoreferenceResolver(Estimator):
    """Group the mentions of each document by whom or what they mean.

    A model of whole entities (Culotta et al., 2007): factors for pairs of mentions that are together, and factors for
    what each entity holds, trained by SampleRank (Wick et al., 2011, section 5.1). Every document is walked on its
    own, from all mentions apart, while the walk cools.

    Parameters
    ----------
    templates : "default" or sequence of templates
        From `walkstep.model.partition_templates`, over the comparators of `mention_comparators` and the columns
        `DISTINCT_COLUMNS`.
    learner : str
        A row of the table of learners: samplerank, samplerank-svm, samplerank-svm-1, hybrid, pcd, cd-k, sr-learn.
    step : {"mira", "arow", "adagrad", "constant", "perceptron"}
        How far each correction goes.
    rate : float, optional
        Of that step; see `walkstep.learning.step_rule`.
    temperature : float
        Of the training walk.
    n_epochs : int
        Passes over the training documents, each of which starts at the truth.
    n_sweeps : float
        Steps that an epoch takes in each document, as a multiple of its mentions.
    average : bool
        Use the average of the weights over all steps.
    signal : {"pair-accuracy", "pair-f1", "b-cubed"}
        The metric to train on.
    jumps : {"adaptive", "guided", "single", "uniform"}
        How walks move. Adaptive: a mention looks at all others at once and goes to the entity that draws it most, or
        jumps of other kinds are made, of which a search learns how often to try each, and what to merge and split;
        what it learns on training documents is where it starts in new ones. It trains as guided walks do. Guided: a
        mention goes to the entity of a random other mention, or to any, with merges and splits now and then. Single:
        the same without merges and splits. Uniform: to any entity, all equally likely (the SampleRank paper's).
    n_search_sweeps : int, optional
        Steps of the search for the best entities, as a multiple of the mentions; by default 200, or 10 of adaptive
        jumps, each of which looks further.
    n_restarts : int
        How often that search is made; the best answer is kept.
    n_threads : int
        Training shards (the weights depend on their number, never on timing), and documents searched side by side
        (which changes nothing).
    random_state : int, optional
    verbose : int

    Attributes
    ----------
    features_ : MentionFeatures
        Comparators settled on the training documents.
    templates_ : list of templates
    layout_ : Layout
        The names of blocks of weights.
    weights_ : float array
    epochs_ : list of Epoch
    jumps_ : float array
        What jumps that learn start from in new documents; empty for others.

    Examples
    --------
    >>> ada = {"sentences": [["Ada", "came", "."], ["Ada", "left", "."]],
    ...        "mentions": [{"sentence": 0, "start": 0, "end": 1, "entity": "a"},
    ...                     {"sentence": 1, "start": 0, "end": 1, "entity": "a"}]}
    >>> bob = {"sentences": [["Bob", "came", "."], ["Otto", "left", "."]],
    ...        "mentions": [{"sentence": 0, "start": 0, "end": 1, "entity": "b"},
    ...                     {"sentence": 1, "start": 0, "end": 1, "entity": "o"}]}
    >>> resolver = CoreferenceResolver(random_state=0).fit([ada, bob] * 5)
    >>> resolver.predict([bob, ada])
    array([0, 1, 2, 2])
    """

    def __init__(
        self,
        *,
        templates: str | Sequence[PartitionTemplate] = "default",
        learner: str = "samplerank",
        step: str = "mira",
        rate: float | None = None,
        temperature: float = 1.0,
        n_epochs: int = 4,
        n_sweeps: float = 60.0,
        average: bool = True,
        signal: str = "pair-accuracy",
        jumps: str = "adaptive",
        n_search_sweeps: int | None = None,
        n_restarts: int = 1,
        n_threads: int = 1,
        random_state: int | None = None,
        verbose: int = 0,
    ):
        self.templates = templates
        self.learner = learner
        self.step = step
        self.rate = rate
        self.temperature = temperature
        self.n_epochs = n_epochs
        self.n_sweeps = n_sweeps
        self.average = average
        self.signal = signal
        self.jumps = jumps
        self.n_search_sweeps = n_search_sweeps
        self.n_restarts = n_restarts
        self.n_threads = n_threads
        self.random_state = random_state
        self.verbose = verbose

    # Training

    def fit(self, documents: Documents, truth: ArrayLike | None = None) -> Self:
        """Learn from documents whose entities are known.

        Parameters
        ----------
        documents : MentionDocuments, or iterable of mappings as `MentionDocuments.from_dicts` takes them
        truth : int array (n_mentions,), optional
            The true entity of each mention, -1 where it is unknown; by default the documents' own.
        """
        self._check_settings()
        corpus = _gathered(documents)
        entity = _truth(corpus, truth)
        if not (entity >= 0).any():
            raise ValueError("there are no entities to learn from; give mentions an 'entity', or pass truth=")
        self.features_ = MentionFeatures.fit(corpus)
        self.templates_ = default_templates() if isinstance(self.templates, str) else list(self.templates)
        encoded = self.features_.encode(corpus)
        grounded = ground_partition(self.templates_, self.features_.n_levels, encoded.columns)
        self.layout_ = grounded.layout
        n = corpus.n_mentions
        world = partition_world(
            grounded.model,
            encoded.comparisons,
            entity,
            assignment=np.where(entity >= 0, entity, entity.max() + 1 + np.arange(n)),
            document_ptr=corpus.document_ptr,
            signal=self._signal(entity, corpus.document_ptr),
            proposer=walk_jumps(self.jumps, corpus.document_ptr),
        )
        trainer = Trainer(
            world,
            learner=self.learner,
            rule=step_rule(self.step, rate=self.rate),
            sampler="metropolis",
            temperature=self.temperature,
            n_sweeps=self.n_sweeps,
            average=self.average,
            reset=bool((entity >= 0).all()),
            n_threads=self.n_threads,
            rng=self.random_state,
        )
        with EpochProgress(self.n_epochs, self.verbose) as progress:
            try:
                for _ in range(self.n_epochs):
                    epoch = trainer.epoch()
                    text = f"{epoch.violations:.1%} of pairs corrected, {epoch.steps_per_second:,.0f} steps/s"
                    progress.show(epoch.number, text)
            except KeyboardInterrupt:
                if not trainer.epochs:
                    raise
                progress.show(len(trainer.epochs), "interrupted: keeping what was learned so far")
        # As a saved model holds them, so that it answers as this one does.
        self.weights_ = trainer.weights.astype(np.float32).astype(np.float64)
        self.epochs_: list[Epoch] = trainer.epochs
        self.jumps_ = self._learned_jumps(encoded, len(corpus))
        return self

    def _learned_jumps(self, encoded: EncodedMentions, n_documents: int) -> NDArray[np.float64]:
        """What jumps that learn have learned on some training documents, one after the other."""
        learned = np.zeros(0)
        if self.jumps != "adaptive":
            return learned
        rng = np.random.default_rng(0 if self.random_state is None else self.random_state)
        for d in rng.permutation(n_documents)[:N_TO_LEARN_FROM].tolist():
            document = encoded.document(d)
            if document.document_ptr[-1] > 1:
                found = best_entities(
                    self._world(document), self.weights_, learned, n_sweeps=self.search_sweeps, learns=True, seed=d
                )
                learned = found.learned
        # As a saved model holds it.
        return learned.astype(np.float32).astype(np.float64)

    @property
    def search_sweeps(self) -> int:
        """Steps of a search, as a multiple of the mentions."""
        return N_SWEEPS[self.jumps] if self.n_search_sweeps is None else self.n_search_sweeps

    def _check_settings(self) -> None:
        for name, choices in (("signal", _SIGNALS), ("jumps", JUMPS)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} is {getattr(self, name)!r}; choose one of {', '.join(choices)}")
        counts = {"n_epochs": self.n_epochs, "n_search_sweeps": self.search_sweeps}
        for name, count in {**counts, "n_restarts": self.n_restarts, "n_threads": self.n_threads}.items():
            if count < 1:
                raise ValueError(f"{name} is {count}; give 1 or more")
        if not self.n_sweeps > 0:
            raise ValueError(f"n_sweeps is {self.n_sweeps}; give a number above 0")
        if isinstance(self.templates, str) and self.templates != "default":
            raise ValueError(f"templates is {self.templates!r}; give 'default' or a list of templates")

    def _signal(self, truth: NDArray[np.int64], document_ptr: NDArray[np.int64]) -> PartitionSignal:
        if self.signal == "pair-f1":
            return pair_f1(scale=_F1_SCALE)
        if self.signal == "b-cubed":
            return b_cubed(truth, document_ptr, scale=_F1_SCALE)
        return pair_accuracy()

    # Answers

    def predict(self, documents: Documents) -> NDArray[np.int64]:
        """The entity of each mention, numbered from 0 over all documents in order of first appearance.

        What is found in a document depends neither on the other documents nor on the number of threads.
        """
        self._check_fitted("weights_")
        self._check_settings()
        corpus = _gathered(documents)
        encoded = self.features_.encode(corpus)
        seed = 0 if self.random_state is None else self.random_state
        with ThreadPoolExecutor(self.n_threads) as pool:
            found = list(pool.map(lambda d: self.search_document(encoded.document(d), seed), range(len(corpus))))
        entity = np.zeros(corpus.n_mentions, np.int64)
        n_entities = 0
        for d, values in enumerate(found):
            _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
            rank = np.argsort(np.argsort(first))  # entities in order of their first mention
            entity[corpus.document_ptr[d] : corpus.document_ptr[d + 1]] = n_entities + rank[inverse]
            n_entities += len(first)
        return entity

    def search_document(self, document: EncodedMentions, seed: int) -> NDArray[np.integer]:
        """The best entities found in one document."""
        n = int(document.document_ptr[-1])
        if n < 2:
            return np.zeros(n, np.int64)
        return best_entities(
            self._world(document),
            self.weights_,
            self.jumps_,
            n_sweeps=self.search_sweeps,
            n_restarts=self.n_restarts,
            seed=seed,
        ).values

    def _world(self, document: EncodedMentions) -> PartitionWorld:
        grounded = ground_partition(self.templates_, self.features_.n_levels, document.columns)
        jumps = search_jumps(self.jumps, grounded.model, document.document_ptr, self.weights_)
        n = int(document.document_ptr[-1])
        return partition_world(grounded.model, document.comparisons, n_mentions=n, proposer=jumps)

    def evaluate(self, documents: Documents, truth: ArrayLike | None = None) -> ClusterScores:
        """Agreement with the truth by every metric, over the mentions of all documents."""
        corpus = _gathered(documents)
        return cluster_scores(self.predict(corpus), _truth(corpus, truth))

    def score(self, documents: Documents, truth: ArrayLike | None = None) -> float:
        """The CoNLL-2012 score: mean F1 of MUC, B-cubed and CEAF-e."""
        return self.evaluate(documents, truth).conll

    def top_weights(self, n: int = 20) -> list[tuple[str, int, float]]:
        """The weights that say most, for or against: block, place in the block, weight.

        Places of a comparator's block are its levels; of a conjunction, combinations of levels.
        """
        self._check_fitted("weights_")
        rows = [
            (block.name, place, float(weight))
            for block in self.layout_
            for place, weight in enumerate(self.layout_.view(self.weights_, block.name).ravel())
        ]
        return sorted(rows, key=lambda row: -abs(row[2]))[:n]

    # Keeping

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trained model to one file: plain arrays and JSON, no code."""
        self._check_fitted("weights_")
        settings = {name: value for name, value in self.get_params().items() if name != "templates"}
        description = {
            "settings": settings,
            "templates": [{"kind": type(template).__name__, **asdict(template)} for template in self.templates_],
            "comparators": [comparator.to_dict() for comparator in self.features_.comparators],
        }
        texts = np.frombuffer("\n".join(self.features_.texts).encode(), np.uint8)
        save_archive(
            path,
            "CoreferenceResolver",
            description,
            {
                "texts": texts,
                "weights": self.weights_.astype(np.float32),
                "jumps": self.jumps_.astype(np.float32),
            },
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote."""
        description, arrays = load_archive(path, "CoreferenceResolver")
        templates = [_template(plain) for plain in description["templates"]]
        settings = dict(description["settings"])
        if "proposer" in settings:  # what jumps were called in earlier models
            settings["jumps"] = settings.pop("proposer")
        resolver = cls(**settings)
        if templates != default_templates():
            resolver.templates = templates
        resolver.templates_ = templates
        texts = arrays["texts"].tobytes().decode()
        comparators = tuple(Comparator.from_dict(plain) for plain in description["comparators"])
        resolver.features_ = MentionFeatures(comparators, tuple(texts.split("\n")) if texts else ())
        no_columns = {name: np.zeros(0, np.int32) for name in DISTINCT_COLUMNS}
        resolver.layout_ = ground_partition(templates, resolver.features_.n_levels, no_columns).layout
        resolver.weights_ = arrays["weights"].astype(np.float64)
        resolver.jumps_ = known_jumps(arrays.get("jumps", np.zeros(0)).astype(np.float64), resolver.layout_.size)
        resolver.epochs_ = []
        return resolver


def _gathered(documents: Documents) -> MentionDocuments:
    return documents if isinstance(documents, MentionDocuments) else MentionDocuments.from_dicts(documents)


def _truth(documents: MentionDocuments, truth: ArrayLike | None) -> NDArray[np.int64]:
    """The true entity of each mention."""
    if truth is None:
        return documents.entity
    given = np.asarray(truth)
    if given.shape != (documents.n_mentions,) or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(
            f"truth is an array of {given.dtype} of shape {given.shape}; give one entity number for each of the "
            f"{documents.n_mentions} mentions, -1 where it is unknown"
        )
    return np.where(given >= 0, given, -1).astype(np.int64)


def _template(plain: Mapping[str, Any]) -> PartitionTemplate:
    """A template that `save` described."""
    fields = {name: value for name, value in plain.items() if name != "kind"}
    if "conjunctions" in fields:
        fields["conjunctions"] = tuple(tuple(names) for names in fields["conjunctions"])
    return _TEMPLATES[plain["kind"]](**fields)
