"""A page for each shipped case: its file, what comes of it, and how to run it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deqcheck.case import embedded
from deqcheck.case.evidence import of_label
from deqcheck.report.parts.markup import Markup, join, tag
from deqcheck.site.built import Built
from deqcheck.site.frame import CASES, Page, case_path, known, link, statement_path
from deqcheck.site.statements import table

NOT_RUN = "This build did not run it."
SLOW = "This build did not run it: it takes minutes, or needs files that do not come along."


def pages(built: Built) -> Iterator[Page]:
    titles = embedded.titles()
    rows = [
        tag("tr", tag("td", link(CASES, case_path(name), name)), tag("td", title))
        for name, title in titles.items()
    ]
    yield Page(CASES, "Cases", table(("case", "title"), rows))
    members: dict[str, dict[str, Any]] = {}
    for name, entry in built.cases.items():
        members.setdefault(name.partition("[")[0], {})[name] = entry
    for name, title in titles.items():
        body = join(*_body(name, members.get(name, {}), built))
        yield Page(case_path(name), title or name, body, name)


def _body(name: str, members: dict[str, Any], built: Built) -> Iterator[Markup]:
    yield tag("pre", f"deqcheck run {name}", tabindex="0")
    file = embedded.folder() / f"{name}.yaml"
    yield tag("pre", file.read_text(encoding="utf-8"), tabindex="0")
    yield tag("h2", "What comes of it")
    failed = {n: s for n, s in built.failures.items() if n.partition("[")[0] == name}
    for member, sentence in failed.items():
        yield tag("p", f"{member}: {sentence}")
    if not members and not failed:
        yield tag("p", SLOW if embedded.slow(name) else NOT_RUN)
    for member, entry in members.items():
        if len(members) > 1:
            yield tag("h3", member)
        yield from _outcomes(case_path(name), entry)


def _outcomes(path: str, entry: Any) -> Iterator[Markup]:
    if entry["status"] != "completed":
        yield tag("p", f"The run ended as {entry['status']}.")
    rows = []
    for key, statement in entry["statements"].items():
        id_, edition = of_label(key)
        name = link(path, statement_path(id_), id_) if id_ in known() else id_
        rows.append(
            tag("tr", tag("td", statement["outcome"]), tag("td", name, f" ({edition})")),
        )
    if rows:
        yield table(("outcome", "statement"), rows)
