"""What bounds the distance of a state from the only equilibrium Z = relu(W Z + C)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Contraction:
    """||W||_2 <= q < 1: any Z lies within ||Z - relu(W Z + C)||/(1 - q) of the equilibrium."""

    q: float

    def radius(self, residual: float) -> float:
        return residual / (1 - self.q) if self.q < 1 else np.inf

    @property
    def inverse(self) -> float:
        """Bound on ||(I - J W)^-1 J|| for every diagonal J with entries in [0, 1]."""
        return 1 / (1 - self.q) if self.q < 1 else np.inf


@dataclass(frozen=True)
class Monotone:
    """sym(I - W) >= modulus I. With r = Z - relu(W Z + C), Z - r solves the equation for C + W r,
    so the error is at most ||r|| (1 + ||W||/modulus)."""

    modulus: float
    norm: float

    def radius(self, residual: float) -> float:
        return residual * (1 + self.norm / self.modulus)

    @property
    def inverse(self) -> float:
        return 1 / self.modulus


@dataclass(frozen=True)
class Bounded:
    """||(I - D W)^-1|| <= bound for every diagonal D with entries in [0, 1]: the difference of Z
    and the equilibrium is (I - D W)^-1 (Z - relu(W Z + C)) for such a D in every column."""

    bound: float

    def radius(self, residual: float) -> float:
        return self.bound * residual

    @property
    def inverse(self) -> float:
        return self.bound


Certificate = Contraction | Monotone | Bounded
