"""What bounds the distance of a state from the only equilibrium Z = relu(W Z + C)."""

from __future__ import annotations

import numpy as np

from deqcheck.frozen import dataclass


def _residual(Z: np.ndarray, H: np.ndarray) -> np.ndarray:
    found: np.ndarray = Z - np.maximum(H, 0.0)
    return found


@dataclass(frozen=True)
class Contraction:
    """||W||_2 <= q < 1: any Z lies within ||Z - relu(W Z + C)||/(1 - q) of the equilibrium."""

    q: float

    def defect(self, Z: np.ndarray, H: np.ndarray) -> np.ndarray:
        """Of Z with the pre-activations H = W Z + C: 0 at the equilibrium."""
        return _residual(Z, H)

    def radius(self, defect: float) -> float:
        return defect / (1 - self.q) if self.q < 1 else np.inf

    @property
    def inverse(self) -> float:
        """Bound on ||(I - J W)^-1 J|| for every diagonal J with entries in [0, 1]."""
        return 1 / (1 - self.q) if self.q < 1 else np.inf


@dataclass(frozen=True)
class Monotone:
    """sym(I - W) >= modulus I: any Z >= 0 lies within ||rho||/modulus of the equilibrium.

    z = relu(W z + c) means z >= 0, w = F z - c >= 0 and z^T w = 0, with F = I - W. Let rho be
    F z - c where z > 0 and min(F z - c, 0) where z = 0: then z solves the equation for c + rho,
    with w = F z - c - rho. For the equilibrium z*, w* (z - z*)^T (w - w*) = -z^T w* - z*^T w <= 0,
    so modulus |z - z*|^2 <= (z - z*)^T F (z - z*) <= (z - z*)^T rho.
    """

    modulus: float

    def defect(self, Z: np.ndarray, H: np.ndarray) -> np.ndarray:
        """rho; nothing is known of a Z with negative entries."""
        found: np.ndarray = np.where(Z > 0, Z - H, np.where(Z == 0, -np.maximum(H, 0.0), np.inf))
        return found

    def radius(self, defect: float) -> float:
        return defect / self.modulus

    @property
    def inverse(self) -> float:
        return 1 / self.modulus


@dataclass(frozen=True)
class Bounded:
    """||(I - D W)^-1|| <= bound for every diagonal D with entries in [0, 1]: the difference of Z
    and the equilibrium is (I - D W)^-1 (Z - relu(W Z + C)) for such a D in every column."""

    bound: float

    def defect(self, Z: np.ndarray, H: np.ndarray) -> np.ndarray:
        return _residual(Z, H)

    def radius(self, defect: float) -> float:
        return self.bound * defect

    @property
    def inverse(self) -> float:
        return self.bound


@dataclass(frozen=True)
class Swept:
    """Z is what some sweeps made of it and need be near no equilibrium; ||(I - J W)^-1 J|| <= bound
    for the slopes J of Z itself."""

    bound: float

    def defect(self, Z: np.ndarray, H: np.ndarray) -> np.ndarray:
        return _residual(Z, H)

    def radius(self, defect: float) -> float:
        return np.inf

    @property
    def inverse(self) -> float:
        return self.bound


Certificate = Contraction | Monotone | Bounded | Swept
