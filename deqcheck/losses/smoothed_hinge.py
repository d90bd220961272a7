"""Powers of the hinge loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.fields import number
from deqcheck.kinds import OuterLoss
from deqcheck.losses.logistic import refuse_labels
from deqcheck.losses.outer import PL
from deqcheck.losses.scalar import LinearScalar
from deqcheck.losses.separation import balanced_slopes, hard_margin, separated, smallest_box
from deqcheck.losses.square import refuse_zero
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured, measured, sqrt


@dataclass(frozen=True)
class SmoothedHinge(OuterLoss):
    """max(0, 1 - y q)^k for labels y in {-1, +1}, summed over the samples."""

    kind: ClassVar[str] = "smoothed-hinge"
    k: float = number(at_least=2, default=2.0, doc="power; 1 would not be differentiable")
    R: float = number(
        above=0, default=math.inf, infinite=True, doc="radius of the ball ||W||_1 < R"
    )

    def on(self, Phi: np.ndarray, Y: np.ndarray) -> LinearHinge:
        refuse_zero(Phi)
        refuse_labels(Y, "smoothed-hinge", (-1.0, 1.0))
        return LinearHinge(Phi, Y, self.k, self.R)


class LinearHinge(LinearScalar):
    def __init__(self, Phi: np.ndarray, Y: np.ndarray, k: float, R: float):
        super().__init__(Phi, Y, R)
        self.k = k
        self.signed = Phi * self.y

    def restricted(self, keep: np.ndarray) -> LinearHinge:
        return LinearHinge(self.Phi[:, keep], self.Y[:, keep], self.k, math.inf)

    def of_radius(self, R: float) -> LinearHinge:
        return LinearHinge(self.Phi, self.Y, self.k, R)

    def _short(self, q: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.maximum(1 - self.y * q, 0.0)
        return found

    def values(self, q: np.ndarray) -> np.ndarray:
        return self._short(q) ** self.k

    def first(self, q: np.ndarray) -> np.ndarray:
        found: np.ndarray = -self.k * self.y * self._short(q) ** (self.k - 1)
        return found

    def second(self, q: np.ndarray) -> np.ndarray:
        short = self._short(q)
        # At the kink of k = 2 the second derivative is taken from the inactive side.
        return self.k * (self.k - 1) * np.where(short > 0, short ** (self.k - 2), 0.0)

    def kink_distance(self, W: np.ndarray) -> Measured:
        if self.k > 2:
            return Measured(math.inf)
        distance = np.abs(1 - self.y * (W[0] @ self.Phi))
        return Measured(float(distance.min()), 8 * EPS * float(distance.max() + 1))

    def largest_second(self) -> float:
        if self.k == 2:
            return 2.0
        reach = 1 + self.R * float(np.abs(self.Phi).sum(axis=0).max())
        return float(self.k * (self.k - 1) * reach ** (self.k - 2))

    @cached_property
    def separable(self) -> bool:
        return bool(separated(self.signed).all())

    @cached_property
    def _zero_inside(self) -> bool | None:
        """Whether the ball holds a point of zero loss; None if its edge is too near to tell."""
        if not self.separable:
            return False
        box = smallest_box(self.signed)
        return None if abs(self.R / box - 1) < 1e-9 else box < self.R

    def _boxed_infimum(self) -> Measured:
        return Measured(0.0) if self._zero_inside else super()._boxed_infimum()

    def _free_infimum(self) -> Measured:
        if self.separable:
            return Measured(0.0)
        w = self.minimise(math.inf)
        total, error, _, _ = self.exactly(w)
        slopes = balanced_slopes(self.Phi, self.first(w @ self.Phi))
        # Conjugate of max(0, 1 - t)^k at -b, b >= 0: -b + (k - 1) (b/k)^(k/(k-1)).
        b = -self.y * slopes
        if (b < 0).any():
            return Measured(total, np.inf)
        dual = float((b - (self.k - 1) * (b / self.k) ** (self.k / (self.k - 1))).sum())
        width = max(total - dual, 0.0)
        noise = error + 8 * EPS * len(b) * (total + float(b.sum())) + self.unbalanced(w, slopes)
        return Measured(total - width / 2, width / 2 + noise, "duality gap")

    @cached_property
    def pl(self) -> PL:
        if self._zero_inside is None:
            return PL(Measured(np.nan), "the edge of the ball touches the zero-loss set")
        if self._zero_inside:
            if self.k > 2:
                return PL(Measured(0.0), "the inequality fails for every kappa > 0 when k > 2")
            return PL(2 / hard_margin(self.signed) ** 2, "2/|w|^2, w the hard-margin vector")
        if self.separable:
            return PL(self._steep_ball(), "no stationary point in the ball")
        return PL(Measured(np.nan), "no constant is proven for inseparable data")

    def _steep_ball(self) -> Measured:
        """min |grad|^2 / (2 (max L0 - L0*)): with v of zero loss, |grad(w)| |w - v| >= L0(w) >= L0*
        by convexity, and |w - v| <= |v| + R sqrt(m)."""
        far = hard_margin(self.signed) + self.R * sqrt(len(self.Phi))
        steep = self.infimum / far
        reach = 1 + self.R * np.abs(self.Phi).sum(axis=0)
        highest = measured(float((reach**self.k).sum())) * (1 + 1e-12)
        return Measured((steep**2 / (2 * (highest - self.infimum))).low)
