"""`python -m tests.bench [--quick | --all] [--only WORD] [--json FILE]`"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import sys
from pathlib import Path

from deqcheck import threads


def main() -> None:
    options = _options()
    _alone()
    from tests.bench import harness, workloads
    from tests.bench.harness import Extent

    extent = Extent.QUICK if options.quick else Extent.ALL if options.all else Extent.USUAL
    rounds, seeds, piece = (3, 1, 0.004) if options.quick else (7, 3, 0.03)
    results, lines = [], []
    for info in pkgutil.iter_modules(workloads.__path__):
        if options.only and options.only not in info.name:
            continue
        module = importlib.import_module(f"tests.bench.workloads.{info.name}")
        for group in module.contests(extent, seeds):
            result = harness.run(group, rounds, piece)
            results.append(result)
            print("\n".join(harness.table([result])), flush=True)
        for line in getattr(module, "growth", lambda extent: ())(extent):
            lines.append(line)
            print(line, flush=True)
    from tests.bench.peers import missing

    absent = ", ".join(missing()) or "none"
    print(f"not installed, so not compared with: {absent}")
    if options.json:
        record = {"results": harness.as_json(results), "lines": lines, "missing": missing()}
        Path(options.json).write_text(json.dumps(record, indent=1) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    how_much = parser.add_mutually_exclusive_group()
    how_much.add_argument("--quick", action="store_true", help="few instances, under a minute")
    how_much.add_argument("--all", action="store_true", help="every size, more than half an hour")
    parser.add_argument("--only", help="only the workloads whose name contains this word")
    parser.add_argument("--json", metavar="FILE", help="also write the results here")
    return parser.parse_args()


def _alone() -> None:
    """One thread on one core; the libraries read these variables when they are loaded."""
    os.environ.update(threads.ONE)
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if "numpy" in sys.modules:
        raise SystemExit("numpy was loaded before its threads could be pinned")


if __name__ == "__main__":
    main()
