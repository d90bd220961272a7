"""Spectra of Q = I - gamma D (A^T kron I_N): up to a permutation N blocks I - gamma D_i A^T."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from deqcheck.linalg import errors, exact
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.matrix import Matrix, identity, instance
from deqcheck.linalg.patterns import distinct
from deqcheck.records.measured import EPS, Measured, given, minimum

if TYPE_CHECKING:
    from deqcheck.models.implicit_relu.state import ImplicitReluState

# Flops to be spent on the singular values of the blocks.
BUDGET = 2e10
# Above so many cubes of the orders of all blocks they are not told unasked.
CUBES = 1e8


def patterns(state: ImplicitReluState) -> np.ndarray:
    """The distinct activation patterns D_i, as columns (m x at most N)."""
    return distinct(state.equilibrium.mask)[0]


def blocks(state: ImplicitReluState) -> Iterator[Matrix]:
    """I - gamma D_i A^T for each distinct activation pattern; nothing is known of them where a
    pattern is not."""
    known = not state.equilibrium.doubtful.any()
    for DA in masked(state):
        block = identity(state.m) - instance(DA) * given(state.gamma)
        yield block if known else Matrix(block.array, np.inf)


def masked(state: ImplicitReluState) -> Iterator[np.ndarray]:
    """D_i A^T for each distinct activation pattern."""
    for D in patterns(state).T:
        yield D[:, None] * state.A.T


def eigenvalue_radius(a: np.ndarray, radius: float = 0.0) -> float:
    """Bauer-Fike: no eigenvalue moves further than cond(V) |da|; inf for a defective matrix."""
    _, V = np.linalg.eig(a)
    s = np.linalg.svd(V, compute_uv=False)
    if s[-1] <= len(a) * EPS * s[0]:
        return float(np.inf)
    rounding = 4 * len(a) * EPS * euclidean(a)
    return float(s[0] / s[-1]) * (radius + rounding)


def largest_real_part(a: np.ndarray) -> Measured:
    """Of the eigenvalues; never above the largest eigenvalue of the symmetric part."""
    found = float(np.linalg.eigvals(a).real.max())
    radius = eigenvalue_radius(a)
    top = errors.symmetric_eigenvalues((a + a.T) / 2, EPS * euclidean(a))[-1].high
    low = max(found - radius, -euclidean(a))
    high = max(min(found + radius, float(top)), low)
    again = exact.largest_real_part(exact.array(a))
    return Measured((low + high) / 2, (high - low) / 2, "Bauer-Fike", again)


def sigma_min_Q(state: ImplicitReluState) -> Measured:
    """Exact where all blocks are affordable, else between 1 - gamma |A| and the smallest seen."""
    seen, affordable = Measured(np.inf), _affordable(state)
    for i, block in enumerate(blocks(state)):
        if i == affordable:
            low, high = float((1 - state.gamma0).low), float(seen.high)
            return Measured((low + high) / 2, (high - low) / 2, "bracket")
        smallest = block.nth_singular_value(state.m)
        seen = minimum(seen, smallest) if i else smallest
    return seen


def listed(state: ImplicitReluState, names: tuple[str, ...]) -> tuple[str, ...]:
    """What is of use to a report: not what takes long and nobody asked for."""
    costly = state.N * state.m**3 > CUBES
    return tuple(name for name in names if not (costly and name == "sigma_min_Q"))


def affordable(state: ImplicitReluState) -> bool:
    """Whether every block can be factorised."""
    return bool(patterns(state).shape[1] <= _affordable(state))


def _affordable(state: ImplicitReluState) -> int:
    return max(1, int(BUDGET / (8 * state.m**3)))
