"""What W alone decides: whether z = s(W z + c) has exactly one solution for every c, and how far
any z is from it.

s has slopes in [0, 1]: s(v) - s(v') = Th (v - v') with Th diagonal in [0, 1]^n, so that the
difference of z and the equilibrium is (I - Th W)^-1 r with the residual r = z - s(W z + c).
"""

from __future__ import annotations

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg import diagonal, exact, perron
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.matrix import Matrix, identity, instance
from deqcheck.linalg.minors import MOST, MOST_INVERSES, Minors, block, inverses, minors
from deqcheck.linalg.rational import Rows, products
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured, given, maximum, sqrt
from deqcheck.seeds import rng

# Patterns that are tried where there are too many.
DRAWN = 20
# Bars of inverses of well-conditioned patterns.
INVERSE_SLACK = 1e-9


class Weights:
    """Lazy: each number is computed when something asks for it, and once."""

    def __init__(self, array: np.ndarray):
        self.array, self.n = array, len(array)
        self.W = instance(array)
        self.F = identity(self.n) - self.W

    # ---- norms and spectra ----------------------------------------------------------------------

    @cached_property
    def norm2(self) -> Measured:
        return self.W.norm2()

    @cached_property
    def norm_inf(self) -> Measured:
        return self.W.norm_inf()

    @cached_property
    def rho(self) -> Measured:
        """The spectral radius of |W|."""
        node = exact.spectral_radius(exact.moduli(exact.array(self.array)))
        return perron.abscissa(np.abs(self.array), node)

    @cached_property
    def mu(self) -> Measured:
        """The least max_i (M eta)_i/eta_i over eta > 0: the spectral abscissa of the Metzler
        matrix M with M_ii = W_ii, M_ij = |W_ij|."""
        M = perron.metzler(self.array)
        return perron.abscissa(M, exact.largest_real_part(exact.array(M)))

    @cached_property
    def modulus(self) -> Measured:
        """m = lambda_min of the symmetric part of F = I - W."""
        return ((self.F + self.F.T) / 2).eigenvalue(0)

    @cached_property
    def lipschitz(self) -> Measured:
        """L = |I - W|."""
        return self.F.norm2()

    @cached_property
    def inverse_modulus(self) -> Measured:
        """beta = lambda_min of the symmetric part of F^-1: |I - a F| < 1 if and only if
        0 < a < 2 beta."""
        return inverse_modulus(self.F)

    @cached_property
    def isometric(self) -> bool:
        """Whether F^T F is a multiple of the identity: then |I - a F| is sqrt(1 - 2 a m + a^2 L^2)
        for every a, and the modulus of F^-1 is m/L^2."""
        return self.n <= MOST and isometric(self.array)

    # ---- a diagonal -----------------------------------------------------------------------------

    @cached_property
    def diagonal(self) -> diagonal.Found:
        return diagonal.search(self.array)

    @cached_property
    def weighted(self) -> Weighted:
        return Weighted(self.array, np.sqrt(self.diagonal.weights))

    # ---- minors ---------------------------------------------------------------------------------

    @property
    def affordable(self) -> bool:
        """Whether all 2^n patterns are looked at."""
        return self.n <= MOST

    @cached_property
    def minors(self) -> Minors:
        """All of them, or those of drawn patterns."""
        if self.affordable:
            return minors(self.array)
        on = rng(0, "equilibrium.patterns").random((DRAWN, self.n)) < 0.5
        return minors(self.array, np.vstack([on, np.ones((1, self.n), dtype=bool)]))

    @property
    def patterns_told(self) -> str:
        if self.affordable:
            return f"all {2**self.n} patterns"
        return f"{DRAWN} drawn patterns, and the full one"

    @cached_property
    def worst_inverse(self) -> Measured | None:
        """K, the largest |(I - D W)^-1| over the patterns D, which is that over the cube; None
        where there are too many patterns, or F is no P-matrix."""
        if self.n > MOST_INVERSES or not self.minors.smallest.low > 0:
            return None
        worst, size = 1.0, 1 + euclidean(self.array)
        try:
            for _, inverse in inverses(self.array):
                worst = max(worst, float(np.linalg.svd(inverse, compute_uv=False)[:, 0].max()))
        except np.linalg.LinAlgError:
            # Singular in doubles, where rationals are not.
            return None
        # The inverse of M + E is that of M up to |M^-1|^2 |E|, to first order.
        off = 8 * (self.n + 8) * EPS * worst * size
        if off > INVERSE_SLACK * 1e3:
            return None
        return Measured(worst, 2 * off * worst)


@dataclass(frozen=True, eq=False)
class Weighted:
    """F in the norm |T z| with T = Lambda^1/2: T F T^-1. The activation stays what it is."""

    array: np.ndarray
    T: np.ndarray

    @cached_property
    def F(self) -> Matrix:
        ratio = self.T[:, None] / self.T
        scaled = ratio * (np.eye(len(self.T)) - self.array)
        return Matrix(scaled, 3 * EPS * euclidean(scaled))

    @cached_property
    def modulus(self) -> Measured:
        return ((self.F + self.F.T) / 2).eigenvalue(0)

    @cached_property
    def lipschitz(self) -> Measured:
        return self.F.norm2()

    @cached_property
    def inverse_modulus(self) -> Measured:
        return inverse_modulus(self.F)


def inverse_modulus(F: Matrix) -> Measured:
    inverse = F.solve(identity(F.shape[0]))
    return ((inverse + inverse.T) / 2).eigenvalue(0)


def forward_limit(m: Measured, L: Measured) -> Measured:
    """2 m/L^2."""
    return 2 * m / (L * L)


def forward_step(share: float, limit: Measured) -> Measured:
    """This share of the limit; of its lower end where the modulus is known so badly that a share of
    its value could be longer than the limit."""
    step = share * float(limit.value)
    return given(step if step < limit.low else share * float(limit.low))


def forward_factor(a: Measured, m: Measured, L: Measured) -> Measured:
    """sqrt(1 - 2 a m + a^2 L^2), a bound on |I - a F|."""
    return sqrt(maximum(given(0), 1 - 2 * a * m + a * a * L * L))


def reflected_factor(a: Measured, m: Measured, L: Measured) -> Measured:
    """A bound on |(I - a F)(I + a F)^-1|."""
    square = a * a * L * L
    return sqrt(maximum(given(0), (1 + square - 2 * a * m) / (1 + square + 2 * a * m)))


def isometric(W: np.ndarray) -> bool:
    """Whether (I - W)^T (I - W) is a multiple of the identity, in rational numbers."""
    rows = block(W, np.arange(len(W)))
    return _scalar(products([list(column) for column in zip(*rows, strict=True)]))


def conformal(W: np.ndarray) -> bool:
    """Whether the symmetric part of I - W is one as well: then <p, F p>/(|p| |F p|) is m/L for
    every p."""
    rows = block(W, np.arange(len(W)))
    turned = zip(*rows, strict=True)
    both = [[x + y for x, y in zip(r, t, strict=True)] for r, t in zip(rows, turned, strict=True)]
    return _scalar(both) and isometric(W)


def _scalar(rows: Rows) -> bool:
    return all(
        x == (rows[0][0] if i == j else 0) for i, row in enumerate(rows) for j, x in enumerate(row)
    )
