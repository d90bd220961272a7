"""Searches in processes of their own: requests and replies are lines of JSON.

The same seed, evaluations and number of processes find the same; each process has its own share
of the evaluations, and its own seed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import Any

from deqcheck import plugins, threads
from deqcheck.explore.falsify import Asking, Limits, asked, falsify
from deqcheck.explore.falsify.confirm import case_of
from deqcheck.explore.falsify.instance import Instance
from deqcheck.explore.falsify.score import Score
from deqcheck.explore.falsify.search import Found, Hunt, Ranked
from deqcheck.judging.catalogue import catalogue, find
from deqcheck.judging.errors import UsageError
from deqcheck.theorems.base import AnyStatement

# It imports exactly what its parent would.
PROGRAM = (
    "import json, sys; sys.path[:], places = json.loads(sys.argv.pop()); "
    "from deqcheck.explore.falsify.worker import main; main(places)"
)
# Seeds of the processes of one search: far enough apart for those of other searches.
APART = 1_000_003


def main(places: Sequence[str]) -> None:
    """Of the process: a reply for each request, until there are no more."""
    plugins.load_again(places)
    for line in sys.stdin:
        request = json.loads(line)
        reply = _searched(request) if request["only_search"] else _falsified(request)
        print(json.dumps(reply, allow_nan=False), flush=True)


def _falsified(request: Mapping[str, Any]) -> dict[str, Any]:
    return falsify(request["id"], request["edition"], _asking(request)).to_dict()


def _searched(request: Mapping[str, Any]) -> dict[str, Any]:
    asking = _asking(request)
    s = asked(find(request["id"]), request["edition"], asking.feasible)
    found: list[dict[str, Any]] = []

    def search(hunt: Hunt) -> None:
        found.append(plain(hunt.search(), s))
        # What was found is made simpler by the parent.
        hunt.found = Found()

    falsify(request["id"], request["edition"], asking, search=search)
    return found[0]


def _asking(request: Mapping[str, Any]) -> Asking:
    fields = dict(request["asking"])
    sizes = fields.pop("sizes")
    limits = Limits(**fields.pop("limits"))
    return Asking(limits, sizes=None if sizes is None else (sizes[0], sizes[1]), **fields)


class Process:
    """One worker."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, json.dumps([sys.path, plugins.places()])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | threads.ONE,
            text=True,
            encoding="utf-8",
        )

    def ask(self, s: AnyStatement, asking: Asking, only_search: bool) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        request = {
            "id": s.id,
            "edition": s.edition,
            "asking": asdict(asking),
            "only_search": only_search,
        }
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line.endswith("\n"):
            raise RuntimeError(f"the process that searched {s.id} ended: {self._process.wait()}")
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()


def searched_in_processes(s: AnyStatement, asking: Asking, jobs: int) -> Found:
    """What several processes have seen together. Raises UsageError."""
    if type(s) not in catalogue().values():
        raise UsageError(f"{s.id}: other processes do not know it; load it from a file, or jobs=1")
    shares = [_share(asking, i, jobs) for i in range(jobs)]
    processes = [Process() for _ in shares]
    try:
        with ThreadPoolExecutor(jobs) as pool:
            pairs = zip(processes, shares, strict=True)
            replies = list(pool.map(lambda pair: pair[0].ask(s, pair[1], True), pairs))
    finally:
        for process in processes:
            process.close()
    found = Found()
    for reply in replies:
        found.merge(unplain(reply))
    return found


def _share(asking: Asking, i: int, jobs: int) -> Asking:
    total = asking.limits.evaluations
    own = None if total is None else total // jobs + (i < total % jobs)
    limits = replace(asking.limits, evaluations=own)
    return replace(asking, limits=limits, seed=asking.seed + APART * i)


def each_in_processes(
    tasks: Sequence[AnyStatement],
    asking: Asking,
    jobs: int,
    done: Callable[[AnyStatement, dict[str, Any]], None],
) -> None:
    """Several statements, one process for each of `jobs`; `done` is told as they come."""
    free: list[Process] = [Process() for _ in range(jobs)]
    every = list(free)

    def one(s: AnyStatement) -> None:
        process = free.pop()
        try:
            done(s, process.ask(s, asking, False))
        finally:
            free.append(process)

    try:
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(one, tasks))
    finally:
        for process in every:
            process.close()


def plain(found: Found, s: AnyStatement) -> dict[str, Any]:
    """What a search has seen, as JSON can hold it."""

    def ranked(one: Ranked | None) -> Any:
        return None if one is None else [one[0], case_of(s, one[1])]

    nearest = found.nearest
    return {
        "evaluations": found.evaluations,
        "feasible": found.feasible,
        "first": found.first,
        "worst": ranked(found.worst),
        "violated": {name: ranked(one) for name, one in found.violated.items()},
        "tightest": {name: ranked(one) for name, one in found.tightest.items()},
        "nearest": nearest and [nearest.value, nearest.failing],
        "met": found.met and case_of(s, found.met),
    }


def unplain(told: Mapping[str, Any]) -> Found:
    def ranked(one: Any) -> Ranked:
        return one[0], Instance.of_tree(one[1])

    nearest, first = told["nearest"], told["first"]
    return Found(
        told["evaluations"],
        told["feasible"],
        first and (first[0], first[1]),
        told["worst"] and ranked(told["worst"]),
        {name: ranked(one) for name, one in told["violated"].items()},
        {name: ranked(one) for name, one in told["tightest"].items()},
        nearest and Score(nearest[0], failing=tuple(nearest[1])),
        told["met"] and Instance.of_tree(told["met"]),
    )
