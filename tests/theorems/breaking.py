"""Statements with one formula broken, to see that the checker can say no."""

from __future__ import annotations

from deqcheck.theorems.base import Check, Statement


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
        check.starts_equal,
    )
    return type(f"Broken{statement.__name__}", (statement,), {name: wrong})
