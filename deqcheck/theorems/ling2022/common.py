"""What the statements of Ling et al. 2022 share."""

from __future__ import annotations

from collections.abc import Iterable

from deqcheck.models.problem import Problem
from deqcheck.records.claim import Claim
from deqcheck.theorems.base import Check, Cite

MODELS = ("relu-deq",)

CONTRACTIVE = Check("the equilibrium map contracts", "norm_W < 1", "section 2.2")
NO_KINK = Check("no pre-activation is zero", "kink_margin > 0", "section 2.2")
GIVEN = Check("the case gives sigma_w2", "given >= 1", "Assumption 1")
BELOW = Check("sigma_w^2 below 1/8", "sigma_w2 < 1/8", "Assumption 1")
RADIUS = Check("the samples have norm sqrt(d)", "deviation <= 1e-12", "Assumption 2")
DISTINCT = Check("no two samples agree", "distance > 0", "Assumption 2")


def cite(number: str, equations: str = "") -> Cite:
    return Cite("Ling et al. 2022", number, equations)


def contractive(p: Problem) -> Iterable[Claim]:
    yield CONTRACTIVE(norm_W=p.start.q)


def population(p: Problem, below: bool = True) -> Iterable[Claim]:
    """Assumptions 1 and 2 as far as they speak of sigma_w and the samples."""
    kernel = p.model.kernel
    yield GIVEN(given=float(kernel is not None))
    if kernel is None:
        return
    if below:
        yield BELOW(sigma_w2=kernel.s2)
    yield RADIUS(deviation=kernel.deviation)
    distance, i, j = kernel.closest
    yield DISTINCT(f"samples {i + 1} and {j + 1} are closest", distance=distance)
