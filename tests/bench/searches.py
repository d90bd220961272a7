"""How many instances a search for counterexamples looks at in a second of CPU time on one core.

    python -m tests.bench.searches [--only WORD] [--count 150] [--sizes 1:2] [--all]

One row for each statement in each edition, the slowest last, and the median over the static ones;
--all also those about runs. Simplifying what is found is not counted.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"

from deqcheck import garbage
from deqcheck.cli.nightly import tasks
from deqcheck.explore.falsify.search import Hunt, Limits
from deqcheck.theorems.base import STATIC, AnyStatement

# Before the clock starts: imports, models, what is remembered.
WARM_UP = 30
SEED = 1


def rate(s: AnyStatement, count: int, sizes: tuple[int, int]) -> tuple[float, float]:
    """Instances a second, and the share of them that met the hypotheses."""
    hunt = Hunt(s, SEED, Limits(None, None), sizes)
    for _ in range(WARM_UP):
        hunt.step()
    before, began = hunt.found.feasible, time.process_time()
    for _ in range(count):
        hunt.step()
    seconds = time.process_time() - began
    return count / seconds, (hunt.found.feasible - before) / count


def main() -> None:
    options = _options()
    # As the command does.
    garbage.looked_for_seldom()
    low, _, high = options.sizes.partition(":")
    rows = []
    for s in tasks():
        if options.only not in s.id or not (options.all or STATIC in s.dynamics):
            continue
        rows.append((*rate(s, options.count, (int(low), int(high))), s))
    for fast, met, s in sorted(rows, key=lambda row: -row[0]):
        print(f"{fast:9.0f}/s {100 * met:4.0f} % met  {s.id} ({s.edition})")
    static = [fast for fast, _, s in rows if STATIC in s.dynamics]
    if static:
        print(f"median of {len(static)} static ones: {statistics.median(static):.0f}/s")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.searches", description=__doc__)
    parser.add_argument("--only", default="", help="statements whose id contains this word")
    parser.add_argument("--count", type=int, default=150, help="instances of each")
    parser.add_argument("--sizes", default="1:2", metavar="LOW:HIGH")
    parser.add_argument("--all", action="store_true", help="those about runs, too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
