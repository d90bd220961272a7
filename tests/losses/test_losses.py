"""Outer losses: derivatives, infima with certified errors, PL constants."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from deqcheck.fields import Refusal
from deqcheck.losses import scalar
from deqcheck.losses.ball import project
from deqcheck.losses.logistic import Logistic
from deqcheck.losses.separation import hard_margin, smallest_box
from deqcheck.losses.smoothed_hinge import SmoothedHinge
from deqcheck.losses.square import Square
from deqcheck.records.measured import Measured

R = np.random.default_rng(0)
PHI = R.normal(size=(3, 9))
LABELS = (R.normal(size=(1, 9)) > 0).astype(float)
# The sign of a linear function of the features: separable.
SIDES = np.sign(np.array([[1.0, -2.0, 0.5]]) @ PHI)
LOSSES: dict[str, Any] = {
    "square": (Square(), R.normal(size=(2, 9))),
    "square, small ball": (Square(R=0.1), R.normal(size=(2, 9))),
    "logistic": (Logistic(), LABELS),
    "logistic, tau": (Logistic(tau=0.1), LABELS),
    "logistic, ball": (Logistic(R=0.2), LABELS),
    "hinge": (SmoothedHinge(), 2 * LABELS - 1),
    "hinge, separable": (SmoothedHinge(), SIDES),
    "hinge 3, ball": (SmoothedHinge(k=3, R=0.3), 2 * LABELS - 1),
    "hinge 2.5, small ball": (SmoothedHinge(k=2.5, R=0.1), SIDES),
}


def plain(kind: Any, Phi: np.ndarray, Y: np.ndarray, W: np.ndarray) -> float:
    """The loss by its definition."""
    q = W @ Phi
    if kind.kind == "square":
        return float(((q - Y) ** 2).sum())
    if kind.kind == "logistic":
        return float((np.log(1 + np.exp(q)) - Y * q + kind.tau * q**2).sum())
    return float((np.maximum(0, 1 - Y * q) ** kind.k).sum())


@pytest.mark.parametrize("name", LOSSES)
def test_gap_and_gradient_follow_the_definition(name: str) -> None:
    kind, Y = LOSSES[name]
    outer = kind.on(PHI, Y)
    for scale in (0.05, 1.0, 3.0):
        W = scale * R.normal(size=(len(Y), 3))
        gap, error, G, _ = outer.evaluate(W, float(np.linalg.norm(W)), 0.0)
        total = plain(kind, PHI, Y, W)
        assert abs(gap + outer.infimum.value - total) <= error + 1e-13 * total
        D = R.normal(size=W.shape)
        h = 1e-6
        slope = (plain(kind, PHI, Y, W + h * D) - plain(kind, PHI, Y, W - h * D)) / (2 * h)
        assert np.sum(G * D) == pytest.approx(slope, rel=1e-6, abs=1e-7 * (1 + total))


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("at_once", [1, 20, 1000])
def test_many_are_evaluated_as_each(
    name: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scalar, "NUMBERS", at_once)
    kind, Y = LOSSES[name]
    outer = kind.on(PHI, Y)
    W = np.random.default_rng(1).normal(size=(5, len(Y), 3))
    # No weights, slopes that vanish or are large, weights that are next to nothing.
    W[1:4] *= np.array([0.0, 1e3, 1e-6])[:, None, None]
    size = np.linalg.norm(W.reshape(5, -1), axis=1)
    radius = np.array([0.0, 1e-9, 1e-12, 1e-3, 0.0])
    many = outer.evaluate_all(W, size, radius)
    for i, w in enumerate(W):
        one = outer.evaluate(w, float(size[i]), float(radius[i]))
        assert abs(many.gap[i] - one.gap) <= many.error[i] + one.error
        assert many.error[i] == pytest.approx(one.error, rel=1e-9)
        apart = np.linalg.norm(many.gradient[i] - one.gradient)
        assert apart <= many.gradient_error[i] + one.gradient_error
        assert many.gradient_error[i] == pytest.approx(one.gradient_error, rel=1e-9)
        assert many.gradient[i].shape == w.shape


@pytest.mark.parametrize("name", LOSSES)
def test_the_infimum_is_bracketed(name: str) -> None:
    kind, Y = LOSSES[name]
    outer = kind.on(PHI, Y)
    star = outer.infimum
    assert star.error <= 1e-6 * max(star.value, 1e-3)
    shape = (len(Y), 3)

    def inside(x: np.ndarray) -> np.ndarray:
        W = x.reshape(shape)
        return W if math.isinf(kind.R) else project(W, kind.R)

    start = 0.01 if math.isfinite(kind.R) else 1.0
    best = min(
        minimize(lambda x: plain(kind, PHI, Y, inside(x)), start * R.normal(size=shape).ravel(),
                 method="Nelder-Mead", options={"maxiter": 20_000, "maxfev": 20_000,
                                                "xatol": 1e-9, "fatol": 1e-13}).fun
        for _ in range(3)
    )  # fmt: skip
    assert star.low <= best + 1e-12
    assert best - star.high <= 1e-5 * max(1.0, best)


@pytest.mark.parametrize("name", LOSSES)
def test_the_pl_inequality_holds_on_the_ball(name: str) -> None:
    kind, Y = LOSSES[name]
    outer = kind.on(PHI, Y)
    kappa = outer.pl.kappa
    if not np.isfinite(kappa.error):
        assert "proven" in outer.pl.reason
        return
    for _ in range(300):
        W = R.normal(size=(len(Y), 3)) * 10 ** R.uniform(-2, 1)
        if not math.isinf(kind.R):
            W = project(W, 0.999 * kind.R)
        gap, error, G, _ = outer.evaluate(W, float(np.linalg.norm(W)), 0.0)
        steep = float((G**2).sum()) / 2
        assert steep * (1 + 1e-9) >= kappa.low * (gap - error)


def test_partially_separated_labels() -> None:
    Phi = np.array([[1.0, -1, 0, 0], [0, 0, 1, 1]])
    outer = Logistic().on(Phi, np.array([[1.0, 0, 1, 0]]))
    assert abs(outer.infimum.value - 2 * math.log(2)) <= outer.infimum.error
    assert outer.infimum.error < 1e-12


def test_separable_labels_have_infimum_zero() -> None:
    outer = Logistic().on(np.array([[1.0, 2, -1], [0, 1, -1]]), np.array([[1.0, 1, 0]]))
    assert outer.infimum.exact and outer.infimum.value == 0


def test_the_certificate_instance_of_corollary_2() -> None:
    Phi = np.array([[1.0, 1, 0, 0], [0, 0, 1, 1]])
    outer = Logistic(R=1.0).on(Phi, np.array([[1.0, 0, 1, 0]]))
    assert outer.pl.kappa.value == pytest.approx(0.39322, abs=5e-6)
    assert outer.infimum.value == pytest.approx(4 * math.log(2), rel=1e-12)


def test_rho_is_stable_for_large_balls() -> None:
    outer = Logistic(R=100.0).on(PHI, LABELS)
    c = np.abs(PHI).sum(axis=0).max()
    assert math.log(outer.rho_R.value) == pytest.approx(-100 * c, rel=1e-12)
    small = Logistic(R=0.3).on(PHI, LABELS)
    assert small.rho_R.value == pytest.approx(1 / (2 + 2 * math.cosh(0.3 * c)), rel=1e-14)


def test_no_pl_constant_for_higher_powers() -> None:
    outer = SmoothedHinge(k=3).on(np.array([[1.0]]), np.array([[1.0]]))
    assert outer.pl.kappa.value == 0 and outer.pl.kappa.exact


def test_hard_margin_and_smallest_box() -> None:
    signed = np.array([[2.0, 1.0], [0.0, 1.0]])
    # w = (1/2, 1/2): both constraints are tight, the shortest and the smallest.
    assert hard_margin(signed).value == pytest.approx(math.sqrt(0.5))
    assert smallest_box(signed) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("kind", "Phi", "Y", "sentence"),
    [
        (Logistic(), [[1.0]], [[2.0]], "a label is 2; logistic expects 0 or 1"),
        (SmoothedHinge(), [[1.0]], [[0.0]], "a label is 0; smoothed-hinge expects -1 or 1"),
        (Logistic(), [[1.0]], [[1.0], [0.0]], "one output; the data have my = 2"),
        (Square(), [[0.0]], [[1.0]], "every feature is zero"),
    ],
)
def test_refusals(kind: Any, Phi: Any, Y: Any, sentence: str) -> None:
    with pytest.raises(Refusal) as refusal:
        kind.on(np.array(Phi), np.array(Y))
    assert sentence in refusal.value.problems[0][1]


@pytest.mark.parametrize(
    "loss", [SmoothedHinge(k=2), SmoothedHinge(k=3), Logistic(), Logistic(tau=0.1)]
)
def test_an_infimum_along_a_direction_that_floats_cannot_see_is_open(loss: Any) -> None:
    """The second row lowers the infimum by 0.05 to 0.2, however small it is."""

    def infimum(size: float) -> Measured:
        Phi = np.array([[1.0, -1, 0, 0], [0, 0, size, -2 * size]])
        found: Measured = loss.on(Phi, np.array([[1.0, 1, 1, 1]])).infimum
        return found

    found, seen = infimum(1e-17), infimum(1.0)
    # Strong convexity gives a bar, so wide that it holds the infimum, which no row's size changes.
    assert found.low <= seen.low and seen.high <= found.high and seen.error < 1e-6
    assert found.error == math.inf or (getattr(loss, "tau", 0) > 0 and found.error > 1e5)


@pytest.mark.parametrize("k", [2, 30, 300, 1000])
def test_high_powers_of_the_hinge_are_within_their_bars(k: int) -> None:
    outer = SmoothedHinge(k=k).on(np.array([[1.0]]), np.array([[1.0]]))
    for w in np.random.default_rng(0).uniform(0, 0.02, 40):
        gap, error, gradient, gradient_error = outer.evaluate(np.array([[w]]), w, 0.0)
        short = 1 - Fraction(float(w))
        assert abs(Fraction(gap) - short**k) <= Fraction(error)
        assert abs(Fraction(float(gradient[0, 0])) + k * short ** (k - 1)) <= gradient_error


@pytest.mark.parametrize("at", [-0.3, 1.0])
def test_strong_convexity_brackets_the_infimum_from_any_point(
    at: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L(w) - L* <= |L'(w)|^2/(2 mu): for log(1 + e^w) - w + 10 w^2 and mu = 20 hardly less."""
    kind, one = Logistic(tau=10.0), np.ones((1, 1))
    outer = kind.on(one, one)
    monkeypatch.setattr(outer, "minimise", lambda *words: np.array([at]))
    found = outer._strongly_convex_infimum()
    grid = np.linspace(0, 0.1, 100_001)
    lowest = float((np.log(1 + np.exp(-grid)) + 10 * grid**2).min())
    here = plain(kind, one, one, np.array([[at]]))
    assert found.low <= lowest <= here <= found.high + 1e-12
    assert here - found.low < 1.05 * (here - lowest)


def test_the_constant_of_a_ball_without_a_stationary_point() -> None:
    """|grad| |w - v| >= L* for v of zero loss, and |w - v| <= |v| + R sqrt m; the loss is at most
    sum (1 + R |phi|_1)^2 there."""
    Phi, Y = np.array([[2.0, 1.0], [0.0, 1.0]]), np.ones((1, 2))
    radius = 0.2
    # Both features ask for all of the ball: w = (R, R), and v = (1/2, 1/2).
    lowest = 2 * (1 - 2 * radius) ** 2
    highest = (1 + 2 * radius) ** 2 + (1 + 2 * radius) ** 2
    slope = lowest / (np.sqrt(0.5) + radius * np.sqrt(2))
    found = SmoothedHinge(R=radius).on(Phi, Y).pl.kappa
    assert found.value == pytest.approx(slope**2 / (2 * (highest - lowest)), rel=1e-6)
