"""The logistic loss with an optional quadratic term."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from deqcheck.fields import Refusal, number
from deqcheck.kinds import OuterLoss
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.errors import symmetric_eigenvalues
from deqcheck.losses.outer import PL
from deqcheck.losses.scalar import LinearScalar
from deqcheck.losses.separation import balanced_slopes, separated
from deqcheck.losses.square import refuse_zero
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured, exp, measured


@dataclass(frozen=True)
class Logistic(OuterLoss):
    """log(1 + e^q) - y q + tau q^2 for labels y in {0, 1}, summed over the samples."""

    kind: ClassVar[str] = "logistic"
    ranked: ClassVar[bool] = True
    tau: float = number(at_least=0, default=0.0, doc="weight of the quadratic term")
    R: float = number(
        above=0, default=math.inf, infinite=True, doc="radius of the ball ||W||_1 < R"
    )

    def on(self, Phi: np.ndarray, Y: np.ndarray) -> LinearLogistic:
        refuse_zero(Phi)
        refuse_labels(Y, "logistic", (0.0, 1.0))
        return LinearLogistic(Phi, Y, self.tau, self.R)


def refuse_labels(Y: np.ndarray, loss: str, allowed: tuple[float, float]) -> None:
    if len(Y) != 1:
        raise Refusal("loss", f"{loss} has one output; the data have my = {len(Y)}")
    wrong = Y[~np.isin(Y, allowed)]
    if wrong.size:
        first, second = (f"{a:g}" for a in allowed)
        raise Refusal("data", f"a label is {wrong[0]:g}; {loss} expects {first} or {second}")


class LinearLogistic(LinearScalar):
    def __init__(self, Phi: np.ndarray, Y: np.ndarray, tau: float, R: float, relative: float = 0.0):
        super().__init__(Phi, Y, R, relative)
        self.tau = tau
        self._sign = np.where(self.y == 1, -1.0, 1.0)

    def restricted(self, keep: np.ndarray) -> LinearLogistic:
        Phi, Y = self.Phi[:, keep], self.Y[:, keep]
        return LinearLogistic(Phi, Y, self.tau, math.inf, self.factored.relative)

    def of_radius(self, R: float) -> LinearLogistic:
        return LinearLogistic(self.Phi, self.Y, self.tau, R, self.factored.relative)

    def of_rank(self, relative: float) -> LinearLogistic:
        return LinearLogistic(self.Phi, self.Y, self.tau, self.R, relative)

    def minimiser(self) -> np.ndarray | None:
        """Without the quadratic term the loss of a separated sample falls for ever."""
        if self.tau == 0 and self._separated.any():
            return None
        return super().minimiser()

    @cached_property
    def _separated(self) -> np.ndarray:
        # In the coordinates of the range, where no direction is of rounding alone.
        Phi = self.factored.p.T @ self.Phi if self.factored.relative else self.Phi
        return separated(Phi * (2 * self.y - 1))

    def values(self, q: np.ndarray) -> np.ndarray:
        # log(1 + e^q) - y q without cancellation: log(1 + e^s) with s = -q for y = 1, q for y = 0.
        found: np.ndarray = np.logaddexp(0.0, self._sign * q) + self.tau * q**2
        return found

    def first(self, q: np.ndarray) -> np.ndarray:
        # p - y as -+1/(1 + e^-s) with the same s, accurate when p is near y.
        found: np.ndarray = self._sign * _sigmoid(self._sign * q) + 2 * self.tau * q
        return found

    def second(self, q: np.ndarray) -> np.ndarray:
        e = np.exp(-np.abs(q))
        found: np.ndarray = e / (1 + e) ** 2 + 2 * self.tau
        return found

    def largest_step(self, q: np.ndarray, reach: np.ndarray) -> np.ndarray:
        # p (1 - p) is largest at 0 and falls with |q|.
        nearest = np.maximum(np.abs(q) - reach, 0.0)
        return self.second(nearest)

    def largest_second(self) -> float:
        return 0.25 + 2 * self.tau

    def rho(self, reach: np.ndarray | float) -> Measured:
        """inf of p (1 - p) over |q| < R reach: e/(1 + e)^2, e = exp(-R reach)."""
        if math.isinf(self.R):
            return Measured(0.0)
        e = exp(-self.R * measured(reach, 4 * EPS * np.abs(reach)))
        return e / (1 + e) ** 2

    @property
    def rho_R(self) -> Measured:
        return self.rho(float(np.abs(self.Phi).sum(axis=0).max()))

    @cached_property
    def pl(self) -> PL:
        """lambda_min of sum_i (2 tau + rho_i) phi_i phi_i^T on the range of Phi."""
        weights = 2 * self.tau + self.rho(np.abs(self.Phi).sum(axis=0))
        reduced = self.factored.p.T @ self.Phi
        M = (reduced * weights.value) @ reduced.T
        size = euclidean(self.Phi) ** 2
        radius = float(np.max(weights.error)) * size + 8 * EPS * len(self.Phi) * size * float(
            np.max(weights.value)
        )
        radius += 3 * self._off * size**0.5 * float(np.max(weights.value))
        found = symmetric_eigenvalues(M, radius)[0]
        found = replace(found, how=self.factored.how or found.how)
        return PL(found, "lambda_min(sum_i (2 tau + rho_i) phi phi^T)")

    def _free_infimum(self) -> Measured:
        if self.tau > 0:
            return self._strongly_convex_infimum()
        keep = ~self._separated
        if not keep.any():
            return Measured(0.0)
        part = self.restricted(keep)
        w = self.minimise(math.inf, keep)
        total, error, _, _ = part.exactly(w)
        slopes = balanced_slopes(part.Phi, part.first(w @ part.Phi))
        # Conjugate of log(1 + e^q) - y q at a: entropy of p = a + y.
        p = slopes + part.y
        if (p <= 0).any() or (p >= 1).any():
            return Measured(total, np.inf)
        dual = -float((p * np.log(p) + (1 - p) * np.log1p(-p)).sum())
        width = max(total - dual, 0.0)
        noise = error + 8 * EPS * len(p) * (total + 1) + part.unbalanced(w, slopes)
        return Measured(total - width / 2, width / 2 + noise, "duality gap")

    def _strongly_convex_infimum(self) -> Measured:
        w = self.minimise(math.inf)
        total, error, gradient, radius = self.exactly(w)
        slope = euclidean(gradient) + radius
        smallest = max(float(self.factored.smallest_positive.low), 0.0)
        modulus = 2 * self.tau * smallest**2
        if modulus == 0:
            if smallest > 0:
                raise FloatingPointError("the square of sigma_pos(Phi) underflows")
            return Measured(total, math.inf, "the rank is not certain")
        # The square of a slope may vanish.
        width = slope * (slope / (2 * modulus))
        return Measured(total - width / 2, width / 2 + error, "gradient over strong convexity")


def _sigmoid(q: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(q))
    found: np.ndarray = np.where(q >= 0, 1.0, e) / (1 + e)
    return found
