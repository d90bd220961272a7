"""How the time grows with a size: the exponent of a power law, beside the theoretical one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from tests.bench.harness import Task


def line(
    what: str, name: str, sizes: Sequence[int], make: Callable[[int], Task], theory: float
) -> str:
    times = [_best(make(size)) for size in sizes]
    slope = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
    return (
        f"growth  {what}: time ~ {name}^{slope:.2f}, theory {name}^{theory:g} "
        f"({name} = {sizes[0]} to {sizes[-1]})"
    )


def _best(task: Task, repeats: int = 5) -> float:
    """The least CPU time of a few calls, after two that fill whatever is remembered."""
    task(), task()
    took = []
    for _ in range(repeats):
        start = time.process_time()
        task()
        took.append(time.process_time() - start)
    return max(min(took), 1e-7)
