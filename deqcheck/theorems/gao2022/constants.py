"""The free constants C1, C2, C3 of Theorems 4.2 and 4.4: a geometric program.

In the logarithms of C1, C2, C3 every condition is `log(right/left) <= 0` with a convex left side:
lambda1, lambda3, u = 1/(1 - gamma0) and c are posynomials of them. So the smallest possible worst
ratio is found by convex minimisation, and the conditions can hold if and only if it is at most 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, inf, log, log1p
from typing import Any

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg.minimax import minimise_largest
from deqcheck.records.log_domain import logarithm
from deqcheck.records.measured import given
from deqcheck.theorems.base import Check, Constant
from deqcheck.theorems.gao2022.setting import Problem

NAMES = ("C1", "C2", "C3")
MOVES = {
    name: f"how far |{moved}| may move; default: the optimum of a geometric program"
    for name, moved in zip(NAMES, "WAb", strict=True)
}
# What follows from the conditions does so for all constants that meet them.
MEANING = {name: Constant(doc, for_all=True, sought=True, above=0) for name, doc in MOVES.items()}
# The logarithms are searched in this box, and nothing is taken for smaller than SMALLEST.
BOX = (-46.0, 46.0)
SMALLEST = 1e-300


def at_start(p: Problem) -> dict[str, Any]:
    """What the conditions say of the initial state."""
    s = p.start
    return {
        **{f"norm_{name}": s.measure(f"norm2.{name}") for name in ("W", "A", "b")},
        "gamma": given(s.gamma),
        "alpha0": s.sigma_min_Z,
        "X_fro": s.X_fro,
        "r0": s.residual,
    }


def with_constants(start: Mapping[str, Any], C: Mapping[str, Any]) -> dict[str, Any]:
    """lambda1, lambda2, lambda3 and gamma0 beside them, of plain numbers or of measured ones."""
    lambda1, lambda2, lambda3 = (
        start[f"norm_{name}"] + C[constant]
        for name, constant in zip(("W", "A", "b"), NAMES, strict=True)
    )
    reach = {"lambda1": lambda1, "lambda2": lambda2, "lambda3": lambda3}
    return {**start, **C, **reach, "gamma0": start["gamma"] * lambda2}


@dataclass(frozen=True)
class Chosen:
    """The constants, and the worst ratio right/left that they leave (log), of which conditions."""

    C: Mapping[str, float]
    worst: float
    counted: str = ""

    @property
    def ratio(self) -> float:
        return exp(min(self.worst, 700.0))


class Program:
    """The smallest possible worst ratio of some conditions, which are the checks themselves."""

    def __init__(self, p: Problem, fixed: Mapping[str, float]):
        self.start, self.fixed = _rounded_against(p), fixed
        self._free = [name for name in NAMES if name not in fixed]
        self._logs = {name: logarithm(x) for name, x in self.start.items()}

    def log_ratios(
        self, checks: Sequence[Check], C: Mapping[str, float], step: float = 0.0
    ) -> list[float]:
        """log(right/left), smooth: one for each entry of an extremum. inf where gamma0 >= 1."""
        values = with_constants(self.start, C)
        if not values["gamma0"] < 1 or min(C.values()) <= 0:
            return [inf] * sum(check.formula.entries for check in checks)
        values["step"] = step
        logs = {n: self._logs[n] if n in self._logs else logarithm(x) for n, x in values.items()}
        return [ratio for check in checks for ratio in check.formula.log_ratios_of_logs(logs)]

    def best(self, checks: Sequence[Check], step: float = 0.0) -> Chosen:
        """The constants that leave the smallest worst ratio; those fixed in the case stay."""
        if not self._free:
            return Chosen(dict(self.fixed), max(self.log_ratios(checks, self.fixed, step)))
        guess = _guess(self.start)
        found = minimise_largest(
            lambda x: np.array(self.log_ratios(checks, self._filled(x), step)),
            np.array([guess[name] for name in self._free]),
            BOX,
        )
        counted = ", the step counted in" if step else ""
        return Chosen(self._filled(found.x), found.value, counted)

    def _filled(self, x: np.ndarray) -> dict[str, float]:
        searched = dict(zip(self._free, np.exp(x).tolist(), strict=True))
        return {name: searched.get(name, self.fixed.get(name, 0.0)) for name in NAMES}


def _rounded_against(p: Problem) -> dict[str, float]:
    """Each number of the start rounded against the conditions."""
    known = at_start(p)
    found = {name: float(number.high) for name, number in known.items()}
    found["alpha0"] = float(known["alpha0"].low)
    return {**found, **{name: max(found[name], SMALLEST) for name in ("alpha0", "r0")}}


def _guess(start: Mapping[str, float]) -> dict[str, float]:
    """Logarithms of constants of the size of the parameters, with half the room for C2."""
    gamma, W, A, b = (start[name] for name in ("gamma", "norm_W", "norm_A", "norm_b"))
    room = max((1 - gamma * A) / gamma, SMALLEST)
    return {
        "C1": log(0.1 * W + SMALLEST),
        "C2": max(min(log(room / 2), log1p(A)), BOX[0]),
        "C3": log(0.1 * W + b + SMALLEST),
    }
