from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import samples
from pages import Page

from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.records.verdict import Status
from deqcheck.records.words import CORRECTED, PRINTED
from deqcheck.report import formats, renderer
from deqcheck.report.parts.markup import Markup, tag
from deqcheck.report.parts.render_options import RenderOptions

HOSTILE = "<script>alert('x')</script>&\"'"
ALL = samples.report(
    samples.confirmed(text="What it says.\n\nIn two paragraphs.", citation="Doe 2031, Theorem 2"),
    samples.refuted(),
    samples.not_applicable(),
)


def source(*reports):
    return renderer("html")(reports, RenderOptions())


def page(*reports):
    return Page(source(*reports))


def test_it_is_a_report_format():
    assert "html" in formats()


def test_it_tells_all_that_the_table_tells():
    text = page(ALL).text
    for expected in (
        "1 confirmed, 1 refuted, 1 not applicable",
        "What it says. In two paragraphs.",
        "Doe 2031, Theorem 2",
        "contraction (8)",
        "gap <= 3*exp(-t)",
        "rate tightness 0.5",
        "violated first at k = 1",
        "because small step (3) fails: 0.4 >= 0.1, ratio 0.25",
        "(expected confirmed)",
        "The rate is off by two.",
        "digest abc",
        "python 3",
        "deqcheck run decay.yaml --only doe2031/thm3 --edition printed",
        'train: {"kind": "gd"}',
    ):
        assert expected in text, expected


def test_it_needs_nothing_from_anywhere():
    text = source(ALL)
    assert "<script" not in text
    assert not re.search(r"(https?:)?//", text)
    assert not re.search(r"@import|<link|<img|<iframe", text)
    assert not re.search(r"url\((?!#)", text)
    found = Page(text)
    assert all(link.startswith("#") for link in found.values("href"))


def test_every_link_leads_somewhere_and_every_id_is_one():
    found = page(ALL, ALL)
    ids = found.values("id")
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in found.values("href")} <= set(ids)
    assert {word for label in found.values("aria-labelledby") for word in label.split()} <= set(ids)


def test_it_can_be_used_by_keyboard_and_read_aloud():
    found = page(ALL)
    assert dict(found.tags)["html"] == {"lang": "en"}
    assert ("a", {"href": "#results", "class": "skip"}) in found.tags
    assert found.count("main") == found.count("h1") == 1
    assert found.count("summary") == found.count("details") > 0
    pictures = [attrs for name, attrs in found.tags if name == "svg"]
    assert all("role" in attrs or "aria-hidden" in attrs for attrs in pictures)
    assert ":focus-visible" in source(ALL)


def test_pictures_and_tables_are_there():
    found = page(ALL)
    assert found.count("figure") == 1
    assert found.count("polyline") == 2
    # Summary, and hypotheses or conclusions of the three statements.
    assert found.count("table") >= 6


def test_lines_differ_without_colour():
    lines = [a for name, a in page(ALL).tags if name == "polyline"]
    assert len({a.get("stroke-dasharray") for a in lines}) == len(lines)


def test_everything_is_escaped():
    verdict = replace(
        samples.confirmed(),
        id=HOSTILE,
        title=HOSTILE,
        number=HOSTILE,
        text=HOSTILE,
        citation=HOSTILE,
        erratum=HOSTILE,
        status=HOSTILE,
        notes=(HOSTILE,),
        expected=HOSTILE,
        edition=HOSTILE,
        constants={HOSTILE: 1.0},
        quantities={HOSTILE: Measured(1.0)},
        hypotheses=(
            Claim(HOSTILE, Measured(1.0), "<", Measured(2.0), HOSTILE, HOSTILE, HOSTILE).judge(),
        ),
    )
    report = replace(
        samples.report(verdict),
        title=HOSTILE,
        name=HOSTILE,
        written=samples.Written(HOSTILE, {HOSTILE: HOSTILE}),
        environment={HOSTILE: HOSTILE},
        quantities={HOSTILE: Measured(np.array([1.0, 2.0]))},
        notes=(HOSTILE,),
        replay=HOSTILE,
        companion=samples.report().trajectory,
        companion_name=HOSTILE,
        expected_status=HOSTILE,
        status=Status.DIVERGED,
    )
    found = page(report)
    assert found.count("script") == 0
    assert found.text.count("<script>alert") > 15
    assert not any("onload" in attrs or "onclick" in attrs for _, attrs in found.tags)


