"""One sample, and a batch."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg.matrix import Matrix, identity
from deqcheck.models.equilibrium.cheap import cosine, label_free, pair
from deqcheck.models.equilibrium.weights import conformal
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, given, sqrt
from deqcheck.theorems.base import Check, Cite
from deqcheck.theorems.fung2022.descent import inner
from deqcheck.theorems.trained import Problem, State, Trained

PAPER = "deqcheck"
# Rows of the matrix of a batch.
MOST, MOST_RATIONAL = 400, 16


class OneSample(Trained):
    """For one sample the cosine between gradient and cheap gradient, without the read-out, is at
    least m_A/L_A >= m/L for ReLU with m > 0: (I - W_AA)^T p_A = q_A on the active units A. For
    other slopes in [0, 1] it is at least sqrt(1 - k^2), k = ||W||_2 < 1. It fails for networks that
    are well-posed but not monotone, and for smooth s with W monotone only."""

    id = "jfb/one"
    title = "The cheap gradient of one sample descends"
    cite = Cite(PAPER, "proved here")
    uses = ("winston2020/unique",)

    covered = Check("monotone relu, or a contraction", "max(relu*m, 1 - k) > 0", "m > 0 or k < 1")
    active = Check("cosine, by the active units", "cosine >= m_A/L_A", "m_A/L_A")
    plain = Check("all units are no better", "m_A/L_A >= m/L", "m/L")
    smooth = Check("cosine, by the contraction", "cosine >= sqrt(1 - k^2)", "sqrt(1 - k^2)")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        w = p.start.weights
        yield self.covered(relu=given(int(p.start.s.is_relu)), m=w.modulus, k=w.norm2)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        w = state.weights
        G = state.C.T @ state.residual
        by_active = state.s.is_relu and w.modulus.low > 0
        if not (by_active or w.norm2.high < 1):
            return
        found: tuple[float, list[Claim]] | None = None
        for j in range(state.N):
            p_, q = pair(state, j, G[:, j])
            if not (q.frobenius().low > 0 and p_.frobenius().low > 0):
                continue
            cos, note = cosine(p_, q), f"sample {j}"
            claims = []
            if by_active:
                claims = list(self._active(state, j, cos, note))
            if w.norm2.high < 1:
                claim = self.smooth(note, cosine=cos, k=w.norm2)
                claims.append(claim if state.W.any() else claim.known_equal("W = 0"))
            if found is None or cos.value < found[0]:
                found = float(cos.value), claims
        yield from () if found is None else found[1]

    def _active(self, state: State, j: int, cos: Measured, note: str) -> Iterable[Claim]:
        on = state.slopes[:, j] > 0
        F = identity(int(on.sum())) - Matrix(state.W[np.ix_(on, on)])
        m, L = ((F + F.T) / 2).eigenvalue(0), F.norm2()
        w = state.weights
        first = self.active(note, cosine=cos, m_A=m, L_A=L)
        second = self.plain(note, m_A=m, L_A=L, m=w.modulus, L=w.lipschitz)
        equal = on.sum() <= MOST_RATIONAL and conformal(state.W[np.ix_(on, on)])
        yield first.known_equal("F is a rotation times a number") if equal else first
        yield second.known_equal("all units are active") if on.all() else second


class Batch(Trained):
    """Over a batch the cheap gradient need not descend, however small ||W|| is: W = [[0, a], [0,
    0]], U = (0, 1)^T, b = (1, 0), x = e and -e, C = (-2/a, 1) with residuals 1 and -1 has cosines
    near -1. It descends for all labels where the symmetric part of A is positive definite, A_(i
    a)(j b) = P_ia^T Q_jb k_ij over samples and outputs, P and Q those of unit residuals and k_ij =
    z_i z_j + x_i x_j + 1."""

    id = "jfb/batch"
    title = "A batch whose cheap gradient descends for all labels"
    cite = Cite(PAPER, "proved here")
    uses = ("jfb/one",)

    certificate = Check("smallest eigenvalue of the symmetric part of A", "lowest > 0", "sym A > 0")
    some = Check("the outputs are not all on target", "residual > 0", "r != 0")
    descends = Check("gradient times cheap gradient", "inner > 0", "r^T A r")
    ascends = Check("residuals that ascend", "inner < 0", "r^T A r")

    def unchecked(self, p: Problem) -> Iterable[str]:
        if len(p.start.C) * p.start.N > MOST:
            yield f"a matrix of order samples times outputs: up to {MOST}"

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        state = p.start
        if state.N and len(state.C) * state.N <= MOST:
            yield self.certificate(lowest=lowest(state))
            yield self.some(residual=Matrix(state.residual, state.outputs_radius).frobenius())

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if state.N and len(state.C) * state.N <= MOST:
            yield self.descends(inner=inner(state))

    def remarks(self, p: Problem, run: object) -> Iterable[Claim]:
        state = p.start
        if state.N and len(state.C) * state.N <= MOST and lowest(state).high < 0:
            yield self.ascends("without the read-out", inner=ascending(state))


def lowest(state: State) -> Measured:
    A = label_free(state)
    return ((A + A.T) / 2).eigenvalue(0)


def ascending(state: State) -> Measured:
    """r^T A r for the last eigenvector r of the symmetric part."""
    A = label_free(state)
    r = Matrix(np.linalg.eigh((A.array + A.array.T) / 2)[1][:, 0])
    return r.inner(A @ r)


def guaranteed(m: Measured, L: Measured) -> Measured:
    """The cosine that every monotone ReLU network has on one sample."""
    return m / L


def contracted(k: Measured) -> Measured:
    return sqrt(1 - k * k)
