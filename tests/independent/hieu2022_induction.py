"""Hieu 2022: the steps of the induction, Proposition 5 and Lemmas 3.3.8 to 3.3.10."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from .harness import Expected, Instance, Sides
from .hieu2022_conditions import (
    GENERIC,
    GENTLE,
    NARROW,
    NEAR,
    RADII,
    SMALL_M,
    WIDE_RADII,
    At,
    Radii,
    c_11,
    c_prime,
    reached,
    rooms,
    row_sides,
)
from .hieu2022_model import (
    NAMES,
    Arrays,
    arrays,
    at_start,
    descent,
    equilibrium,
    fro,
    gentle,
    gradient,
    loss,
    norm2,
    problem,
    residual,
    single,
    told,
    weight,
)
from .hieu2022_training import WITHIN, descent_rows, judged, printed_rows, with_radii

NORMS = {
    "A": "norm_of_symmetric",
    "B": "norm_of_skew",
    "U": "norm_of_inputs",
    "u": "norm_of_outputs",
}


def smallest(v: Arrays) -> float:
    """The last of the min(n, N) singular values."""
    return float(np.linalg.svd(equilibrium(v))[1][-1])


def hypothesis_3(run: list[Arrays], step: float) -> tuple[int, dict[str, Sides]]:
    """(3.20) as far as it holds, and the k + 1 about which something is claimed."""
    factor = 1 - step * smallest(run[0]) ** 2 / 4
    gap = np.array([loss(w) for w in run])
    bound = factor ** np.arange(len(run)) * gap[0]
    fails = np.flatnonzero(gap[1:] > bound[1:])
    known = min(int(fails[0]) + 1 if len(fails) else len(run), len(run) - 1)
    if known == 1:
        return 1, {}
    return known, {"so_far": Sides(gap[:known], "<=", bound[:known])}


def prop5(v: Arrays, R: Radii, step: float, steps: int, printed: bool) -> Expected:
    """Hypothesis 1 at k + 1 and |W(k+1) - W(0)|_F; as printed also the norms, on the left that of
    Frobenius."""
    a, run = reached(v, R), descent(v, step, steps)
    last, so_far = hypothesis_3(run, step)
    run = run[: last + 1]
    bound = a["X"] * a["r0"] * 16 * (3 * a["lA"] ** 2 + 2) * a["lU"] * a["lu"]
    bound /= a["lambda0"] ** 2 * a["m"] ** 2
    found: Expected = {
        "gradient descent": told(step, ">", 0.0),
        **with_radii(v, R),
        **row_sides(a, rooms(a, 8)),
        "small_step": told(step, "<=", 4 / a["lambda0"] ** 2),
        **so_far,
        **{
            check: judged(np.array([fro(w[name] - v[name]) for w in run]), "<=", R[f"R_{name}"])
            for name, check in WITHIN.items()
        },
        "weights": judged(np.array([fro(weight(w) - weight(v)) for w in run]), "<=", bound),
    }
    norms = {
        check: judged(
            np.array([fro(w[name]) for w in run[1:]]), "<=", norm2(v[name]) + R[f"R_{name}"]
        )
        for name, check in NORMS.items()
    }
    return {**found, **norms} if printed else found


def kept_until(run: list[Arrays]) -> int:
    """Hypothesis 2 holds at the steps before this one."""
    keeps = [at_start(w)["lambda0"] >= at_start(run[0])["lambda0"] / 2 for w in run]
    return keeps.index(False) if False in keeps else len(run)


def balls(run: list[Arrays], name: str, given: Mapping[str, float]) -> np.ndarray:
    """|P(0)| + R for each step, where R reaches until the end of that step."""
    start = run[0][name]
    far = np.maximum.accumulate([fro(w[name] - start) for w in run[1:]])
    return norm2(start) + (far * 0 + given[f"R_{name}"] if given else far)


def one_step(v: Arrays, w: Arrays) -> tuple[float, float, float]:
    """I_1, I_2, I_3 with g = Z(k)^T u(k+1)."""
    Z, e = equilibrium(v), residual(v, equilibrium(v))
    before, after, g = Z.T @ v["u"], equilibrium(w).T @ w["u"], Z.T @ w["u"]
    change = after - before
    return float(change @ change) / 2, float((after - g) @ e), float((g - before) @ e)


def lem338(
    v: Arrays, step: float, steps: int, given: Mapping[str, float], printed: bool
) -> Expected:
    """Lemmas 3.3.8 to 3.3.10 on every step of which they speak."""
    run = descent(v, step, steps)
    last, so_far = hypothesis_3(run, step)
    run, found = run[: last + 1], {"gradient descent": told(step, ">", 0.0), **so_far}
    for name in NAMES if given else ():
        far = np.array([fro(w[name] - v[name]) for w in run])
        found[WITHIN[name]] = judged(far, "<=", given[f"R_{name}"])
    I1, I2, I3 = np.array([one_step(*pair) for pair in pairwise(run)]).T
    L, lambda0 = np.array([loss(w) for w in run[:-1]]), smallest(v)
    a: At = {**at_start(v), **{f"l{name}": balls(run, name, given) for name in ("A", "U", "u")}}
    if printed:
        C, C_12 = c_11(a), a["X"] ** 2 * (a["lU"] * a["lu"] * a["lA"]) ** 2 / 4
        whole = step**2 * C**2 + 2 * step**3 * lambda0**2 * C * C_12 + step**4 * lambda0 * C_12**2
        part = step * (C - a["lU"] ** 2 * a["X"] ** 2) + step**2 * lambda0**2 * C_12
        found["first_printed"] = judged(I1, "<=", L * whole)
        found["second_printed"] = judged(I2, "<=", 2 * L * part)
    else:
        rest = c_prime(a)
        C = rest + a["X"] ** 2 * a["lU"] ** 2 / a["m"] ** 2
        found["first"] = judged(I1, "<=", L * step**2 * C**2)
        found["second"] = judged(I2, "<=", 2 * L * step * rest)
    n, N = equilibrium(v).shape
    if n >= N:
        kept = kept_until(run[:-1])
        found["third"] = judged(-I3[:kept], ">=", step * lambda0**2 / 2 * L[:kept])
    return found


EQUAL = {"A": "equal_symmetric", "B": "equal_skew", "U": "equal_inputs", "u": "equal_outputs"}
OF = {"A": "of_symmetric", "B": "of_skew", "U": "of_inputs", "u": "of_outputs"}


def lem337(
    v: Arrays, step: float, steps: int, given: Mapping[str, float], printed: bool
) -> Expected:
    """Lemma 3.3.7, with balls that hold the steps 0, ..., k."""
    run, found = descent(v, step, steps), {"gradient descent": told(step, ">", 0.0)}
    last = steps
    for name in NAMES if given else ():
        far = np.array([fro(w[name] - v[name]) for w in run])
        outside = np.flatnonzero(far > given[f"R_{name}"])
        last = min(last, int(outside[0]) if len(outside) else steps)
    inside = run if last == steps else run[:last]
    for name in NAMES if given else ():
        far = np.array([fro(w[name] - v[name]) for w in inside])
        found[WITHIN[name]] = judged(far, "<=", given[f"R_{name}"])
    run = run[: last + 1]
    far = {n: np.maximum.accumulate([fro(w[n] - v[n]) for w in run[:-1]]) for n in NAMES}
    lA, lU, lu = (norm2(v[n]) + (given.get(f"R_{n}", 0) if given else far[n]) for n in "AUu")
    X, m, lambda0 = fro(v["X"]), v["m"], at_start(v)["lambda0"]
    r = np.array([fro(residual(w, equilibrium(w))) for w in run[:-1]])
    common = step * X * r * lU * lu / m**2
    bounds = {"A": 2 * common * lA, "B": 2 * common, "U": step * X * r * lu / m}
    bounds["u"] = step * X * r * lU / m
    for name in NAMES:
        moves = np.array([norm2(after[name] - before[name]) for before, after in pairwise(run)])
        if printed:
            slopes = np.array([fro(gradient(w)[name]) for w in run[:-1]])
            found[EQUAL[name]] = Sides(moves, "==", slopes, decision="violated")
        found[OF[name]] = judged(moves, "<=", bounds[name])
    moves = np.array([norm2(weight(after) - weight(before)) for before, after in pairwise(run)])
    middle = step * lambda0**2 / 16 if printed else common
    bound = 4 * common * (lA**2 * (1 + middle) + 1)
    found["weights_printed" if printed else "weights"] = judged(moves, "<=", bound)
    return found


def chain_lines(a: At, step: float) -> list[float]:
    """What the last display of Section 3.3.3 adds to 1, line by line."""
    x, C, C_12 = a["lambda0"] ** 2, c_11(a), a["X"] ** 2 * (a["lU"] * a["lu"] * a["lA"]) ** 2 / 4
    C_U = a["lU"] ** 2 * a["X"] ** 2
    square = step**2 * C**2 + 2 * step**3 * x * C * C_12 + step**4 * x * C_12**2
    return [
        square + 2 * step * (C - C_U) + 2 * step**2 * x * C_12 - step * x / 2,
        5 * step * C - 2 * step * C_U + 3 * step**2 * x * C_12 - step * x / 2,
        5 * step * C - step * x / 2,
        -step * x / 4,
    ]


def chain(
    v: Arrays, R: Radii, step: float, steps: int, printed: bool, kappa: float = 20.0
) -> Expected:
    a, gap = reached(v, R), np.array([loss(w) for w in descent(v, step, steps)])
    ratio = gap[1:] / gap[:-1]
    if printed:
        lines = chain_lines(a, step)
        names = ("second_printed", "third_printed", "fourth_printed")
        rest = {name: told(p, "<=", q) for name, (p, q) in zip(names, pairwise(lines), strict=True)}
        first = judged(ratio, "<=", np.full(steps, 1 + lines[0]))
        return {**printed_rows(v, R, step), "first_printed": first, **rest}
    part = c_prime(a)
    whole = part + (a["X"] * a["lU"] / a["m"]) ** 2
    added = (step * whole) ** 2 + 2 * step * part - step * a["lambda0"] ** 2 / 2
    return {
        **descent_rows(v, R, kappa, step),
        "repaired": told(kappa, ">=", 20.0),
        "first": judged(ratio, "<=", np.full(steps, 1 + added)),
        "second": told(added, "<=", -step * a["lambda0"] ** 2 / 4),
    }


def descends(id: str, v: Arrays, step: float, steps: int, **more: Any) -> Instance:
    return Instance(
        id, lambda: problem(v), train={"kind": "gd", "step": step, "steps": steps}, **more
    )


def stays(
    v: Arrays, R: Radii, step: float, edition: str, label: str, outcome: str = "confirmed"
) -> Instance:
    return descends(
        "hieu2022/prop5",
        v,
        step,
        4,
        expected=lambda: prop5(v, R, step, 4, edition == "printed"),
        edition=edition,
        constants=R,
        label=label,
        outcome=outcome,
    )


def one(
    v: Arrays,
    step: float,
    steps: int,
    edition: str,
    label: str,
    outcome: str = "confirmed",
    given: Mapping[str, float] | None = None,
) -> Instance:
    return descends(
        "hieu2022/lem3.3.8-3.3.10",
        v,
        step,
        steps,
        expected=lambda: lem338(v, step, steps, given or {}, edition == "printed"),
        edition=edition,
        constants=given or {},
        label=label,
        outcome=outcome,
    )


def together(
    v: Arrays, R: Radii, step: float, edition: str, label: str, outcome: str, **kappa: float
) -> Instance:
    return descends(
        "hieu2022/chain",
        v,
        step,
        3,
        expected=lambda: chain(v, R, step, 3, edition == "printed", **kappa),
        edition=edition,
        constants={**R, **kappa},
        label=label,
        outcome=outcome,
    )


def steps(
    v: Arrays,
    step: float,
    count: int,
    edition: str,
    label: str,
    given: Mapping[str, float] | None = None,
) -> Instance:
    return descends(
        "hieu2022/lem3.3.7",
        v,
        step,
        count,
        expected=lambda: lem337(v, step, count, given or {}, edition == "printed"),
        edition=edition,
        constants=given or {},
        label=label,
        outcome="refuted" if edition == "printed" else "confirmed",
    )


MEDIUM = gentle(1, labels=0.1, outputs=0.1)
LARGE_STEP = single(m=0.3, A=0.0, U=1.0, u=0.5, x=1.0, y=2 / 3)
# sigma_min(Z) falls below half of what it was.
FALLING = arrays(41, n=3, d=3, N=2, m=0.7)
NOT, REFUTED = "not applicable", "refuted"
SMALL_BALLS = {"R_A": 0.06, "R_B": 0.5, "R_U": 0.6, "R_u": 0.7}
BALLS = {"R_A": 0.4, "R_B": 0.5, "R_U": 0.6, "R_u": 0.7}
INSTANCES = [
    stays(GENTLE, RADII, 0.009, "corrected", "gentle"),
    stays(GENTLE, RADII, 0.009, "printed", "gentle", REFUTED),
    stays(SMALL_M, NEAR, 0.03, "corrected", "growing"),
    stays(GENERIC, WIDE_RADII, 0.013, "corrected", "generic", NOT),
    one(MEDIUM, 0.004, 4, "corrected", "m < 1"),
    one(GENERIC, 0.03, 3, "corrected", "m > 1"),
    one(MEDIUM, 0.004, 4, "printed", "m < 1"),
    one(GENERIC, 0.03, 3, "printed", "m > 1"),
    one(LARGE_STEP, 0.3, 1, "printed", "large step"),
    one(SMALL_M, 0.03, 3, "printed", "growing", REFUTED),
    one(SMALL_M, 0.03, 3, "printed", "balls of the case", REFUTED, NEAR),
    one(GENERIC, 0.03, 3, "corrected", "balls of the case", given=BALLS),
    one(NARROW, 0.01, 3, "printed", "narrow"),
    one(NARROW, 0.01, 3, "corrected", "narrow"),
    one(FALLING, 0.05, 5, "corrected", "falling"),
    steps(GENERIC, 0.03, 3, "corrected", "generic"),
    steps(GENERIC, 0.03, 4, "corrected", "leaves its ball", SMALL_BALLS),
    steps(GENERIC, 0.03, 3, "printed", "generic"),
    steps(single(m=1.0, A=1.0, U=1.0, u=1.0, x=1.0, y=-7.5), 8.0, 1, "corrected", "one unit"),
    together(GENTLE, RADII, 2.7e-4, "corrected", "gentle", "confirmed"),
    together(GENTLE, RADII, 0.009, "corrected", "repair B", NOT, kappa=19.5),
    together(SMALL_M, NEAR, 0.03, "printed", "growing", REFUTED),
    together(GENERIC, WIDE_RADII, 0.013, "printed", "generic", NOT),
]
