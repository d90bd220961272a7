"""Theorem 4.2: gradient flow."""

from __future__ import annotations

from collections.abc import Sequence

from deqcheck.records.measured import Measured
from deqcheck.theorems.base import FLOW, Check
from deqcheck.theorems.gao2022.bounds import LAMBDA0, C, StaysClose, TrainedNetwork, cite
from deqcheck.theorems.gao2022.setting import Problem


class FlowConditions(TrainedNetwork):
    """(14) and (15)."""

    first = Check(
        "alpha0 against the residual", f"alpha0^2 >= 4*{LAMBDA0}*X_fro*r0/(1-gamma0)", "(14)"
    )
    second = Check(
        "alpha0 against its drift", f"alpha0^3 >= 8*{C}*lambda3*X_fro^2*r0/(1-gamma0)^2", "(15)"
    )

    def conditions(self) -> Sequence[Check]:
        return self.first, self.second


class Theorem42(FlowConditions, StaysClose):
    """If alpha0 is large against lambda0, |X|_F and r0, the gradient flow stays where the network
    is well-posed, and the loss falls at least like exp(-alpha0^2 t/2).

    lambda1 = |W(0)| + C1, lambda2 = |A(0)| + C2, lambda3 = |b(0)| + C3 with free C1, C2, C3;
    gamma0 = gamma lambda2; alpha0 is the N-th singular value of Z(0); r0 = |yhat(0) - y|.
    Along the ReLU's kinks the flow is read with a slope from [0, 1]; every bound of the proof holds
    for each such slope.
    """

    id = "gao2022/thm4.2"
    title = "Linear rate of the gradient flow"
    cite = cite("Theorem 4.2", "(14), (15)")
    uses = ("gao2022/proof4.2",)
    dynamics = (FLOW,)
    erratum = (
        "Slips of the proof, A.4: the induction is closed but never strict, which the factor "
        "1 - exp(-alpha0^2 t/4) < 1 of a finite time repairs; dL/dt is +(yhat - y)^T d yhat/dt, "
        "not minus; the bound on Z(t) - Z(0) needs |X|_F^2, not |X|^2. And A(0) = I, b(0) = 0, the "
        "start of Section 7, puts every dead unit on its kink, where the gradient is not defined."
    )

    rate = Check("the loss decays", "gap/gap_0 <= exp(-alpha0^2*t/2)", "(iii)", decays=True)

    def quantities(self, p: Problem) -> dict[str, Measured]:
        rate = p.start.sigma_min_Z**2 / 2
        return {**super().quantities(p), "rate": rate, "time_to_1e-6": 13.815510557964274 / rate}
