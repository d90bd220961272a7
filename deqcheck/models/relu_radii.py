"""Error radii of ReLU equilibrium models from the sizes of their arrays: each a float, or an array
with one for each of several models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from deqcheck.linalg import errors


def of_residual(m: int, a: Any, Z: Any, y: Any, dZ: Any) -> Any:
    """Of Z^T a - y for Z and a that are not 0: |dr| <= |a| |dZ|_F, plus the rounding."""
    return a * dZ + errors.rounding(max(4, m / 2 + 1), a * Z + y, 1.0)


def of_scaled(widest: Any, largest: Any, dV: Any, dr: Any) -> Any:
    """Of V diag(r), for the widest column of V and the largest entry of r."""
    return largest * dV + (widest + dV) * dr


class Sizes(NamedTuple):
    """Frobenius norms of arrays, and how far the arrays may be off."""

    Z: Any
    X: Any
    E: Any
    # Of the residuals that Z r has a term of.
    r: Any
    Z_off: Any
    E_off: Any
    r_off: Any


def of_C(d: int, U: Any, X: Any) -> Any:
    """Of U X in the ReLU DEQ."""
    return errors.rounding(d, U * X)


def of_gradient(n: int, s: Sizes) -> dict[str, Any]:
    """Of (S diag(r)) Z^T, (S diag(r)) X^T and Z r."""
    return {
        "W": s.Z * s.E_off + (s.E + s.E_off) * s.Z_off + errors.rounding(n, s.E * s.Z),
        "U": s.X * s.E_off + errors.rounding(n, s.E * s.X),
        "a": s.Z * s.r_off + (s.r + s.r_off) * s.Z_off + errors.rounding(n, s.r * s.Z),
    }


def of_H(
    m: int, d: int, norms: Sequence[Any], longest: Sequence[Any], off: Sequence[Any], H: Any
) -> Any:
    """Of H = G + G o S^T S + X^T X o S^T S with G = Z^T Z, for the norms of Z, S and X, the squares
    of their longest columns, how far Z and S may be off, and the norm of H. ||A o B||_F <= max|A|
    ||B||_F, and |d(Z^T Z)|_F <= (2 |Z| + |dZ|) |dZ|; the largest entry of a Gram matrix is on its
    diagonal."""
    (Z, S, X), (z, s, x), (dZ, dS) = norms, longest, off
    dG = (2 * Z + dZ) * dZ + errors.rounding(m, Z * Z)
    dSS = (2 * S + dS) * dS + errors.rounding(m, S * S)
    dXX = errors.rounding(d, X * X)
    # The sums and products of entries round, too.
    return dG + (dG + dXX) * (s + dSS) + (z + x) * dSS + errors.rounding(4, H)
