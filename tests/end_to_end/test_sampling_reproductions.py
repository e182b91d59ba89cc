"""Partition functions and exact samples of small spaces, as their reproductions have them."""

import numpy as np
import pytest

from walkstep.reproduce import sampling_exact, sampling_partition
from walkstep.reproduce.drawn_spaces import drawn_spaces

pytestmark = pytest.mark.xdist_group("spaces")


def test_a_run_takes_every_method_to_every_space():
    told = []
    result = sampling_partition.run(0, quick=True, progress=told.append)
    assert len(told) == 4 * len(sampling_partition.METHODS)
    shares = [row for row in result["rows"] if row["metric"] == sampling_partition.SHARE]
    assert len(shares) == len(told)
    assert all(row["ours"] >= 0.5 for row in shares)  # of ten runs
    bars = {bar["id"]: bar["ours"] for bar in result["bars"]}
    assert bars["partition-saving"] > 10.0
    assert bars["partition-share"] == min(
        row["ours"] for row in shares if row["row"].endswith((", telescoping", ", bridge"))
    )


def test_estimates_that_are_off_are_seen_to_be():
    model = drawn_spaces(0, 4.0)["permutations"]
    wrong = model._replace(exact=model.exact._replace(log_weights=model.exact.log_weights + 0.5))
    assert sampling_partition.runs(model, 0.1, {"method": "bridge"}, 20, seed=0).share >= 0.75
    assert sampling_partition.runs(wrong, 0.1, {"method": "bridge"}, 20, seed=0).share == 0.0


def test_samples_of_all_spaces_are_from_their_models():
    result = sampling_exact.run(0, quick=True)
    p_values = [row["ours"] for row in result["rows"] if row["metric"] == "p of chi-square"]
    assert len(p_values) == 4
    assert result["bars"] == [{"id": "cftp", "ours": min(p_values)}]
    assert min(p_values) > 1e-3


def test_samples_of_another_model_are_told_from_it():
    model, other = (drawn_spaces(seed, 3.0)["cycles"] for seed in (0, 1))
    values = np.repeat(other.exact.values, np.round(20_000 * other.exact.probabilities).astype(int), axis=0)
    assert sampling_exact.chi_square(values, other)[0] > 0.9
    assert sampling_exact.chi_square(values, model)[0] < 1e-6
    with pytest.raises(KeyError):
        sampling_exact.chi_square(np.zeros((1, 7), np.int32), model)
