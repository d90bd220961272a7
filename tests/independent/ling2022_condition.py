"""Condition 1 of Ling et al. 2022 and Theorem 1 under it: descent and flow in plain NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar

from .harness import Expected, Instance, Sides
from .ling2022_draws import PAIR, SEED, draw, frequency, width
from .ling2022_kernel import BALL, assumption_1, assumption_2, lambda_star
from .ling2022_model import (
    CONTRACTS,
    ONE,
    PARAMETERS,
    UNIQUE,
    Arrays,
    arrays,
    contracts,
    drawn,
    equilibrium,
    gradient,
    lambda_min,
    norm_w,
    problem,
    residual,
    sensitivities,
    squared,
    told,
)

# The parameters at some times.
Path = Callable[[Iterable[float]], list[Arrays]]

DESCENT, FLOW = "gradient descent", "gradient flow"


def start(v: Arrays) -> dict[str, float]:
    """The norms at the start, F = |X|_F, r_0 = |yhat - y| and lambda_0."""
    return {
        "W": norm_w(v),
        "U": float(np.linalg.svd(v["U"], compute_uv=False)[0]),
        "a": float(np.sqrt(v["a"] @ v["a"])),
        "F": float(np.sqrt(np.sum(v["X"] ** 2))),
        "r_0": float(np.linalg.norm(residual(v, equilibrium(v)))),
        "lambda_0": lambda_min(v),
    }


def constants(s: dict[str, float], delta: float) -> dict[str, float]:
    """Section 3.1."""
    rho_w, rho_u, rho_a = (s[name] + delta for name in PARAMETERS)
    return {
        "delta": delta,
        "rho_w": rho_w,
        "rho_u": rho_u,
        "rho_a": rho_a,
        "c_w": rho_u * rho_a / (1 - rho_w) ** 2,
        "c_u": rho_a / (1 - rho_w),
        "c_a": rho_u / (1 - rho_w),
    }


def condition(s: dict[str, float], delta: float) -> dict[str, Sides]:
    """(7), (8), (9)."""
    c, lambda_0, r_0 = constants(s, delta), s["lambda_0"], s["r_0"]
    both = (c["c_w"] ** 2 + c["c_u"] ** 2) * s["F"] ** 2
    largest = max(c["c_w"], c["c_u"], c["c_a"])
    return {
        "eq7": told(lambda_0, ">=", 4 * largest * s["F"] * r_0 / delta),
        "eq8": told(lambda_0**1.5, ">=", (8 + 4 * np.sqrt(2)) * both * r_0 / c["rho_a"]),
        "eq9": told(lambda_0, ">=", 4 * both),
    }


def ratios(s: dict[str, float], delta: float) -> np.ndarray:
    """Left over right of (7), (8), (9)."""
    return np.array([sides.left / sides.right for sides in condition(s, delta).values()])


def room(s: dict[str, float], delta: float, with_9: bool = True) -> float:
    """How far the condition is fulfilled, as the logarithm of its smallest ratio."""
    return float(np.log(ratios(s, delta)[: 3 if with_9 else 2].min()))


def top(s: dict[str, float], f: Callable[[float], float], low: float = 1e-9) -> float:
    """The delta at which f is largest."""
    bounds = (np.log(low), np.log((1 - s["W"]) * (1 - 1e-9)))
    found = minimize_scalar(lambda x: -f(np.exp(x)), bounds=bounds, options={"xatol": 1e-12})
    return float(np.exp(found.x))


def best(s: dict[str, float], with_9: bool = True) -> float:
    return top(s, lambda delta: room(s, delta, with_9))


def second_10(s: dict[str, float], delta: float) -> float:
    """The second term of (10)."""
    c = constants(s, delta)
    pair = c["c_w"] ** 2 + c["c_u"] ** 2
    return float(2 * pair / ((pair + c["c_a"] ** 2) ** 2 * s["F"] ** 2))


def limit_10(s: dict[str, float], delta: float) -> float:
    """(10)."""
    return min(2 / s["lambda_0"], second_10(s, delta))


def limit_relaxed(s: dict[str, float], delta: float) -> float:
    """1/(c_a F)^2."""
    return 1 / (constants(s, delta)["c_a"] * s["F"]) ** 2


def ball(v: Arrays, delta: float, with_9: bool = True) -> dict[str, Sides]:
    """What Theorem 1 asks before training."""
    found = {CONTRACTS: contracts(v)}
    q, n = norm_w(v), v["X"].shape[1]
    if q >= 1:
        return found
    found |= {"positive": told(delta, ">", 0.0), "inside": told(q + delta, "<", 1.0)}
    if not 0 < delta < 1 - q:
        return found
    every = condition(start(v), delta)
    if not with_9:
        return found | {name: every[name] for name in ("eq7", "eq8")}
    small = told(float(np.linalg.norm(v["a"])), "<", (1 - q) / (2 * n**0.5))
    return found | {**every, "small_a": small}


def has_ball(v: Arrays, delta: float) -> bool:
    return 0 < delta < 1 - norm_w(v)


def descent(v: Arrays, step: float, steps: int) -> list[Arrays]:
    """theta_0, ..., theta_steps."""
    found = [v]
    for _ in range(steps):
        here = found[-1]
        g = gradient(here, equilibrium(here))
        found.append({**here, **{name: here[name] - step * g[name] for name in PARAMETERS}})
    return found


def loss(v: Arrays) -> float:
    return float(np.sum(residual(v, equilibrium(v)) ** 2)) / 2


def at(values: np.ndarray) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Of the steps that are recorded."""
    return lambda k, t: values[k.astype(int)]


