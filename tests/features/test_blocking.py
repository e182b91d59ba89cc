import warnings
from collections import defaultdict
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from walkstep.features.block_keys import Keys, RareTokens, Same, SortedNeighbourhood, Values, normalised
from walkstep.features.blocking import Blocking
from walkstep.features.blocks import Blocks
from walkstep.features.default_blocking import default_blocking
from walkstep.features.lost_pairs import lost_pairs
from walkstep.features.minhash import MinHash

WORDS = st.sampled_from(["ada", "byron", "king", "lovelace", "noël", "Ada", ""])
TEXTS = st.lists(WORDS, max_size=4).map(" ".join)
RECORDS = st.lists(st.fixed_dictionaries({"a": st.none() | TEXTS, "b": st.none() | TEXTS}), min_size=1, max_size=14)


def frame_of(records: list[dict]) -> pl.DataFrame:
    return pl.DataFrame(records, schema={"a": pl.String, "b": pl.String})


def members(blocks: Blocks) -> list[frozenset[int]]:
    return [frozenset(part.tolist()) for part in np.split(blocks.block_members, blocks.block_ptr[1:-1]) if len(part)]


def pairs(blocks: Blocks) -> set[tuple[int, int]]:
    return {pair for block in members(blocks) for pair in combinations(sorted(block), 2)}


def naive_words(text: str | None) -> set[str]:
    return set((text or "").lower().replace("ë", "e").split())


def naive_groups(groups: dict) -> set[frozenset[int]]:
    return {frozenset(group) for group in groups.values() if len(group) > 1}


def naive_same(records: list[dict], *columns: str) -> dict:
    groups = defaultdict(set)
    for i, record in enumerate(records):
        values = [" ".join((record[c] or "").lower().replace("ë", "e").split()) for c in columns]
        if all(values):
            groups[("same", columns, *values)].add(i)
    return groups


def naive_shared_words(records: list[dict], column: str, most: int) -> dict:
    """What RareTokens comes to where every word of a record is among its rarest."""
    groups = defaultdict(set)
    for i, record in enumerate(records):
        for word in naive_words(record[column]):
            groups[("word", column, word)].add(i)
    return {key: group for key, group in groups.items() if len(group) <= most}


def check_consistent(blocks: Blocks, n_records: int) -> None:
    """Both halves say the same, in rising order, with no block twice or too small."""
    found = members(blocks)
    assert len(set(found)) == len(found)
    assert all(len(block) > 1 for block in found)
    assert len(blocks.record_ptr) == n_records + 1
    assert [array.dtype for array in blocks] == [np.int64, np.int32, np.int64, np.int32]
    for part in np.split(blocks.block_members, blocks.block_ptr[1:-1]):
        assert (np.diff(part) > 0).all()
    for i in range(n_records):
        mine = blocks.record_blocks[blocks.record_ptr[i] : blocks.record_ptr[i + 1]].tolist()
        assert mine == [b for b, block in enumerate(found) if i in block]


