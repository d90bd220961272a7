"""Equilibria Z = relu(W Z + C), one column for each sample, with certified error.

Three models are of this form: ling2022 (W, U X), hieu2022 (monotone W, U X) and gao2022
(gamma A^T, Phi^T).
On a given activation pattern S the equation is linear: (I - W_SS) z_S = c_S, and the same
factorisation gives the sensitivities v_S = (I - W_SS)^-T a_S that every gradient needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg import wide
from deqcheck.linalg.certificates import Certificate, Contraction, Monotone, Swept
from deqcheck.linalg.entries import euclidean, finite, nonnegative, nonzero, same
from deqcheck.linalg.errors import length, product
from deqcheck.linalg.exact_zeros import Support, exactly_zero, silent
from deqcheck.linalg.late import scipy
from deqcheck.linalg.patterns import Patterns
from deqcheck.linalg.remembered import singular_values
from deqcheck.linalg.stacked import NEWTON, Places, follow, narrow
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured

# Flops above which factorising every activation pattern costs more than iterating on.
POLISH_BUDGET = 2e9
# The mask must have rested for this many sweeps before a polish is tried.
REST = 3
# It is tried with some Newton steps, each on the pattern of the one before; and after so many
# sweeps, and twice, four times as many, whether the mask rests or not.
SLOW = 16
SWEEPS = 20_000


def relu(x: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.maximum(x, 0.0)
    return found


@dataclass(frozen=True)
class Equilibrium:
    """A computed equilibrium; `error` bounds its Frobenius distance from the true one."""

    W: np.ndarray
    C: np.ndarray
    Z: np.ndarray
    certificate: Certificate
    sweeps: int = 0
    # How far C itself may be from the true one (Frobenius).
    C_radius: float = 0.0
    # The same of W.
    W_radius: float = 0.0
    # A bound on the error by other means than the certificate.
    proven: float = np.inf
    # The factorised systems of its own pattern, where the solver left them behind.
    factored: Patterns | None = None
    # W Z + C, likewise.
    pre_activations: np.ndarray | None = None
    # Where W and C are exactly zero; without it no zero counts as exact.
    support: Callable[[], Support] | None = None
    # The slopes of relu that are chosen, as on a kink; nan where the pre-activation says it.
    chosen: np.ndarray | None = None

    @cached_property
    def H(self) -> np.ndarray:
        """Pre-activations."""
        return self.W @ self.Z + self.C if self.pre_activations is None else self.pre_activations

    @cached_property
    def W_size(self) -> float:
        return euclidean(self.W)

    @cached_property
    def mask(self) -> np.ndarray:
        """Active units; the derivative of relu at 0 is taken as 0."""
        active: np.ndarray = self.H > 0
        # Where W is large W Z + C may cancel to nothing.
        cancelled = ~active & (self.Z > 0)
        return active | cancelled & self._surely_active if nonzero(cancelled) else active

    @property
    def _surely_active(self) -> np.ndarray:
        """At an equilibrium H = Z > 0 where Z > 0; what sweeps made of Z need be none."""
        found: np.ndarray = self.error < self.Z
        return found & (not isinstance(self.certificate, Swept))

    @cached_property
    def slopes(self) -> np.ndarray:
        """Of relu at every pre-activation."""
        if self.chosen is None:
            return self.mask
        return np.where(np.isnan(self.chosen), self.mask, self.chosen)

    @cached_property
    def residual(self) -> float:
        return length(self.Z - relu(self.H))

    @cached_property
    def residual_noise(self) -> float:
        """Rounding of the residual's own evaluation, and what W itself is unsure of."""
        Z_size = length(self.Z)
        own = _noise(self.W_size * Z_size + length(self.C), len(self.Z))
        return own + self.W_radius * Z_size

    @cached_property
    def error(self) -> float:
        """0 where the equilibrium is exactly 0 and was found so."""
        exact = not nonzero(self.Z) and self._bound > 0 and bool(self.certainly_zero.all())
        return 0.0 if exact else self._bound

    @cached_property
    def _bound(self) -> float:
        """A change of H changes the defect by no more, so the radius of C counts like one."""
        defect = length(self.certificate.defect(self.Z, self.H))
        found = self.certificate.radius(defect + self.residual_noise + self.C_radius)
        return min(float(found), self.proven)

    @property
    def measured_residual(self) -> Measured:
        return Measured(self.residual, self.residual_noise)

    @cached_property
    def H_error(self) -> float:
        """A contraction knows a bound on |W|; others are decomposed."""
        if isinstance(self.certificate, Contraction) and self.certificate.q < 1:
            return self._H_error(self.certificate.q)
        return self._H_error(float(singular_values(self.W)[0]))

    def _H_error(self, norm: float) -> float:
        return norm * self._bound + self.residual_noise + self.C_radius

    @cached_property
    def exact_zeros(self) -> np.ndarray:
        """Pre-activations that are zero in exact arithmetic: there the slope 0 is a convention."""
        if self.support is None or not (self.H == 0).any():
            return np.zeros(self.H.shape, dtype=bool)
        found: np.ndarray = exactly_zero(self.support(), self.C, self.H + self.H_error < 0) & (
            self.H == 0
        )
        return found

    @property
    def certainly_zero(self) -> np.ndarray:
        """Where Z is zero in exact arithmetic."""
        inactive: np.ndarray = self.H + self.H_error < 0
        return (
            inactive
            if self.support is None
            else inactive | silent(self.support(), self.C, inactive)
        )

    @cached_property
    def doubtful(self) -> np.ndarray:
        """Pre-activations of which it is not known on which side of the kink they are."""
        size = np.abs(self.H)
        if self.chosen is not None:
            size = np.where(np.isnan(self.chosen), size, np.inf)
        # The Frobenius norm costs less than the spectral one, and nearly always tells.
        if float(size.min(initial=np.inf)) > self._H_error(self.W_size):
            return np.zeros(size.shape, dtype=bool)
        near: np.ndarray = (size <= self.H_error) & ~self._surely_active
        return near & ~self.exact_zeros if near.any() else near

    @cached_property
    def kink_margin(self) -> Measured:
        """min |pre-activation|: gradient formulas need it positive."""
        if self.exact_zeros.any():
            return Measured(0.0)
        return Measured(float(np.abs(self.H).min()), self.H_error)

    def sensitivities(
        self, a: np.ndarray, start: np.ndarray | None = None
    ) -> tuple[np.ndarray, float]:
        """V with columns (I - J W^T)^-1 J a, and its Frobenius radius, on whichever side of their
        kinks the doubtful units are."""

        found = None
        if self.factored is None and self.chosen is None and _sweeps_win(self.W, self.certificate):
            found = wide.adjoint(self.W, self.mask, a, self._adjoint_noise, start)
        if found is not None:
            V, incoming = found.x, found.linear
        else:
            V = self._exact_adjoint(a)
            incoming = self.W.T @ V + a[:, None]
        return V, self.sensitivity_radius(a, V, incoming)

    def _adjoint_noise(self, V: np.ndarray) -> float:
        return _noise((1 + self.W_size) * length(V), len(V))

    def sensitivity_radius(self, a: np.ndarray, V: np.ndarray, incoming: np.ndarray) -> float:
        """Of a computed V, with W^T V + a."""
        defect = length(V - self.slopes * incoming)
        total = self._adjoint_noise(V) + EPS * self._read_out_size(a) + self.W_radius * length(V)
        radius = (defect + total) * self.certificate.inverse
        if a.any() and self.doubtful.any():
            radius += self._other_side(incoming, total + self.W_size * radius)
        return radius

    def on_its_pattern(self, C: np.ndarray) -> np.ndarray:
        """X with X = J (W X + C) for the slopes J of this equilibrium."""
        return state_on(self.factored or Patterns(self.W, self.mask), C)

    def _other_side(self, incoming: np.ndarray, error: float) -> float:
        """With J' for J, V' - V = (I - J' W^T)^-1 (J' - J)(W^T V + a), and (I - J' W^T)^-1 =
        I + (I - J' W^T)^-1 J' W^T. `incoming` is W^T V + a, up to the error and its rounding."""
        most = 1 + self.certificate.inverse * (self.W_size + self.W_radius)
        error += _noise(length(incoming), len(incoming))
        return most * (length(incoming[self.doubtful]) + error) * (1 + 16 * EPS)

    def _read_out_size(self, a: np.ndarray) -> float:
        """|J a| over all samples."""
        return float(np.sqrt(self.mask.sum(axis=1) @ (a * a)))

    def _exact_adjoint(self, a: np.ndarray) -> np.ndarray:
        V = adjoint_on(self.factored or Patterns(self.W, self.mask), a)
        if self.chosen is not None:
            for j in np.flatnonzero((~np.isnan(self.chosen)).any(axis=0)):
                slopes = self.slopes[:, j].astype(float)
                V[:, j] = np.linalg.solve(np.eye(len(a)) - slopes[:, None] * self.W.T, slopes * a)
        return V