def curve(left: np.ndarray, relation: str, right: np.ndarray | float, first: int = 0) -> Sides:
    right = np.broadcast_to(right, left.shape)
    decisions = {
        told(x, relation, y).decision for x, y in zip(left[first:], right[first:], strict=True)
    }
    return Sides(
        at(left), relation, at(right), decision="violated" if "violated" in decisions else "holds"
    )


def thm1(v: Arrays, delta: float, step: float, steps: int) -> Expected:
    """(i), (ii), (iii) under (7) to (10)."""
    run = descent(v, step, steps)
    lambda_0, k = lambda_min(v), np.arange(steps + 1)
    losses = np.array([loss(each) for each in run])
    slopes = np.array([squared(gradient(each, equilibrium(each))) for each in run])
    found = {DESCENT: told(step, ">", 0.0), **ball(v, delta)}
    if has_ball(v, delta):
        found["first_term"] = told(step * lambda_0, "<", 2.0)
        found["second_term"] = told(step, "<", second_10(start(v), delta))
    return {
        **found,
        "bounded": curve(np.array([norm_w(each) for each in run]), "<", 1.0),
        "eigenvalue": curve(np.array([lambda_min(each) for each in run]), ">", lambda_0 / 2),
        "gradient": curve(slopes, ">=", lambda_0 * losses),
        "decay": curve(losses / losses[0], "<=", (1 - step * lambda_0 / 2) ** k, first=1),
    }


def thm1_plus(v: Arrays, delta: float, step: float, steps: int) -> Expected:
    """The proof of LING-T1+: 0.667 lambda_0, (1 - 0.4 step lambda_0)^(2 k), 0.625 delta."""
    run = descent(v, step, steps)
    lambda_0, k = lambda_min(v), np.arange(steps + 1)
    losses = np.array([loss(each) for each in run])
    found = {DESCENT: told(step, ">", 0.0), **ball(v, delta)}
    if has_ball(v, delta):
        found["limit"] = told(step, "<=", limit_relaxed(start(v), delta))
        for name in PARAMETERS:
            moved = [float(np.sqrt(np.sum((each[name] - v[name]) ** 2))) for each in run]
            found[f"moved_{name.lower()}"] = curve(np.array(moved), "<=", 0.625 * delta)
    lambdas = np.array([lambda_min(each) for each in run])
    return {
        **found,
        "eigenvalue": curve(lambdas, ">=", 0.667 * lambda_0),
        "decay": curve(losses / losses[0], "<=", (1 - 0.4 * step * lambda_0) ** (2 * k), first=1),
    }


def pl_run(v: Arrays, step: float, steps: int) -> Expected:
    """(4) unless there is one sample, and (5)."""
    run, n = descent(v, step, steps), v["X"].shape[1]
    twice, slopes, lambdas, mixed = (np.zeros(steps + 1) for _ in range(4))
    for k, w in enumerate(run):
        Z = equilibrium(w)
        S, G = sensitivities(w, Z), Z.T @ Z
        H = G + (G + w["X"].T @ w["X"]) * (S.T @ S)
        twice[k], slopes[k] = np.sum(residual(w, Z) ** 2), squared(gradient(w, Z))
        lambdas[k], mixed[k] = np.linalg.eigvalsh(G)[0], np.linalg.eigvalsh(H)[0]
    if len(v["W"]) < n:
        lambdas[:] = 0.0
    equal = n == 1 and not v["a"].any()
    found = {
        UNIQUE: ONE,
        "by_gram_later" if equal else "by_gram": curve(slopes, ">=", lambdas * twice, int(equal)),
    }
    return found if n == 1 else {**found, "by_h": curve(slopes, ">=", mixed * twice)}


