from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import samples

from deqcheck.records.claim import Claim, Curve
from deqcheck.records.comparison import Decision
from deqcheck.records.measured import Measured
from deqcheck.records.verdict import Outcome
from deqcheck.report.parts.panels import bars, panels


def loss(*verdicts, **more):
    return panels(samples.report(*verdicts, **more))[0]


def test_the_loss_is_drawn_against_every_bound_that_is_claimed():
    panel = loss(samples.confirmed(number="Theorem 2"))
    assert [trace.label for trace in panel.traces] == [
        "measured: loss - infimum",
        "Theorem 2: exponential (7)",
    ]
    assert panel.log_y
    assert not panel.log_x
    measured = panel.traces[0]
    assert np.allclose(measured.y, np.exp(-2 * samples.STEP * measured.x))


def test_a_bound_of_what_does_not_apply_is_not_drawn():
    idle = replace(samples.confirmed(), outcome=Outcome.NOT_APPLICABLE)
    panel = loss(idle)
    assert len(panel.traces) == 1
    assert "no bound is claimed" in panel.title


def test_equal_bounds_share_a_line():
    first = samples.confirmed(number="Theorem 2")
    panel = loss(first, replace(first, id="doe2031/cor1", number="Corollary 1"))
    assert panel.traces[1].label == "Theorem 2; Corollary 1: exponential (7)"


def test_gradient_descent_has_both_clocks_and_a_flow_one():
    assert loss(samples.confirmed()).step == pytest.approx(samples.STEP)
    flow = loss(samples.confirmed(), kind="flow")
    assert flow.step is None
    assert flow.x_range() == pytest.approx((0, 5))


def decaying(rate, steps=200, error=1e-9):
    """The gap falls like exp(-2t), the bound like exp(-rate t)."""
    k, t, gap = samples.decay(2, steps, error)
    bound = Measured(np.exp(-rate * t))
    curve = Curve(
        "x", gap / gap[0], "<=", bound, k, t, "(1)", "gap <= b", decays=True, starts_equal=True
    )
    return replace(samples.confirmed(), conclusions=(curve.judge(),))


def test_what_lies_beyond_the_horizon_is_marked():
    verdict = decaying(1.9)
    horizon = verdict.conclusions[0].curve.horizon
    assert 0 < horizon < 200
    assert loss(verdict, steps=200).horizons == (horizon,)


def test_a_bound_that_is_never_decided_is_marked_from_the_start():
    verdict = decaying(2.0)
    assert verdict.conclusions[0].curve.horizon is None
    assert loss(verdict, steps=200).horizons == (0.0,)


def test_the_first_violation_is_marked_on_the_measured_curve():
    panel = loss(decaying(4.0, 20), steps=20)
    assert panel.traces[1].violation == pytest.approx((1.0, np.exp(-0.2)), rel=1e-6)


def test_a_power_law_gets_logarithmic_axes():
    k = np.arange(1001)
    gap = Measured(1.0 / (1.0 + k) ** 2)
    report = samples.report(steps=1000)
    track = replace(report.trajectory, k=k, t=0.1 * k, gap=gap)
    assert panels(replace(report, trajectory=track))[0].log_x
    assert not panels(samples.report(steps=1000))[0].log_x


def test_a_quantity_is_drawn_with_the_floor_of_its_infimum():
    report = samples.report()
    infimum = Measured(float(report.trajectory.series["lambda"].value.value.min()))
    floor = Claim("above its floor", infimum, ">=", Measured(1e-9), "(33)", "lambda_T >= 1/m")
    verdict = samples.confirmed(number="Theorem 2")
    verdict = replace(verdict, conclusions=(floor.judge(),), drivers=("lambda",))
    panel = panels(replace(report, verdicts=(verdict,)))[1]
    assert panel.title == "above its floor"
    assert [trace.label for trace in panel.traces] == [
        "measured: λ",
        "Theorem 2: 1/m (33)",
    ]
    assert panel.traces[1].y.tolist() == [1e-9, 1e-9]
    other = replace(verdict, drivers=())
    assert len(panels(replace(report, verdicts=(other,)))) == 1


def test_a_lower_bound_along_the_run_is_drawn_with_its_left_side():
    k, t, _ = samples.decay(2, 50)
    curve = Curve("stays up", Measured(2 + t), ">=", Measured(1 + t), k, t, "(ii)", "s >= a/2")
    verdict = replace(samples.confirmed(), conclusions=(curve.judge(),))
    panel = panels(samples.report(verdict))[1]
    assert [trace.label for trace in panel.traces] == ["measured: s", "doe2031/thm2: a/2 (ii)"]
    assert np.allclose(panel.traces[0].y, 2 + t)


def test_without_steps_there_is_nothing_to_show():
    assert panels(samples.before_training()) == []


@pytest.mark.parametrize("odd", [np.nan, np.inf, -1.0, 0.0])
def test_odd_floors_are_drawn_as_far_as_they_go(odd):
    k, t, _ = samples.decay(2, 50)
    floor = np.where(k > 40, odd, 1.0)
    curve = Curve("up", Measured(2 + t), ">=", Measured(floor), k, t).judge()
    panel = panels(samples.report(replace(samples.confirmed(), conclusions=(curve,))))[1]
    assert panel.log_y is not (odd in (-1.0, 0.0))
    assert panel.traces[0].label == "measured: up"
    assert all(np.isfinite(trace.y).all() for trace in panel.traces)
    assert np.isfinite(panel.y_range()).all()


def test_floors_of_one_quantity_share_a_panel():
    k, t, _ = samples.decay(2, 50)
    floors = [
        Curve("up", Measured(2 + t), ">=", Measured(low + 0 * t), k, t, "", f"s >= {low}").judge()
        for low in (1.0, 1.5, 1.0)
    ]
    verdict = replace(samples.confirmed(), conclusions=tuple(floors))
    (_, panel) = panels(samples.report(verdict))
    labels = [trace.label for trace in panel.traces]
    assert labels == ["measured: s", "doe2031/thm2: 1.0", "doe2031/thm2: 1.5"]


def test_what_statements_share_has_one_bar():
    first = samples.confirmed(number="Theorem 2")
    (bar,) = bars(samples.report(first, replace(first, number="Corollary 1")))
    assert bar.label == "Theorem 2; Corollary 1: contraction (8)"


def test_every_hypothesis_has_a_bar():
    found = bars(samples.report(samples.not_applicable()))
    assert [(b.label, b.ratio, b.decision) for b in found] == [
        ("doe2031/lem1: full rank", pytest.approx(5 / 3), Decision.HOLDS),
        ("doe2031/lem1: small step (3)", 0.25, Decision.VIOLATED),
    ]
