"""The free radius of Condition 1: its bar, and that it does not depend on any order."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.records.measured import Measured
from deqcheck.theorems.ling2022.condition import EQ10, RELAXED, Condition, condition

SCAN = 1001


def drawn(seed: int, relative: float) -> Condition:
    """Numbers of all sizes with bars; every third read-out is 0."""
    rng = np.random.default_rng(seed)
    q, norm_u = rng.uniform(0, 0.9), 10 ** rng.uniform(-2, 3)
    norm_a = 0.0 if seed % 3 == 0 else 10 ** rng.uniform(-4, 1)
    F, r0, lam = 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(-6, 1), 10 ** rng.uniform(-3, 4)
    numbers = (q, norm_u, norm_a, F, r0, lam)
    return Condition(*(Measured(float(x), relative * float(x)) for x in numbers))


def inside(c: Condition, rng: np.random.Generator) -> Condition:
    """True numbers that the bars allow."""
    parts = [getattr(c, f.name) for f in fields(c)]
    return Condition(*(Measured(float(x.value + rng.choice([-1, 0, 1]) * x.error)) for x in parts))


def scanned(c: Condition, with_9: bool) -> tuple[float, float]:
    """By a dense scan, and another between the neighbours of its best: where the largest smallest
    ratio lies. That is concave in log delta, so that it lies between the neighbours."""
    low, high = np.log(1e-12), float(np.log((1 - c.q.value) * (1 - 1e-12)))
    for _ in range(4):
        grid = np.linspace(low, high, SCAN)
        top = int(np.argmax([c.worst(float(np.exp(x)), with_9) for x in grid]))
        low, high = grid[max(top - 1, 0)], grid[min(top + 1, SCAN - 1)]
        if high - low < 1e-6:  # below this the ratios near a smooth maximum are all alike
            break
    return float(np.exp(low)), float(np.exp(high))


@pytest.mark.parametrize("with_9", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_the_bar_of_the_best_delta_holds_that_of_a_dense_scan(seed: int, with_9: bool) -> None:
    rng = np.random.default_rng(seed)
    for relative in (0.0, 1e-3):
        c = drawn(seed, relative)
        bar = c.measured_best(with_9)
        low, high = scanned(inside(c, rng), with_9)
        assert bar.low <= high and low <= bar.high
        # Without bars of the numbers it is known to rounding, with them to as many digits as they.
        assert bar.error <= (100 * relative + 1e-12) * bar.value


def test_bars_of_the_best_delta_end_where_that_of_allowed_numbers_does() -> None:
    """Not by being wide: its ends are found to a factor of 2, and what the norms are unsure of is
    counted once in each of the three ratios and slopes."""
    for seed in range(6):
        c = drawn(seed, 1e-3)
        bar = c.measured_best()
        rng = np.random.default_rng(seed)
        moved = max(abs(inside(c, rng).best - bar.value) for _ in range(30))
        assert bar.error / 8 <= moved <= bar.error


def test_what_is_not_known_is_not_told_of_the_best_delta() -> None:
    """lambda_0 or the residual may be 0: then any smaller delta may be the best."""
    for unsure in ({"lambda_0": Measured(1e-3, 2e-3)}, {"r0": Measured(1e-3, 2e-3)}):
        known = {f.name: Measured(0.5) for f in fields(Condition)}
        bar = Condition(**{**known, **unsure}).measured_best()
        assert bar.low <= 0 < bar.value
    # With lambda_0 = 0 none is best, and half of the room is chosen; its bar is that of the room.
    chosen = Condition(**{**known, "lambda_0": Measured(0.0), "q": Measured(0.5, 0.125)})
    bar = chosen.measured_best()
    assert (bar.value, bar.error) == pytest.approx((0.25, 0.0625), rel=1e-9)


@pytest.mark.parametrize("norm_u", [0.1, 1.0, 30.0])
def test_of_numbers_that_say_nothing_the_best_delta_is_anywhere_in_the_room(norm_u: float) -> None:
    """From 0 to what the least ||W|| leaves to 1, and not beyond."""
    unsure = (Measured(x, 0.9 * x) for x in (norm_u, 0.5, 0.5, 0.5, 0.5))
    bar = Condition(Measured(0.5, 0.125), *unsure).measured_best()
    assert bar.low <= 0
    assert bar.high == pytest.approx(1 - (0.5 - 0.125), rel=1e-9)


def test_the_delta_for_a_step_leaves_the_most_room_of_a_dense_scan() -> None:
    """The room is the smallest logarithm of left/right of (7), (8), (9) and (10), for a = 0. Two of
    the 500 samples of the window differ by more of it than is granted here, and the best delta is
    on either side of the best sample."""
    q, u, F, r0, lam = 0.3, 300.0, 1.0, 1e-4, 1e4

    def logs(delta: np.ndarray, step: float) -> np.ndarray:
        left = 1 - q - delta
        c_u, c_a = delta / left, (u + delta) / left
        c_w = c_u * c_a
        both, most = c_w**2 + c_u**2, np.maximum(np.maximum(c_w, c_u), c_a)
        sides = [
            lam * delta / (4 * most * F * r0),
            lam**1.5 * delta / (4 * (2 + 2**0.5) * both * F**2 * r0),
            lam / (4 * both * F**2),
            np.minimum(2 / lam, 2 * both / ((both + c_a**2) ** 2 * F**2)) / step,
        ]
        return np.log(sides)

    of = Condition(*map(Measured, (q, u, 0.0, F, r0, lam)))
    scan = np.geomspace(1e-5, 0.1, 100_001)
    inside = logs(scan, 1.0)[:, logs(scan, 1.0)[:3].min(axis=0) > 0]
    for share in np.linspace(0.05, 0.95, 12):
        step = share * float(np.exp(inside[3].max()))
        found = of.allowing(step, EQ10)
        most = float(logs(scan, step).min(axis=0).max())
        assert most - 1e-3 < float(logs(np.array([found]), step).min()) < most + 1e-3


def instance(seed: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Every other one from a read-out that is not 0; labels of all sizes, and none."""
    rng = np.random.default_rng(seed)
    m, d, n = 12, 4, 3
    W = rng.standard_normal((m, m)) * np.sqrt(0.02 / m)
    U = 10 ** rng.uniform(-1, 3) * rng.standard_normal((m, d))
    a = seed % 2 * rng.standard_normal(m) / (10 * m)
    X = rng.standard_normal((d, n))
    X *= np.sqrt(d) / np.linalg.norm(X, axis=0)
    y = 0 * X[0] if seed == 4 else 10.0**-seed * rng.standard_normal(n)
    return {"X": X, "y": y}, {"W": W, "U": U, "a": a}


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_samples_and_units_moves_nothing_by_more_than_its_bar(seed: int) -> None:
    data, init = instance(seed)
    rng = np.random.default_rng(seed)
    units, samples = rng.permutation(12), rng.permutation(3)
    here = dq.problem("relu-deq", data, init)
    there = dq.problem(
        "relu-deq",
        {"X": data["X"][:, samples], "y": data["y"][samples]},
        {"W": init["W"][np.ix_(units, units)], "U": init["U"][units], "a": init["a"][units]},
    )
    for name, first, second in pairs(condition(here.start), condition(there.start)):
        assert np.isfinite(first.error), name
        same = first.value == second.value  # both may be infinite
        assert same or abs(first.value - second.value) <= first.error, name


