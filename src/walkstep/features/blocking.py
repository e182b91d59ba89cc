"""Blocking: which records are worth comparing, kept as blocks and never as pairs."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from walkstep.features.block_values import Values
from walkstep.features.blocks import NO_BLOCKS, NO_KEYS, Blocks, PlacedKeys, grow, merge, sort_by_key
from walkstep.features.rare_tokens import TokenCounts, rarest_tokens, tokens_of_records
from walkstep.features.record_keys import Keys, Rule, expand, find_sorted
from walkstep.features.sorted_neighbourhood import cut_into_windows, place_in_windows

_N_SUB_TOKENS = 3  # tokens by which each record of a giant block is blocked within it
_N_NAMED = 5  # giant blocks named in a report


class Giant(NamedTuple):
    """A block too large to be kept whole, which was cut up."""

    rule: str
    example: str
    size: int


@dataclass(frozen=True)
class BlockReport:
    """What blocking came to.

    Parameters
    ----------
    n_records, n_blocks, largest : int
        How many there are, and the size of the largest block.
    n_pairs : int
        Pairs of records in the blocks, counted once a block: no fewer than the distinct ones.
    n_unblocked : int
        Records in no block, which can only stay alone.
    n_outgrown : int
        Blocks that further records have made larger than allowed.
    giants : tuple of Giant
        Blocks that were cut up, the largest first.
    max_block : int
        The size allowed.
    """

    n_records: int
    n_blocks: int
    largest: int
    n_pairs: int
    n_unblocked: int
    n_outgrown: int
    giants: tuple[Giant, ...]
    max_block: int

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is wrong with the blocks, each with the way out."""
        said = [
            f"{giant.rule} puts {giant.size} of {self.n_records} records in the block of {giant.example[:60]!r}; it "
            f"was cut by rare tokens and into sorted windows of {self.max_block}, and true pairs may be lost; "
            "add a column to the rule, or raise max_block"
            for giant in self.giants[:_N_NAMED]
        ]
        if len(self.giants) > _N_NAMED:
            said.append(f"{len(self.giants) - _N_NAMED} further blocks of more than {self.max_block} were cut as well")
        if self.n_outgrown:
            said.append(
                f"{self.n_outgrown} blocks have grown beyond max_block={self.max_block} by records added since; "
                "they stay whole until blocks are built from all records"
            )
        return tuple(said)

    def __str__(self) -> str:
        share = self.n_unblocked / max(self.n_records, 1)
        lines = [
            f"{self.n_blocks} blocks of {self.n_records} records; the largest holds {self.largest}",
            f"at most {self.n_pairs} candidate pairs; {self.n_unblocked} records ({share:.1%}) in no block",
        ]
        return "\n".join([*lines, *self.warnings])


class Split(NamedTuple):
    """How one rule's giant blocks were cut, for records to come."""

    giant: NDArray[np.uint64]  # (G,) their keys, rising
    size: NDArray[np.int64]  # (G,)
    example: tuple[str, ...]
    counts: TokenCounts  # of tokens within each
    cells: pl.DataFrame | None  # where their windows begin; None where there are no giants


