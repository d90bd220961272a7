"""The monotone deep equilibrium model at given parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from deqcheck.linalg import errors, exact
from deqcheck.linalg.certificates import Monotone
from deqcheck.linalg.entries import euclidean, finite
from deqcheck.linalg.exact_zeros import Support, product_reach, product_support
from deqcheck.linalg.matrix import Matrix, instance
from deqcheck.linalg.patterns import Patterns
from deqcheck.linalg.relu_equilibrium import (
    Equilibrium,
    forward_backward,
    newton,
    peaceman_rachford,
)
from deqcheck.models.exact_relu_state import longest_column
from deqcheck.models.memory import Memory
from deqcheck.models.monotone_deq.kernel import Kernel
from deqcheck.models.problem import NoEquilibrium, Params
from deqcheck.models.relu_state import Canonical, ReluState
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured, given
from deqcheck.records.tower import Again, rational

if TYPE_CHECKING:
    from deqcheck.models.monotone_deq.model import MonotoneDeqModel


# A bound on the equilibrium's error above this, relative to its size, is computed more finely.
FINE = 1e-9


def weight(m: float, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """W = (1 - m) I - A^T A + B - B^T, with sym(I - W) = m I + A^T A."""
    W: np.ndarray = B - B.T - A.T @ A
    W[np.diag_indices(len(W))] += 1 - m
    return W


def _support(W: np.ndarray, A: np.ndarray, U: np.ndarray, X: np.ndarray) -> Support:
    """B - B^T and 1 - m do not round to 0, but A^T A may."""
    return Support(product_support(A.T, A) | (W != 0), product_reach(U, X))


class MonotoneDeqState(ReluState):
    """Lazy: each matrix is computed once, when something asks for it."""

    def __init__(self, model: MonotoneDeqModel, theta: Params, memory: Memory | None = None):
        super().__init__(model.y, theta, memory)
        self.model = model
        self.m, self.X = model.m, model.X
        self.A, self.B, self.U, self.u = (theta[name] for name in ("A", "B", "U", "u"))
        self.n, self.N = len(self.u), model.N

    def renewed(self) -> MonotoneDeqState:
        return MonotoneDeqState(self.model, self.theta, self._memory)

    @property
    def a(self) -> np.ndarray:
        return self.u

    @property
    def inputs(self) -> np.ndarray:
        return self.X

    @cached_property
    def W(self) -> np.ndarray:
        return weight(self.m, self.A, self.B)

    @cached_property
    def W_radius(self) -> float:
        """A^T A rounds by at most n eps |A|_F^2, the three sums by eps of what they add."""
        product = float(np.vdot(self.A, self.A))
        added = 2 * euclidean(self.B) + abs(1 - self.m) * np.sqrt(self.n)
        return float(EPS * ((self.n + 4) * product + 4 * added))

    @cached_property
    def C(self) -> np.ndarray:
        found: np.ndarray = self.U @ self.X
        return found

    @cached_property
    def C_radius(self) -> float:
        return EPS * len(self.X) * errors.length(self.U) * errors.length(self.X)

    @cached_property
    def _C_reach(self) -> np.ndarray:
        """Roundoffs (eps) of each entry of U X."""
        found: np.ndarray = len(self.X) * (np.abs(self.U) @ np.abs(self.X))
        return found

    @cached_property
    def F(self) -> np.ndarray:
        found: np.ndarray = np.eye(self.n) - self.W
        return found

    @cached_property
    def lipschitz(self) -> Measured:
        return errors.norm2(self.F, self.F_radius, self._exact_F)

    @property
    def F_radius(self) -> float:
        return self.W_radius + EPS * euclidean(self.F)

    @cached_property
    def _exact_F(self) -> Again:
        """m I + A^T A - B + B^T."""
        A, B = exact.array(self.A), exact.array(self.B)
        turned = exact.minus(exact.transpose(B), B)
        square = exact.product(exact.transpose(A), A)
        return exact.total([exact.scaled(rational(self.m), self._identity), square, turned])

    @property
    def _identity(self) -> Again:
        return exact.array(np.eye(self.n))

    def exact_weights(self) -> tuple[Again, Again]:
        C = exact.product(exact.array(self.U), exact.array(self.X))
        return exact.minus(self._identity, self._exact_F), C

    def exact_gradient(self) -> dict[str, Again]:
        A, X, E, Z = exact.array(self.A), exact.array(self.X), self.again.E, self.again.Z
        G = exact.product(E, exact.transpose(Z))
        turned = exact.transpose(G)
        return {
            "A": exact.scaled(rational(-1), exact.product(A, exact.plus(G, turned))),
            "B": exact.minus(G, turned),
            "U": exact.product(E, exact.transpose(X)),
            "u": self.again.Zr,
        }

    def matrix(self, name: str) -> Matrix:
        """A matrix of the state with its radius; a parameter is what it is."""
        if name in self.theta:
            return instance(self.theta[name])
        return _MATRICES[name](self)

    @property
    def forward_backward_limit(self) -> Measured:
        """2 m/Lip^2: forward-backward splitting contracts for every step below (Proposition 3)."""
        return 2 * given(self.m) / self.lipschitz**2

    @property
    def canonical(self) -> Canonical:
        support = partial(_support, self.W, self.A, self.U, self.X)
        return Canonical(self.W, self.C, self.W_radius, self.C_radius, support)

    def solve(self) -> Equilibrium:
        W, C = self.system
        certificate = Monotone(self.m)
        guess, found = self._memory.pattern, None
        if guess is not None and guess.shape == C.shape:
            found = newton(W, C, certificate, guess)
        found = found or self._split(certificate)
        self._memory.pattern = found.mask
        _, _, W_radius, C_radius, support = self.canonical
        found = replace(found, W_radius=W_radius, C_radius=C_radius, support=support)
        if found.error <= FINE * errors.length(found.Z):
            return found
        return replace(found, proven=self._entrywise_error(found.Z))

    def _entrywise_error(self, Z: np.ndarray) -> float:
        """The certificate of Monotone with F = m I + A^T A - B + B^T as it is, not as 1 - W, and
        with the rounding of each entry: that of clearly inactive units does not matter."""
        A, B, n = np.abs(self.A), np.abs(self.B), self.n
        F: np.ndarray = self.B.T - self.B + self.A.T @ self.A
        sizes = B.T + B + A.T @ A
        for matrix in (F, sizes):
            matrix[np.diag_indices(n)] += self.m
        g = F @ Z - self.C
        # n + 3 roundings in F and n + 1 in g, at most; those of U X.
        off = EPS * ((n + 6) * (sizes @ Z) + 2 * np.abs(self.C) + self._C_reach)
        rho = np.where(Z > 0, np.abs(g) + off, np.maximum(off - g, 0.0))
        smallest = max(float(errors.nth_singular_value(self.A, n).low), 0.0)
        return errors.length(rho) / (self.m + smallest**2) * (1 + (n + 8) * EPS)

    def _split(self, certificate: Monotone) -> Equilibrium:
        """By the model's splitting; (3.1), Z <- relu(W Z + U X), need not converge."""
        lipschitz, alpha = self.lipschitz.value, self.model.alpha
        if self.model.solver == "peaceman-rachford":
            return peaceman_rachford(
                self.W, self.C, certificate, lipschitz if alpha is None else 1 / alpha
            )
        if alpha is not None and not alpha < self.forward_backward_limit.low:
            raise NoEquilibrium(
                f"alpha = {alpha:g} has left the admissible interval of forward-backward "
                f"splitting, which ends at 2 m/|I - W|^2 = {self.forward_backward_limit.value:.6g}"
            )
        return forward_backward(
            self.W, self.C, certificate, self.m / lipschitz**2 if alpha is None else alpha
        )

    @cached_property
    def patterns(self) -> Patterns:
        return Patterns(self.W, self.equilibrium.mask)

    @property
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        return self.W, self.C

    @property
    def system(self) -> tuple[np.ndarray, np.ndarray]:
        if not finite(self.W):
            raise NoEquilibrium("W is not finite")
        return self.weights

    def assembled(
        self, Z: np.ndarray, E: np.ndarray, r: np.ndarray, samples: slice = slice(None)
    ) -> Params:
        """gA = -A (G + G^T), gB = G - G^T, gU = E X^T, gu = Z r, with G = dL/dW = E Z^T."""
        G = E @ Z.T
        return {
            "A": -self.A @ (G + G.T),
            "B": G - G.T,
            "U": E @ self.X[:, samples].T,
            "u": Z @ r,
        }

    def gradient_radii(self) -> dict[str, float]:
        """Each product's radius from those of its factors, and n eps for its own sums."""
        E, Z, A = (euclidean(x) for x in (self.E, self.Z, self.A))
        dE, dZ = self.E_radius, self.equilibrium.error
        X, r = euclidean(self.X), self.read_residual
        G = dE * Z + E * dZ + dE * dZ + errors.rounding(self.N, E * Z)
        return {
            "A": 2 * A * (G + errors.rounding(self.n, E * Z)),
            "B": 2 * (G + errors.rounding(1, E * Z)),
            "U": X * dE + errors.rounding(self.N, E * X),
            "u": dZ * r + (Z + dZ) * self.r_radius + errors.rounding(self.N, Z * r),
        }

    @cached_property
    def kernel(self) -> Kernel:
        radii = self.equilibrium.error, self.V_radius
        return Kernel(self.A, self.Z, self.V, self.X, *radii, self.again)

    @cached_property
    def sensitivity_max(self) -> Measured:
        widest = float(np.linalg.norm(self.V, axis=0).max(initial=0.0))
        error = self.V_radius + errors.product(self.n, widest)
        return Measured(widest, error, again=longest_column(self.again.V))

    further: ClassVar[Mapping[str, Callable[[Any], Measured]]] = {
        "lambda_min_K": lambda s: s.kernel.eigenvalue(0),
        "lambda_max_K": lambda s: s.kernel.eigenvalue(-1),
        "trace_K_A": lambda s: s.kernel.trace("A"),
        "trace_K_B": lambda s: s.kernel.trace("B"),
        "trace_K_U": lambda s: s.kernel.trace("U"),
        "lipschitz": lambda s: s.lipschitz,
        "kink_margin": lambda s: s.kink_margin,
        "sensitivity_max": lambda s: s.sensitivity_max,
        "X_fro": lambda s: errors.frobenius(s.X, exact=exact.array(s.X)),
    }


_MATRICES: Mapping[str, Callable[[MonotoneDeqState], Matrix]] = {
    "W": lambda s: Matrix(s.W, s.W_radius, s.exact_weights()[0]),
    "C": lambda s: Matrix(s.C, s.C_radius, s.exact_weights()[1]),
    "F": lambda s: Matrix(s.F, s.F_radius, s._exact_F),
    "Z": lambda s: Matrix(s.Z, s.equilibrium.error, s.again.Z),
    "r": lambda s: Matrix(s.r, s.r_radius, s.again.r),
    "V": lambda s: Matrix(s.V, s.V_radius, s.again.V),
    "E": lambda s: Matrix(s.E, s.E_radius, s.again.E),
}
