"""A page for each paper: its theory, its statements with their proof map, its item list."""

from __future__ import annotations

from collections.abc import Iterator

from deqcheck.docs.items import written
from deqcheck.report.gallery import anchor, count
from deqcheck.report.parts.markup import Markup, join, tag
from deqcheck.site.built import Built
from deqcheck.site.frame import GALLERY, Page, link, paper_path, statement_path, works
from deqcheck.site.statements import linked, status, table
from deqcheck.site.topics import from_markdown
from deqcheck.theorems.base import AnyStatement
from deqcheck.theorems.references import bibtex, theory


def pages(built: Built) -> Iterator[Page]:
    for paper, (name, mine) in works().items():
        yield Page(paper_path(paper), name, join(*_body(paper, mine, built)), paper)


def _body(paper: str, mine: list[type[AnyStatement]], built: Built) -> Iterator[Markup]:
    path = paper_path(paper)
    entry = bibtex(mine[0])
    if entry:
        yield tag("pre", entry, tabindex="0")
    yield from_markdown(theory(mine[0]) or "")
    yield tag("h2", "Statements and what their proofs use")
    rows = [
        tag(
            "tr",
            tag("td", link(path, statement_path(s.id), s.id)),
            tag("td", status(s)),
            tag("td", s.title),
            tag("td", linked(path, s.uses)),
        )
        for s in mine
    ]
    yield table(("id", "as printed", "title", "uses"), rows)
    yield from _figures(paper, path, built)
    items = written().get(paper)
    if items:
        yield tag("h2", "Every numbered item")
        yield from_markdown(items.partition("\n")[2])


def _figures(paper: str, path: str, built: Built) -> Iterator[Markup]:
    mine = [drawn.picture for drawn in built.figures if drawn.picture.id.startswith(f"{paper}/")]
    if mine:
        yield tag("h2", "Figures, made again and judged")
        items = (
            tag("li", link(path, f"{GALLERY}#{anchor(p)}", p.number), f": {p.title} ({count(p)})")
            for p in mine
        )
        yield tag("ul", *items)