@dataclass(frozen=True)
class Blocking:
    """A description of blocks: rules that give records keys, and how large a block may be.

    A block of more than ``max_block`` records is not dropped but cut, in two ways at once: by the rarest tokens its
    records share within it, in all columns that the rules name; and into windows of ``max_block`` records that
    overlap by half, sorted by the rule's columns and then the others'.

    Parameters
    ----------
    rules : sequence of rules
        `Same`, `RareTokens`, `MinHash`, `SortedNeighbourhood`, or anything with their three verbs.
    max_block : int
        How large a block may be.

    Examples
    --------
    >>> from walkstep.features.block_keys import Same
    >>> frame = pl.DataFrame({"name": ["Ada Lovelace", "A. Lovelace", "Alan Turing", "A Turing", "Grace Hopper"]})
    >>> index = Blocking([Same("last_word:name", "first_initial:name")]).build(frame)
    >>> sorted(members.tolist() for members in np.split(index.blocks.block_members, index.blocks.block_ptr[1:-1]))
    [[0, 1], [2, 3]]
    >>> print(index.report)
    2 blocks of 5 records; the largest holds 2
    at most 2 candidate pairs; 1 records (20.0%) in no block
    >>> index.extend(pl.DataFrame({"name": ["G. Hopper"]})).report.n_blocks
    3
    """

    rules: Sequence[Rule]
    max_block: int = 1000

    def __post_init__(self) -> None:
        if not self.rules:
            raise ValueError("Blocking has no rules; give at least one, such as Same('postcode')")
        if self.max_block < 2:
            raise ValueError(f"Blocking has max_block={self.max_block}; a block takes at least 2")
        names = [repr(rule) for rule in self.rules]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            raise ValueError(f"Blocking has the rule {twice} twice; give it once")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the rules read."""
        return tuple(dict.fromkeys(column for rule in self.rules for column in rule.columns))

    def build(self, frame: pl.DataFrame) -> "BlockIndex":
        """Block records; record ``i`` is row ``i`` of the frame."""
        values = Values(frame)
        keys, known, splits = Keys(NO_KEYS.record, NO_KEYS.key), [], []
        for rule in self.rules:
            found, remembered = rule.build(values)
            whole, split = self._split(rule, values, _in_order(found))
            keys = _joined(keys, whole) if len(keys.key) else whole
            known.append(remembered)
            splits.append(split)
        index = _indexed(self, frame.height, NO_BLOCKS, NO_KEYS, keys, tuple(known), tuple(splits))
        for giant in index.report.giants[:1]:
            if giant.size > frame.height / 2:
                warnings.warn(index.report.warnings[0], stacklevel=2)
        return index

    def _split(self, rule: Rule, values: Values, keys: Keys) -> tuple[Keys, Split]:
        """The keys of one rule with those of giant blocks replaced by finer ones."""
        start = np.flatnonzero(np.append(True, keys.key[1:] != keys.key[:-1])[: len(keys.key)])
        size = np.diff(np.append(start, len(keys.key)))
        is_giant = size > self.max_block
        if not is_giant.any():
            return keys, Split(keys.key[:0], size[:0], (), TokenCounts.none(), None)
        giants = Keys(keys.record[start[is_giant]], keys.key[start[is_giant]])
        inside = np.repeat(is_giant, size)
        group, record = keys.key[inside], keys.record[inside]
        by_token, counts = self._sub_tokens(values, group, record, TokenCounts.none(), 0)
        windows, cells = cut_into_windows(group, record, self._sort_text(rule, values, record), self.max_block)
        whole = Keys(keys.record[~inside], keys.key[~inside])
        split = Split(giants.key, size[is_giant], tuple(rule.examples(values, giants)), counts, cells)
        return _joined(whole, _in_order(Keys.together([by_token, windows]))), split

    def _extend_split(self, rule: Rule, values: Values, keys: Keys, split: Split, n_before: int) -> tuple[Keys, Split]:
        """The same for further records."""
        at, inside = find_sorted(split.giant, keys.key)
        if split.cells is None or not inside.any():
            return keys, split
        group, record = keys.key[inside], keys.record[inside] - np.int32(n_before)
        by_token, counts = self._sub_tokens(values, group, record, split.counts, n_before)
        windows = place_in_windows(group, keys.record[inside], self._sort_text(rule, values, record), split.cells)
        size = split.size + np.bincount(at[inside], minlength=len(split.size))
        whole = Keys(keys.record[~inside], keys.key[~inside])
        return Keys.together([whole, by_token, windows]), split._replace(size=size, counts=counts)

    def _sub_tokens(
        self, values: Values, group: NDArray[np.uint64], record: NDArray[np.int32], known: TokenCounts, n_before: int
    ) -> tuple[Keys, TokenCounts]:
        """Keys of records by the rarest tokens within their giant blocks."""
        tokens = tokens_of_records(values, self.columns, group, record)
        holder = record + np.int32(n_before)
        one_each = np.ones(len(record), np.int64)
        chosen, counts, revived = rarest_tokens(tokens, one_each, holder, known, _N_SUB_TOKENS, self.max_block)
        place, key = expand(np.arange(len(record), dtype=np.int32), chosen.ptr, chosen.key, 0)
        return Keys.together([revived, Keys(holder[place], key)]), counts

    def _sort_text(self, rule: Rule, values: Values, record: NDArray[np.int32]) -> pl.Series:
        """What the records of a giant block are sorted by: the rule's own columns may still differ within it."""
        texts = []
        for name in dict.fromkeys([*rule.columns, *self.columns]):
            distinct = values.column(name)
            number = distinct.value_of_record[record]
            texts.append(distinct.text.gather(np.maximum(number, 0)).rename(name).set(pl.Series(number < 0), ""))
        return pl.DataFrame(texts).select(pl.concat_str(pl.all(), separator="\t")).to_series()


