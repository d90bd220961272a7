"""How the time grows with a size: the exponent of a power law, beside the theoretical one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tests.bench.harness import Task, calls, seconds

SLICE = 0.01


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
    """The least CPU time of a few slices, after two calls that fill whatever is remembered."""
    count = calls(task, SLICE)
    return min(seconds(task, count) for _ in range(repeats))
