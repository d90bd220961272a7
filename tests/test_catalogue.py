"""Every statement of the catalogue is cited, shown, judged both ways, and can be refuted.

A new statement needs shipped cases in which each of its checks is judged, one in which its
hypotheses hold and one in which they fail, and, if it is false or vacuous as printed, one that
says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deqcheck.ci.power import Power, powers
from deqcheck.ci.records import Result
from deqcheck.dynamics.recorder import silent
from deqcheck.judging import catalogue, choose, train
from deqcheck.judging.verdicts import Drawing, verdict
from deqcheck.records.claim import Claim, Curve, Decision, Judged
from deqcheck.records.measured import Measured
from deqcheck.records.verdict import Outcome, outcome_of
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check, Cite, Statement

from .shipped import stated

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
            for part in ("hypotheses", "conclusions")
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
    assert Outcome.NOT_APPLICABLE.value in outcomes


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


@pytest.fixture(scope="module")
def table(shipped: Shipped) -> dict[str, list[Power]]:
    """The power of every conclusion, by statement."""
    found: dict[str, list[Power]] = {}
    for power in powers(shipped.values()):
        found.setdefault(power.id, []).append(power)
    return found


Made = dict[tuple[str, str], list[tuple[Claim | Curve, Judged]]]


class Claims:
    """Every claim that a case makes, by statement and edition, before it was judged."""

    def __init__(self, patch: pytest.MonkeyPatch):
        self.kept: dict[str, Made] = {}
        self._current: list[tuple[Claim | Curve, Judged]] = []
        self._record(Claim, patch)
        self._record(Curve, patch)

    def _record(self, cls: type[Claim] | type[Curve], patch: pytest.MonkeyPatch) -> None:
        real = cls.judge

        def judge(claim: Any) -> Judged:
            judged = real(claim)
            self._current.append((claim, judged))
            return judged

        patch.setattr(cls, "judge", judge)

    def __call__(self, name: str) -> Made:
        if name not in self.kept:
            self.kept[name] = self._run(name)
        return self.kept[name]

    def _run(self, name: str) -> Made:
        found: Made = {}
        p = stated()[name].problem()
        asked = choose(stated()[name].question, p)
        run = train(p, asked, silent) if p.train else None
        for s in asked:
            self._current.clear()
            verdict(s, p, run, Drawing())
            found[s.id, s.edition] = list(self._current)
        return found


@pytest.fixture(scope="module")
def made() -> Iterator[Claims]:
    with pytest.MonkeyPatch.context() as patch:
        yield Claims(patch)


def quickest(shipped: Shipped, power: Power, run: Collection[str]) -> Result:
    """Of the cases that judge this check in earnest; one that was run already is at hand."""
    cases = [
        result
        for result, statement in verdicts(shipped, power.id)
        if statement["edition"] == power.edition
        and statement["outcome"] != Outcome.NOT_APPLICABLE.value
        and any(
            c["name"] == power.check and (c["caught"] is not None or power.caught is None)
            for c in statement["conclusions"]
        )
    ]
    return min(cases, key=lambda case: (case.id not in run, case.reply.seconds, case.id))


def shifted(claim: Claim | Curve) -> Claim | Curve:
    """For a claim about a sign: beyond everything that was measured."""
    left, right = claim.left, claim.right
    if np.isinf(right.value).any():
        right = Measured(np.zeros_like(right.value))
    size = 2 * (abs(left.value) + abs(right.value) + left.error + right.error) + 1e-300
    sign = -1 if claim.relation in ("<=", "<") else 1
    return replace(claim, right=Measured(right.value + sign * size, right.error))


@each_statement
def test_a_broken_version_of_each_conclusion_is_caught(
    s: type[Statement],
    shipped: Shipped,
    table: dict[str, list[Power]],
    made: Claims,
) -> None:
    assert table[s.id]
    for power in table[s.id]:
        if power.violated:
            continue
        case = quickest(shipped, power, made.kept)
        claims = made(case.id)[s.id, power.edition]
        subjects = [
            (claim, judged)
            for claim, judged in claims
            if judged.name == power.check and judged.decision is not Decision.VIOLATED
        ]
        assert subjects
        for claim, judged in subjects:
            beyond = judged.caught
            broken = shifted(claim) if beyond is None else claim.stronger(1.001 * beyond)
            wrong = broken.judge()
            assert wrong.decision is Decision.VIOLATED, (case.id, power)
            assert outcome_of([], [wrong]) is Outcome.REFUTED


class Unsupported(Statement):
    """What a new statement without anything looks like."""

    id = "nobody/thm0"
    title = ""
    cite = Cite("", "")
    models = ("delm",)
    dynamics = (STATIC,)
    soundness = "false"

    bound = Check("bound", "a <= b")


def test_the_catalogue_can_say_no(
    shipped: Shipped, table: dict[str, list[Power]], made: Claims
) -> None:
    s = Unsupported
    demands: list[Callable[[], None]] = [
        lambda: test_it_is_cited_by_its_number(s),
        lambda: test_its_status_and_editions_agree(s),
        lambda: test_every_formula_is_judged_by_some_case(s, shipped),
        lambda: test_its_hypotheses_hold_in_some_case(s, shipped),
        lambda: test_a_wrong_statement_has_a_counterexample(s, shipped),
        lambda: test_a_broken_version_of_each_conclusion_is_caught(s, shipped, table, made),
    ]
    for demand in demands:
        with pytest.raises((AssertionError, KeyError)):
            demand()
