"""What resolving gives: the entities, how sure each one is, the pairs behind them, and why."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from walkstep.apps.jump_report import jump_table
from walkstep.apps.record_model import PreparedRecords
from walkstep.apps.record_tables import HeldLinks
from walkstep.inference.explanation import Explanation, explain
from walkstep.inference.jump_learning import JumpTally
from walkstep.inference.pair_posterior import Partitions, entity_confidence, pair_probabilities


@dataclass(frozen=True)
class Resolution:
    """Records grouped into entities.

    Attributes
    ----------
    records : DataFrame
        As they were given.
    ids : list
        What each record is called: its id, or its number from 0.
    assignment : int array (n_records,)
        The entity of each record, as the number in ``entity``; kept when records are added.
    score : float
        Of the partition under the model.
    n_moves, n_factors : int
        What the walk has done.
    jumps : DataFrame
        Of adaptive jumps, what became of each kind: the share that was learned, how many were tried and taken, what
        they gained in score, and the factors they touched; without rows where jumps are not adaptive.
    interrupted : bool
        Whether Ctrl-C ended it early; this is then the best partition until then.
    notes : list of str
        What was noticed: giant blocks, records in no block, weights that come from no labels.
    """

    records: pl.DataFrame
    ids: list[Any]
    assignment: NDArray[np.int64]
    score: float
    n_moves: int
    n_factors: int
    tallies: tuple[JumpTally, ...] = field(repr=False)
    interrupted: bool
    notes: list[str]
    prepared: PreparedRecords = field(repr=False)
    weights: NDArray[np.float64] = field(repr=False)
    held: HeldLinks = field(repr=False)
    samples: Partitions | None = field(repr=False)

    @property
    def n_entities(self) -> int:
        """How many entities there are."""
        return len(np.unique(self.assignment))

    @cached_property
    def jumps(self) -> pl.DataFrame:
        """What became of each kind of jump."""
        return jump_table(self.tallies)

    @cached_property
    def entities(self) -> pl.DataFrame:
        """The records with their entity and how sure that is.

        ``confidence`` is the share of the entity's other records that this one is with in a partition drawn from the
        posterior, on average; for a record that is alone, the probability that it is.
        """
        columns: list[pl.Series] = [pl.Series("entity", self.assignment)]
        if self.samples is not None:
            columns.append(pl.Series("confidence", entity_confidence(self.samples, self.assignment).of_mention))
        taken = [series.name for series in columns if series.name in self.records.columns]
        renamed = self.records.rename({name: f"{name}_given" for name in taken})
        return renamed.with_columns(columns)

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """Posterior probability that two records are the same, for pairs of one percent and more."""
        if self.samples is None:
            raise ValueError("no samples were drawn, so there are no probabilities; resolve with n_samples=100")
        found = pair_probabilities(self.samples)
        ids = pl.Series("id", self.ids)
        return pl.DataFrame(
            {
                "left": ids.gather(found.left),
                "right": ids.gather(found.right),
                "probability": found.probability,
                "together": self.assignment[found.left] == self.assignment[found.right],
            }
        ).sort("probability", descending=True, maintain_order=True)

    def explain(self, left: Any, right: Any) -> Explanation:
        """Which factors pull two records together, which push them apart, and by how much.

        Parameters
        ----------
        left, right
            Two records by their ids.
        """
        first, second = self._place(left), self._place(right)
        world = self.prepared.world(assignment=self.assignment, constraints=self.held.over(self.records))
        return explain(
            world, self.weights, self.prepared.grounded.layout, self.prepared.encoded.comparators, first, second
        )

    def _place(self, name: Any) -> int:
        try:
            return self._places[name]
        except (KeyError, TypeError):
            shown = ", ".join(repr(one) for one in self.ids[:3])
            raise ValueError(f"there is no record {name!r}; ids are such as {shown}") from None

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {name: place for place, name in enumerate(self.ids)}

    def __repr__(self) -> str:
        return f"Resolution({len(self.ids)} records, {self.n_entities} entities)"