def pl_flow(v: Arrays, horizon: float) -> Expected:
    path = flow(v, horizon)
    return {
        UNIQUE: ONE,
        "by_gram": Sides(
            lambda k, t: np.array([squared(gradient(w, equilibrium(w))) for w in path(t)]),
            ">=",
            lambda k, t: np.array([2 * lambda_min(w) * loss(w) for w in path(t)]),
        ),
    }


NOTHING = Sides(0.0, "<=", 0.0)


def thm1_at_rest(v: Arrays, delta: float, step: float, steps: int) -> Expected:
    """A loss of 0 stays 0, and nothing moves."""
    moving = thm1({**v, "y": v["y"] + 1.0}, delta, step, 0)
    before = {name: x for name, x in moving.items() if name not in CONCLUSIONS}
    return {
        **before,
        **ball(v, delta),
        "bounded": Sides(norm_w(v), "<", 1.0),
        "eigenvalue": Sides(lambda_min(v), ">", lambda_min(v) / 2),
        "gradient": Sides(0.0, ">=", 0.0),
        "rest": NOTHING,
    }


def plus_at_rest(v: Arrays, delta: float, step: float, steps: int) -> Expected:
    moved = {f"moved_{name.lower()}": Sides(0.0, "<=", 0.625 * delta) for name in PARAMETERS}
    return {
        DESCENT: told(step, ">", 0.0),
        **ball(v, delta),
        "limit": told(step, "<=", limit_relaxed(start(v), delta)),
        **moved,
        "eigenvalue": Sides(lambda_min(v), ">=", 0.667 * lambda_min(v)),
        "rest": NOTHING,
    }


def flow_at_rest(v: Arrays, delta: float) -> Expected:
    return {
        FLOW: Sides(0.0, "==", 0.0),
        **ball(v, delta, with_9=False),
        "eigenvalue": Sides(lambda_min(v), ">=", lambda_min(v) / 2),
        "rest": NOTHING,
    }


CONCLUSIONS = ("bounded", "eigenvalue", "gradient", "decay")


def flow(v: Arrays, horizon: float) -> Path:
    """d theta/dt = -gradient, as a function of the times."""
    sizes = [v[name].size for name in PARAMETERS]
    cuts = np.cumsum(sizes)[:-1]

    def unpacked(x: np.ndarray) -> Arrays:
        parts = zip(PARAMETERS, np.split(x, cuts), strict=True)
        return {**v, **{name: part.reshape(v[name].shape) for name, part in parts}}

    def slope(t: float, x: np.ndarray) -> np.ndarray:
        here = unpacked(x)
        g = gradient(here, equilibrium(here))
        return -np.concatenate([g[name].ravel() for name in PARAMETERS])

    first = np.concatenate([v[name].ravel() for name in PARAMETERS])
    span, found = (0.0, horizon), {"rtol": 1e-12, "atol": 1e-14, "dense_output": True}
    path = solve_ivp(slope, span, first, method="DOP853", **found).sol
    return lambda times: [unpacked(path(t)) for t in times]


def lowest(path: Path, times: np.ndarray) -> float:
    """The infimum of lambda_min(G) between the first and the last of these times."""
    seen = [lambda_min(w) for w in path(times)]
    i = int(np.argmin(seen))
    bounds = (times[max(i - 1, 0)], times[min(i + 1, len(times) - 1)])
    near = minimize_scalar(lambda t: lambda_min(path([t])[0]), bounds=bounds)
    return min(seen[i], float(near.fun))


def thm1_flow(v: Arrays, delta: float, horizon: float) -> Expected:
    """lambda_min(G) >= lambda_0/2 and Phi <= exp(-lambda_0 t) Phi(0), by (7) and (8)."""
    lambda_0, first, path = lambda_min(v), loss(v), flow(v, horizon)
    times = np.linspace(0, horizon, 20)
    return {
        FLOW: Sides(0.0, "==", 0.0),
        **ball(v, delta, with_9=False),
        "eigenvalue": told(lowest(path, times), ">=", lambda_0 / 2),
        "decay": Sides(
            lambda k, t: np.array([loss(w) for w in path(t)]) / first,
            "<=",
            lambda k, t: np.exp(-lambda_0 * t),
        ),
    }


