"""What a sweep costs over its members: python -m tests.bench.sweeps [MEMBERS].

Members are spread over the 20 x 20 x 5 map of kawaguchi2021/cor1 (flows, m up to 20). `judge` in a
loop is the yardstick: one process may take at most 15 % more, two must reach 1.7 times its
throughput.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable

from deqcheck import judging, threads

MEMBERS, OVERHEAD, GAIN = 60, 1.15, 1.7
GRID = {
    "grid": {
        "model.gamma": {"from": 0.05, "to": 0.95, "points": 20},
        "data.dim": {"from": 1, "to": 20, "points": 20},
    },
    "seeds": 5,
}
SETTINGS = ("theorems=[kawaguchi2021/cor1]", "expect={}")


def main(members: int) -> None:
    from deqcheck.case.source import Changes
    from deqcheck.case.streamed import read_stream
    from deqcheck.engines.processes import Processes
    from deqcheck.explore.single import Results, warm_up
    from deqcheck.explore.sweep import Sweeping
    from deqcheck.store import Store

    stream = read_stream("quickstart", Changes(SETTINGS), GRID)
    parts = len(stream) // members
    warm_up()

    def loop() -> None:
        for position in range(0, len(stream), parts):
            case = stream.case(stream.member(position))
            judging.run(case.problem(), case.question)

    def swept(jobs: int) -> Callable[[], None]:
        def run() -> None:
            with tempfile.TemporaryDirectory() as folder:
                Sweeping(stream, Results(Store(folder)), shard=(1, parts)).run(Processes(jobs))

        return run

    base, cpu = _seconds(loop)
    count = len(range(0, len(stream), parts))
    print(f"judge in a loop: {base:.1f} s, {cpu / count:.3f} s CPU a member, {count} members")
    for jobs in (1, 2):
        took, used = _seconds(swept(jobs))
        aim = f"at most {OVERHEAD if jobs == 1 else 1 / GAIN:.2f}"
        shares = f"{took / base:.2f} of the loop, aim {aim}; CPU {used / cpu:.2f} of it"
        print(f"sweep, {jobs} process(es): {took:.1f} s, {shares}")


def _seconds(task: Callable[[], None]) -> tuple[float, float]:
    """By the clock, and CPU with that of the workers, their start included."""
    started, before = time.perf_counter(), _cpu()
    task()
    return time.perf_counter() - started, _cpu() - before


def _cpu() -> float:
    every = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in every)


if __name__ == "__main__":
    threads.one_unless_told()
    main(int(sys.argv[1]) if len(sys.argv) > 1 else MEMBERS)
