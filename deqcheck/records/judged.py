"""What became of a claim or a curve, ready to be reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.records.basis import FLOATS, ROUNDINGS, Basis
from deqcheck.records.comparison import Decision, compare
from deqcheck.records.measured import Measured

# A bound, or a violation, with fewer than three digits left above the error bars is below the
# numerical resolution.
RESOLUTION = 1e-3


@dataclass(frozen=True, repr=False)
class Judged:
    """One decided claim or curve, ready to be reported."""

    name: str
    equation: str
    formula: str
    left: Measured
    relation: str
    right: Measured
    decision: Decision
    ratio: float | None
    note: str = ""
    curve: CurveFacts | None = None
    # A claim that is stronger by more than this factor is refuted by the same numbers.
    caught: float | None = None
    # The right side is what rounding may make of 0: the decision counts, the ratio does not.
    rounding: bool = False
    # What the formula itself grants to rounding; of a curve at each step.
    granted: Any = field(default=0.0, compare=False)
    basis: Basis = FLOATS
    # Of an undecided one: why.
    undecided: str = ""
    # Where a certificate is written: what the names in the formula are, as rows of its table, and
    # both enclosures.
    proof: Mapping[str, Any] | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        sides = f"{self.left.value!s} {self.relation} {self.right.value!s}"
        return f"<{self.decision}: {self.name} {self.equation}: {sides}>"

    @property
    def resolved(self) -> bool:
        """Of what is violated: whether it stands above what rounding may make of its sides by three
        digits. Bars of a run and of draws are no roundings, and a run is repeated instead."""
        if self.basis not in ROUNDINGS:
            return True
        curve = self.curve
        left, right = (self.left, self.right) if curve is None else (curve.value, curve.bound)
        bars = np.asarray(left.error + right.error + self.granted)
        gap = np.abs(np.asarray(left.value) - right.value)
        _, violated = compare(left, self.relation, right)
        if curve is not None:
            violated = violated & (curve.k >= curve.first)
        return bool(np.any(violated & ((bars == 0) | (bars < RESOLUTION * gap))))


@dataclass(frozen=True)
class Point:
    k: int
    t: float
    slack: float | None


@dataclass(frozen=True)
class CurveFacts:
    """Where a curve was decided, where it is tightest, and how sharp its rate is."""

    horizon: int | None
    last: int
    horizon_t: float | None
    last_t: float
    first_violation: Point | None
    tightest: Point | None
    rate_tightness: float | None
    rate_error: float | None
    k: np.ndarray = field(repr=False)
    t: np.ndarray = field(repr=False)
    bound: Measured = field(repr=False)
    # The first step that was judged, and whether the bound is one on gap/gap(0).
    first: int = 0
    decays: bool = False
    # How many points were judged up to the horizon.
    points: int = 0
    # The left side, which is compared with the bound.
    value: Measured = field(default_factory=lambda: Measured(np.zeros(0)), repr=False)
