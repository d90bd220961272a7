"""When the gradient without the inverse Jacobian is a direction of descent."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.matrix import Matrix, identity, instance
from deqcheck.models.equilibrium.cheap import pair, weight
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, given, maximum, measured, minimum
from deqcheck.theorems.base import Check, Cite
from deqcheck.theorems.trained import Problem, State, Trained

PAPER = "Fung et al. 2022"


class Coercive(Trained):
    """<u, J^-1 u> >= (1 - k)/(1 + k)^2 |u|^2 for J = I - D W at an equilibrium of a map that
    contracts by k = ||W||_2 < 1, D the slopes. The sharp constant is 1/(1 + k)."""

    id = "fung2022/coercive"
    title = "The inverse Jacobian is coercive"
    cite = Cite(PAPER, "Theorem 3.1", "(15)")

    contracts = Check("the map contracts", "k < 1", "contraction")
    coercive = Check("smallest <u, J^-1 u>/|u|^2", "least >= (1 - k)/(1 + k)^2", "(15)")
    sharp = Check("with the sharp constant", "least >= 1/(1 + k)", "not in the paper")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.contracts(k=p.start.weights.norm2)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if not (state.N and state.weights.norm2.high < 1):
            return
        claim = self.coercive(least=_least(state), k=state.weights.norm2)
        yield claim.known_equal("W = 0", size=1.0) if not state.W.any() else claim

    def remarks(self, p: Problem, run: object) -> Iterable[Claim]:
        state = p.start
        if state.N and state.weights.norm2.high < 1:
            yield self.sharp(least=_least(state), k=state.weights.norm2)


def _least(state: State) -> Measured:
    """lambda_min of the symmetric part of J^-1 over the samples, any slopes at a doubtful unit."""
    found = []
    for j in range(state.N):
        if state.doubtful[:, j].any():
            return Measured(0.0, np.inf)
        D = state.slopes[:, j]
        off = 0.0 if state.s.piecewise else float(state.H_error[:, j].max())
        J = identity(state.n) - Matrix(D[:, None] * state.W, (off + 4e-16) * errors.length(state.W))
        inverse = J.solve(identity(state.n))
        found.append(((inverse + inverse.T) / 2).eigenvalue(0))
    return minimum(*found)


class Descent(Trained):
    """For one sample, a map that contracts by k and is continuously differentiable, and M =
    blkdiag(dS, dT) (gradients as columns) of full column rank with kappa(M^T M) <= 1/k, the cheap
    gradient is a direction of descent where the gradient is not 0. Here M^T M has the eigenvalues
    kT D_ii^2 with kT = |z|^2 + |x|^2 + 1, and kS = |z|^2 + 1 of the read-out. A ReLU with an
    inactive unit has a singular M^T M, and is not continuously differentiable."""

    id = "fung2022/thm"
    title = "The cheap gradient descends where kappa(M^T M) <= 1/k"
    cite = Cite(PAPER, "Theorem 3.1")
    uses = ("fung2022/coercive",)

    one = Check("one sample", "samples == 1", "setting")
    smooth = Check("continuously differentiable", "smooth == 1", "setting")
    contracts = Check("the map contracts", "k < 1", "contraction")
    rank = Check("full column rank", "d_min > 0", "M^T M > 0")
    kappa = Check(
        "condition of M^T M",
        "k*max(kT*d_max^2, kS)/min(kT*d_min^2, kS) <= 1",
        "kappa(M^T M) <= 1/k",
    )
    moving = Check("the gradient is not 0", "gradient > 0", "setting")
    descends = Check("gradient times cheap gradient", "inner > 0", "Theorem 3.1")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        state, k = p.start, p.start.weights.norm2
        yield self.one(samples=given(state.N))
        yield self.smooth(smooth=given(int(not state.s.piecewise)))
        yield self.contracts(k=k)
        if state.N != 1:
            return
        D = state.slopes[:, 0]
        off = np.inf if state.doubtful.any() else float(state.H_error.max()) + 1e-15
        low, high = Measured(float(D.min()), off), Measured(float(D.max()), off)
        z = errors.sum_of_squares(state.Z, state.equilibrium.error)
        kT, kS = z + errors.sum_of_squares(p.model.X) + 1, z + 1
        yield self.rank(d_min=low)
        yield self.kappa(k=k, d_min=low, d_max=high, kT=kT, kS=kS)
        yield self.moving(gradient=maximum(*(state.gradient_norms[n] for n in ("W", "U", "C"))))

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if state.N == 1:
            yield self.descends(inner=inner(state))


def inner(state: State) -> Measured:
    """The inner product of gradient and cheap gradient over all samples, read-out included."""
    G = state.C.T @ state.residual
    pairs = [pair(state, j, G[:, j]) for j in range(state.N)]
    total = measured(0)
    for i, (p, _) in enumerate(pairs):
        for j, (_, q) in enumerate(pairs):
            total = total + p.inner(q) * weight(state, i, j)
    R = Matrix(state.residual, state.outputs_radius)
    Z = Matrix(state.Z, state.equilibrium.error)
    ones = instance(np.ones((state.N, 1)))
    off = float(state.read_out.high) * state.outputs_radius
    # g itself is known up to the radius of the residual.
    loose = off * sum(float(a.whole + b.whole) for a, b in pairs) * (1 + state.sensitivity)
    most = max((float(weight(state, i, i).high) for i in range(state.N)), default=0.0)
    read = (R @ Z.T).sum_of_squares() + (R @ ones).sum_of_squares()
    return (total + read).widened(loose * most * max(state.N, 1))
