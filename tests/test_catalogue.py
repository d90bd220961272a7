"""Every statement of the catalogue is cited, shown and judged both ways.

A new statement needs shipped cases in which each of its checks is judged, one in which its
hypotheses hold and one in which they fail, and, if it is false or vacuous as printed, one that
says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from deqcheck.ci.records import Result
from deqcheck.judging import catalogue
from deqcheck.records.comparison import Decision
from deqcheck.records.verdict import Outcome
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check, Cite, Statement

from .independent.harness import every_check_is_held

STATEMENTS = list(catalogue().values())
STATUSES = {"sound", "typo", "unproven", "false", "vacuous"}
WRONG = {"false", "vacuous"}
# How a case says that a statement is wrong as printed.
SAID = {o.value for o in (Outcome.REFUTED, Outcome.INCONSISTENT, Outcome.NOT_APPLICABLE)}
# Hypotheses that no instance can fail, and why.
UNFAILABLE: dict[str, str] = {}

each_statement = pytest.mark.parametrize("s", STATEMENTS, ids=lambda s: s.id)
Shipped = Mapping[str, Result]
Entry = Mapping[str, Any]


def verdicts(shipped: Shipped, id_: str) -> Iterator[tuple[Result, Entry]]:
    for result in shipped.values():
        assert result.reply.facts is not None, (result.id, result.reply.sentence)
        for statement in result.reply.facts["statements"]:
            if statement["id"] == id_:
                yield result, statement


@each_statement
def test_it_is_cited_by_its_number(s: type[Statement]) -> None:
    assert s.cite.paper and s.cite.number
    assert s.title and s.__doc__
    assert s.id.partition("/")[0] == s.__module__.split(".")[2], "the folder is the paper"


@each_statement
def test_its_formulas_parse(s: type[Statement]) -> None:
    assert s.checks()
    for check in s.checks():
        assert check.formula.relation and check.formula.names


@each_statement
def test_its_status_and_editions_agree(s: type[Statement]) -> None:
    assert s.soundness in STATUSES
    assert s.editions in ((CORRECTED,), (PRINTED, CORRECTED))
    assert s.erratum or s.editions == (CORRECTED,), "a second edition needs an erratum"
    assert s.erratum or s.soundness == "sound", "what is wrong must be said"
    if s.soundness in WRONG:
        assert PRINTED in s.editions


@each_statement
def test_every_formula_is_judged_by_some_case(s: type[Statement], shipped: Shipped) -> None:
    for check in s.checks():
        judged = {
            (entry["name"], entry["formula"])
            for id_ in owners(s, check)
            for _, statement in verdicts(shipped, id_)
            for part in ("hypotheses", "conclusions", "remarks")
            for entry in statement[part]
        }
        assert (check.name, check.formula.text) in judged


def owners(s: type[Statement], check: Check) -> list[str]:
    """Whose cases may judge it: a formula of a common base serves the whole family."""
    base = next(cls for cls in s.__mro__ if check in vars(cls).values())
    if "id" in vars(base):
        return [s.id]
    return [other.id for other in STATEMENTS if issubclass(other, base)]


@each_statement
def test_its_hypotheses_hold_in_some_case(s: type[Statement], shipped: Shipped) -> None:
    holding = [
        result.id
        for result, statement in verdicts(shipped, s.id)
        if statement["conclusions"]
        and all(h["decision"] == Decision.HOLDS.value for h in statement["hypotheses"])
    ]
    assert holding


@each_statement
def test_its_hypotheses_fail_in_some_case(s: type[Statement], shipped: Shipped) -> None:
    found = list(verdicts(shipped, s.id))
    assumes = any(statement["hypotheses"] for _, statement in found)
    if not assumes or s.id in UNFAILABLE:
        assert assumes or STATIC in s.dynamics
        return
    outcomes = {statement["outcome"] for _, statement in found}
    assert outcomes & {Outcome.NOT_APPLICABLE.value, Outcome.NOT_MET.value}


@each_statement
def test_a_wrong_statement_has_a_counterexample(s: type[Statement], shipped: Shipped) -> None:
    if s.soundness not in WRONG:
        return
    saying = []
    for result, statement in verdicts(shipped, s.id):
        said = result.expect.of(s.id, PRINTED)
        if statement["edition"] == PRINTED and said == statement["outcome"] in SAID:
            saying.append(result.id)
    assert saying


class Unsupported(Statement):
    """What a new statement without anything looks like."""

    id = "nobody/thm0"
    title = ""
    cite = Cite("", "")
    models = ("delm",)
    dynamics = (STATIC,)
    soundness = "false"

    bound = Check("bound", "a <= b")


def test_the_catalogue_can_say_no(shipped: Shipped) -> None:
    s = Unsupported
    demands: list[Callable[[], None]] = [
        lambda: test_it_is_cited_by_its_number(s),
        lambda: test_its_status_and_editions_agree(s),
        lambda: test_every_formula_is_judged_by_some_case(s, shipped),
        lambda: test_its_hypotheses_hold_in_some_case(s, shipped),
        lambda: test_a_wrong_statement_has_a_counterexample(s, shipped),
        lambda: every_check_is_held(s),
    ]
    for demand in demands:
        with pytest.raises((AssertionError, KeyError, ModuleNotFoundError)):
            demand()
