"""Refutations at scales where intermediate numbers underflow, and error bars with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from deqcheck.models.problem import AnyProblem
from deqcheck.records import tower
from deqcheck.records.comparison import Decision
from deqcheck.records.verdict import Outcome, Verdict

# Products of five numbers between these stay in the range of floats.
SMALL, LARGE = 1e-60, 1e60
DOUBTED = (
    f"numbers below {SMALL:g} or above {LARGE:g}: doubles may underflow by more than their error "
    "bars, and exact numbers do not refute it"
)


def doubted(found: Verdict, p: AnyProblem, judged: Callable[[], Verdict]) -> Verdict:
    """A refutation at an extreme scale stands only if exact numbers say the same."""
    if found.outcome is not Outcome.REFUTED or not _extreme(p):
        return found
    again = found if tower.is_certifying() else _certified(found, judged)
    wrong = [c for c in again.conclusions if c.decision is Decision.VIOLATED]
    if again.outcome is not Outcome.REFUTED or any(c.basis.certified for c in wrong):
        return again
    return replace(again, outcome=Outcome.UNDECIDED, notes=(*again.notes, DOUBTED))


def _certified(found: Verdict, judged: Callable[[], Verdict]) -> Verdict:
    """Judged once more in exact numbers; they may contradict bars that have underflowed."""
    try:
        with tower.certifying():
            return judged()
    except tower.Contradiction:
        return found


def _extreme(p: AnyProblem) -> bool:
    sizes = (np.abs(a) for a in (p.data | p.theta0).values())
    return any(np.any((a > 0) & (a < SMALL) | (a > LARGE)) for a in sizes)
