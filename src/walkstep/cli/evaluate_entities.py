"""How well a resolver does on records with known entities, and what its blocks alone would lose."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from walkstep.apps.entity_resolver import EntityResolver
from walkstep.cli.resolver_settings import named, read_records
from walkstep.data.records import truth_codes
from walkstep.evaluation.clusters import ClusterScores, cluster_scores
from walkstep.features.lost_pairs import LostPairs, lost_pairs


@dataclass(frozen=True)
class EntityScores:
    """Agreement with the truth, and the true pairs that never share a block."""

    scores: ClusterScores
    lost: LostPairs

    def table(self) -> str:
        """All figures as plain text."""
        lost = self.lost
        return (
            f"{self.scores.table()}\n"
            f"blocks keep {lost.lost:.2%} of {lost.n_pairs:,} true pairs apart, {lost.unchained:.2%} for good"
        )

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values, for JSON."""
        return {**self.scores.to_dict(), "blocking": self.lost._asdict()}


def evaluate_entities(model: Path, data: Path, truth: str, encoding: str = "utf-8") -> EntityScores:
    """Resolve the records of a file and compare with a column of it; records of unknown truth are not counted."""
    resolver = EntityResolver.load(model)
    frame = read_records(data, encoding)
    with named(data), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of giant blocks: what they cost is in the figures
        codes = truth_codes(frame, truth)
        result = resolver.resolve(frame.drop(truth))
    if result.interrupted:
        raise KeyboardInterrupt  # half a search says nothing of how good the model is
    known = [None if code < 0 else int(code) for code in codes]
    return EntityScores(cluster_scores(result.assignment, codes), lost_pairs(result.prepared.index.blocks, known))
