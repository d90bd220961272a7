"""What the statements of Ling et al. 2022 promise before training, computed a second time."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import beta

import deqcheck as dq

from .ling2022_condition import (
    FAR,
    UNDER,
    best,
    condition,
    constants,
    feasible,
    limit_10,
    limit_relaxed,
    ratios,
    room,
    scaled,
    start,
    top,
)
from .ling2022_draws import PAIR, SEED, draw
from .ling2022_kernel import lambda_star, limit, rho
from .ling2022_model import Arrays, arrays, drawn, lambda_min, problem, sphere

Limit = Callable[[dict[str, float], float], float]
STEPS = [("thm1", limit_10), ("thm1-plus", limit_relaxed)]


def window(s: dict[str, float], with_9: bool = True) -> tuple[float, float]:
    """Where the smallest ratio is 1, on both sides of the best delta."""
    middle = best(s, with_9)
    ends = (1e-6, (1 - s["W"]) * (1 - 1e-9))
    low, high = (brentq(lambda d: room(s, d, with_9), middle, end, xtol=1e-15) for end in ends)
    return low, high


def quantity(statement: str, v: Arrays, name: str, **more: object) -> float:
    verdict = dq.judge(f"ling2022/{statement}", problem(v), **more)
    return float(verdict.quantities[name].value)


def test_the_window_of_condition_1() -> None:
    """(7), (8), (9) at the delta that serves all of them best, and all delta that do."""
    s, verdict = start(UNDER), dq.judge("ling2022/condition1", problem(UNDER))
    delta = verdict.constants["delta"]
    assert delta == pytest.approx(best(s), rel=1e-6)
    found = {name: q.value for name, q in verdict.quantities.items()}
    low, high = window(s)
    wanted = dict(zip(("ratio_7", "ratio_8", "ratio_9"), ratios(s, delta), strict=True))
    assert found == pytest.approx({**wanted, "delta_low": low, "delta_high": high}, rel=1e-8)


def test_without_a_window_there_are_ratios_alone() -> None:
    verdict = dq.judge("ling2022/condition1", problem(FAR))
    found = {name: q.value for name, q in verdict.quantities.items()}
    wanted = ratios(start(FAR), verdict.constants["delta"])
    assert list(found.values()) == pytest.approx(wanted, rel=1e-8)
    assert room(start(FAR), verdict.constants["delta"]) == pytest.approx(
        room(start(FAR), best(start(FAR))), abs=1e-6
    )


def test_proposition_f_is_told_where_it_forbids_condition_1() -> None:
    """|a(0)| against (1 - |W(0)|)/(2 sqrt n), the ratio of (9) for delta near 0, and its cap."""
    notes = dq.judge("ling2022/condition1", problem(FAR)).notes
    said = re.findall(r"(?:< |it is |lambda_0 is |more than )([\d.e-]+\d)", notes[-1])
    s, n = start(FAR), 2
    c_u, c_a = s["a"] / (1 - s["W"]), s["U"] / (1 - s["W"])
    cap = c_a**2 / (4 * n * c_u**2 * (1 + c_a**2))
    wanted = [(1 - s["W"]) / (2 * np.sqrt(n)), s["a"], ratios(s, 1e-12)[2], cap]
    assert [float(x) for x in said] == pytest.approx(wanted, rel=6e-3)


@pytest.mark.parametrize("size", [1.0, 1e-3])
def test_without_a_residual_every_small_delta_does(size: float) -> None:
    """Only (9) is left, and it is easier for a smaller delta; for a small U the window is far below
    the largest one."""
    v = scaled(UNDER, a=0.0, y=0.0, U=size)
    verdict = dq.judge("ling2022/condition1", problem(v))
    s = start(v)
    high = brentq(lambda d: condition(s, d)["eq9"].right - s["lambda_0"], 1e-6, 0.8, xtol=1e-15)
    found = {name: verdict.quantities[name].value for name in ("delta_low", "delta_high")}
    assert found == pytest.approx({"delta_low": 0.0, "delta_high": high}, rel=1e-8)
    # Not so small that its constants lose their digits.
    assert 1e-4 * high < verdict.constants["delta"] < high


@pytest.mark.parametrize(("name", "limit"), STEPS)
def test_the_step_that_a_delta_allows(name: str, limit: Limit) -> None:
    for v, delta in ((UNDER, 0.045), (FAR, 0.2)):
        found = quantity(name, v, "admissible_step", constants={"delta": delta})
        assert found == pytest.approx(limit(start(v), delta), rel=1e-9)


@pytest.mark.parametrize(("name", "limit"), STEPS)
def test_the_largest_step_that_some_delta_allows(name: str, limit: Limit) -> None:
    s = start(UNDER)
    low, high = window(s)
    wanted = max(limit(s, delta) for delta in np.geomspace(low, high, 2000))
    assert quantity(name, UNDER, "admissible_step") == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize(("name", "limit"), STEPS)
def test_delta_is_the_best_one_for_the_condition_and_the_step(name: str, limit: Limit) -> None:
    s = start(UNDER)
    middle, (low, high) = best(s), window(s)
    largest = max(limit(s, delta) for delta in (low, high))

    def chosen(step: float) -> float:
        train = {"kind": "gd", "step": step, "steps": 1}
        return dq.judge(f"ling2022/{name}", problem(UNDER), train=train).constants["delta"]

    assert chosen(0.9 * limit(s, middle)) == pytest.approx(middle, rel=1e-6)
    step = (limit(s, middle) * largest) ** 0.5
    both = top(s, lambda d: min(room(s, d), float(np.log(limit(s, d) / step))))
    assert chosen(step) == pytest.approx(both, rel=1e-3)
    assert chosen(3 * largest) == pytest.approx(middle, rel=1e-6)


def test_the_flow_has_a_rate_and_its_own_delta() -> None:
    verdict = dq.judge("ling2022/thm1-flow", problem(UNDER))
    assert verdict.quantities["rate"].value == pytest.approx(lambda_min(UNDER), rel=1e-9)
    delta = verdict.constants["delta"]
    s = start(UNDER)
    assert room(s, delta, False) == pytest.approx(room(s, best(s, False), False), abs=1e-6)
    assert delta == pytest.approx(best(s, False), rel=1e-3)


@pytest.mark.parametrize("edition", ["printed", "corrected"])
def test_a_map_that_does_not_contract(edition: str) -> None:
    """exp(-(m/2) (1/(sqrt2 sigma_w) - 2)^2), from Davidson and Szarek."""
    s2, more = 0.07, {"edition": edition, "constants": {"seeds": 1}}
    found = dq.judge("ling2022/lem1", problem(PAIR, sigma_w2=s2), **more)
    wanted = np.exp(-6 / 2 * (1 / np.sqrt(0.14) - 2) ** 2)
    assert found.quantities["not_contractive"].value == pytest.approx(wanted, rel=1e-9)
    for beyond in (0.0, 0.125, 0.2, None):
        verdict = dq.judge("ling2022/lem1", problem(PAIR, sigma_w2=beyond), **more)
        assert "not_contractive" not in verdict.quantities


def test_the_constants_of_the_paper_are_listed() -> None:
    """Section 3.1 at the best delta, and lambda_star and |K|_F of Definition 1."""
    v = {**UNDER, "X": sphere(UNDER)["X"]}
    listed = {n: q.value for n, q in dq.bounds(problem(v, sigma_w2=0.06)).quantities.items()}
    wanted = constants(start(v), best(start(v)))
    assert {name: listed[name] for name in wanted} == pytest.approx(wanted, rel=1e-6)
    K = limit(v["X"], 0.06)
    assert listed["lambda_star"] == pytest.approx(lambda_star(v["X"], 0.06), rel=1e-9)
    assert listed["K_fro"] == pytest.approx(np.sqrt(np.sum(K**2)), rel=1e-9)


def single(m: int = 4) -> Arrays:
    return sphere(arrays(seed=6, m=m, n=1, d=3))


@pytest.mark.parametrize("edition", ["printed", "corrected"])
def test_one_sample_has_the_diagonal_of_the_kernel(edition: str) -> None:
    """K^(6)_11 = rho^(6), and K - K^(l) = sigma_w^(2l)/(1 - sigma_w^2)."""
    verdict = dq.judge("ling2022/lem3", problem(single(), sigma_w2=0.1), edition=edition)
    assert [(c.left.value, c.right.value) for c in verdict.conclusions] == [
        pytest.approx((rho(0.1, 6), rho(0.1, 6)), rel=1e-12)
    ] * 3
    verdict = dq.judge("ling2022/thm3", problem(single(), sigma_w2=2e-4), edition=edition)
    first, definite = verdict.conclusions
    wanted = right = 2e-4 / (1 - 2e-4)
    if edition == "printed":
        # Both sides squared.
        wanted, right = wanted**2, 4 * 2e-4
    assert (first.left.value, first.right.value) == pytest.approx((wanted, right), rel=1e-8)
    assert definite.left.value == pytest.approx(1 / (1 - 2e-4), rel=1e-12)


def test_draws_that_fulfil_condition_1_are_counted() -> None:
    """One unit, one sample and no labels: a few draws have so small an a that some delta does."""
    v = {**single(1), "X": np.ones((1, 1)), "U": np.ones((1, 1)), "y": np.zeros(1)}
    s2, fixed = 0.005, {"seeds": 120, "C": 0.2, "t": 0.6}
    verdict = dq.judge(
        "ling2022/condition1",
        drawn(v, s2, seed=SEED),
        edition="printed",
        constants=fixed,
    )
    draws = [draw(v, s2, "ling2022/condition1", i, SEED) for i in range(120)]
    yes = sum(map(feasible, draws))
    assert 0 < yes < 20
    (agrees,) = verdict.conclusions
    assert agrees.left.value == pytest.approx(beta.ppf(0.9995, yes + 1, 120 - yes), rel=1e-9)
    assert agrees.right.value == pytest.approx(0.4, rel=1e-12)
    assert verdict.outcome == "inconsistent"


def test_the_bounds_of_section_3_2() -> None:
    """2 sqrt2 (1 + sqrt(m/d)); with r = 1 - 2 sqrt2 sigma_w and delta = r/4 rho_u times
    rho_a over (r/4)^2; and (4 n/r^2 + |y|^2)/t."""
    s2, (m, d) = 0.045, PAIR["U"].shape
    r = 1 - np.sqrt(0.36)
    u = np.sqrt(8) + np.sqrt(8 * m / d)
    wanted = {
        "sec3.2-u": u,
        "sec3.2-c": (u + r / 4) * (2 + r / 4) / (r / 4) ** 2,
        "sec3.2-phi": (4 * 2 / r**2 + float(PAIR["y"] @ PAIR["y"])) / 0.3,
    }
    for name, bound in wanted.items():
        fixed = {"seeds": 8, **({"t": 0.3} if name == "sec3.2-phi" else {})}
        verdict = dq.judge(f"ling2022/{name}", drawn(PAIR, s2, seed=SEED), constants=fixed)
        assert verdict.quantities["bound"].value == pytest.approx(bound, rel=1e-12)
        without = dq.judge(f"ling2022/{name}", problem(PAIR), constants=fixed)
        assert "bound" not in without.quantities


def test_the_lambda_0_that_8_needs() -> None:
    """(4 (2 + sqrt2) n |a| r_0/(1 - |W|)^2)^2."""
    s = start(FAR)
    wanted = ((8 + np.sqrt(32)) * 2 * s["a"] * s["r_0"] / (1 - s["W"]) ** 2) ** 2
    assert quantity("sec3.2-eq8", FAR, "lambda_0_needed") == pytest.approx(wanted, rel=1e-9)
