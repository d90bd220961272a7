"""How far a change of the input moves the equilibrium and the outputs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deqcheck.linalg import lapack, perron
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.late import scipy
from deqcheck.linalg.matrix import Matrix, instance
from deqcheck.linalg.minors import MOST_INVERSES, inverses
from deqcheck.models.equilibrium.state import EquilibriumState
from deqcheck.records.measured import EPS, Measured

# Widths of the interval of log t, and how often it is cut.
SPAN, CUTS, FEW = 6.0, 32, 16
WIDE = 300
GOLDEN = (5**0.5 - 1) / 2
# How much a constant is raised until its matrix inequality is certain.
RAISED = (1e-12, 1e-10, 1e-8, 1e-6, 1e-4)


def box_of_absolute(state: EquilibriumState) -> np.ndarray | None:
    """|C| (I - |W|)^-1 |U| + |D|: how far each output moves with each input."""
    return _box(state, np.abs(state.W))


def box_of_metzler(state: EquilibriumState) -> np.ndarray | None:
    return _box(state, perron.metzler(state.W))


def _box(state: EquilibriumState, M: np.ndarray) -> np.ndarray | None:
    moves = perron.positive_solution(M, np.abs(state.U))
    if moves is None:
        return None
    found: np.ndarray = np.abs(state.C) @ moves + np.abs(state.model.D)
    return found * (1 + (state.n + 8) * EPS)


def by_modulus(state: EquilibriumState) -> Measured:
    """|U|/m for the equilibrium."""
    m = state.weights.modulus
    return instance(state.U).norm2() / m if m.low > 0 else Measured(np.inf)


def by_diagonal(state: EquilibriumState, C: np.ndarray, weights: np.ndarray) -> Measured:
    """g with Lambda F + F^T Lambda >= (C^T C + Lambda U U^T Lambda)/g for t times these weights,
    the best t: |C dz| <= g |dx|. inf where the left side is not known to be positive definite."""
    n = state.n
    half = weights[:, None] * (np.eye(n) - state.W)
    X, drive = half + half.T, weights[:, None] * state.U
    A, B = C.T @ C, drive @ drive.T
    factor, failed = scipy.linalg.lapack.dpotrf(X, lower=True)
    if failed:
        return Measured(np.inf)
    if not C.any() or not drive.any():
        return Measured(0.0)
    left, right = (_between(np.tril(factor), x) for x in (A, B))

    def largest(u: float) -> float:
        both = left * np.exp(-u) + right * np.exp(u)
        return float(scipy.linalg.eigh(both, eigvals_only=True, subset_by_index=(n - 1, n - 1))[0])

    middle = np.log(np.trace(left) / np.trace(right)) / 2
    u = least(largest, middle - SPAN, middle + SPAN, CUTS if n <= WIDE else FEW)
    return _certified(state, C, weights, np.exp(u), largest(u))


def _between(L: np.ndarray, A: np.ndarray) -> np.ndarray:
    """L^-1 A L^-T."""
    first = scipy.linalg.solve_triangular(L, A, lower=True)
    found = scipy.linalg.solve_triangular(L, first.T, lower=True)
    return np.asarray((found + found.T) / 2)


def least(f: Callable[[float], float], low: float, high: float, cuts: int) -> float:
    """By golden sections: f is unimodal."""
    inner, outer = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_inner, at_outer = f(inner), f(outer)
    for _ in range(cuts):
        if at_inner <= at_outer:
            high, outer, at_outer = outer, inner, at_inner
            inner = high - GOLDEN * (high - low)
            at_inner = f(inner)
        else:
            low, inner, at_inner = inner, outer, at_outer
            outer = low + GOLDEN * (high - low)
            at_outer = f(outer)
    return inner if at_inner <= at_outer else outer


def _certified(
    state: EquilibriumState, C: np.ndarray, weights: np.ndarray, t: float, g: float
) -> Measured:
    """The smallest of g, a little more, ... for which g X - C^T C/t - t Lambda U U^T Lambda is
    certainly not indefinite. A multiple of the identity that its bar asks for is part of it."""
    F = instance(np.eye(state.n) - state.W)
    F = Matrix(F.array, EPS * euclidean(F.array))
    half = instance(np.diag(weights)) @ F
    drive = instance(np.diag(weights)) @ instance(state.U)
    X, read = half + half.T, instance(C)
    rest = (read.T @ read) * (1 / t) + (drive @ drive.T) * t
    lowest = X.eigenvalue(0)
    for raised in RAISED:
        tried = g * (1 + raised)
        slack = (X * tried - rest).eigenvalue(0)
        if slack.low >= 0:
            return Measured(tried)
        # g' X - rest >= (g' - g) lambda_min(X) + slack.
        if lowest.low > 0:
            more = -float(slack.low) / float(lowest.low)
            if more <= raised * g:
                return Measured((tried + more) * (1 + 8 * EPS))
    return Measured(np.inf)


def over_patterns(state: EquilibriumState) -> Measured | None:
    """The largest |C (I - D W)^-1 D U| over all patterns: attained for ReLU where U has full row
    rank; None where there are too many, or I - W is no P-matrix."""
    w = state.weights
    if state.n > MOST_INVERSES or w.worst_inverse is None:
        return None
    worst = 0.0
    for on, inverse in inverses(state.W):
        jacobians = state.C @ inverse @ (on[:, :, None] * state.U) + state.model.D
        worst = max(worst, float(np.linalg.norm(jacobians, 2, axis=(1, 2)).max()))
    gain = euclidean(state.C) * euclidean(state.U)
    off = (16 * state.n * EPS + w.worst_inverse.error) * gain * float(w.worst_inverse.high)
    return Measured(worst, off)


def jacobian(state: EquilibriumState, j: int) -> np.ndarray:
    """dz/dx = (I - D W)^-1 D U at the equilibrium of one sample."""
    D = state.slopes[:, j]
    return lapack.solve(np.eye(state.n) - D[:, None] * state.W, D[:, None] * state.U)
