"""One statement as LaTeX, to be put into a paper or a review; it needs amsmath alone."""

from __future__ import annotations

from collections.abc import Iterator

from deqcheck.report.parts.notation import in_latex
from deqcheck.report.parts.notation.latex import escaped
from deqcheck.report.parts.sentences import numbered
from deqcheck.theorems.base import CORRECTED, PRINTED, AnyStatement, Check
from deqcheck.theorems.editions import Row
from deqcheck.theorems.roles import Role

HEADINGS = {Role.ASSUMED: "Assumed", Role.CLAIMED: "Claimed", Role.REMARK: "Remarks of deqcheck"}


def fragment(s: type[AnyStatement], rows: list[Row]) -> str:
    return "".join(f"{line}\n" for line in _lines(s, rows))


def _lines(s: type[AnyStatement], rows: list[Row]) -> Iterator[str]:
    yield f"% {s.id}, written by `deqcheck theorems show {s.id} --latex`; needs amsmath"
    yield rf"\paragraph{{{escaped(s.cite.number)} ({escaped(s.cite.paper)}): {escaped(s.title)}.}}"
    if s.erratum:
        yield rf"\emph{{{'Remark' if s.soundness == 'sound' else 'Erratum'}.}} {escaped(s.erratum)}"
        yield ""
    for role, heading in HEADINGS.items():
        of_role = [row for row in rows if row.role is role]
        if of_role:
            yield rf"\emph{{{heading}.}}"
            yield r"\begin{itemize}"
            yield from (line for row in of_role for line in _item(s, row))
            yield r"\end{itemize}"


def _item(s: type[AnyStatement], row: Row) -> Iterator[str]:
    if row.same or len(s.editions) == 1:
        yield rf"\item {_named(row.any)}: {_math(s, row.any)}"
        return
    for edition in (PRINTED, CORRECTED):
        check = row.of(edition)
        if check is not None:
            yield rf"\item {_named(check)}, {edition}: {_math(s, check)}"


def _named(check: Check) -> str:
    return escaped(numbered(check))


def _math(s: type[AnyStatement], check: Check) -> str:
    return f"${in_latex(check.formula.text, s.id)}$"
