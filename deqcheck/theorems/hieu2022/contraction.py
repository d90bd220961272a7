"""Section 2.3.1: contraction, and why I - J is invertible."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from deqcheck.linalg import errors, exact
from deqcheck.linalg.matrix import Matrix
from deqcheck.linalg.patterns import distinct
from deqcheck.linalg.rational import common_square
from deqcheck.records.claim import Claim
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured, given, maximum, minimum
from deqcheck.records.tower import Again, Level, NoExactForm
from deqcheck.records.tower.rationals import Rationals
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, Check
from deqcheck.theorems.gao2022.static import equality
from deqcheck.theorems.hieu2022.common import cite
from deqcheck.theorems.hieu2022.derivatives import Derivative
from deqcheck.theorems.hieu2022.draws import same
from deqcheck.theorems.hieu2022.setting import Problem, State

# Flops to be spent on the spectra of the blocks.
BUDGET = 2e9


class Contraction(Derivative):
    """Where f(z) = relu(W z + U x) contracts, its Jacobian J at the equilibrium has norm below 1
    (2.7), and I - J is invertible. J = D (I_N kron W) has a block D_i W for each sample.

    Close to the equilibrium f(z) - f(z*) = J (z - z*) (2.5), the smallest singular value of I - J
    is at least 1 - |J|, and |det(I - J)| >= (1 - rho(J))^d > 0 with d = n N (2.8): the determinant
    is the product of all 1 - lambda_i, and no |lambda_i| exceeds rho(J) <= |J|. As printed the
    norm of J is its spectral radius (2.6), and the smallest singular value of I - J is
    1 - rho(J): both need a normal J. Asked is (2.7), which is what the section uses of the
    contraction; it is local, as its expansion (2.5) is.
    """

    id = "hieu2022/eq2.8"
    title = "Where the map contracts, I - J is invertible"
    cite = cite("Section 2.3.1", "Definition 2.3.1, (2.5)-(2.8)")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The largest singular value is not the spectral radius. n = 2, m = 3/4, A = 0, "
        "B = [[0, 1/2], [0, 0]] and the first unit active alone: J = [[1/4, 1/2], [0, 0]] has "
        "norm sqrt(5)/4 = 0.559 and spectral radius 1/4, and the smallest singular value of I - J "
        "is 0.6305, not 3/4. |J| >= rho(J) and sigma_min(I - J) >= 1 - |J| are right, and so is "
        "(2.8), by the eigenvalues."
    )

    contracts = Check("the map contracts", "norm_J < 1", "(2.7)")
    linear = Check("the map is linear near its equilibrium", "left == right", "(2.5)")
    norm_printed = Check("the norm is the spectral radius", "norm_J == rho_J", "(2.6)")
    norm = Check("the spectral radius is at most the norm", "rho_J <= norm_J", "(2.6)")
    norm_equal = equality(norm)
    smallest_printed = Check("smallest singular value, printed", "sigma == 1 - rho_J", "(2.8)")
    smallest = Check("smallest singular value of I - J", "sigma >= 1 - norm_J", "(2.8)")
    smallest_equal = equality(smallest)
    determinant = Check("determinant of I - J", "log_det >= d*log(1 - rho_J)", "(2.8)")
    determinant_equal = equality(determinant)

    def unchecked(self, p: Problem) -> Iterable[str]:
        if not Spectra(p.start).affordable:
            patterns = Spectra(p.start).patterns.shape[1]
            yield (
                f"the spectra of {patterns} matrices of {p.start.n} rows, one for each activation "
                "pattern: a smaller width, or fewer samples"
            )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from super().hypotheses(p)
        at = Spectra(p.start)
        if at.affordable:
            yield self.contracts(norm_J=at.norm)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        at, margin = Spectra(state), float(state.equilibrium.kink_margin.low)
        if not (at.affordable and margin > 0):
            return
        yield self._near(p, state, margin)
        if not at.norm.high < 1:
            return
        if self.printed:
            yield self.norm_printed(norm_J=at.norm, rho_J=at.rho)
            yield self.smallest_printed(sigma=at.smallest, rho_J=at.rho)
        else:
            norm = self.norm_equal if at.normal else self.norm
            yield norm(norm_J=at.norm, rho_J=at.rho)
            smallest = self.smallest_equal if at.reached else self.smallest
            yield smallest(sigma=at.smallest, norm_J=at.norm)
        determinant = self.determinant_equal if at.scalar else self.determinant
        yield determinant(log_det=at.log_det, rho_J=at.rho, d=state.n * state.N)

    def _near(self, p: Problem, state: State, margin: float) -> Claim:
        """f(Z + dZ) - f(Z) against J dZ, where dZ moves no pre-activation across its kink."""
        drawn = rng(p.seed, f"{self.id}.Z").standard_normal(state.Z.shape)
        reach = errors.length(state.W) * errors.length(drawn)
        dZ = drawn * (margin / (2 * reach)) if reach else drawn
        H, moved_H = (state.W @ Z + state.C for Z in (state.Z, state.Z + dZ))
        moved = np.maximum(moved_H, 0.0) - np.maximum(H, 0.0)
        linear = state.equilibrium.mask * (state.W @ dZ)
        # Nothing rounds where the unit is inactive.
        sizes = np.abs(state.W) @ (np.abs(state.Z) + np.abs(dZ)) + np.abs(state.C)
        noise = errors.rounding(state.n, errors.length(state.equilibrium.mask * sizes))
        s, step = state.again, exact.array(dZ)
        there = exact.product(s.W, exact.plus(s.Z, step))
        pushed = exact.minus(exact.relu(exact.plus(there, s.C)), exact.relu(s.relu.H))
        kept = exact.where_positive(s.relu.H, exact.product(s.W, step))
        return same(p, self.linear, Matrix(moved, noise, pushed), Matrix(linear, noise, kept))


class Spectra:
    """Of J = D (I_N kron W): a block D_i W for each sample, whose rows are those of W that belong
    to active units, and whose eigenvalues are those of W_SS and zeros."""

    def __init__(self, state: State):
        self.state = state

    @cached_property
    def _found(self) -> tuple[np.ndarray, np.ndarray]:
        return distinct(self.state.equilibrium.mask)

    @property
    def patterns(self) -> np.ndarray:
        """The distinct activation patterns, as columns."""
        return self._found[0]

    @property
    def affordable(self) -> bool:
        return bool(30 * self.state.n**3 * self.patterns.shape[1] <= BUDGET)

    @cached_property
    def norm(self) -> Measured:
        found = [
            errors.norm2(self.state.W[on], self.state.W_radius, self._block(on, rows=True))
            for on in self.patterns.T
            if on.any()
        ]
        return maximum(given(0), *found)

    def _block(self, on: np.ndarray, rows: bool = False) -> Again:
        """W_SS, or the rows of W in S alone, computed again; S is verified with the state."""
        kept = np.flatnonzero(on).tolist()
        across = list(range(self.state.n)) if rows else kept

        def made(level: Level, W: Any, H: Any) -> Any:
            if on.tobytes() not in exact_patterns(H):
                raise NoExactForm
            entries = [W[i, j] for i in kept for j in across]
            return exact.matrix(level, len(kept), len(across), entries)

        found = Again(made, self.state.again.W, self.state.again.relu.H)
        # Rows of zeros have no part in the norm.
        return found.told(lambda: self._active_rows(on)) if rows else found

    def _active_rows(self, on: np.ndarray) -> Again:
        """D W of the first sample with this pattern, in words."""
        j, n = int(np.argmax((on == self.state.equilibrium.mask.T).all(axis=1))), self.state.n
        h = exact.column_of(self.state.again.relu.H, j)
        D = exact.columns_scaled(
            exact.array(np.eye(n)), exact.where_positive(h, exact.array(np.ones(n)))
        )
        return exact.product(D, self.state.again.W)

    @cached_property
    def rho(self) -> Measured:
        """No block's spectral radius exceeds its norm."""
        W, radius = self.state.W, self.state.W_radius
        found = [
            replace(spectral_radius(W[np.ix_(on, on)], radius), again=_radius(self._block(on)))
            for on in self.patterns.T
            if on.any()
        ]
        return maximum(given(0), *found)

    @cached_property
    def smallest(self) -> Measured:
        """sigma_min(I - J)."""
        W, n = self.state.W, self.state.n
        off = self.state.W_radius + EPS * (1 + errors.length(W))
        return minimum(
            *(
                errors.nth_singular_value(np.eye(n) - on[:, None] * W, n, off, self._system(on))
                for on in self.patterns.T
            )
        )

    def _system(self, on: np.ndarray) -> Again:
        """I - D W, computed again."""
        D = exact.array(np.diag(on.astype(float)))

        def made(level: Level, turned: Any, H: Any) -> Any:
            if on.tobytes() not in exact_patterns(H):
                raise NoExactForm
            return exact.identity(level, turned.nrows()) - turned

        found = Again(made, exact.product(D, self.state.again.W), self.state.again.relu.H)
        one = exact.array(np.eye(self.state.n))
        return found.told(lambda: exact.minus(one, self._active_rows(on)))

    @cached_property
    def log_det(self) -> Measured:
        """log |det(I - J)| over all samples: each block has the determinant of I - W_SS, which LU
        gives up to n eps of its size; log det moves by at most n |block^-1| times that."""
        W, total = self.state.W, given(0)
        for on, count in zip(self.patterns.T, self._found[1].tolist(), strict=True):
            if on.any():
                block = np.eye(int(on.sum())) - W[np.ix_(on, on)]
                n, off = len(block), self.state.W_radius
                off += errors.rounding(n, 1 + errors.length(block))
                lowest = float(errors.singular_values(block, off)[-1].low)
                radius = 2 * n * off / lowest if lowest > 2 * off else np.inf
                again = Again("log", Again(_determinant, self._block(on)))
                value = float(np.linalg.slogdet(block)[1])
                total = total + count * Measured(value, radius, again=again)
        return total

    @property
    def _diagonal(self) -> bool:
        A, B = self.state.A, self.state.B
        return not np.any((np.abs(A).T @ np.abs(A) + np.abs(B - B.T))[~np.eye(len(A), dtype=bool)])

    @property
    def normal(self) -> bool:
        """Every block is normal, seen without rounding: W is diagonal, no unit is active, or all
        are in all samples and W is a multiple of the identity plus a symmetric or a skew matrix."""
        s = self.state
        plain = not s.A.any() or np.array_equal(s.B, s.B.T)
        trivial = self._diagonal or not self.patterns.any()
        return trivial or bool(self.patterns.all() and plain)

    @property
    def reached(self) -> bool:
        """|J| is an eigenvalue of a symmetric block: then sigma_min(I - J) = 1 - |J|."""
        s = self.state
        if not self.patterns.any():
            return True
        if not (self.normal and np.array_equal(s.B, s.B.T)):
            return False
        used = s.W[np.ix_(self.patterns.any(axis=1), self.patterns.any(axis=1))]
        values = errors.symmetric_eigenvalues((used + used.T) / 2, s.W_radius)
        return bool(values[-1].low > -values[0].low)

    @property
    def scalar(self) -> bool:
        """J = w I with w >= 0: then |det(I - J)| = (1 - w)^d. In rationals: a w that is 0 up to
        rounding may be negative, and then |J| = -w."""
        s = self.state
        if not self.patterns.any():
            return True
        square = common_square(s.A.T)
        if square is None or not np.array_equal(s.B, s.B.T):
            return False
        return bool(self.patterns.all()) and 1 - Fraction(s.m) - square >= 0


