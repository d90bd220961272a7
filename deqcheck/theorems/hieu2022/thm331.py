"""Theorem 3.3.1: linear rate of the gradient flow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import Measured
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import FLOW, Check
from deqcheck.theorems.hieu2022.common import Training, cite
from deqcheck.theorems.hieu2022.radii import Within, WithRadii, row
from deqcheck.theorems.hieu2022.setting import Problem


class Condition1(WithRadii):
    """The rows (3.8) and (3.9)."""

    room_for_symmetric = row("room for A", "8*X*r0*lU*lu*lA/(m^2*R_A)", "(3.8)")
    room_for_skew = row("room for B", "8*X*r0*lU*lu/(m^2*R_B)", "(3.8)")
    room_for_inputs = row("room for U", "4*X*r0*lu/(m*R_U)", "(3.8)")
    room_for_outputs = row("room for u", "4*X*r0*lU/(m*R_u)", "(3.8)")
    room_for_features = row("room for Z", "8*X^2*r0*lu/m^2*(4*lU^2*(lA^2+1)/m^2 + 1)", "(3.9)", 3)

    def rows(self) -> Sequence[Check]:
        return (
            self.room_for_symmetric,
            self.room_for_inputs,
            self.room_for_outputs,
            self.room_for_features,
        )


class Theorem331(Condition1, Within, Training):
    """Along the gradient flow from independent features (n >= N, lambda0 = sigma_min(Z(0)) > 0)
    that satisfies Condition 1 for some radii, the loss falls at least like exp(-lambda0^2 t/2),
    sigma_min(Z) stays above lambda0/2, and every parameter stays within its radius.

    lA = |A(0)| + R_A, lU = |U(0)| + R_U, lu = |u(0)| + R_u; X = |X|_F, r0 = |yhat(0) - y|. At a
    kink the flow is read as the Clarke inclusion: the u-part of the gradient has one value there.
    """

    id = "hieu2022/thm3.3.1"
    title = "Linear rate of the gradient flow under Condition 1"
    cite = cite("Theorem 3.3.1", "(3.8), (3.9)")
    uses = (
        "hieu2022/condition1",
        "hieu2022/gradients",
        "hieu2022/eq3.14",
        "hieu2022/lem3.3.2",
        "hieu2022/lem3.3.3",
    )
    dynamics = (FLOW,)
    soundness = "typo"
    erratum = (
        "In the proof exp(-(lambda0/4) s) must be exp(-lambda0^2 s/4), and (3.13) has lu for lU; "
        "the bound exp(-2 lambda_min(K(t)) t) with the kernel at t itself is false (the infimum "
        "until t is meant), and the line before it equates -lambda_min |r|^2 with twice that. "
        "'Width O(N)' means n >= N: with n < N and the last of the min(n, N) singular values it "
        "is false (n = 1, N = 2, m = 1, A = B = 0, U = 50, u = 0, X = (1, 1), y = (1, -1): every "
        "row holds with sigma = 70.7, yet the loss stays 1)."
    )

    rate = Check(
        "loss below its exponential",
        "gap/gap_0 <= exp(-lambda0^2*t/2)",
        "Theorem 3.3.1",
        decays=True,
    )

    def quantities(self, p: Problem) -> dict[str, Measured]:
        return {**super().quantities(p), "rate": p.start.sigma_min_Z**2 / 2}

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        yield self.decay(self.rate, run, lambda0=p.start.sigma_min_Z)
        yield self.features(p, run)
        yield from self.within(p, run)
