"""Gradients, equations (17), (21), (22), (24)."""

from __future__ import annotations

from collections.abc import Iterable

from deqcheck.gradcheck import gradcheck
from deqcheck.linalg.kron import vec
from deqcheck.models.delm.oracle import dense_D
from deqcheck.models.delm.state import DelmState
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.kawaguchi2021.bounds import cite
from deqcheck.theorems.kawaguchi2021.setting import Problem, Statement

# Orders up to which the dense Kronecker forms are built.
DENSE_ORDER = 400


class Gradient(Statement):
    """grad_B L = Q U^-T and column k of grad_A L = gamma J_k Z^T Q U^-T e_k, Q = grad L0(Z); the
    squared norm of both together is vec(Q)^T D vec(Q).
    """

    id = "kawaguchi2021/gradient"
    title = "Gradients of the loss"
    cite = cite("Appendix A.1.4", "(17), (21), (22), (24)")
    models = ("delm",)
    dynamics = (STATIC,)
    soundness = "typo"
    erratum = (
        "The line after (17) equates a 1 x m^2 row with an m x m matrix (the row is the transposed "
        "vec of the matrix), and A.1.4 writes n x n for a matrix that is m x m."
    )

    explicit = Check("against the Kronecker form", "deviation <= noise", "(17), (21), (22)")
    differences = Check("against central differences", "deviation <= noise", "(21), (22)")
    energy = Check("squared norm of the gradient", "gradient^2 == q_D_q", "(24)")

    def claims(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        if p.model.m * max(p.model.m, p.model.my) > DENSE_ORDER:
            return
        for agreement in gradcheck(p):
            name = agreement.parameter
            yield self.explicit(
                name, deviation=agreement.explicit, noise=agreement.tolerance_explicit
            )
            yield self.differences(
                name, deviation=agreement.differences, noise=agreement.tolerance_differences
            )
        q = vec(state.Q)
        form = float(q @ dense_D(state) @ q)
        relative = 32 * EPS * p.model.m * ((1 + p.model.gamma) / (1 - p.model.gamma)) ** 2
        yield self.energy(gradient=state.measure("gradient"), q_D_q=Measured(form, relative * form))
