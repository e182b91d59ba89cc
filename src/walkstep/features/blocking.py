"""Blocking: which records are worth comparing, kept as blocks and never as pairs."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from walkstep.compiled import compiled
from walkstep.features._kernels.hashing import SEED, distinct_keys, finish, step
from walkstep.features.block_keys import (
    Keys,
    RareTokens,
    Rule,
    Same,
    SortedNeighbourhood,
    TokenCounts,
    Values,
    cut_into_windows,
    expand,
    find_sorted,
    place_in_windows,
    rarest_tokens,
    tokens_of_records,
)
from walkstep.features.minhash import MinHash

_N_SUB_TOKENS = 3  # tokens by which each record of a giant block is blocked within it
_N_NAMED = 5  # giant blocks named in a report
_PAIRS_CHECKED = 20_000_000  # true pairs looked at one by one before a sample has to do


class Blocks(NamedTuple):
    """B distinct blocks of at least two of N records; members of a block and blocks of a record are rising.

    Block ``b`` holds ``block_members[block_ptr[b]:block_ptr[b + 1]]``; record ``i`` lies in
    ``record_blocks[record_ptr[i]:record_ptr[i + 1]]``.
    """

    block_ptr: NDArray[np.int64]  # (B + 1,)
    block_members: NDArray[np.int32]
    record_ptr: NDArray[np.int64]  # (N + 1,)
    record_blocks: NDArray[np.int32]


class PlacedKeys(NamedTuple):
    """Pairs of a record and a key, rising by key, then by record; and the block that holds all records of the key."""

    record: NDArray[np.int32]
    key: NDArray[np.uint64]
    block: NDArray[np.int32]  # -1 where a record is alone with its key


_NO_BLOCKS = Blocks(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.int32))
_NO_KEYS = PlacedKeys(np.zeros(0, np.int32), np.zeros(0, np.uint64), np.zeros(0, np.int32))


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
        keys, known, splits = Keys(_NO_KEYS.record, _NO_KEYS.key), [], []
        for rule in self.rules:
            found, remembered = rule.build(values)
            whole, split = self._split(rule, values, _in_order(found))
            keys = _joined(keys, whole) if len(keys.key) else whole
            known.append(remembered)
            splits.append(split)
        index = _indexed(self, frame.height, _NO_BLOCKS, _NO_KEYS, keys, tuple(known), tuple(splits))
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


def default_blocking(kinds: Mapping[str, str], *, max_block: int = 1000) -> Blocking:
    """Rules for columns of which only the kinds are known, meant to lose next to no true pair.

    Parameters
    ----------
    kinds : mapping of column to kind
        ``name`` (of a person), ``text``, ``identifier``, ``number``, ``date``, ``category``, ``list``; columns of kind
        ``vector``, ``constant`` and ``key`` are not blocked by.
    max_block : int
        As in `Blocking`.

    Examples
    --------
    >>> default_blocking({"id": "key", "phone": "identifier", "state": "category"}).rules
    (Same('phone'),)
    """
    rules: list[Rule] = []
    for column, kind in kinds.items():
        match kind:
            case "text":
                rules += [RareTokens(column, n=4), MinHash(column)]
            case "name":
                rules += [RareTokens(column, n=4), Same(f"last_word:{column}", f"first_initial:{column}")]
            case "list":
                rules += [RareTokens(column), RareTokens(column, tokens="items")]
            case "identifier" | "date":
                rules.append(Same(column))
            case "number" | "category" | "vector" | "constant" | "key":
                pass
            case _:
                raise ValueError(
                    f"column {column!r} has kind {kind!r}; choose among name, text, identifier, number, date, "
                    "category, list, vector, constant, key"
                )
    if not rules:  # weak columns serve where there is nothing better
        rules += [SortedNeighbourhood(column, 20) for column, kind in kinds.items() if kind == "number"]
        rules += [Same(column) for column, kind in kinds.items() if kind == "category"]
    if not rules:
        raise ValueError(f"no column to block by among {dict(kinds)}; give a Blocking with rules of your own")
    return Blocking(tuple(rules), max_block=max_block)


class LostPairs(NamedTuple):
    """True pairs that blocks keep apart.

    Parameters
    ----------
    n_pairs : int
        Pairs of records of one entity.
    lost : float
        Share of them that have no block in common.
    unchained : float
        Share of them that cannot even be joined step by step through records of the same entity that share
        blocks: no walk over these blocks can bring them together rightly.
    is_sampled : bool
        Whether ``lost`` comes from a sample of the pairs.
    """

    n_pairs: int
    lost: float
    unchained: float
    is_sampled: bool


def lost_pairs(
    blocks: Blocks, truth: Sequence[Any] | ArrayLike | pl.Series, *, max_pairs: int = _PAIRS_CHECKED, seed: int = 0
) -> LostPairs:
    """How many true pairs the blocks lose.

    Parameters
    ----------
    blocks : Blocks
        Of N records.
    truth : sequence (N,)
        The entity of each record, None where it is unknown.
    max_pairs : int
        Where there are more true pairs than this, so many are drawn, uniformly.
    seed : int
        Of the draw.

    Examples
    --------
    >>> frame = pl.DataFrame({"a": ["x", "x", None], "b": [None, "y", "y"]})
    >>> lost_pairs(Blocking([Same("a"), Same("b")]).build(frame).blocks, ["e", "e", "e"])
    LostPairs(n_pairs=3, lost=0.3333333333333333, unchained=0.0, is_sampled=False)
    """
    names = truth if isinstance(truth, pl.Series) else pl.Series(list(np.asarray(truth, object)), strict=False)
    n_records = len(blocks.record_ptr) - 1
    if len(names) != n_records:
        raise ValueError(f"truth names the entities of {len(names)} records but the blocks hold {n_records}")
    number = names.rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1
    order = np.argsort(number, kind="stable")
    order = order[np.searchsorted(number[order], 0) :]
    ptr = np.concatenate([[0], np.cumsum(np.bincount(number[order], minlength=1))]).astype(np.int64)
    pairs = np.diff(ptr) * (np.diff(ptr) - 1) // 2
    n_pairs = int(pairs.sum())
    if not n_pairs:
        return LostPairs(0, 0.0, 0.0, False)
    component = _chains(blocks.block_ptr, blocks.block_members, number, len(ptr) - 1)
    chained = np.bincount(component[order], minlength=n_records)
    unchained = n_pairs - int((chained * (chained - 1) // 2).sum())
    is_sampled = n_pairs > max_pairs
    if is_sampled:
        rng = np.random.default_rng(seed)
        drawn = rng.choice(len(pairs), max_pairs, p=pairs / n_pairs)
        first = rng.integers(0, ptr[drawn + 1] - ptr[drawn])
        second = rng.integers(0, ptr[drawn + 1] - ptr[drawn] - 1)
        second += second >= first
        n_apart = _count_apart(blocks, order[ptr[drawn] + first], order[ptr[drawn] + second])
        return LostPairs(n_pairs, n_apart / max_pairs, unchained / n_pairs, True)
    n_apart = _count_all_apart(blocks, order, ptr)
    return LostPairs(n_pairs, n_apart / n_pairs, unchained / n_pairs, False)


def _in_order(keys: Keys) -> Keys:
    """Rising by key, then by record, each pair once."""
    record, key = _sort_by_key(keys.record, keys.key)
    same = key[1:] == key[:-1]
    if (same & (record[1:] < record[:-1])).any():  # a rule of the user's own that minds no order
        order = np.lexsort((record, key))
        record, key = record[order], key[order]
    again = np.flatnonzero(same & (record[1:] == record[:-1]))
    return Keys(np.delete(record, again), np.delete(key, again)) if len(again) else Keys(record, key)


def _joined(one: Keys, other: Keys) -> Keys:
    """Keys of two kinds, none in common, in one order."""
    record, key, _ = _merge(*(PlacedKeys(*keys, np.zeros(len(keys.key), np.int32)) for keys in (one, other)))
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
    *grown, old_block, new_block = _grow(blocks, keys, more.record, more.key, n_records)
    blocks = Blocks(*grown)
    keys = PlacedKeys(*_merge(PlacedKeys(keys.record, keys.key, old_block), PlacedKeys(*more, new_block)))
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


@compiled
def _sort_by_key(record, key):
    """Pairs by rising key, equal keys in the order they came.

    Keys are hashes, so their first bits spread them evenly over buckets of a few pairs; only what shares a bucket
    with a large block needs a sort proper.
    """
    n_bits = 1
    while n_bits < 24 and (8 << n_bits) < key.size:
        n_bits += 1
    shift = np.uint64(64 - n_bits)
    place = np.zeros((1 << n_bits) + 1, np.int64)
    for k in range(key.size):
        place[np.int64(key[k] >> shift) + 1] += 1
    for b in range(place.size - 1):
        place[b + 1] += place[b]
    start = place.copy()
    records, keys = np.empty_like(record), np.empty_like(key)
    for k in range(key.size):
        b = np.int64(key[k] >> shift)
        records[place[b]], keys[place[b]] = record[k], key[k]
        place[b] += 1
    for b in range(start.size - 1):
        first, last = start[b], start[b + 1]
        if last - first > 64:
            order = np.argsort(keys[first:last], kind="mergesort")
            records[first:last] = records[first:last][order]
            keys[first:last] = keys[first:last][order]
            continue
        for k in range(first + 1, last):
            r, x, at = records[k], keys[k], k
            while at > first and keys[at - 1] > x:
                records[at], keys[at] = records[at - 1], keys[at - 1]
                at -= 1
            records[at], keys[at] = r, x
    return records, keys


@compiled
def _merge(old, new):
    """Both, rising by key, where the new records of a key follow its old ones."""
    n = old.key.size + new.key.size
    record, key, block = np.empty(n, np.int32), np.empty(n, np.uint64), np.empty(n, np.int32)
    i = 0
    for j in range(new.key.size + 1):
        while i < old.key.size and (j == new.key.size or old.key[i] <= new.key[j]):
            record[i + j], key[i + j], block[i + j] = old.record[i], old.key[i], old.block[i]
            i += 1
        if j < new.key.size:
            record[i + j], key[i + j], block[i + j] = new.record[j], new.key[j], new.block[j]
    return record, key, block


@compiled(inline=True)
def _end_of_key(key, k):
    """Where the pairs that have the key of pair ``k`` end."""
    end = k + 1
    while end < key.size and key[end] == key[k]:
        end += 1
    return end


@compiled(inline=True)
def _first_with(key, wanted):
    """The first pair with this key, or where it would stand."""
    low, high = 0, key.size
    while low < high:
        middle = (low + high) // 2
        if key[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _grow(blocks, old, record, key, n_records):
    """Old blocks with further records in them, and new blocks after them.

    A key's records go into the block that holds just its old ones, if there is one. Two keys with the same old
    records have one block; it grows by the first that comes with new ones, and the other gets a block of its own
    when it comes with different ones.

    Returns
    -------
    block_ptr, block_members, record_ptr, record_blocks : arrays
        The blocks.
    old_block, new_block : int32 arrays
        The block of each old pair and of each new one.
    """
    n_old_blocks = blocks.block_ptr.size - 1
    old_block = old.block.copy()
    new_block = np.full(record.size, -1, np.int32)
    grown_from = np.full(n_old_blocks, -1, np.int64)  # the new pairs by which each block grows
    grown_to = np.full(n_old_blocks, -1, np.int64)
    n_groups = 0
    k = 0
    while k < key.size:
        end = _end_of_key(key, k)
        n_groups += end - k > 1 or old.key.size > 0
        k = end
    # Groups that become new blocks: their old and new pairs, and a key made of their records.
    low, high = np.empty(n_groups, np.int64), np.empty(n_groups, np.int64)
    start, stop = np.empty(n_groups, np.int64), np.empty(n_groups, np.int64)
    content = np.empty(n_groups, np.uint64)
    n_groups = 0
    k = 0
    while k < key.size:
        end = _end_of_key(key, k)
        first = _first_with(old.key, key[k])
        last = first
        if first < old.key.size and old.key[first] == key[k]:
            last = _end_of_key(old.key, first)
        b = old_block[first] if last > first else -1
        is_own = b >= 0 and blocks.block_ptr[b + 1] - blocks.block_ptr[b] == last - first
        if is_own and grown_from[b] >= 0:
            other = grown_from[b]
            is_own = grown_to[b] - other == end - k
            for m in range(end - k):
                is_own = is_own and record[other + m] == record[k + m]
        if is_own:
            if grown_from[b] < 0:
                grown_from[b], grown_to[b] = k, end
            new_block[k:end] = b
        elif last - first + end - k > 1:
            state = SEED
            for m in range(first, last):
                state = step(state, np.uint64(old.record[m]))
            for m in range(k, end):
                state = step(state, np.uint64(record[m]))
            low[n_groups], high[n_groups], start[n_groups], stop[n_groups] = first, last, k, end
            content[n_groups] = finish(state)
            n_groups += 1
        k = end
    number, kept = distinct_keys(content[:n_groups])
    for g in range(n_groups):
        old_block[low[g] : high[g]] = n_old_blocks + number[g]
        new_block[start[g] : stop[g]] = n_old_blocks + number[g]
    # The members of every block, and how many blocks each record is in.
    block_ptr = np.zeros(n_old_blocks + kept.size + 1, np.int64)
    for b in range(n_old_blocks):
        n_members = blocks.block_ptr[b + 1] - blocks.block_ptr[b] + grown_to[b] - grown_from[b]
        block_ptr[b + 1] = block_ptr[b] + n_members
    for n in range(kept.size):
        g = kept[n]
        n_members = high[g] - low[g] + stop[g] - start[g]
        block_ptr[n_old_blocks + n + 1] = block_ptr[n_old_blocks + n] + n_members
    block_members = np.empty(block_ptr[-1], np.int32)
    record_ptr = np.zeros(n_records + 1, np.int64)
    n_old_records = blocks.record_ptr.size - 1
    for r in range(n_old_records):
        record_ptr[r + 1] = blocks.record_ptr[r + 1] - blocks.record_ptr[r]
    for b in range(block_ptr.size - 1):
        at = block_ptr[b]
        if b < n_old_blocks:
            for m in range(blocks.block_ptr[b], blocks.block_ptr[b + 1]):
                block_members[at] = blocks.block_members[m]
                at += 1
            first, last = grown_from[b], grown_to[b]
        else:
            g = kept[b - n_old_blocks]
            for m in range(low[g], high[g]):
                block_members[at] = old.record[m]
                record_ptr[old.record[m] + 1] += 1
                at += 1
            first, last = start[g], stop[g]
        for m in range(first, last):
            block_members[at] = record[m]
            record_ptr[record[m] + 1] += 1
            at += 1
    # The blocks of every record: the old ones, then those it has come into, in order of number. Until a record has
    # all of them, record_ptr holds where its next one goes instead of where its last one ends.
    n_entries = 0
    for r in range(n_records):
        n_blocks = record_ptr[r + 1]
        record_ptr[r + 1] = n_entries
        n_entries += n_blocks
    record_blocks = np.empty(n_entries, np.int32)
    for r in range(n_old_records):
        at = record_ptr[r + 1]
        for m in range(blocks.record_ptr[r], blocks.record_ptr[r + 1]):
            record_blocks[at] = blocks.record_blocks[m]
            at += 1
        record_ptr[r + 1] = at
    for b in range(block_ptr.size - 1):
        n_before = blocks.block_ptr[b + 1] - blocks.block_ptr[b] if b < n_old_blocks else 0
        for m in range(block_ptr[b] + n_before, block_ptr[b + 1]):
            r = block_members[m]
            record_blocks[record_ptr[r + 1]] = b
            record_ptr[r + 1] += 1
    return block_ptr, block_members, record_ptr, record_blocks, old_block, new_block


@compiled(inline=True)
def _root(parent, r):
    """The record that stands for all those joined with ``r``; the way there is shortened."""
    while parent[r] != r:
        parent[r] = parent[parent[r]]
        r = parent[r]
    return r


@compiled
def _chains(block_ptr, block_members, entity, n_entities):
    """The component of each record, where records of one entity and one block are joined."""
    parent = np.arange(entity.size)
    last = np.full(n_entities, -1, np.int64)
    for b in range(block_ptr.size - 1):
        for k in range(block_ptr[b], block_ptr[b + 1]):
            r = block_members[k]
            e = entity[r]
            if e >= 0:
                if last[e] >= 0:
                    parent[_root(parent, r)] = _root(parent, last[e])
                last[e] = r
        for k in range(block_ptr[b], block_ptr[b + 1]):
            if entity[block_members[k]] >= 0:
                last[entity[block_members[k]]] = -1
    for r in range(entity.size):
        parent[r] = _root(parent, r)
    return parent


@compiled(inline=True)
def _is_apart(blocks, i, j):
    """Whether two records share no block."""
    a, b = blocks.record_ptr[i], blocks.record_ptr[j]
    while a < blocks.record_ptr[i + 1] and b < blocks.record_ptr[j + 1]:
        if blocks.record_blocks[a] == blocks.record_blocks[b]:
            return False
        if blocks.record_blocks[a] < blocks.record_blocks[b]:
            a += 1
        else:
            b += 1
    return True


@compiled
def _count_apart(blocks, first, second):
    """How many of the pairs share no block."""
    n = 0
    for k in range(first.size):
        n += _is_apart(blocks, first[k], second[k])
    return n


@compiled
def _count_all_apart(blocks, order, ptr):
    """How many pairs of records of one entity share no block."""
    n = 0
    for e in range(ptr.size - 1):
        for a in range(ptr[e], ptr[e + 1]):
            for b in range(a + 1, ptr[e + 1]):
                n += _is_apart(blocks, order[a], order[b])
    return n
