"""Whole descents with bars and verdicts against bare NumPy loops: see tests.bench.overhead."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.bench.harness import Extent
from tests.bench.overhead import MODELS, descent

# Of the run against the loop, with few points and with every step recorded.
AIMS = 3, 5
LABELS = "bare", "few", "every step"


def contests(extent: Extent, seeds: int) -> Iterator[list[object]]:
    """None: the loops are no peers."""
    return iter(())


def growth(extent: Extent) -> Iterator[str]:
    sizes = (8, 30) if extent.quick else (8, 100) if extent is Extent.USUAL else (8, 100, 500)
    budget = 0.2 if extent.quick else 2.0
    for kind in MODELS:
        rows = [descent(kind, m, budget) for m in sizes]
        for m, (alone, few, every) in zip(sizes, rows, strict=True):
            yield (
                f"overhead  {kind:<14} m={m:<4} bare {alone * 1e3:8.3f} ms a step   "
                f"few {few / alone:5.1f} (aim {AIMS[0]})   every step {every / alone:5.1f} "
                f"(aim {AIMS[1]})"
            )
        slopes = np.polyfit(np.log(sizes), np.log(rows), 1)[0]
        told = ", ".join(f"{name} m^{x:.2f}" for name, x in zip(LABELS, slopes, strict=True))
        yield f"growth  {kind} descent: {told} (m = {sizes[0]} to {sizes[-1]})"
