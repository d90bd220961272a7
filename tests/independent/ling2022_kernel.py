"""The population kernel of Ling et al. 2022: Definition 1 by quadrature, Lemma 3, Theorem 3."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import deqcheck as dq

from .harness import Expected, Instance, Noise, Sides
from .ling2022_model import Arrays, arrays, problem, sphere, told

BELOW = "sigma_w^2 below 1/8"
RADIUS = "the samples have norm sqrt(d)"
DISTINCT = "no two samples agree"
PARALLEL = "no two samples are parallel"
NORMAL = "W and U have independent normal entries"
NORMAL_ALL = "W, U and a have independent normal entries"
# Of the arc on which both factors are positive; the integrand has a few bends there.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)


def expectation(Lambda: np.ndarray) -> np.ndarray:
    """E[relu(u) relu(v)] for (u, v) ~ N(0, [[L_ii, L_ij], [L_ij, L_jj]]): in polar coordinates the
    radius integrates to 2, and the angle runs where both cosines are positive."""
    lengths = np.sqrt(np.diag(Lambda))
    size = np.outer(lengths, lengths)
    angle = np.arccos(np.clip(Lambda / size, -1.0, 1.0))
    np.fill_diagonal(angle, 0.0)
    half = (np.pi - angle) / 2
    phi = np.pi / 2 - half[..., None] * (1 - NODES)
    inner = np.cos(phi) * np.cos(phi - angle[..., None])
    return 2 / (2 * np.pi) * size * half * (inner @ WEIGHTS)


def kernels(X: np.ndarray, s2: float, last: int) -> list[np.ndarray]:
    """Definition 1: K^(0), ..., K^(last), (6); for samples of other norms with |x_i|^2/d for 1."""
    xi = X.T @ X / len(X)
    found = [np.zeros_like(xi)]
    for _ in range(last):
        found.append(2 * expectation(s2 * found[-1] + xi))
    return found


def limit(X: np.ndarray, s2: float) -> np.ndarray:
    """K^(l) for so large an l that nothing changes any more."""
    return kernels(X, s2, int(40 / -np.log(s2)) + 2)[-1] if s2 else kernels(X, s2, 1)[-1]


def lambda_star(X: np.ndarray, s2: float) -> float:
    return float(np.linalg.eigvalsh(limit(X, s2))[0])


def norms(v: Arrays) -> dict[str, Sides | Noise]:
    X = v["X"]
    off = max(abs(float(np.sqrt(x @ x / len(X))) - 1) for x in X.T)
    return {RADIUS: Noise(0.0, 1.0) if off < 1e-14 else told(off, "<=", 1e-12)}


def assumption_2(v: Arrays, lines: bool = True) -> dict[str, Sides | Noise]:
    """Norms sqrt(d), and the distance of two samples on the unit sphere, or of their lines."""
    X, found = v["X"] / np.linalg.norm(v["X"], axis=0), norms(v)
    pairs = [(X[:, i], X[:, j]) for i in range(X.shape[1]) for j in range(i)]
    if pairs:
        signs = (1, -1) if lines else (1,)
        apart = min(float(np.linalg.norm(x - s * y)) for x, y in pairs for s in signs)
        found[PARALLEL if lines else DISTINCT] = told(apart, ">", 0.0)
    return found


def assumption_1(
    v: Arrays, s2: float | None, laws: bool = True, names: str = "WU"
) -> dict[str, Sides | Noise]:
    """The variances 2 sigma_w^2/m, 2/d and 1/m, times m, d and m."""
    below = {} if s2 is None else {BELOW: told(s2, "<", 0.125)}
    words = NORMAL_ALL if "a" in names else NORMAL
    if not laws:
        return {**below, words: told(0, "==", len(names))}
    return {**below, words: told(len(names), "==", len(names)), **variances(s2, names)}


def variances(s2: float | None, names: str) -> dict[str, Sides | Noise]:
    known = {"W": 2 * s2, "U": 2.0, "a": 1.0} if s2 is not None else {"U": 2.0, "a": 1.0}
    return {
        f"variance of the entries of {name}": Sides(known[name], "==", known[name])
        for name in names
        if name in known
    }


def Q(x: np.ndarray) -> np.ndarray:
    """(11)."""
    x = np.clip(x, -1.0, 1.0)
    return (np.sqrt(1 - x * x) + (np.pi - np.arccos(x)) * x) / np.pi


def rho(s2: float, layer: int) -> float:
    return (1 - s2**layer) / (1 - s2)


def by_kernel(X: np.ndarray, s2: float, printed: bool) -> list[np.ndarray]:
    """(12) from the kernel of Definition 1: the denominator has K_ii, printed K_ij."""
    xi, found = X.T @ X / len(X), []
    for layer, K in enumerate(kernels(X, s2, 5), 1):
        below = K if printed else rho(s2, layer - 1)
        K = rho(s2, layer) * Q((s2 * K + xi) / (s2 * below + 1))
        np.fill_diagonal(K, rho(s2, layer))
        found.append(K)
    return found


def by_cosine(X: np.ndarray, s2: float, printed: bool) -> list[np.ndarray]:
    """(13) with rho^(l), printed rho^(l-1), from cos th^(1) = x_i.x_j/d."""
    xi = X.T @ X / len(X)
    cosine, found = xi, []
    for layer in range(1, 7):
        if layer > 1:
            share = 1 / rho(s2, layer - 1 if printed else layer)
            cosine = (1 - share) * Q(cosine) + share * xi
        K = rho(s2, layer) * Q(cosine)
        np.fill_diagonal(K, rho(s2, layer))
        cosine = np.where(np.eye(len(xi)), 1.0, cosine)
        found.append(K)
    return found


def lem3(v: Arrays, s2: float | None, printed: bool = False) -> Expected:
    """The entry and layer l <= 6 that are furthest apart, or the largest one where all agree."""
    below = {} if s2 is None or not printed else {BELOW: told(s2, "<", 0.125)}
    found = {**below, **(assumption_2(v) if printed else norms(v))}
    if s2 is None:
        return found
    X = v["X"]
    true = np.array(kernels(X, s2, 6)[1:])
    found["diagonal"] = told(float(true[5, 0, 0]), "==", rho(s2, 6))
    off = np.broadcast_to(~np.eye(X.shape[1], dtype=bool), true.shape)
    for name, formula in (("by_kernel", by_kernel), ("by_cosine", by_cosine)):
        K = np.array(formula(X, s2, printed))
        apart = np.abs(K - true)[off]
        at = int(np.argmax(apart if apart.max() > 1e-9 else true[off]))
        found[name] = told(float(K[off][at]), "==", float(true[off][at]))
    return found


def thm3(v: Arrays, s2: float | None, last: int, printed: bool) -> Expected:
    """Theorem 3 at the tightest layer from 1 to `last`, the last one whose difference has digits;
    on the diagonal all layers are tight, and rounding says which is shown."""
    found = assumption_2(v, lines=printed)
    if s2 is None:
        return found
    if printed:
        found[BELOW] = told(s2, "<", 0.125)
    else:
        found["positive"] = told(s2, ">", 0.0)
        if s2 == 0:
            return found
    X, K = v["X"], limit(v["X"], s2)
    n, layers = len(K), range(1, last + 1)
    D = {layer: K - each for layer, each in enumerate(kernels(X, s2, last))}
    off = ~np.eye(n, dtype=bool)
    tail = {layer: s2**layer / (1 - s2) for layer in layers}
    distance = {layer: float(np.sqrt(np.sum(D[layer] ** 2))) for layer in layers}
    found["definite"] = told(float(np.linalg.eigvalsh(K)[0]), ">", 0.0)
    if printed:
        loose = {layer: 4 * n**2 * layer * s2**layer for layer in layers}
        squares = {layer: x**2 for layer, x in distance.items()}
        # Without memory both sides are 0 at every layer.
        zero = Sides(0.0, "<=", 0.0)
        found["loose"] = tightest(squares, "<=", loose) if s2 else zero
        return found
    shown = diagonal_shown(v, s2)
    layer = min(layers, key=lambda each: abs(np.log(tail[each] / shown)))
    largest = {layer: float(D[layer][off].max()) for layer in layers}
    found["diagonal"] = Sides(tail[layer], "==", tail[layer])
    found["below"] = tightest(largest, "<", tail)
    found["rising"] = told(float(D[1][off].min()), ">", 0.0)
    found["upper"] = tightest(distance, "<", {k: n * x for k, x in tail.items()})
    found["lower"] = tightest(distance, ">", {k: n**0.5 * x for k, x in tail.items()})
    return found


def diagonal_shown(v: Arrays, s2: float) -> float:
    """Which of the layers the statement shows on the diagonal."""
    verdict = dq.judge("ling2022/thm3", problem(v, sigma_w2=s2))
    return next(c.left.value for c in verdict.conclusions if c.name == "on the diagonal")


def tightest(left: dict[int, float], relation: str, right: dict[int, float]) -> Sides:
    best: Callable = max if relation[0] == "<" else min
    at = best(right, key=lambda layer: left[layer] / right[layer])
    return told(left[at], relation, right[at])


def _lem3(label: str, v: Arrays, s2: float | None, outcome: str = "confirmed") -> Instance:
    printed = label.startswith("printed")
    return Instance(
        "ling2022/lem3",
        lambda: problem(v, sigma_w2=s2),
        lambda: lem3(v, s2, printed),
        edition="printed" if printed else "corrected",
        outcome=outcome,
        label=label.removeprefix("printed").lstrip(", "),
    )


def _thm3(
    label: str, v: Arrays, s2: float | None, last: int = 1, outcome: str = "confirmed"
) -> Instance:
    printed = label.startswith("printed")
    return Instance(
        "ling2022/thm3",
        lambda: problem(v, sigma_w2=s2),
        lambda: thm3(v, s2, last, printed),
        edition="printed" if printed else "corrected",
        outcome=outcome,
        label=label.removeprefix("printed").lstrip(", "),
    )


BALL = sphere(arrays(seed=3, m=4, n=3, d=5))
WIDE = sphere(arrays(seed=8, m=4, n=4, d=3))
# Norms that Assumption 2 does not allow.
UNEVEN = {**BALL, "X": BALL["X"] * np.array([0.9, 1.0, 1.2])}
TWICE = {**BALL, "X": BALL["X"][:, [0, 1, 1]]}

# x_3 = -x_1, which Assumption 2 forbids and sigma_w > 0 makes harmless.
OPPOSITE = {**BALL, "X": BALL["X"] * np.array([1.0, 1.0, 0.0])}
OPPOSITE["X"][:, 2] = -BALL["X"][:, 0]

INSTANCES = [
    _lem3("", BALL, 0.08),
    _lem3("beyond 1/8", WIDE, 0.6),
    _lem3("opposite samples", OPPOSITE, 0.08),
    _lem3("printed", BALL, 0.08, "refuted"),
    _lem3("printed, four samples", WIDE, 0.11, "refuted"),
    _lem3("printed, beyond 1/8", WIDE, 0.6, "not applicable"),
    _lem3("printed, opposite samples", OPPOSITE, 0.08, "not applicable"),
    _lem3("without sigma_w", BALL, None, "not checked"),
    _lem3("uneven, without sigma_w", UNEVEN, None, "not applicable"),
    _lem3("printed, a sample twice", TWICE, 0.08, "not applicable"),
    _thm3("", BALL, 0.08, 6),
    _thm3("beyond 1/8", WIDE, 0.6, 20),
    _thm3("opposite samples", OPPOSITE, 0.08, 6),
    _thm3("small", WIDE, 2e-4, 1),
    _thm3("printed", BALL, 0.08, 6),
    _thm3("printed, four samples", WIDE, 0.11, 7),
    _thm3("printed, beyond 1/8", WIDE, 0.6, 20, "not applicable"),
    _thm3("printed, opposite samples", OPPOSITE, 0.08, 6, "not applicable"),
    _thm3("printed, sigma_w is 0", BALL, 0.0, 1),
    _thm3("without sigma_w", BALL, None, outcome="not checked"),
    _thm3("sigma_w is 0", BALL, 0.0, outcome="not applicable"),
]
