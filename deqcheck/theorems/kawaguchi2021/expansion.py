"""Equations (19) and (25): the derivatives of softmax, and the inverse of U along the gradient."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg.errors import frobenius, length
from deqcheck.models.delm.oracle import softmax_jacobian
from deqcheck.models.delm.state import DelmState
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured, measured, minimum, sqrt
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.kawaguchi2021.bounds import cite
from deqcheck.theorems.kawaguchi2021.setting import Problem, Statement

# Central differences of softmax lose h^2 to truncation and eps/h to rounding.
DIFFERENCE_STEP = 2.0**-15
# With one entry of A moved, a column of softmax is a logistic function of it times constants of at
# most 1, and the third derivative of that function is at most 1/8.
THIRD = 1 / 8
# Lengths of the step along the gradient.
STEPS = (1e-4, 1e-5)


class Expansion(Statement):
    """(19): d softmax(A)_ij/dA_kl = 1{j = l} (1{i = k} S_ij - S_ij S_kj), so that J_k is
    diag(s_k) - s_k s_k^T for the column s_k. (25): for a step alpha along G = grad_A L,
    (I - gamma softmax(A - alpha G))^-1 = U^-1 - alpha gamma U^-1 M U^-1 + O(alpha^2) with column k
    of M equal to J_k G_k.

    O(alpha^2) is judged with a constant: V = U^-1 has |V''| <= 2 gamma^2 |V|^3 |S'|^2 +
    gamma |V|^2 |S''| with |S'| <= |G|/2 and |S''| <= |G|^2 (Frobenius norms), the remainder is at
    most alpha^2/2 times that, and on the way |V| is at most |V(0)|/(1 - gamma |V(0)| |alpha G|/2)
    and at most sqrt(m)/(1 - gamma).
    """

    id = "kawaguchi2021/expansion"
    title = "Derivatives of softmax, and the inverse along the gradient"
    cite = cite("Appendices A.1.1 and A.1.4", "(19), (25)")
    dynamics = (STATIC,)
    soundness = "typo"
    erratum = "A.1.4 writes o(alpha^2) once for O(alpha^2), and n x n for a matrix that is m x m."
    uses = ("kawaguchi2021/norms",)

    jacobian = Check("derivatives of softmax", "deviation <= noise", "(19)")
    remainder = Check(
        "remainder of the inverse",
        "remainder <= step^2*(gamma^2*inverse^3/4 + gamma*inverse^2/2) + rounding",
        "(25)",
    )

    def claims(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        yield self.jacobian(**_jacobians(p, state))
        G = state.gradient["A"]
        size = length(G)
        for wanted in STEPS:
            # Only alpha G counts.
            step = wanted * (G / size) if size > 0 else G
            yield self.remainder(f"step {wanted:g}" if size > 0 else "G = 0", **_sides(state, step))


def _sides(state: DelmState, step: np.ndarray) -> dict[str, Measured]:
    gamma, m, moved = measured(state.gamma), state.m, frobenius(step)
    here, most = 1 / state.U_singular[-1], sqrt(m) / (1 - gamma)
    turned = gamma * here * moved / 2
    inverse = minimum(most, here / (1 - turned)) if turned.high < 1 else most
    # Two inverses in floating point lose cond_1(U) each; entries of A round, as exponents do.
    roundings = m + float(np.abs(state.A).max())
    rounding = 64 * EPS * roundings * state.measure("cond1_U").value * most.value
    return {
        "remainder": Measured(_remainder(state, step)),
        "step": moved,
        "gamma": gamma,
        "inverse": inverse,
        "rounding": Measured(rounding),
    }


def _remainder(state: DelmState, step: np.ndarray) -> float:
    """|V(alpha) - V + gamma V M V| (2-norm), M with alpha G for G."""
    V = np.linalg.inv(state.U)
    M = np.stack([softmax_jacobian(s) @ g for s, g in zip(state.S.T, step.T, strict=True)], axis=1)
    there = np.linalg.inv(state.model.resolvent(state.model.softmax(state.A - step)))
    return float(np.linalg.norm(there - V + state.gamma * V @ M @ V, 2))


def _jacobians(p: Problem, state: DelmState) -> dict[str, float]:
    """All of d softmax(A)/dA by central differences, a whole row of A at once: the columns of
    softmax(A) do not see each other."""
    largest = float(np.abs(state.A).max())
    # Far from 0 the entries of A have no digits left for a small step.
    h = max(DIFFERENCE_STEP, 1024 * EPS * largest)
    off = 0.0
    for k in range(p.model.m):
        move = np.zeros_like(state.A)
        move[k] = h
        ahead, behind = state.A + move, state.A - move
        slope = (p.model.softmax(ahead) - p.model.softmax(behind)) / (ahead - behind)[k]
        exact = np.stack([softmax_jacobian(s)[:, k] for s in state.S.T], axis=1)
        off = max(off, float(np.abs(slope - exact).max()))
    # The denominators are sums of m terms, and exponents round by eps |A|.
    rounding = (p.model.m + 8 + largest) * EPS / h
    return {"deviation": off, "noise": THIRD * h**2 / 6 + rounding}
