"""Ling et al. 2022, what is claimed of draws: section 3.2, section 4, the law of M, the steps of
Theorem 5 and section 4.4, all drawn and counted again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from scipy.stats import beta, chi2, kstest, linregress
from scipy.stats import norm as normal
from scipy.stats import t as student

from deqcheck.seeds import rng

from .harness import Expected, Instance, Sides
from .ling2022_condition import condition, start
from .ling2022_draws import LONG, PAIR, SEED, draw, frequency, width
from .ling2022_kernel import (
    BALL,
    OPPOSITE,
    TWICE,
    UNEVEN,
    Q,
    assumption_1,
    assumption_2,
    kernels,
    lambda_star,
    limit,
    norms,
    variances,
)
from .ling2022_model import (
    Arrays,
    arrays,
    drawn,
    equilibrium,
    features,
    lambda_min,
    norm_w,
    problem,
    residual,
    sphere,
    told,
)
from .ling2022_steps import fro, mean

Fixed = Mapping[str, float]


def normals(name: str, number: int, array: str, shape: tuple[int, ...]) -> np.ndarray:
    return rng(SEED, f"ling2022/{name}.{number}.{array}").standard_normal(shape)


def norm(A: np.ndarray) -> float:
    """The root of the largest eigenvalue of A^T A; Euclid's of a vector."""
    if A.ndim == 1:
        return float(np.sqrt(A @ A))
    return float(np.sqrt(np.linalg.eigvalsh(A.T @ A if A.shape[0] > A.shape[1] else A @ A.T)[-1]))


def largest_constant(w: Arrays, s2: float) -> float:
    """With delta = r/4; infinite where |W| + delta reaches 1."""
    delta = (1 - np.sqrt(8 * s2)) / 4
    left = 1 - norm(w["W"]) - delta
    if left <= 0:
        return np.inf
    c_u, c_a = (norm(w["a"]) + delta) / left, (norm(w["U"]) + delta) / left
    return max(c_u * c_a, c_u, c_a)


def of_dimension(name: str, d: int, number: int, s2: float) -> float:
    """For eight units, over sqrt(m/d)."""
    scales = {"W": (s2 / 4) ** 0.5, "U": (2 / d) ** 0.5, "a": 8**-0.5}
    shapes = {"W": (8, 8), "U": (8, d), "a": (8,)}
    w = {k: scale * normals(name, number, k, shapes[k]) for k, scale in scales.items()}
    size = norm(w["U"]) if name == "sec3.2-u" else largest_constant(w, s2)
    return size * (d / 8) ** 0.5 if size < np.inf else np.nan


@cache
def fit(name: str, seeds: int, s2: float) -> tuple[float, float]:
    """The exponent by a regression, with Student's interval and the drift between the halves."""
    sizes = np.array([32 * 2 ** (seed % 4) for seed in range(seeds)])
    y = np.array([of_dimension(name, int(d), seed, s2) for seed, d in enumerate(sizes)])
    x, y = np.log(sizes[y > 0]), np.log(y[y > 0])
    line, small = linregress(x, y), x <= np.log(80)
    drift = abs(linregress(x[small], y[small]).slope - linregress(x[~small], y[~small]).slope)
    return line.slope, student.ppf(1 - 1e-3 / 2, len(x) - 2) * line.stderr + drift


