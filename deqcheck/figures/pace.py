"""How long a figure will take, from what its first piece of work has shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from deqcheck.dynamics.recorder import Progress

# Seconds of a piece after which its pace is told.
SEEN = 20.0
UNITS = {"days": 86400.0, "hours": 3600.0, "minutes": 60.0, "seconds": 1.0}


class Pace:
    """Hears of every piece that is computed; tells once what all of them need."""

    def __init__(
        self,
        name: str,
        costs: Sequence[float],
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ):
        self.name, self.tell, self.clock = name, tell, clock
        # Of the pieces that are left, the present one first.
        self.costs = list(costs)
        self.told = False
        self.started = clock()

    def begins(self) -> None:
        self.started = self.clock()

    def hears(self, step: Progress) -> None:
        """Within a piece."""
        seconds = self.clock() - self.started
        if not self.told and seconds >= SEEN and 0 < step.fraction < 1:
            self._tell(seconds / step.fraction, f"the first {step.fraction:.1%} of a piece")

    def ends(self) -> None:
        seconds = self.clock() - self.started
        if not self.told and seconds >= SEEN:
            self._tell(seconds, "one piece")
        self.costs.pop(0)

    def kept(self) -> None:
        """It was there already."""
        self.costs.pop(0)

    def _tell(self, seconds: float, seen: str) -> None:
        self.told = True
        left = len(self.costs)
        many = f"{left} pieces of work" if left != 1 else "one piece of work"
        whole = seconds * sum(self.costs) / self.costs[0]
        self.tell(f"{self.name}: {many} to do, about {duration(whole)} at the pace of {seen}")


def duration(seconds: float) -> str:
    """`3 hours`."""
    unit, length = next(((u, n) for u, n in UNITS.items() if seconds >= 1.5 * n), ("seconds", 1.0))
    return f"{seconds / length:.2g} {unit}"
