"""The script for a GPU machine runs on a CPU as well, with NumPy and JAX alone."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
CODE = """
import runpy, sys
for name in ("numba", "scipy", "sklearn", "polars", "rapidfuzz", "lark", "typer", "rich", "safetensors", "optax"):
    sys.modules[name] = None
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""


@pytest.mark.slow
def test_its_figures_are_one_line_of_json_each():
    script = str(REPOSITORY / "benchmarks" / "gpu_messages.py")
    where = os.environ | {"PYTHONPATH": str(REPOSITORY / "src"), "JAX_PLATFORMS": "cpu"}
    call = [sys.executable, "-c", CODE, script, "--quick", "--only", "risk"]
    made = subprocess.run(call, check=True, capture_output=True, text=True, env=where)
    figures = [json.loads(line) for line in made.stdout.splitlines()]
    assert [figure["id"] for figure in figures] == ["gpu-risk-ms", "gpu-risk-ms-accuracy"]
    assert all(figure["value"] > 0 and figure["device"] == "cpu" for figure in figures)