def sec3_2(name: str) -> Callable[..., Expected]:
    """The constants and probabilities of the orders, r = 1 - 2 sqrt2 sigma_w."""

    def expected(v: Arrays, s2: float | None, fixed: Fixed, printed: bool) -> Expected:
        found = dict(assumption_1(v, s2, s2 is not None, "WU" if name == "sec3.2-w" else "WUa"))
        if name == "sec3.2-phi":
            found |= norms(v)
        if s2 is None or failing(found):
            return found
        seeds = int(fixed["seeds"])
        if printed:
            exponent, radius = fit(name, seeds, s2)
            return {**found, "allows": told(exponent, "<=", radius)}
        (m, d), n, t = v["U"].shape, v["X"].shape[1], fixed.get("t", 0.05)
        r, root = 1 - 2 * np.sqrt(2 * s2), (m / d) ** 0.5
        steep = np.exp(-m * r**2 / (16 * s2)) if s2 else 0.0
        wide = np.exp(-(m + d + 2 * (m * d) ** 0.5) / 2)
        largest = 48 * np.sqrt(2) * (1 + root + r / 16 * 2**0.5) * (2 + r / 4) / (1.5 * r**2)
        worst_loss = (4 * n / r**2 + np.sum(v["y"] ** 2)) / t
        events: dict[str, tuple[Callable[[Arrays], bool], float]] = {
            "sec3.2-w": (lambda w: norm(w["W"]) < 1, steep**4),
            "sec3.2-u": (lambda w: norm(w["U"]) <= 8**0.5 * (1 + root), wide),
            "sec3.2-c": (
                lambda w: largest_constant(w, s2) <= largest,
                steep + wide + (2 * np.exp(-1.5)) ** m,
            ),
            "sec3.2-a": (lambda w: norm(w["a"]) >= 0.5, (np.exp(0.375) / 2) ** m),
            "sec3.2-phi": (
                lambda w: np.sum(residual(w, equilibrium(w)) ** 2) / 2 <= worst_loss,
                t + steep,
            ),
        }
        event, failure = events[name]
        draws = [draw(v, s2, f"ling2022/{name}", i) for i in range(seeds)]
        return {**found, "agrees": frequency(event, draws, max(1 - failure, 0.0))}

    return expected


def failing(found: Expected) -> bool:
    return any(isinstance(x, Sides) and x.decision != "holds" for x in found.values())


def eq8(v: Arrays, s2: float | None, fixed: Fixed, printed: bool = True) -> Expected:
    """(8) for delta = 0 over draws of W, U and a."""
    found = {**assumption_1(v, s2, s2 is not None, "WUa"), **assumption_2(v)}
    if s2 is None:
        return found
    C, t = fixed.get("C", 1.0), fixed.get("t", 0.05)
    found["independent"] = told(lambda_star(v["X"], s2), ">", 0.0)
    found["wide"] = width(v, s2, C, t, "printed")
    if failing(found):
        return found

    def holds(w: Arrays) -> bool:
        # The smaller delta is, the easier (8): in the limit.
        return norm_w(w) < 1 and condition(start(w), 1e-15)["eq8"].decision == "holds"

    draws = [draw(v, s2, "ling2022/sec3.2-eq8", i) for i in range(int(fixed["seeds"]))]
    return {**found, "agrees": frequency(holds, draws, 1 - t)}


def sec4(v: Arrays, s2: float | None, fixed: Fixed, printed: bool = False) -> Expected:
    """sigma_w = 0: m >= C (n/lambda)^2 log(n/t), and lambda_0 >= m lambda/2."""
    found = {**assumption_1(v, s2, s2 is not None), **assumption_2(v)}
    if s2 is None:
        return found
    m, n, star = len(v["W"]), v["X"].shape[1], lambda_star(v["X"], s2)
    C, t = fixed.get("C", 288.0), fixed.get("t", 0.05)
    found["memoryless"] = told(s2, "==", 0.0)
    found["independent"] = told(star, ">", 0.0)
    found["wide"] = told(m, ">=", C * (n / star) ** 2 * (np.log(n) - np.log(t)))
    if failing(found):
        return found
    draws = [draw(v, 0.0, "ling2022/sec4", i) for i in range(int(fixed["seeds"]))]
    return {**found, "agrees": frequency(lambda w: lambda_min(w) >= m * star / 2, draws, 1 - t)}


def off_kernel(w: Arrays, K: np.ndarray) -> float:
    Z = equilibrium(w)
    return fro(Z.T @ Z / len(Z) - K)


