"""Losses of one output, given by a function of q = w phi for every sample."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.errors import length
from deqcheck.linalg.spectra import Factored
from deqcheck.losses.ball import optimality_gap, projected_newton
from deqcheck.losses.outer import PL, Evaluation, OneByOne
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured
from deqcheck.records.tower import Again


class LinearScalar(OneByOne):
    """L0(w) = sum_i l_i(w phi_i), convex, for a row w; the ball is the box |w_j| < R."""

    def __init__(self, Phi: np.ndarray, Y: np.ndarray, R: float, relative: float = 0.0):
        self.Phi, self.Y, self.R = Phi, Y, R
        self.y = Y[0]
        self.factored = Factored(Phi, relative)
        # How far Phi may be from the matrix of smaller rank that it stands for.
        self._off = self.factored.cut if relative else 0.0
        self._columns = np.linalg.norm(Phi, axis=0)
        self._phi_norm = euclidean(Phi)

    def exact_gradient(self, W: Again) -> Again | None:
        return None

    def exact_gap(self, W: Again) -> Again | None:
        return None

    @abstractmethod
    def values(self, q: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def first(self, q: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def second(self, q: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def largest_second(self) -> float:
        """sup of the second derivative over the outputs that the ball allows (may be inf)."""

    @abstractmethod
    def _free_infimum(self) -> Measured:
        """The infimum over all w."""

    @property
    @abstractmethod
    def pl(self) -> PL: ...

    @cached_property
    def infimum(self) -> Measured:
        return self._free_infimum() if math.isinf(self.R) else self._boxed_infimum()

    def _boxed_infimum(self) -> Measured:
        w = self.minimise(self.R)
        total, error, slope, radius = self.exactly(w)
        below = optimality_gap(w[None], slope, self.R, radius)
        return Measured(total - below / 2, below / 2 + error, "Frank-Wolfe gap")

    def unbalanced(self, w: np.ndarray, slopes: np.ndarray) -> float:
        """What a dual point with Phi a != 0 may miss: w Phi a at a true minimiser, which is taken
        to be at most a few times as long as w. Where the rank is not certain it may be any length.
        """
        if not self.factored.visible:
            return math.inf
        lost = euclidean(self.Phi @ slopes) + self._off * length(slopes)
        lost += 4 * EPS * len(slopes) * self._phi_norm * euclidean(slopes)
        return 4 * lost * euclidean(w)

    def minimise(self, R: float, keep: np.ndarray | None = None) -> np.ndarray:
        """A minimiser over the box, of all samples or of those to keep."""
        Phi = self.Phi if keep is None else self.Phi[:, keep]
        here = self if keep is None else self.restricted(keep)
        return projected_newton(
            lambda w: float(here.values(w @ Phi).sum()),
            lambda w: np.asarray(Phi @ here.first(w @ Phi)),
            lambda w: np.asarray((Phi * here.second(w @ Phi)) @ Phi.T),
            np.zeros(len(Phi)),
            R,
        )

    def minimiser(self) -> np.ndarray | None:
        return self.minimise(math.inf)[None]

    @abstractmethod
    def of_radius(self, R: float) -> LinearScalar:
        """The same loss over another ball."""

    @abstractmethod
    def restricted(self, keep: np.ndarray) -> LinearScalar:
        """The same loss on some of the samples, without a ball."""

    def exactly(self, w: np.ndarray) -> Evaluation:
        """L0 itself at this very w."""
        return self._whole(w, euclidean(w), 0.0)

    def _whole(self, w: np.ndarray, size: float, radius: float) -> Evaluation:
        """Outputs move by |phi_i| times the radius, and the sums round."""
        q = w @ self.Phi
        values, first = self.values(q), self.first(q)
        reach = self._columns * (radius + 4 * EPS * len(w) * size) + self._off * size
        # Losses round once more what they compute from q.
        reach = reach + 2 * EPS * (1 + np.abs(q))
        moved = self.largest_step(q, reach) * reach
        total = float(values.sum())
        rounding = 4 * EPS * (len(q) + 4) * float(np.abs(values).sum() + np.abs(q).sum() * EPS)
        lost = 8 * EPS * (len(q) ** 0.5 + 4) * length(first)
        return Evaluation(
            total,
            float((np.abs(first) + moved) @ reach) + rounding,
            (self.Phi @ first)[None],
            self._phi_norm * (euclidean(moved) + lost) + self._off * length(first),
        )

    def largest_step(self, q: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """Bound on the second derivative between q - reach and q + reach."""
        found: np.ndarray = np.maximum(self.second(q - reach), self.second(q + reach))
        return found

    def evaluate(self, W: np.ndarray, size: float, radius: float) -> Evaluation:
        found, star = self._whole(W[0], size, radius), self.infimum
        return found._replace(
            gap=found.gap - star.value, error=found.error + star.error + EPS * found.gap
        )

    def gradient(self, W: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.slopes(W) @ self.Phi.T
        return found

    def slopes(self, W: np.ndarray) -> np.ndarray:
        return self.first(W[0] @ self.Phi)[None]

    def curved_features(self, W: np.ndarray) -> np.ndarray:
        return np.asarray(self.Phi * np.sqrt(self.second(W[0] @ self.Phi)))

    def curvature_signs(self, W: np.ndarray) -> np.ndarray:
        return np.ones(len(self.y))

    def kink_distance(self, W: np.ndarray) -> Measured:
        return Measured(math.inf)

    def smoothness(self) -> Measured:
        return self.largest_second() * self.factored.largest**2