def test_markup_escapes_texts_and_attributes():
    assert tag("a", "<b>", Markup("<i>"), title='"') == '<a title="&quot;">&lt;b&gt;<i></a>'


def test_before_training_there_are_margins_and_promises():
    found = page(samples.before_training())
    assert "hypotheses hold" in found.text
    assert "What it promises before training rate 1 ± 1e-15" in found.text
    assert found.count("figure") == 0


def test_a_run_that_broke_off_says_so():
    assert "diverged: The loss left the range" in page(samples.report(status=Status.DIVERGED)).text


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 0.0, 1e-320])
def test_odd_values_make_no_odd_pictures(value):
    report = samples.report(samples.confirmed(), samples.refuted())
    gap = report.trajectory.gap
    odd = gap.value.copy()
    odd[3:] = value
    track = replace(report.trajectory, gap=Measured(odd, gap.error))
    found = page(replace(report, trajectory=track))
    assert not any(
        word in value_
        for name in ("points", "cx", "cy", "x", "y", "width", "height", "d")
        for value_ in found.values(name)
        for word in ("nan", "inf")
    )


def both():
    printed = replace(samples.refuted(), edition=PRINTED, status="false", erratum="It is 3.")
    claim = printed.conclusions[0]
    other = replace(claim, formula="gap <= 4*exp(-t)")
    corrected = replace(printed, edition=CORRECTED, conclusions=(other,))
    return samples.report(printed, corrected)


def test_the_answer_comes_first():
    found = page(both())
    answer = found.text[: found.text.index("The run")]
    assert "2 verdicts: 2 refuted" in answer and "violated first at k = 1" in answer


def test_both_editions_are_one_block_with_the_differences_marked():
    text = source(both())
    found = Page(text)
    assert found.count("article") == 1
    assert found.text.count("It is 3.") == 1
    assert text.index("It is 3.") < text.index("<h4>Conclusions")
    rows = re.findall(r'<tr class="differs">.*?</tr>', text)
    assert [re.search(r'class="only">(\w+)', row)[1] for row in rows] == [PRINTED, CORRECTED]
    assert "<mark>4</mark>" in rows[1]
    assert "--edition both" in found.text


def test_what_both_editions_share_is_told_once():
    one = samples.confirmed()
    report = samples.report(replace(one, edition=PRINTED), replace(one, edition=CORRECTED))
    assert page(report).text.count("contraction (8)") == page(samples.report(one)).text.count(
        "contraction (8)"
    )


def test_numbers_do_not_end_at_their_minus():
    tables = "".join(re.findall(r"<table.*?</table>", source(ALL), re.DOTALL))
    found = re.findall(r">([^<]*\de-\d+[^<]*)<", tables)
    assert found and all(" " not in number.strip() for number in found)


def test_curves_can_be_switched_off_and_tell_their_numbers_without_a_script():
    text = source(ALL)
    found = Page(text)
    switches = [attrs for name, attrs in found.tags if name == "input"]
    assert [s["class"] for s in switches] == [f"s{i}" for i in range(found.count("polyline"))]
    for i in range(len(switches)):
        assert f"figure:has(.s{i}:not(:checked)) .t{i} {{ display: none; }}" in text
        assert f'<g class="t{i}">' in text
    points = [attrs for name, attrs in found.tags if attrs.get("class") == "point"]
    assert len(points) > 5
    assert all(p["tabindex"] == "0" and " at " in p["aria-label"] for p in points)


def test_every_formula_is_mathml_with_its_plain_text():
    found = page(ALL)
    plain = [attrs for _, attrs in found.tags if attrs.get("class") == "plain"]
    assert "gap <= 3*exp(-t)" in found.text
    assert found.count("math") >= len(plain) == 2