def half(v: Arrays, s2: float | None, fixed: Fixed, printed: bool) -> Expected:
    """|G/m - K|_F <= lambda_star/2 at the width of Theorem 2."""
    found = {**assumption_1(v, s2, s2 is not None), **assumption_2(v)}
    if s2 is None:
        return found
    star, C, t = lambda_star(v["X"], s2), fixed.get("C", 288.0), fixed.get("t", 0.05)
    found["independent"] = told(star, ">", 0.0)
    found["wide" if printed else "wider"] = width(v, s2, C, t, "printed" if printed else "proof")
    if failing(found):
        return found
    K = limit(v["X"], s2)
    draws = [draw(v, s2, "ling2022/sec4.4-half", i) for i in range(int(fixed["seeds"]))]
    return {**found, "agrees": frequency(lambda w: off_kernel(w, K) <= star / 2, draws, 1 - t)}


def sec4_4(v: Arrays, s2: float | None, fixed: Fixed, printed: bool = False) -> Expected:
    """|G/m - K|_F <= B n (2 sqrt2 sigma_w)^l with the probability of Theorem 5."""
    found = {**assumption_1(v, s2, s2 is not None), **assumption_2(v)}
    if s2 is None or failing(found):
        return found
    layers, c, C, B = (fixed.get(k, x) for k, x in (("l", 2), ("c", 0.1), ("C", 0.0), ("B", 1.0)))
    m, n, K = len(v["W"]), v["X"].shape[1], limit(v["X"], s2)
    bound = B * n * (8 * s2) ** (layers / 2)
    draws = [draw(v, s2, "ling2022/sec4.4", i) for i in range(int(fixed["seeds"]))]
    claimed = 1 - n**2 * np.exp(-c * m * (8 * s2) ** layers + C * layers**2)
    near = frequency(lambda w: off_kernel(w, K) <= bound, draws, min(max(claimed, 0.0), 1.0))
    return {**found, "agrees": near}


def pair(v: Arrays, fixed: Fixed) -> tuple[int, int]:
    return int(fixed.get("i", 1)) - 1, int(fixed.get("j", min(2, v["X"].shape[1]))) - 1


def thm5_fixed(v: Arrays, s2: float | None, fixed: Fixed, printed: bool) -> Expected:
    """relu(M h).relu(M h')/m for the h and h' of the start, against |h| |h'| Q(cos)."""
    n, m, (i, j) = v["X"].shape[1], len(v["W"]), pair(v, fixed)
    found = {"there": told(max(i, j) + 1, "<=", n)}
    if printed:
        found |= {**assumption_1(v, s2, s2 is not None), **assumption_2(v)}
    if s2 is None or failing(found):
        return found
    layer, eps, c = int(fixed.get("l", 1)), fixed.get("eps", 0.5), fixed.get("c", 0.05)
    Z = features(v, layer - 1)[-1]
    A = s2 * Z.T @ Z / m + v["X"].T @ v["X"] / len(v["X"])
    h, h2, cross = A[i, i] ** 0.5, A[j, j] ** 0.5, A[i, j]
    cosine = 1.0 if i == j else cross / (h * h2)
    wanted = h * h2 * float(Q(np.array(cosine)))

    def near(number: int) -> bool:
        g = rng(SEED, f"ling2022/thm5-fixed.{number}").standard_normal((m, 2))
        u, w = h * g[:, 0], h2 * (cosine * g[:, 0] + np.sqrt(1 - cosine**2) * g[:, 1])
        return abs(2 * np.mean(np.maximum(u, 0) * np.maximum(w, 0)) - wanted) <= eps

    s = h * h2
    failure = (
        np.exp(-c * m * eps**2) if printed else 2 * np.exp(-m * eps**2 / (32 * s**2 + 8 * s * eps))
    )
    claimed = min(max(1 - failure, 0.0), 1.0)
    return {**found, "agrees": frequency(near, list(range(int(fixed["seeds"]))), claimed)}


