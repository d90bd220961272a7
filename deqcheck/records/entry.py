"""From which point of a run a theorem applies that does not apply at its start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.records.judged import Judged
from deqcheck.records.measured import Measured

if TYPE_CHECKING:
    from deqcheck.records.verdict import Verdict

# A ratio that changes by less than this factor over the later half of a run is flat.
FLAT = 1.05
RISING, LEVEL, FALLING = "rising", "flat", "falling"


@dataclass(frozen=True)
class Trend:
    """How the ratio of a hypothesis, which must reach 1, moves along a run."""

    word: str
    first: float
    last: float
    # Where a rising ratio would reach 1 if its logarithm went on as in the later half of the run.
    at: float | None = None


def trend(t: Sequence[float], ratios: Sequence[float | None]) -> Trend | None:
    """None where the hypothesis has too few ratios to tell."""
    known = [(x, r) for x, r in zip(t, ratios, strict=True) if r is not None and r > 0]
    if len(known) < 3:
        return None
    x, ratio = np.array(known).T
    late = x >= x[-1] / 2
    late[-3:] = True
    moved = ratio[-1] / ratio[late][0]
    word = LEVEL if 1 / FLAT < moved < FLAT else RISING if moved > 1 else FALLING
    # In shares of the last time, whose square may be no float.
    slope, height = np.polyfit(x[late] / x[-1], np.log(ratio[late]), 1)
    ahead = word == RISING and slope > 0 and ratio[-1] < 1
    share = float(-height / slope) if ahead else 0.0
    at = share * float(x[-1]) if share > 1 else None
    return Trend(word, float(ratio[0]), float(ratio[-1]), at)


@dataclass(frozen=True, repr=False)
class Entry:
    """The first point that was looked at from which all hypotheses hold, taken as the initial
    point; or what stays broken."""

    # Points of the run after its start that were looked at, of how many.
    looked_at: int
    points: int
    k: int | None = None
    t: float | None = None
    loss: Measured | None = None
    # The statement judged on the rest of the run.
    verdict: Verdict | None = None
    # Where it never applies: the hypothesis that is furthest from holding at the end.
    blocking: Judged | None = None
    trend: Trend | None = None
    # Why no point was looked at, or why none of them can do.
    reason: str = ""

    @property
    def found(self) -> bool:
        return self.k is not None
