"""How long a figure will take, from what its first piece of work has shown."""

from __future__ import annotations

import time
from collections.abc import Callable

from deqcheck.dynamics.recorder import Progress

# Seconds of a piece after which its pace is told.
SEEN = 20.0
UNITS = {"days": 86400.0, "hours": 3600.0, "minutes": 60.0, "seconds": 1.0}


class Pace:
    """Hears of every piece that is computed; tells once what all of them need."""

    def __init__(
        self,
        name: str,
        pieces: int,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ):
        self.name, self.left, self.tell, self.clock = name, pieces, tell, clock
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
        self.left -= 1

    def kept(self) -> None:
        """It was there already."""
        self.left -= 1

    def _tell(self, seconds: float, seen: str) -> None:
        """Pieces are taken for equally long: some are not, which `about` allows for."""
        self.told = True
        many = f"{self.left} pieces of work" if self.left != 1 else "one piece of work"
        self.tell(
            f"{self.name}: {many} to do, about {duration(seconds * self.left)} "
            f"at the pace of {seen}"
        )


def duration(seconds: float) -> str:
    """`3 hours`."""
    unit, length = next(((u, n) for u, n in UNITS.items() if seconds >= 1.5 * n), ("seconds", 1.0))
    return f"{seconds / length:.2g} {unit}"