def of_draws(name: str) -> Callable[..., Expected]:
    """Steps (ii) and (iii) and the recursion, at one pair of one draw."""

    def expected(v: Arrays, s2: float | None, fixed: Fixed, printed: bool) -> Expected:
        n, m, (i, j), layer = v["X"].shape[1], len(v["W"]), pair(v, fixed), int(fixed.get("l", 2))
        eps = fixed.get("eps", (2 * np.sqrt(2 * (s2 or 0.0))) ** layer)
        found = {
            "there": told(max(i, j) + 1, "<=", n),
            "resolved": told(eps, ">", 0.0),
            **assumption_1(v, s2, s2 is not None),
            **assumption_2(v),
        }
        if s2 is None or failing(found):
            return found
        xi, K = v["X"].T @ v["X"] / len(v["X"]), kernels(v["X"], s2, layer)

        def event(w: Arrays) -> bool:
            *_, before, now = (Z.T @ Z / m for Z in features(w, layer))
            E, k = mean(s2 * before + xi)[i, j], K[layer][i, j]
            earlier = s2 * abs(before[i, j] - K[layer - 1][i, j])
            return {
                "thm5-net": abs(now[i, j] - E) <= eps,
                "thm5-mean": abs(E - k) <= earlier + eps,
                "thm5-recursion": abs(now[i, j] - k) <= earlier + 2 * eps,
            }[name]

        draws = [draw(v, s2, f"ling2022/{name}", number) for number in range(int(fixed["seeds"]))]
        c, C = fixed.get("c", 0.05), fixed.get("C", 0.0)
        claimed = 1 - np.exp(-c * m * eps**2 + C * layer * np.log(1 / eps))
        return {**found, "agrees": frequency(event, draws, min(max(claimed, 0.0), 1.0))}

    return expected


def matrix(w: Arrays, s2: float, layers: int, printed: bool) -> np.ndarray:
    """[W V, W p/|p|, W q/|q|] sqrt(m)/sigma_w and sqrt(d) U, one vector of V after the other; q
    without its part along p unless printed."""
    Z, m = features(w, layers), len(w["W"])
    V: list[np.ndarray] = []
    vectors = [(k, Z[k][:, s]) for k in range(1, layers + 1) for s in (0, 1)]
    for number, (k, z) in enumerate(vectors):
        along = V[:-1] if printed and k == layers and number % 2 else V
        for _ in range(2):
            for e in along:
                z = z - (e @ z) * e
        V.append(z / np.sqrt(z @ z))
    return np.hstack([np.sqrt(m / s2) * w["W"] @ np.array(V).T, np.sqrt(len(w["X"])) * w["U"]])


def law(v: Arrays, s2: float | None, fixed: Fixed, printed: bool) -> Expected:
    """Kolmogorov's distance of four statistics from their laws."""
    m, n, layers, seeds = len(v["W"]), v["X"].shape[1], int(fixed.get("l", 1)), int(fixed["seeds"])
    words = "W and U have independent normal entries"
    found: dict[str, Sides] = {words: told(0 if s2 is None else 2, "==", 2)}
    if s2 is not None:
        found |= {"positive": told(s2, ">", 0.0), **variances(s2, "WU")}
    found |= {"pair": told(n, ">=", 2), "room": told(m, ">=", 2 * layers)}
    if failing(found):
        return found
    draws = [draw(v, s2, "ling2022/lem4-law", i) for i in range(seeds)]
    every = [matrix(w, s2, layers, printed) for w in draws]
    at, size = 2 * layers - 2, every[0].size

    half = (m - 1) / 2
    distances = [
        kstest([np.sum(M**2) / 2 for M in every], chi2(size).cdf).statistic,
        kstest([M.sum() for M in every], normal(scale=np.sqrt(2 * size)).cdf).statistic,
        kstest([M[0, at] for M in every], normal(scale=np.sqrt(2)).cdf).statistic,
        kstest(
            [angle(M[:, at], M[:, at + 1]) for M in every], beta(half, half, -1, 2).cdf
        ).statistic,
    ]
    radius = np.sqrt(np.log(8 / 1e-3) / (2 * seeds))
    return {**found, "near": told(float(max(distances)), "<=", float(radius))}


