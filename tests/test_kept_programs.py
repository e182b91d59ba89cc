"""What JAX compiles for us is found again by the next process, in the folder that the user would have."""

import os
import subprocess
import sys

import jax
import pytest

from walkstep.cache_folders import base_folder, made_writable
from walkstep.kept_programs import keep_programs, programs_folder

# A small fit, then how many programs were asked for and how many of them were found.
FIT = """
from collections import Counter
import jax, numpy as np
from walkstep.apps.label_set_messages import label_set_batch
from walkstep.learning.message_learning import MessageLearner
counts = Counter()
jax.monitoring.register_event_listener(lambda event, **_: counts.update([event.rpartition("/")[2]]))
batch = label_set_batch(np.eye(4, 3), np.eye(4, 2, dtype=int), np.array([[0], [1]]))
learned = MessageLearner(learner="likelihood", n_rounds=1, optimiser="sgd", n_epochs=1, batch_size=4).learn(batch)
print(counts["compile_requests_use_cache"], counts["cache_hits"], learned.weights.tobytes().hex())
"""
FOLDER, LEAST = "jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs"


@pytest.fixture
def as_jax_begins(monkeypatch, tmp_path):
    """JAX as it is before anybody has told it where to keep programs, and a folder for Walkstep's caches."""
    before = {name: getattr(jax.config, name) for name in (FOLDER, LEAST)}
    jax.config.update(FOLDER, None)
    jax.config.update(LEAST, 1.0)
    monkeypatch.setenv("WALKSTEP_CACHE", str(tmp_path / "cache"))
    yield
    for name, value in before.items():
        jax.config.update(name, value)


def test_a_second_process_compiles_nothing(tmp_path):
    mine = {"WALKSTEP_CACHE": str(tmp_path), LEAST.upper(): "0"}
    environment = {name: value for name, value in os.environ.items() if name != FOLDER.upper()} | mine

    def fitted():
        run = subprocess.run([sys.executable, "-c", FIT], env=environment, capture_output=True, text=True, check=True)
        assert run.stderr == ""
        asked, found, weights = run.stdout.split()
        return int(asked), int(found), weights, sorted(path.name for path in tmp_path.glob("*-jax*/*"))

    n_asked, n_found, weights, kept = fitted()
    assert n_found < n_asked
    assert any(name.startswith("jit_descend_once") for name in kept)
    assert fitted() == (n_asked, n_asked, weights, kept)


@pytest.mark.usefixtures("as_jax_begins")
def test_programs_lie_beside_the_other_caches():
    keep_programs()
    assert getattr(jax.config, FOLDER) == str(programs_folder())
    assert programs_folder().parent == base_folder()
    assert getattr(jax.config, LEAST) < 1.0


@pytest.mark.usefixtures("as_jax_begins")
def test_what_the_user_has_told_jax_is_left_alone(tmp_path):
    jax.config.update(LEAST, 5.0)
    keep_programs()
    assert getattr(jax.config, LEAST) == 5.0
    jax.config.update(FOLDER, str(tmp_path / "own"))
    keep_programs()
    assert getattr(jax.config, FOLDER) == str(tmp_path / "own")


@pytest.mark.usefixtures("as_jax_begins")
def test_jax_that_is_to_keep_nothing_keeps_nothing():
    jax.config.update("jax_enable_compilation_cache", False)
    try:
        keep_programs()
    finally:
        jax.config.update("jax_enable_compilation_cache", True)
    assert getattr(jax.config, FOLDER) is None


@pytest.mark.usefixtures("as_jax_begins")
def test_where_nothing_can_be_written_nothing_is_kept(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("WALKSTEP_CACHE", str(tmp_path / "file"))
    assert made_writable(programs_folder()) is None
    keep_programs()
    assert getattr(jax.config, FOLDER) is None
