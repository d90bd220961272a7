"""Statements as Markdown: the theory of each paper, and the errata with their counterexamples."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping

from deqcheck import registry
from deqcheck.case import Case
from deqcheck.docs import Cases
from deqcheck.theorems.base import CORRECTED, PRINTED, AnyStatement
from deqcheck.theorems.proofs import FALLS, lines
from deqcheck.theorems.references import theory

ERRATA = "errata"
# What a counterexample shows of the printed edition, the most telling first.
UNEXPLAINED = ("not applicable", "not met", "undecided", "not checked")
TELLING = ("refuted", "inconsistent", "not applicable")

INTRODUCTION = """\
# What is wrong in print, with counterexamples to run

Each entry names the statement, says what is wrong and what holds instead, and gives a case of the
package that shows it. `sound` means that the statement holds as printed and that there is a
remark about it all the same; `typo` that a reader can repair it; `false` that a counterexample
exists; `vacuous` that its hypotheses cannot hold; `unproven` that the proof does not support it.
"""


def titles() -> dict[str, str]:
    """`errata`, and `theory/PAPER` for each paper that has statements."""
    papers = {f"theory/{paper}": _title(found) for paper, found in _papers().items()}
    return {ERRATA: "What is wrong in print, with counterexamples to run"} | papers


def render(topic: str, cases: Cases) -> str:
    if topic == ERRATA:
        return _errata(cases())
    return _theory(topic.partition("/")[2], cases())


def _papers() -> dict[str, list[type[AnyStatement]]]:
    found: dict[str, list[type[AnyStatement]]] = {}
    for statement in registry.statements().values():
        found.setdefault(statement.paper(), []).append(statement)
    return found


def _title(statements: list[type[AnyStatement]]) -> str:
    """What the folder of these statements calls the work, or how they cite it."""
    first = statements[0]
    package = sys.modules.get(first.__module__.rpartition(".")[0])
    said = package.__doc__ if package and package.__name__.endswith(first.paper()) else None
    return " ".join(inspect.cleandoc(said or first.cite.paper).split())


def _theory(paper: str, cases: Mapping[str, Case]) -> str:
    statements = _papers()[paper]
    cards = ["\n".join(_card(statement, cases)) for statement in statements]
    parts = [f"# {_title(statements)}\n", theory(statements[0]), *cards]
    return "\n".join(part for part in parts if part)


def _card(s: type[AnyStatement], cases: Mapping[str, Case]) -> Iterator[str]:
    yield f"## {s.id}: {s.title}\n"
    yield f"{s.cite}. Status: {s.soundness}. Editions: {', '.join(s.editions)}.\n"
    yield f"{s.text()}\n"
    for check in s.checks():
        number = f" [{check.equation}]" if check.equation else ""
        yield f"- {check.name}{number}: `{check.formula.text}`"
    yield ""
    if s.constants:
        yield "Free constants:\n"
        yield from (f"- {name}: {meaning}" for name, meaning in s.constants.items())
        yield ""
    if s.erratum:
        yield f"Erratum: {s.erratum}\n"
    place = [f"- {heading}: {ids}" for heading, ids in lines(s, registry.statements())]
    if place:
        yield "Proof map:\n"
        yield from (*place, "")
    expecting = [name for name, case in cases.items() if s.id in case.stated.expect]
    if expecting:
        yield f"Cases: {', '.join(expecting)}.\n"


def _errata(cases: Mapping[str, Case]) -> str:
    parts = [INTRODUCTION]
    for statements in _papers().values():
        with_erratum = [s for s in statements if s.erratum]
        if with_erratum:
            parts.append(f"## {_title(statements)}\n")
            parts += ["\n".join(_entry(s, cases)) for s in with_erratum]
    return "\n".join(parts)


def _entry(s: type[AnyStatement], cases: Mapping[str, Case]) -> Iterator[str]:
    yield f"### {s.id} ({s.cite.number}): {s.soundness}\n"
    yield f"{s.erratum}\n"
    falling = dict(lines(s, registry.statements())).get(FALLS)
    if falling:
        yield f"What rests on it: {falling}.\n"
    example = _counterexample(s, cases)
    if example is not None:
        yield "```console"
        yield f"$ deqcheck run {example} --only {s.id} --edition both --quiet --no-entry"
        for edition in s.editions:
            outcome = cases[example].stated.expect.of(s.id, edition)
            line = f"{outcome.upper()} {s.id} ({edition}) {example}" if outcome else "..."
            # A reason follows.
            yield f"{line}: ..." if outcome in UNEXPLAINED else line
        yield "```\n"


def _counterexample(s: type[AnyStatement], cases: Mapping[str, Case]) -> str | None:
    """The case in which the printed edition fares worst, if it fares differently at all.

    Of several, the one with the fewest statements.
    """
    expect = {name: case.stated.expect for name, case in cases.items()}
    specific = sorted(expect, key=lambda name: len(expect[name]))
    for outcome in TELLING:
        for name in specific:
            printed, corrected = (expect[name].of(s.id, e) for e in (PRINTED, CORRECTED))
            if printed == outcome and (printed != corrected or s.soundness == "vacuous"):
                return name
    return None
