"""(3.14) and the line before it: the rate of the flow from the tangent kernel."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from deqcheck.records.claim import Claim, Curve
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import CORRECTED, FLOW, PRINTED, Check
from deqcheck.theorems.hieu2022.common import MonotoneStatement, cite
from deqcheck.theorems.hieu2022.setting import Problem


class KernelRate(MonotoneStatement):
    """Along the flow dL/dt = -r^T K r <= -2 lambda_min(K(t)) L, so that
    L(t) <= exp(-2 t inf lambda_min(K(s))) L(0) with the infimum over s in [0, t], and
    lambda_min(K(t)) >= lambda_min(Z^T Z), which is sigma_min(Z(t))^2 for n >= N. As printed the
    kernel is that of the time t alone. Along kinks K is that of the flow's slopes, with which
    dL/dt = -r^T K r remains true.
    """

    id = "hieu2022/eq3.14"
    title = "Rate of the flow from the tangent kernel"
    cite = cite("proof of Theorem 3.3.1", "(3.14)")
    dynamics = (FLOW,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    tracks: ClassVar[tuple[str, ...]] = ("lambda_min_K", "sigma_min_Z")
    infima: ClassVar[tuple[str, ...]] = ("lambda_min_K",)
    uses = ("hieu2022/prop4",)
    erratum = (
        "The differential inequality has the kernel of every earlier time: where lambda_min(K) "
        "grows, exp(-2 lambda_min(K(t)) t) falls too fast. The line before has "
        "-lambda_min |r|^2 = -2 lambda_min |r|^2, which must be -2 lambda_min L. n = N = d = 1, "
        "m = x = U = 1, A = B = 0, u = 0, y = 4: K = U^2 + u^2 grows from 1 to sqrt(65)."
    )

    wide = Check("at least as wide as there are samples", "n >= N", "(3.14)")
    kernel = Check("the kernel is at least Z^T Z", "lambda_min_K >= sigma^2", "(3.14)")
    kernel_still = Check(
        "the kernel is at least Z^T Z, equal at u = 0",
        "lambda_min_K >= sigma^2",
        "(3.14)",
        starts_equal=True,
    )
    rate_printed = Check(
        "loss below its exponential, printed",
        "gap/gap_0 <= exp(-2*lambda_min_K*t)",
        "before (3.14)",
        decays=True,
    )
    rate = Check(
        "loss below its exponential",
        "gap/gap_0 <= exp(-2*lowest*t)",
        "before (3.14), corrected",
        decays=True,
    )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.wide(n=p.start.n, N=p.start.N)

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        K, Z = run.series["lambda_min_K"], run.series["sigma_min_Z"]
        # For u = 0 no prediction moves by A, B or U: K = Z^T Z.
        kernel = self.kernel if p.start.u.any() else self.kernel_still
        # An infimum is looked for between the recorded times: where both were looked at.
        both, of_K, of_Z = np.intersect1d(K.t, Z.t, return_indices=True)
        sides = {"lambda_min_K": K.value[of_K], "sigma": Z.value[of_Z]}
        yield kernel.sampled(K.k[of_K], both, **sides)
        if not run.gap.value[0] > 0:
            return
        if self.printed:
            # At the recorded times at which the kernel was looked at.
            both, at, of_K = np.intersect1d(run.t, K.t, return_indices=True)
            values = {"gap": run.gap[at], "gap_0": run.gap[0], "lambda_min_K": K.value[of_K]}
            yield self.rate_printed.sampled(K.k[of_K], both, **values)
        else:
            lowest = K.infimum_until(run.t)
            yield self.rate.along(run, gap=run.gap, gap_0=run.gap[0], lowest=lowest)