def angle(u: np.ndarray, v: np.ndarray) -> float:
    return float(u @ v / np.sqrt((u @ u) * (v @ v)))


ORDERS = ("sec3.2-w", "sec3.2-u", "sec3.2-c", "sec3.2-a", "sec3.2-phi")
EXPECTED: dict[str, Callable[..., Expected]] = {
    **{name: sec3_2(name) for name in ORDERS},
    "sec3.2-eq8": eq8,
    "sec4": sec4,
    "sec4.4": sec4_4,
    "sec4.4-half": half,
    "thm5-fixed": thm5_fixed,
    "lem4-law": law,
    **{name: of_draws(name) for name in ("thm5-net", "thm5-mean", "thm5-recursion")},
}


def counted(
    name: str, label: str, v: Arrays, s2: float | None, outcome: str = "consistent", **fixed: float
) -> Instance:
    printed = label.startswith("printed")
    return Instance(
        f"ling2022/{name}",
        lambda: problem(v, seed=SEED) if s2 is None else drawn(v, s2, seed=SEED),
        cache(lambda: EXPECTED[name](v, s2, fixed, printed)),
        edition="printed" if printed else "corrected",
        constants=fixed,
        outcome=outcome,
        label=label.removeprefix("printed").lstrip(", "),
    )


NO, BAD = "not applicable", "inconsistent"
SINGLE = sphere(arrays(seed=6, m=40, n=1, d=3))
UNIT = sphere(arrays(seed=6, m=1, n=1, d=2))
LARGE = sphere(arrays(seed=6, m=210, n=1, d=2))
DOZEN = sphere(arrays(seed=6, m=12, n=2, d=3))
NARROW = sphere(arrays(seed=6, m=3, n=2, d=3))

