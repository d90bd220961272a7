"""The free constants C1, C2, C3 of Theorems 4.2 and 4.4: a geometric program.

In the logarithms of C1, C2, C3 every condition is `log(right/left) <= 0` with a convex left side:
lambda1, lambda3, u = 1/(1 - gamma0) and c are posynomials of them. So the smallest possible worst
ratio is found by convex minimisation, and the conditions can hold if and only if it is at most 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, inf, log, log1p

import numpy as np

from deqcheck.linalg.minimax import Optimum, minimise_largest
from deqcheck.theorems.gao2022.setting import Problem

NAMES = ("C1", "C2", "C3")
MEANING = {
    "C1": "how far |W| may move; default: the optimum of a geometric program",
    "C2": "how far |A| may move; default: the optimum of a geometric program",
    "C3": "how far |b| may move; default: the optimum of a geometric program",
}
# The logarithms are searched in this box, and nothing is taken for smaller than SMALLEST.
BOX = (-46.0, 46.0)
SMALLEST = 1e-300


@dataclass(frozen=True)
class Strength:
    """The factors of the conditions: (14), (15) for the flow, (17)-(19) for descent."""

    first: float
    second: float
    third: float | None = None


@dataclass(frozen=True)
class Start:
    """What the conditions say of the initial state, each number rounded against them."""

    gamma: float
    W: float
    A: float
    b: float
    alpha0: float
    X: float
    r0: float

    @classmethod
    def of(cls, p: Problem) -> Start:
        s = p.start
        W, A, b = (float(s.measure(f"norm2.{name}").high) for name in ("W", "A", "b"))
        alpha0 = max(float(s.sigma_min_Z.low), SMALLEST)
        r0 = max(float(s.residual.high), SMALLEST)
        return cls(s.gamma, W, A, b, alpha0, float(s.X_fro.high), r0)

    def logs(self, C: Mapping[str, float], strength: Strength, step: float = 0.0) -> list[float]:
        """log(right/left) of each condition, smooth: one for each entry of a maximum on the
        right. inf where gamma0 >= 1."""
        C1, C2, C3 = (C[name] for name in NAMES)
        gamma0 = self.gamma * (self.A + C2)
        if not gamma0 < 1 or min(C1, C2, C3) <= 0:
            return [inf] * (4 + (strength.third is not None) + 2 * (step > 0))
        l1, l3, u = self.W + C1, self.b + C3, 1 / (1 - gamma0)
        c = 1 + (self.gamma * l1 * u) ** 2
        lambda0 = (l1 / C3, self.gamma * u * l1 * l3 / C2, l3 / C1)
        X, r0, a0 = log(self.X), log(self.r0), log(self.alpha0)
        out = [log(strength.first * u * l0 + SMALLEST) + X + r0 - 2 * a0 for l0 in lambda0]
        out.append(log(strength.second * c * u**2 * l3) + 2 * X + r0 - 3 * a0)
        if strength.third is not None:
            out.append(log(strength.third * c * (u * l3) ** 2) + 2 * X - 2 * a0)
        if step > 0:
            # eta2 = 2 c l3^2 / (u (c l3^2 + l1^2) X)^2, (20).
            spread = 2 * log(u * (c * l3**2 + l1**2)) + 2 * X
            out += [log(step) + 2 * a0 - log(4), log(step) + spread - log(2 * c * l3**2)]
        return out


@dataclass(frozen=True)
class Chosen:
    """The constants, and the worst ratio right/left that they leave (log), of which conditions."""

    C: Mapping[str, float]
    worst: float
    counted: str = ""

    @property
    def ratio(self) -> float:
        return exp(min(self.worst, 700.0))


def choose(
    start: Start, fixed: Mapping[str, float], strength: Strength, step: float = 0.0
) -> Chosen:
    """The constants that leave the smallest worst ratio; those fixed in the case stay."""
    free = [name for name in NAMES if name not in fixed]

    def constants(x: np.ndarray) -> dict[str, float]:
        searched = dict(zip(free, np.exp(x).tolist(), strict=True))
        return {name: searched.get(name, fixed.get(name, 0.0)) for name in NAMES}

    def logs(x: np.ndarray) -> np.ndarray:
        return np.array(start.logs(constants(x), strength, step))

    if not free:
        return Chosen(dict(fixed), max(start.logs(fixed, strength, step)))
    guess = _guess(start)
    found: Optimum = minimise_largest(logs, np.array([guess[name] for name in free]), BOX)
    return Chosen(constants(found.x), found.value, ", the step counted in" if step else "")


def _guess(start: Start) -> dict[str, float]:
    """Logarithms of constants of the size of the parameters, with half the room for C2."""
    room = max((1 - start.gamma * start.A) / start.gamma, SMALLEST)
    return {
        "C1": log(0.1 * start.W + SMALLEST),
        "C2": max(min(log(room / 2), log1p(start.A)), BOX[0]),
        "C3": log(0.1 * start.W + start.b + SMALLEST),
    }
