"""What a loss gives to the deep equilibrium linear model: the convex outer loss L0(W)."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg.errors import length, rounding
from deqcheck.linalg.spectra import Factored
from deqcheck.records.measured import Measured
from deqcheck.records.tower import Again


@dataclass(frozen=True)
class PL:
    """A constant kappa with |grad L0|^2/2 >= kappa (L0 - L0*) on the ball, and why.

    A value of 0 says that no positive constant exists (or that none is proven, if the radius is
    infinite).
    """

    kappa: Measured
    reason: str


class Evaluation(NamedTuple):
    """L0(W) - L0* and its radius, grad L0(W) and its radius (Frobenius)."""

    gap: float
    error: float
    gradient: np.ndarray
    gradient_error: float


class Evaluations(NamedTuple):
    """The same at many W, in arrays with a leading axis."""

    gap: np.ndarray
    error: np.ndarray
    gradient: np.ndarray
    gradient_error: np.ndarray


class Outer(Protocol):
    """L0(W) = sum_i l(W phi_i, y_i) over the ball ||W||_1 < R."""

    Phi: np.ndarray
    Y: np.ndarray
    R: float
    factored: Factored

    @property
    def infimum(self) -> Measured:
        """L0* over the ball, open or closed."""
        ...

    def of_radius(self, R: float) -> Outer:
        """The same loss over another ball."""
        ...

    def of_rank(self, relative: float) -> Outer:
        """The same loss where singular values of Phi below this share of the largest count as
        zero; of losses that are `ranked`."""
        ...

    def minimiser(self) -> np.ndarray | None:
        """A W of smallest loss, whatever the ball; None where there is none, or none is known."""
        ...

    @property
    def pl(self) -> PL:
        """The best proven constant."""
        ...

    def evaluate(self, W: np.ndarray, size: float, radius: float) -> Evaluation:
        """At a W of this Frobenius norm that is known up to the radius."""
        ...

    def evaluate_all(self, W: np.ndarray, size: np.ndarray, radius: np.ndarray) -> Evaluations:
        """At many of them."""
        ...

    def gradient(self, W: np.ndarray) -> np.ndarray:
        """grad L0 at W alone."""
        ...

    def exact_gradient(self, W: Again) -> Again | None:
        """grad L0 at W, to be computed again; None where it is not known how."""
        ...

    def exact_gap(self, W: Again) -> Again | None:
        """L0(W) - L0*, likewise."""
        ...

    def slopes(self, W: np.ndarray) -> np.ndarray:
        """dl/dq for every output and sample (my x n)."""
        ...

    def curved_features(self, W: np.ndarray) -> np.ndarray:
        """C with C diag(signs) C^T = the Hessian of L0 at W for one output."""
        ...

    def curvature_signs(self, W: np.ndarray) -> np.ndarray:
        """Those signs: a loss that is not convex has negative ones."""
        ...

    def kink_distance(self, W: np.ndarray) -> Measured:
        """How far the outputs are from a point where the loss has no second derivative."""
        ...

    def smoothness(self) -> Measured:
        """Bound on the second derivative of L0 along unit directions."""
        ...


def batch_gradient(
    outer: Outer, W: np.ndarray, radius: float, weights: np.ndarray
) -> tuple[np.ndarray, float]:
    """The gradient of sum_i weights_i l(W phi_i, y_i) at a W known up to the radius, and its own
    radius; from the slopes of the single samples, which no factorisation of Phi has mixed."""
    slopes = outer.slopes(W) * weights
    w, phi, y = (length(a) for a in (W, outer.Phi, outer.Y))
    # |l''| of one sample, times how far its output may be off.
    moved = float(outer.smoothness().high) / float(outer.factored.largest.low) ** 2
    moved *= radius * phi + rounding(len(outer.Phi), w * phi + y)
    error = phi * float(np.max(np.abs(weights))) * moved
    return slopes @ outer.Phi.T, error + rounding(len(weights), phi * length(slopes))
