"""Assumptions 1 and 2 of Ling et al. 2022: what is asked of the start and of the samples.

That the labels are O(1) is an order: any finite labels are, with some constant.
"""

from __future__ import annotations

from collections.abc import Iterable

from deqcheck.records.claim import Claim
from deqcheck.records.law import Law
from deqcheck.records.measured import Measured, given
from deqcheck.theorems.base import Check
from deqcheck.theorems.ling2022.kernel import NORM_TOLERANCE, samples
from deqcheck.theorems.ling2022.setting import Problem

# Of the standard deviations that a case file names in decimals. The draws that are counted are made
# with the law of Assumption 1 itself, so this reaches no conclusion.
DECIMALS = 1e-12

BELOW = Check("sigma_w^2 below 1/8", "sigma_w2 < 1/8", "Assumption 1")
DRAWN = Check("W and U have independent normal entries", "normal == 2", "Assumption 1")
DRAWN_ALL = Check("W, U and a have independent normal entries", "normal == 3", "Assumption 1")
DRAWN_W = Check("W has independent normal entries", "normal == 1", "Lemma 1")
LAWS = {
    "W": Check("variance of the entries of W", "m*variance == 2*sigma_w2", "Assumption 1"),
    "U": Check("variance of the entries of U", "d*variance == 2", "Assumption 1"),
    "a": Check("variance of the entries of a", "m*variance == 1", "Assumption 1"),
}
RADIUS = Check("the samples have norm sqrt(d)", f"deviation <= {NORM_TOLERANCE:g}", "Assumption 2")
PARALLEL = Check("no two samples are parallel", "apart > 0", "Assumption 2")
DISTINCT = Check("no two samples agree", "apart > 0", "needed of Assumption 2")


def assumption_1(p: Problem, with_a: bool = False) -> Iterable[Claim]:
    """sigma_w^2 < 1/8, and W, U drawn as it says; a only where the claim speaks of it: the Gram
    matrices do not depend on a, so that their law is the same for any a(0)."""
    if p.model.sigma_w2 is not None:
        yield BELOW(sigma_w2=given(p.model.sigma_w2))
    yield from drawn(p, DRAWN_ALL, "W", "U", "a") if with_a else drawn(p, DRAWN, "W", "U")


def drawn(p: Problem, check: Check, *names: str) -> Iterable[Claim]:
    """The laws of these parameters, by `check` and by their variances."""
    laws = {name: _normal(p, name) for name in names}
    missing = [name for name, law in laws.items() if law is None]
    note = f"{' and '.join(missing)} not drawn from a normal law" if missing else ""
    yield check(note, normal=len(names) - len(missing))
    m, d = p.shapes["U"]
    for name, law in laws.items():
        if law is not None and not (name == "W" and p.model.sigma_w2 is None):
            variance = Measured(law.scale**2, 2 * DECIMALS * law.scale**2)
            yield LAWS[name](variance=variance, m=m, d=d, sigma_w2=p.model.sigma_w2 or 0.0)


def _normal(p: Problem, name: str) -> Law | None:
    if name == "W" and p.model.sigma_w2 == 0 and not p.theta0["W"].any():
        # N(0, 0), however it was written down.
        return Law("gaussian", 0.0)
    law = p.laws.get(name)
    return law if law is not None and law.kind == "gaussian" else None


def norms(p: Problem) -> Iterable[Claim]:
    """The norms of Assumption 2 (i). What is judged after it is that of the samples scaled to the
    norm sqrt(d): z is homogeneous in x, so that the deviation is known in every conclusion."""
    yield RADIUS(deviation=samples(p.model).deviation)


def assumption_2(p: Problem) -> Iterable[Claim]:
    yield from norms(p)
    yield from _apart(p, PARALLEL, True)


def distinct(p: Problem) -> Iterable[Claim]:
    yield from norms(p)
    yield from _apart(p, DISTINCT, False)


def _apart(p: Problem, check: Check, lines: bool) -> Iterable[Claim]:
    if p.model.n > 1:
        apart, i, j = samples(p.model).nearest(lines)
        yield check(f"samples {i + 1} and {j + 1} are closest", apart=apart)
