"""What the statements of Gao and Gao 2022 promise before training, and what is chosen by rounding
or by a search: held against numbers from outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import deqcheck as dq
from deqcheck.records import tower
from deqcheck.seeds import rng

from .gao2022 import (
    SAMPLES,
    active,
    around,
    generic,
    half_normal,
    iterates,
    lambda_star,
    lipschitz,
    multiple,
    on_samples,
    sweeps,
)
from .gao2022_network import Network, drawn, fro, norm, nth, problem, relu
from .gao2022_training import (
    BOLD,
    CONSTANTS,
    FIXED,
    STEP,
    WILD_CONSTANTS,
    Constants,
    Paper,
    bold,
    feasible,
    long_samples,
    nonnegative,
    scaled,
    short_samples,
    smallest_beta,
    step_ceiling,
    wild,
)

EVERY = [
    *((feasible, C) for C in CONSTANTS),
    *((wild, C) for C in WILD_CONSTANTS),
    *((net, WILD_CONSTANTS[1]) for net in (long_samples, short_samples)),
]
Made = Callable[[], Network]


def told(id: str, net: Network, C: Constants | None = None, **more: Any) -> dict[str, float]:
    verdict = dq.judge(id, problem(net), constants=C, **more)
    return {name: value.value for name, value in verdict.quantities.items()}


def shared(at: Paper) -> dict[str, float]:
    names = ("lambda1", "lambda2", "lambda3", "gamma0")
    return {**{name: getattr(at, name) for name in names}, "alpha0": at.net.alpha0}


def same(found: dict[str, float], wanted: dict[str, float]) -> None:
    assert found == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(("net", "C"), EVERY)
def test_theorem_4_2_promises(net: Made, C: Constants) -> None:
    at = Paper(net(), C)
    rate = at.net.alpha0**2 / 2
    wanted = {"rate": rate, "time_to_1e-6": np.log(1e6) / rate, "worst_ratio": at.flow_ratio}
    same(told("gao2022/thm4.2", net(), C), {**shared(at), **wanted})


def descent_promises(at: Paper, rate: float) -> dict[str, float]:
    return {
        **shared(at),
        "worst_ratio": at.descent_ratio,
        "largest_step": at.largest_step,
        "rate_per_step": rate,
    }


@pytest.mark.parametrize(("net", "C"), EVERY)
def test_theorem_4_4_promises(net: Made, C: Constants) -> None:
    """Without a step the largest one counts."""
    at = Paper(net(), C)
    rate = at.largest_step * at.net.alpha0**2 / 4
    found = told("gao2022/thm4.4", net(), C)
    assert found.pop("steps_to_1e-6") == pytest.approx(-np.log(1e6) / np.log1p(-rate), rel=1e-8)
    same(found, descent_promises(at, rate))


def test_theorem_4_4_promises_for_a_step() -> None:
    at = Paper(feasible(), CONSTANTS[0])
    train = {"kind": "gd", "step": STEP, "steps": 1}
    rate = STEP * at.net.alpha0**2 / 4
    found = told("gao2022/thm4.4", at.net, at.C, train=train)
    assert found.pop("steps_to_1e-6") == pytest.approx(-np.log(1e6) / np.log1p(-rate), rel=1e-8)
    same(found, descent_promises(at, rate))


@pytest.mark.parametrize("edition", ["printed", "corrected"])
@pytest.mark.parametrize(("net", "C"), EVERY)
def test_the_step_claim_promises(net: Made, C: Constants, edition: str) -> None:
    at = Paper(net(), C)
    wanted = {"worst_ratio": at.descent_ratio, "largest_step": at.eta2}
    same(told("gao2022/eta-claim", net(), C, edition=edition), {**shared(at), **wanted})


@pytest.mark.parametrize(("net", "C"), [(feasible, CONSTANTS[1]), (bold, BOLD)])
def test_the_ends_of_the_largest_step(net: Made, C: Constants) -> None:
    """It lies between (20) for the constants at hand and what (19) leaves of it."""
    verdict = dq.judge("gao2022/eta-claim", problem(net()), edition="printed", constants=C)
    (claim,) = verdict.conclusions
    assert claim.right.low == pytest.approx(Paper(net(), C).eta2, rel=1e-8)
    assert claim.right.high == pytest.approx(step_ceiling(net()), rel=1e-8)


def test_the_ends_of_the_largest_step_of_theorem_4_4() -> None:
    train = {"kind": "gd", "step": 6e-6, "steps": 1}
    verdict = dq.judge("gao2022/thm4.4", problem(feasible()), constants=FIXED, train=train)
    right = next(h.right for h in verdict.hypotheses if h.formula == "step < eta_sup")
    assert right.low == pytest.approx(Paper(feasible(), verdict.constants).eta2, rel=1e-8)
    assert right.high == pytest.approx(step_ceiling(feasible()), rel=1e-8)


@pytest.mark.parametrize(("beta", "y"), [(1, 0.2), (1, 40.0), (7, 3.0)])
def test_section_5_1_promises(beta: float, y: float) -> None:
    """The smallest beta with (24)-(26); (24) or (26) is the last to hold. Just beyond it (20)."""
    net = nonnegative(beta, y)
    smallest = smallest_beta(net)
    at = scaled(net, 1.001 * smallest)
    wanted = {
        "smallest_scale": smallest,
        "gamma_there": at.net.gamma,
        "largest_step_there": at.eta2,
    }
    same(told("gao2022/sec5.1", net), wanted)


Ratios = Callable[[Paper], Sequence[float]]


@cache
def smallest_worst(net: Made, ratios: Ratios) -> float:
    """The smallest possible largest ratio over C1, C2, C3, by ever sharper smooth maxima."""

    def smooth(x: np.ndarray, sharp: float) -> float:
        at = Paper(net(), dict(zip(("C1", "C2", "C3"), np.exp(x).tolist(), strict=True)))
        if at.gamma0 >= 1:
            return 1e3
        logs = np.log(ratios(at))
        top = float(logs.max())
        return top + float(np.log(np.exp(sharp * (logs - top)).sum())) / sharp

    x = np.log([0.01, 0.01, 0.01])
    for sharp in (1.0, 5.0, 30.0, 200.0, 1e3, 1e4):
        x = minimize(smooth, x, (sharp,), "Nelder-Mead", options={"maxiter": 400}).x
    return float(np.exp(smooth(x, 1e6)))


def flow_ratios(at: Paper) -> Sequence[float]:
    a = at.net.alpha0
    return at.residual(4) / a**2, at.drift(8) / a**3


def descent_ratios(at: Paper) -> Sequence[float]:
    a = at.net.alpha0
    return at.residual(8) / a**2, at.drift(16) / a**3, at.one_step / a**2


def with_step(step: float) -> Ratios:
    return lambda at: (*descent_ratios(at), step * at.net.alpha0**2 / 4, step / at.eta2)


@pytest.mark.parametrize("net", [feasible, wild])
def test_no_constants_are_better_for_the_flow(net: Made) -> None:
    found = told("gao2022/thm4.2", net())["worst_ratio"]
    assert found == pytest.approx(smallest_worst(net, flow_ratios), rel=1e-3)


@pytest.mark.parametrize("net", [feasible, wild])
def test_no_constants_are_better_for_descent(net: Made) -> None:
    found = told("gao2022/thm4.4", net())["worst_ratio"]
    assert found == pytest.approx(smallest_worst(net, descent_ratios), rel=1e-3)


def test_no_other_constants_are_asked_for_a_step_where_none_meet_the_conditions() -> None:
    net = feasible()
    net = replace(net, y=net.Z @ net.b - 120 * net.r)
    train = {"kind": "gd", "step": 6e-6, "steps": 1}
    verdict = dq.judge("gao2022/thm4.4", problem(net), constants=FIXED, train=train)
    assert 1 < verdict.quantities["worst_ratio"].value < 2.7
    assert verdict.hypotheses[-1].formula.startswith("step < min(4/alpha0^2")


def test_a_step_that_only_other_constants_allow() -> None:
    step = 2e-6
    train = {"kind": "gd", "step": step, "steps": 2}
    verdict = dq.judge("gao2022/thm4.4", problem(feasible()), train=train)
    assert verdict.outcome == "confirmed"
    best = smallest_worst(feasible, with_step(step))
    assert verdict.quantities["worst_ratio"].value == pytest.approx(best, rel=1e-3)
    assert step < Paper(feasible(), verdict.constants).eta2


@cache
def larger() -> Network:
    return replace(bold(), W=4 * bold().W)


def test_the_step_1_over_n_with_the_constants_that_suit_it() -> None:
    verdict = dq.judge("gao2022/eta-claim", problem(bold()), edition="printed")
    assert verdict.outcome == "confirmed"
    best = smallest_worst(bold, with_step(1 / 2))
    assert verdict.quantities["worst_ratio"].value == pytest.approx(best, rel=1e-3)


def test_the_step_1_over_n_that_is_missed_by_little() -> None:
    """Then the best constants for (17)-(19) stay."""
    missed = smallest_worst(larger, with_step(1 / 2))
    assert 1 < missed < 2
    verdict = dq.judge("gao2022/eta-claim", problem(larger()), edition="printed")
    best = smallest_worst(larger, descent_ratios)
    assert verdict.quantities["worst_ratio"].value == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("edition", ["printed", "corrected"])
def test_the_step_1_over_n_where_nothing_suits_it(edition: str) -> None:
    found = told("gao2022/eta-claim", feasible(), edition=edition)["worst_ratio"]
    assert found == pytest.approx(smallest_worst(feasible, descent_ratios), rel=1e-3)


@pytest.mark.parametrize("net", [generic, active, multiple])
def test_forward_iterations(net: Made) -> None:
    assert told("gao2022/lem3.1", net()) == {"forward_iterations": sweeps(net())}


def test_the_distance_of_a_late_iterate(monkeypatch: pytest.MonkeyPatch) -> None:
    """M is above |A| by so little that late iterates, known less well, are undecided without exact
    numbers: of these one is told, |Z - Z^l| against |Phi| (gamma M)^l/(1 - gamma M) with its own l.
    """
    monkeypatch.setattr(tower, "flint", lambda: None)
    net = replace(active(), W=active().W[:, :1], A=np.array([[1.7]]), b=np.array([0.8]))
    M = 1.7 * (1 + 1e-12)
    verdict = dq.judge("gao2022/lem3.1", problem(net), constants={"M": M})
    claim = next(c for c in verdict.remarks if c.formula.startswith("norm_Z_minus_Zl"))
    away = [fro(net.Z - Z) for Z in iterates(net)[:20]]
    at = int(np.argmin(np.abs(np.log(away) - np.log(claim.left.value)))) + 1
    assert at > 2
    g0 = net.gamma * M
    assert claim.right.value == pytest.approx(fro(net.Phi) * g0**at / (1 - g0), rel=1e-9)


def test_the_neighbours_of_w_zero() -> None:
    """Where |W| = 0 the room of W is 1, and z = 0."""
    net = replace(generic(), W=np.zeros_like(generic().W))
    verdict = dq.judge("gao2022/lem4.3", problem(net))
    claim = next(c for c in verdict.conclusions if c.name.startswith("W moves"))
    room = replace(net, W=np.eye(*net.W.shape))
    noise = [other.W - room.W for other in around(room, "W")]
    sides = [lipschitz(net, replace(net, W=W)) for W in noise]
    left, right = min(sides, key=lambda pair: pair[1] / pair[0])
    assert [claim.left.value, claim.right.value] == pytest.approx([left, right], rel=1e-9)


def test_imaginary_parts() -> None:
    wanted = np.linalg.eigvals(generic().Q).imag.max()
    assert wanted > 0.01
    same(told("gao2022/lem3.2", generic()), {"imaginary_part_max": wanted})


def test_section_5_2_promises() -> None:
    net = half_normal(6)
    size = norm(net.A)
    wanted = {
        "norm_A_over_m": size / 6,
        "norm_A_over_sqrt_m": size / 6**0.5,
        "Z_fro_over_sqrt_m_X_fro": fro(net.Z) / (6**0.5 * fro(net.X)),
    }
    same(told("gao2022/sec5.2", net), wanted)


def test_how_often_alpha1_is_large() -> None:
    """sigma_N(Phi)^2 >= m lambda_*/4 over 50 draws of W."""
    net = on_samples(SAMPLES)
    stream = rng(0, "gao2022/gstar.W")
    draws = [nth(relu(SAMPLES @ stream.standard_normal((3, 8))), 4) for _ in range(50)]
    share = float(np.mean(np.square(draws) >= 8 * lambda_star(SAMPLES) / 4))
    assert 0 < share < 1
    assert told("gao2022/gstar", net) == {"frequency_alpha1": share}


@pytest.mark.parametrize("name", ["W", "A", "b"])
def test_a_gradient_along_one_of_its_directions(name: str) -> None:
    """Rounding decides which of the five is told."""
    net = generic()
    equation = {"W": "(7)", "A": "(8)", "b": "(9)"}[name]
    verdict = dq.judge("gao2022/gradient", problem(net))
    assert verdict.outcome == "confirmed"
    claim = next(c for c in verdict.conclusions if c.equation == equation and c.relation == "==")
    g, stream = net.gradient[name], rng(0, f"gao2022/gradient.{name}")
    candidates = []
    for _ in range(5):
        noise = stream.standard_normal(g.shape)
        along = g / fro(g) + np.copysign(1.0, np.vdot(noise, g)) * noise / fro(noise)
        candidates.append((float(np.vdot(g, along)), float(net.r @ net.tangent({name: along}))))
    left, right = min(candidates, key=lambda pair: abs(pair[0] - claim.left.value))
    assert claim.left.value == pytest.approx(left, rel=1e-9)
    assert claim.right.value == pytest.approx(right, rel=1e-9)


def test_a_linear_equilibrium_along_one_of_its_projections() -> None:
    """Rounding decides which of the ten is told."""
    net = drawn(7, N=3, d=4, m=6, q=0.5, gamma=0.3)
    net = drawn(7, N=3, d=4, m=6, q=0.5, gamma=0.21, A=np.abs(net.A))
    verdict = dq.judge("gao2022/lem5.1", problem(net))
    assert verdict.outcome == "confirmed"
    nonnegative, well_posed = verdict.hypotheses
    assert nonnegative.left.value == net.A.min()
    assert well_posed.left.value == pytest.approx(net.q, rel=1e-9)
    linear, regular = verdict.conclusions
    stream = rng(0, "gao2022/lem5.1.projections")
    whole = net.Phi @ np.linalg.inv(np.eye(6) - net.gamma * net.A)
    pairs = [(stream.standard_normal(3), stream.standard_normal(6)) for _ in range(10)]
    candidates = [float(np.abs(u) @ whole @ np.abs(v)) for u, v in pairs]
    nearest = min(candidates, key=lambda one: abs(one - linear.left.value))
    assert [linear.left.value, linear.right.value] == pytest.approx([nearest] * 2, rel=1e-9)
    assert regular.left.value == pytest.approx(net.alpha0, rel=1e-9)
    assert regular.right.value == pytest.approx(nth(net.Phi, 3) / (1 + net.q), rel=1e-9)
