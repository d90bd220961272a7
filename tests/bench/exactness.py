"""What exact numbers cost where doubles decide everything: shipped cases with and without them.

    python -m tests.bench.exactness [--every 8] [--rounds 5] [--only WORD] [--calls]

Every so-manieth shipped case is run by `dq.run` in turn as it is, with python-flint hidden (nothing
is computed again), and with nothing recorded either (numbers and matrices carry no nodes). Of each
the least CPU time of all rounds counts, or with --calls how many functions of Python and C are
called, which other work on the machine does not change. One row for each paper: cases in which
doubles decide every claim, and those in which some claim is computed again: that is no overhead.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import deqcheck as dq
from deqcheck.case import Case
from deqcheck.linalg.matrix import Matrix
from deqcheck.records import measured, tower
from deqcheck.records.tower import compare, node
from tests.shipped import stated

Least = dict[str, float]


@contextmanager
def hidden() -> Iterator[None]:
    """As if python-flint were not installed."""
    with patch.dict(sys.modules, {"flint": None}):
        node.flint.cache_clear()
        yield
    node.flint.cache_clear()


@contextmanager
def unrecorded() -> Iterator[None]:
    """... and nothing says how to compute a number again."""
    settle = Matrix.__post_init__

    def forgetting(self: Matrix) -> None:
        object.__setattr__(self, "exact", None)
        settle(self)

    carried = {name: lambda operation, *xs: None for name in ("_one", "_both")}
    made = patch.object(Matrix, "__post_init__", forgetting)
    with hidden(), patch.multiple(measured, **carried), made:
        yield


@contextmanager
def as_it_is() -> Iterator[None]:
    yield


WAYS: dict[str, Callable[[], contextmanager]] = {  # type: ignore[type-arg]
    "as it is": as_it_is,
    "hidden": hidden,
    "unrecorded": unrecorded,
}


def seconds(case: Case) -> float:
    began = time.process_time()
    dq.run(case)
    return time.process_time() - began


def calls(case: Case) -> float:
    with cProfile.Profile() as profile:
        dq.run(case)
    return sum(entry.callcount for entry in profile.getstats())


def questions(case: Case) -> int:
    """How many comparisons are made in exact numbers."""
    asked = 0
    compared = compare.compared

    def counting(*sides: node.Again) -> compare.Answer:
        nonlocal asked
        asked += 1
        return compared(*sides)

    with patch.object(tower, "compared", counting):
        dq.run(case)
    return asked


def least(case: Case, rounds: int, cost: Callable[[Case], float]) -> Least:
    """Interleaved, in another order each time."""
    found = dict.fromkeys(WAYS, float("inf"))
    for i in range(rounds):
        names = list(WAYS)
        for way in names[i % len(names) :] + names[: i % len(names)]:
            with WAYS[way]():
                found[way] = min(found[way], cost(case))
    return found


def told(name: str, rows: list[Least]) -> str:
    sums = {way: sum(row[way] for row in rows) for way in WAYS}
    over = {way: 100 * (sums["as it is"] / sums[way] - 1) for way in ("hidden", "unrecorded")}
    return (
        f"{name:32} {len(rows):3d} cases {sums['as it is']:9.5g}, "
        f"{over['hidden']:+5.1f} % of hidden, {over['unrecorded']:+5.1f} % of unrecorded"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.exactness", description=__doc__)
    parser.add_argument("--every", type=int, default=8, help="of the shipped cases")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="cases whose id contains this word")
    parser.add_argument("--calls", action="store_true", help="count calls, once, not seconds")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    chosen = sorted(name for name in stated() if options.only in name)[:: options.every]
    rows: dict[tuple[bool, str], list[Least]] = {}
    for name in chosen:
        case = stated()[name]
        asked = questions(case)
        found = least(case, 1, calls) if options.calls else least(case, options.rounds, seconds)
        rows.setdefault((asked == 0, name.partition("/")[0]), []).append(found)
        print(f"{told(name, [found])}, {asked} questions", file=sys.stderr, flush=True)
    for decided in (True, False):
        mine = {paper: each for (kind, paper), each in rows.items() if kind is decided}
        print("decided by doubles" if decided else "some claims computed again")
        for paper, each in mine.items():
            print("  " + told(paper, each))
        if mine:
            print("  " + told("all", [row for each in mine.values() for row in each]))


if __name__ == "__main__":
    main()
