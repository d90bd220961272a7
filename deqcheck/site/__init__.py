"""The documentation as a static site: plain files with addresses that do not change.

A page for each statement, erratum, case, paper and topic, a gallery of figures, and a search that
needs no server. Whatever it shows is made by the build: from the statements, the cases and the
baseline, the figures from runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from deqcheck import atomic
from deqcheck.site import cases, errata, gallery, papers, statements, topics
from deqcheck.site.frame import SCRIPT, Page, layout
from deqcheck.site.search import index_of, search_page


def pages() -> list[Page]:
    """Every page but the search, the front page first."""
    found = [*statements.pages(), *errata.pages(), *cases.pages(), *papers.pages()]
    return [topics.front(found), *topics.pages(), gallery.page(), *found]


def write(folder: Path) -> int:
    """The number of pages. Raises OSError."""
    found = pages()
    for page in (*found, search_page()):
        _put(folder / page.path, layout(page))
    _put(folder / SCRIPT, index_of(found))
    return len(found) + 1


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.replace(path, text)


def is_free(folder: Path) -> bool:
    """Whether nothing is there that could be overwritten."""
    return not folder.exists() or (folder.is_dir() and not any(_entries(folder)))


def _entries(folder: Path) -> Iterable[Path]:
    return folder.iterdir()
