"""Two equilibria of z = relu(W z + c) for one c, where I - W is no P-matrix.

F = I - W reverses the signs of some x != 0: x_i (F x)_i <= 0 for all i. With c = F x^+ - (F x)^+
the slack of x^+ is (F x)^+, of x^- it is F x^- - c = (F x)^+ - F x = (F x)^-: both are
complementary. Everything in rational numbers.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg.minors import MOST, block, determinant, last_of_adjugate, minors
from deqcheck.linalg.rational import Rows, rows_of
from deqcheck.records.measured import Measured, given

Vector = list[Fraction]
# Rational products of a matrix with a vector up to this order.
WIDEST = 1000


@dataclass(frozen=True, eq=False)
class Witness:
    W: Rows
    # A minor that is not positive, or 1 less a real eigenvalue of W.
    minor: Measured
    how: str
    first: Vector
    second: Vector
    c: Vector

    def residual(self, z: Vector) -> Fraction:
        """max_i |z_i - relu(W z + c)_i|."""
        moved = [h + c for h, c in zip(_times(self.W, z), self.c, strict=True)]
        return max(abs(x - max(h, Fraction(0))) for x, h in zip(z, moved, strict=True))

    @property
    def distance(self) -> Fraction:
        return max(abs(a - b) for a, b in zip(self.first, self.second, strict=True))


def witness(W: np.ndarray) -> Witness | None:
    """None where none was found: below 17 units, where I - W is a P-matrix."""
    units = _units(W)
    if units is not None:
        rows = block(W, units)
        x = np.zeros(len(W), dtype=object)
        x[:] = Fraction(0)
        x[units] = last_of_adjugate(rows)
        how = f"of {'unit' if len(units) == 1 else 'units'} {', '.join(map(str, units))}"
        return _made(W, list(x), given(determinant(rows)), how)
    return None if len(W) <= MOST else _by_eigenvector(W)


def _units(W: np.ndarray) -> np.ndarray | None:
    """As few units as possible whose minor is not positive."""
    one = np.flatnonzero(np.diag(W) >= 1)
    if len(one):
        return one[:1]
    if len(W) <= MOST:
        return minors(W).culprit
    d = 1 - np.diag(W)
    pairs = d[:, None] * d - W * W.T
    np.fill_diagonal(pairs, np.inf)
    i, j = np.unravel_index(int(np.argmin(pairs)), pairs.shape)
    found = np.array(sorted((int(i), int(j))))
    return found if determinant(block(W, found)) <= 0 else None


def _by_eigenvector(W: np.ndarray) -> Witness | None:
    """x with W x = lambda x, lambda >= 1: x_i (F x)_i = (1 - lambda) x_i^2."""
    if len(W) > WIDEST:
        return None
    values, vectors = np.linalg.eig(W)
    real = np.flatnonzero((np.abs(values.imag) == 0) & (values.real >= 1))
    for i in real[np.argsort(-values.real[real])][:3]:
        v = vectors[:, i].real
        # Of a vector of length 1 entries that rounding cannot tell from 0 are 0.
        v = np.where(np.abs(v) > 1e-10, v, 0.0)
        minor = Measured(float(1 - values[i].real), 0.0)
        found = _made(W, [Fraction(float(a)) for a in v], minor, "1 less a real eigenvalue of W")
        if found is not None:
            return found
    return None


def _times(rows: Rows, x: Vector) -> Vector:
    used = [k for k, a in enumerate(x) if a]
    return [sum((row[k] * x[k] for k in used), Fraction(0)) for row in rows]


def _made(W: np.ndarray, x: Vector, minor: Measured, how: str) -> Witness | None:
    """Verified, or None: whatever x was made of, it is the signs that count."""
    rows, zero = rows_of(W), Fraction(0)
    moved = [a - b for a, b in zip(x, _times(rows, x), strict=True)]
    if not any(x) or any(a * b > 0 for a, b in zip(x, moved, strict=True)):
        return None
    first, second = [max(a, zero) for a in x], [max(-a, zero) for a in x]
    c = [a - b - max(f, zero) for a, b, f in zip(first, _times(rows, first), moved, strict=True)]
    return Witness(rows, minor, how, first, second, c)
