"""Equilibria Z = relu(W Z + C), one column for each sample, with certified error.

Three models are of this form: ling2022 (W, U X), hieu2022 (monotone W, U X) and gao2022
(gamma A^T, Phi^T).
On a given activation pattern S the equation is linear: (I - W_SS) z_S = c_S, and the same
factorisation gives the sensitivities v_S = (I - W_SS)^-T a_S that every gradient needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from deqcheck.linalg.errors import rounding
from deqcheck.records.measured import EPS, Measured

# Flops above which factorising every activation pattern costs more than iterating on.
POLISH_BUDGET = 2e9
# The mask must have rested for this many sweeps before a polish is tried.
REST = 3
SWEEPS = 20_000


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0.0)


@dataclass(frozen=True)
class Contraction:
    """||W||_2 <= q < 1: any Z lies within ||Z - relu(W Z + C)||/(1 - q) of the equilibrium."""

    q: float

    def radius(self, residual: float) -> float:
        return residual / (1 - self.q) if self.q < 1 else np.inf

    @property
    def inverse(self) -> float:
        """Bound on ||(I - J W)^-1 J|| for every diagonal J with entries in [0, 1]."""
        return 1 / (1 - self.q) if self.q < 1 else np.inf


@dataclass(frozen=True)
class Monotone:
    """sym(I - W) >= modulus I. With r = Z - relu(W Z + C), Z - r solves the equation for C + W r,
    so the error is at most ||r|| (1 + ||W||/modulus)."""

    modulus: float
    norm: float

    def radius(self, residual: float) -> float:
        return residual * (1 + self.norm / self.modulus)

    @property
    def inverse(self) -> float:
        return 1 / self.modulus


Certificate = Contraction | Monotone


class Patterns:
    """The linear systems of each distinct activation pattern, factorised once."""

    def __init__(self, W: np.ndarray, mask: np.ndarray):
        self.W, self.mask = W, mask

    @cached_property
    def _groups(self) -> list[tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]]:
        packed, inverse = np.unique(self.mask, axis=1, return_inverse=True)
        inverse = np.asarray(inverse).ravel()
        groups = []
        for i in range(packed.shape[1]):
            active = np.flatnonzero(packed[:, i])
            if active.size:
                block = np.eye(active.size) - self.W[np.ix_(active, active)]
                groups.append((active, np.flatnonzero(inverse == i), lu_factor(block)))
        return groups

    def solve(self, C: np.ndarray) -> np.ndarray:
        """z_S = (I - W_SS)^-1 c_S in every column, zero off S."""
        Z = np.zeros_like(C)
        for active, columns, lu in self._groups:
            Z[np.ix_(active, columns)] = lu_solve(lu, C[np.ix_(active, columns)])
        return Z

    def adjoint(self, a: np.ndarray) -> np.ndarray:
        """v_S = (I - W_SS)^-T a_S in every column, zero off S."""
        V = np.zeros(self.mask.shape)
        for active, columns, lu in self._groups:
            V[np.ix_(active, columns)] = lu_solve(lu, a[active], trans=1)[:, None]
        return V

    def cost(self) -> float:
        sizes = np.unique(self.mask, axis=1).sum(axis=0).astype(float)
        return float((2 / 3 * sizes**3).sum())


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

    @cached_property
    def H(self) -> np.ndarray:
        """Pre-activations."""
        return self.W @ self.Z + self.C

    @cached_property
    def mask(self) -> np.ndarray:
        """Active units; the derivative of relu at 0 is taken as 0."""
        return self.H > 0

    @cached_property
    def residual(self) -> float:
        return float(np.linalg.norm(self.Z - relu(self.H)))

    @cached_property
    def residual_noise(self) -> float:
        """Rounding of the residual's own evaluation."""
        size = np.linalg.norm(self.W) * np.linalg.norm(self.Z) + np.linalg.norm(self.C)
        return rounding(1, float(np.sqrt(len(self.W)) * size))

    @cached_property
    def error(self) -> float:
        """A change of C changes the residual by no more, so its radius counts like one."""
        return float(self.certificate.radius(self.residual + self.residual_noise + self.C_radius))

    @property
    def measured_residual(self) -> Measured:
        return Measured(self.residual, self.residual_noise)

    @cached_property
    def H_error(self) -> float:
        return float(np.linalg.norm(self.W, 2)) * self.error + self.residual_noise + self.C_radius

    @cached_property
    def kink_margin(self) -> Measured:
        """min |pre-activation|: gradient formulas need it positive."""
        return Measured(float(np.abs(self.H).min()), self.H_error)

    @property
    def kink_count(self) -> int:
        """Pre-activations that are exactly zero."""
        return int(np.sum(self.H == 0))

    def sensitivities(self, a: np.ndarray) -> tuple[np.ndarray, float]:
        """V with columns (I - J W^T)^-1 J a, and its Frobenius radius (on the computed pattern)."""
        patterns = Patterns(self.W, self.mask)
        if patterns.cost() <= POLISH_BUDGET:
            V = patterns.adjoint(a)
        else:
            V = _iterate_adjoint(self.W, self.mask, a)
        defect = np.where(self.mask, V - self.W.T @ V - a[:, None], 0.0)
        noise = rounding(
            1, float(np.sqrt(len(a)) * (1 + np.linalg.norm(self.W)) * np.linalg.norm(V))
        )
        noise += EPS * float(np.linalg.norm(a)) * np.sqrt(V.shape[1])
        return V, (float(np.linalg.norm(defect)) + noise) * self.certificate.inverse


