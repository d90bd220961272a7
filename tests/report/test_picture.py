from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import samples

pytest.importorskip("matplotlib")

from deqcheck.records.measured import Measured
from deqcheck.records.words import PRINTED
from deqcheck.report.parts import paper
from deqcheck.report.parts.picture import FORMATS, MOST_BARS, draw

MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
REPORT = samples.report(samples.confirmed(number="Theorem 2"), samples.not_applicable())


@cache
def drawn(form):
    return draw(REPORT, form)


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_what_it_says(form):
    assert drawn(form).startswith(MAGIC[form])


def test_the_picture_names_statements_equations_and_margins():
    text = " ".join(re.findall(r">([^<>]+)</text>", drawn("svg").decode()))
    assert "Theorem 2: exponential (7)" in text
    assert "doe2031/lem1: small step (3)" in text
    assert "0.25, violated" in text
    assert "time t = step size * k" in text


@pytest.mark.parametrize("form", ["svg", "png"])
def test_the_same_report_gives_the_same_picture(form):
    assert draw(REPORT, form) == drawn(form)


def test_an_error_bar_that_could_not_be_had_covers_the_picture():
    gap = Measured(REPORT.trajectory.gap.value, np.inf)
    assert draw(replace(REPORT, trajectory=replace(REPORT.trajectory, gap=gap)), "png")


def test_without_steps_there_is_no_picture():
    assert draw(samples.before_training(), "png") is None


def test_many_hypotheses_are_cut_and_counted():
    one = REPORT.verdicts[0].hypotheses[0]
    many = tuple(replace(one, name=f"h{i}") for i in range(MOST_BARS + 7))
    verdict = replace(REPORT.verdicts[0], hypotheses=many)
    text = draw(replace(REPORT, verdicts=(verdict,)), "svg").decode()
    assert f"(the first {MOST_BARS} of {MOST_BARS + 7})" in text


def test_signs_of_formulas_are_text():
    verdict = samples.confirmed(number="Theorem $x_{")
    assert draw(samples.report(verdict), "png")


def test_matplotlib_is_imported_only_to_draw():
    probe = "import sys, deqcheck.report.parts.picture as p; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe]).returncode == 0


LOSS = paper.Drawing("loss")


@pytest.mark.parametrize(
    ("form", "panel"), [("png", "loss"), ("svg", "hypotheses"), ("pdf", "hypotheses")]
)
def test_a_panel_for_a_paper(form, panel):
    assert paper.draw(REPORT, form, paper.Drawing(panel)).startswith(MAGIC[form])


def test_fonts_go_along():
    pdf = paper.draw(REPORT, "pdf", LOSS)
    assert b"/FontFile2" in pdf and b"/Type3" not in pdf
    # Outlines, and nothing that a font must be found for.
    assert b"<text" not in paper.draw(REPORT, "svg", LOSS)


def _figure(report, drawing):
    from matplotlib.figure import Figure

    with drawing.settings():
        figure = Figure(figsize=drawing.size, layout="constrained")
        assert paper._drawn(figure, report, drawing)
        figure.draw_without_rendering()
    return figure.axes[0]


def test_curves_have_labels_of_their_own_that_do_not_overlap():
    printed = replace(samples.confirmed(number="Theorem 2"), edition=PRINTED)
    axes = _figure(samples.report(printed, samples.refuted()), LOSS)
    assert axes.get_legend() is None
    texts = [text for text in axes.texts if text.get_text()]
    assert any("Thm 2" in text.get_text() and "(printed)" in text.get_text() for text in texts)
    boxes = [text.get_window_extent() for text in texts]
    for i, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[i + 1 :])
    assert axes.lines[1].get_linestyle() == "--"


def test_axes_and_units_are_chosen():
    axes = _figure(REPORT, replace(LOSS, axes="linear", raw=True))
    assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "linear")
    assert axes.get_ylabel() == "$L$"
    track = REPORT.trajectory
    assert axes.lines[0].get_ydata()[0] == pytest.approx(float(track.loss.value[0]))
    assert _figure(REPORT, replace(LOSS, axes="loglog")).get_xscale() == "log"


def test_a_cut_bar_is_marked_and_tells_its_ratio():
    one = replace(REPORT.verdicts[0].hypotheses[0], ratio=4.2e7)
    report = replace(REPORT, verdicts=(replace(REPORT.verdicts[0], hypotheses=(one,)),))
    axes = _figure(report, paper.Drawing("hypotheses"))
    assert axes.patches[0].get_width() == paper.HIGHEST - 1
    assert any(text.get_text() == "4.2e+07" for text in axes.texts)
    assert len(axes.lines) == 2


def test_a_style_file_may_override_and_a_missing_font_is_told(tmp_path):
    style = tmp_path / "mine.mplstyle"
    style.write_text("font.size: 12\n")
    with replace(LOSS, style=style).settings():
        import matplotlib

        assert matplotlib.rcParams["font.size"] == 12.0
        assert matplotlib.rcParams["pdf.fonttype"] == 42
    style.write_text("font.family: No Such Font\n")
    with pytest.raises(paper.DrawingError, match="there is no font 'No Such Font' here"):
        replace(LOSS, style=style).check()
