"""A page with the figures that were made: picture, sentences, numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deqcheck import __version__
from deqcheck.records.figure import Picture, Sentence, Table, Word
from deqcheck.report.figures import told
from deqcheck.report.parts.markup import Markup, join, tag
from deqcheck.report.parts.style import SHEET

CLASSES = {Word.SUPPORTS: "good", Word.CONTRADICTS: "bad", Word.NOT_DECIDED: "open"}
TITLE = "Figures of the papers, made again"
ABOUT = (
    "Each figure is made by deqcheck at the size that its title tells. What the paper says of it "
    "is judged on the runs that are drawn: an instance supports or contradicts a sentence, it "
    "proves none."
)
# A picture is drawn on white.
IMAGES = """
figure img { width: 34rem; max-width: 100%; height: auto; background: white; }
article > h2 { margin-top: .2rem; }
"""


def file_name(picture: Picture) -> str:
    return f"{picture.id.replace('/', '-')}.png"


def page(pictures: Sequence[Picture]) -> str:
    """The pictures stand beside it, each under its `file_name`."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", TITLE),
        tag("style", Markup(f"{SHEET}\n{IMAGES}")),
    )
    body = tag(
        "body",
        tag("header", tag("h1", TITLE), tag("p", ABOUT)),
        tag("main", contents(pictures), [article(p, file_name(p)) for p in pictures]),
        tag("footer", f"deqcheck {__version__}"),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def contents(pictures: Sequence[Picture]) -> Markup:
    links = [
        tag("li", tag("a", p.number, href=f"#{anchor(p)}"), f": {p.title} ({count(p)})")
        for p in pictures
    ]
    return tag("ol", links)


def anchor(picture: Picture) -> str:
    return picture.id.replace("/", "-")


def count(picture: Picture) -> str:
    words = [each.word for each in picture.sentences]
    return ", ".join(f"{words.count(word)} {word}" for word in Word if word in words)


def article(p: Picture, source: str) -> Markup:
    """With the address of its file."""
    return tag(
        "article",
        tag("h2", p.number),
        tag(
            "figure",
            tag("img", src=source, alt=f"{p.number}: {p.title}"),
            tag("figcaption", p.headline),
        ),
        tag("p", f"What the paper says, {p.caveat}:") if p.caveat else None,
        [_sentence(each) for each in p.sentences],
        [_table(each) for each in p.tables],
        [tag("p", note, class_="soft") for note in p.notes],
        tag("pre", f"deqcheck figures {p.id} --output {file_name(p)}", tabindex="0"),
        id=anchor(p),
    )


def _sentence(each: Sentence) -> Markup:
    word = tag("span", each.word.value, class_=f"word {CLASSES[each.word]}")
    return join(
        tag("p", word, " ", each.text),
        tag("ul", [tag("li", told(claim)) for claim in each.claims]),
        tag("p", each.note, class_="soft") if each.note else None,
    )


def _table(each: Table) -> Markup:
    def row(cells: Iterable[str], kind: str) -> Markup:
        return tag("tr", [tag(kind, cell) for cell in cells])

    rows = [row(each.columns, "th"), *(row(cells, "td") for cells in each.rows)]
    return join(tag("h4", each.title), tag("table", rows, class_="numbers"))
