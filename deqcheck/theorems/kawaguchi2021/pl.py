"""The remark of section 3.1.1 that the whole loss does not satisfy a PL inequality."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from deqcheck.models.delm.model import DelmModel
from deqcheck.models.delm.state import DelmState
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, between
from deqcheck.records.trajectory import Trajectory
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.drawn import number
from deqcheck.theorems.kawaguchi2021.bounds import ONE_FEATURE, cite, has_one_feature
from deqcheck.theorems.kawaguchi2021.setting import Problem, Statement

DRAWS = 20


class WholeLossPL(Statement):
    """Corrected: |grad L(A, B)|^2/2 >= kappa lambda_min(D) (L - L*) wherever ||Z||_1 < R, because
    |grad L|^2 = q^T D q with q = vec(grad L0). With R infinite, L is globally PL with constant
    kappa/(m (1 + gamma)^2), so no stationary point is spurious.

    Printed is only that in general L satisfies none. An instance whose L0 has none bears it out;
    one whose L has a constant does not contradict it, and nothing is judged there: the remark tells
    the largest constant of L without a ball. It lies between kappa/(m (1 + gamma)^2), kappa that of
    L0, and the smallest |grad L|^2/(2 (L - L*)) that was seen. Where L0 has none, neither has L: at
    A = s I, s large, Z can be any W, and D is (1 - gamma)^-2 I in the limit.
    """

    id = "kawaguchi2021/pl"
    title = "The whole loss satisfies a PL inequality"
    cite = cite("Section 3.1.1", "remark")
    models = ("delm",)
    dynamics = (STATIC,)
    soundness = "unproven"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "Without proof: in general L does not satisfy the PL inequality. Read of losses whose L0 "
        "has none, it is true; read of those whose L0 has one for R infinite, it is not: since "
        "|grad L|^2 = q^T D q, L then has one with constant kappa/(m (1 + gamma)^2). For "
        "m = n = my = 1, phi = 1, y = 0 and gamma = 1/2: L = 4 B^2 and |grad L|^2/2 = 8 L."
    )
    uses = ("kawaguchi2021/def1", "kawaguchi2021/D")

    no_constant = Check("L has no PL constant", "kappa_L == 0", "Section 3.1.1")
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
        if self.printed:
            return
        yield self.positive(kappa=p.model.outer.pl.kappa)
        if math.isfinite(p.model.outer.R):
            yield self.ball(norm1_Z=p.start.measure("norm1.Z"), R=p.model.outer.R)

    def unchecked(self, p: Problem) -> Iterable[str]:
        if self.printed and not _has_none(p):
            yield (
                "it speaks of losses in general, which no loss with a constant contradicts; one "
                "without, such as smoothed-hinge with k = 3, would bear it out"
            )

    def remarks(self, p: Problem, run: Trajectory | None) -> Iterable[Claim]:
        if self.printed and not _has_none(p):
            yield self.no_constant(kappa_L=_largest(p))

    def claims(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        if self.printed:
            if _has_none(p):
                yield self.no_constant(kappa_L=_largest(p))
            return
        yield self._claim(self.here, p, state)
        if math.isinf(p.model.outer.R):
            claims = (self._claim(self.drawn, p, s) for s in _drawn(p, p.model))
            yield min(claims, key=_room)

    def _claim(self, check: Check, p: Problem, state: DelmState) -> Claim:
        claim = check(
            gradient=state.measure("gradient"),
            kappa=p.model.outer.pl.kappa,
            lambda_min_D=state.lambda_min_D,
            gap=state.gap,
        )
        return claim.known_equal(ONE_FEATURE) if has_one_feature(p) else claim


def _drawn(p: Problem, model: DelmModel) -> Iterator[DelmState]:
    stream = rng(p.seed, "kawaguchi2021/pl")
    for _ in range(number(DRAWS)):
        yield model.at({n: a + stream.normal(size=a.shape) for n, a in p.theta0.items()})


def _has_none(p: Problem) -> bool:
    kappa = p.model.outer.of_radius(math.inf).pl.kappa
    return bool(kappa.exact and kappa.value == 0)


def _largest(p: Problem) -> Measured:
    """The largest PL constant of L over all parameters."""
    outer = p.model.outer.of_radius(math.inf)
    kappa = outer.pl.kappa
    if kappa.exact and kappa.value == 0:
        return Measured(0.0)
    model = DelmModel(p.model.gamma, outer, p.model.loss_kind)
    proven = float((kappa * p.start.lambda_independent).low)
    low = proven if proven > 0 else 0.0
    seen = [float(_quotient(s).high) for s in (model.at(p.theta0), *_drawn(p, model))]
    return between(low, max(low, min(seen)))


def _quotient(state: DelmState) -> Measured:
    """|grad L|^2/(2 gap). A point whose gap is within its bar tells nothing."""
    if not state.gap.value > 2 * state.gap.error:
        return Measured(math.inf)
    return state.measure("gradient") ** 2 / (2 * state.gap)


def _room(claim: Claim) -> float:
    """By which factor the inequality holds; a point whose gap is within its bar tells nothing."""
    known = claim.right.low > 0
    return float(claim.left.value / claim.right.value) if known else math.inf
