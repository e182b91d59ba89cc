"""The experiments of the adaptive proposals paper: shape of the results, and that learning pays."""

import pytest

from walkstep.data.catalogue import DataNotFound
from walkstep.reproduce import cem_experiment2, cem_table1

pytestmark = [pytest.mark.xdist_group("partition"), pytest.mark.real_data, pytest.mark.slow]


def result_of(module, seed=0):
    try:
        return module.run(seed, quick=True)
    except DataNotFound as missing:
        pytest.skip(str(missing))


def test_learned_jumps_are_fewer():
    result = result_of(cem_table1)
    assert [bar["id"] for bar in result["bars"]] == ["cem-jumps-5", "cem-jumps-10"]
    assert all(bar["ours"] > 0.0 for bar in result["bars"])
    assert all(bar["low"] <= bar["ours"] <= bar["high"] for bar in result["bars"])


def test_a_learned_proposer_picks_the_wrong_cluster_more_often():
    result = result_of(cem_experiment2)
    share = {row["row"]: row["ours"] for row in result["rows"]}
    assert share["CEMP"] > share["USMP"]
    assert result["bars"][0]["id"] == "cem-pick"
