"""Statements of Ling et al. 2022 about probabilities: the seeds drawn and counted again."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.stats import beta

from deqcheck.seeds import rng

from .harness import Expected, Instance, Sides
from .ling2022_kernel import (
    BALL,
    OPPOSITE,
    TWICE,
    UNEVEN,
    assumption_1,
    assumption_2,
    kernels,
    lambda_star,
    variances,
)
from .ling2022_model import (
    PARAMETERS,
    Arrays,
    arrays,
    drawn,
    equilibrium,
    features,
    lambda_min,
    norm_w,
    problem,
    sphere,
    told,
)

SEED = 5


def draw(v: Arrays, s2: float, statement: str, number: int, seed: int = SEED) -> Arrays:
    """Assumption 1, from the streams named after the statement, the draw and the array."""
    m, d = v["U"].shape
    variance = {"W": 2 * s2 / m, "U": 2 / d, "a": 1 / m}
    drawn = {}
    for name in PARAMETERS:
        stream = rng(seed, f"{statement}.{number}.{name}")
        drawn[name] = np.sqrt(variance[name]) * stream.standard_normal(v[name].shape)
    return {**v, **drawn}


def frequency(event: Callable[[Arrays], bool], draws: list[Arrays], claimed: float) -> Sides:
    """The upper end of the exact interval of 99.9% against the probability that is claimed."""
    total, yes = len(draws), sum(map(event, draws))
    upper = float(beta.ppf(1 - 0.0005, yes + 1, total - yes)) if yes < total else 1.0
    return told(upper, ">=", claimed)


def lem1(v: Arrays, s2: float | None, fixed: Mapping[str, float], printed: bool) -> Expected:
    """|W|^2 <= 8 sigma_w^2, or (1 + eps)^2 times that with probability 1 - exp(-2 m eps^2)."""
    found = {"W has independent normal entries": told(int(s2 is not None), "==", 1)}
    if s2 is None:
        return found
    found |= variances(s2, "W")
    m, total = len(v["W"]), int(fixed.get("seeds", 100))
    edge = 2 * np.sqrt(2) * np.sqrt(s2)
    # Without an eps, the one with exp(-2 m eps^2) = 1/4.
    eps = 0.0 if printed else fixed.get("eps", np.sqrt(np.log(4) / (2 * m)))
    failure = np.exp(-fixed.get("c", 0.05) * m) if printed else np.exp(-2 * m * eps**2)
    draws = [draw(v, s2, "ling2022/lem1", i) for i in range(total)]
    found["agrees"] = frequency(lambda w: norm_w(w) <= edge * (1 + eps), draws, 1 - failure)
    return found


def width(v: Arrays, s2: float, C: float, t: float, logs: str) -> Sides:
    """Theorem 2: m >= C (n/lambda)^2 log(n/(lambda t)); by its proof log(n/lambda)^2 + log(n/t)."""
    m, n, star = len(v["W"]), v["X"].shape[1], lambda_star(v["X"], s2)
    factor = {
        "printed": np.log(n) - np.log(star) - np.log(t),
        "proof": (np.log(n) - np.log(star)) ** 2 + np.log(n) - np.log(t),
    }[logs]
    return told(m, ">=", C * n**2 / star**2 * factor)


def thm2(v: Arrays, s2: float | None, fixed: Mapping[str, float], printed: bool) -> Expected:
    found = {**assumption_1(v, s2, s2 is not None), **assumption_2(v)}
    if s2 is None:
        return found
    star = lambda_star(v["X"], s2)
    if star < 1e-12:
        return {**found, "independent": Sides(0.0, ">", 0.0, decision="undecided")}
    found["independent"] = told(star, ">", 0.0)
    C, t = fixed.get("C", 288.0), fixed.get("t", 0.05)
    wide = width(v, s2, C, t, "printed" if printed else "proof")
    found["wide" if printed else "wider"] = wide
    if s2 < 0.125 and wide.decision == "holds":
        draws = [draw(v, s2, "ling2022/thm2", i) for i in range(int(fixed.get("seeds", 100)))]
        bound = len(v["W"]) / 2 * star
        found["agrees"] = frequency(lambda w: lambda_min(w) >= bound, draws, 1 - t)
    return found


def thm5(v: Arrays, s2: float | None, fixed: Mapping[str, float]) -> Expected:
    """|G^(l)/m - K^(l)|_F <= n (2 sqrt2 sigma_w)^l against 1 - n^2 exp(-c m (8 sigma_w^2)^l +
    C l^2)."""
    found = {**assumption_1(v, s2, s2 is not None), **assumption_2(v)}
    uneven = np.ptp(np.linalg.norm(v["X"], axis=0)) > 1e-9
    if s2 is None or not s2 < 0.125 or uneven:
        return found
    layers, c, C = int(fixed.get("l", 2)), fixed.get("c", 0.1), fixed.get("C", 0.0)
    m, n = len(v["W"]), v["X"].shape[1]
    K = kernels(v["X"], s2, layers)[-1]

    def near(w: Arrays) -> bool:
        Z = features(w, layers)[-1]
        off = np.linalg.norm(Z.T @ Z / m - K)
        return bool(off <= n * (2 * np.sqrt(2) * np.sqrt(s2)) ** layers)

    draws = [draw(v, s2, "ling2022/thm5", i) for i in range(int(fixed.get("seeds", 100)))]
    failure = n**2 * np.exp(-c * m * 8**layers * s2**layers + C * layers**2)
    found["agrees"] = frequency(near, draws, min(max(1 - failure, 0.0), 1.0))
    return found


def thm4(v: Arrays, s2: float, fixed: Mapping[str, float], laws: bool = True) -> Expected:
    """|G - G^(l)|_F/m <= C n (2 sqrt2 sigma_w)^l against 1 - n^2 exp(-c m)."""
    found = {**assumption_1(v, s2, laws), **assumption_2(v)}
    layers, c, C = int(fixed.get("l", 2)), fixed.get("c", 0.05), fixed.get("C", 1.0)
    m, n = len(v["W"]), v["X"].shape[1]
    if not laws or any(each.decision == "violated" for each in found.values() if is_sides(each)):
        return found

    def near(w: Arrays) -> bool:
        Z, Zl = equilibrium(w), features(w, layers)[-1]
        off = np.linalg.norm(Z.T @ Z - Zl.T @ Zl) / m
        return bool(off <= C * n * (2 * np.sqrt(2) * np.sqrt(s2)) ** layers)

    draws = [draw(v, s2, "ling2022/thm4", i) for i in range(int(fixed.get("seeds", 100)))]
    claimed = 1 - n**2 * np.exp(-c * m)
    return {**found, "agrees": frequency(near, draws, min(max(claimed, 0.0), 1.0))}


def is_sides(each: object) -> bool:
    return isinstance(each, Sides)


def instance(
    statement: str,
    expected: Callable[..., Expected],
    label: str,
    v: Arrays,
    s2: float | None,
    outcome: str = "consistent",
    **fixed: float,
) -> Instance:
    printed = label.startswith("printed")
    more = {} if statement in ("thm4", "thm5") else {"printed": printed}
    return Instance(
        f"ling2022/{statement}",
        lambda: problem(v, seed=SEED) if s2 is None else drawn(v, s2, seed=SEED),
        lambda: expected(v, s2, fixed, **more),
        edition="printed" if printed else "corrected",
        constants=fixed,
        outcome=outcome,
        label=label.removeprefix("printed").lstrip(", "),
    )


PAIR = sphere(arrays(seed=2, m=6, n=2, d=5))
LONG = sphere(arrays(seed=2, m=60, n=2, d=5))
NOT = "not applicable"

INSTANCES = [
    instance("lem1", lem1, "", LONG, 0.07, seeds=60, eps=0.05),
    instance("lem1", lem1, "default", PAIR, 0.03),
    instance("lem1", lem1, "printed", PAIR, 0.07, seeds=50, c=0.3),
    instance("lem1", lem1, "printed, default", PAIR, 0.07),
    instance("lem1", lem1, "beyond 1/8", BALL, 0.2, seeds=20, eps=0.3),
    instance("lem1", lem1, "sigma_w is 0", BALL, 0.0, seeds=3),
    instance("lem1", lem1, "printed, sigma_w is 0", BALL, 0.0, seeds=3, c=0.1),
    instance("lem1", lem1, "nothing known", BALL, None, NOT, seeds=3),
    instance("thm4", thm4, "printed", LONG, 0.11, seeds=30),
    instance("thm4", thm4, "printed, other constants", PAIR, 0.11, seeds=30, C=0.2, c=0.4, l=1),
    instance("thm4", thm4, "printed, sigma_w is 0", LONG, 0.0, seeds=3, l=3),
    instance("thm4", thm4, "printed, sigma_w too large", PAIR, 0.2, NOT, seeds=3),
    instance("thm4", thm4, "printed, uneven", UNEVEN, 0.04, NOT, seeds=3),
    instance("thm4", thm4, "printed, opposite samples", OPPOSITE, 0.04, NOT, seeds=3),
    instance("thm2", thm2, "", PAIR, 0.04, seeds=30, C=0.13, t=0.4),
    instance("thm2", thm2, "printed", PAIR, 0.07, seeds=30, C=0.2, t=0.55),
    instance("thm2", thm2, "defaults", PAIR, 0.04, NOT, seeds=3),
    instance("thm2", thm2, "printed, defaults", PAIR, 0.04, NOT, seeds=3),
    instance("thm2", thm2, "sigma_w too large", PAIR, 0.2, NOT, seeds=3, C=0.1),
    instance("thm2", thm2, "without sigma_w", PAIR, None, NOT, seeds=3),
    instance("thm2", thm2, "uneven", UNEVEN, 0.04, NOT, seeds=3),
    instance("thm2", thm2, "a sample twice", TWICE, 0.04, NOT, seeds=3),
    instance("thm5", thm5, "", PAIR, 0.11, seeds=40, l=3, c=0.9, C=0.03),
    instance("thm5", thm5, "defaults", LONG, 0.11, seeds=20),
    instance("thm5", thm5, "one layer", PAIR, 0.06, seeds=40, l=1, c=1.2, C=0.2),
    instance("thm5", thm5, "sigma_w too large", PAIR, 0.2, NOT, seeds=3),
    instance("thm5", thm5, "sigma_w is 0", PAIR, 0.0, seeds=3),
    instance("thm5", thm5, "without sigma_w", PAIR, None, NOT, seeds=3),
    instance("thm5", thm5, "uneven", UNEVEN, 0.04, NOT, seeds=3),
]
