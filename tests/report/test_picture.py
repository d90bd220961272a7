from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import samples

pytest.importorskip("matplotlib")

from deqcheck.records.measured import Measured
from deqcheck.report.parts.picture import FORMATS, MOST_BARS, draw

MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
REPORT = samples.report(samples.confirmed(number="Theorem 2"), samples.not_applicable())


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_what_it_says(form):
    assert draw(REPORT, form).startswith(MAGIC[form])


def test_the_picture_names_statements_equations_and_margins():
    text = " ".join(re.findall(r">([^<>]+)</text>", draw(REPORT, "svg").decode()))
    assert "Theorem 2: exponential (7)" in text
    assert "doe2031/lem1: small step (3)" in text
    assert "0.25, violated" in text
    assert "time t = step size * k" in text


@pytest.mark.parametrize("form", ["svg", "png"])
def test_the_same_report_gives_the_same_picture(form):
    assert draw(REPORT, form) == draw(REPORT, form)


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
