"""Statements with one formula broken, to see that the checker can say no."""

from __future__ import annotations

from typing import Any

from deqcheck import engine
from deqcheck.models.problem import Problem
from deqcheck.records.verdict import Verdict
from deqcheck.theorems.base import Check, Statement
from tests.conftest import bare_case


def broken(statement: type[Statement], name: str, old: str, new: str) -> type[Statement]:
    """The statement with `old` replaced by `new` in the formula of its check `name`."""
    check: Check = getattr(statement, name)
    assert old in check.formula.text, (check.formula.text, old)
    wrong = Check(
        check.name,
        check.formula.text.replace(old, new),
        check.equation,
        check.decays,
        check.contracts,
    )
    return type(f"Broken{statement.__name__}", (statement,), {name: wrong})


def judge(
    statement: type[Statement], p: Problem, edition: str = "corrected", **more: Any
) -> Verdict:
    """The verdict of one statement, whatever the registry holds."""
    case = bare_case(theorems=[statement.id], editions=(edition,), **more)
    listed = engine.catalogue
    engine.catalogue = lambda: {statement.id: statement}
    try:
        return engine.run(case, p).verdicts[0]
    finally:
        engine.catalogue = listed