def descended(v: Arrays, delta: float, step: float, steps: int) -> Expected:
    """Descent is no flow: the same numbers at the times k step."""
    run, lambda_0 = descent(v, step, steps), lambda_min(v)
    losses = np.array([loss(w) for w in run])
    return {
        FLOW: told(step, "==", 0.0),
        **ball(v, delta, with_9=False),
        "eigenvalue": told(min(map(lambda_min, run)), ">=", lambda_0 / 2),
        "decay": curve(
            losses / losses[0], "<=", np.exp(-lambda_0 * step * np.arange(steps + 1)), first=1
        ),
    }


def condition1(v: Arrays) -> Expected:
    """(7), (8), (9) at the best delta, and as a remark Proposition F: lambda_0/(4 (c_w^2 + c_u^2)
    F^2) <= c_a^2/(4 n c_u^2 (1 + c_a^2)). The ratio of its sides is n lambda_0/(c_a F)^2, which
    falls with delta: the least delta is the worst."""
    if norm_w(v) >= 1:
        return {CONTRACTS: contracts(v)}
    s, n = start(v), v["X"].shape[1]
    delta = 1e-12 * (1 - s["W"])
    c, nine = constants(s, delta), condition(s, delta)["eq9"]
    right = 1 / (4 * n * c["c_u"] ** 2 * (1 + c["c_a"] ** -2))
    # The best delta is known to the root of the precision, its worst ratio is flat there.
    at_best = {name: replace(x, within=1e-5) for name, x in condition(s, best(s)).items()}
    cap = told(nine.left / nine.right, "<=", right)
    return {CONTRACTS: contracts(v), **at_best, "cap": cap}


def feasible(v: Arrays) -> bool:
    """Whether some delta fulfils Condition 1."""
    s = start(v)
    return s["W"] < 1 and s["lambda_0"] > 1e-12 and room(s, best(s)) > 0


def section_3_2(v: Arrays, s2: float | None, fixed: Mapping[str, float]) -> Expected:
    """The claim that Condition 1 holds with probability 1 - t."""
    found = {**assumption_1(v, s2, s2 is not None, "WUa"), **assumption_2(v)}
    if s2 is None:
        return found
    found["independent"] = told(lambda_star(v["X"], s2), ">", 0.0)
    found["wide"] = width(v, s2, fixed.get("C", 1.0), fixed.get("t", 0.05), "printed")
    if found["wide"].decision == "holds":
        total = int(fixed.get("seeds", 100))
        draws = [draw(v, s2, "ling2022/condition1", i) for i in range(total)]
        found["agrees"] = frequency(feasible, draws, 1 - fixed.get("t", 0.05))
    return found


def scaled(v: Arrays, **factors: float) -> Arrays:
    return {**v, **{name: factor * v[name] for name, factor in factors.items()}}


# Under Condition 1, with c_a the largest of the constants.
UNDER = scaled(arrays(seed=0, m=6, n=2, d=3, q=0.1), U=100.0, a=1e-4, y=0.1)
# Far from it, with c_w and with c_u the largest.
FAR = arrays(seed=1, m=5, n=2, d=3)
# |W| > 1, and unique equilibria all the same.
STEEP = {**FAR, "W": 7 * np.tril(FAR["W"], -1)}
FLAT = scaled(arrays(seed=7, m=5, n=2, d=4), U=0.2, a=1.5)


def _descent(
    name: str,
    expected: Callable[..., Expected],
    label: str,
    v: Arrays,
    delta: float,
    step: float,
    outcome: str = "not applicable",
    steps: int = 6,
) -> Instance:
    return Instance(
        f"ling2022/{name}",
        lambda: problem(v),
        cache(lambda: expected(v, delta, step, steps)),
        train={"kind": "gd", "step": step, "steps": steps},
        constants={"delta": delta},
        outcome=outcome,
        label=label.removeprefix("printed").lstrip(", "),
    )


def _flow(
    label: str, v: Arrays, delta: float, horizon: float, outcome: str = "not applicable"
) -> Instance:
    return Instance(
        "ling2022/thm1-flow",
        lambda: replace(problem(v), record_points=12),
        cache(lambda: thm1_flow(v, delta, horizon)),
        train={"kind": "flow", "horizon": horizon},
        constants={"delta": delta},
        outcome=outcome,
        label=label.removeprefix("printed").lstrip(", "),
    )


