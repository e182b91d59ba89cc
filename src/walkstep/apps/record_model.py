"""What a resolver knows of tables: kinds of columns, comparators, blocking and templates, and how to apply them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from walkstep.data.records import match_columns
from walkstep.features.block_keys import RareTokens, Same, SortedNeighbourhood
from walkstep.features.blocking import BlockIndex, Blocking
from walkstep.features.blocks import Blocks
from walkstep.features.column_kinds import infer_kinds
from walkstep.features.comparators import Comparator
from walkstep.features.default_blocking import default_blocking
from walkstep.features.default_comparators import default_comparators
from walkstep.features.encodings import Encoded, encode
from walkstep.features.minhash import MinHash
from walkstep.model.partition_templates import (
    Affinity,
    Aggregate,
    Distinct,
    GroundedPartition,
    PartitionModel,
    PartitionTemplate,
    Size,
    Spread,
    ground_partition,
)
from walkstep.worlds.adaptive_jumps import adaptive
from walkstep.worlds.jumps import Jumps
from walkstep.worlds.link_constraints import LinkConstraints
from walkstep.worlds.partition import PartitionWorld, partition_world
from walkstep.worlds.partition_proposers import block_guided

_RULES = {rule.__name__: rule for rule in (Same, RareTokens, SortedNeighbourhood, MinHash)}
_TEMPLATES = {template.__name__: template for template in (Affinity, Aggregate, Size, Distinct, Spread)}
_UNUSED = ("key", "constant")


@dataclass(frozen=True)
class RecordModel:
    """How records of one kind of table are compared, blocked and grouped; weights are kept elsewhere."""

    kinds: Mapping[str, str]
    comparators: tuple[Comparator, ...]
    blocking: Blocking
    templates: tuple[PartitionTemplate, ...]

    @classmethod
    def choose(
        cls,
        frame: pl.DataFrame,
        *,
        kinds: Mapping[str, str] | None = None,
        comparators: Sequence[Comparator] | None = None,
        blocking: Blocking | None = None,
        templates: Sequence[PartitionTemplate] | None = None,
        thorough: bool = False,
        of_clusters: bool = True,
    ) -> "RecordModel":
        """Choose what is not given by looking at a table.

        ``thorough`` compares in many ways, for weights from many labels; without ``of_clusters`` only pairs count,
        for weights that do not come from a walk.
        """
        for column in kinds or {}:
            if column not in frame.columns:
                raise ValueError(f"kinds names column {column!r}; the table has {', '.join(frame.columns)}")
        found = {column: str(kind) for column, kind in infer_kinds(frame).items()}
        found |= {column: str(kind) for column, kind in (kinds or {}).items()}
        used = {column: kind for column, kind in found.items() if kind not in _UNUSED}
        if not used and comparators is None:
            told = ", ".join(f"{column} ({kind})" for column, kind in found.items()) or "none"
            raise ValueError(
                f"no column can be compared; the table has {told}. Add a column of names, texts, numbers or dates, "
                "or say what one is with kinds={'column': 'text'}"
            )
        chosen = tuple(default_comparators(used, frame, thorough=thorough) if comparators is None else comparators)
        blocks = default_blocking(used) if blocking is None else blocking
        if templates is None:
            templates = default_templates(chosen, found) if of_clusters else [Affinity()]
        return cls(found, chosen, blocks, tuple(templates))

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        read = [comparator.column for comparator in self.comparators]
        read += list(self.blocking.columns)
        read += [template.column for template in self.templates if isinstance(template, Distinct | Spread)]
        return list(dict.fromkeys(read))

    def prepare(self, frame: pl.DataFrame) -> "PreparedRecords":
        """Encode and block a table."""
        read = match_columns(frame, {column: self.kinds[column] for column in self.columns})
        encoded = encode(read, self.comparators)
        settled = replace(self, comparators=encoded.comparators)
        return PreparedRecords.ground(settled, read, encoded, self.blocking.build(read))

    def to_dict(self) -> dict[str, Any]:
        """The description, as JSON holds it."""
        return {
            "kinds": dict(self.kinds),
            "comparators": [comparator.to_dict() for comparator in self.comparators],
            "blocking": {
                "max_block": self.blocking.max_block,
                "rules": [_described(rule) for rule in self.blocking.rules],
            },
            "templates": [_described(template) for template in self.templates],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], functions: Mapping[str, Any] | None = None) -> "RecordModel":
        """The model that `to_dict` described; ``functions`` are users' own comparators by name."""
        rules = [_made(_RULES, rule) for rule in plain["blocking"]["rules"]]
        return cls(
            plain["kinds"],
            tuple(Comparator.from_dict(one, functions or {}) for one in plain["comparators"]),
            Blocking(rules, plain["blocking"]["max_block"]),
            tuple(_made(_TEMPLATES, one) for one in plain["templates"]),
        )


def _described(one: Any) -> dict[str, Any]:
    """A frozen description by its class and fields."""
    if type(one).__name__ not in _RULES | _TEMPLATES:
        raise ValueError(f"{one!r} cannot be saved; only Walkstep's own rules and templates can")
    return {"type": type(one).__name__, **asdict(one)}


