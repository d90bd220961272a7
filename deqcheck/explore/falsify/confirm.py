"""A counterexample judged again, by another route than the one that found it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from deqcheck.case.read import read_text
from deqcheck.case.write import case_text
from deqcheck.explore.falsify.instance import Instance
from deqcheck.explore.falsify.result import Counterexample
from deqcheck.explore.falsify.score import margin
from deqcheck.judging import Question, run
from deqcheck.records import tower
from deqcheck.records.comparison import Decision
from deqcheck.records.verdict import Outcome, Verdict
from deqcheck.theorems.base import STATIC, AnyStatement

ALONE = "error bars of doubles alone"
TITLE = "an instance found by search"


def case_of(s: AnyStatement, instance: Instance, outcome: str = "") -> dict[str, Any]:
    """As a case file states it."""
    return instance.tree(f"{s.title}: {TITLE}", s.id, s.edition, outcome)


def confirmed(s: AnyStatement, instance: Instance) -> Counterexample | None:
    """The written case, judged as whoever runs it will see it, in exact numbers where they can be
    had. None where the refutation does not stand."""
    s = type(s)(s.edition, instance.constants)
    tree = case_of(s, instance, str(Outcome.REFUTED))
    own = _refuted(s, tree)
    if own is None:
        return None
    violated = [c for c in own.conclusions if c.decision is Decision.VIOLATED]
    claim = min(violated, key=margin)
    route = _route(s, instance, own)
    if route is None:
        return None
    others = {}
    for edition in type(s).editions:
        if edition != s.edition:
            verdict = _judged(type(s)(edition, instance.constants), tree)
            others[edition] = "no equilibrium" if verdict is None else str(verdict.outcome)
    return Counterexample(
        tree, case_text(tree), own, claim, margin(claim), instance.entries, others, route
    )


def _refuted(s: AnyStatement, tree: Mapping[str, Any]) -> Verdict | None:
    try:
        found = _judged(s, tree, certify=tower.flint() is not None)
    except tower.Contradiction:
        # Doubles and exact numbers disagree: a bug, and no counterexample.
        return None
    return found if found is not None and found.outcome is Outcome.REFUTED else None


def _route(s: AnyStatement, instance: Instance, own: Verdict) -> str | None:
    """By what else the refutation was found; None where that found none."""
    by = {str(c.basis) for c in own.conclusions if c.decision is Decision.VIOLATED}
    certified = sorted(each for each in by if each.startswith("certified"))
    if certified:
        return f"exact numbers: {certified[0]}"
    if STATIC not in s.dynamics:
        told = [note for note in own.notes if note.startswith(("refuted again", "not repeated"))]
        return told[0] if told else ALONE
    for letter, size in instance.sizes.items():
        if size > 1:
            other = instance.taken(letter, list(range(size))[::-1])
            again = _refuted(s, case_of(s, other))
            return None if again is None else f"refuted again with {letter} in another order"
    return ALONE


def _judged(s: AnyStatement, tree: Mapping[str, Any], certify: bool = False) -> Verdict | None:
    """What `run` says of the case as a file would state it. The statement may be a class that no
    file knows, which is why the case is read without its name."""
    stated = {k: v for k, v in tree.items() if k not in ("theorems", "constants", "expect")}
    case = read_text(case_text(stated), "", Path())
    question = Question((type(s),), (s.edition,), {s.id: s.fixed})
    problem = replace(case.problem(), origin=None)
    report = run(problem, question, certify=certify)
    return report.verdicts[0] if report.verdicts else None
