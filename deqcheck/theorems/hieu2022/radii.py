"""Conditions with free radii: every parameter stays within its radius of where it starts.

lA = |A(0)| + R_A, lU = |U(0)| + R_U, lu = |u(0)| + R_u (operator norms); lB enters no bound. Every
right side is a posynomial in R_A, R_U, R_u, so the largest of the ratios right/left is convex in
their logarithms and its smallest value decides whether any radii will do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from deqcheck.linalg.minimax import Optimum, minimise_largest, nearest
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.comparison import Decision
from deqcheck.records.measured import Measured, given
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import CORRECTED, Check, Constant, Search
from deqcheck.theorems.hieu2022.common import (
    PARAMETERS,
    WORDS,
    Independent,
    at_start,
    moved,
    with_resolution,
)
from deqcheck.theorems.hieu2022.setting import Problem

RADII = {
    f"R_{name}": Constant(
        f"how far {name} may move; default: the best", for_all=True, sought=True, above=0
    )
    for name in PARAMETERS
}
# The search looks so far around a start of the right size, in logarithms; R_B may be larger.
BOX, LARGEST_LOG = (-35.0, 35.0), 600.0
# No row counts as failing for every radii by less than what the search may miss.
SEARCHED = 2e-6
# Stands for log 0 where a right side vanishes.
NOTHING = -700.0
SMALLEST = 1e-290
# The radii are chosen among all whose worst ratio is so near to the smallest (as a logarithm).
ROOM = 1e-4


def row(name: str, right: str, equation: str, power: int = 2) -> Check:
    return Check(name, f"lambda0^{power} >= {right}", equation)


class WithRadii(Independent):
    """Hypotheses in rows lambda0^k >= posynomial of the radii; subclasses list the rows."""

    constants: ClassVar[Mapping[str, str]] = RADII
    searches: ClassVar[tuple[Search, ...]] = (
        Search("largest scale of the labels", ("y",), smaller_is_easier=True),
    )

    # The row of R_B, which occurs in no other.
    room_for_skew: Check

    positive = Check("positive radii", "min(R_A, R_B, R_U, R_u) > 0", "setting")

    def __init__(self, edition: str = CORRECTED, fixed: Mapping[str, float] | None = None):
        super().__init__(edition, fixed)
        self._solved: tuple[Problem, dict[str, float]] | None = None

    def rows(self) -> Sequence[Check]:
        """Every row but that of R_B."""
        raise NotImplementedError

    def step_rows(self) -> Sequence[Check]:
        """What restricts the step, written as a row."""
        return ()

    def radii(self, p: Problem) -> dict[str, float]:
        if self._solved is None or self._solved[0] is not p:
            self._solved = (p, self._best(p))
        return self._solved[1]

    def constants_used(self, p: Problem) -> Mapping[str, float]:
        return {**self.fixed, **self.radii(p)}

    def values(self, p: Problem) -> dict[str, Any]:
        """What the formulas of the rows name."""
        radii = {name: given(R) for name, R in self.radii(p).items()}
        return {**with_radii(at_start(p), radii), "step": given(p.step)}

    def row_claims(self, p: Problem) -> Iterable[Claim]:
        values = self.values(p)
        for check in (*self.rows(), self.room_for_skew):
            yield self.row_claim(check, values)

    def row_claim(self, check: Check, values: Mapping[str, Any]) -> Claim:
        """With radii of the search a row that fails by little may hold for others."""
        claim = check(**values)
        if RADII.keys() <= self.fixed.keys() or claim.judge().decision is not Decision.VIOLATED:
            return claim
        return with_resolution(claim, SEARCHED)

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from self.independence(p)
        yield self.positive(**{name: given(R) for name, R in self.radii(p).items()})
        # With lambda0 = 0 the rows say nothing new.
        if p.start.sigma_min_Z.high > 0:
            yield from self.row_claims(p)

    def quantities(self, p: Problem) -> dict[str, Measured]:
        return {"worst_ratio": Measured(self.worst_ratio(p), 0.0)}

    def worst_ratio(self, p: Problem) -> float:
        """The largest right/left of the rows: at most 1 where the condition holds. With the radii
        of the search it is the smallest possible one, times 1 + ROOM at most."""
        values = numbers(self.values(p))
        return float(np.exp(max(log_ratio(c, values) for c in (*self.rows(), self.room_for_skew))))

    def _best(self, p: Problem) -> dict[str, float]:
        given = {n: float(v) for n, v in self.fixed.items() if n in RADII}
        if not p.start.sigma_min_Z.value > 0 or min(given.values(), default=1.0) <= 0:
            return {**dict.fromkeys(RADII, 1.0), **given}
        found = self._optimum(p, given, self.rows())
        every = (*self.rows(), *self.step_rows())
        base = self._base(p)
        if p.step and found.value <= 0 < _log_ratios(base, _filled(given, found.x), every).max():
            # Other radii may allow the step of the case as well.
            allowing = self._optimum(p, given, every)
            found = allowing if allowing.value <= 0 else found
        radii = _filled(given, found.x)
        if "R_B" not in given:
            # R_B costs nothing: its row is as far from failing as the worst of the others.
            need = float(_log_ratios(base, radii, (self.room_for_skew,))[0])
            radii["R_B"] = float(np.exp(np.clip(need - found.value, BOX[0], LARGEST_LOG)))
        return {n: radii[n] for n in RADII}

    def extras(self) -> dict[str, float]:
        """Constants of the rows beside the radii."""
        return {}

    def _base(self, p: Problem) -> dict[str, float]:
        return {**numbers(at_start(p)), "step": p.step, **self.extras()}

    def _optimum(self, p: Problem, given: Mapping[str, float], rows: Sequence[Check]) -> Optimum:
        rows = (*rows, self.room_for_skew) if "R_B" in given else rows
        base = self._base(p)
        start = _start(base, _free(given))

        def ratios(x: np.ndarray) -> np.ndarray:
            return _log_ratios(base, _filled(given, start + x), rows)

        centre = np.zeros_like(start)
        here = float(ratios(centre).max())
        if not len(start) or here <= NOTHING:
            return Optimum(start, here)
        best = minimise_largest(ratios, centre, BOX)
        # Far below |U(0)| and the like a radius changes nothing, and where A(0) = 0 that of A
        # cancels in its own row: many radii are as good as the best. What holds goes on holding,
        # and what fails by less than the search may miss goes on failing by little.
        room = ROOM if best.value > SEARCHED else min(ROOM, abs(best.value) / 2)
        found = nearest(ratios, best, centre, BOX, room)
        return Optimum(start + found.x, found.value)


class Within(WithRadii):
    """A statement that concludes that every parameter stays within its radius."""

    within_symmetric = Check("A stays within its radius", "distance <= R", "R_A")
    within_skew = Check("B stays within its radius", "distance <= R", "R_B")
    within_inputs = Check("U stays within its radius", "distance <= R", "R_U")
    within_outputs = Check("u stays within its radius", "distance <= R", "R_u")

    def within(self, p: Problem, run: Trajectory) -> Iterable[Curve]:
        for name in PARAMETERS:
            k, t, distance = moved(run, name)
            check: Check = getattr(self, f"within_{WORDS[name]}")
            yield check.sampled(k, t, distance=distance, R=self.radii(p)[f"R_{name}"])


def _free(given: Mapping[str, float]) -> list[str]:
    return [n for n in ("R_A", "R_U", "R_u") if n not in given]


def _filled(given: Mapping[str, float], x: np.ndarray) -> dict[str, float]:
    """The radii with the given ones, R_B = 1 unless it is among them, and exp(x) for the rest."""
    return {"R_B": 1.0, **given, **dict(zip(_free(given), np.exp(x).tolist(), strict=True))}


def _log_ratios(
    base: Mapping[str, float], radii: Mapping[str, float], rows: Sequence[Check]
) -> np.ndarray:
    values = with_radii(base, radii)
    return np.array([log_ratio(check, values) for check in rows])


def _start(base: Mapping[str, float], free: Sequence[str]) -> np.ndarray:
    """Logarithms of R_A = max(|A|, 1), R_U = |U| and the R_u that makes its own row an equality;
    where the residual is 0, one for which (3.18) nearly is."""
    lambda0, X, m = base["lambda0"], base["X"], base["m"]
    R_A, R_U = max(base["norm_A"], 1.0), base["norm_U"]
    need = 8 * X * base["r0"] * R_U / (m * lambda0**2)
    small = lambda0 * m / (X * (1 + 4 * R_U * R_A / m))
    first = {"R_A": R_A, "R_U": R_U, "R_u": need or small}
    return np.log([max(first[n], SMALLEST) for n in free])


def with_radii(values: Mapping[str, Any], radii: Mapping[str, Any]) -> dict[str, Any]:
    reach = {f"l{n}": values[f"norm_{n}"] + radii[f"R_{n}"] for n in ("A", "U", "u")}
    return {**values, **radii, **reach}


def numbers(values: Mapping[str, Any]) -> dict[str, float]:
    return {n: v.value if isinstance(v, Measured) else float(v) for n, v in values.items()}


def log_ratio(check: Check, values: Mapping[str, float]) -> float:
    """log(right/left) of a row: at most 0 where it holds."""
    return max(*check.formula.log_ratios(values), NOTHING)
