"""A page for each erratum, at an address that does not change, so that it can be cited."""

from __future__ import annotations

from collections.abc import Iterator

from deqcheck.case.evidence import AGAINST, NONE
from deqcheck.report.parts.markup import Markup, join, tag
from deqcheck.site.built import Built
from deqcheck.site.frame import ERRATA, Page, case_path, erratum_path, known, link, statement_path
from deqcheck.site.statements import linked, status, table
from deqcheck.theorems.base import PRINTED, AnyStatement
from deqcheck.theorems.proofs import proof

SEVERITY = {
    "false": "false as printed: a counterexample exists",
    "vacuous": "vacuous as printed: its hypotheses cannot hold",
    "unproven": "unproven: the printed proof does not support it",
    "typo": "a slip that a reader can repair",
    "sound": "sound as printed; a remark",
}


def pages(built: Built) -> Iterator[Page]:
    having = [s for s in known().values() if s.erratum]
    having.sort(key=lambda s: list(SEVERITY).index(s.soundness))
    rows = [
        tag(
            "tr",
            tag("td", status(s)),
            tag("td", link(ERRATA, erratum_path(s.id), s.id)),
            tag("td", s.title),
        )
        for s in having
    ]
    yield Page(ERRATA, "Errata", table(("severity", "statement", "title"), rows))
    for s in having:
        path = erratum_path(s.id)
        yield Page(
            path, f"Erratum: {s.id}, {s.cite.number}", join(*_body(s, path, built)), s.erratum
        )


def _body(s: type[AnyStatement], path: str, built: Built) -> Iterator[Markup]:
    yield tag("p", f"{s.cite}. {s.title}: ", link(path, statement_path(s.id), "the statement"))
    yield tag("p", tag("strong", f"{SEVERITY[s.soundness]}."))
    yield tag("p", s.erratum, class_="erratum")
    found = built.evidence.get(s.id, {}).get(PRINTED, NONE)
    against = found.cases(*AGAINST)
    if against:
        case = against[0]
        yield tag("h2", "Counterexample")
        yield tag("p", link(path, case_path(case), case), f": {found.outcomes[case]} as printed.")
        yield tag("pre", f"deqcheck run {case} --only {s.id} --edition both", tabindex="0")
    falling = proof(s, known()).falls_with
    if falling and s.soundness not in ("sound", "typo"):
        yield tag("h2", "What rests on it")
        yield tag("p", linked(path, falling))
