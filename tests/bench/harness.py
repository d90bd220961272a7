"""Contests: peers take turns in one process, one thread on one core; only ratios count."""

from __future__ import annotations

import gc
import math
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

import numpy as np

Task = Callable[[], object]


class Extent(Enum):
    """How many instances take part."""

    QUICK = auto()
    USUAL = auto()
    ALL = auto()

    @property
    def quick(self) -> bool:
        return self is Extent.QUICK


@dataclass(frozen=True)
class Contest:
    """One workload on one instance. `kernel` is the arithmetic that nobody can avoid."""

    workload: str
    instance: str
    ours: Task
    peers: dict[str, Task]
    kernel: Task | None = None
    # Raises AssertionError unless all peers compute the same thing.
    agree: Callable[[], None] = lambda: None
    aims: dict[str, float] = field(default_factory=dict)
    # At most so many times the kernel.
    kernel_aim: float | None = None
    # Peers whose peak memory is compared, with the aims; and what to compare it with, where `ours`
    # keeps something from call to call.
    memory: dict[str, float] = field(default_factory=dict)
    cold: Task | None = None
    # So slow a peer that the rounds are spread over the seeds; `agree` has warmed everybody up.
    dear: bool = False


@dataclass(frozen=True)
class Ratio:
    """Peer's time over ours, one number for each round."""

    name: str
    rounds: np.ndarray
    aim: float | None = None

    @property
    def figure(self) -> float:
        return float(np.quantile(self.rounds, 0.25))

    @property
    def spread(self) -> tuple[float, float]:
        return float(self.rounds.min()), float(self.rounds.max())


@dataclass(frozen=True)
class Result:
    workload: str
    instance: str
    seconds: float
    ratios: list[Ratio]
    kernel: float | None
    kernel_aim: float | None = None


def run(contests: list[Contest], rounds: int, slice_seconds: float) -> Result:
    """Several seeds of one instance, merged: each round times every peer once."""
    names = list(contests[0].peers)
    ours: list[float] = []
    kernel: list[float] = []
    theirs: dict[str, list[float]] = {name: [] for name in names}
    for contest in contests:
        contest.agree()
        tasks = {"": contest.ours, **contest.peers}
        if contest.kernel is not None:
            tasks["kernel"] = contest.kernel
        counts = {name: calls(task, slice_seconds, contest.dear) for name, task in tasks.items()}
        for _ in range(math.ceil(rounds / len(contests)) if contest.dear else rounds):
            took = {name: seconds(task, counts[name]) for name, task in tasks.items()}
            ours.append(took[""])
            for name in names:
                theirs[name].append(took[name] / took[""])
            if contest.kernel is not None:
                kernel.append(took[""] / took["kernel"])
    first = contests[0]
    ratios = [Ratio(n, np.array(theirs[n]), first.aims.get(n)) for n in names]
    ratios += [
        Ratio(f"memory, {n}", np.array([_memory(first, n)]), first.memory[n]) for n in first.memory
    ]
    median = float(np.median(kernel)) if kernel else None
    return Result(
        first.workload, first.instance, float(np.median(ours)), ratios, median, first.kernel_aim
    )


def _memory(contest: Contest, name: str) -> float:
    return _peak(contest.peers[name]) / _peak(contest.cold or contest.ours)


def _peak(task: Task) -> int:
    """Bytes in use at once; numpy reports its arrays, LAPACK's work space is not seen."""
    gc.collect()
    tracemalloc.start()
    try:
        task()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def calls(task: Task, slice_seconds: float, warm: bool = False) -> int:
    """How many calls fill a slice; the first call does not count, where it may compile."""
    if not warm:
        task()
    start = time.process_time()
    task()
    once = max(time.process_time() - start, 1e-7)
    return max(1, int(slice_seconds / once))


def seconds(task: Task, count: int) -> float:
    gc.disable()
    try:
        start = time.process_time()
        for _ in range(count):
            task()
        return (time.process_time() - start) / count / getattr(task, "per_call", 1)
    finally:
        gc.enable()


def table(results: list[Result]) -> Iterator[str]:
    for result in results:
        yield f"{result.workload}  {result.instance}: {_seconds(result.seconds)}"
        for ratio in result.ratios:
            low, high = ratio.spread
            aim = "" if ratio.aim is None else f"  (aim {ratio.aim:g})"
            yield f"    {ratio.name:<42} x {ratio.figure:8.2f}   [{low:.2f}, {high:.2f}]{aim}"
        if result.kernel is not None:
            aim = "" if result.kernel_aim is None else f"  (aim at most {result.kernel_aim:g})"
            yield f"    {'over the unavoidable kernel':<42} x {result.kernel:8.2f}{aim}"


def as_json(results: list[Result]) -> list[dict[str, object]]:
    return [
        {
            "workload": r.workload,
            "instance": r.instance,
            "seconds": r.seconds,
            "kernel": r.kernel,
            "kernel_aim": r.kernel_aim,
            "ratios": {
                q.name: {"figure": q.figure, "spread": q.spread, "aim": q.aim} for q in r.ratios
            },
        }
        for r in results
    ]


def _seconds(x: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if x >= size:
            return f"{x / size:.3g} {unit}"
    return f"{x / 1e-6:.3g} us"
