from itertools import combinations

import numpy as np
import polars as pl
import pytest

from walkstep.apps.entity_resolver import EntityResolver
from walkstep.data.catalogue import DataNotFound, find
from walkstep.data.records import as_frame
from walkstep.evaluation.calibration import expected_calibration_error
from walkstep.reproduce.cora import N_FOLDS, folds_by_entity

pytestmark = [pytest.mark.slow, pytest.mark.real_data, pytest.mark.xdist_group("partition")]


def pairs_of_fold(records, fold, k):
    """Pairs of records that were not learned from: how probable they are, and whether they are the same.

    First those that the answer lists, of one percent and more; then those with all others that share a block or are
    truly the same, as 0.
    """
    train, test = records.filter(pl.Series(fold != k)), records.filter(pl.Series(fold == k))
    resolver = EntityResolver(id="id", random_state=0).fit(train, entity="entity")
    listed = resolver.resolve(test.drop("entity")).pairs
    ids, entity = test["id"].to_list(), dict(zip(test["id"], test["entity"], strict=True))
    probable = {frozenset(pair): p for *pair, p in listed.select("left", "right", "probability").iter_rows()}
    blocks = resolver.model_.blocking.build(test).blocks
    every = dict.fromkeys(probable)
    for first, last in zip(blocks.block_ptr[:-1], blocks.block_ptr[1:], strict=True):
        members = [ids[m] for m in blocks.block_members[first:last]]
        every |= dict.fromkeys(frozenset(pair) for pair in combinations(members, 2))
    every |= dict.fromkeys(frozenset(pair) for pair in combinations(ids, 2) if entity[pair[0]] == entity[pair[1]])

    def told(pairs):
        same = [len({entity[name] for name in pair}) == 1 for pair in pairs]
        return np.array([probable.get(pair, 0.0) for pair in pairs]), np.array(same)

    return told(probable), told(every)


def test_pair_probabilities_on_cora_come_true(record_property):
    try:
        records = as_frame(find("cora") / "cora1295.jsonl")
    except DataNotFound as absent:
        pytest.skip(str(absent))
    fold = folds_by_entity(records["entity"], 0)
    found = [pairs_of_fold(records, fold, k) for k in range(N_FOLDS)]
    for what, parts in zip(("listed", "blocked"), zip(*found, strict=True), strict=True):
        probability, same = (np.concatenate(part) for part in zip(*parts, strict=True))
        error = expected_calibration_error(probability, same)
        record_property(f"calibration error of {len(same):,} {what} pairs", error)
        assert error <= 0.05, f"of {len(same):,} {what} pairs"
