"""A loss of one's own: any differentiable l(q, y) of the outputs, convex or not."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from copy import copy
from typing import TypeVar

import numpy as np

from deqcheck.linalg.errors import length
from deqcheck.linalg.spectra import Factored
from deqcheck.losses.ball import fista
from deqcheck.losses.outer import PL, Evaluation, Evaluations
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured
from deqcheck.records.tower import Again

L = TypeVar("L", bound="Pointwise")


class Pointwise(ABC):
    """L0(W) = sum_i l(W phi_i, y_i) for outputs q = W Phi (my x n), accurate to a few units in the
    last place; `self.Y` holds the targets (my x n).

    The infimum lies between `lowest` and the smallest value that descent has found: a loss that
    fits its data has it in many digits; any other should say what is known by an `infimum` of its
    own.
    """

    # A bound on the second derivative of l in q, in any direction, over the outputs that the ball
    # allows; inf where there is none.
    bend: float
    # A lower bound of L0: the paper's losses are not negative.
    lowest: float = 0.0

    def __init__(self, Phi: np.ndarray, Y: np.ndarray, R: float = math.inf):
        self.Phi, self.Y, self.R = Phi, Y, R
        self.factored = Factored(Phi)
        self._columns = np.linalg.norm(Phi, axis=0)

    @abstractmethod
    def values(self, q: np.ndarray) -> np.ndarray:
        """l for each sample."""

    @abstractmethod
    def first(self, q: np.ndarray) -> np.ndarray:
        """dl/dq, my x n."""

    @abstractmethod
    def second(self, q: np.ndarray) -> np.ndarray:
        """d2l/dq2 for each sample; of several outputs it is not asked for."""

    def exact_gradient(self, W: Again) -> Again | None:
        return None

    def exact_gap(self, W: Again) -> Again | None:
        return None

    @property
    def pl(self) -> PL:
        """A constant that is proven, if any."""
        return PL(Measured(np.nan), "no constant is proven for this loss")

    def of_radius(self: L, R: float) -> L:
        found = copy(self)
        for known in ("infimum", "_lowest_point"):
            found.__dict__.pop(known, None)
        found.R = R
        return found

    @cached_property
    def _lowest_point(self) -> np.ndarray:
        start = np.zeros((len(self.Y), len(self.Phi)))
        step = float(self.smoothness().high)
        if not (0 < step < math.inf):
            return start
        return fista(lambda W: self.slopes(W) @ self.Phi.T, start, self.R, step)

    def minimiser(self) -> np.ndarray | None:
        """Only where the lower bound shows that it is one."""
        free = self if math.isinf(self.R) else self.of_radius(math.inf)
        found = free.infimum
        known = found.error <= 1e-9 * (1 + abs(found.value))
        return free._lowest_point if known else None

    @cached_property
    def infimum(self) -> Measured:
        W = self._lowest_point
        found = self._whole(W, length(W), 0.0)
        high, low = found.gap + found.error, self.lowest
        return Measured((low + high) / 2, max(high - low, 0.0) / 2 + EPS * abs(high), "descent")

    def _whole(self, W: np.ndarray, size: float, radius: float) -> Evaluation:
        """L0 itself. Outputs move by |phi_i| times the radius, and the sums round."""
        q = W @ self.Phi
        values, first = self.values(q), self.first(q)
        reach = self._columns * (radius + 4 * EPS * len(self.Phi) * size)
        reach = reach + 2 * EPS * (1 + np.abs(q).max(axis=0))
        slope = np.linalg.norm(first, axis=0)
        rounding = 4 * EPS * (len(values) + 4) * float(np.abs(values).sum())
        lost = 8 * EPS * (len(values) ** 0.5 + 4) * length(first)
        return Evaluation(
            float(values.sum()),
            float((slope + self.bend * reach) @ reach) + rounding,
            first @ self.Phi.T,
            length(self.Phi) * (self.bend * length(reach) + lost),
        )

    def evaluate(self, W: np.ndarray, size: float, radius: float) -> Evaluation:
        found, star = self._whole(W, size, radius), self.infimum
        return found._replace(
            gap=found.gap - star.value, error=found.error + star.error + EPS * found.gap
        )

    def evaluate_all(self, W: np.ndarray, size: np.ndarray, radius: np.ndarray) -> Evaluations:
        at = zip(W, size.tolist(), radius.tolist(), strict=True)
        rows = [self.evaluate(*each) for each in at]
        return Evaluations(*(np.array(column) for column in zip(*rows, strict=True)))

    def gradient(self, W: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.slopes(W) @ self.Phi.T
        return found

    def slopes(self, W: np.ndarray) -> np.ndarray:
        return self.first(W @ self.Phi)

    def curved_features(self, W: np.ndarray) -> np.ndarray:
        return np.asarray(self.Phi * np.sqrt(np.abs(self._seconds(W))))

    def curvature_signs(self, W: np.ndarray) -> np.ndarray:
        return np.asarray(np.sign(self._seconds(W)))

    def _seconds(self, W: np.ndarray) -> np.ndarray:
        return np.asarray(self.second(W @ self.Phi)).reshape(-1)

    def kink_distance(self, W: np.ndarray) -> Measured:
        """How far the outputs are from where l has no second derivative."""
        return Measured(math.inf)

    def smoothness(self) -> Measured:
        return self.bend * self.factored.largest**2
