"""The scale at which the hypotheses of a statement begin to hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from deqcheck.frozen import dataclass
from deqcheck.models.problem import AnyProblem, NoEquilibrium
from deqcheck.records.arithmetic import OutOfRange, in_range
from deqcheck.records.comparison import Decision
from deqcheck.theorems.base import DESCENT, AnyStatement, Search

# Scales are tried between these factors, and told apart to this relative accuracy.
SMALLEST, LARGEST = 1e-14, 1e14
ACCURACY = 1e-6
# The step of a found case, relative to the supremum of what the statement allows.
STEP_SHARE = 0.99

Builder = Callable[[Mapping[str, float]], AnyProblem]


@dataclass(frozen=True)
class FoundScale:
    """A scale for which every hypothesis holds, at the edge of those for which it does."""

    scale: float
    # A step size that the statement allows there, if it restricts them.
    step: float | None


def search(statement: AnyStatement, wanted: Search, build: Builder) -> FoundScale | None:
    """The largest scale (or the smallest, if larger is easier) for which the hypotheses hold.

    `build` makes the problem with the named arrays scaled. Hypotheses are taken to be monotone in
    the scale, and one that is undecided, that has no equilibrium or is out of range, counts as not
    holding.
    """

    def at(scale: float) -> AnyProblem:
        return build(dict.fromkeys(wanted.arrays, scale))

    def holds(scale: float) -> bool:
        try:
            with in_range():
                judged = [h.judge() for h in statement.hypotheses(at(scale))]
        except (NoEquilibrium, OutOfRange):
            return False
        return all(j.decision is Decision.HOLDS for j in judged)

    harder = 2.0 if wanted.smaller_is_easier else 0.5
    good = 1.0
    while not holds(good):
        good /= harder
        if not SMALLEST <= good <= LARGEST:
            return None
    bad = good * harder
    while SMALLEST <= bad <= LARGEST and holds(bad):
        good, bad = bad, bad * harder
    while abs(bad / good - 1) > ACCURACY:
        middle = (good * bad) ** 0.5
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    step = statement.admissible_step(at(good)) if DESCENT in statement.dynamics else None
    return FoundScale(good, None if step is None else STEP_SHARE * step.low)
