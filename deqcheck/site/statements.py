"""A page for each statement, and the list of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deqcheck.case.evidence import rows_of
from deqcheck.report.parts.differences import differences
from deqcheck.report.parts.markup import Markup, join, tag
from deqcheck.report.parts.notation import in_mathml, in_unicode
from deqcheck.report.parts.sentences import numbered
from deqcheck.site.built import Built
from deqcheck.site.frame import (
    STATEMENTS,
    Page,
    case_path,
    erratum_path,
    known,
    link,
    paper_path,
    statement_path,
)
from deqcheck.theorems.base import AnyStatement, Check
from deqcheck.theorems.editions import Row
from deqcheck.theorems.proofs import proof
from deqcheck.theorems.references import bibtex
from deqcheck.theorems.roles import Role

HEADINGS = {
    Role.ASSUMED: "Assumed",
    Role.CLAIMED: "Claimed",
    Role.REMARK: "Remarks of deqcheck, which decide nothing",
}
WORDS = {"sound": "good", "typo": "open", "false": "bad", "vacuous": "bad", "unproven": "open"}


def pages(built: Built) -> Iterator[Page]:
    every = list(known().values())
    yield _list(every)
    for s in every:
        path = statement_path(s.id)
        yield Page(path, f"{s.id}: {s.title}", join(*_body(s, path, built)), s.title)


def _list(every: Sequence[type[AnyStatement]]) -> Page:
    rows = [
        tag(
            "tr",
            tag("td", link(STATEMENTS, statement_path(s.id), s.id)),
            tag("td", ", ".join(s.models)),
            tag("td", status(s)),
            tag("td", s.title),
        )
        for s in every
    ]
    return Page(STATEMENTS, "Statements", table(("id", "model", "as printed", "title"), rows))


def table(names: Sequence[str], rows: Sequence[Markup], kind: str | None = None) -> Markup:
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    return tag("table", tag("thead", head), tag("tbody", *rows), class_=kind)


def status(s: type[AnyStatement]) -> Markup:
    return tag("span", s.soundness, class_=f"word {WORDS[s.soundness]}")


def linked(path: str, ids: Sequence[str]) -> Markup:
    """Ids in a row, each a link where there is such a statement."""
    statements = known()
    parts: list[object] = []
    for id_ in ids:
        parts += [", ", link(path, statement_path(id_), id_) if id_ in statements else id_]
    return join(*parts[1:])


def _body(s: type[AnyStatement], path: str, built: Built) -> Iterator[Markup | None]:
    yield tag("p", f"{s.cite}; ", link(path, paper_path(s.paper()), "the paper"), class_="soft")
    yield tag("p", "As printed: ", status(s), f"; {', '.join(s.models)}; {', '.join(s.dynamics)}")
    if s.erratum:
        page = link(path, erratum_path(s.id), "Erratum: ")
        yield tag("p", page, s.erratum, class_="erratum")
    yield from (tag("p", part) for part in s.text().split("\n\n"))
    found = rows_of(s, built.evidence)
    for role, heading in HEADINGS.items():
        of_role = [row for row in found if row.role is role]
        if of_role:
            yield tag("h2", heading)
            yield _checks(s, of_role)
    if s.constants:
        yield tag("h2", "Free constants")
        pairs = (join(tag("dt", name), tag("dd", told)) for name, told in s.constants.items())
        yield tag("dl", *pairs)
    yield from _cases(s, path, built)
    yield from _proofs(s, path)
    entry = bibtex(s)
    if entry:
        yield tag("h2", "Citation")
        yield tag("pre", entry, tabindex="0")


def _checks(s: type[AnyStatement], rows: Sequence[Row]) -> Markup:
    names = ("", *s.editions) if len(s.editions) > 1 else ("", "formula")
    return table(names, [_row(s, row) for row in rows], "checks")


def _row(s: type[AnyStatement], row: Row) -> Markup:
    name = tag("td", numbered(row.any))
    if len(s.editions) == 1:
        return tag("tr", name, tag("td", _formula(s, row.any)))
    if row.same:
        return tag("tr", name, tag("td", _formula(s, row.any), colspan=2))
    pair = [row.of(edition) for edition in s.editions]
    marks = _marks(s, row)
    cells = [
        tag("td", _formula(s, c), mark, data_edition=edition if c is not None else None)
        for edition, c, mark in zip(s.editions, pair, marks, strict=True)
    ]
    return tag("tr", name, *cells, class_="differs")


def _formula(s: type[AnyStatement], check: Check | None) -> Markup | None:
    return None if check is None else in_mathml(check.formula.text, s.id)


def _marks(s: type[AnyStatement], row: Row) -> list[Markup | None]:
    if row.printed is None or row.corrected is None:
        return [None, None]
    texts = (in_unicode(c.formula.text, s.id) for c in (row.printed, row.corrected))
    return [
        tag(
            "div",
            *(tag("mark", text) if differs else text for text, differs in part),
            class_="soft formula",
            aria_hidden="true",
        )
        for part in differences(*texts)
    ]


def _cases(s: type[AnyStatement], path: str, built: Built) -> Iterator[Markup]:
    found = built.evidence.get(s.id, {})
    rows = [
        tag(
            "tr",
            tag("td", found[edition].outcomes[case]),
            tag("td", edition),
            tag("td", link(path, case_path(case), case)),
        )
        for edition in s.editions
        if edition in found
        for case in found[edition].outcomes
    ]
    if rows:
        yield tag("h2", "Cases")
        yield table(("outcome", "edition", "case"), rows)


def _proofs(s: type[AnyStatement], path: str) -> Iterator[Markup]:
    place = proof(s, known())
    told = {
        "Its proof uses": place.uses,
        "Used by": place.used_by,
        "Falls with it": place.falls_with,
    }
    if any(told.values()):
        yield tag("h2", "Proof map")
    for heading, ids in told.items():
        if ids:
            yield tag("p", f"{heading}: ", linked(path, ids))
