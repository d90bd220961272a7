from __future__ import annotations

import re
from dataclasses import replace

import pytest
import samples

from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import Measured
from deqcheck.records.verdict import Outcome, Status
from deqcheck.report import renderer
from deqcheck.report.parts.render_options import RenderOptions
from deqcheck.report.parts.sentences import Clock, tell


def table(*reports, **options):
    return renderer("table")(reports, RenderOptions(**options))


def words(text):
    """The text on one line: the wrapping is not what is tested."""
    return " ".join(text.split())


ALL = samples.report(samples.confirmed(), samples.refuted(), samples.not_applicable())


@pytest.mark.parametrize("width", [60, 80, 100])
def test_it_fits_the_width(width):
    assert max(map(len, table(ALL, width=width).splitlines())) <= width


def test_it_is_plain_without_a_terminal_and_ascii_where_it_must_be():
    assert "\x1b" not in table(ALL)
    assert "\x1b" in table(ALL, color=True)
    table(ALL, unicode=False).encode("ascii")


def test_a_case_without_a_title_is_called_by_its_file():
    assert table(replace(ALL, title="")).startswith(f"{ALL.name}\n")


def test_a_confirmed_statement():
    text = words(table(samples.report(samples.confirmed())))
    assert "CONFIRMED doe2031/thm2 (corrected) Linear rate" in text
    assert "contraction (8) 0.5 ± 1e-15 < 1, ratio 2" in text
    assert re.search(r"holds for 1 <= k <= 50 of 50, tightest at k = 1: bound/value = 1\.1", text)
    assert "rate tightness 0.5" in text


def test_a_flow_counts_in_t():
    text = words(table(samples.report(samples.confirmed(), kind="flow")))
    assert "holds at 50 points, 0 < t <= 5 of 5, tightest at t = 0.1" in text
    assert "flow until t = 5" in text


def test_a_refuted_statement_says_where_and_how_to_see_it_again():
    text = words(table(samples.report(samples.refuted())))
    assert "violated first at k = 1 (t = 0.1): 2.456 ± 1e-12 > 2.011" in text
    assert "erratum: The rate is off by two." in text
    replay = "replay: deqcheck run decay.yaml --only doe2031/thm3 --edition printed"
    assert replay in text


def test_what_does_not_apply_says_why_first():
    text = words(table(samples.report(samples.not_applicable())))
    assert (
        "NOT APPLICABLE doe2031/lem1 (corrected) A lemma [expected confirmed] "
        "because small step fails: 0.4 >= 0.1, ratio 0.25"
    ) in text
    assert "conclusions, for information" in text


def test_a_bound_that_is_not_claimed_is_not_drawn():
    claimed = samples.confirmed()
    idle = replace(claimed, outcome=Outcome.NOT_APPLICABLE)
    assert "o doe2031/thm2: exponential" in table(samples.report(claimed))
    assert "o doe2031/thm2: exponential" not in table(samples.report(idle))


def test_quiet_is_one_line_for_each_statement():
    lines = table(ALL, quiet=True, width=60).splitlines()
    assert [line.split(" doe")[0] for line in lines] == ["CONFIRMED", "REFUTED", "NOT APPLICABLE"]
    assert all("decay.yaml" in line for line in lines)


def test_quiet_tells_why_a_statement_does_not_apply():
    confirmed, refuted, idle = table(ALL, quiet=True).splitlines()
    assert confirmed.endswith("decay.yaml") and refuted.endswith("decay.yaml")
    (failing,) = samples.not_applicable().failing
    assert f"decay.yaml [expected confirmed]: {failing.name}" in idle and "fails" in idle


def test_convergence_theorems_come_first_and_the_nearest_is_named():
    lemma, idle = samples.confirmed(), replace(samples.not_applicable(), convergence=True)
    report = samples.report(replace(lemma, id="doe2031/lem2"), idle)
    quiet = table(report, quiet=True).splitlines()
    assert [line.split()[0] for line in quiet] == ["NOT", "CONFIRMED"]
    (failing,) = idle.failing
    last = words(table(report)).rpartition("2 statements: ")[2]
    assert last.startswith("1 confirmed, 1 not applicable; nearest convergence theorem: doe2031/")
    assert f"ratio {failing.ratio:.3g}" in last
    applies = samples.report(replace(lemma, convergence=True), idle)
    assert f"convergence theorems that apply: {lemma.id}" in words(table(applies))
    assert "statements:" not in table(samples.report(lemma))


def test_of_several_the_theorem_that_misses_least_is_nearest():
    def needing(name, size):
        claim = Claim("room", Measured(size), ">=", Measured(1.0), "(7)").judge()
        return replace(samples.not_applicable(), id=name, hypotheses=(claim,), convergence=True)

    report = samples.report(needing("doe2031/far", 0.01), needing("doe2031/near", 0.5))
    assert words(table(report)).endswith(
        "nearest convergence theorem: doe2031/near, ratio 0.5 at (7)"
    )


def test_formulas_are_shown_on_demand():
    claim = replace(samples.not_applicable().failing[0], formula="a + b >= c")
    report = samples.report(replace(samples.not_applicable(), hypotheses=(claim,)))
    shown = table(report, formulas=True)
    assert any(line.rstrip().endswith("a + b ≥ c") for line in shown.splitlines())
    assert len(shown.splitlines()) > len(table(report).splitlines())


def test_a_status_that_is_not_completion_is_told():
    text = words(table(samples.report(status=Status.DIVERGED, expected_status="completed")))
    assert "diverged: The loss left the range" in text
    assert "the run ended as diverged, expected completed" in text


def test_brackets_in_names_are_not_markup():
    claim = Claim("||B|| < R on [0, T]", Measured(1), "<", Measured(2)).judge()
    verdict = replace(samples.confirmed(), hypotheses=(claim,))
    assert "on [0, T]" in table(samples.report(verdict))


def test_before_training_it_shows_quantities_and_promises():
    text = words(table(samples.before_training()))
    assert "loss 3" in text
    assert "HYPOTHESES HOLD doe2031/thm2" in text
    assert "promises quantity value rate 1 ± 1e-15" in text


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (Measured(1.0, 1e-3), Measured(1.0001), "undecided, equal within the error bars"),
        (Measured(1.0, float("inf")), Measured(2.0), "undecided, no error bar could be had"),
    ],
)
def test_what_is_undecided_says_why(left, right, expected):
    judged = Claim("x", left, "<=", right).judge()
    assert tell(judged, Clock(False), RenderOptions()).startswith(expected)


def test_a_curve_below_resolution_says_where_it_sinks():
    k, t, gap = samples.decay(2, 200, error=1e-9)
    judged = Curve("x", gap, "<=", Measured(2 * gap.value), k, t).judge()
    assert "of 200 (below resolution after)" in tell(judged, Clock(False), RenderOptions())


@pytest.mark.parametrize(
    ("left", "right", "expected"), [(1, 1, "holds"), (0, 1, "fails"), (3, 1, "fails: 3 != 1")]
)
def test_a_flag_is_not_shown_as_an_equation(left, right, expected):
    judged = Claim("SAM is used", Measured(left), "==", Measured(right)).judge()
    assert tell(judged, Clock(False), RenderOptions()) == expected