def _iterate_adjoint(W: np.ndarray, mask: np.ndarray, a: np.ndarray) -> np.ndarray:
    V = mask * a[:, None]
    for _ in range(SWEEPS):
        new = mask * (a[:, None] + W.T @ V)
        moved = float(np.linalg.norm(new - V))
        V = new
        if moved <= 4 * EPS * float(np.linalg.norm(V)):
            break
    return V


def picard(
    W: np.ndarray, C: np.ndarray, certificate: Certificate, start: np.ndarray | None = None
) -> Equilibrium:
    """Sweeps Z <- relu(W Z + C), finished on the active set where that is cheap."""

    def sweep(Z: np.ndarray) -> np.ndarray:
        return relu(W @ Z + C)

    return _settle(W, C, certificate, sweep, relu(C) if start is None else start)


def peaceman_rachford(
    W: np.ndarray, C: np.ndarray, certificate: Monotone, lipschitz: float
) -> Equilibrium:
    """For monotone I - W, where plain sweeps need not converge. Contracts at least by
    sqrt((L - m)/(L + m)) with L = ||I - W||, m the modulus, at alpha = 1/L."""
    alpha = 1 / lipschitz
    lu = lu_factor(np.eye(len(W)) + alpha * (np.eye(len(W)) - W))
    p = np.zeros_like(C)

    def sweep(Z: np.ndarray) -> np.ndarray:
        nonlocal p
        q = 2 * Z - p
        p = 2 * lu_solve(lu, q + alpha * C) - q
        return relu(p)

    return _settle(W, C, certificate, sweep, np.zeros_like(C))


def _settle(
    W: np.ndarray,
    C: np.ndarray,
    certificate: Certificate,
    sweep: Callable[[np.ndarray], np.ndarray],
    Z: np.ndarray,
) -> Equilibrium:
    mask, rested, tried = Z > 0, 0, None
    for count in range(1, SWEEPS + 1):
        new = sweep(Z)
        moved = float(np.linalg.norm(new - Z))
        Z = new
        active = Z > 0
        rested = rested + 1 if np.array_equal(active, mask) else 0
        mask = active
        settled = moved <= 4 * EPS * float(np.linalg.norm(Z))
        if (rested >= REST or settled) and not (tried is not None and np.array_equal(tried, mask)):
            tried = mask
            polished = polish(W, C, mask)
            if polished is not None:
                return Equilibrium(W, C, polished, certificate, count)
        if settled or not np.isfinite(moved):
            break
    return Equilibrium(W, C, Z, certificate, count)


def polish(W: np.ndarray, C: np.ndarray, mask: np.ndarray) -> np.ndarray | None:
    """The solution on the pattern `mask`, if it has that very pattern."""
    patterns = Patterns(W, mask)
    if patterns.cost() > POLISH_BUDGET:
        return None
    Z = patterns.solve(C)
    H = W @ Z + C
    consistent = np.isfinite(Z).all() and (Z >= 0).all() and np.array_equal(H > 0, mask)
    return Z if consistent else None
