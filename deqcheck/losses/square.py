"""The square loss: sum of squared residuals."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np

from deqcheck.fields import Refusal, number
from deqcheck.frozen import dataclass
from deqcheck.kinds import OuterLoss
from deqcheck.linalg import exact
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.errors import F, length, rounding, sum_of_squares
from deqcheck.linalg.spectra import Factored
from deqcheck.losses.ball import fista, optimality_gap
from deqcheck.losses.outer import PL, Evaluation, Evaluations
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured, given
from deqcheck.records.tower import Again, rational


@dataclass(frozen=True)
class Square(OuterLoss):
    """|q - y|^2, summed over the samples (no 1/n, no 1/2)."""

    kind: ClassVar[str] = "square"
    ranked: ClassVar[bool] = True
    R: float = number(
        above=0, default=math.inf, infinite=True, doc="radius of the ball ||W||_1 < R"
    )

    def on(self, Phi: np.ndarray, Y: np.ndarray) -> LinearSquare:
        refuse_zero(Phi)
        return LinearSquare(Phi, Y, self.R)


def refuse_zero(Phi: np.ndarray) -> None:
    if not Phi.any():
        raise Refusal("data", "every feature is zero (Phi = 0); expected a non-zero Phi")


class LinearSquare:
    """L0(W) = ||W Phi - Y||_F^2, free of n after set-up.

    With Phi = P diag(s) V^T (thin): L0(W) = ||W P diag(s) - Y V||^2 + ||Y (I - V V^T)||^2. The
    first term is the gap to the free infimum, without any cancellation between losses.
    """

    def __init__(self, Phi: np.ndarray, Y: np.ndarray, R: float = math.inf, relative: float = 0.0):
        self.Phi, self.Y, self.R = Phi, Y, R
        self.factored = Factored(Phi, relative)
        self.features = np.ascontiguousarray(self.factored.scaled)
        self.targets = Y @ self.factored.vt.T
        self._phi_norm, self._y_norm = length(self.features), length(Y)
        self._orthogonal = euclidean(self._rest)
        # grad L0 = 2 (W F - T) F^T.
        self._doubled = np.ascontiguousarray(2 * self.features.T)
        self._whole = math.isinf(R)
        # The targets are sums over all samples.
        self._roundings = float(max(8 * len(self.features), Phi.shape[1]))
        self._turn, self._cut = self.factored.row_space_error, self.factored.cut

    @property
    def _rest(self) -> np.ndarray:
        found: np.ndarray = self.Y - self.targets @ self.factored.vt
        return found

    @cached_property
    def infimum(self) -> Measured:
        return self._free_infimum + self.raised

    @cached_property
    def _free_infimum(self) -> Measured:
        """||Y (I - V V^T)||^2: exactly 0 when the samples are independent."""
        if self.factored.rank == self.Phi.shape[1]:
            return replace(given(0), how=self.factored.how)
        radius = (
            rounding(sum(self.Phi.shape), self._y_norm, 1.0)
            + self.factored.row_space_error * self._y_norm
        )
        Phi, Y = self._exact_data
        rest = exact.minus(Y, exact.product(Y, exact.onto_row_space(Phi)))
        found = sum_of_squares(self._rest, radius, self.factored.again(rest))
        return replace(found, how=self.factored.how)

    @cached_property
    def raised(self) -> Measured:
        """By how much a finite ball lifts the infimum: 0 when it holds a least-squares fit."""
        if self._whole:
            return given(0)
        if np.abs(self.minimiser()).sum(axis=0).max() < self.R * (1 - 1e-9):
            return Measured(0.0)
        return self._constrained()

    def of_radius(self, R: float) -> LinearSquare:
        return LinearSquare(self.Phi, self.Y, R, self.factored.relative)

    def of_rank(self, relative: float) -> LinearSquare:
        return LinearSquare(self.Phi, self.Y, self.R, relative)

    def minimiser(self) -> np.ndarray:
        found: np.ndarray = np.linalg.lstsq(self.features.T, self.targets.T, rcond=None)[0].T
        return found

    def _constrained(self) -> Measured:
        W = fista(self.gradient, np.zeros((len(self.Y), len(self.Phi))), self.R, self._lipschitz)
        gap, error, G, radius = self._above_free(W, euclidean(W), 0.0)
        below = optimality_gap(W, G, self.R, radius)
        return Measured(gap - below / 2, below / 2 + error, "Frank-Wolfe gap")

    @property
    def _lipschitz(self) -> float:
        return 2 * float(self.factored.largest.high) ** 2

    def residual(self, W: np.ndarray) -> np.ndarray:
        # The method has less overhead than the operator.
        r = W.dot(self.features)
        r -= self.targets
        found: np.ndarray = r
        return found

    def gradient(self, W: np.ndarray) -> np.ndarray:
        # As residual, with one call less: see DelmModel.
        r = W.dot(self.features)
        r -= self.targets
        found: np.ndarray = r.dot(self._doubled)
        return found

    def residual_radius(self, W_norm: F, W_radius: F, residual: F) -> F:
        """How far the computed residual (in row-space coordinates) may be from the true one."""
        scale = W_norm * self._phi_norm + self._y_norm
        turned = self._turn * (residual + self._orthogonal) + self._cut * W_norm
        return self._roundings * EPS * scale + self._phi_norm * W_radius + turned

    def _above_free(self, W: np.ndarray, W_norm: float, W_radius: float) -> Evaluation:
        """Above the free infimum."""
        r = self.residual(W)
        gap = float(np.vdot(r, r))
        error, gradient_error = self._errors(gap, math.sqrt(gap), W_norm, W_radius)
        return Evaluation(gap, error, r.dot(self._doubled), gradient_error)

    def _errors(self, gap: F, size: F, W_norm: F, W_radius: F) -> tuple[F, F]:
        """Of the gap and of the gradient, where the residual has this size."""
        radius = self.residual_radius(W_norm, W_radius, size)
        error = 2 * size * radius + radius * radius + EPS * max(4, self.targets.size) * gap
        wide = radius + 4 * EPS * self.features.shape[1] * size
        return error, 2 * self._phi_norm * wide

    def evaluate(self, W: np.ndarray, size: float, radius: float) -> Evaluation:
        found = self._above_free(W, size, radius)
        if self._whole:
            return found
        raised = self.raised
        return found._replace(gap=found.gap - raised.value, error=found.error + raised.error)

    def evaluate_all(self, W: np.ndarray, size: np.ndarray, radius: np.ndarray) -> Evaluations:
        r = W @ self.features
        r -= self.targets
        rows = r.reshape(len(r), -1)
        gap = np.add.reduce(rows * rows, axis=1)
        error, gradient_error = self._errors(gap, np.sqrt(gap), size, radius)
        raised = self.raised
        return Evaluations(
            gap - raised.value, error + raised.error, r @ self._doubled, gradient_error
        )

    @cached_property
    def _exact_data(self) -> tuple[Again, Again]:
        return exact.array(self.Phi), exact.array(self.Y)

    def exact_gradient(self, W: Again) -> Again:
        Phi, Y = self._exact_data
        r = exact.minus(exact.product(W, Phi), Y)
        return exact.scaled(rational(2), exact.product(r, exact.transpose(Phi)))

    def exact_gap(self, W: Again) -> Again | None:
        """||(W Phi - Y) P||^2 with P the projector onto the row space of Phi."""
        if not self._whole:
            return None
        Phi, Y = self._exact_data
        r = exact.minus(exact.product(W, Phi), Y)
        gap = exact.sum_of_squares(exact.product(r, exact.onto_row_space(Phi)))
        return self.factored.again(gap)

    @cached_property
    def pl(self) -> PL:
        """L0 - L0* over a ball is at most that over everything, so R does not matter."""
        kappa = 2 * self.factored.smallest_positive**2
        return PL(kappa, "2 sigma_pos(Phi)^2")

    def slopes(self, W: np.ndarray) -> np.ndarray:
        found: np.ndarray = 2 * (W @ self.Phi - self.Y)
        return found

    def curved_features(self, W: np.ndarray) -> np.ndarray:
        return float(np.sqrt(2)) * self.features

    def curvature_signs(self, W: np.ndarray) -> np.ndarray:
        return np.ones(self.features.shape[1])

    def kink_distance(self, W: np.ndarray) -> Measured:
        return Measured(math.inf)

    def smoothness(self) -> Measured:
        return 2 * self.factored.largest**2
