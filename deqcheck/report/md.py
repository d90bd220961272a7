"""Markdown for a review: a page for each statement, with formulas as `$...$`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from deqcheck.records.report import Report
from deqcheck.report.parts.notation import in_latex
from deqcheck.report.parts.render_options import RenderOptions
from deqcheck.report.parts.review import Line, Review, changed, reviews
from deqcheck.report.parts.visible import visible


def render(reports: Sequence[Report], options: RenderOptions) -> str:
    found = [review for report in reports for review in reviews(report, options)]
    return "\n".join(visible(line) for review in found for line in _page(review))


def _page(review: Review) -> Iterator[str]:
    yield f"# {_text(review.title)} ({_text(review.id)})\n"
    yield f"{_text(review.citation)}. {_text(review.answer)}\n"
    yield from _section("What it says", review.text)
    side = review.judged
    yield f"## The claim as {side.edition}, on this instance\n"
    if side.constants:
        yield f"With {_text(side.constants)}.\n"
    yield from _table("Assumed", side.assumed, review.id)
    yield from _table("Claimed", side.claimed, review.id)
    yield from _section("What is wrong, and what holds instead", review.erratum)
    assumed, claimed = changed(review)
    if review.corrected is not None:
        yield f"Corrected, it is {review.corrected.outcome} here.\n"
    yield from _table("Assumed in place of that", assumed, review.id)
    yield from _table("Claimed in place of that", claimed, review.id)
    yield f"## The instance\n\n{_text(review.case)}{_then(review.run)}\n"
    yield "```yaml\n" + "".join(f"{line}\n" for line in review.instance) + "```\n"
    yield "## Again\n\n```sh\n" + "".join(f"{line}\n" for line in review.replay) + "```\n"
    yield f"Made by {_text(review.made_by)}.\n"


def _then(run: str) -> str:
    return f": {_text(run)}." if run else "."


def _section(title: str, text: str) -> Iterator[str]:
    if text:
        yield f"## {title}\n\n{_text(text)}\n"


def _table(title: str, lines: Sequence[Line], scope: str) -> Iterator[str]:
    if not lines:
        return
    yield f"| {title} | formula | here | finding |\n|---|---|---|---|"
    for line in lines:
        formula = f"${_formula(line.formula, scope)}$" if line.formula else ""
        word = f"**{line.word}**" if line.word == "fails" else line.word
        yield f"| {_text(line.name)} | {formula} | {word} | {_text(line.told)} |"
    yield ""


def _formula(formula: str, scope: str) -> str:
    """A bar would end the cell of a table."""
    text = in_latex(formula, scope).replace(r"\|", r"\Vert ")
    text = text.replace(r"\left|", r"\left\vert ").replace(r"\right|", r"\right\vert ")
    return text.strip()


def _text(text: str) -> str:
    """Prose in which no sign is markup."""
    return re.sub(r"([\\`*_{}\[\]<>#|$])", r"\\\1", text)
