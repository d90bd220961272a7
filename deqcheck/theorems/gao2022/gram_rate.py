"""Section 4.1, after Lemma 4.1: the rate that the smallest eigenvalue of H gives."""

from __future__ import annotations

from collections.abc import Iterable

from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import Measured, given
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import FLOW, Check
from deqcheck.theorems.gao2022.bounds import cite, worst
from deqcheck.theorems.gao2022.lem4_1 import PROJECTIONS, moving
from deqcheck.theorems.gao2022.setting import Problem, State, Statement

# A residual that is known less well says nothing about an identity.
KNOWN = 1e-9


class GramRate(Statement):
    """If |A(t)| <= M with gamma M < 1 and lambda_min(H(t)) >= lambda0 > 0 along the gradient flow,
    then L(t) <= exp(-lambda0 t) L(0). Judged with the largest such lambda0 at each time, the
    infimum of lambda_min(H) until then, as long as it is positive; and d yhat/dt = -H r, (10), at
    the end of the run as Lemma 4.1 is at its start.

    Remark: L(t) <= exp(-2 lambda0 t) L(0), since dL/dt = -r^T H r <= -2 lambda0 L.
    """

    id = "gao2022/lem4.1-rate"
    title = "The rate of the Gram matrix H"
    cite = cite("Section 4.1", "after Lemma 4.1, (10)")
    dynamics = (FLOW,)
    uses = ("gao2022/lem4.1",)
    until_broken = True
    tracks = ("norm2.A", "lambda_min_H")
    infima = ("lambda_min_H",)

    starts_well = Check("well-posed at the start", "gamma*norm_A < 1", "Lemma 4.1")
    contracts = Check("well-posed", "gamma*norm_A < 1", "Lemma 4.1")
    positive = Check("H is positive definite so far", "lambda_0 > 0", "Section 4.1")
    rate = Check("the loss decays", "gap/gap_0 <= exp(-lambda_0*t)", "Section 4.1", decays=True)
    moves = Check(
        f"d yhat/dt = -H r at the end, projected (worst of {PROJECTIONS})",
        "minus_uHr == u_dyhat",
        "(10)",
    )
    optimal = Check("the loss stays zero (up to underflow)", "gap <= noise", "Section 4.1")
    twice = Check("twice as fast", "gap/gap_0 <= exp(-2*lambda_0*t)", "sharper", decays=True)

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.starts_well(gamma=given(p.model.gamma), norm_A=p.start.norm_A)

    def path_hypotheses(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        s = run.series["norm2.A"]
        yield self.contracts.sampled(s.k, s.t, gamma=p.model.gamma, norm_A=s.value)
        yield self.positive.along(run, lambda_0=self.so_far(run))

    def so_far(self, run: Trajectory) -> Measured:
        """The infimum of lambda_min(H) over [0, t] at every recorded time."""
        return run.series["lambda_min_H"].infimum_until(run.t)

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        if p.start.residual.high == 0:
            yield self.optimal.along(run, gap=run.gap, noise=1e-300)
            return
        yield self._falls(self.rate, run)
        end = p.model.at(run.final)
        if judgeable(end):
            yield from worst(moving(self.moves, p.seed, end))

    def remarks(self, p: Problem, run: Trajectory | None) -> Iterable[Claim | Curve]:
        if run is not None and p.start.residual.high > 0 and len(run.k) > 1:
            yield self._falls(self.twice, run)

    def _falls(self, check: Check, run: Trajectory) -> Curve:
        return check.along(run, gap=run.gap, gap_0=run.gap[0], lambda_0=self.so_far(run))


def judgeable(state: State) -> bool:
    """Off the kinks, and with a residual that stands above its radius."""
    known = state.residual.error <= KNOWN * state.residual.value
    return bool(state.kink_count.high == 0 and known)
