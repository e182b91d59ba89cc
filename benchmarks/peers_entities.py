"""dedupe and Splink, each set up as its own documentation says, on the records that Walkstep is given.

Records come as tables (one to find duplicates in, or two clean ones to link), each a list of plain dictionaries.
A record's number is its place in the tables put one after the other; the answer is an entity for every number.
"""

import re
import resource
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

Table = list[dict[str, Any]]
THRESHOLD_DEDUPE = 0.5  # the default of `partition` and `join`
THRESHOLD_SPLINK = 0.95  # what Splink's tutorial clusters at
_STATUS = Path("/proc/self/status")


@contextmanager
def costs() -> Iterator[dict[str, float]]:
    """Seconds of a block by the wall and of CPU, and the peak memory of the process until its end, in bytes."""
    found: dict[str, float] = {}
    wall, cpu = time.perf_counter(), time.process_time()
    yield found
    found["wall"], found["cpu"] = time.perf_counter() - wall, time.process_time() - cpu
    found["peak"] = _peak_memory()


def dedupe_entities(tables: list[Table], fields: list[str], pairs: list[list[int]], is_plain: bool) -> dict[str, Any]:
    """Resolve by dedupe, learning from labelled pairs.

    Parameters
    ----------
    tables : list of one or two tables
    fields : list of str
        Columns to compare, each as a string; those with gaps are said to have them.
    pairs : list of [number, number, same]
        Labelled pairs.
    is_plain : bool
        Whether its classifier is replaced, as its documentation allows, by plain logistic regression; as it comes,
        it searches for a regularisation by F1 on the labelled pairs.
    """
    import dedupe
    from dedupe.variables import String
    from sklearn.linear_model import LogisticRegression

    known = [{field: cleaned(row.get(field)) for field in fields} for table in tables for row in table]
    variables = [String(field, has_missing=any(row[field] is None for row in known)) for field in fields]
    places = np.split(np.arange(len(known)), np.cumsum([len(table) for table in tables])[:-1])
    data = [{int(k): known[k] for k in part} for part in places]
    labelled: dict[str, list] = {"match": [], "distinct": []}
    for a, b, same in pairs:
        labelled["match" if same else "distinct"].append((known[a], known[b]))

    _restore_ranking()
    with costs() as found:
        matcher = (dedupe.Dedupe if len(data) == 1 else dedupe.RecordLink)(variables, num_cores=0)
        if is_plain:
            matcher.classifier = LogisticRegression(max_iter=1000)
        else:
            matcher.classifier.n_jobs = 1  # one thread, like everyone here
        matcher.mark_pairs(labelled)  # before the learner is made, so that it indexes these records too
        matcher.prepare_training(*data)
        matcher.train()
        if len(data) == 1:
            groups = [ids for ids, _ in matcher.partition(data[0], THRESHOLD_DEDUPE)]
        else:
            groups = [ids for ids, *_ in matcher.join(*data, THRESHOLD_DEDUPE, "one-to-one")]
    return {"assignment": _assignment(groups, len(known)), **found}


def splink_entities(
    tables: list[Table],
    texts: list[str],
    exact: list[str],
    numbers: list[str],
    training: list[list[str]],
    blocking: list[list[str]],
    certain: list[list[str]],
) -> dict[str, Any]:
    """Resolve by Splink, whose weights come from the records alone by expectation maximisation.

    Parameters
    ----------
    tables : list of one or two tables
    texts, exact : list of str
        Columns compared by Jaro-Winkler similarity, and for being equal.
    numbers : list of str
        Columns of which only the first number counts.
    training, blocking : list of lists of str
        Columns, or expressions of SQL, that two records must share: to be looked at in each round of expectation
        maximisation, and to be compared in the end.
    certain : list of lists of str
        The same for records that are surely one entity, from which the share of matches is estimated.
    """
    import duckdb
    import pandas as pd
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on
    from splink import comparison_library as cl

    kept = [*texts, *exact]
    frames, first = [], 0
    for table in tables:
        rows = [{field: cleaned(row.get(field), field in numbers) for field in kept} for row in table]
        frame = pd.DataFrame(rows, columns=pd.Index(kept), dtype="object")
        frame.insert(0, "unique_id", np.arange(first, first + len(rows)))
        frames.append(frame)
        first += len(rows)

    with costs() as found:
        database = DuckDBAPI(duckdb.connect(config={"threads": 1}))
        settings = SettingsCreator(
            link_type="dedupe_only" if len(tables) == 1 else "link_only",
            comparisons=[
                *(cl.JaroWinklerAtThresholds(field, [0.9, 0.8, 0.7]) for field in texts),
                *(cl.ExactMatch(field) for field in exact),
            ],
            blocking_rules_to_generate_predictions=[block_on(*rule) for rule in blocking],
        )
        names = [f"table{k}" for k in range(len(frames))]
        inputs = [database.register(frame, dataset_display_name=n) for frame, n in zip(frames, names, strict=True)]
        linker = Linker(inputs[0] if len(inputs) == 1 else inputs, settings, log_level="ERROR")
        sure = [block_on(*rule) for rule in certain]
        linker.training.estimate_probability_two_random_records_match(sure, recall=0.7)
        linker.training.estimate_u_using_random_sampling(max_pairs=1e7, seed=1)
        for rule in training:
            linker.training.estimate_parameters_using_expectation_maximisation(block_on(*rule))
        predicted = linker.inference.predict(threshold_match_probability=0.2)
        if len(tables) == 1:
            clusters = linker.clustering.cluster_pairwise_predictions_at_threshold(predicted, THRESHOLD_SPLINK)
        else:
            clusters = linker.clustering.cluster_using_single_best_links(predicted, names, THRESHOLD_SPLINK)
        answer = clusters.as_pandas_dataframe()
    groups = answer.groupby("cluster_id")["unique_id"].agg(list)
    return {"assignment": _assignment(groups.tolist(), first), **found}


def _restore_ranking() -> None:
    """Give dedupe 3.0.3 back the method that BTrees 6.5 took away, without which it cannot index texts.

    See dedupeio/dedupe, issue 1230. With an older BTrees nothing is done.
    """
    from BTrees.IFBTree import IFBucket
    from dedupe import canopy_index

    if hasattr(IFBucket, "byValue"):
        return
    union = canopy_index.mass_weightedUnion

    class Ranked:
        def __init__(self, weighted: Any):
            self.weighted = weighted

        def byValue(self, least: float) -> list[tuple[float, int]]:  # noqa: N802 - the name that dedupe calls
            limit = float(np.float32(least))  # values are kept in single precision
            return sorted(((value, key) for key, value in self.weighted.items() if value >= limit), reverse=True)

    canopy_index.mass_weightedUnion = lambda weighted: Ranked(union(weighted))


def cleaned(value: Any, is_number: bool = False) -> str | None:
    """Lower case, letters and digits only, one space between words, as both documentations ask; None for nothing."""
    words = re.findall(r"\d+" if is_number else r"\w+", "" if value is None else str(value).lower())
    return " ".join(words[:1] if is_number else words) or None


def _assignment(groups: Sequence[Sequence[int]], n_records: int) -> np.ndarray:
    """The group of each record; records in no group stand alone."""
    assignment = np.arange(n_records)
    for group in groups:
        members = np.asarray([int(k) for k in group])
        assignment[members] = members.min()
    return assignment


def _peak_memory() -> int:
    """In bytes. The kernel's own figure where there is one: that of `getrusage` is never below the parent's."""
    if _STATUS.exists():
        peak = re.search(r"VmHWM:\s+(\d+) kB", _STATUS.read_text())
        if peak:
            return int(peak[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
