"""The documentation as a static site: plain files with addresses that do not change.

A page for each statement, erratum, case, paper and topic, a gallery of figures, and a search that
needs no server. Outcomes and figures are those of the build (`Built`), all else is from the
statements and the cases.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from deqcheck import atomic
from deqcheck.site import cases, errata, gallery, papers, statements, topics
from deqcheck.site.built import Built, Drawn, from_baseline
from deqcheck.site.frame import SCRIPT, Page, layout
from deqcheck.site.search import index_of, search_page

__all__ = ["Built", "Drawn", "from_baseline", "is_free", "pages", "write"]


def pages(built: Built) -> list[Page]:
    """Every page but the search, the front page first."""
    found = [
        *statements.pages(built),
        *errata.pages(built),
        *cases.pages(built),
        *papers.pages(built),
    ]
    return [topics.front(found), *topics.pages(), gallery.page(built), *found]


def write(folder: Path, built: Built) -> int:
    """The number of pages. Raises OSError."""
    found = pages(built)
    for page in (*found, search_page()):
        _put(folder / page.path, layout(page, built))
    _put(folder / SCRIPT, index_of(found))
    for picture, png in built.figures:
        _put(folder / gallery.picture_path(picture), png)
    return len(found) + 1


def _put(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.replace(path, content)


def is_free(folder: Path) -> bool:
    """Whether nothing is there that could be overwritten."""
    return not folder.exists() or (folder.is_dir() and not any(_entries(folder)))


def _entries(folder: Path) -> Iterable[Path]:
    return folder.iterdir()