def _made(known: Mapping[str, Any], plain: Mapping[str, Any]) -> Any:
    """The other way round."""
    values = {name: value for name, value in plain.items() if name != "type"}
    if plain["type"] not in known:
        raise ValueError(f"{plain['type']!r} is not known; there are {', '.join(known)}")
    made = known[plain["type"]]
    if made is Same:
        return Same(*values["parts"])
    if made is Affinity:
        alone = values.get("comparators")
        joined = tuple(tuple(names) for names in values["conjunctions"])
        return Affinity(joined, None if alone is None else tuple(alone))
    allowed = {field.name for field in fields(made)}
    return made(**{name: value for name, value in values.items() if name in allowed})


def default_templates(comparators: Sequence[Comparator], kinds: Mapping[str, str]) -> list[PartitionTemplate]:
    """Pairs, and of whole clusters: the mean of the telling comparators, and how many years and the like they hold."""
    chosen: list[PartitionTemplate] = [Affinity()]
    telling = [comparator.name or "" for comparator in comparators if comparator.kind in ("names", "cosine")]
    chosen += [Aggregate(name, "mean", "mention") for name in telling]
    for column, kind in kinds.items():
        if kind in ("number", "date", "category") and any(c.column == column for c in comparators):
            chosen.append(Distinct(column, "share", "mention"))
    return chosen


@dataclass(frozen=True)
class PreparedRecords:
    """A table, encoded, blocked and grounded: all that a world is made of but the weights."""

    model: RecordModel
    frame: pl.DataFrame  # the columns that are read
    encoded: Encoded
    index: BlockIndex
    grounded: GroundedPartition

    @classmethod
    def ground(cls, model: RecordModel, frame: pl.DataFrame, encoded: Encoded, index: BlockIndex) -> "PreparedRecords":
        """Ground the templates on encoded and blocked records."""
        n_levels = encoded.comparisons.n_levels.tolist()
        levels = {c.name or "": n for c, n in zip(encoded.comparators, n_levels, strict=True)}
        named = [template.column for template in model.templates if isinstance(template, Distinct | Spread)]
        columns = {column: value_numbers(frame[column]) for column in named}
        return cls(model, frame, encoded, index, ground_partition(model.templates, levels, columns))

    def extend(self, frame: pl.DataFrame) -> "PreparedRecords":
        """The same with further records after the old ones, at a cost in proportion to the new ones."""
        new = match_columns(frame, {column: self.model.kinds[column] for column in self.model.columns})
        both = pl.concat([self.frame, new], how="vertical_relaxed")
        return self.ground(self.model, both, self.encoded.extend(new), self.index.extend(new))

    def select(self, rows: NDArray[np.integer]) -> "PreparedRecords":
        """Some of the records, encoded as they are here and blocked anew."""
        frame = self.frame[rows.tolist()]
        comparisons = self.encoded.comparisons
        taken = np.ascontiguousarray(comparisons.value_of_record[rows])
        taken.flags.writeable = False
        encoded = replace(self.encoded, comparisons=comparisons._replace(value_of_record=taken))
        return self.ground(self.model, frame, encoded, self.model.blocking.build(frame))

    @property
    def n_records(self) -> int:
        """How many records there are."""
        return self.encoded.n_records

    def world(
        self,
        *,
        truth: NDArray[np.integer] | None = None,
        assignment: NDArray[np.integer] | None = None,
        constraints: LinkConstraints | None = None,
        guide: NDArray[np.float64] | None = None,
        signal: Any = None,
        share_merge: float = 0.05,
        jumps: str = "guided",
    ) -> PartitionWorld:
        """A world over these records; its jumps are of one of `JUMPS`."""
        return partition_world(
            self.grounded.model,
            self.encoded.comparisons,
            truth,
            assignment=assignment,
            n_mentions=self.n_records,
            constraints=constraints,
            signal=signal,
            proposer=record_jumps(jumps, self.index.blocks, self.grounded.model, share_merge=share_merge, guide=guide),
        )


JUMPS = ("guided", "single", "adaptive")
"""Ways to walk through partitions of records."""


def check_jumps(name: str) -> None:
    """An error unless there are such jumps."""
    if name not in JUMPS:
        raise ValueError(f"jumps is {name!r}; choose one of {', '.join(JUMPS)}")


def record_jumps(
    name: str, blocks: Blocks, model: PartitionModel, *, share_merge: float, guide: NDArray[np.float64] | None
) -> Jumps:
    """Single records that go to those of their blocks; with merges and splits; or with all kinds, as they pay."""
    single = block_guided(blocks, share_merge=share_merge if name == "guided" else 0.0, guide=guide)
    return adaptive(single, model, weights=guide) if name == "adaptive" else single


def value_numbers(series: pl.Series) -> NDArray[np.int64]:
    """Each distinct value's number, -1 where it is missing."""
    if isinstance(series.dtype, pl.List):
        series = series.cast(pl.List(pl.String)).list.join("; ")
    ranks = series.rank("dense").cast(pl.Int64).fill_null(0).to_numpy()
    return ranks - 1
