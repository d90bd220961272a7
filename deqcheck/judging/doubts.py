"""Refutations that rounding alone may have made: they stand only if exact numbers say the same.

So it is with numbers at whose scale intermediate ones underflow, and error bars with them, and with
violations that hardly stand above their error bars.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from deqcheck.models.problem import AnyProblem
from deqcheck.records import tower
from deqcheck.records.comparison import NO_FORM, Decision
from deqcheck.records.judged import RESOLUTION, Judged
from deqcheck.records.verdict import Outcome, Verdict

# Products of five numbers between these stay in the range of floats.
SMALL, LARGE = 1e-60, 1e60
DOUBTED = (
    f"numbers below {SMALL:g} or above {LARGE:g}: doubles may underflow by more than their error "
    "bars"
)
UNRESOLVED = (
    f"a violation by less than {1 / RESOLUTION:g} times what rounding may make of its sides"
)
NOT_EXACTLY = "exact numbers do not refute it"
NO_NUMBERS = "there are no exact numbers to ask: pip install 'deqcheck[certify]'"


def doubted(found: Verdict, p: AnyProblem, judged: Callable[[], Verdict]) -> Verdict:
    """A refutation that may be made of rounding stands only if exact numbers say the same."""
    if found.outcome is not Outcome.REFUTED:
        return found
    extreme = _extreme(p)
    if not extreme and any(c.resolved for c in _violated(found)):
        return found
    again = found if tower.is_certifying() else _certified(found, judged)
    if again.outcome is not Outcome.REFUTED or any(c.basis.certified for c in _violated(again)):
        return again
    opened = tuple(map(_opened, again.conclusions))
    asked = NO_NUMBERS if tower.flint() is None else NOT_EXACTLY
    note = f"{DOUBTED if extreme else UNRESOLVED}, and {asked}"
    return replace(again, outcome=Outcome.UNDECIDED, conclusions=opened, notes=(*again.notes, note))


def _violated(found: Verdict) -> list[Judged]:
    return [c for c in found.conclusions if c.decision is Decision.VIOLATED]


def _opened(c: Judged) -> Judged:
    if c.decision is not Decision.VIOLATED:
        return c
    return replace(c, decision=Decision.UNDECIDED, undecided=NO_FORM)


def _certified(found: Verdict, judged: Callable[[], Verdict]) -> Verdict:
    """Judged once more in exact numbers; they may contradict bars that are too small."""
    try:
        with tower.certifying():
            return judged()
    except tower.Contradiction:
        return found


def _extreme(p: AnyProblem) -> bool:
    sizes = (np.abs(a) for a in (p.data | p.theta0).values())
    return any(np.any((a > 0) & (a < SMALL) | (a > LARGE)) for a in sizes)
