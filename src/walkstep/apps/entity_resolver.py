"""Records in, real-world entities out: jointly, with how sure it is and why."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from walkstep.apps.base import Estimator
from walkstep.apps.entity_names import as_places, kept_names
from walkstep.apps.pair_labels import PairLabels, read_pairs
from walkstep.apps.progress import EpochProgress
from walkstep.apps.record_model import PreparedRecords, RecordModel, check_jumps
from walkstep.apps.record_tables import HeldLinks, record_names, true_entities
from walkstep.apps.resolution import Resolution
from walkstep.apps.resolver_learning import (
    SHARE_MERGE_OF_SAMPLES,
    Learned,
    Training,
    learn_from_pairs,
    learn_from_truth,
    learn_unlabelled,
)
from walkstep.apps.settings_file import read_settings
from walkstep.data.archive import load_archive, save_archive
from walkstep.data.records import as_frame, linked, origin_column
from walkstep.evaluation.clusters import ClusterScores, cluster_scores
from walkstep.features.blocking import Blocking
from walkstep.features.comparators import Comparator
from walkstep.inference.annealing import Schedule
from walkstep.inference.consensus import consensus
from walkstep.inference.pair_posterior import Partitions, sample_partitions
from walkstep.inference.partition_search import Found, coarse_to_fine, search
from walkstep.inference.partition_update import add_mentions, carry_on
from walkstep.model.partition_templates import PartitionTemplate
from walkstep.worlds.link_constraints import LinkConstraints
from walkstep.worlds.partition import PartitionWorld
from walkstep.worlds.randomness import as_generator

_SIGNALS = ("pair-accuracy", "pair-f1", "b-cubed")
_PARTS = ("comparators", "blocking", "templates", "kinds")  # which a saved model describes by itself


class EntityResolver(Estimator):
    """Find the records that mean the same thing in the world.

    A partition of the records is scored by the pairs that are together and by what whole entities hold, and a walk
    through partitions looks for the best one and says how sure it is. Weights come from known entities, from labelled
    pairs, or, with neither, from the records alone.

    Parameters
    ----------
    kinds : mapping of str to str, optional
        What columns are, where they should not be guessed: name, text, identifier, number, date, category, list,
        vector, or key and constant for columns not to be compared.
    ignore : sequence of str
        Columns to leave aside.
    id : str, optional
        The column that names records; by default they are numbered from 0.
    source : str, optional
        A column of clean sources: two records of the same source are never the same entity.
    comparators, blocking, templates : optional
        What is compared, which records meet, and what is claimed of pairs and clusters; by default chosen from the
        kinds of columns.
    learner : str
        A row of the table of learners; see `walkstep.learning`.
    step : str
        The step rule.
    rate : float, optional
        Of that step.
    signal : {"pair-accuracy", "pair-f1", "b-cubed"}
        The metric to train on.
    n_epochs, n_sweeps : int, float
        Passes of the training walk, and moves in each as a multiple of the records.
    moves : float, optional
        Moves of the search for each record; by default as many as its blocks ask for.
    coarse : float, optional
        Begin the search by looking at this share of the factors only, and at all of them towards the end (Monte
        Carlo MCMC).
    jumps : {"guided", "single", "adaptive"}
        How the search moves: single records that go to those of their blocks, with merges and splits of entities;
        single records alone; or all kinds of jumps, of which it learns while it walks how often to try each, and what
        to merge and split.
    n_samples : int
        Partitions drawn from the posterior for probabilities and confidence; 0 draws none.
    decision : {"best", "consensus"}
        Whether the answer is the partition of the highest score, or the one of the least expected loss over the
        samples; of a model that is unsure the latter leaves more records alone.
    random_state : int, optional
    verbose : int

    Attributes
    ----------
    model_ : RecordModel
    weights_ : float array
    temperature_ : float
        At which the posterior is sampled, so that probabilities come true.
    learned_from_ : str
        What the weights come from, in words.
    epochs_ : list of Epoch

    Examples
    --------
    >>> from walkstep.data.bibliography import generate_bibliography
    >>> records = generate_bibliography(20, seed=0)
    >>> resolver = EntityResolver(id="id", n_epochs=2, n_samples=10, random_state=0).fit(records, entity="entity")
    >>> resolver.resolve(records).entities.columns[-2:]
    ['entity', 'confidence']
    """

    def __init__(
        self,
        *,
        kinds: Mapping[str, str] | None = None,
        ignore: Sequence[str] = (),
        id: str | None = None,
        source: str | None = None,
        comparators: Sequence[Comparator] | None = None,
        blocking: Blocking | None = None,
        templates: Sequence[PartitionTemplate] | None = None,
        learner: str = "samplerank",
        step: str = "mira",
        rate: float | None = None,
        signal: str = "pair-accuracy",
        n_epochs: int = 0,
        n_sweeps: float = 50.0,
        moves: float | None = None,
        coarse: float | None = None,
        jumps: str = "guided",
        n_samples: int = 100,
        decision: str = "best",
        random_state: int | None = None,
        verbose: int = 0,
    ):
        self.kinds = kinds
        self.ignore = ignore
        self.id = id
        self.source = source
        self.comparators = comparators
        self.blocking = blocking
        self.templates = templates
        self.learner = learner
        self.step = step
        self.rate = rate
        self.signal = signal
        self.n_epochs = n_epochs
        self.n_sweeps = n_sweeps
        self.moves = moves
        self.coarse = coarse
        self.jumps = jumps
        self.n_samples = n_samples
        self.decision = decision
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str], **settings: Any) -> "EntityResolver":
        """A resolver with the settings of a TOML file; those given here win.

        The file may hold any setting that is a number, a text or a list, and tables ``[kinds]``,
        ``[[comparators]]``, ``[blocking]`` and ``[[templates]]`` written as a saved model describes them.
        """
        return cls(**{**read_settings(path, cls._setting_names()), **settings})

    # Training

    def fit(
        self,
        records: Any,
        entity: str | ArrayLike | None = None,
        *,
        pairs: Any = None,
        links: Any = None,
    ) -> Self:
        """Learn weights.

        Parameters
        ----------
        records : dataframe, path, list of dicts
            Anything with the Arrow interface, or a file of CSV, JSON lines or Parquet.
        entity : str or array, optional
            The column that says which entity each record is, or those values; missing where unknown.
        pairs : dataframe, path or iterable of (id, id, bool), optional
            Labelled pairs, where entities are not known: the ids of two records and whether they are the same.
        links : dataframe, path or iterable of (id, id, bool), optional
            Pairs that must, or must not, be together, whatever the weights say.

        With neither ``entity`` nor ``pairs`` the weights are estimated from the records alone, as a mixture of pairs
        that match and pairs that do not (Fellegi and Sunter, 1969): a start, and said so in ``learned_from_``.
        """
        self._check_settings()
        if entity is not None and pairs is not None:
            raise ValueError("both entity and pairs are given; learn from the one or the other")
        frame = as_frame(records)
        truth = None if entity is None else true_entities(frame, entity)
        names = record_names(frame, self.id)
        used = self._features(frame, entity)
        generator = as_generator(self.random_state)
        model = RecordModel.choose(
            used,
            kinds=self.kinds,
            comparators=self.comparators,
            blocking=self.blocking,
            templates=self.templates,
            thorough=truth is not None,
            of_clusters=truth is not None and self.n_epochs > 0,
        )
        prepared = model.prepare(used)
        held = HeldLinks.none(self.source).also(links, names).over(frame)
        labelled = None if pairs is None else read_pairs(pairs, names)
        with EpochProgress(self.n_epochs, self.verbose) as progress:
            learned = self._learn(prepared, truth, labelled, held, generator, progress)
        self.model_ = prepared.model
        self.weights_ = learned.weights
        self.temperature_ = learned.temperature
        self.learned_from_ = learned.source
        self.epochs_ = learned.epochs
        return self

    def _learn(
        self,
        prepared: PreparedRecords,
        truth: NDArray[np.int32] | None,
        labelled: PairLabels | None,
        held: LinkConstraints | None,
        rng: np.random.Generator,
        progress: EpochProgress,
    ) -> Learned:
        if truth is not None:
            asked = Training(self.learner, self.step, self.rate, self.signal, self.n_epochs, self.n_sweeps)
            return learn_from_truth(prepared, truth, held, asked, rng=rng, show=progress.show)
        if labelled is not None:
            return learn_from_pairs(prepared, labelled, rng=rng)
        return learn_unlabelled(prepared, rng=rng)

    # Answers

    def resolve(self, records: Any, *more: Any, links: Any = None) -> Resolution:
        """Group records into entities.

        Parameters
        ----------
        records : dataframe, path, list of dicts
        *more : dataframes
            Further tables, to be linked: each is then taken to be clean, so that no two of its records are the same.
            The result's first column says which table a record is of: ``source`` or, where a table or the model has a
            column of that name, ``source_table``.
        links : dataframe, path or iterable of (id, id, bool), optional
            Pairs that must, or must not, be together.
        """
        self._check_fitted("weights_")
        check_jumps(self.jumps)
        if more:
            tables = [as_frame(one) for one in (records, *more)]
            clean = origin_column([*self.model_.columns, *(name for one in tables for name in one.columns)])
            frame = linked(tables, source=clean)
        else:
            frame, clean = as_frame(records), self.source
        names = record_names(frame, self.id, clean if more else None)
        prepared = self.model_.prepare(self._features(frame, None))
        held = HeldLinks.none(clean).also(links, names)
        rng = as_generator(self.random_state)
        world = prepared.world(constraints=held.over(frame), guide=self.weights_, jumps=self.jumps)
        n_moves, shares = self._effort(prepared.n_records)
        found = search(world, self.weights_, n_moves=n_moves, shares=shares, screen=True, rng=rng)
        answer, samples = found.assignment, None
        if self.n_samples and not found.interrupted:
            samples = self._sampled(self._standing(prepared, world.constraints, found), rng)
            if self.decision == "consensus":
                answer = consensus(samples, [answer]).assignment
        return self._resolution(frame, names, np.asarray(answer, dtype=np.int64), found, prepared, held, samples)

    def predict(self, records: Any) -> NDArray[np.int64]:
        """The entity of each record, as a number; `resolve` says more."""
        return self.resolve(records).assignment

    def update(self, result: Resolution, records: Any, *, links: Any = None) -> Resolution:
        """Add records to what was resolved: entities keep their ids, and only what the new records touch is revisited.

        Parameters
        ----------
        result : Resolution
        records : dataframe, path, list of dicts
            The new records alone. Where tables were linked, the column of the result that names a record's table says
            of which one they are; without it they are of none, and may be the same as any.
        links : optional
            Pairs that must, or must not, be together, by ids of old and new records; those of before still hold.
        """
        self._check_fitted("weights_")
        new = as_frame(records)
        frame = pl.concat([result.records, new], how="diagonal_relaxed")
        table = None if result.held.source == self.source else result.held.source
        names = record_names(frame, self.id, table)
        prepared = result.prepared.extend(self._features(new, None))
        held = result.held.also(links, names)
        rng = as_generator(self.random_state)
        n_before = len(result.ids)
        start = np.concatenate([as_places(result.assignment), np.arange(n_before, prepared.n_records)])
        world = prepared.world(assignment=start, constraints=held.over(frame), guide=self.weights_)
        n_moves, shares = self._effort(new.height)
        found = add_mentions(world, self.weights_, n_before, n_moves=n_moves, shares=shares, rng=rng)
        samples = None
        if self.n_samples and not found.interrupted:
            standing = self._standing(prepared, world.constraints, found)
            if result.samples is None:
                samples = self._sampled(standing, rng)
            else:
                samples = carry_on(standing, self.weights_, result.samples, temperature=self.temperature_, rng=rng)
        assignment = kept_names(result.assignment, np.asarray(found.assignment, dtype=np.int64))
        return self._resolution(frame, names, assignment, found, prepared, held, samples)

    def _effort(self, n_placed: int) -> tuple[int | None, Schedule | None]:
        """How many moves it takes to place so many records, and the share of factors they look at."""
        n_moves = None if self.moves is None else max(1, int(self.moves * n_placed))
        return n_moves, None if self.coarse is None else coarse_to_fine(self.coarse)

    def _standing(self, prepared: PreparedRecords, held: LinkConstraints, found: Found) -> PartitionWorld:
        """The world to sample from: at what was found, with all that was compared on the way."""
        world = prepared.world(
            assignment=found.assignment, constraints=held, guide=self.weights_, share_merge=SHARE_MERGE_OF_SAMPLES
        )
        return world._replace(pairs=found.pairs)

    def _sampled(self, standing: PartitionWorld, rng: np.random.Generator) -> Partitions:
        return sample_partitions(
            standing, self.weights_, n_samples=self.n_samples, temperature=self.temperature_, rng=rng
        )

    def _resolution(
        self,
        frame: pl.DataFrame,
        names: list[Any],
        assignment: NDArray[np.int64],
        found: Found,
        prepared: PreparedRecords,
        held: HeldLinks,
        samples: Partitions | None,
    ) -> Resolution:
        notes = [*prepared.index.report.warnings]
        if self.learned_from_.startswith("no labels"):
            notes.append(f"weights come from {self.learned_from_}")
        return Resolution(
            frame,
            names,
            assignment,
            found.score,
            found.n_moves,
            found.n_factors,
            found.jumps,
            found.interrupted,
            notes,
            prepared,
            self.weights_,
            held,
            samples,
        )

    def evaluate(self, records: Any, entity: str | ArrayLike) -> ClusterScores:
        """Resolve records and compare with the truth; records of unknown truth are resolved too, but not counted."""
        frame = as_frame(records)
        truth = true_entities(frame, entity)
        rest = frame.drop(entity) if isinstance(entity, str) else frame
        return cluster_scores(self.resolve(rest).assignment, truth)

    # Models on disk

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file of plain arrays and a description."""
        self._check_fitted("weights_")
        settings = {name: value for name, value in self.get_params().items() if name not in _PARTS}
        settings["ignore"] = list(self.ignore)
        description = {
            "settings": settings,
            "model": self.model_.to_dict(),
            "temperature": self.temperature_,
            "learned_from": self.learned_from_,
        }
        save_archive(path, "EntityResolver", description, {"weights": self.weights_})

    @classmethod
    def load(cls, path: str | os.PathLike[str], functions: Mapping[str, Any] | None = None) -> "EntityResolver":
        """Read a model that `save` wrote; ``functions`` are the comparators of your own, by name."""
        description, arrays = load_archive(path, "EntityResolver")
        made = cls(**description["settings"])
        made.model_ = RecordModel.from_dict(description["model"], functions)
        made.weights_ = arrays["weights"]
        made.temperature_ = description["temperature"]
        made.learned_from_ = description["learned_from"]
        made.epochs_ = []
        return made

    # What is read of a table

    def _check_settings(self) -> None:
        if self.signal not in _SIGNALS:
            raise ValueError(f"signal is {self.signal!r}; choose one of {', '.join(_SIGNALS)}")
        check_jumps(self.jumps)
        if self.decision not in ("consensus", "best"):
            raise ValueError(f"decision is {self.decision!r}; choose 'consensus' or 'best'")
        if self.n_epochs < 0:
            raise ValueError(f"n_epochs is {self.n_epochs}; give 0 or more")
        if self.n_samples < 0:
            raise ValueError(f"n_samples is {self.n_samples}; give 0 or more")

    def _features(self, frame: pl.DataFrame, entity: str | ArrayLike | None) -> pl.DataFrame:
        """The columns that may be compared."""
        aside = {self.id, self.source, *self.ignore}
        if isinstance(entity, str):
            aside.add(entity)
        for name in self.ignore:
            if name not in frame.columns and not hasattr(self, "weights_"):
                raise ValueError(f"ignore names column {name!r}; the table has {', '.join(frame.columns)}")
        return frame.drop([name for name in frame.columns if name in aside])
