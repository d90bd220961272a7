"""Theorem 2: the smallest eigenvalue of the Gram matrix of a wide model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from deqcheck.models.problem import NoEquilibrium
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, measured
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.frequency import SEEDS, happened
from deqcheck.theorems.ling2022.assumptions import assumption_1, assumption_2
from deqcheck.theorems.ling2022.common import MODELS, cite
from deqcheck.theorems.ling2022.draws import draw
from deqcheck.theorems.ling2022.kernel import given_kernel, population_kernel, samples
from deqcheck.theorems.ling2022.setting import Draws, Problem

RISK = 0.05
# 2 * 144: with s = 1 and eps = lambda/(2 n) <= 1/2, Bernstein's inequality for each of n (n + 1)/2
# entries of G/m (ling2022/thm5-fixed) makes |G/m - K|_F > lambda/2 no more probable than n (n + 1)
# exp(-m (lambda/n)^2/144), and log(n (n + 1)/t) <= 2 log(n/t) for t <= 1/2.
PROVEN = 288.0


class WideEnough(Draws):
    """A claim with probability 1 - t for widths of the order (n/lambda_star)^2 log(...)."""

    models = MODELS
    defaults = {"t": RISK, "C": PROVEN}
    above_0 = ("t", "C")
    # Whether the claim speaks of a.
    with_a: ClassVar[bool] = False
    constants = {
        **SEEDS,
        "t": f"allowed probability of failure (default {RISK})",
        "C": f"constant of the order of the width (default {PROVEN:g}, proven for sigma_w = 0)",
    }

    independent = Check(
        "the population kernel is positive definite", "lambda_star > 0", "Theorem 3"
    )
    wide = Check(
        "width", "m >= C*(n/lambda_star)^2*log(n/(lambda_star*risk))", "Theorem 2, printed"
    )

    def faults(self) -> Iterable[str]:
        yield from super().faults()
        if self.fixed.get("t", RISK) >= 1:
            yield f"{self.id}: t = {self.fixed['t']:g} is no probability of failure; expected < 1"

    @property
    def width_check(self) -> Check:
        return self.wide

    def width_hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from assumption_1(p, self.with_a)
        yield from assumption_2(p)
        kernel = population_kernel(p.model)
        if kernel is None:
            return
        star = kernel.lambda_star
        yield self.independent(lambda_star=star)
        if star.low > 0:
            m, n, values = len(p.theta0["W"]), p.model.n, self.constants_used(p)
            yield self.width_check(m=m, n=n, lambda_star=star, risk=values["t"], C=values["C"])

    def probability(self, p: Problem) -> Measured:
        return 1 - measured(self.constants_used(p)["t"])


class SmallestEigenvalue(WideEnough):
    """lambda_0 >= m lambda_star/2."""

    def trial(self, p: Problem, seed: int) -> bool | None:
        """Without a certified equilibrium nothing is known of lambda_0."""
        try:
            lambda_0 = p.model.at(draw(p, seed, self.id)).lambda_0
        except NoEquilibrium:
            return None
        # Of the samples scaled to the norm sqrt(d): each z_i is scaled with its x_i.
        scaled = lambda_0.widened(3 * samples(p.model).deviation.high * lambda_0.value)
        return happened(scaled, ">=", len(p.theta0["W"]) * given_kernel(p.model).lambda_star / 2)


class Theorem2(SmallestEigenvalue):
    """lambda_0 >= m lambda_star/2 with probability at least 1 - t, for widths m of the order
    (n/lambda_star)^2 log(n/(lambda_star t)), under Assumptions 1 and 2 (a does not occur in it, so
    its law is not asked); the constant of that order is C, which the paper does not give: a verdict
    is one for this C.
    """

    id = "ling2022/thm2"
    title = "Smallest eigenvalue of the Gram matrix at random initialisation"
    cite = cite("Theorem 2")
    dynamics = (STATIC,)
    soundness = "unproven"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The proof by Theorem 5 with about log(n/lambda_star) layers pays the square of that "
        "logarithm for its net, so it supports log(n/lambda_star)^2 + log(n/t) in place of "
        "log(n/(lambda_star t)). Its constant depends on sigma_w, which is not said: the number "
        "of layers is over log(1/(2 sqrt2 sigma_w)), which tends to 0 with 1/8 - sigma_w^2. "
        "Experiments agree with both: the width is very pessimistic."
    )
    uses: ClassVar[tuple[str, ...]] = ("ling2022/sec4.4-half", "ling2022/sec4.4-weyl")

    wider = Check(
        "width",
        "m >= C*(n/lambda_star)^2*(log(n/lambda_star)^2 + log(n/risk))",
        "Theorem 2, as its proof supports",
    )

    @property
    def width_check(self) -> Check:
        return self.wide if self.printed else self.wider

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        return self.width_hypotheses(p)
