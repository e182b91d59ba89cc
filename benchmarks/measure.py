"""How things are measured: a fresh process each, CPU-seconds, one thread, and a record per bar.

CPU time is that of the whole process, so a peer that starts threads pays for all of them.
"""

import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

REPOSITORY = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).resolve().parent / "results.json"
CHILD_TIMEOUT = 3600.0

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "NPROC": "1",  # read by XLA for the size of its thread pool
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
    "PYTHONHASHSEED": "0",
}

Record = dict[str, Any]


class ChildError(RuntimeError):
    """A measurement in a child process ended in an error; the text is its last line."""


# Time ------------------------------------------------------------------------------------------------


@dataclass
class CpuTimer:
    """CPU-seconds between entry and exit of a ``cpu_timer`` block."""

    seconds: float = float("nan")


@contextmanager
def cpu_timer() -> Iterator[CpuTimer]:
    """Measure the CPU-seconds of a block, all threads of the process together."""
    timer = CpuTimer()
    start = time.process_time()
    try:
        yield timer
    finally:
        timer.seconds = time.process_time() - start


@dataclass(frozen=True)
class Timings:
    """CPU-seconds of several runs of the same work."""

    seconds: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        """The fastest run: the figure least disturbed by neighbours on the machine."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """The middle run."""
        return statistics.median(self.seconds)


def repeat(function: Callable[[], Any], n_repeats: int, *, n_warm_up: int = 0) -> Timings:
    """CPU-seconds of ``n_repeats`` calls, after ``n_warm_up`` calls that are not counted."""
    for _ in range(n_warm_up):
        function()
    seconds = []
    for _ in range(n_repeats):
        with cpu_timer() as timer:
            function()
        seconds.append(timer.seconds)
    return Timings(seconds)


# Child processes -------------------------------------------------------------------------------------


def measure_in_subprocess(module: str, function: str, **kwargs: Any) -> Any:
    """Call ``module.function(**kwargs)`` in a fresh, single-threaded Python process.

    Arguments and result may be anything JSON can say, and NumPy arrays anywhere inside (tuples arrive
    as lists). What the child prints is kept off the terminal; where it fails, ``ChildError`` says why.
    """
    with tempfile.TemporaryDirectory(prefix="walkstep-bench-") as folder:
        call = {"module": module, "function": function, "kwargs": kwargs}
        _write(Path(folder), "call", call)
        try:
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.measure", folder],
                cwd=REPOSITORY,
                env=os.environ | ONE_THREAD,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=CHILD_TIMEOUT,
            )
        except subprocess.TimeoutExpired as error:
            raise ChildError(f"{module}.{function} ran longer than {CHILD_TIMEOUT:.0f} s") from error
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            error = ChildError(f"{module}.{function}: {lines[-1]}")
            error.add_note(done.stderr[-4000:])
            raise error
        return _read(Path(folder), "result")


def _child(folder: Path) -> None:
    call = _read(folder, "call")
    function = getattr(importlib.import_module(call["module"]), call["function"])
    _write(folder, "result", function(**call["kwargs"]))


def _write(folder: Path, name: str, value: Any) -> None:
    arrays: dict[str, np.ndarray] = {}

    def plain(part: Any) -> Any:
        if isinstance(part, np.ndarray):
            key = f"a{len(arrays)}"
            arrays[key] = part
            return {"__array__": key}
        if isinstance(part, np.generic):
            return part.item()
        if isinstance(part, dict):
            return {key: plain(inner) for key, inner in part.items()}
        if isinstance(part, (list, tuple)):
            return [plain(inner) for inner in part]
        return part

    (folder / f"{name}.json").write_text(json.dumps(plain(value)), encoding="utf-8")
    np.savez(folder / f"{name}.npz", allow_pickle=False, **arrays)


def _read(folder: Path, name: str) -> Any:
    with np.load(folder / f"{name}.npz", allow_pickle=False) as arrays:
        return json.loads(
            (folder / f"{name}.json").read_text(encoding="utf-8"),
            object_hook=lambda part: arrays[part["__array__"]] if "__array__" in part else part,
        )


# Records ---------------------------------------------------------------------------------------------


def record(
    id: str,
    ours: float | None,
    peer: str | None = None,
    peer_value: float | None = None,
    *,
    lower_is_better: bool = False,
    reason: str | None = None,
) -> Record:
    """One bar: our figure, the peer's, and how many times better ours is.

    Parameters
    ----------
    id : str
        The bar's id.
    ours, peer_value : float or None
        In the same plain unit: counts per CPU-second, or seconds. None where there is no figure.
    peer : str
        Name of the peer.
    lower_is_better : bool
        For seconds: ``ratio`` is then peer over ours.
    reason : str
        Why a figure is missing.
    """
    ratio = None
    if ours and peer_value:
        ratio = peer_value / ours if lower_is_better else ours / peer_value
    bar: Record = {"id": id, "ours": ours, "peer": peer, "peer_value": peer_value, "ratio": ratio}
    if reason is not None:
        bar["reason"] = reason
    return bar


def read_bars(path: Path = RESULTS) -> list[Record]:
    """The bars of an earlier run, none where there was none."""
    return json.loads(path.read_text(encoding="utf-8"))["bars"] if path.exists() else []


def write_bars(bars: list[Record], path: Path = RESULTS) -> None:
    """Write all bars at once: the file is either the old one or the new one, never half of it."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
        json.dump({"bars": bars}, file, indent=2)
        file.write("\n")
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


def print_bars(bars: list[Record]) -> None:
    """Print the bars as a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table("bar", "ours", "peer", "peer's", "ratio", "remark")
    for column in (1, 3, 4):
        table.columns[column].justify = "right"
    for bar in bars:
        ratio = "" if bar["ratio"] is None else f"{bar['ratio']:.2f}×"
        cells = [bar["id"], _figure(bar["ours"]), bar["peer"] or "", _figure(bar["peer_value"]), ratio]
        table.add_row(*cells, bar.get("reason", ""))
    Console().print(table)


def _figure(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


if __name__ == "__main__":
    _child(Path(sys.argv[1]))
