"""A check-up as a page of its own, the five answers on top: no script, no network."""

from __future__ import annotations

from collections.abc import Iterable

from deqcheck.records.checkup import Answer, Checkup, Posed, Tried
from deqcheck.report.parts.checked import (
    DIGITS,
    cell,
    sample_columns,
    title,
    tried_told,
    vector,
)
from deqcheck.report.parts.markup import Markup, join, tag
from deqcheck.report.parts.numbers import with_error
from deqcheck.report.parts.render_options import RenderOptions
from deqcheck.report.parts.style import SHEET

# The page may load nothing at all, not even from where it lies.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
CLASSES = {Posed.YES: "good", Posed.NO: "bad", Posed.OPEN: "open"}
WORDS = {"proves it": "good", "fails": "bad"}


def as_page(found: Checkup) -> str:
    heading = f"deqcheck: check-up of {found.name}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("title", heading),
        tag("style", Markup(SHEET)),
    )
    version = found.environment.get("deqcheck", "")
    body = tag(
        "body",
        tag("a", "Skip to the answers", href="#answers", class_="skip"),
        tag("header", tag("h1", heading), tag("p", title(found), class_="soft")),
        tag("main", _main(found), id="answers"),
        tag("footer", tag("p", f"Written by deqcheck {version}, nothing in the file was run.")),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def fragment(found: Checkup) -> str:
    """For a notebook: the five answers without a style."""
    rows = [tag("tr", tag("td", a.question), tag("td", a.words)) for a in found.answers]
    return str(tag("table", tag("caption", title(found)), tag("tbody", *rows)))


def _main(found: Checkup) -> Markup:
    options = RenderOptions()
    return join(
        *(
            _answer(i, each, found.posed if i == 1 else None, options)
            for i, each in enumerate(found.answers, 1)
        ),
        _two(found),
        tag("h2", "Theorems tried"),
        _table(("", "theorem", "needs"), (_tried(each, options) for each in found.tried)),
        _samples(found, options),
        tag("h2", "Notes") if found.notes else None,
        *(tag("p", note) for note in found.notes),
    )


def _answer(i: int, each: Answer, posed: Posed | None, options: RenderOptions) -> Markup:
    colour = f"word {CLASSES[posed]}" if posed is not None else "word"
    rows = [
        (
            fact.name,
            "" if fact.value is None else with_error(fact.value, options, DIGITS),
            fact.by,
            fact.note,
        )
        for fact in each.facts
    ]
    return tag(
        "article",
        tag("h3", f"{i}. {each.question}"),
        tag("p", tag("span", each.words, class_=colour, style="white-space: normal")),
        _table(("", "value", "theorem", ""), rows) if rows else None,
        id=f"answer-{i}",
    )


def _tried(each: Tried, options: RenderOptions) -> tuple[Markup | str, ...]:
    word = tag("span", each.word, class_=f"word {WORDS.get(each.word, 'open')}")
    return word, each.id, tried_told(each, options)


def _two(found: Checkup) -> Markup | None:
    two = found.two
    if two is None:
        return None
    rows = [("c", vector(two.c)), ("z", vector(two.first)), ("z'", vector(two.second))]
    return join(tag("h2", "Two equilibria for one input"), _table(("", ""), rows))


def _samples(found: Checkup, options: RenderOptions) -> Markup | None:
    if not found.samples:
        return None
    names = sample_columns(found)
    classes = ["class"] if "margin" in names else []
    rows = [
        [str(j), *([str(s.predicted)] if classes else [])]
        + [cell(getattr(s, name), options) for name in names]
        for j, s in enumerate(found.samples)
    ]
    return join(tag("h2", "Samples"), _table(["sample", *classes, *names], rows))


def _table(head: Iterable[str], rows: Iterable[Iterable[Markup | str]]) -> Markup:
    return tag(
        "table",
        tag("thead", tag("tr", *(tag("th", name, scope="col") for name in head))),
        tag("tbody", *(tag("tr", *(tag("td", x) for x in row)) for row in rows)),
    )
