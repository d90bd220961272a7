"""What the statements of Ling et al. 2022 share."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.records.claim import Claim
from deqcheck.theorems.base import Check, Cite
from deqcheck.theorems.ling2022.condition import Condition
from deqcheck.theorems.ling2022.kernel import population_kernel
from deqcheck.theorems.ling2022.setting import Problem

MODELS = ("relu-deq",)
# Ratios nearer to 1 than this are left to the claims, which have error bars.
EDGE = 1e-9

CONTRACTIVE = Check("the equilibrium map contracts", "norm_W < 1", "section 2.2")
NO_KINK = Check("no pre-activation is zero", "kink_margin > 0", "section 2.2")
GIVEN = Check("the case gives sigma_w2", "given == 1", "Assumption 1")
BELOW = Check("sigma_w^2 below 1/8", "sigma_w2 < 1/8", "Assumption 1")
RADIUS = Check("the samples have norm sqrt(d)", "deviation <= noise", "Assumption 2")
DISTINCT = Check("no two samples agree", "distance > 0", "Assumption 2")


def cite(number: str, equations: str = "") -> Cite:
    return Cite("Ling et al. 2022", number, equations)


def contractive(p: Problem) -> Iterable[Claim]:
    yield CONTRACTIVE(norm_W=p.start.q)


def population(p: Problem, below: bool = True) -> Iterable[Claim]:
    """Assumptions 1 and 2 as far as they concern sigma_w and the samples."""
    kernel = population_kernel(p.model)
    yield GIVEN(given=float(kernel is not None))
    if kernel is None:
        return
    if below:
        yield BELOW(sigma_w2=kernel.s2)
    yield RADIUS(deviation=kernel.deviation, noise=1e-12)
    distance, i, j = kernel.closest
    yield DISTINCT(f"samples {i + 1} and {j + 1} are closest", distance=distance)


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
