"""The demo's last job: citations of invented papers, and which of them cite the same paper."""

from dataclasses import dataclass

import polars as pl

from walkstep.apps.entity_resolver import EntityResolver
from walkstep.apps.resolution import Resolution
from walkstep.data.bibliography import generate_bibliography
from walkstep.evaluation.clusters import ClusterScores, cluster_scores
from walkstep.inference.explanation import Explanation

N_PAPERS = 40
_N_ENTITIES, _N_PAIRS = 6, 4


@dataclass(frozen=True)
class UncertainPair:
    """Two citations of which it is not clear whether they cite the same paper, and what speaks for and against."""

    left: dict[str, object]
    right: dict[str, object]
    probability: float
    is_same: bool  # by the truth
    explanation: Explanation


@dataclass(frozen=True)
class EntitiesResult:
    """An unseen bibliography as it was resolved."""

    n_train: int
    result: Resolution
    scores: ClusterScores
    shown: list[tuple[float, pl.DataFrame]]  # some entities and how sure they are, the least sure first
    uncertain: list[UncertainPair]


def resolve_bibliography(seed: int) -> EntitiesResult:
    """Learn from one bibliography whose papers are known, and resolve another one."""
    train = generate_bibliography(N_PAPERS, 2 * seed)
    test = generate_bibliography(N_PAPERS, 2 * seed + 1)
    resolver = EntityResolver(id="id", n_samples=50, random_state=seed).fit(train, entity="entity")
    result = resolver.resolve(test.drop("entity"))
    scores = cluster_scores(result.assignment, test["entity"])
    return EntitiesResult(train.height, result, scores, _entities(result), _uncertain(result, test))


def _entities(result: Resolution) -> list[tuple[float, pl.DataFrame]]:
    """Entities of several records, the least sure first, each with its mean confidence."""
    several = result.entities.filter(pl.len().over("entity") > 1)
    parts = several.sort("entity").partition_by("entity", maintain_order=True)
    sure = sorted(((float(part["confidence"].sum() / part.height), part) for part in parts), key=lambda one: one[0])
    return sure[:_N_ENTITIES]


def _uncertain(result: Resolution, test: pl.DataFrame) -> list[UncertainPair]:
    """The pairs nearest to an even chance, one of each entity."""
    unclear = result.pairs.filter(pl.col("probability").is_between(0.05, 0.95))
    near = unclear.sort((pl.col("probability") - 0.5).abs(), maintain_order=True)
    entity_of = dict(zip(result.ids, result.assignment.tolist(), strict=True))
    records = {row["id"]: row for row in test.iter_rows(named=True)}
    found: list[UncertainPair] = []
    seen: set[int] = set()
    for left, right, probability in near.select("left", "right", "probability").iter_rows():
        here = {entity_of[left], entity_of[right]}
        if here & seen:
            continue
        seen |= here
        one, two = records[left], records[right]
        is_same = one["entity"] == two["entity"]
        found.append(UncertainPair(one, two, probability, is_same, result.explain(left, right)))
        if len(found) == _N_PAIRS:
            break
    return found
