"""What the statements of Ling et al. 2022 share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from deqcheck.linalg import well_posed
from deqcheck.linalg.entries import finite
from deqcheck.models.problem import NoEquilibrium
from deqcheck.records.claim import Claim
from deqcheck.records.comparison import Decision
from deqcheck.records.measured import Measured, given
from deqcheck.records.tower import integer
from deqcheck.theorems.base import Check, Cite
from deqcheck.theorems.ling2022.condition import Condition
from deqcheck.theorems.ling2022.setting import Problem

MODELS = ("relu-deq",)
# Ratios nearer to 1 than this are left to the claims, which have error bars.
EDGE = 1e-9

CONTRACTIVE = Check("the equilibrium map contracts", "norm_W < 1", "section 2.2")
UNIQUE = Check("every sample has one equilibrium", "equilibria == 1", "section 2.2")
NO_KINK = Check("no pre-activation is zero", "kink_margin > 0", "section 2.2")


def cite(number: str, equations: str = "") -> Cite:
    return Cite("Ling et al. 2022", number, equations)


def contractive(p: Problem) -> Iterable[Claim]:
    yield CONTRACTIVE(norm_W=p.start.q)


def unique(p: Problem) -> Iterable[Claim]:
    """Section 2.2 takes |W| < 1, which is enough; what the gradients need is one equilibrium."""
    yield UNIQUE(equilibria=_equilibria(p))


def _equilibria(p: Problem) -> Measured:
    """How many a sample has, one with another number than 1 if there is any."""
    try:
        p.start.equilibrium  # noqa: B018
    except NoEquilibrium:
        W = p.theta0["W"]
        if len(W) > well_posed.SMALL or not finite(W):
            return Measured(np.nan)
        counts = [len(found) for found in well_posed.equilibria(W, p.theta0["U"] @ p.model.X)]
        return given(next((count for count in counts if count != 1), 1))
    return given(1, integer(1).of("equilibria", p.start.again.Z))


def worst(claims: Sequence[Claim]) -> Claim:
    """Of identities: one that is violated, else the one that is furthest off in units of its bars
    among those that are decided; near 0 an identity has no digits."""

    def score(claim: Claim) -> tuple[int, float]:
        decision = claim.judge().decision
        bars = claim.left.error + claim.right.error
        off = abs(claim.left.value - claim.right.value) / bars if bars > 0 else 0.0
        rank = {Decision.VIOLATED: 2, Decision.HOLDS: 1, Decision.UNDECIDED: 0}[decision]
        return rank, off if np.isfinite(off) else 0.0

    return max(claims, key=score)


def nearest(claims: Iterable[Claim]) -> Claim:
    """Of inequalities left <= right: one that is violated, else the one that is nearest to its
    bound. Where the bound is 0, both sides are, and nothing is near."""

    def score(claim: Claim) -> tuple[bool, float]:
        right = float(claim.right.value)
        near = float(claim.left.value) / right if right > 0 else 0.0
        return claim.in_doubles() is Decision.VIOLATED, near

    return max(claims, key=score)


def feasibility(condition: Condition, with_9: bool = True) -> str:
    """The window of delta, or how far the condition is from having one."""
    name = "Condition 1" if with_9 else "the condition without (9)"
    worst = condition.worst(condition.best if with_9 else condition.best_without_9, with_9)
    if abs(worst) < EDGE:
        return f"{name} is at the edge: for the best delta its smallest ratio is 1 within {EDGE:g}"
    window = condition.window(with_9)
    if window is None:
        return (
            f"{name} holds for no delta: the best one leaves {np.exp(worst):.4g} as the smallest "
            "ratio of its two sides, and at least 1 is needed"
        )
    low = f"{window[0]:.8g} <=" if condition.r0.value else "0 <"
    return f"{name} holds for {low} delta <= {window[1]:.8g}"
