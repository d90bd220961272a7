"""Hieu 2022: the statements about gradient flow and gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from .harness import Along, Expected, Instance, Sides
from .hieu2022_conditions import (
    GENERIC,
    GENTLE,
    NARROW,
    NEAR,
    RADII,
    WIDE_RADII,
    At,
    Radii,
    c_11,
    c_prime,
    condition1,
    condition2,
    condition2_printed,
    independence,
    reached,
    row_sides,
)
from .hieu2022_conditions import SMALL_M as GROWING
from .hieu2022_model import (
    Arrays,
    at_start,
    descent,
    equilibrium,
    flow,
    fro,
    gentle,
    gradient,
    kernel,
    loss,
    problem,
    residual,
    single,
    told,
)

MEDIUM = gentle(1, labels=0.1, outputs=0.1)
HORIZON = 0.15
WITHIN = {"A": "within_symmetric", "B": "within_skew", "U": "within_inputs", "u": "within_outputs"}


def smallest_feature(v: Arrays) -> float:
    return at_start(v)["lambda0"]


FLOWS: dict[int, Callable[[float], Arrays]] = {}


def along(v: Arrays, f: Callable[[Arrays], float]) -> Along:
    """A number along the flow; each flow is integrated once."""

    def values(_: np.ndarray, t: np.ndarray) -> np.ndarray:
        if id(v) not in FLOWS:
            FLOWS[id(v)] = cache(flow(v, HORIZON))
        return np.array([f(FLOWS[id(v)](time)) for time in t.tolist()])

    return values


def infimum(v: Arrays, f: Callable[[Arrays], float]) -> Along:
    return lambda k, t: np.minimum.accumulate(along(v, f)(k, t))


def gaps(v: Arrays) -> Along:
    """L(t)/L(0)."""
    return along(v, lambda w: loss(w) / loss(v))


def distance(v: Arrays, name: str) -> Callable[[Arrays], float]:
    return lambda w: fro(w[name] - v[name])


def kept(v: Arrays) -> dict[str, Sides]:
    """sigma_min(Z(t)) >= lambda_0/2."""
    return {"kept": Sides(infimum(v, smallest_feature), ">=", at_start(v)["lambda0"] / 2)}


def within(v: Arrays, R: Radii) -> dict[str, Sides]:
    """|P(t) - P(0)|_F <= R_P, as in (3.11) to (3.13)."""
    return {
        check: Sides(along(v, distance(v, name)), "<=", R[f"R_{name}"])
        for name, check in WITHIN.items()
    }


def judged(left: np.ndarray, relation: str, right: Any, first: int = 0) -> Sides:
    """A curve that holds or not, from its first entry that counts."""
    above = left >= right if relation == ">=" else left <= right
    return Sides(left, relation, right, decision="holds" if above[first:].all() else "violated")


def with_radii(v: Arrays, R: Radii) -> dict[str, Sides]:
    return {**independence(v), "positive": told(min(R.values()), ">", 0.0)}


FLOW = {"kind": "flow", "horizon": HORIZON}
BRIEFLY = {"kind": "flow", "horizon": 1e-5}
IS_FLOW = {"gradient flow": Sides(0.0, "==", 0.0)}


def exponential(v: Arrays) -> dict[str, Sides]:
    """Theorem 3.3.1: L(t) <= exp(-lambda_0^2 t/2) L(0)."""
    rate = at_start(v)["lambda0"] ** 2 / 2
    return {"rate": Sides(gaps(v), "<=", lambda k, t: np.exp(-rate * t))}


def thm331_rows(v: Arrays, R: Radii) -> dict[str, Sides]:
    a = reached(v, R)
    return {**with_radii(v, R), **row_sides(a, condition1(a))}


def thm331(v: Arrays, R: Radii) -> Expected:
    return {
        **IS_FLOW,
        **thm331_rows(v, R),
        **exponential(v),
        **kept(v),
        **within(v, R),
    }


STILL = {**GENTLE, "u": np.zeros(4), "y": np.zeros(2)}


def still(v: Arrays) -> dict[str, Sides]:
    """Nothing moves: the loss is 0, sigma_min(Z) stays."""
    lambda0 = at_start(v)["lambda0"]
    return {
        "stays": Sides(lambda k, t: 0.0 * t, "<=", lambda k, t: 0.0 * t),
        "kept": Sides(lambda k, t: lambda0 + 0.0 * t, ">=", lambda0 / 2),
    }


def unmoved(R: Radii) -> dict[str, Sides]:
    return {
        check: Sides(lambda k, t: 0.0 * t, "<=", R[f"R_{name}"]) for name, check in WITHIN.items()
    }


def path_room(v: Arrays) -> dict[str, Sides]:
    """R = 2 r0/lambda_0; the ball of this radius in (3.15), with Lemma 3.3.6, must not take
    sigma_min(Z) below lambda_0/2: 2 |A| R + R^2 + 2 R bounds |dW|."""
    at = at_start(v)
    R, m = 2 * at["r0"] / at["lambda0"], at["m"]
    dW = 2 * at["A"] * R + R**2 + 2 * R
    room = at["X"] * R / m + at["X"] * at["U"] * dW / m**2
    return {**independence(v), "room": told(room, "<=", at["lambda0"] / 2)}


def path_condition(v: Arrays) -> Expected:
    at = at_start(v)
    R = 2 * at["r0"] / at["lambda0"]
    short = {"short": Sides(along(v, lambda w: w["length"]), "<", R)}
    return {**IS_FLOW, **path_room(v), **exponential(v), **kept(v), **short}


def pl_constants(v: Arrays) -> tuple[float, float]:
    eigenvalues = np.linalg.eigvalsh(kernel(v))
    return 2 * float(eigenvalues[0]), float(eigenvalues[-1])


def linear_descent(v: Arrays, step: float) -> tuple[float, float]:
    """log L(2000)/L(0) and the length of the path on the linearised loss, step by step."""
    K, r = kernel(v), residual(v, equilibrium(v))
    log, size, length = 0.0, fro(r), 0.0
    r = r / size
    for _ in range(2000):
        length += step * size * np.exp(log) * np.sqrt(r @ K @ r)
        r = r - step * K @ r
        log, r = log + np.log(fro(r)), r / fro(r)
    return 2 * log, length


def pl_claims(v: Arrays, mu: float, Lsm: float, printed: bool) -> Expected:
    """Theorems 2.6.4, 2.5.4 and 2.6.3 and the length of the path, on the linearised loss."""
    smallest, L0 = pl_constants(v)[0] / 2, loss(v)
    square = sum(fro(g) ** 2 for g in gradient(v).values())
    found = {
        "positive": told(mu, ">", 0.0),
        "gradient": told(square, ">=", 2 * smallest * L0),
    }
    fall = 1 - (1 - smallest / Lsm) ** 2
    if printed:
        path = told(linear_descent(v, 1 / Lsm)[1], "<=", 2 * np.sqrt(L0 / mu))
        return {**found, "one_printed": told(fall, ">=", mu / Lsm), "descent_path_printed": path}
    log_ratio, _ = linear_descent(v, 1 / (2 * Lsm))
    _, length = linear_descent(v, 1 / Lsm)
    c = 1 / (2 * Lsm)
    return {
        **found,
        "one": told(fall, ">=", mu / (2 * Lsm)),
        "many": told(log_ratio, "<=", 2000 * np.log(1 - mu / (4 * Lsm))),
        "descent_path": told(length, "<=", 2 * (1 + np.sqrt(1 - c * mu)) * np.sqrt(L0 / mu)),
    }


def pl_flow(v: Arrays) -> Expected:
    """Theorem 2.6.4 integrated, and the path of the flow, with the infimum of lambda_min(K)."""
    mu = infimum(v, lambda w: pl_constants(w)[0])
    length = along(v, lambda w: w["length"])
    return {
        **pl_claims(v, *pl_constants(v), printed=False),
        "rate": Sides(gaps(v), "<=", lambda k, t: np.exp(-mu(k, t) * t)),
        "flow_path": Sides(length, "<=", lambda k, t: 2 * np.sqrt(loss(v) / mu(k, t))),
    }


def kernel_rate(v: Arrays, printed: bool = False) -> Expected:
    """(3.14), and the exponential with the kernel of the time t alone, or with the smallest."""
    n, N = equilibrium(v).shape
    smallest = lambda w: pl_constants(w)[0] / 2  # noqa: E731
    seen = along(v, smallest)
    lowest = seen if printed else infimum(v, smallest)
    check = "kernel" if v["u"].any() else "kernel_still"
    return {
        **IS_FLOW,
        "wide": told(n, ">=", N),
        check: Sides(seen, ">=", along(v, lambda w: smallest_feature(w) ** 2)),
        "rate_printed" if printed else "rate": Sides(
            gaps(v),
            "<=",
            lambda k, t: np.exp(-2 * lowest(k, t) * t),
            decision="violated" if printed else "holds",
        ),
    }


# lambda_min(K) grows from 1 on.
GROWS = {
    "A": np.zeros((2, 2)),
    "B": np.zeros((2, 2)),
    "U": np.diag([1.0, 2.0]),
    "u": np.zeros(2),
    "X": np.eye(2),
    "y": np.array([4.0, 1.0]),
    "m": 1.0,
}


def pl_fixed(v: Arrays, mu: float, Lsm: float) -> dict[str, Sides]:
    twice, largest = pl_constants(v)
    return {"smooth": told(largest, "<=", Lsm), "allowed": told(mu, "<=", twice)}


def pl_given(v: Arrays, mu: float, Lsm: float) -> Expected:
    return {**pl_claims(v, mu, Lsm, printed=False), **pl_fixed(v, mu, Lsm)}


def pl_refused(v: Arrays, mu: float, Lsm: float) -> Expected:
    """Nothing is concluded where the constants are wrong."""
    return {"positive": told(mu, ">", 0.0), **pl_fixed(v, mu, Lsm)}


# The second sample activates no unit.
DEAD = {
    **GENERIC,
    "U": np.abs(GENERIC["U"]),
    "X": np.array([[0.7, -0.4, 1.1], [0.2, -0.3, 0.5]]),
}


def pl_dead(v: Arrays) -> Expected:
    return {"positive": told(0.0, ">", 0.0)}


def descent_rows(v: Arrays, R: Radii, kappa: float, step: float) -> dict[str, Sides]:
    """Condition 2 repaired, with the step of repair A (kappa >= 20) or B."""
    a = reached(v, R)
    C_U = a["X"] ** 2 * a["lU"] ** 2 / a["m"] ** 2
    C = c_prime(a) + C_U
    check, largest = (
        ("small_step", a["lambda0"] ** 2 / (8 * C**2)) if kappa >= 20 else ("large_step", 1 / C_U)
    )
    return {
        "gradient descent": told(step, ">", 0.0),
        **with_radii(v, R),
        **row_sides(a, condition2(a, kappa)),
        "proven": told(kappa, ">=", 10.0),
        check: told(step, "<=", largest),
    }


def printed_steps(a: At) -> list[float]:
    """The four entries of the minimum in Theorem 3.3.5."""
    lambda0, lA, lU, lu = (a[name] for name in ("lambda0", "lA", "lU", "lu"))
    return [
        4 / lambda0**2,
        1 / c_11(a),
        1 / (2 * a["X"] * lambda0 * lU * lu * lA),
        1 / (6 * lambda0**2 * (lu * lA) ** 2),
    ]


def printed_rows(v: Arrays, R: Radii, step: float) -> dict[str, Sides]:
    """Condition 2 and the step as printed."""
    a = reached(v, R)
    return {
        "gradient descent": told(step, ">", 0.0),
        **with_radii(v, R),
        **row_sides(a, condition2_printed(a)),
        "step_printed": told(step, "<=", min(printed_steps(a))),
    }


def stays_within(v: Arrays, R: Radii, run: list[Arrays]) -> dict[str, Sides]:
    """Hypothesis 1."""
    return {
        check: judged(np.array([distance(v, name)(w) for w in run]), "<=", R[f"R_{name}"])
        for name, check in WITHIN.items()
    }


def conclusions(v: Arrays, R: Radii, step: float, steps: int) -> dict[str, Sides]:
    """Theorem 3.3.5: L(k+1) <= (1 - step lambda_0^2/4) L(k), (3.20) and Hypotheses 1 and 2."""
    run, lambda0 = descent(v, step, steps), at_start(v)["lambda0"]
    gap, factor = np.array([loss(w) for w in run]), 1 - step * lambda0**2 / 4
    sigma = np.minimum.accumulate([smallest_feature(w) for w in run])
    return {
        "contraction": judged(gap[1:] / gap[:-1], "<=", np.full(steps, factor)),
        "rate": judged(gap / gap[0], "<=", factor ** np.arange(steps + 1), first=1),
        "kept": judged(sigma, ">=", lambda0 / 2),
        **stays_within(v, R, run),
    }


def thm335(v: Arrays, R: Radii, kappa: float, step: float, steps: int) -> Expected:
    return {**descent_rows(v, R, kappa, step), **conclusions(v, R, step, steps)}


def thm335_printed(v: Arrays, R: Radii, step: float, steps: int, active: int) -> Expected:
    assert int(np.argmin(printed_steps(reached(v, R)))) == active
    return {**printed_rows(v, R, step), **conclusions(v, R, step, steps)}


# The third entry of the printed minimum is never the smallest; here it is within 1.6 of it.
BALANCED = single(m=0.45, A=0.3, U=2.1, u=0.01, x=0.9, y=0.4)
FAR = {"R_A": 2.5, "R_B": 0.12, "R_U": 0.09, "R_u": 0.38}
TALL = {"R_A": 3.6, "R_B": 0.3, "R_U": 0.08, "R_u": 0.045}
NOT = "not applicable"


def sparse(v: Arrays, points: int = 60) -> Any:
    """With fewer recorded points than usual."""
    return replace(problem(v), record_points=points)


def flows(id: str, v: Arrays, expected: Callable[[], Expected], **more: Any) -> Instance:
    return Instance(id, lambda: sparse(v), expected, **{"train": FLOW, **more})


def static(id: str, v: Arrays, expected: Callable[[], Expected], **more: Any) -> Instance:
    return Instance(id, lambda: problem(v), expected, **more)


def descends(
    id: str,
    v: Arrays,
    expected: Callable[[], Expected],
    step: float,
    steps: int,
    **more: Any,
) -> Instance:
    train = {"kind": "gd", "step": step, "steps": steps}
    return Instance(id, lambda: problem(v), expected, train=train, **more)


def repaired(
    v: Arrays,
    R: Radii,
    kappa: float | None,
    step: float,
    label: str,
    outcome: str = "confirmed",
) -> Instance:
    return descends(
        "hieu2022/thm3.3.5",
        v,
        lambda: thm335(v, R, 10.0 if kappa is None else kappa, step, 5),
        step,
        5,
        constants=R if kappa is None else {**R, "kappa": kappa},
        label=label,
        outcome=outcome,
    )


def as_printed(
    v: Arrays, R: Radii, step: float, active: int, label: str, outcome: str = NOT
) -> Instance:
    return descends(
        "hieu2022/thm3.3.5",
        v,
        lambda: thm335_printed(v, R, step, 3, active),
        step,
        3,
        constants=R,
        edition="printed",
        label=label,
        outcome=outcome,
    )


def all_still(R: Radii) -> Expected:
    return {**IS_FLOW, **thm331_rows(STILL, R), **still(STILL), **unmoved(R)}


def descent_still(R: Radii, step: float) -> Expected:
    return {**descent_rows(STILL, R, 10, step), **still(STILL), **unmoved(R)}


FIXED = {"mu": 0.5, "Lsm": 5.1}
WRONG = {"mu": 60.0, "Lsm": 20.0}
INSTANCES = [
    flows("hieu2022/thm3.3.1", GENTLE, lambda: thm331(GENTLE, RADII), constants=RADII),
    flows(
        "hieu2022/thm3.3.1",
        STILL,
        lambda: all_still(RADII),
        constants=RADII,
        train=BRIEFLY,
        label="zero loss",
    ),
    static(
        "hieu2022/thm3.3.1",
        GENERIC,
        lambda: thm331_rows(GENERIC, WIDE_RADII),
        constants=WIDE_RADII,
        outcome=NOT,
        label="generic",
    ),
    *(
        static(
            "hieu2022/thm3.3.1",
            GENERIC,
            lambda R=R: thm331_rows(GENERIC, R),
            constants=R,
            outcome=NOT,
            label=f"smallest {name}",
        )
        for name in WIDE_RADII
        for R in [{**WIDE_RADII, name: 0.13}]
    ),
    static(
        "hieu2022/thm3.3.1",
        NARROW,
        lambda: with_radii(NARROW, WIDE_RADII),
        constants=WIDE_RADII,
        outcome=NOT,
        label="narrow",
    ),
    flows("hieu2022/path", GENTLE, lambda: path_condition(GENTLE)),
    flows(
        "hieu2022/path",
        STILL,
        lambda: {**IS_FLOW, **path_room(STILL), **still(STILL)},
        train=BRIEFLY,
        label="zero loss",
    ),
    static("hieu2022/path", GENERIC, lambda: path_room(GENERIC), outcome=NOT, label="generic"),
    static("hieu2022/path", NARROW, lambda: independence(NARROW), outcome=NOT, label="narrow"),
    flows("hieu2022/pl", MEDIUM, lambda: pl_flow(MEDIUM)),
    Instance(
        "hieu2022/eq3.14", lambda: sparse(MEDIUM, 12), lambda: kernel_rate(MEDIUM), train=FLOW
    ),
    Instance(
        "hieu2022/eq3.14",
        lambda: sparse(GROWS, 12),
        lambda: kernel_rate(GROWS, printed=True),
        edition="printed",
        train=FLOW,
        outcome="refuted",
    ),
    static("hieu2022/pl", GENERIC, lambda: pl_claims(GENERIC, *pl_constants(GENERIC), False)),
    static(
        "hieu2022/pl", GENERIC, lambda: pl_given(GENERIC, **FIXED), constants=FIXED, label="fixed"
    ),
    static(
        "hieu2022/pl",
        MEDIUM,
        lambda: pl_refused(MEDIUM, **WRONG),
        constants=WRONG,
        outcome=NOT,
        label="wrong constants",
    ),
    static("hieu2022/pl", DEAD, lambda: pl_dead(DEAD), outcome=NOT, label="dead sample"),
    static(
        "hieu2022/pl",
        GENERIC,
        lambda: pl_claims(GENERIC, *pl_constants(GENERIC), True),
        edition="printed",
        outcome="refuted",
    ),
    repaired(GENTLE, RADII, None, 0.009, "repair B"),
    repaired(GENTLE, RADII, 19.5, 0.009, "margin"),
    repaired(GENTLE, RADII, 20.0, 2.7e-4, "repair A"),
    repaired(GENTLE, RADII, 7.0, 0.009, "unproven", NOT),
    repaired(GENERIC, WIDE_RADII, 31.0, 0.013, "generic", NOT),
    descends(
        "hieu2022/thm3.3.5",
        STILL,
        lambda: descent_still(RADII, 0.009),
        0.009,
        3,
        constants=RADII,
        label="zero loss",
    ),
    # Every printed condition holds, and the loss grows.
    as_printed(GROWING, NEAR, 0.03, 0, "growing", "refuted"),
    as_printed(GENERIC, WIDE_RADII, 0.013, 1, "generic"),
    as_printed(GROWING, FAR, 0.001, 3, "far"),
    as_printed(BALANCED, TALL, 0.02, 1, "balanced"),
]
