"""How far a point z is from the only equilibrium, from its residual r = z - s(W z + c).

Each function takes |r| from above and gives a bound on z - z*; where its theorem does not prove
that there is one equilibrium, the bound is inf.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg import errors, perron
from deqcheck.linalg.matrix import Matrix
from deqcheck.models.equilibrium.weights import Weights
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured, given, maximum, minimum, sqrt

UNKNOWN = Measured(np.inf)


@dataclass(frozen=True, eq=False)
class Residual:
    """r and what each entry of it may be off by, at one point."""

    array: np.ndarray
    error: np.ndarray

    @cached_property
    def column(self) -> Matrix:
        return Matrix(self.array, errors.length(self.error) * (1 + 8 * EPS))

    @property
    def length(self) -> Measured:
        return self.column.frobenius()

    @property
    def largest(self) -> Measured:
        value = float(np.abs(self.array).max(initial=0.0))
        return Measured(value, float(self.error.max(initial=0.0)))

    @property
    def sizes(self) -> np.ndarray:
        """|r|, entry by entry, from above."""
        found: np.ndarray = np.abs(self.array) + self.error
        return found


def by_norm2(w: Weights, r: Residual) -> Measured:
    """|r|/(1 - |W|_2)."""
    return r.length / (1 - w.norm2) if w.norm2.high < 1 else UNKNOWN


def by_norm_inf(w: Weights, r: Residual) -> Measured:
    """max|r_i|/(1 - |W|_inf), a bound on max_i |z_i - z*_i|."""
    return r.largest / (1 - w.norm_inf) if w.norm_inf.high < 1 else UNKNOWN


def by_perron(w: Weights, r: Residual) -> np.ndarray | None:
    """(I - |W|)^-1 |r|, entry by entry."""
    return perron.positive_solution(np.abs(w.array), r.sizes)


def by_metzler(w: Weights, r: Residual) -> np.ndarray | None:
    """(I - M)^-1 h with h_i = max(1, 1 - W_ii) |r_i|, entry by entry."""
    h = np.maximum(1.0, 1 - np.diag(w.array)) * r.sizes * (1 + 2 * EPS)
    return perron.positive_solution(perron.metzler(w.array), h)


def monotone(F: Matrix, m: Measured, r: Matrix) -> Measured:
    """Of <W d - d + r, d - r> >= 0 with d = z - z*, for F = I - W with modulus m > 0: the smaller
    of |r| + |W r|/m and the larger root of m |d|^2 - |(2 I - W)^T r| |d| + |r|^2 = 0."""
    if not m.low > 0:
        return UNKNOWN
    moved, turned, length = r - F @ r, r + F.T @ r, r.frobenius()
    plain = length + moved.frobenius() / m
    a = turned.frobenius()
    root = (a + sqrt(maximum(given(0), a * a - 4 * m * length * length))) / (2 * m)
    return minimum(plain, root)


def by_monotone(w: Weights, r: Residual) -> Measured:
    return monotone(w.F, w.modulus, r.column)


def pang(w: Weights, r: Residual) -> Measured:
    """(1 + L) |r|/m."""
    return (1 + w.lipschitz) * r.length / w.modulus if w.modulus.low > 0 else UNKNOWN


def by_diagonal(w: Weights, r: Residual) -> Measured:
    """The same in the norm of Lambda, over the smallest entry of Lambda^1/2."""
    if not w.diagonal.feasible:
        return UNKNOWN
    T = w.weighted.T
    scaled = Matrix(T * r.array, errors.length(T * r.error) + EPS * errors.length(T * r.array))
    return monotone(w.weighted.F, w.weighted.modulus, scaled) / Measured(float(T.min()))


def by_patterns(w: Weights, r: Residual) -> Measured:
    """K |r| with the largest |(I - D W)^-1| over the patterns."""
    return UNKNOWN if w.worst_inverse is None else w.worst_inverse * r.length


def in_length(bound: Callable[[Weights, Residual], np.ndarray | None]) -> Bound:
    """An entrywise bound as one on the Euclidean norm."""

    def found(w: Weights, r: Residual) -> Measured:
        entries = bound(w, r)
        return UNKNOWN if entries is None else errors.frobenius(entries)

    return found


Bound = Callable[[Weights, Residual], Measured]
# By the theorem that proves uniqueness, the cheapest first. The norm of the second is another one.
BOUNDS: dict[str, Bound] = {
    "banach/norm2": by_norm2,
    "elghaoui2021/pf": in_length(by_perron),
    "winston2020/unique": by_monotone,
    "jafarpour2021/unique": in_length(by_metzler),
    "revay2020/lmi": by_diagonal,
    "lcp/p-matrix": by_patterns,
}
COSTLY = ("revay2020/lmi", "lcp/p-matrix")


def nearest(w: Weights, r: Residual, enough: float = 1.0) -> tuple[Measured, str]:
    """The smallest Euclidean bound of the theorems that apply, and which it is of; those that cost
    more than the ones before are asked only where none of them applies, and none after one that
    is at most `enough` times too large: |r| <= (1 + |W|) |z - z*|, which no bound is below."""
    best, of = UNKNOWN, ""
    least = float(r.length.high / (1 + w.norm2.high))
    for name, bound in BOUNDS.items():
        if of and (name in COSTLY or best.high <= enough * least):
            break
        found = bound(w, r)
        if found.high < best.high:
            best, of = found, name
    return best, of
