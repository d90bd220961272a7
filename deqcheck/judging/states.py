"""A statement about any parameters, judged at the states of a run that was made elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from deqcheck.dynamics.recorder import schedule
from deqcheck.models.problem import AnyProblem, NoEquilibrium
from deqcheck.records.verdict import Outcome, Verdict
from deqcheck.records.words import RECORDED, STATIC
from deqcheck.theorems.base import AnyStatement
from deqcheck.theorems.frequency import Frequency

# At most so many states, evenly spaced in log k.
MOST = 40
# It holds of all states if it holds of each: the first of these that comes out somewhere.
GRAVEST = (
    Outcome.REFUTED,
    Outcome.UNDECIDED,
    Outcome.CONFIRMED,
    Outcome.NOT_CHECKED,
    Outcome.NOT_APPLICABLE,
)


def at_states(s: AnyStatement, p: AnyProblem) -> bool:
    """Frequencies are of draws, not of states."""
    about_states = STATIC in s.dynamics and not isinstance(s, Frequency)
    return about_states and p.dynamics == RECORDED


def over_states(start: Verdict, p: AnyProblem, judge: Callable[[AnyProblem], Verdict]) -> Verdict:
    """The verdict at the first state with the gravest outcome; a condition is one on the start."""
    found = {0: start}
    for k, there in _states(p):
        found[k] = judge(there)
    counts = Counter(each.outcome for each in found.values())
    tally = ", ".join(f"{word} at {n}" for word, n in counts.items() if word is not None)
    gravest = next((word for word in GRAVEST if word in counts), None)
    k = next((k for k, each in found.items() if each.outcome is gravest), 0)
    shown = f", shown is k = {k}" if k else ""
    note = f"judged at {len(found)} states, 0 <= k <= {max(found)}: {tally}{shown}"
    return replace(found[k], notes=(*found[k].notes, note))


def _states(p: AnyProblem) -> Iterator[tuple[int, AnyProblem]]:
    """Those after the start, as far as there are equilibria."""
    numbers = p.train.numbers
    for i in schedule(len(numbers) - 1, min(MOST, p.record_points))[1:].tolist():
        there = replace(p, theta0=p.train.theta(p, i), train=None, laws={}, companion=None)
        if not _has_equilibrium(there):
            return
        yield int(numbers[i]), there


def _has_equilibrium(p: AnyProblem) -> bool:
    try:
        return p.start.objective is not None
    except NoEquilibrium:
        return False