@dataclass(frozen=True)
class BlockIndex:
    """Blocks, and what it takes to place further records in them.

    Parameters
    ----------
    blocking : Blocking
        The description they were made from.
    blocks : Blocks
        The blocks.
    report : BlockReport
        How many, how large, what is wrong.
    keys : PlacedKeys
        All keys of all records, those of one record alone too.
    known, splits : tuples, one entry a rule
        What each rule remembers, and how its giant blocks were cut.
    """

    blocking: Blocking
    blocks: Blocks
    report: BlockReport
    keys: PlacedKeys
    known: tuple[Any, ...]
    splits: tuple[Split, ...]

    def extend(self, frame: pl.DataFrame) -> "BlockIndex":
        """The index with further records, numbered on from the last; the old ones are not read again.

        Records share a block if they would after `Blocking.build` of all records, but for choices made once: old
        records keep the rare tokens they have chosen, windows stay where they were cut and grow, and a block that
        outgrows ``max_block`` stays whole (the report counts such). Old blocks keep their numbers.
        """
        values, n_before = Values(frame), self.report.n_records
        found, known, splits = [], [], []
        for rule, remembered, split in zip(self.blocking.rules, self.known, self.splits, strict=True):
            more, now_known = rule.extend(values, remembered, n_before)
            more, now_split = self.blocking._extend_split(rule, values, more, split, n_before)
            found.append(more)
            known.append(now_known)
            splits.append(now_split)
        more, n_records = _in_order(Keys.together(found)), n_before + frame.height
        return _indexed(self.blocking, n_records, self.blocks, self.keys, more, tuple(known), tuple(splits))


def _in_order(keys: Keys) -> Keys:
    """Rising by key, then by record, each pair once."""
    record, key = sort_by_key(keys.record, keys.key)
    same = key[1:] == key[:-1]
    if (same & (record[1:] < record[:-1])).any():  # a rule of the user's own that minds no order
        order = np.lexsort((record, key))
        record, key = record[order], key[order]
    again = np.flatnonzero(same & (record[1:] == record[:-1]))
    return Keys(np.delete(record, again), np.delete(key, again)) if len(again) else Keys(record, key)


def _joined(one: Keys, other: Keys) -> Keys:
    """Keys of two kinds, none in common, in one order."""
    record, key, _ = merge(*(PlacedKeys(*keys, np.zeros(len(keys.key), np.int32)) for keys in (one, other)))
    return Keys(record, key)


def _indexed(
    blocking: Blocking,
    n_records: int,
    blocks: Blocks,
    keys: PlacedKeys,
    more: Keys,
    known: tuple[Any, ...],
    splits: tuple[Split, ...],
) -> BlockIndex:
    """Old blocks and keys with more keys put in, and the report on them."""
    *grown, old_block, new_block = grow(blocks, keys, more.record, more.key, n_records)
    blocks = Blocks(*grown)
    keys = PlacedKeys(*merge(PlacedKeys(keys.record, keys.key, old_block), PlacedKeys(*more, new_block)))
    size = np.diff(blocks.block_ptr)
    giants = [
        Giant(repr(rule), example, int(n))
        for rule, split in zip(blocking.rules, splits, strict=True)
        for example, n in zip(split.example, split.size, strict=True)
    ]
    report = BlockReport(
        n_records=n_records,
        n_blocks=len(size),
        largest=int(size.max(initial=0)),
        n_pairs=int((size * (size - 1) // 2).sum()),
        n_unblocked=int((np.diff(blocks.record_ptr) == 0).sum()),
        n_outgrown=int((size > blocking.max_block).sum()),
        giants=tuple(sorted(giants, key=lambda giant: -giant.size)),
        max_block=blocking.max_block,
    )
    return BlockIndex(blocking, blocks, report, keys, known, splits)
