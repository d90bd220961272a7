"""Theorem 3: the limit of the population kernel."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from deqcheck.linalg import errors
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.ling2022.common import MODELS, cite, population
from deqcheck.theorems.ling2022.kernel import PopulationKernel, population_kernel
from deqcheck.theorems.ling2022.setting import Problem, State, Statement

LAYERS = 20
# The differences K - K^(l) are judged while they are this much larger than their radius.
RESOLVED = 1e7


class Theorem3(Statement):
    """K^(l) converges, |K - K^(l)|_F = O(n sqrt(l) sigma_w^l), and lambda_min(K) > 0 if no two
    samples agree. Corrected, explicit and sharp: 0 <= K_ij - K^(l)_ij <= sigma_w^(2l)/(1 -
    sigma_w^2) with equality on the diagonal, because d(p Q(c/p)) = (sin th/pi) dp + Q'(cos th) dc
    with weights that add up to at most 1.
    """

    id = "ling2022/thm3"
    title = "Limit of the population kernel and its smallest eigenvalue"
    cite = cite("Theorem 3", "(14)")
    models = MODELS
    dynamics = (STATIC,)
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The printed rate is valid and loose by a square: the difference falls like sigma_w^(2l), "
        "between sqrt(n) sigma_w^(2l)/(1 - sigma_w^2) and n sigma_w^(2l)/(1 - sigma_w^2)."
    )
    constants = {"C": "printed: constant of O(n sqrt(l) sigma_w^l) (default 2)"}

    positive = Check("sigma_w is positive", "sigma_w2 > 0", "Assumption 1")
    loose = Check("distance from the limit", "distance <= C*n*sqrt(l)*sqrt(sigma_w2^l)", "(i)")
    diagonal = Check("on the diagonal", "difference == sigma_w2^l/(1 - sigma_w2)", "(i), sharp")
    below = Check("off the diagonal", "largest < sigma_w2^l/(1 - sigma_w2)", "(i), sharp")
    rising = Check("the kernel rises", "smallest > 0", "(i), sharp")
    upper = Check("distance from the limit", "distance < n*sigma_w2^l/(1 - sigma_w2)", "(i), sharp")
    lower = Check(
        "distance from the limit, below", "distance > sqrt(n)*sigma_w2^l/(1 - sigma_w2)", "(i)"
    )
    definite = Check("the limit is positive definite", "lambda_star > 0", "(ii)")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from population(p, below=False)
        if population_kernel(p.model) is not None:
            yield self.positive(sigma_w2=p.model.sigma_w2)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        kernel = population_kernel(p.model)
        if kernel is None or kernel.s2 == 0:
            return
        rows = [{**row, "C": self.fixed.get("C", 2.0)} for row in _rows(kernel)]
        if self.printed:
            checks = [self.loose]
        elif kernel.n == 1:
            checks = [self.diagonal]
        else:
            checks = [self.diagonal, self.below, self.rising, self.upper, self.lower]
        for check in checks:
            yield _tightest(check(f"tightest at l = {row['l']}", **row) for row in rows)
        yield self.definite(lambda_star=kernel.lambda_star)


def _rows(kernel: PopulationKernel) -> Iterable[dict[str, Any]]:
    """What there is to say about K - K^(l) while it has digits left; l = 1 in any case."""
    radius = 2 * kernel.entry_radius
    off = ~np.eye(kernel.n, dtype=bool)
    for layer, K in enumerate(kernel.layers(LAYERS)):
        if layer == 1 or (layer > 1 and kernel.s2**layer > RESOLVED * radius):
            D = kernel.K - K
            yield {
                "l": layer,
                "n": kernel.n,
                "sigma_w2": kernel.s2,
                "difference": Measured(D[0, 0], radius),
                "largest": Measured(D[off].max(initial=-np.inf), radius),
                "smallest": Measured(D[off].min(initial=np.inf), radius),
                "distance": errors.frobenius(D, kernel.n * radius),
            }


def _tightest(claims: Iterable[Claim]) -> Claim:
    """The one with the least room between its sides, relative to the larger one."""

    def room(c: Claim) -> float:
        apart = (c.right.value - c.left.value) / max(abs(c.left.value), abs(c.right.value))
        return float(
            -abs(apart) if c.relation == "==" else apart if c.relation[0] == "<" else -apart
        )

    return min(claims, key=room)
