"""Explicit bounds on the state, its Jacobian and the smoothness of the loss (Lemmas 12-19).

They hold at every theta with ||W_l|| <= 1, ||U_l||, ||b_l|| <= B_Ub and ||W_o|| <= B_L, for
1-Lipschitz activations, X fixed, and a SAM step with S(0) = 0.
"""

from __future__ import annotations

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg import errors, exact
from deqcheck.linalg.matrix import Matrix, instance
from deqcheck.models.opteq.network import Network
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import Measured, given, maximum, minimum, sqrt
from deqcheck.theorems.xie2021.common import matrix_norm
from deqcheck.theorems.xie2021.setting import Problem


@dataclass(frozen=True)
class Bounds:
    """On a ball of radius rho around theta_0."""

    p: Problem
    rho: Measured = given(0)

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
        return given(self.p.model.alpha)

    @cached_property
    def B_Ub(self) -> Measured:
        norms = [
            instance(each).norm2() for layer in self._network.layers for each in (layer.U, layer.b)
        ]
        return maximum(*norms) + self.rho

    @cached_property
    def B_L(self) -> Measured:
        return matrix_norm(self.p.start.Wo) + self.rho

    @cached_property
    def _X(self) -> Matrix:
        return Matrix(self._network.X, self._network.X_error, self.p.start.again.X)

    @cached_property
    def X_fro(self) -> Measured:
        return self._X.frobenius()

    @cached_property
    def at_zero(self) -> Measured:
        """sqrt(n N) |s(0)|, the activation of nothing."""
        width = max(len(layer.W) for layer in self._network.layers)
        return sqrt(width * self.p.model.N) * abs(self._network.s.origin)

    @cached_property
    def driven(self) -> Measured:
        return self.B_Ub * (self.X_fro + sqrt(self.p.model.N))

    @cached_property
    def B_z(self) -> Measured:
        """|Z^0|_F + a K L (sqrt(n N) |s(0)| + B_Ub (|X|_F + sqrt N)) >= |Z^(k,l)|_F."""
        start = instance(self.p.model.Z0).frobenius()
        return start + self.alpha * self.K * self.depth * (self.at_zero + self.driven)

    @cached_property
    def C(self) -> Measured:
        """>= |s(W Z + U X + b 1^T)|_F."""
        return self.at_zero + self.B_z + self.driven

    @cached_property
    def c_A(self) -> Measured:
        """>= the norm of the derivative of a pre-activation by (W, U, b)."""
        return sqrt(self.B_z**2 + self._X.norm2() ** 2 + self.p.model.N)

    @cached_property
    def B_J(self) -> Measured:
        """>= ||dZ^K/d(W, U, b)||_2."""
        return self.alpha * self.K * sqrt(self.depth) * (self.C + self.c_A)

    @cached_property
    def C_J(self) -> Measured:
        """>= the Lipschitz constant of that Jacobian."""
        bent = self._network.s.most_bent * (self.B_J + self.c_A) ** 2
        return self.alpha * self.K * self.depth * (bent + 4 * self.B_J + 2 * self.c_A)

    def Q1(self, residual: Measured) -> Measured:
        """>= the Lipschitz constant of the gradient while |r| <= residual."""
        flat = self.B_z**2 + self.B_L**2 * self.B_J**2
        return flat + (2 * self.B_J + self.B_L * self.C_J) * residual


def smallest_weight(network: Network) -> Measured:
    """min_l sigma_min(W_l), the min(n_l, m)-th singular value."""
    return minimum(*(matrix_smallest(layer.W) for layer in network.layers))


def matrix_smallest(W: np.ndarray) -> Measured:
    """The min(n, m)-th singular value of a matrix of the instance."""
    return errors.nth_singular_value(W, min(W.shape), exact=exact.array(W))


def sigma_output(Wo: np.ndarray) -> Measured:
    """sigma_min(W_o) = inf |W_o^T q|/|q|: exactly 0 when d_y > m."""
    return errors.nth_singular_value(Wo, len(Wo), exact=exact.array(Wo))