def _determinant(level: Level, block: Any) -> Any:
    """|det(I - W_SS)|."""
    n = block.nrows()
    exact.charge(level, n**3 * (1 + n // 8), block)
    return level.number(abs((exact.identity(level, n) - block).det()))


def _radius(block: Again) -> Again:
    """The spectral radius of a symmetric matrix, which rationals can tell."""
    ends = [Again("size", exact.eigenvalue(block, k)) for k in (0, -1)]

    def made(level: Level) -> Any:
        found = block.at(Rationals())
        if found != found.transpose():
            raise NoExactForm
        return level.larger(*(end.at(level) for end in ends))

    return Again(made)


def exact_patterns(H: Any) -> set[bytes]:
    """The activation patterns of pre-activations that are computed again."""
    found = set()
    for j in range(H.ncols()):
        column = [H[i, j] for i in range(H.nrows())]
        if not all(h > 0 or h <= 0 for h in column):
            raise NoExactForm
        found.add(np.array([bool(h > 0) for h in column]).tobytes())
    return found


def spectral_radius(a: np.ndarray, radius: float) -> Measured:
    """Bauer-Fike: the eigenvalues of a + da lie in discs of radius cond(V) |da| around the computed
    ones, and each connected union of k discs holds k of them: the largest modulus moves by at
    most 2 k - 1 radii. Never above the norm."""
    n = len(a)
    if n == 1:
        return Measured(abs(float(a[0, 0])), radius)
    values, V = np.linalg.eig(a)
    s = np.linalg.svd(V, compute_uv=False)
    cond = float(s[0] / s[-1]) if s[-1] > n * EPS * s[0] else np.inf
    off = (2 * n - 1) * cond * (radius + errors.rounding(n, errors.length(a)))
    largest, norm = float(np.abs(values).max()), float(errors.norm2(a, radius).high)
    low, high = max(largest - off, 0.0), min(largest + off, norm)
    return Measured((low + high) / 2, (high - low) / 2 * (1 + 4 * EPS), "Bauer-Fike")
