"""Counterexamples: instances on which every hypothesis of a statement holds and a conclusion fails.

Structured instances are drawn and those that come nearest are changed until one refutes the
statement, with its error bars; then it is made as simple as it goes and judged once more as a case.
What was not refuted is not confirmed: it was tried so often.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from deqcheck.case.read import Case, checked
from deqcheck.case.source import Source
from deqcheck.explore.falsify.instance import Instance
from deqcheck.explore.falsify.result import Counterexample, Falsified, Tight
from deqcheck.explore.falsify.score import margin
from deqcheck.explore.falsify.search import Found, Hunt, Limits
from deqcheck.judging import run as run_case
from deqcheck.judging.catalogue import Named, find
from deqcheck.judging.errors import UsageError
from deqcheck.records.comparison import Decision
from deqcheck.records.verdict import Outcome, Verdict
from deqcheck.theorems.base import AnyStatement
from deqcheck.theorems.frequency import Frequency
from deqcheck.theorems.orders import Order

MINUTE = Limits()
# Of the worst violation, what the simplest instance keeps at least.
HALF = 0.5

__all__ = ["Counterexample", "Falsified", "Limits", "Tight", "falsify"]


def falsify(
    statement: Named,
    *,
    edition: str | None = None,
    limits: Limits = MINUTE,
    seed: int = 1,
    sizes: tuple[int, int] | None = None,
    also: str = "",
    feasible: bool = False,
    degenerate: bool = False,
    progress: Callable[[Found], None] = lambda found: None,
) -> Falsified:
    """Search for a counterexample to one statement in one edition. Raises UsageError."""
    s = asked(find(statement), edition)
    hunt = Hunt(s, seed, limits, sizes, also=also, feasible=feasible, degenerate=degenerate)
    hunt.search(progress)
    return _told(hunt)


def asked(cls: type[AnyStatement], edition: str | None) -> AnyStatement:
    """The statement in this edition, or its last. Raises UsageError where no search helps."""
    if edition is not None and edition not in cls.editions:
        raise UsageError(f"{cls.id} has no {edition} edition; it has {' and '.join(cls.editions)}")
    s = cls(edition or cls.editions[-1])
    if isinstance(s, Order) or (isinstance(s, Frequency) and s.counted):
        raise UsageError(
            f"{s.id} ({s.edition}) is judged over draws: no single instance refutes a claim about "
            "a probability or an order; run a case of it with more seeds"
        )
    if s.is_condition:
        raise UsageError(f"{s.id} ({s.edition}) is a condition, which claims nothing")
    return s


def _told(hunt: Hunt) -> Falsified:
    found, s = hunt.found, hunt.s
    worst = simplest = None
    if found.worst is not None:
        worst = confirmed(s, found.worst[1])
        simplest = confirmed(s, hunt.shrink(found.worst[1], HALF * found.worst[0])) or worst
        if worst is None or (simplest is not None and simplest.margin < worst.margin):
            worst = simplest
    tight = [
        Tight(name, value, case_of(s, instance, "confirmed"))
        for name, (value, instance) in sorted(found.tightest.items(), key=lambda each: each[1][0])
    ]
    return Falsified(
        id=s.id,
        edition=s.edition,
        evaluations=found.evaluations,
        feasible=found.feasible,
        seconds=hunt.seconds,
        first=found.first,
        worst=worst,
        simplest=simplest,
        tightest=tuple(tight),
        conflicting=() if found.nearest is None else found.nearest.failing,
        short=None if found.nearest is None else found.nearest.value - 1,
        met=None if found.met is None else case_of(s, found.met, "confirmed"),
    )


def case_of(s: AnyStatement, instance: Instance, outcome: str) -> dict[str, object]:
    """As a case file states it."""
    return instance.tree(f"{s.title}: an instance found by search", s.id, s.edition, outcome)


def confirmed(s: AnyStatement, instance: Instance) -> Counterexample | None:
    """Judged again as whoever runs the written case will see it: a refutation by a run is repeated
    there by another method, and ties are settled in exact numbers. None where it does not stand."""
    tree = case_of(s, instance, str(Outcome.REFUTED))
    own = _judged(tree, s)
    if own is None or own.outcome is not Outcome.REFUTED:
        return None
    violated = [c for c in own.conclusions if c.decision is Decision.VIOLATED]
    claim = min(violated, key=margin)
    others = {}
    for edition in type(s).editions:
        if edition != s.edition:
            other = type(s)(edition)
            verdict = _judged({**tree, "edition": edition, "expect": {}}, other)
            others[edition] = "no equilibrium" if verdict is None else str(verdict.outcome)
    return Counterexample(tree, own, claim, margin(claim), instance.entries, others)


def _judged(tree: dict[str, object], s: AnyStatement) -> Verdict | None:
    case: Case = checked(Source(written=tree))
    question = replace(case.question, statements=(type(s),), editions=(s.edition,))
    report = run_case(case.problem(), question)
    return report.verdicts[0] if report.verdicts else None