INSTANCES = [
    *(counted(name, "", PAIR, 0.06, seeds=30) for name in ORDERS),
    *(counted(name, "sigma_w is 0", PAIR, 0.0, seeds=20) for name in ORDERS),
    *(counted(name, "wide", LONG, 0.02, seeds=10) for name in ORDERS),
    *(counted(name, "sigma_w too large", PAIR, 0.2, NO, seeds=9) for name in ORDERS),
    *(counted(name, "given", PAIR, None, NO, seeds=9) for name in ORDERS),
    counted("sec3.2-phi", "uneven", UNEVEN, 0.05, NO, seeds=9),
    counted("sec3.2-phi", "half", PAIR, 0.01, seeds=30, t=0.5),
    counted("sec3.2-u", "printed", PAIR, 0.03, BAD, seeds=24),
    counted("sec3.2-c", "printed", PAIR, 0.005, BAD, seeds=120),
    counted("sec3.2-c", "printed, noisy", PAIR, 0.12, seeds=24),
    counted("sec3.2-u", "printed, sigma_w too large", PAIR, 0.2, NO, seeds=9),
    counted("sec3.2-eq8", "printed", SINGLE, 0.05, BAD, seeds=12),
    counted("sec3.2-eq8", "printed, other constants", PAIR, 0.05, BAD, seeds=12, C=0.2, t=0.4),
    counted("sec3.2-eq8", "printed, defaults", PAIR, 0.05, NO, seeds=12),
    counted("sec3.2-eq8", "printed, without sigma_w", PAIR, None, NO, seeds=12),
    counted("sec4", "", LARGE, 0.0, seeds=8, t=0.5),
    counted("sec4", "other constants", LONG, 0.0, seeds=30, C=3.0, t=0.3),
    counted("sec4", "memory", LONG, 0.03, NO, seeds=3, C=0.1),
    counted("sec4", "too narrow", PAIR, 0.0, NO, seeds=3),
    counted("sec4", "without sigma_w", PAIR, None, NO, seeds=3),
    counted("sec4.4", "", LONG, 0.11, seeds=20),
    counted("sec4.4", "other constants", PAIR, 0.11, seeds=30, l=3, c=0.7, C=0.02, B=1.4),
    counted("sec4.4", "sigma_w too large", PAIR, 0.2, NO, seeds=3),
    counted("sec4.4", "uneven", UNEVEN, 0.04, NO, seeds=3),
    counted("sec4.4-half", "", LONG, 0.04, seeds=20, C=2.0, t=0.4),
    counted("sec4.4-half", "printed", LONG, 0.07, seeds=20, C=2.0, t=0.4),
    counted("sec4.4-half", "defaults", PAIR, 0.04, NO, seeds=3),
    counted("sec4.4-half", "printed, defaults", PAIR, 0.04, NO, seeds=3),
    counted("sec4.4-half", "without sigma_w", PAIR, None, NO, seeds=3),
    counted("thm5-fixed", "", PAIR, 0.08, seeds=40, eps=3.0),
    counted(
        "thm5-fixed", "third layer, one sample twice", BALL, 0.3, seeds=40, eps=6, l=3, i=2, j=2
    ),
    counted("thm5-fixed", "printed", LONG, 0.08, seeds=40),
    counted("thm5-fixed", "printed, far out", UNIT, 0.08, BAD, seeds=400, eps=10.0, c=0.2),
    counted("thm5-fixed", "printed, opposite", OPPOSITE, 0.08, NO, seeds=3),
    counted("thm5-fixed", "no such sample", PAIR, 0.08, NO, seeds=3, j=3),
    counted("thm5-net", "", LONG, 0.08, seeds=20),
    counted(
        "thm5-net", "other constants", BALL, 0.11, seeds=20, l=3, i=2, j=3, eps=0.7, c=0.9, C=0.2
    ),
    counted("thm5-net", "sigma_w is 0", PAIR, 0.0, NO, seeds=3),
    counted("thm5-net", "no such sample", PAIR, 0.04, NO, seeds=3, i=4),
    counted("thm5-mean", "printed", LONG, 0.08, seeds=20),
    counted("thm5-mean", "printed, small eps", PAIR, 0.12, seeds=30, eps=0.01, c=3e3),
    counted("thm5-mean", "printed, a sample twice", TWICE, 0.04, NO, seeds=3),
    counted("thm5-recursion", "", LONG, 0.08, seeds=20),
    counted("thm5-recursion", "one sample", SINGLE, 0.11, seeds=20, l=1, eps=0.2, c=0.1),
    counted("thm5-recursion", "without sigma_w", PAIR, None, NO, seeds=3, eps=0.1),
    counted("lem4-law", "", DOZEN, 0.08, seeds=60, l=2),
    counted("lem4-law", "one layer", LONG, 0.3, seeds=40),
    counted("lem4-law", "printed", LONG, 0.08, BAD, seeds=40),
    counted("lem4-law", "printed, few draws", DOZEN, 0.08, seeds=60),
    counted("lem4-law", "printed, two layers", LONG, 0.08, BAD, seeds=60, l=2),
    counted("lem4-law", "too narrow", NARROW, 0.08, NO, seeds=3, l=2),
    counted("lem4-law", "one sample", SINGLE, 0.08, NO, seeds=3),
    counted("lem4-law", "sigma_w is 0", PAIR, 0.0, NO, seeds=3),
    counted("lem4-law", "given", PAIR, None, NO, seeds=3),
]
EXEMPT = {
    "ling2022/lem4-law": {"agrees": "Of claims with a probability; this one is about a law."},
}