def _flow_at_rest(v: Arrays, delta: float, horizon: float) -> Instance:
    return Instance(
        "ling2022/thm1-flow",
        lambda: replace(problem(v), record_points=12),
        lambda: flow_at_rest(v, delta),
        train={"kind": "flow", "horizon": horizon},
        constants={"delta": delta},
        label="at rest",
    )


def _condition1(
    label: str, v: Arrays, s2: float | None = None, outcome: str = "met", **fixed: float
) -> Instance:
    printed = label.startswith("printed")
    return Instance(
        "ling2022/condition1",
        lambda: problem(v, seed=SEED) if s2 is None else drawn(v, s2, seed=SEED),
        lambda: section_3_2(v, s2, fixed) if printed else condition1(v),
        edition="printed" if printed else "corrected",
        constants=fixed,
        outcome=outcome,
        label=label.removeprefix("printed").lstrip(", "),
    )


def _pl_run(label: str, v: Arrays, step: float, steps: int = 6) -> Instance:
    return Instance(
        "ling2022/pl-run",
        lambda: problem(v),
        cache(lambda: pl_run(v, step, steps)),
        train={"kind": "gd", "step": step, "steps": steps},
        label=label,
    )


def _pl_flow(v: Arrays, horizon: float) -> Instance:
    return Instance(
        "ling2022/pl-run",
        lambda: replace(problem(v), record_points=6),
        cache(lambda: pl_flow(v, horizon)),
        train={"kind": "flow", "horizon": horizon},
        label="flow",
    )


CONFIRMED = "confirmed"
# Nothing to learn: the loss is exactly 0.
RESTING = {**UNDER, "a": np.zeros(6), "y": np.zeros(2)}
INSTANCES = [
    _descent("thm1", thm1_at_rest, "at rest", RESTING, 0.02, 9e-10, CONFIRMED),
    _descent("thm1-plus", plus_at_rest, "at rest", RESTING, 0.02, 8e-8, CONFIRMED),
    _flow_at_rest(RESTING, 0.02, 1e-6),
    _pl_run("", FAR, 0.01),
    _pl_run("no contraction", STEEP, 1e-4, 2),
    _pl_run("one sample", arrays(n=1), 0.01),
    _pl_run("one sample, a is 0", {**arrays(n=1), "a": np.zeros(8)}, 0.01),
    _pl_run("narrow", arrays(m=2), 0.01),
    _pl_flow(FLAT, 0.004),
    _descent("thm1", thm1, "", UNDER, 0.045, 4e-9, CONFIRMED),
    _descent("thm1", thm1, "step too large", UNDER, 0.045, 2e-6),
    _descent("thm1", thm1, "far", FAR, 0.2, 0.01),
    _descent("thm1", thm1, "flat", FLAT, 0.15, 0.03),
    _descent("thm1", thm1, "no ball", FAR, 0.8, 0.01),
    _descent("thm1", thm1, "delta below 0", FAR, -0.1, 0.01),
    _descent("thm1", thm1, "no contraction", STEEP, 0.2, 1e-4, steps=2),
    _descent("thm1-plus", thm1_plus, "", UNDER, 0.045, 8e-7, CONFIRMED),
    _descent("thm1-plus", thm1_plus, "far", FAR, 0.2, 0.01),
    _descent("thm1-plus", thm1_plus, "flat", FLAT, 0.15, 0.03),
    _descent("thm1-plus", thm1_plus, "no ball", FAR, 0.8, 0.01),
    _descent("thm1-flow", descended, "descent", FAR, 0.2, 0.01),
    _flow("", UNDER, 0.045, 2e-5, CONFIRMED),
    _flow("falls", FAR, 0.2, 0.02),
    _flow("falls and rises", FLAT, 0.15, 0.015),
    _flow("no ball", FAR, 0.8, 0.01),
    _condition1("", UNDER),
    _condition1("far", FAR, outcome="not met"),
    _condition1("no contraction", scaled(FAR, W=4.0), outcome="not met"),
    _condition1("printed", PAIR, 0.05, "inconsistent", seeds=12, C=0.2, t=0.4),
    _condition1("printed, defaults", BALL, 0.05, "not applicable"),
    _condition1("printed without sigma_w", BALL, None, "not applicable"),
]
