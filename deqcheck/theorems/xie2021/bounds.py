"""Explicit bounds on the state, its Jacobian and the smoothness of the loss (Lemmas 12-19).

They hold at every theta with ||W_l|| <= 1, ||U_l||, ||b_l|| <= B_Ub and ||W_o|| <= B_L, for
1-Lipschitz activations, X fixed, and a SAM step with S(0) = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deqcheck.linalg import errors
from deqcheck.models.opteq.network import Network
from deqcheck.records.measured import Measured, maximum, measured, sqrt
from deqcheck.theorems.xie2021.setting import Problem


@dataclass(frozen=True)
class Bounds:
    """On a ball of radius rho around theta_0."""

    p: Problem
    rho: Measured = Measured(0.0)

    @cached_property
    def _network(self) -> Network:
        network: Network = self.p.start.network
        return network

    @property
    def K(self) -> int:
        return int(self.p.model.iterations)

    @property
    def depth(self) -> int:
        return int(self.p.model.depth)

    @property
    def alpha(self) -> Measured:
        return measured(self.p.model.alpha)

    @cached_property
    def B_Ub(self) -> Measured:
        norms = [
            errors.norm2(each) for layer in self._network.layers for each in (layer.U, layer.b)
        ]
        return maximum(*norms) + self.rho

    @cached_property
    def B_L(self) -> Measured:
        return errors.norm2(self.p.start.Wo) + self.rho

    @cached_property
    def X_fro(self) -> Measured:
        return errors.frobenius(self._network.X, self._network.X_error)

    @cached_property
    def at_zero(self) -> Measured:
        """sqrt(n N) |s(0)|, the activation of nothing."""
        width = max(len(layer.W) for layer in self._network.layers)
        return sqrt(float(width * self.p.model.N)) * abs(self._network.s.at_zero)

    @cached_property
    def driven(self) -> Measured:
        return self.B_Ub * (self.X_fro + sqrt(float(self.p.model.N)))

    @cached_property
    def B_z(self) -> Measured:
        """|Z^0|_F + a K L (sqrt(n N) |s(0)| + B_Ub (|X|_F + sqrt N)) >= |Z^(k,l)|_F."""
        start = errors.frobenius(self.p.model.Z0)
        return start + self.alpha * self.K * self.depth * (self.at_zero + self.driven)

    @cached_property
    def C(self) -> Measured:
        """>= |s(W Z + U X + b 1^T)|_F."""
        return self.at_zero + self.B_z + self.driven

    @cached_property
    def c_A(self) -> Measured:
        """>= the norm of the derivative of a pre-activation by (W, U, b)."""
        x = errors.norm2(self._network.X, self._network.X_error)
        return sqrt(self.B_z**2 + x**2 + float(self.p.model.N))

    @cached_property
    def B_J(self) -> Measured:
        """>= ||dZ^K/d(W, U, b)||_2."""
        return self.alpha * self.K * sqrt(float(self.depth)) * (self.C + self.c_A)

    @cached_property
    def C_J(self) -> Measured:
        """>= the Lipschitz constant of that Jacobian."""
        bent = self._network.s.curvature * (self.B_J + self.c_A) ** 2
        return self.alpha * self.K * self.depth * (bent + 4 * self.B_J + 2 * self.c_A)

    def Q1(self, residual: Measured) -> Measured:
        """>= the Lipschitz constant of the gradient while |r| <= residual."""
        flat = self.B_z**2 + self.B_L**2 * self.B_J**2
        return flat + (2 * self.B_J + self.B_L * self.C_J) * residual


def smallest_weight(network: Network) -> Measured:
    """min_l sigma_min(W_l), the min(n_l, m)-th singular value."""
    values = [errors.singular_values(layer.W)[-1] for layer in network.layers]
    return min(values, key=lambda value: value.low)


def sigma_output(Wo: np.ndarray) -> Measured:
    """sigma_min(W_o) = inf |W_o^T q|/|q|: exactly 0 when d_y > m."""
    return errors.nth_singular_value(Wo, len(Wo))
