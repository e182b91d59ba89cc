"""Message passing runs where NumPy and JAX are, and nothing else of ours."""

import subprocess
import sys
from pathlib import Path

import walkstep.messages

MODULES = sorted(path.stem for path in Path(walkstep.messages.__file__).parent.glob("*.py"))
CODE = """
import importlib, sys
for name in ("numba", "llvmlite", "scipy", "sklearn", "polars", "rapidfuzz", "lark", "typer", "rich", "safetensors"):
    sys.modules[name] = None
for name in sys.argv[1:]:
    importlib.import_module("walkstep.messages." + name)
"""


def test_message_passing_imports_numpy_and_jax_alone():
    subprocess.run([sys.executable, "-c", CODE, *(name for name in MODULES if name != "__init__")], check=True)


def test_inference_loads_jax_at_first_use_only():
    code = "import sys, walkstep.inference as i; assert 'jax' not in sys.modules; i.wire; assert 'jax' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_jax_it_is_said_how_to_get_it():
    code = "import sys; sys.modules['jax'] = None; from walkstep.inference import belief_propagation"
    made = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    said = "walkstep.inference.belief_propagation takes jax, which is not installed: pip install 'walkstep[jax]'"
    assert said in made.stderr
