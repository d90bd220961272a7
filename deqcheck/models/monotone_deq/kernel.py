"""The tangent kernel of the monotone model by Hadamard products: no object of size n^2."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg import errors, exact
from deqcheck.linalg.entries import euclidean
from deqcheck.models.exact_relu_state import ExactReluState
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import Measured
from deqcheck.records.tower import Again, integer


@dataclass(frozen=True, eq=False)
class Kernel:
    """K = K_A + K_B + K_U + Z^T Z (N x N), dyhat/dt = -K r along the flow.

    Row i of the Jacobian with respect to A is -A (v_i z_i^T + z_i v_i^T), to B it is
    v_i z_i^T - z_i v_i^T, to U it is v_i x_i^T, to u it is z_i.
    """

    A: np.ndarray
    Z: np.ndarray
    V: np.ndarray
    X: np.ndarray
    Z_radius: float
    V_radius: float
    again: ExactReluState

    @cached_property
    def parts(self) -> dict[str, np.ndarray]:
        A, Z, V, X = self.A, self.Z, self.V, self.X
        AZ, AV = A @ Z, A @ V
        ZZ, VV, VZ = Z.T @ Z, V.T @ V, V.T @ Z
        cross = (AV.T @ AZ) * VZ.T
        return {
            "A": (AV.T @ AV) * ZZ + cross + cross.T + (AZ.T @ AZ) * VV,
            "B": 2 * (VV * ZZ - VZ * VZ.T),
            "U": VV * (X.T @ X),
            "u": ZZ,
        }

    @cached_property
    def K(self) -> np.ndarray:
        A, B, U, u = self.parts.values()
        found: np.ndarray = A + B + U + u
        return found

    @cached_property
    def radii(self) -> dict[str, float]:
        """Each part is J J^T: with |J| = j and |dJ| <= d it moves by at most 2 j d + d^2;
        j^2 is its trace."""
        z, v, a, x = (euclidean(b) for b in (self.Z, self.V, self.A, self.X))
        dz, dv = self.Z_radius, self.V_radius
        pair, moved = v * z, dv * z + v * dz + dv * dz
        sizes = {"A": 2 * a * pair, "B": 2 * pair, "U": v * x, "u": z}
        moves = {"A": 2 * a * moved, "B": 2 * moved, "U": dv * x, "u": dz}
        length = 2 * max(len(self.A), len(self.X)) + 8
        found = {}
        for name, move in moves.items():
            lost = errors.rounding(length, sizes[name] ** 2, 1.0)
            trace = max(float(np.trace(self.parts[name])), 0.0)
            found[name] = 2 * math.sqrt(trace + len(self.Z[0]) * lost) * move + move**2 + lost
        return found

    @cached_property
    def exact_parts(self) -> dict[str, Again]:
        A, X, Z, V = exact.array(self.A), exact.array(self.X), self.again.Z, self.again.V
        AZ, AV = exact.product(A, Z), exact.product(A, V)
        ZZ, VV, VZ = _inner(Z, Z), _inner(V, V), _inner(V, Z)
        cross = exact.hadamard(_inner(AV, AZ), exact.transpose(VZ))
        B = exact.minus(exact.hadamard(VV, ZZ), exact.hadamard(VZ, exact.transpose(VZ)))
        own = exact.hadamard(_inner(AV, AV), ZZ), exact.hadamard(_inner(AZ, AZ), VV)
        return {
            "A": exact.total([*own, cross, exact.transpose(cross)]),
            "B": exact.scaled(integer(2), B),
            "U": exact.hadamard(VV, _inner(X, X)),
            "u": ZZ,
        }

    @cached_property
    def exact(self) -> Again:
        return exact.total(list(self.exact_parts.values()))

    def eigenvalue(self, k: int) -> Measured:
        """The k-th smallest; a negative k counts from the largest."""
        found = self.eigenvalues[k]
        return Measured(found.value, found.error, found.how, exact.eigenvalue(self.exact, k))

    @cached_property
    def eigenvalues(self) -> Measured:
        return errors.symmetric_eigenvalues((self.K + self.K.T) / 2, sum(self.radii.values()))

    def smallest(self, names: Sequence[str]) -> Measured:
        """The smallest eigenvalue of the sum of these parts."""
        part: np.ndarray = np.sum([self.parts[name] for name in names], axis=0)
        radius = sum(self.radii[name] for name in names)
        return errors.eigenvalue((part + part.T) / 2, 0, radius)

    def trace(self, name: str) -> Measured:
        """The radius bounds the trace's error too: d tr(J J^T) = 2 <J, dJ> + |dJ|^2."""
        again = exact.trace(self.exact_parts[name])
        return Measured(float(np.trace(self.parts[name])), self.radii[name], again=again)


def _inner(a: Again, b: Again) -> Again:
    """a^T b."""
    return exact.product(exact.transpose(a), b)