@given(RECORDS)
def test_blocks_are_the_groups_of_a_dictionary_of_sets(records):
    blocking = Blocking([Same("a"), Same("a", "b"), RareTokens("b", n=9, max_frequency=5)])
    index = blocking.build(frame_of(records))
    groups = {**naive_same(records, "a"), **naive_same(records, "a", "b"), **naive_shared_words(records, "b", 5)}
    assert set(members(index.blocks)) == naive_groups(groups)
    check_consistent(index.blocks, len(records))
    report = index.report
    assert report.n_pairs == sum(len(block) * (len(block) - 1) // 2 for block in members(index.blocks))
    assert report.n_unblocked == len(records) - len({i for block in members(index.blocks) for i in block})


@given(RECORDS, st.integers(1, 3))
def test_each_record_chooses_the_rarest_words_that_others_have(records, n):
    keys, _ = RareTokens("a", n=n).build(Values(frame_of(records)))
    count = {key[2]: len(group) for key, group in naive_shared_words(records, "a", 99).items()}
    for i, record in enumerate(records):
        shared = sorted(count[word] for word in naive_words(record["a"]) if count[word] > 1)
        chosen = [sum(keys.record == i)]
        assert chosen == [min(n, len(shared))]
    mine = defaultdict(set)
    for record, key in zip(*keys, strict=True):
        mine[int(key)].add(int(record))
    # Every group of a chosen word lies within the records that have the word.
    having = [group for group in naive_shared_words(records, "a", 99).values() if len(group) > 1]
    assert all(any(group <= whole for whole in having) for group in mine.values())


EXACT_RULES = [Same("a"), Same("initial:a", "b"), RareTokens("a", n=9), MinHash("b", bands=4, rows=1)]


@given(st.lists(RECORDS, min_size=2, max_size=4))
def test_records_added_later_share_blocks_as_if_they_had_been_there(batches):
    blocking = Blocking(EXACT_RULES)
    index = blocking.build(frame_of(batches[0]))
    for batch in batches[1:]:
        index = index.extend(frame_of(batch))
    together = [record for batch in batches for record in batch]
    at_once = blocking.build(frame_of(together))
    assert pairs(index.blocks) == pairs(at_once.blocks)
    check_consistent(index.blocks, len(together))
    np.testing.assert_array_equal(index.keys.key, at_once.keys.key)
    np.testing.assert_array_equal(index.keys.record, at_once.keys.record)


def test_two_keys_with_one_block_part_when_different_records_come():
    index = Blocking([Same("a"), Same("b")]).build(pl.DataFrame({"a": ["x", "x"], "b": ["y", "y"]}))
    assert members(index.blocks) == [frozenset({0, 1})]
    one_by_one = index.extend(pl.DataFrame({"a": ["x"], "b": ["-"]})).extend(pl.DataFrame({"a": ["-"], "b": ["y"]}))
    at_once = index.extend(pl.DataFrame({"a": ["x", "-"], "b": ["-", "y"]}))
    for grown in (one_by_one, at_once):
        assert set(members(grown.blocks)) == {frozenset({0, 1, 2}), frozenset({0, 1, 3})}
    both = index.extend(pl.DataFrame({"a": ["x"], "b": ["y"]}))
    assert members(both.blocks) == [frozenset({0, 1, 2})]


@given(st.lists(RECORDS, min_size=2, max_size=3), st.integers(2, 6))
def test_blocks_that_were_cut_take_further_records(batches, max_block):
    blocking = Blocking([Same("a"), RareTokens("b", n=2), SortedNeighbourhood("a", window=4)], max_block=max_block)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        index = blocking.build(frame_of(batches[0]))
        assert index.report.largest <= max_block
        for batch in batches[1:]:
            before = pairs(index.blocks)
            n_before = index.report.n_records
            index = index.extend(frame_of(batch))
            check_consistent(index.blocks, index.report.n_records)
            # Nothing happens to old records among themselves.
            assert before == {(i, j) for i, j in pairs(index.blocks) if j < n_before}


@given(RECORDS, st.integers(2, 6))
def test_every_record_of_a_giant_block_keeps_company_within_it(records, max_block):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        index = Blocking([Same("a")], max_block=max_block).build(frame_of(records))
    chains = lost_pairs(index.blocks, naive_entities(records))
    assert chains.unchained == 0.0
    assert index.report.largest <= max_block
    assert pairs(index.blocks) <= {p for g in naive_same(records, "a").values() for p in combinations(sorted(g), 2)}


def naive_entities(records: list[dict]) -> list[str | None]:
    """One entity for each value of column a."""
    group_of = {i: str(key) for key, group in naive_same(records, "a").items() for i in group}
    return [group_of.get(i) for i in range(len(records))]


@given(RECORDS, st.data())
def test_lost_pairs_agree_with_a_list_of_all_pairs(records, data):
    truth = data.draw(st.lists(st.sampled_from(["x", "y", None]), min_size=len(records), max_size=len(records)))
    blocks = Blocking([Same("a"), Same("b")]).build(frame_of(records)).blocks
    true = [(i, j) for i, j in combinations(range(len(records)), 2) if truth[i] is not None and truth[i] == truth[j]]
    together = pairs(blocks)
    found = lost_pairs(blocks, truth)
    assert found.n_pairs == len(true)
    assert found.lost == pytest.approx(sum(pair not in together for pair in true) / max(len(true), 1))
    reach = {i: {i} for i in range(len(records))}
    for _ in records:
        for i, j in true:
            if (i, j) in together:
                joined = reach[i] | reach[j]
                for k in joined:
                    reach[k] = joined
    assert found.unchained == pytest.approx(sum(j not in reach[i] for i, j in true) / max(len(true), 1))


def test_a_sample_of_lost_pairs_is_near_the_share_and_says_so():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.integers(0, 3, 400).astype(str)})
    blocks = Blocking([Same("a")]).build(frame).blocks
    truth = ["one"] * 400
    exact, sampled = lost_pairs(blocks, truth), lost_pairs(blocks, truth, max_pairs=20_000)
    assert not exact.is_sampled
    assert sampled.is_sampled
    assert sampled.lost == pytest.approx(exact.lost, abs=5 * np.sqrt(0.25 / 20_000))
    assert sampled.unchained == exact.unchained


