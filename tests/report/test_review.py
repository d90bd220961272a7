"""The page for a review, in Markdown and in LaTeX."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import samples

from deqcheck.records.verdict import Status
from deqcheck.records.words import CORRECTED, PRINTED
from deqcheck.report import renderer
from deqcheck.report.parts.render_options import RenderOptions


def both():
    printed = replace(samples.refuted(), edition=PRINTED, status="false", erratum="4, not 2_a.")
    corrected = replace(printed, edition=CORRECTED, outcome=samples.confirmed().outcome)
    claim = replace(corrected.conclusions[0], formula="gap <= norm_A")
    return samples.report(
        replace(printed, conclusions=(replace(claim, formula="gap < 2*norm_A"),)),
        replace(corrected, conclusions=(claim,)),
    )


def page(form: str, *reports) -> str:
    return renderer(form)(reports, RenderOptions())


def test_one_page_has_both_editions_in_the_order_of_a_review() -> None:
    text = page("md", both())
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    assert len(headings) == text.count("\n#") + 1
    told = [
        h for h in headings if h.startswith(("The claim", "What is wrong", "The inst", "Again"))
    ]
    assert told == [
        "The claim as printed, on this instance",
        "What is wrong, and what holds instead",
        "The instance",
        "Again",
    ]
    assert "As printed, it is refuted on this instance: " in text
    assert "As corrected, it is confirmed on this instance." in text
    assert r"4, not 2\_a." in text
    # The claim as printed before the correction, each once; a bar would end the cell.
    assert text.index(r"$\mathrm{gap} < 2 \, \Vert A\Vert$") < text.index(r"\leq \Vert A\Vert$")
    assert text.count(r"\leq \Vert A\Vert$") == 1
    assert re.search(r"^deqcheck run \S+ --only \S+ --edition both$", text, re.MULTILINE)


def test_every_row_of_a_table_has_its_cells() -> None:
    rows = [line for line in page("md", both()).splitlines() if line.startswith("|")]
    assert rows and all(len(re.findall(r"(?<!\\)\|", row)) == 5 for row in rows)


def test_latex_is_closed_and_ascii() -> None:
    text = page("tex", both())
    assert text.startswith(r"\documentclass") and text.endswith("\\end{document}\n")
    for opened, closed in ((r"\begin{", r"\end{"), ("{", "}"), (r"\left", r"\right")):
        count = len(re.findall(rf"(?<!\\){re.escape(opened)}", text))
        assert count == len(re.findall(rf"(?<!\\){re.escape(closed)}", text)), opened
    assert text.isascii()
    assert text.count("$") % 2 == 0
    assert r"$\displaystyle \mathrm{gap} \leq \|A\|$" in text


def test_a_run_that_broke_off_says_so() -> None:
    text = page("md", replace(both(), status=Status.DIVERGED))
    assert ", diverged." in text


def test_one_edition_is_a_page_too() -> None:
    text = page("md", samples.report(samples.not_applicable()))
    assert "As corrected, it is not applicable on this instance: " in text
    assert "in place of that" not in text


@pytest.mark.parametrize("form", ["md", "tex"])
def test_the_instance_is_what_the_case_says(form: str) -> None:
    resolved = {"seed": 3, "data": {"kind": "values", "x": None}, "expect": {}, "rescale": {}}
    text = page(form, replace(both(), written=samples.Written("abc", resolved)))
    assert "seed: 3" in text and '"kind": "values"' in text.replace("\\{", "{")
    assert "expect" not in text and "rescale" not in text and '"x"' not in text
