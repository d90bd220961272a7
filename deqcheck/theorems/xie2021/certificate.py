"""What a run itself certifies: descent at each step and the Gram matrix of the Jacobian."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import Measured
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import DESCENT, FLOW, Check
from deqcheck.theorems.xie2021.common import cite
from deqcheck.theorems.xie2021.setting import Problem, Statement


class DescentCertificate(Statement):
    """With mu_k = lambda_min(J_k J_k^T), |gradient|^2 >= 2 mu_k loss. Where every step of gradient
    descent lowers the loss by step/2 |gradient|^2, the loss is below the product of 1 - step mu_k
    over the sampled steps; along the flow it is below exp(-2 times the integral of mu), where at
    kinks J is that of the flow's slopes: the outputs still move by -J J^T r.
    """

    id = "xie2021/certificate"
    title = "The rate that a run certifies for itself"
    cite = cite("Theorem 5", "trajectory certificate (5T)")
    uses = ("xie2021/lem16",)
    models = ("opteq",)
    dynamics = (DESCENT, FLOW)
    tracks = ("lambda_min_JJt", "gradient")
    infima = ("lambda_min_JJt",)

    independent = Check(
        "outputs move independently (else labels may be out of reach)", "mu_0 > 0", "5T"
    )
    descent = Check("sampled steps descend", "gap_next <= gap - step/2*gradient^2", "5T")
    falls = Check("no step rises", "gap_next <= gap", "5T")
    product = Check("product of the contractions", "gap/gap_0 <= product", "5T", decays=True)
    integral = Check("integral of mu", "gap/gap_0 <= exp(-2*integral)", "5T", decays=True)

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.independent(mu_0=p.start.lambda_min_JJt)

    def path_hypotheses(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        if not p.step or len(run.k) < 2:
            return
        gap, after = run.one_step
        slope = run.series["gradient"]
        at = slope.k[slope.k < run.k[-1]]
        yield self.descent.sampled(
            run.k[at],
            run.t[at],
            gap_next=after[at],
            gap=gap[at],
            step=p.step,
            gradient=slope.value[: len(at)],
        )
        if len(at) < len(after):
            yield self.falls.sampled(run.k[:-1], run.t[:-1], gap_next=after, gap=gap)

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        series = run.series["lambda_min_JJt"]
        common = {"gap": run.gap, "gap_0": run.gap[0]}
        if not p.step:
            yield self.integral.along(run, **common, integral=series.integral_until(run.t))
            return
        yield self.product.along(run, **common, product=contraction(p, run))

    def quantities(self, p: Problem) -> dict[str, Measured]:
        return {"mu_0": p.start.lambda_min_JJt}


def contraction(p: Problem, run: Trajectory) -> Measured:
    """prod over the sampled j < k of 1 - step mu_j; a step that was not sampled contributes 1."""
    series = run.series["lambda_min_JJt"]
    total, out = Measured(1.0), []
    sampled = dict(zip(series.k.tolist(), range(len(series.k)), strict=True))
    for k in run.k.tolist():
        out.append(total)
        if k in sampled:
            total = total * (1 - p.step * series.value[sampled[k]])
    return Measured(np.array([x.value for x in out]), np.array([x.error for x in out]))
