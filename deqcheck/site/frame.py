"""What all pages share: addresses, links, the frame around the body."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from functools import cache

from deqcheck import __version__, registry
from deqcheck.report.gallery import IMAGES
from deqcheck.report.parts.markup import Markup, tag
from deqcheck.report.parts.style import SHEET
from deqcheck.site.built import Built
from deqcheck.theorems.base import AnyStatement

INDEX, SEARCH, SCRIPT, GALLERY = "index.html", "search.html", "search-index.js", "gallery.html"
ERRATA, STATEMENTS, CASES = "errata/index.html", "statements/index.html", "cases/index.html"
NAVIGATION = {
    "Start": INDEX,
    "Statements": STATEMENTS,
    "Errata": ERRATA,
    "Cases": CASES,
    "Gallery": GALLERY,
    "Search": SEARCH,
}
EXTRA = """
nav { max-width: 60rem; margin: 0 auto; padding: .7rem 1rem; display: flex; flex-wrap: wrap;
  gap: 1rem; border-bottom: 1px solid var(--rule); }
nav a { text-decoration: none; } nav a[aria-current] { font-weight: 700; color: var(--ink); }
td .math { display: inline-block; } input[type=search] { font: inherit; padding: .4rem .6rem;
  width: min(100%, 28rem); } #found li { margin: .5rem 0; }
h1, p, li { overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  main table { display: block; overflow-x: auto; } .checks thead { display: none; }
  .checks :is(tbody, tr, td) { display: block; border: 0; padding: .1rem 0; }
  .checks tr { border-top: 1px solid var(--rule); } .checks td { overflow-x: auto; }
  .checks td:first-child { color: var(--soft); }
  .checks [data-edition]::before { content: attr(data-edition) ": "; font-weight: 600; } }
.warning { max-width: 58rem; margin: 1rem auto; padding: .5rem 1rem;
  border: 2px solid var(--open); border-radius: 6px; }
"""


@cache
def known() -> dict[str, type[AnyStatement]]:
    """Every statement; looking one up in the registry takes longer."""
    return dict(registry.statements())


def works() -> dict[str, tuple[str, list[type[AnyStatement]]]]:
    """By folder: the works that its statements are from, and the statements."""
    found: dict[str, list[type[AnyStatement]]] = {}
    for s in known().values():
        found.setdefault(s.paper(), []).append(s)
    return {
        paper: ("; ".join(dict.fromkeys(s.cite.paper for s in mine)), mine)
        for paper, mine in found.items()
    }


@dataclass(frozen=True)
class Page:
    # Relative to the site, with slashes.
    path: str
    title: str
    body: Markup
    # One line about it, for lists and the search.
    about: str = ""


def statement_path(id_: str) -> str:
    return f"statements/{id_}.html"


def erratum_path(id_: str) -> str:
    return f"errata/{id_}.html"


def case_path(name: str) -> str:
    return f"cases/{name}.html"


def paper_path(paper: str) -> str:
    return f"papers/{paper}.html"


def link(here: str, there: str, text: object) -> Markup:
    """From one page to another, wherever the site lies."""
    return tag("a", text, href=posixpath.relpath(there, posixpath.dirname(here) or "."))


def layout(page: Page, built: Built) -> str:
    # Only the search runs a script, its own; only the gallery has images.
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    policy += "; script-src 'self' 'unsafe-inline' file:" if page.path == SEARCH else ""
    policy += "; img-src 'self' file:" if page.path == GALLERY else ""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("title", f"{page.title} - deqcheck"),
        tag("style", Markup(SHEET + EXTRA + IMAGES)),
    )
    body = tag(
        "body",
        tag("a", "Skip to the text", href="#text", class_="skip"),
        tag("nav", *(_item(page.path, name, to) for name, to in NAVIGATION.items())),
        tag("p", built.warning, class_="warning", role="note") if built.warning else None,
        tag("main", tag("h1", page.title), page.body, id="text"),
        tag("footer", tag("p", f"Written by deqcheck {__version__}. {built.about}")),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _item(here: str, name: str, there: str) -> Markup:
    if here == there:
        return tag("a", name, href=posixpath.basename(there), aria_current="page")
    return link(here, there, name)
