"""The remark of section 3.1.1 that the whole loss does not satisfy a PL inequality."""

from __future__ import annotations

import math
from collections.abc import Iterable

from deqcheck.models.delm.state import DelmState
from deqcheck.records.claim import Claim
from deqcheck.seeds import rng
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.kawaguchi2021.bounds import ONE_FEATURE, cite, has_one_feature
from deqcheck.theorems.kawaguchi2021.setting import Problem, Statement

DRAWS = 20


class WholeLossPL(Statement):
    """|grad L(A, B)|^2/2 >= kappa lambda_min(D) (L - L*) wherever ||Z||_1 < R. With R infinite, L
    is globally PL with constant kappa/(m (1 + gamma)^2), so no stationary point is spurious.
    """

    id = "kawaguchi2021/pl"
    title = "The whole loss satisfies a PL inequality"
    cite = cite("Section 3.1.1", "remark")
    models = ("delm",)
    dynamics = (STATIC,)
    soundness = "unproven"
    erratum = (
        "Without proof: in general L does not satisfy the PL inequality. Read of losses whose L0 "
        "has none, it is true; read of those whose L0 has one for R infinite, it is not: since "
        "|grad L|^2 = q^T D q, L then has one with constant kappa/(m (1 + gamma)^2)."
    )

    positive = Check("kappa is positive", "kappa > 0", "Definition 1")
    ball = Check("Z lies in the ball", "norm1_Z < R", "Definition 1")
    here = Check(
        "at the given parameters", "gradient^2/2 >= kappa*lambda_min_D*gap", "Section 3.1.1"
    )
    drawn = Check(
        f"worst of {DRAWS} drawn parameters",
        "gradient^2/2 >= kappa*lambda_min_D*gap",
        "Section 3.1.1",
    )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.positive(kappa=p.model.outer.pl.kappa)
        if math.isfinite(p.model.outer.R):
            yield self.ball(norm1_Z=p.start.measure("norm1.Z"), R=p.model.outer.R)

    def claims(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        yield self._claim(self.here, p, state)
        if math.isinf(p.model.outer.R):
            stream = rng(p.seed, "kawaguchi2021/pl")
            states = (
                p.model.at({n: a + stream.normal(size=a.shape) for n, a in p.theta0.items()})
                for _ in range(DRAWS)
            )
            claims = (self._claim(self.drawn, p, s) for s in states)
            yield min(claims, key=_room)

    def _claim(self, check: Check, p: Problem, state: DelmState) -> Claim:
        claim = check(
            gradient=state.measure("gradient"),
            kappa=p.model.outer.pl.kappa,
            lambda_min_D=state.lambda_min_D,
            gap=state.gap,
        )
        return claim.known_equal(ONE_FEATURE) if has_one_feature(p) else claim


def _room(claim: Claim) -> float:
    """By which factor the inequality holds; a point whose gap is within its bar tells nothing."""
    known = claim.right.low > 0
    return float(claim.left.value / claim.right.value) if known else math.inf