def test_one_block_of_all_records_is_cut_named_and_warned_of():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"country": ["Norway"] * 500, "name": [f"name{k}" for k in rng.integers(0, 100, 500)]})
    blocking = Blocking([Same("country"), Same("soundex:name", "digits:name")], max_block=50)
    with pytest.warns(UserWarning, match=r"Same\('country'\) puts 500 of 500 records in the block of 'norway'"):
        index = blocking.build(frame)
    assert index.report.giants[0].size == 500
    assert index.report.largest <= 50
    assert index.report.n_unblocked == 0
    assert "max_block" in str(index.report)
    assert lost_pairs(index.blocks, frame["name"]).lost == 0.0
    assert lost_pairs(index.blocks, frame["country"]).unchained == 0.0
    later = index.extend(frame.head(10))
    assert later.report.giants[0].size == 510
    assert lost_pairs(later.blocks, pl.concat([frame, frame.head(10)])["name"]).lost == 0.0


def test_one_block_of_equal_records_is_cut_into_windows():
    with pytest.warns(UserWarning, match="'x'"):
        index = Blocking([Same("a")], max_block=10).build(pl.DataFrame({"a": ["x"] * 100}))
    assert index.report.largest == 10
    assert lost_pairs(index.blocks, ["x"] * 100).unchained == 0.0


def test_giant_blocks_of_rare_tokens_are_named_by_the_token():
    frame = pl.DataFrame({"street": [f"{word} street" for word in ["elm", "oak"] * 20] + ["x"] * 50 + ["y"] * 20})
    index = Blocking([RareTokens("street", n=2), Same("street")], max_block=30).build(frame)
    assert [(giant.example, giant.size) for giant in index.report.giants] == [("x", 50), ("x", 50), ("street", 40)]


def test_blocks_outgrown_by_later_records_are_counted():
    index = Blocking([Same("a")], max_block=3).build(pl.DataFrame({"a": ["x"] * 3}))
    index = index.extend(pl.DataFrame({"a": ["x"]}))
    assert (index.report.n_outgrown, index.report.largest) == (1, 4)
    assert "beyond max_block=3" in str(index.report)


def test_the_same_frame_gives_the_same_blocks():
    rng = np.random.default_rng(2)
    names = [" ".join(rng.choice(["ada", "ben", "cleo", "dan", "eve", "finn"], 3)) for _ in range(300)]
    blocking = default_blocking({"a": "name", "b": "text"}, max_block=40)
    first, second = (blocking.build(pl.DataFrame({"a": names, "b": names[::-1]})) for _ in range(2))
    for one, other in zip(first.blocks, second.blocks, strict=True):
        np.testing.assert_array_equal(one, other)
    assert first.report == second.report


def test_windows_join_records_at_most_half_a_window_apart():
    values = np.random.default_rng(3).permutation(60)
    index = Blocking([SortedNeighbourhood("a", window=10)]).build(pl.DataFrame({"a": values}))
    together = pairs(index.blocks)
    for i, j in combinations(range(60), 2):
        if abs(values[i] - values[j]) <= 5:
            assert (i, j) in together
        if abs(values[i] - values[j]) >= 10:
            assert (i, j) not in together
    later = index.extend(pl.DataFrame({"a": [30, -5, 99]}))
    near = {frozenset(values[i] for i in pair if i < 60) for pair in pairs(later.blocks) if 60 in pair}
    assert frozenset([30]) in near


def test_windows_begin_with_the_first_records_that_have_a_value():
    index = Blocking([SortedNeighbourhood("a", window=4)]).build(pl.DataFrame({"a": [None]}, schema={"a": pl.String}))
    assert members(index.extend(pl.DataFrame({"a": ["x", "y"]})).blocks) == [frozenset({1, 2})]


@pytest.mark.parametrize(
    ("part", "left", "right"),
    [
        ("a", "Noël  Coward", "noel coward"),
        ("initial:a", "ada", "Anna"),
        ("prefix:3:a", "van Gogh", "vang"),
        ("soundex:a", "Robert", "Rupert"),
        ("digits:a", "+44 (20) 7946", "44207946"),
        ("last_word:a", "Lovelace, Ada", "A. Lovelace"),
        ("last_word:a", "Martin King, Jr.", "M. King Jr"),
        ("first_initial:a", "Lovelace, Ada", "A. Lovelace"),
        ("year:a", "in May 1995,", "1995-05-01"),
        ("whole:a", "x", "X."),
    ],
)
def test_a_transform_makes_two_values_agree(part, left, right):
    index = Blocking([Same(part)]).build(pl.DataFrame({"a": [left, right, "zzz 1800"]}))
    assert members(index.blocks) == [frozenset({0, 1})]