def state_on(patterns: Patterns, C: np.ndarray) -> np.ndarray:
    """X = J (W X + C) for the slopes J of the patterns."""
    if patterns.cost() <= POLISH_BUDGET:
        return patterns.solve(C)
    return _iterate_on(patterns.W, patterns.mask, C)


def adjoint_on(patterns: Patterns, a: np.ndarray) -> np.ndarray:
    """V = J (W^T V + a) for the slopes J of the patterns."""
    if patterns.cost() <= POLISH_BUDGET:
        return patterns.adjoint(a)
    return _iterate_on(patterns.W.T, patterns.mask, a[:, None])


def _iterate_on(W: np.ndarray, mask: np.ndarray, C: np.ndarray) -> np.ndarray:
    X = np.where(mask, C, 0.0)
    for _ in range(SWEEPS):
        new = np.where(mask, W @ X + C, 0.0)
        moved = length(new - X)
        X = new
        if moved <= 4 * EPS * length(X):
            break
    found: np.ndarray = X
    return found


def _sweeps_win(W: np.ndarray, certificate: Certificate) -> bool:
    return len(W) >= wide.WIDE and isinstance(certificate, Contraction)


def picard(
    W: np.ndarray, C: np.ndarray, certificate: Certificate, start: np.ndarray | None = None
) -> Equilibrium:
    """Sweeps Z <- relu(W Z + C) from the pre-activations `start`; narrow ones are finished on the
    active set where that is cheap."""
    at_once = _at_once(W, C, certificate) if start is None else None
    if at_once is not None:
        return at_once

    def sweep(Z: np.ndarray) -> np.ndarray:
        return relu(W @ Z + C)

    Z = relu(C if start is None else start)
    if _sweeps_win(W, certificate):
        W_size, C_size = euclidean(W), length(C)

        def noise(Z: np.ndarray) -> float:
            return _noise(W_size * length(Z) + C_size, len(Z))

        found = wide.equilibrium(W, C, noise, Z)
        if found is not None:
            Z, H, _, sweeps = found
            return Equilibrium(W, C, Z, certificate, sweeps, pre_activations=H)
    return _settle(W, C, certificate, sweep, Z)


