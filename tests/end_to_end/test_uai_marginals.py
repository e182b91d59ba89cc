"""The UAI 2014 models are answered, and softened graphs forbid nothing."""

import numpy as np
import pytest

from walkstep.data.catalogue import find
from walkstep.inference.exact import enumerate_worlds
from walkstep.model import Factors, ground
from walkstep.reproduce import uai_marginals

pytestmark = pytest.mark.xdist_group("command")


def test_gibbs_begins_at_a_possible_world_though_the_likely_values_are_not_one():
    differ = [[-np.inf, 0.0], [0.0, -np.inf]]
    graph, _ = ground([2] * 3, [Factors("differ", [[0, 1]], fixed=differ), Factors("bias", [[2]], fixed=[0.0, 1.0])])
    found = uai_marginals._sampled(graph, np.array([0, 0, 1], np.int32), 4000, seed=0)
    expected = enumerate_worlds(graph, np.zeros(0)).marginals()[2]
    np.testing.assert_allclose(found[2], expected, atol=0.05)
    assert {tuple(row) for row in found[:2].round(6)} == {(0.0, 1.0), (1.0, 0.0)}  # it cannot leave where it began


def test_where_no_world_is_possible_there_is_no_walk():
    graph, _ = ground([2], [Factors("never", [[0]], fixed=[-np.inf, -np.inf])])
    assert uai_marginals._sampled(graph, np.zeros(1, np.int32), 10, seed=0) is None


@pytest.mark.real_data
def test_models_of_the_competition_are_answered():
    try:
        find("uai2014")
    except (ValueError, OSError) as error:
        pytest.skip(str(error))
    found = uai_marginals.run(0, quick=True)
    errors = {row["row"]: row["ours"] for row in found["rows"] if row["metric"] == "error of BP"}
    assert errors["Alchemy_11"] < 0.001
    assert found["bars"] == [{"id": "uai", "ours": 2}]
