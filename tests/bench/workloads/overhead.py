"""Whole runs with bars and verdicts against bare NumPy loops: see tests.bench.overhead."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.bench.harness import Extent
from tests.bench.overhead import MODELS, descent, flow

# Of the run against the loop, with few points and with every step recorded.
AIMS = 3, 5
# Of both integrations against one.
FLOW_AIM = 4
LABELS = "bare", "few", "every step"


def contests(extent: Extent, seeds: int) -> Iterator[list[object]]:
    """None: the loops are no peers."""
    return iter(())


def growth(extent: Extent) -> Iterator[str]:
    sizes = (8, 30) if extent.quick else (8, 100) if extent is Extent.USUAL else (8, 100, 500)
    budget = 0.6 if extent.quick else 6.0
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
    yield from _flows((8,) if extent.quick else (8, 30) if extent is Extent.USUAL else (8, 30, 60))


def _flows(sizes: tuple[int, ...]) -> Iterator[str]:
    for kind in MODELS:
        for m in sizes:
            horizon, alone, loosely, run = flow(kind, m)
            yield (
                f"overhead  {kind:<14} m={m:<4} bare {alone:8.3f} s until t = {horizon:<8.2g} "
                f"flow {run / alone:5.1f} (aim {FLOW_AIM}), at 1e-12 {run / loosely:5.1f}"
            )
