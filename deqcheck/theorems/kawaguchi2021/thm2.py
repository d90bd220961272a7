"""Theorem 2: each instant of the flow is a trust-region Newton step."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import scipy

from deqcheck.linalg.errors import symmetric_eigenvalues
from deqcheck.linalg.kron import vec
from deqcheck.models.delm.spectrum import block_scalars
from deqcheck.models.delm.state import DelmState
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured
from deqcheck.seeds import rng
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.kawaguchi2021.bounds import cite
from deqcheck.theorems.kawaguchi2021.metric import steepest, velocity
from deqcheck.theorems.kawaguchi2021.setting import Problem, Statement

DRAWS = 200


@dataclass(frozen=True)
class TrustRegion:
    """One output: model gradient q, Hessian H, metric G, radius scale delta, minimiser v; and
    K = I - delta S^1/2 F S^1/2, which is positive definite where G = U S^-1/2 K S^-1/2 U^T is."""

    q: np.ndarray
    H: np.ndarray
    G: np.ndarray
    delta: float
    v: np.ndarray
    K: np.ndarray

    @classmethod
    def at(cls, state: DelmState, share: float = 0.5) -> TrustRegion:
        """delta is that share of delta_bar, below which G is positive definite."""
        C = state.model.outer.curved_features(state.Z)
        M = block_scalars(state)
        bar = state.measure("delta_bar").value
        # Without curvature every delta serves.
        delta = share * bar if np.isfinite(bar) else 1.0
        F = scipy.linalg.lu_solve(state.lu, C)
        G = state.U @ (np.diag(1 / M) - delta * F @ F.T) @ state.U.T
        q = vec(state.Q)
        # D = U^-T diag(M) U^-1 for one output.
        v = -delta * scipy.linalg.lu_solve(
            state.lu, M * scipy.linalg.lu_solve(state.lu, q), trans=1
        )
        root = np.sqrt(delta * M)[:, None] * F
        return cls(q, C @ C.T, G, delta, v, np.eye(state.m) - root @ root.T)

    def value(self, v: np.ndarray) -> float:
        return float(self.q @ v + v @ self.H @ v / 2)

    def stationarity(self) -> tuple[float, float]:
        """|q + H v + G v/delta|, multiplier 1/(2 delta), and the size of what cancels there."""
        terms = (self.q, self.H @ self.v, self.G @ self.v / self.delta)
        return float(np.linalg.norm(sum(terms))), sum(float(np.linalg.norm(t)) for t in terms)


class Theorem2(Statement):
    """For one output, v = delta d/dt vec Z minimises q^T v + v^T H v/2 over
    |v|_G <= delta |d/dt vec Z|_G, with G = U (S^-1 - delta F) U^T and any delta < delta_bar; and
    d/dt f(x) = v . phi(x)/delta for every x. Judged at the initial parameters, for half of the
    largest delta_bar.
    """

    id = "kawaguchi2021/thm2"
    title = "The flow is an instantaneous trust-region step"
    cite = cite("Theorem 2", "(13)")
    models = ("delm",)
    dynamics = (STATIC,)
    soundness = "typo"
    erratum = (
        "The loss must be twice differentiable at the current outputs, which the text leaves out; "
        "convexity is not needed, since H + G/delta = U S^-1 U^T/delta > 0; the last display lacks "
        "a d/dt. The exact delta_bar is 1/lambda_max(S^1/2 F S^1/2)."
    )

    one_output = Check("one output", "my == 1", "Theorem 2")
    smooth = Check("twice differentiable at the outputs", "kink_distance > 0", "Theorem 2")
    # That of I - delta S^1/2 F S^1/2, which has the signature of G and far smaller numbers.
    metric = Check("G is positive definite", "lambda_min_K > 0", "Theorem 2")
    stationary = Check("stationary with multiplier 1/(2 delta)", "residual <= noise", "Theorem 2")
    minimal = Check(
        f"not worse than {DRAWS} feasible points", "best_drawn >= attained", "Theorem 2"
    )
    outputs = Check("velocity of the outputs", "deviation <= noise", "Theorem 2")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.one_output(my=p.model.my)
        if p.model.my == 1:
            distance = p.model.outer.kink_distance(p.start.Z)
            # A loss without kinks is infinitely far from them.
            if math.isfinite(distance.value):
                yield self.smooth(kink_distance=distance)

    def claims(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        if p.model.my != 1:
            return
        region = TrustRegion.at(state)
        # Rounding of U, F and the solves, amplified by at most cond_1(U)^2.
        relative = 64 * EPS * p.model.m * state.measure("cond1_U").value ** 2
        # Its second term has norm below 1, and the relative accuracy of F.
        radius = 64 * EPS * p.model.m * state.measure("cond1_U").value
        yield self.metric(lambda_min_K=symmetric_eigenvalues(region.K, radius)[0])
        residual, scale = region.stationarity()
        yield self.stationary(residual=residual, noise=relative * scale)
        attained, best = region.value(region.v), _best_drawn(region, p.seed)
        yield self.minimal(
            best_drawn=Measured(best, relative * abs(best)),
            attained=Measured(attained, relative * abs(attained)),
        )
        Phi = p.model.outer.Phi
        claimed = region.v @ Phi / region.delta
        moved, radius = velocity(p, state)
        # The claimed one is -D Q, and D = J J^T with J = dZ/d(A, B).
        radius += steepest(state) ** 2 * state.outer.gradient_error
        yield self.outputs(
            deviation=float(np.linalg.norm(moved[0] @ Phi - claimed)),
            noise=radius * float(np.linalg.norm(Phi)) + relative * float(np.linalg.norm(claimed)),
        )


def _best_drawn(region: TrustRegion, seed: int) -> float:
    """The best of random points of the trust region, some of them near the minimiser."""
    stream = rng(seed, "kawaguchi2021/thm2")
    radius = float(np.sqrt(region.v @ region.G @ region.v))
    best = np.inf
    for i in range(DRAWS):
        u = stream.normal(size=region.v.shape) + (region.v * 10.0 ** (i % 4) if i % 2 else 0.0)
        u *= stream.uniform(0.5, 1.0) * radius / float(np.sqrt(u @ region.G @ u))
        best = min(best, region.value(u))
    return best
