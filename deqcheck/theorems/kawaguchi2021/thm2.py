"""Theorem 2: each instant of the flow is a trust-region Newton step."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from deqcheck.linalg.errors import length, symmetric_eigenvalues
from deqcheck.models.delm.state import DelmState
from deqcheck.models.delm.trust import SHARES, TrustRegion
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import EPS, Measured
from deqcheck.records.trajectory import Trajectory
from deqcheck.seeds import rng
from deqcheck.theorems.base import FLOW, Check
from deqcheck.theorems.drawn import number
from deqcheck.theorems.kawaguchi2021.bounds import cite
from deqcheck.theorems.kawaguchi2021.metric import steepest, velocity
from deqcheck.theorems.kawaguchi2021.setting import Problem, Statement

DRAWS = 200


class Theorem2(Statement):
    """For one output and every time t there is a delta_bar such that for every delta up to it
    v = delta d/dt vec Z minimises q^T v + v^T H v/2 over |v|_G <= delta |d/dt vec Z|_G, with
    G = U (S^-1 - delta F) U^T; and d/dt f(x) = v . phi(x)/delta for every x.

    G is positive definite for every delta below 1/lambda_max(S^1/2 F S^1/2). Judged are half, a
    hundredth and 99 hundredths of that, at the start and along the flow: KKT with the multiplier
    1/(2 delta), which is sufficient since H + G/delta > 0. Both sides of d/dt f(x) are linear in
    phi(x): the largest deviation over all phi(x) of length 1 is that of the two vectors, training
    columns or not.
    """

    id = "kawaguchi2021/thm2"
    title = "The flow is an instantaneous trust-region step"
    cite = cite("Theorem 2", "(13)")
    models = ("delm",)
    dynamics = (FLOW,)
    soundness = "typo"
    erratum = (
        "The loss must be twice differentiable at the current outputs, which the text leaves out; "
        "convexity is not needed, since H + G/delta = U S^-1 U^T/delta > 0; the last display lacks "
        "a d/dt. The exact delta_bar is 1/lambda_max(S^1/2 F S^1/2)."
    )
    uses = ("kawaguchi2021/D",)
    tracks = ("trust.stationarity", "trust.velocity", "cond1_U")

    one_output = Check("one output", "my == 1", "Theorem 2")
    smooth = Check("twice differentiable at the outputs", "kink_distance > 0", "Theorem 2")
    # That of I - delta S^1/2 F S^1/2, which has the signature of G and far smaller numbers.
    metric = Check("G is positive definite", "lambda_min_K > 0", "Theorem 2")
    stationary = Check("stationary with multiplier 1/(2 delta)", "residual <= noise", "Theorem 2")
    minimal = Check(
        f"not worse than {DRAWS} feasible points", "best_drawn >= attained", "Theorem 2"
    )
    outputs = Check("velocity of the training outputs", "deviation <= noise", "(13)")
    anywhere = Check("velocity of the output at any x", "deviation <= noise", "(13)")
    followed = Check("stationary along the flow", "residual <= noise", "(13), every t")
    moving = Check("velocity along the flow", "deviation <= noise", "(13), every t")

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
        relative = _relative(p, state.measure("cond1_U").value) * state.curved.cancelled
        # Its second term has norm below 1, and the relative accuracy of F.
        radius = 64 * EPS * p.model.m * state.measure("cond1_U").value
        for share in SHARES:
            each, note = TrustRegion.at(state, share), f"{share:g} of delta_bar"
            yield self.metric(note, lambda_min_K=symmetric_eigenvalues(each.K, radius)[0])
            yield self.stationary(note, residual=each.residual, noise=relative * each.scale)
        region = TrustRegion.at(state)
        attained, best = region.value(region.v), _best_drawn(region, p.seed)
        yield self.minimal(
            best_drawn=Measured(best, relative * abs(best)),
            attained=Measured(attained, relative * abs(attained)),
        )
        yield from self._velocities(p, state, region.v / region.delta, relative)

    def _velocities(
        self, p: Problem, state: DelmState, claimed: np.ndarray, relative: float
    ) -> Iterable[Claim]:
        Phi = p.model.outer.Phi
        moved, radius = velocity(p, state)
        # The claimed one is -D Q, and D = J J^T with J = dZ/d(A, B).
        radius += steepest(state) ** 2 * state.outer.gradient_error + relative * length(claimed)
        off = moved[0] - claimed
        yield self.outputs(deviation=length(off @ Phi), noise=radius * length(Phi))
        yield self.anywhere(deviation=length(off), noise=radius)

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Curve]:
        """Of the computed parameters, whatever error the run has made until there."""
        if p.model.my != 1:
            return
        residual, deviation, cond = (run.series[name] for name in self.tracks)
        at, noise = (residual.k, residual.t), _relative(p, cond.value.value)
        yield self.followed.sampled(*at, residual=Measured(residual.value.value), noise=noise)
        yield self.moving.sampled(*at, deviation=Measured(deviation.value.value), noise=noise)


def _relative(p: Problem, cond: Any) -> Any:
    """Rounding of U, F and the solves, amplified by at most cond_1(U)^2."""
    return 64 * EPS * p.model.m * cond**2


def _best_drawn(region: TrustRegion, seed: int) -> float:
    """The best of random points of the trust region, some of them near the minimiser."""
    stream = rng(seed, "kawaguchi2021/thm2")
    radius = float(np.sqrt(region.v @ region.G @ region.v))
    best = np.inf
    for i in range(number(DRAWS)):
        u = stream.normal(size=region.v.shape) + (region.v * 10.0 ** (i % 4) if i % 2 else 0.0)
        u *= stream.uniform(0.5, 1.0) * radius / float(np.sqrt(u @ region.G @ u))
        best = min(best, region.value(u))
    return best