def pairs(first: Condition, second: Condition) -> list[tuple[str, Measured, Measured]]:
    found = []
    for at in (first, second):
        best, rows = at.measured_best(), {}
        rows |= at.at(best) | {f"ratio {i}": x for i, x in enumerate(at.ratios(best), 7)}
        rows["without (9)"] = at.measured_best(False)
        for limit in (EQ10, RELAXED):
            rows[limit.formula.text] = at.step(limit, at.measured_widest(limit))
        found.append(rows)
    return [(name, found[0][name], found[1][name]) for name in found[0]]


def test_reports_tell_the_bar_of_delta() -> None:
    data, init = instance(1)
    report = dq.bounds(
        dq.problem("relu-deq", data, init), only=["ling2022/condition1"], edition="corrected"
    )
    told = report.to_dict()["quantities"]["delta"]
    assert 0 < told["error"] < 1e-11 * told["value"]
    # The checks are about one delta, which is told to the last digit.
    assert report.verdicts[0].constants["delta"] == told["value"]


def test_without_features_the_condition_fails_for_every_delta() -> None:
    """lambda_0 = 0 has a bar in doubles; with no residual either, a small delta leaves (9) open."""
    # One unit is active.
    U = 1e3 * np.array([[2.0, -2.0, 1.0], [-2.0, -1.0, -1.0], [0.0, 1.0, -2.0]])
    data = {"X": np.array([[-1.0, 2.0], [2.0, 2.0], [0.0, -1.0]]), "y": np.zeros(2)}
    init = {"W": np.zeros((3, 3)), "U": U, "a": np.zeros(3)}
    p = dq.problem("relu-deq", data, init)
    report = dq.run(p, only=["ling2022/condition1"], edition="corrected")
    assert [v.outcome for v in report.verdicts] == ["not met"]


def test_no_condition_holds_where_the_weights_may_reach_the_edge() -> None:
    """|W| + delta = 1/2 + 1/2, and delta = 0."""
    c = Condition(*(Measured(x) for x in (0.5, 1.0, 1.0, 1.0, 1.0, 1.0)))
    for delta in (0.5, 0.75, 0.0):
        assert c.log_ratios(delta) == [-np.inf] * 3
    assert np.isfinite(c.log_ratios(0.25)).all()
