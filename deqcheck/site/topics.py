"""The topics of the documentation, and the front page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deqcheck import docs
from deqcheck.case import embedded
from deqcheck.report.parts.markup import Markup, join, tag
from deqcheck.site.frame import ERRATA, INDEX, Page, known, link, paper_path, works
from deqcheck.site.statements import table
from deqcheck.theorems.references import title

# These have pages of their own.
ELSEWHERE = ("errata", "theory/", "items/")


def from_markdown(text: str) -> Markup:
    """Rich brings markdown-it along."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    return Markup(parser.render(text))


def pages() -> Iterator[Page]:
    for topic, about in _own().items():
        text = from_markdown(_below_title(docs.text(topic, embedded.cases)))
        yield Page(f"docs/{topic}.html", about.replace("`", ""), text, topic)


def _below_title(text: str) -> str:
    return text.partition("\n")[2] if text.startswith("# ") else text


def front(found: Sequence[Page]) -> Page:
    every = known()
    count = sum(page.path.startswith("errata/") for page in found) - 1
    papers = _papers()
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
        table(("work", "title", "statements", "not sound as printed"), papers),
        tag("h2", "Documentation"),
        table(("topic", "about"), [_topic(*pair) for pair in _own().items()]),
    )
    return Page(INDEX, "deqcheck", body)


def _papers() -> list[Markup]:
    return [
        tag(
            "tr",
            tag("td", link(INDEX, paper_path(paper), name)),
            tag("td", title(mine[0]) if "; " not in name else ""),
            tag("td", len(mine)),
            tag("td", sum(s.soundness != "sound" for s in mine)),
        )
        for paper, (name, mine) in works().items()
    ]


def _own() -> dict[str, str]:
    return {t: about for t, about in docs.topics().items() if not t.startswith(ELSEWHERE)}


def _topic(topic: str, about: str) -> Markup:
    told = about.replace("`", "")
    return tag("tr", tag("td", link(INDEX, f"docs/{topic}.html", topic)), tag("td", told))