def _noise(size: float, m: int) -> float:
    """Rounding of a residual of products with W whose terms have this size."""
    return product(m, size)


def peaceman_rachford(
    W: np.ndarray, C: np.ndarray, certificate: Monotone, lipschitz: float
) -> Equilibrium:
    """For monotone I - W, where plain sweeps need not converge. Contracts at least by
    sqrt((L - m)/(L + m)) with L = ||I - W||, m the modulus, at alpha = 1/L."""
    at_once = _at_once(W, C, certificate)
    if at_once is not None:
        return at_once
    alpha = 1 / lipschitz
    # A singular one leaves inf or nan, which no equilibrium has.
    *lu, _ = scipy.linalg.lapack.dgetrf(np.eye(len(W)) + alpha * (np.eye(len(W)) - W))

    def sweep(p: np.ndarray) -> np.ndarray:
        q = 2 * relu(p) - p
        found: np.ndarray = 2 * scipy.linalg.lapack.dgetrs(*lu, q + alpha * C)[0] - q
        return found

    return _settle(W, C, certificate, sweep, np.zeros_like(C))


def forward_backward(
    W: np.ndarray, C: np.ndarray, certificate: Monotone, alpha: float
) -> Equilibrium:
    """Z <- relu(Z - alpha ((I - W) Z - C)), a contraction for 0 < alpha < 2 m/||I - W||^2."""
    at_once = _at_once(W, C, certificate)
    if at_once is not None:
        return at_once
    step = (1 - alpha) * np.eye(len(W)) + alpha * W

    def sweep(Z: np.ndarray) -> np.ndarray:
        return relu(step @ Z + alpha * C)

    return _settle(W, C, certificate, sweep, np.zeros_like(C))


