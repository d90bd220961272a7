"""The figures of the papers, made by the build, and what they make of the papers' sentences."""

from __future__ import annotations

from deqcheck.records.figure import Picture
from deqcheck.report.gallery import ABOUT, article, contents, file_name
from deqcheck.report.parts.markup import Markup, join, tag
from deqcheck.site.built import Built
from deqcheck.site.frame import GALLERY, Page


def picture_path(picture: Picture) -> str:
    return f"figures/{file_name(picture)}"


def page(built: Built) -> Page:
    return Page(GALLERY, "Gallery", _body(built), "figures of the papers, made again")


def _body(built: Built) -> Markup:
    if not built.figures:
        none = "No figure was made by this build; `deqcheck figures` makes them one by one."
        return tag("p", none)
    pictures = [drawn.picture for drawn in built.figures]
    return join(
        tag("p", ABOUT),
        contents(pictures),
        [article(p, picture_path(p)) for p in pictures],
    )
