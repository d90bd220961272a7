"""Ling et al. 2022, what holds at any parameters: section 2.2, (11), the steps of the sketches."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm as normal

import deqcheck as dq
from deqcheck.seeds import rng

from .harness import IF_EXACT, Expected, Instance, Sides
from .ling2022_condition import constants, start
from .ling2022_kernel import (
    BALL,
    BELOW,
    OPPOSITE,
    TWICE,
    UNEVEN,
    WIDE,
    Q,
    assumption_2,
    expectation,
    kernels,
    limit,
    norms,
)
from .ling2022_model import (
    CONTRACTS,
    ONE,
    UNIQUE,
    Arrays,
    arrays,
    contracts,
    equilibrium,
    features,
    norm_w,
    problem,
    relu,
    sphere,
    told,
)


def fro(A: np.ndarray) -> float:
    return float(np.sqrt(np.sum(A * A)))


def tightest(sides: list[tuple[float, float]], relation: str) -> Sides:
    left, right = max(sides, key=lambda each: each[0] / each[1])
    return told(left, relation, right)


def sec2_2(v: Arrays) -> Expected:
    """The layer on four pairs, twelve layers, all principal minors, all blocks of J."""
    found: dict[str, Sides] = {CONTRACTS: contracts(v)}
    if norm_w(v) >= 1:
        return found
    W, C, Z = v["W"], v["U"] @ v["X"], equilibrium(v)
    pairs = []
    for i in range(4):
        stream = rng(0, f"ling2022/sec2.2.{i}")
        A, B = (np.abs(C).max() * stream.standard_normal(C.shape) for _ in range(2))
        pairs.append((fro(relu(W @ A + C) - relu(W @ B + C)), fro(A - B)))
    distance = [fro(Z - layer) for layer in features(v, 12)]
    layers = list(zip(distance[1:], distance, strict=False))
    found["contracts"] = tightest(pairs, "<")
    found["nearer"] = tightest(layers if norm_w(v) else layers[:1], "<")
    m, M = len(W), np.eye(len(W)) - W
    if m <= 8:
        sets = [list(s) for count in range(1, m + 1) for s in combinations(range(m), count)]
        minors = [float(np.linalg.det(M[np.ix_(s, s)])) for s in sets]
        found["minors"] = told(min(minors), ">", 0.0)
    blocks = [np.eye(m) - np.diag(on) @ W for on in (Z > 0).T.astype(float)]
    least = min(float(np.linalg.svd(block, compute_uv=False)[-1]) for block in blocks)
    found["invertible"] = told(least, ">", 0.0)
    # Without memory both sides are 1.
    sharp = told(least, ">=", 1 - norm_w(v))
    found["sharp"] = sharp if norm_w(v) else Sides(1.0, ">=", 1.0, decision=IF_EXACT)
    return found


def eq11(v: Arrays) -> Expected:
    """E[relu(u) relu(v)] by an integral over u of u times the mean of relu(v) given u, at the
    cosine with the least expectation above 1e-6."""

    def inner(u: float, x: float) -> float:
        spread = np.sqrt((1 - x) * (1 + x))
        if spread == 0:
            return u * max(x * u, 0.0)
        t = x * u / spread
        return u * (x * u * normal.cdf(t) + spread * normal.pdf(t))

    unit = v["X"] / np.linalg.norm(v["X"], axis=0)
    cosines = np.clip(unit.T @ unit, -1.0, 1.0)
    np.fill_diagonal(cosines, 1.0)
    x = min(x for x in cosines.ravel() if Q(np.array(x)) / 2 > 1e-6)
    integral = quad(lambda u: inner(u, x) * normal.pdf(u), 0, 12, epsabs=1e-13, epsrel=1e-12)[0]
    return {"formula": Sides(integral, "==", float(Q(np.array(x))) / 2)}


def thm3_steps(v: Arrays, s2: float | None, last: int = 1) -> Expected:
    """Every entry, for the layers up to `last`, whose differences have digits."""
    found = assumption_2(v)
    if s2 is None:
        return found
    found[BELOW] = told(s2, "<", 0.125)
    X = v["X"]
    K, whole = kernels(X, s2, last + 1), limit(X, s2)
    steps, rests = [], []
    for layer in range(1, last + 1):
        after, before = np.abs(K[layer + 1] - K[layer]), np.abs(K[layer] - K[layer - 1])
        bound = s2 * before + 2 * s2**layer
        at = np.unravel_index(np.argmax(after - bound), bound.shape)
        steps.append((float(after[at]), float(bound[at])))
        rests.append((float(np.abs(whole - K[layer]).max()) ** 2, 4 * layer**2 * s2**layer))
    zero = Sides(0.0, "<=", 0.0)
    if len(X.T) == 1 and s2:
        # On the diagonal every layer has the ratio 1/3, and rounding says which is shown.
        shown = judged_first("thm3-steps", v, s2)
        steps = [min(steps, key=lambda each: abs(each[0] - shown))]
    found["step"] = tightest(steps, "<=") if s2 else zero
    found["rest"] = tightest(rests, "<=") if s2 else zero
    if X.shape[1] > 1:
        found["apart"] = told(largest_cosine(X, s2), "<", 1.0)
    return found


def largest_cosine(X: np.ndarray, s2: float) -> float:
    """(14), by iteration."""
    x = (X.T @ X / len(X))[~np.eye(X.shape[1], dtype=bool)]
    c = x
    for _ in range(100):
        c = s2 * Q(c) + (1 - s2) * x
    return float(np.abs(c).max())


def mean(A: np.ndarray) -> np.ndarray:
    """Of relu(u) relu(v) for covariances 2 A."""
    return 2 * expectation(A)


def thm5_mean(v: Arrays, s2: float | None) -> Expected:
    """Step (iii) at the layers 2 and 3; the diagonal as far off as the largest of its entries."""
    found = {**norms(v)}
    if s2 is None:
        return found
    found["positive"] = told(s2, ">", 0.0)
    if s2 == 0:
        return found
    X, Z, K = v["X"], features(v, 2), kernels(v["X"], s2, 3)
    m, n = len(v["W"]), X.shape[1]
    diagonal, off = [], []
    for layer in (2, 3):
        apart = Z[layer - 1].T @ Z[layer - 1] / m - K[layer - 1]
        E = mean(s2 * (apart + K[layer - 1]) + X.T @ X / len(X))
        k = int(np.argmax(np.abs(np.diag(apart))))
        diagonal.append((float(E[k, k] - K[layer][k, k]), s2 * float(apart[k, k])))
        for i, j in combinations(range(n), 2):
            largest = max(abs(float(apart[at])) for at in ((i, i), (j, j), (i, j)))
            off.append((abs(float(E[i, j] - K[layer][i, j])), s2 * largest))
    shown = judged_first("thm5-mean", v, s2)
    left, right = min(diagonal, key=lambda each: abs(each[0] - shown))
    # A difference of two numbers near 1.
    found["diagonal"] = Sides(left, "==", right, within=1e-6)
    if n > 1:
        found["between"] = tightest(off, "<=")
    return found


def judged_first(name: str, v: Arrays, s2: float) -> float:
    """The left side that the statement shows, where error bars and rounding say which it is."""
    verdict = dq.judge(f"ling2022/{name}", problem(v, sigma_w2=s2))
    return float(verdict.conclusions[0].left.value)


def weyl(v: Arrays, s2: float | None) -> Expected:
    found = {UNIQUE: ONE}
    if s2 is None:
        return found
    Z, K, m = equilibrium(v), limit(v["X"], s2), len(v["W"])
    G = Z.T @ Z
    lambda_0 = float(np.linalg.eigvalsh(G)[0]) if m >= len(G) else 0.0
    star, distance = float(np.linalg.eigvalsh(K)[0]), fro(G / m - K)
    if len(G) == 1:
        return {**found, "single": told(abs(lambda_0 / m - star), "==", distance)}
    return {**found, "weyl": told(lambda_0, ">=", m * (star - distance))}


def eq8(v: Arrays) -> Expected:
    """The ratio of (8) is at most sqrt(lambda_0) (1 - rho_w)^2/(4 (2 + sqrt2) n rho_a r_0) at delta
    = 0, both multiplied by what makes them polynomials."""
    found: dict[str, Sides] = {CONTRACTS: contracts(v)}
    if norm_w(v) >= 1:
        return found
    s, n = start(v), v["X"].shape[1]
    c = constants(s, 0.0)
    left = s["lambda_0"] * n * c["rho_a"] ** 2
    right = (1 - c["rho_w"]) ** 2 * (c["c_w"] ** 2 + c["c_u"] ** 2) * fro(v["X"]) ** 2
    return {**found, "cap": told(left, "<=", right)}


def _instance(
    name: str, expected: Expected, v: Arrays, label: str, outcome: str, s2: float | None = None
) -> Instance:
    return Instance(
        f"ling2022/{name}",
        lambda: problem(v, sigma_w2=s2),
        lambda: expected(v) if name in ("sec2.2", "eq11", "sec3.2-eq8") else expected(v, s2),
        outcome=outcome,
        label=label,
    )


def steps(label: str, v: Arrays, s2: float | None, last: int, outcome: str) -> Instance:
    return Instance(
        "ling2022/thm3-steps",
        lambda: problem(v, sigma_w2=s2),
        lambda: thm3_steps(v, s2, last),
        outcome=outcome,
        label=label,
    )


YES, NO, NOT = "confirmed", "not applicable", "not checked"
SLOW = arrays(seed=6, m=6, n=3, d=2, q=0.9)
BIG = arrays(seed=7, m=11, n=2, d=3, q=0.8)
ONE_SAMPLE = sphere(arrays(seed=6, m=5, n=1, d=3))
FEW = sphere(arrays(seed=6, m=2, n=3, d=4))
BEYOND = {**SLOW, "W": SLOW["W"] * 1.5 / 0.9}

INSTANCES = [
    _instance("sec2.2", sec2_2, SLOW, "", YES),
    _instance("sec2.2", sec2_2, BIG, "eleven units", YES),
    _instance("sec2.2", sec2_2, arrays(q=0.0), "no memory", YES),
    _instance("sec2.2", sec2_2, BEYOND, "no contraction", NO),
    _instance("eq11", eq11, BALL, "", YES),
    _instance("eq11", eq11, OPPOSITE, "opposite samples", YES),
    _instance("eq11", eq11, UNEVEN, "uneven", YES),
    _instance("eq11", eq11, ONE_SAMPLE, "one sample", YES),
    steps("", BALL, 0.08, 5, YES),
    steps("four samples", WIDE, 0.11, 6, YES),
    steps("one sample", ONE_SAMPLE, 0.05, 4, YES),
    steps("sigma_w is 0", BALL, 0.0, 1, YES),
    steps("beyond 1/8", BALL, 0.3, 11, NO),
    steps("every layer that is looked at", WIDE, 0.6, 20, NO),
    steps("without sigma_w", BALL, None, 1, NOT),
    steps("a sample twice", TWICE, None, 1, NO),
    _instance("thm5-mean", thm5_mean, BALL, "", YES, 0.08),
    _instance("thm5-mean", thm5_mean, WIDE, "beyond 1/8", YES, 0.5),
    _instance("thm5-mean", thm5_mean, ONE_SAMPLE, "one sample", YES, 0.1),
    _instance("thm5-mean", thm5_mean, BALL, "sigma_w is 0", NO, 0.0),
    _instance("thm5-mean", thm5_mean, BALL, "without sigma_w", NOT),
    _instance("sec4.4-weyl", weyl, BALL, "", YES, 0.08),
    _instance("sec4.4-weyl", weyl, UNEVEN, "uneven", YES, 0.3),
    _instance("sec4.4-weyl", weyl, FEW, "fewer units than samples", YES, 0.05),
    _instance("sec4.4-weyl", weyl, ONE_SAMPLE, "one sample", YES, 0.1),
    _instance("sec4.4-weyl", weyl, BALL, "without sigma_w", NOT),
    _instance("sec3.2-eq8", eq8, BALL, "", YES),
    _instance("sec3.2-eq8", eq8, SLOW, "slow", YES),
    _instance("sec3.2-eq8", eq8, BEYOND, "no contraction", NO),
]