def test_numbers_dates_and_lists_are_blocked_by():
    frame = pl.DataFrame({"n": [1.0, None, 1.0], "items": [["a b", "c"], ["c", "d"], ["b", "d"]]})
    assert members(Blocking([Same("n")]).build(frame).blocks) == [frozenset({0, 2})]
    by_items = Blocking([RareTokens("items", tokens="items")]).build(frame)
    by_words = Blocking([RareTokens("items")]).build(frame)
    assert set(members(by_items.blocks)) == {frozenset({0, 1}), frozenset({1, 2})}
    assert set(members(by_words.blocks)) == {frozenset({0, 1}), frozenset({1, 2}), frozenset({0, 2})}
    whole = Blocking([Same("n")]).build(pl.DataFrame({"n": [1, 2]})).extend(pl.DataFrame({"n": ["1"]}))
    assert members(whole.blocks) == [frozenset({0, 2})]


def test_no_records_and_no_values_give_no_blocks():
    blocking = Blocking([Same("a"), RareTokens("a"), MinHash("a"), SortedNeighbourhood("a")])
    for texts in ([], [None, "", " - "]):
        index = blocking.build(pl.DataFrame({"a": texts}, schema={"a": pl.String}))
        assert (index.report.n_blocks, index.report.n_unblocked) == (0, len(texts))
        grown = index.extend(pl.DataFrame({"a": ["ada king", "ada king"]}))
        assert members(grown.blocks) == [frozenset({len(texts), len(texts) + 1})]


def test_a_rule_of_the_users_own_need_not_mind_the_order():
    class Parity:
        columns = ("a",)

        def build(self, values):
            return self.extend(values, None, 0)

        def extend(self, values, known, n_before):
            record = np.arange(values.frame.height, dtype=np.int32)[::-1]
            key = (values.frame["a"].to_numpy()[record] % 2).astype(np.uint64)
            return Keys(np.tile(record + n_before, 2), np.tile(key, 2)), None

        def examples(self, values, keys):
            return ["even or odd"] * len(keys.key)

    index = Blocking([Parity()]).build(pl.DataFrame({"a": [1, 2, 3, 4, 5]}))
    assert set(members(index.blocks)) == {frozenset({0, 2, 4}), frozenset({1, 3})}


def test_defaults_fall_back_on_weak_columns_only_where_there_are_no_others():
    assert default_blocking({"n": "number", "c": "category"}).rules == (SortedNeighbourhood("n", 20), Same("c"))
    assert default_blocking({"n": "number", "d": "date"}).rules == (Same("d"),)
    assert default_blocking({"l": "list"}).columns == ("l",)


@given(st.lists(st.text(max_size=12), max_size=8))
def test_normalised_texts_do_not_depend_on_their_neighbours(texts):
    together = normalised(pl.Series(texts, dtype=pl.String)).to_list()
    assert together == [normalised(pl.Series([text])).item() for text in texts]
    assert all("  " not in text and text == text.strip(" ") for text in together)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Blocking([]), "no rules"),
        (lambda: Blocking([Same("a")], max_block=1), "max_block=1"),
        (lambda: Blocking([Same("a"), Same("a")]), r"Same\('a'\) twice"),
        (lambda: Same(), "names no column"),
        (lambda: Same("prefix:surname"), "prefix:3:surname"),
        (lambda: RareTokens("a", n=0), "n=0"),
        (lambda: RareTokens("a", tokens="letters"), "'letters'"),  # pyright: ignore[reportArgumentType]
        (lambda: SortedNeighbourhood("a", window=1), "window=1"),
        (lambda: Blocking([Same("b")]).build(pl.DataFrame({"a": ["x"]})), "names column 'b'"),
        (lambda: default_blocking({"a": "colour"}), "kind 'colour'"),
        (lambda: default_blocking({"a": "key"}), "no column to block by"),
        (lambda: lost_pairs(Blocking([Same("a")]).build(pl.DataFrame({"a": ["x"]})).blocks, ["e", "e"]), "2 records"),
    ],
)
def test_what_is_wrong_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_a_column_that_no_rule_can_read_is_named():
    frame = pl.DataFrame({"v": [[1.0, 2.0]]}, schema={"v": pl.Array(pl.Float64, 2)})
    with pytest.raises(TypeError, match="column 'v' holds Array"):
        Blocking([Same("v")]).build(frame)
