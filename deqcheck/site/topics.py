"""The topics of the documentation, and the front page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deqcheck import docs
from deqcheck.case import embedded
from deqcheck.report.parts.markup import Markup, join, tag
from deqcheck.site.frame import ERRATA, INDEX, Page, known, link, paper_path
from deqcheck.site.statements import table

# These have pages of their own.
ELSEWHERE = ("errata", "theory/", "items/")


def from_markdown(text: str) -> Markup:
    """Rich brings markdown-it along."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    return Markup(parser.render(text))


def pages() -> Iterator[Page]:
    for topic, title in docs.topics().items():
        if not topic.startswith(ELSEWHERE):
            text = docs.text(topic, embedded.cases)
            yield Page(f"docs/{topic}.html", title, from_markdown(_below_title(text)), topic)


def _below_title(text: str) -> str:
    return text.partition("\n")[2] if text.startswith("# ") else text


def front(found: Sequence[Page]) -> Page:
    every = known()
    papers = dict.fromkeys(s.paper() for s in every.values())
    topics = {t: about for t, about in docs.topics().items() if not t.startswith(ELSEWHERE)}
    count = sum(page.path.startswith("errata/") for page in found) - 1
    rows = [
        tag("tr", tag("td", link(INDEX, f"docs/{t}.html", t)), tag("td", about))
        for t, about in topics.items()
    ]
    body = join(
        tag(
            "p",
            f"{len(every)} statements of {len(papers)} works on the convergence of deep "
            "equilibrium models, as code that judges them on instances, as printed and as "
            "corrected. ",
            link(INDEX, ERRATA, f"{count} of them have an erratum or a remark"),
            ".",
        ),
        tag("h2", "Papers"),
        tag("ul", *(tag("li", link(INDEX, paper_path(p), p)) for p in papers)),
        tag("h2", "Documentation"),
        table(("topic", "about"), rows),
    )
    return Page(INDEX, "deqcheck", body)
