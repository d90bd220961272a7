"""LaTeX for a review: a document of its own, a section for each statement."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from deqcheck.records.report import Report
from deqcheck.report.parts.notation import in_latex
from deqcheck.report.parts.notation.latex import escaped
from deqcheck.report.parts.render_options import RenderOptions
from deqcheck.report.parts.review import Line, Review, changed, reviews
from deqcheck.report.parts.visible import visible

HEAD = r"""\documentclass[10pt]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{amsmath}
\usepackage[margin=2.2cm]{geometry}
\begin{document}
"""


def render(reports: Sequence[Report], options: RenderOptions) -> str:
    # Fonts of LaTeX lack most signs of a terminal.
    found = [r for report in reports for r in reviews(report, replace(options, unicode=False))]
    lines = (visible(line) for review in found for line in _page(review))
    return HEAD + "".join(f"{line}\n" for line in lines) + "\\end{document}\n"


def _page(review: Review) -> Iterator[str]:
    yield rf"\section*{{{_text(review.title)} ({_text(review.id)})}}"
    yield f"{_text(review.citation)}. {_text(review.answer)}"
    yield from _section("What it says", review.text)
    side = review.judged
    chosen = f"With {side.constants}." if side.constants else ""
    yield from _section(f"The claim as {side.edition}, on this instance", chosen or " ")
    yield from _items("Assumed", side.assumed, review.id)
    yield from _items("Claimed", side.claimed, review.id)
    yield from _section("What is wrong, and what holds instead", review.erratum)
    assumed, claimed = changed(review)
    if review.corrected is not None:
        yield f"\nCorrected, it is {review.corrected.outcome} here."
    yield from _items("Assumed in place of that", assumed, review.id)
    yield from _items("Claimed in place of that", claimed, review.id)
    yield from _section("The instance", f"{review.case}{': ' if review.run else ''}{review.run}.")
    yield r"\begin{small}\begin{flushleft}\ttfamily"
    yield " \\\\\n".join(_text(line) for line in review.instance)
    yield r"\end{flushleft}\end{small}"
    yield from _section("Again", " ")
    yield from (rf"\texttt{{{_text(line)}}}" for line in review.replay)
    yield f"\nMade by {_text(review.made_by)}."


def _section(title: str, text: str) -> Iterator[str]:
    if text:
        yield rf"\subsection*{{{title}}}"
        yield _text(text).strip()


def _items(title: str, lines: Sequence[Line], scope: str) -> Iterator[str]:
    if not lines:
        return
    yield rf"\paragraph{{{title}}}"
    yield r"\begin{itemize}"
    for line in lines:
        formula = rf" \\ $\displaystyle {in_latex(line.formula, scope)}$" if line.formula else ""
        word = rf"\textbf{{{line.word}}}" if line.word == "fails" else line.word
        told = "" if line.told == line.word else f": {_text(line.told)}"
        yield rf"\item {_text(line.name)}{formula} \\ {word}{told}"
    yield r"\end{itemize}"


# Signs of two characters in our own sentences.
_SIGNS = {"<=": r"$\leq$", ">=": r"$\geq$", "->": r"$\to$", "+-": r"$\pm$", "!=": r"$\neq$"}


def _text(text: str) -> str:
    parts = re.split(f"({'|'.join(map(re.escape, _SIGNS))})", text)
    return "".join(_SIGNS.get(part) or escaped(part) for part in parts)
