"""Xie et al. 2021, Theorem 5: as printed, repaired, and what a run certifies for itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from .harness import Sides
from .xie2021_bounds import Bounds, Constants, kinks
from .xie2021_net import (
    FINE,
    RELU,
    SOFTPLUS,
    TIGHT,
    Array,
    Infinite,
    Net,
    Sam,
    Unknown,
    arrays,
    claim,
    distance,
    fro,
    held,
    mix,
    norm2,
)

OUT = "not applicable"


def labelled(net: Net, size: float) -> Net:
    """Labels at this distance from the outputs."""
    direction = np.random.default_rng(5).normal(size=net.v["Y"].shape)
    return net.at({"Y": net.v["Wo"] @ net.Z + size * direction / fro(direction)})


BASE = Net(arrays(61, 4, (5, 4), 3, 2, 3, norms=(0.7, 0.6)), 0.15, mix(0.5), K=3)
FAR = labelled(BASE, 0.7)
NEAR = labelled(BASE, 0.6 * BASE.sigma_Z**2 / (8 * Bounds(BASE).B_J))
TINY = Net(arrays(62, 3, (2,), 2, 1, 2, norms=0.7), 0.3, mix(0.5), K=2)
NEAR_FLOW = labelled(TINY, 0.6 * TINY.sigma_Z**2 / (4 * Bounds(TINY).B_J))
FAR_FLOW = labelled(TINY, 0.7)
# So many inputs that quantities are not looked at in every step.
MANY = labelled(Net(arrays(63, 3, (3, 2), 260, 1, 2, norms=0.8), 0.3, mix(0.5), K=3), 0.7)
STEPS = 6


def curve(
    values: Mapping[int, float] | list[float], relation: str, bound: Any, within: float = 1e-8
) -> Sides:
    """Along the recorded steps; what starts as an equality is judged from the first step on."""
    last = len(values)
    left = lambda k, _: [values[i] for i in k]  # noqa: E731
    right = lambda k, _: [bound(i) for i in k]  # noqa: E731
    start = 0 if relation == ">=" else 1
    good = all(
        values[i] <= bound(i) if relation == "<=" else values[i] >= bound(i)
        for i in range(start, last)
    )
    return Sides(left, relation, right, within, "holds" if good else "violated")


def record(net: Net, points: int) -> Callable[[], Any]:
    """The problem with this many recorded points."""
    return lambda: replace(net.problem(), record_points=points)


# The repaired theorem.


def radius(net: Net, flow: bool) -> float:
    """4 |r_0|/s_0, or 2 |r_0|/s_0 for the flow."""
    return (2 if flow else 4) * fro(net.residual) / net.sigma_Z


def repaired_hypotheses(net: Net, step: float) -> dict[str, Any]:
    """8 B_J |r_0| <= s_0^2 (flow: 4), ||W_l|| + rho <= 1, step <= 1/Q1(|r_0|)."""
    flow = step == 0
    rho = radius(net, flow)
    b, r, s0 = Bounds(net, rho), fro(net.residual), net.sigma_Z
    small = claim((4 if flow else 8) * b.B_J * r, "<=", s0**2)
    out = {
        "unrolled": claim(float(net.K is None or net.sam is not None), "==", 0.0),
        "given": claim(float(net.extractor is not None), "==", 0.0),
        "smooth": kinks(net),
        "full_rank": claim(s0, ">", 0),
        "small_flow" if flow else "small_descent": small,
        "nonexpansive": claim(net.norm_W + rho, "<=", 1.0),
    }
    if flow:
        return out
    slow = claim(step * b.Q1(r), "<=", 1.0) if net.s.smooth else Unknown("<=", 1.0)
    return out | {"short_step": slow}


def apart(run: list[Net]) -> list[float]:
    """By how much |theta - theta_0| differs from that of the end, each parameter by itself."""
    first, last = run[0], run[-1]

    def moved(net: Net) -> Array:
        return np.array([fro(net.v[name] - first.v[name]) for name in net.names])

    return [fro(moved(each) - moved(last)) for each in run]


def limit(run: list[Net], bound: Callable[[Any], Any]) -> Sides:
    """|theta_k - theta_end| is at most the sum of both distances from the limit."""
    away = apart(run)
    whole = [bound(k) + bound(len(run) - 1) for k in range(len(run))]
    good = all(x <= y for x, y in zip(away, whole, strict=True))
    return Sides(
        lambda k, _: [away[i] for i in k],
        "<=",
        lambda k, _: [whole[i] for i in k],
        decision="holds" if good else "violated",
    )


def repaired(net: Net, step: float, steps: int = STEPS) -> dict[str, Any]:
    """loss_k <= (1 - step s_0^2/4)^k loss_0, the path within rho, sigma_min(Z) above s_0/2."""
    run, mu = net.descent(step, steps), net.sigma_Z**2 / 4
    ratio = [each.loss / net.loss for each in run]
    moved = max(fro(each.theta - net.theta) for each in run)
    return repaired_hypotheses(net, step) | {
        "rate": curve(ratio, "<=", lambda k: (1 - step * mu) ** k),
        "near": claim(moved, "<=", radius(net, False)),
        "limit": limit(run, lambda k: radius(net, False) * (1 - step * mu) ** (k / 2)),
        "kept": curve([each.sigma_Z for each in run], ">=", lambda _: net.sigma_Z / 2),
    }


def repaired_flow(net: Net, horizon: float) -> dict[str, Any]:
    """loss(t) <= exp(-2 mu t) loss_0."""

    @cache
    def along(times: tuple[float, ...]) -> list[Net]:
        return net.flow(np.array(times))

    def losses(_: Array, t: Array) -> list[float]:
        return [each.loss / net.loss for each in along(tuple(t))]

    def kept(_: Array, t: Array) -> list[float]:
        return [each.sigma_Z for each in along(tuple(t))]

    def bound(_: Array, t: Array) -> Array:
        return np.exp(-(net.sigma_Z**2) * t / 2)

    def leaves(_: Array, t: Array) -> list[float]:
        return apart(along(tuple(t)))

    def stays(_: Array, t: Array) -> Array:
        rate = net.sigma_Z**2 / 4
        return radius(net, True) * (np.exp(-rate * t) + np.exp(-rate * t[-1]))

    moved = fro(net.flow(np.array([0.0, horizon]))[-1].theta - net.theta)
    return repaired_hypotheses(net, 0.0) | {
        "flow_rate": Sides(losses, "<=", bound),
        "near": claim(moved, "<=", radius(net, True)),
        "flow_limit": Sides(leaves, "<=", stays),
        "kept": Sides(kept, ">=", net.sigma_Z / 2),
    }


def gd(step: float, steps: int = STEPS) -> dict[str, Any]:
    return {"kind": "gd", "step": step, "steps": steps}


NEAR_STEP = 0.8 / Bounds(NEAR, radius(NEAR, False)).Q1(fro(NEAR.residual))
HORIZON = 0.2
FLOW = {"kind": "flow", "horizon": HORIZON, "rtol": 1e-8, "atol": 1e-10}
PULL = Sam(0.3, 0.2, 0.4, 0.3, 0.2, distance(0.7, np.array([0.3, -0.4, 0.5, 0.2])))

REPAIRED = [
    instance
    for id_ in ("thm5-repaired", "thm5")
    for instance in (
        held(id_, NEAR, lambda: repaired(NEAR, NEAR_STEP), train=gd(NEAR_STEP), label="near"),
        held(id_, FAR, lambda: repaired(FAR, 0.05), train=gd(0.05), outcome=OUT, label="far"),
        held(
            id_,
            NEAR_FLOW,
            lambda: repaired_flow(NEAR_FLOW, HORIZON),
            train=FLOW,
            make=record(NEAR_FLOW, 6),
            label="flow",
        ),
        held(
            id_,
            replace(FAR, sam=PULL),
            lambda: repaired(replace(FAR, sam=PULL), 0.03),
            train=gd(0.03),
            outcome=OUT,
            label="sam",
        ),
        held(
            id_,
            replace(FAR, s=RELU),
            lambda: repaired(replace(FAR, s=RELU), 0.03),
            train=gd(0.03),
            outcome=OUT,
            label="relu",
        ),
    )
]


# The certificate.


def certificate(net: Net, step: float, steps: int, sampled: list[int]) -> dict[str, Any]:
    """loss_{k+1} <= loss_k - step/2 |gradient_k|^2; loss_k <= loss_0 prod_{j < k} (1 - step mu_j)
    over the sampled j."""
    run = net.descent(step, steps)
    loss, gaps = [each.loss for each in run], [each.loss / net.loss for each in run]
    after, inner = loss[1:], [k for k in sampled if k < steps]
    mu = {k: run[k].mu for k in sampled}
    lowered = {k: loss[k] - step / 2 * fro(run[k].slope) ** 2 for k in inner}
    good = all(after[k] <= lowered[k] for k in inner)
    descent = Sides(
        lambda k, _: [after[i] for i in k],
        "<=",
        lambda k, _: [lowered[i] for i in k],
        decision="holds" if good else "violated",
    )

    def product(k: int) -> float:
        return float(np.prod([1 - step * mu[j] for j in sampled if j < k]))

    out = {"independent": claim(net.mu, ">", 0), "descent": descent}
    if len(inner) < steps:
        falls = all(b <= a for a, b in zip(loss[:-1], after, strict=True))
        out["falls"] = Sides(
            lambda k, _: [after[i] for i in k],
            "<=",
            lambda k, _: [loss[i] for i in k],
            decision="holds" if falls else "violated",
        )
    return out | {"product": curve(gaps, "<=", product)}


def certified_flow(net: Net) -> dict[str, Any]:
    """loss(t) <= loss_0 exp(-2 int_0^t mu)."""

    def field(_: float, x: Array) -> Array:
        here = net.at(net.unpacked(x[:-1]))
        return np.append(-here.slope, here.mu)

    @cache
    def along(times: tuple[float, ...]) -> Array:
        start, ends = np.append(net.theta, 0.0), (0.0, times[-1])
        return solve_ivp(field, ends, start, "DOP853", times, rtol=1e-11, atol=1e-13).y

    def losses(_: Array, t: Array) -> list[float]:
        return [net.at(net.unpacked(x[:-1])).loss / net.loss for x in along(tuple(t)).T]

    def bound(_: Array, t: Array) -> Array:
        return np.exp(-2 * along(tuple(t))[-1])

    return {"independent": claim(net.mu, ">", 0), "integral": Sides(losses, "<=", bound)}


# With 4 recorded points of 6 steps, evenly in log k.
SPARSE = [0, 1, 2, 6]
CERTIFIED = [
    held(
        "certificate",
        FAR,
        lambda: certificate(FAR, 0.07, STEPS, list(range(STEPS + 1))),
        train=gd(0.07),
    ),
    held(
        "certificate",
        MANY,
        lambda: certificate(MANY, 2e-4, STEPS, SPARSE),
        train=gd(2e-4),
        make=record(MANY, 4),
        label="sparse",
    ),
    held(
        "certificate",
        MANY,
        lambda: certificate(MANY, 0.2, STEPS, SPARSE),
        train=gd(0.2),
        make=record(MANY, 4),
        outcome=OUT,
        label="long",
    ),
    held(
        "certificate",
        FAR_FLOW,
        lambda: certified_flow(FAR_FLOW),
        train=FLOW,
        make=record(FAR_FLOW, 16),
        label="flow",
    ),
]


# Theorem 5 as printed. Here L = 1: see test_xie2021_quantities.py for more layers.


def printed_hypotheses(net: Net, fixed: dict[str, float]) -> dict[str, Any]:
    """Assumptions 3, 4, 5 and what follows (31)."""
    c, r, a, K = Constants(net, fixed), fro(net.residual), net.alpha, net.K or 1

    def stay(numerator: float, right: float) -> Any:
        return claim(2 * numerator * r, "<=", c.Q0 * right)

    out: dict[str, Any] = {
        "iterated": claim(float(net.K is None), "==", 0.0),
        "smooth": kinks(net),
        "narrow": claim(net.norm_W, "<=", 3 / 4 + TIGHT, FINE),
        "margin": claim(c.sigma_m, ">", 0),
        "rank": claim(net.sigma_o, ">", 0),
        "slopes": claim(net.s.kappa, ">", 0),
        "exists": claim(float(not np.isfinite(c.least)), "==", 0.0),
    }
    if "sigma_m" in fixed:
        out["wide"] = claim(c.smallest + TIGHT, ">=", 1 / 4 + c.sigma_m, FINE)
    if "B_Ub" in fixed:
        out["inputs"] = claim(c.norm_Ub, "<=", c.B_Ub / 2)
    if "B_x" in fixed:
        out["data"] = claim(fro(net.x), "<=", c.B_x / 2)
        out["samples"] = claim(np.sqrt(net.N), "<=", c.B_x)
    if "B_L" in fixed:
        out["output"] = claim(norm2(net.v["Wo"]), "<=", c.B_L / 2)
    if not np.isfinite(c.least):
        return out
    if "B_star" in fixed:
        out["bounded"] = Infinite(c.least, "<=", c.B_star)
    return out | {
        "short": claim(a * K * net.L, "<", 1),
        "weights_stay": stay(a * K * c.C_z * c.B_L, 1 / 4),
        "inputs_stay": stay(a * K * c.B_x * c.B_L, c.B_Ub / 3),
        "biases_stay": stay(a * K * np.sqrt(net.N) * c.B_L, c.B_Ub / 3),
        "data_stay": stay(a * K * net.L * c.B_Ub * c.B_L * c.L_g**2, c.B_x / 2),
        "outputs_stay": stay(3 * K * c.B_star, net.sigma_o / 2),
    }


def printed(net: Net, fixed: dict[str, float], step: float) -> dict[str, Any]:
    """loss_k <= (1 - step Q0)^k loss_0 for a step of at most 1/Q0 and 1/Q1."""
    c = Constants(net, fixed)
    nets = net.descent(step, STEPS)
    run = [each.loss / net.loss for each in nets]
    out = printed_hypotheses(net, fixed) | {"gradient descent": claim(step, ">", 0)}
    if np.isfinite(c.least):
        out["step_rate"] = claim(step * c.Q0, "<", 1)
        out["step_smooth"] = claim(step * c.Q1, "<", 1)
    if net.sam is not None:
        return out
    out["printed_rate"] = curve(run, "<=", lambda k: (1 - step * c.Q0) ** k)
    if np.isfinite(c.least) and np.isfinite(c.Q2):
        out["printed_limit"] = limit(nets, lambda k: c.Q2 * (1 - step * c.Q0) ** (k / 2))
    return out


def scaled(seed: int, N: int, widths: tuple[int, ...], k: float, dy: int = 1) -> Net:
    """Weights with singular values from 0.7 down to 0.55."""
    v = arrays(seed, 2, widths, 3, dy, N, bias=0.2, start=0.3)
    for i in range(1, len(widths) + 1):
        U, sigma, Vt = np.linalg.svd(v[f"W{i}"], full_matrices=False)
        v[f"W{i}"] = U @ np.diag(np.linspace(0.7, 0.55, len(sigma))) @ Vt
    return Net(v, 0.12, mix(k), K=3)


SINGLE = scaled(71, 3, (4,), 0.6)
CLOSE = labelled(scaled(72, 1, (3,), 0.6), 4e-7)
GIVEN = {"B_Ub": 4.7, "B_x": 9.3, "B_L": 3.1, "B_star": 160.0, "sigma_m": 0.21}
LOOSE = {"B_Ub": 1.1, "B_x": 1.3, "B_L": 0.2, "B_star": 3.0, "sigma_m": 0.45}
BACK = {"sigma_m": -0.1}
SHORT_PULL = replace(PULL, R=distance(0.7, np.array([0.3, -0.4])))
BIG_START = SINGLE.at({"Z0": 200 * SINGLE.v["Z0"]})


def against(net: Net, fixed: dict[str, float], step: float, outcome: str, label: str) -> Any:
    return held(
        "thm5",
        net,
        lambda: printed(net, fixed, step),
        edition="printed",
        train=gd(step),
        constants=fixed,
        outcome=outcome,
        label=label,
    )


def printed_flow() -> dict[str, Any]:
    """A flow is no gradient descent."""
    along = cache(lambda t: SINGLE.flow(np.array(t)))
    twice = 2 * Constants(SINGLE, GIVEN).Q2
    return printed_hypotheses(SINGLE, GIVEN) | {
        "gradient descent": claim(0.0, ">", 0),
        "printed_rate": Sides(
            lambda _, t: [each.loss / SINGLE.loss for each in along(tuple(t))], "<=", 1.0
        ),
        "printed_limit": Sides(lambda _, t: apart(along(tuple(t))), "<=", twice),
    }


PRINTED = [
    against(SINGLE, GIVEN, 0.03, OUT, "given"),
    against(SINGLE, {}, 0.03, OUT, "free"),
    against(SINGLE, LOOSE, 0.03, OUT, "loose"),
    against(SINGLE, BACK, 0.03, OUT, "margin"),
    against(CLOSE, {}, 1e-7, "confirmed", "close"),
    against(replace(SINGLE, s=SOFTPLUS), GIVEN, 0.03, OUT, "softplus"),
    against(scaled(73, 2, (3,), 0.6, dy=3), GIVEN, 0.03, OUT, "tall"),
    against(replace(SINGLE, sam=SHORT_PULL), GIVEN, 0.03, OUT, "sam"),
    against(replace(SINGLE, K=None), {}, 0.03, OUT, "implicit"),
    against(BIG_START, {}, 1e-9, OUT, "start"),
    held(
        "thm5",
        SINGLE,
        printed_flow,
        edition="printed",
        train=FLOW,
        make=record(SINGLE, 5),
        constants=GIVEN,
        outcome=OUT,
        label="flow",
    ),
]

INSTANCES = [*REPAIRED, *CERTIFIED, *PRINTED]