def followed(
    W: np.ndarray, C: np.ndarray, certificate: Certificate, near: Places
) -> Equilibrium | None:
    """The equilibrium if Newton's method finds it from this pattern, that of a state nearby."""
    found = follow(W[None], C[None], near)
    if not found.fits[0]:
        return None
    Z, H = found.Z[0], found.H[0]
    patterns = Patterns(W, H > 0, found.systems)
    return Equilibrium(W, C, Z, certificate, factored=patterns, pre_activations=H)


def _settle(
    W: np.ndarray,
    C: np.ndarray,
    certificate: Certificate,
    sweep: Callable[[np.ndarray], np.ndarray],
    state: np.ndarray,
) -> Equilibrium:
    """Until the state of the iteration rests, of which Z is the positive part: Z may rest long
    before it."""
    mask, rested, tried = state > 0, 0, None
    for count in range(1, SWEEPS + 1):
        new = sweep(state)
        moved = length(new - state)
        state = new
        active = state > 0
        rested = rested + 1 if same(active, mask) else 0
        mask = active
        settled = moved <= 4 * EPS * length(state)
        # A mask that flickers on a kink, or moves ever more slowly, never rests.
        slow = count >= SLOW and count & (count - 1) == 0
        known = tried is not None and same(tried, mask)
        if (rested >= REST or settled or slow) and not known:
            tried = mask
            polished = newton(W, C, certificate, mask)
            if polished is not None:
                return replace(polished, sweeps=count)
        if settled or not np.isfinite(moved):
            break
    return Equilibrium(W, C, relu(state), certificate, count)


def _at_once(W: np.ndarray, C: np.ndarray, certificate: Certificate) -> Equilibrium | None:
    """Without sweeps, of which narrow systems cost less than a few."""
    return newton(W, C, certificate, C > 0) if narrow(*C.shape) else None


def newton(
    W: np.ndarray, C: np.ndarray, certificate: Certificate, mask: np.ndarray
) -> Equilibrium | None:
    """Newton's method on max(W Z + C, 0) = Z: what rests within rounding will do, as where a unit
    lies on its kink and no pattern is consistent."""
    patterns = None
    for _ in range(NEWTON):
        patterns = Patterns(W, mask, before=patterns)
        if patterns.cost() > POLISH_BUDGET:
            return None
        found = patterns.solve(C)
        if not finite(found):
            return None
        H = W @ found + C
        above = H > 0
        if nonnegative(found) and same(above, mask):
            return Equilibrium(W, C, found, certificate, factored=patterns, pre_activations=H)
        Z = relu(found)
        if length(relu(W @ Z + C) - Z) <= 4 * EPS * length(Z):
            return Equilibrium(W, C, Z, certificate)
        if same(above, mask):
            return None
        mask = above
    return None
