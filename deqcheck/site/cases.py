"""A page for each shipped case: its file, what comes of it, and how to run it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from deqcheck.case import embedded, evidence
from deqcheck.report.parts.markup import Markup, join, tag
from deqcheck.site.frame import CASES, Page, case_path, known, link, statement_path
from deqcheck.site.statements import table


def pages() -> Iterator[Page]:
    titles = embedded.titles()
    rows = [
        tag("tr", tag("td", link(CASES, case_path(name), name)), tag("td", title))
        for name, title in titles.items()
    ]
    yield Page(CASES, "Cases", table(("case", "title"), rows))
    outcomes = _outcomes()
    for name, title in titles.items():
        body = join(*_body(name, outcomes.get(name, {})))
        yield Page(case_path(name), title or name, body, name)


def _outcomes() -> dict[str, dict[tuple[str, str], str]]:
    """By case: by statement and edition."""
    found: dict[str, dict[tuple[str, str], str]] = {}
    for id_ in known():
        for edition, seen in evidence.of(id_).items():
            for case, outcome in seen.outcomes.items():
                found.setdefault(case, {})[id_, edition] = outcome
    return found


def _body(name: str, outcomes: Mapping[tuple[str, str], str]) -> Iterator[Markup]:
    path = case_path(name)
    yield tag("pre", f"deqcheck run {name}", tabindex="0")
    file = embedded.folder() / f"{name}.yaml"
    yield tag("pre", file.read_text(encoding="utf-8"), tabindex="0")
    if outcomes:
        yield tag("h2", "What comes of it")
        rows = [
            tag(
                "tr",
                tag("td", outcome),
                tag("td", link(path, statement_path(id_), id_), f" ({edition})"),
            )
            for (id_, edition), outcome in outcomes.items()
        ]
        yield table(("outcome", "statement"), rows)
