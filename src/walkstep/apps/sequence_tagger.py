"""Tokens in, tags out."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from walkstep.apps.base import Estimator
from walkstep.apps.known_tags import known_tags, refuse_unknown_tags
from walkstep.apps.tag_decoding import TagDecoder
from walkstep.apps.tag_file import load_tagger, save_tagger, storable
from walkstep.apps.tag_learners import way_of
from walkstep.apps.tag_message_way import MessageWay, refuse_message_settings, tag_beliefs
from walkstep.apps.tag_templates import tag_templates
from walkstep.apps.tag_training import TagTruth, Way
from walkstep.data.sequences import Sequences
from walkstep.data.tagging_schemes import convert, detect_scheme
from walkstep.evaluation.spans import SpanScores, span_scores
from walkstep.inference.forest import forest
from walkstep.inference.k_best import k_best
from walkstep.model.domains import Domain
from walkstep.model.graph import Graph
from walkstep.model.grounding import Grounding
from walkstep.model.templates import Template

Sentences = Sequences | Iterable[Sequence[str] | Sequence[tuple[str, ...]]]
Tags = Iterable[Sequence[str | None]]

_SCHEMES = ("auto", "bio", "bilou", "raw")


class SequenceTagger(Estimator):
    """Tag the tokens of sentences: names, parts of speech, fields, phrases.

    A linear chain by default, trained by SampleRank (Wick et al., 2011) and decoded exactly; with ``templates`` any
    other model over the tokens of a document, decoded exactly where it is a forest and by annealing where not. A chain
    may also be trained by exact maximum likelihood, as a conditional random field; and any model by passing messages,
    for the loss and the inference that it will be used with (Stoyanov and Eisner, 2012).

    Parameters
    ----------
    templates : {"chain", "skip-chain", "second-order"}, str or sequence of Template
        The model: a ready-made shape, a text in the model language, or templates. ``skip-chain`` also joins
        capitalised words that recur within a document, so that they agree.
    features : "default" or list of str
        What a tag sees of its surroundings, for the ready-made shapes; see `walkstep.features`.
    use_columns : bool
        Let the ready-made shapes also see further columns, such as parts of speech, in a window of two; text to
        be tagged must then have them too.
    learner : str
        A row of the table of learners: samplerank, samplerank-svm, samplerank-svm-1, hybrid, pcd, cd-k, sr-learn; or
        one that does not walk, so that ``step``, ``temperature``, ``rival`` and ``signal`` say nothing to it:
        "likelihood", exact on a chain; and by messages (which takes JAX) "risk", "softmax-margin", "svm",
        "perceptron", and "likelihood" where the model has cycles.
    step : {"arow", "mira", "adagrad", "constant", "perceptron"}
        How far each correction goes.
    rate : float, optional
        Of that step, see `walkstep.learning.step_rule`; by messages, of the optimiser's.
    temperature : float
        Of the training walk. Too cold and the walk never leaves the truth, too hot and it never sees it.
    rival : {"violating", "drawn"}
        Learn from the worst-ranked value of each tag, or from the one the walk drew (the paper's).
    n_epochs : int, optional
        Passes over the training data, 10 by default, and 12 by messages; for the exact likelihood at most so many
        iterations of L-BFGS, by default 100, fewer where nothing more is to be gained.
    l2 : float, optional
        Share by which weights shrink at each step, 0 by default; for the exact likelihood the penalty is l2 / 2 times
        the sum of squared weights, by default with l2 = 1; by messages it is l2 times that sum, beside a mean over
        tokens, by default with l2 = 1e-6.
    l1 : float
        For learners that do not walk, adds l1 times the sum of absolute weights to the penalty; many weights are
        then 0.
    average : bool
        Use the average of the weights over all steps; by messages, over the last half of them.
    loss : {"accuracy", "f1", "mse", "l1", "log-likelihood"} or callable, optional
        What "risk" is about, by default accuracy. "f1" is the F-measure of tokens in spans, by their type; a function
        ``(decoded, truth, weight) -> number`` of JAX arrays is differentiated, see `walkstep.messages.losses`.
    inference : {"sum-product", "max-product"}, optional
        By messages: how tags are found, and what weights are trained for; by default sum-product.
    n_rounds, damping : int and float, optional
        By messages, where the model has cycles: rounds of flooding (8), and the share of its last message that a factor
        keeps (0).
    optimiser : {"adam", "adagrad", "sgd", "pegasos", "smd", "lbfgs"}, optional
        By messages; by default adam.
    n_first_epochs : int, optional
        For "risk", passes of likelihood before, 8 by default.
    batch_size : int, optional
        By messages: documents that a step looks at, 16 by default.
    signal : {"hamming", "token-f1", "span-f1"} or callable
        The metric to train on; a function ``(values, truth) -> float`` of a document is compiled.
    scheme : {"auto", "bio", "bilou", "raw"}
        How spans are written inside the model; predictions come in the scheme of the training tags.
    constrained : bool
        Never predict a sequence of tags that the scheme forbids.
    min_count : int
        Features seen on fewer training tokens are left out.
    n_buckets : int, optional
        Hash features into so many buckets instead of numbering them.
    gazetteers : mapping of str to file, optional
        Lists of known phrases, one a line; adds a feature for each.
    clusters : file, optional
        Word clusters in Brown's format; adds features for their prefixes.
    functions : mapping of str to callable, optional
        Features of your own, ``word -> str``, named in ``features``.
    keep_names : bool
        Keep feature names for `top_features`.
    n_threads : int
        Shards that train side by side; the result depends on the number, never on timing.
    random_state : int, optional
    verbose : int

    Attributes
    ----------
    classes_ : list of str
        The tags as the model knows them.
    scheme_ : str
        The scheme of the training tags.
    columns_ : list of str
        The further columns of the training data, for those who read other data alike.
    weights_ : float array
    temperature_ : float
        What scores are divided by for marginals.
    epochs_ : list of Epoch, of Iteration for the exact likelihood, or of MessageEpoch
    dev_scores_ : list of float
        F1 on the development data after each epoch, or every fifth iteration, where that was given.
    n_epochs_ : int
        How many epochs there were to be, at most.
    best_epoch_ : int
        The epoch whose weights were kept: the one best on the development data, or the last.
    interrupted_ : bool
        Whether training was interrupted from the keyboard.

    Examples
    --------
    >>> sentences = [["Ada", "met", "Bob"], ["Bob", "slept"]] * 5
    >>> tags = [["B-PER", "O", "B-PER"], ["B-PER", "O"]] * 5
    >>> tagger = SequenceTagger(n_epochs=3, random_state=0).fit(sentences, tags)
    >>> tagger.predict([["Bob", "met", "Ada"]])
    [['B-PER', 'O', 'B-PER']]
    """

    def __init__(
        self,
        *,
        templates: str | Sequence[Template] = "chain",
        features: str | Sequence[str] = "default",
        use_columns: bool = False,
        learner: str = "samplerank",
        step: str = "arow",
        rate: float | None = None,
        temperature: float = 0.4,
        rival: str = "violating",
        n_epochs: int | None = None,
        l2: float | None = None,
        l1: float = 0.0,
        average: bool = True,
        loss: Any = None,
        inference: Any = None,
        n_rounds: int | None = None,
        damping: float | None = None,
        optimiser: str | None = None,
        n_first_epochs: int | None = None,
        batch_size: int | None = None,
        signal: Any = "hamming",
        scheme: str = "auto",
        constrained: bool = True,
        min_count: int = 1,
        n_buckets: int | None = None,
        gazetteers: Mapping[str, Any] | None = None,
        clusters: Any = None,
        functions: Mapping[str, Any] | None = None,
        keep_names: bool = False,
        n_threads: int = 1,
        random_state: int | None = None,
        verbose: int = 0,
    ):
        self.templates = templates
        self.features = features
        self.use_columns = use_columns
        self.learner = learner
        self.step = step
        self.rate = rate
        self.temperature = temperature
        self.rival = rival
        self.n_epochs = n_epochs
        self.l2 = l2
        self.l1 = l1
        self.average = average
        self.loss = loss
        self.inference = inference
        self.n_rounds = n_rounds
        self.damping = damping
        self.optimiser = optimiser
        self.n_first_epochs = n_first_epochs
        self.batch_size = batch_size
        self.signal = signal
        self.scheme = scheme
        self.constrained = constrained
        self.min_count = min_count
        self.n_buckets = n_buckets
        self.gazetteers = gazetteers
        self.clusters = clusters
        self.functions = functions
        self.keep_names = keep_names
        self.n_threads = n_threads
        self.random_state = random_state
        self.verbose = verbose

    # Training

    def fit(
        self,
        sentences: Sentences,
        tags: Tags | None = None,
        *,
        documents: Sequence[int] | None = None,
        dev: tuple[Sentences, Tags] | Sequences | None = None,
    ) -> Self:
        """Learn from tagged sentences.

        Parameters
        ----------
        sentences : list of lists of str, or Sequences
            The tokens; a token may be a tuple of its word and further columns.
        tags : list of lists of str or None
            The truth, ``None`` where it is unknown: nothing is learned there.
        documents : sequence of int, optional
            The document of each sentence; features and skip edges look at whole documents.
        dev : (sentences, tags) or Sequences, optional
            Development data: the weights of the epoch with the best F1 on it are kept.
        """
        corpus = self._corpus(sentences, tags, documents)
        if corpus.tags is None or all(tag is None for tag in corpus.tags):
            raise ValueError("there are no tags to learn from; pass tags=, one list for each sentence")
        if corpus.n_tokens == 0:
            raise ValueError("there are no sentences to learn from; pass at least one")
        if self.n_epochs is not None and self.n_epochs < 1:
            raise ValueError(f"n_epochs is {self.n_epochs}; give 1 or more")
        held_out = None if dev is None else (dev if isinstance(dev, Sequences) else self._corpus(*dev, None))
        self.scheme_: Any = detect_scheme(corpus.tags, corpus.sentence_ptr)
        self.columns_ = list(corpus.columns)
        self.inner_scheme_: Any = self._inner_scheme()
        inner = convert(corpus.tags, corpus.sentence_ptr, self.scheme_, self.inner_scheme_)
        self.classes_ = known_tags(inner)
        domain = Domain("tag", tuple(self.classes_))
        self.grounding_ = Grounding(
            tag_templates(self, corpus),
            min_count=self.min_count,
            n_buckets=self.n_buckets,
            gazetteers=self.gazetteers,
            clusters=self.clusters,
            functions=self.functions,
            keep_names=self.keep_names,
        )
        graph, self.layout_ = self.grounding_.fit_ground(corpus, domain)
        self._train(graph, corpus, domain.encode(inner), held_out)
        return self

    def _corpus(self, sentences: Sentences, tags: Tags | None, documents: Sequence[int] | None) -> Sequences:
        if isinstance(sentences, Sequences):
            return sentences
        return Sequences.from_lists(sentences, tags, documents=documents)

    def _inner_scheme(self) -> Any:
        if self.scheme not in _SCHEMES:
            raise ValueError(f"scheme is {self.scheme!r}; choose one of {', '.join(_SCHEMES)}")
        if self.scheme_ == "raw" or self.scheme == "raw":
            return self.scheme_
        return "bio" if self.scheme == "auto" else self.scheme

    def _train(self, graph: Graph, corpus: Sequences, truth: NDArray[np.int32], dev: Sequences | None) -> None:
        way = self._way()
        if not isinstance(way, MessageWay):
            refuse_message_settings(self)
        joins_sentences = any(template.joins_pairs for template in self.grounding_.templates)
        data = TagTruth(graph, truth, corpus, self.classes_, joins_sentences)

        def score(weights: NDArray[np.float64]) -> float:
            self.weights_ = storable(weights)
            return self.evaluate(dev, allow_unknown=True).f1  # pyright: ignore[reportArgumentType]

        training = way.train(self, data, None if dev is None else score)
        self.weights_ = storable(training.weights)
        self.epochs_: list[Any] = training.records
        self.dev_scores_, self.best_epoch_ = training.dev_scores, training.best_epoch
        self.interrupted_, self.n_epochs_ = training.interrupted, training.n_wanted
        # Without data to fit it to, likelihoods are taken at their word; margins have none to be taken at.
        trusted = way.is_calibrated and dev is None
        self.temperature_ = 1.0 if trusted else self._calibrate(corpus if dev is None else dev)

    def _calibrate(self, corpus: Sequences) -> float:
        """The temperature of marginals: margins fix the order of answers, not how sure they are."""
        corpus = corpus.head(1000)
        inner = convert(corpus.tags or [], corpus.sentence_ptr, self.scheme_, self.inner_scheme_)
        code = {tag: k for k, tag in enumerate(self.classes_)}
        truth = np.array([code.get(tag or "", -1) for tag in inner])
        if (truth < 0).all():
            return 1.0
        decoder = self._decoder()
        if isinstance(self._way(), MessageWay):
            return tag_beliefs(self, decoder, corpus).temperature(self.weights_, truth)
        return decoder.temperature(corpus, self.weights_, truth)

    # Answers

    def predict(self, sentences: Sentences, *, documents: Sequence[int] | None = None) -> list[list[str]]:
        """The best tags of each sentence, in the scheme of the training tags."""
        self._check_fitted("weights_")
        corpus = self._corpus(sentences, None, documents)
        if corpus.n_tokens == 0:
            return []
        return corpus.split(self._tags(self._decode(corpus), corpus))

    def predict_marginals(
        self, sentences: Sentences, *, documents: Sequence[int] | None = None
    ) -> list[NDArray[np.float64]]:
        """How probable each tag of `classes_` is at each token: one array (tokens, tags) a sentence.

        Exact where the model is a forest; otherwise by sum-product, where weights were trained by messages, and
        from Gibbs samples where not. How sharp they are is fitted to the
        development data given to `fit`; without such data it is fitted to the training data, and they come out too
        sure of themselves.
        """
        self._check_fitted("weights_")
        corpus = self._corpus(sentences, None, documents)
        if corpus.n_tokens == 0:
            return []
        decoder = self._decoder()
        if isinstance(self._way(), MessageWay):
            found = tag_beliefs(self, decoder, corpus).chances(self.weights_ / self.temperature_)
        else:
            found = decoder.chances(corpus, self.weights_, self.temperature_, self.random_state or 0)
        return np.split(found, corpus.sentence_ptr[1:-1])

    def predict_k_best(self, sentences: Sentences, k: int) -> list[list[tuple[list[str], float]]]:
        """The k best taggings of each sentence with their scores, best first; for models that are forests."""
        self._check_fitted("weights_")
        corpus = self._corpus(sentences, None, None)
        if corpus.n_tokens == 0:
            return []
        decoder = self._decoder()
        if not decoder.is_forest:
            raise ValueError("k-best needs a model without cycles; train with templates='chain'")
        graph, constraints = decoder.constrained_graph(corpus)
        found = k_best(forest(graph, sentence_ptr=corpus.sentence_ptr), self.weights_, k, constraints=constraints)
        answers: list[list[tuple[list[str], float]]] = [[] for _ in range(corpus.n_sentences)]
        for rank in range(k):
            # Sentences with fewer taggings than asked for repeat their best one here, and skip it below.
            values = np.where(found.values[rank] < 0, found.values[0], found.values[rank])
            for s, tags in enumerate(corpus.split(self._tags(values, corpus))):
                if rank < found.counts[s]:
                    answers[s].append((tags, float(found.scores[rank, s])))
        return answers

    def evaluate(
        self,
        sentences: Sentences,
        tags: Tags | None = None,
        *,
        documents: Sequence[int] | None = None,
        allow_unknown: bool = False,
    ) -> SpanScores:
        """Precision, recall and F1 of whole spans, by type and overall, and accuracy of tokens.

        Tags of a type that the model was never shown are an error, unless ``allow_unknown`` counts them as missed.
        """
        self._check_fitted("weights_")
        corpus = self._corpus(sentences, tags, documents)
        if corpus.tags is None:
            raise ValueError("there are no tags to compare with; pass tags=, one list for each sentence")
        if not allow_unknown:
            refuse_unknown_tags(corpus, self.classes_, self.scheme_)
        predicted = self._tags(self._decode(corpus), corpus)
        return span_scores(corpus.tags, predicted, corpus.sentence_ptr)

    def score(self, sentences: Sentences, tags: Tags | None = None) -> float:
        """F1 of whole spans; accuracy of tokens where tags mark no spans."""
        scores = self.evaluate(sentences, tags)
        return scores.accuracy if self.scheme_ == "raw" else scores.f1

    def top_features(self, tag: str, n: int = 20) -> list[tuple[str, float]]:
        """The features that speak most for a tag, with their weights (needs ``keep_names=True``)."""
        self._check_fitted("weights_")
        if tag not in self.classes_:
            raise ValueError(f"the model has no tag {tag!r}; it has {', '.join(self.classes_)}")
        block = next(block for block in self.layout_ if len(block.shape) == 1)
        table = self.layout_.view(self.weights_, block.name)[0, :, self.classes_.index(tag)]
        names = self.grounding_.feature_names(block.name)
        return [(names[row], float(table[row])) for row in np.argsort(-table, kind="stable")[:n]]

    def _decoder(self) -> TagDecoder:
        return TagDecoder(self.grounding_, self.classes_, self.inner_scheme_ if self.constrained else None)

    def _way(self) -> Way | MessageWay:
        return way_of(self.learner, is_chain=self._decoder().is_forest)

    def _decode(self, corpus: Sequences) -> NDArray[np.int32]:
        """The best world of a corpus."""
        if isinstance(self._way(), MessageWay):
            return tag_beliefs(self, self._decoder(), corpus).best(self.weights_)
        return self._decoder().best(corpus, self.weights_, self.random_state or 0)

    def _tags(self, values: NDArray[np.integer], corpus: Sequences) -> list[str]:
        """Values as tags of the training data's scheme."""
        classes = self.classes_
        inner = [classes[value] for value in values.tolist()]
        found: Any = convert(inner, corpus.sentence_ptr, self.inner_scheme_, self.scheme_)
        return found

    # Keeping

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trained model to one file: plain arrays and JSON, no code."""
        self._check_fitted("weights_")
        save_tagger(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, functions: Mapping[str, Any] | None = None) -> Self:
        """Read a model that `save` wrote; functions of your own must be passed again."""
        return load_tagger(cls, path, functions)
