"""``walkstep infer`` answers questions about models in UAI format."""

import numpy as np
import pytest

from walkstep.data.readers.uai import read_uai, read_uai_marginals, read_uai_partition
from walkstep.inference.exact import enumerate_worlds
from walkstep.model.uai import uai_graph

pytestmark = pytest.mark.xdist_group("command")
CHAIN = "MARKOV 3 2 2 3 3 2 0 1 2 1 2 0 4 1.0 0.5 0.25 2 6 1 2 3 4 5 0 1 2.5"


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "chain.uai"
    path.write_text(CHAIN)
    return path


def test_marginals_and_the_partition_function_are_those_of_enumeration(command, model, tmp_path):
    (tmp_path / "evidence").write_text("1 0 1")
    given = ("--evidence", tmp_path / "evidence")
    result = command("infer", model, *given, "-o", tmp_path / "answer")
    assert result.exit_code == 0, result.output
    assert "two passes are exact" in result.stderr
    exact = enumerate_worlds(uai_graph(read_uai(model), {0: 1}), np.zeros(0))
    for found, expected in zip(read_uai_marginals(tmp_path / "answer"), exact.marginals(), strict=True):
        np.testing.assert_allclose(found, expected[: len(found)], atol=1e-5)
    result = command("infer", model, *given, "--task", "PR", "-o", tmp_path / "answer")
    assert result.exit_code == 0, result.output
    assert read_uai_partition(tmp_path / "answer") == pytest.approx(exact.log_partition / np.log(10.0), abs=1e-6)
    result = command("infer", model, "--task", "PR")
    assert result.stdout.startswith("PR\n")


def test_a_model_that_is_cut_off_is_named(command, tmp_path):
    (tmp_path / "part.uai").write_text(CHAIN[:30])
    result = command("infer", tmp_path / "part.uai")
    assert result.exit_code == 2
    assert "part.uai ends after" in result.stderr


def test_evidence_that_cannot_be_is_told(command, tmp_path):
    (tmp_path / "never.uai").write_text("MARKOV 2 2 2 1 2 0 1 4 1 1 0 0")
    (tmp_path / "evidence").write_text("1 0 1")
    result = command("infer", tmp_path / "never.uai", "-e", tmp_path / "evidence")
    assert result.exit_code == 2
    assert "no assignment has a finite score" in result.stderr
