"""Names that are loaded at first use, and what is said where that takes an extra that is not there."""

import subprocess
import sys
from importlib import import_module

import pytest

from walkstep.apps.label_set_learners import in_jax
from walkstep.first_use import first_use

WITHOUT = """
import sys
from importlib import import_module
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from walkstep import CollectiveClassifier
"""


@pytest.mark.parametrize("name", ["jax", "jax.numpy"])
def test_a_missing_part_of_an_extra_is_told_with_the_extra(name):
    run = subprocess.run([sys.executable, "-c", WITHOUT, name], capture_output=True, text=True, check=False)
    said = f"walkstep.CollectiveClassifier takes {name}, which is not installed: pip install 'walkstep[jax]'"
    assert run.stderr.splitlines()[-1] == f"ImportError: {said}"


def missing(name):
    def load(module):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    return load


@pytest.mark.parametrize("name", ["jax.numpy", "optax"])
def test_a_setting_that_takes_an_extra_is_told_likewise(monkeypatch, name):
    monkeypatch.setattr("walkstep.apps.label_set_learners.import_module", missing(name))
    with pytest.raises(ImportError, match=rf"learner 'risk' takes {name}, which .* 'walkstep\[jax\]'"):
        in_jax("walkstep.learning.message_learning", "learner 'risk'")


@pytest.mark.parametrize("name", ["numpy", "jaxtyping", None])
def test_what_comes_with_no_extra_is_reported_as_it_is(monkeypatch, name):
    find, _ = first_use("walkstep", {"no_such_module": ("Thing",)})
    monkeypatch.setitem(first_use.__globals__, "import_module", missing(name))
    with pytest.raises(ModuleNotFoundError, match=f"^No module named {name!r}$"):
        find("Thing")


@pytest.mark.parametrize(
    "package", ["walkstep", *(f"walkstep.{name}" for name in ("inference", "learning", "model", "testing", "worlds"))]
)
def test_every_public_name_is_found(package):
    module = import_module(package)
    for name in module.__all__:
        assert getattr(module, name) is not None
        assert name in dir(module)
