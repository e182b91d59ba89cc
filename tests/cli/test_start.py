"""How long the command takes to say anything, once its loops are compiled.

Wall time is what users see, but on a busy machine it measures others; processor time holds there too.
"""

import os
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.xdist_group("command")

SECOND_START = 1.5  # seconds to the first output of `walkstep predict`
IMPORT = 0.2
STAGES = """
import sys, time
began = time.process_time()
def stage(name):
    global began
    now = time.process_time()
    print(f"{name} {now - began:.3f} s", file=sys.stderr)
    began = now
import typer; stage("typer")
import numpy; stage("numpy")
import numba; stage("numba")
import walkstep.apps.sequence_tagger; stage("the tagger's modules")
from walkstep.cli.main import app; stage("the command's modules")
app(sys.argv[1:], standalone_mode=False); stage("load, read, tag, print")
"""


def best_of(n, arguments):
    """The least wall time and the least processor time of some runs."""
    wall, processor = [], []
    for _ in range(n):
        before, began = os.times(), time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        after = os.times()
        wall.append(time.perf_counter() - began)
        processor.append(sum(after[2:4]) - sum(before[2:4]))
    return min(wall), min(processor)


def is_idle():
    """Whether wall time says anything: others leave us a processor."""
    return os.getloadavg()[0] < os.cpu_count()


def test_import_is_light():
    bare, ours = best_of(3, ["-c", "pass"]), best_of(3, ["-c", "import walkstep"])
    assert ours[1] - bare[1] < IMPORT
    assert ours[0] - bare[0] < IMPORT or not is_idle()
    loaded = "import sys, walkstep; print({'numba', 'jax', 'numpy', 'scipy', 'sklearn'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", loaded], text=True) == "set()\n"


def test_the_command_itself_loads_nothing_heavy():
    loaded = (
        "import sys, walkstep.cli.main; "
        "print({'numba', 'jax', 'numpy', 'scipy', 'sklearn', 'rich.console', 'lark'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", loaded], text=True) == "set()\n"


def test_tagging_loads_only_what_it_needs(tagger_file, raw_file):
    code = (
        "import sys; from walkstep.cli.main import app; app(sys.argv[1:], standalone_mode=False); "
        "print({'sklearn', 'polars', 'pandas', 'lark', 'jax', 'scipy.stats', 'matplotlib'} & set(sys.modules))"
    )
    arguments = ["predict", str(tagger_file), str(raw_file), "-o", str(raw_file) + ".tagged"]
    assert subprocess.check_output([sys.executable, "-c", code, *arguments], text=True) == "set()\n"


def test_the_second_start_is_quick(tagger_file, raw_file):
    arguments = ["predict", str(tagger_file), str(raw_file)]
    subprocess.run([sys.executable, "-m", "walkstep.cli.main", *arguments], check=True, capture_output=True)  # warm-up
    wall, processor = best_of(3, ["-m", "walkstep.cli.main", *arguments])
    stages = subprocess.run([sys.executable, "-c", STAGES, *arguments], check=True, capture_output=True, text=True)
    message = f"{wall:.2f} s, {processor:.2f} s of the processor's time; of one more run:\n{stages.stderr}"
    sys.stderr.write(message)
    assert processor < SECOND_START, message
    assert wall < SECOND_START or not is_idle(), message


@pytest.fixture
def raw_file(tmp_path):
    path = tmp_path / "raw.txt"
    path.write_text("Ada Harlow left .\nNobody saw Mr. Brask there .\n")
    return path
