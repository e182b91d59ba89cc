"""Run the benchmarks: every ``bench_NAME.py`` beside this file is one, by its ``run(quick)``.

A file that sets ``ON_REQUEST = True`` runs only when named by ``--only``.
"""

import argparse
import importlib
import sys
import time
import traceback
from pathlib import Path

from benchmarks.measure import RESULTS, print_bars, read_bars, write_bars


def names() -> list[str]:
    """Names of all benchmarks found in this folder."""
    return sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))


def main() -> int:
    """Run the chosen benchmarks, print a table, write ``results.json``; 1 if any failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Walkstep and its peers.")
    parser.add_argument("--only", action="append", choices=names(), help="run this one (may be repeated)")
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look; writes no results")
    parser.add_argument("--output", type=Path, help="where to write results (default: benchmarks/results.json)")
    options = parser.parse_args()

    modules = {name: importlib.import_module(f"benchmarks.bench_{name}") for name in options.only or names()}
    if not options.only:
        modules = {name: m for name, m in modules.items() if not getattr(m, "ON_REQUEST", False)}
    output = options.output or (None if options.quick else RESULTS)

    bars, failed = [], []
    for name, module in modules.items():
        print(f"{name} …", flush=True)
        start = time.perf_counter()
        try:
            new = module.run(options.quick)
        except Exception:
            traceback.print_exc()
            failed.append(name)
            continue
        print(f"{name}: {time.perf_counter() - start:.1f} s", flush=True)
        bars += new
        if output is not None and not getattr(module, "ON_REQUEST", False):
            fresh = {bar["id"] for bar in bars}
            kept = [bar for bar in read_bars(output) if bar["id"] not in fresh] if options.only else []
            write_bars(kept + bars, output)
    print_bars(bars)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
