"""Figures of a few runs, made by the build."""

from __future__ import annotations

from collections.abc import Iterator

from deqcheck import judging
from deqcheck.case.embedded import read_named
from deqcheck.report.parts.markup import Markup, join, tag
from deqcheck.report.parts.panels import panels
from deqcheck.report.parts.summary import summary
from deqcheck.report.parts.svg import figure
from deqcheck.site.frame import GALLERY, Page, case_path, link

# Each shows something that no other does, and takes less than a second.
SHOWN = (
    "quickstart",
    "kawaguchi2021/gd-counterexample",
    "hieu2022/gd-counterexample",
    "ling2022/f1",
)


def page() -> Page:
    return Page(GALLERY, "Gallery", join(*(part for name in SHOWN for part in _shown(name))))


def _shown(name: str) -> Iterator[Markup]:
    case = read_named(name)[0]
    report = judging.run(case.problem(), case.question)
    slug = name.replace("/", "-")
    yield tag("h2", link(GALLERY, case_path(name), case.full_title or name), id=slug)
    yield tag("p", f"{summary(report)}.")
    drawn = [figure(panel, f"{slug}-{i}") for i, panel in enumerate(panels(report), 1)]
    yield tag("div", *drawn, class_="figures")
