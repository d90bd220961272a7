"""Appendix B, its conclusion: for gamma near 1 the flow learns the average feature first."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.models.delm.state import DelmState
from deqcheck.models.delm.trust import TrustRegion
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured, given
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.kawaguchi2021.appendix_b import OneOutput, Split
from deqcheck.theorems.kawaguchi2021.bounds import cite
from deqcheck.theorems.kawaguchi2021.setting import Problem


class AverageFirst(OneOutput):
    """The step of Theorem 2 moves f by V phi(x)/delta, and for gamma near 1 V is nearly a multiple
    of 1^T: the average of the features.

    With the corrected decomposition of Appendix B, V = -(pi . r) 1^T/(1 - gamma) - rest with
    |rest| <= 2 limit in every entry, limit = |(I - S)^#T q|_inf for q = r - (pi . r) 1. So no two
    entries of V differ by more than 4 limit, and its mean is at least
    |pi . r|/(1 - gamma) - 2 limit: gamma is near enough to 1 where that is positive.

    The text says that the average is learned before the rest and names no gamma and no time; of the
    run that is an observation, of the step it is this inequality. The coefficient is pi . r, S
    pi = pi, not the mean of r: see kawaguchi2021/appB.
    """

    id = "kawaguchi2021/average"
    title = "The average of the features is learned first"
    cite = cite("Appendix B", "last paragraph")
    dynamics = (STATIC,)
    soundness = "unproven"
    erratum = (
        "What is learned first is stated without a bound on gamma, and with the mean of r for its "
        "coefficient, which is pi . r."
    )
    uses = ("kawaguchi2021/appB",)

    near = Check("gamma is near enough to 1", "2*(1-gamma)*limit < growth", "Appendix B")
    even = Check(
        "entries of the step", "spread/mean <= 4*limit/(growth/(1-gamma) - 2*limit)", "Appendix B"
    )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from super().hypotheses(p)
        if self.looked_at(p):
            yield self.near(gamma=given(p.model.gamma), **_decomposed(p.start))

    def claims(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        if not self.looked_at(p):
            return
        V, split = TrustRegion.at(state).v, Split(state)
        lost = 64 * EPS * p.model.m * state.measure("cond1_U").value ** 2 * float(np.abs(V).max())
        # V = -U^-T r with ||U^-1||_1 = 1/(1 - gamma); near a fit r has lost digits.
        lost = state.curved.cancelled * lost + split.r_error / (1 - p.model.gamma)
        again = split.again
        spread, mean = (again.spread, again.mean) if again else (None, None)
        # A single entry is no spread.
        yield self.even(
            spread=Measured(float(np.ptp(V)), 2 * lost if len(V) > 1 else 0.0, again=spread),
            mean=Measured(abs(float(V.mean())), lost, again=mean),
            gamma=given(p.model.gamma),
            **_decomposed(state),
        )


def _decomposed(state: DelmState) -> dict[str, Measured]:
    split = Split(state)
    return {"limit": split.limit, "growth": split.multiple}
