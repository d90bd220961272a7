"""Ling et al. 2022: the gradients and features of one model; the other statements are beside."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

import deqcheck as dq
from deqcheck.seeds import rng

from . import (
    ling2022_condition,
    ling2022_draws,
    ling2022_kernel,
    ling2022_orders,
    ling2022_steps,
)
from .harness import IF_EXACT, Expected, Instance, Sides
from .ling2022_model import (
    CONTRACTS,
    NO_KINK,
    ONE,
    UNIQUE,
    Arrays,
    arrays,
    contracts,
    equilibrium,
    features,
    gradient,
    kink_margin,
    norm_w,
    printed_R,
    problem,
    relu,
    residual,
    sensitivities,
    sphere,
    squared,
    told,
)


def nilpotent() -> Arrays:
    """|W| = 1.7 with a unique equilibrium, because W is strictly triangular."""
    v = arrays(seed=4, m=4, n=2, d=3)
    W = np.zeros((4, 4))
    W[0, 1], W[1, 3], W[2, 3] = 1.7, -0.4, 0.3
    return {**v, "W": W}


def pl(v: Arrays, printed: bool = False) -> Expected:
    """(4) and (5) with H = G + (G + X^T X) o S^T S."""
    Z, X = equilibrium(v), v["X"]
    S, r, G = sensitivities(v, Z), residual(v, Z), Z.T @ Z
    H = G + (G + X.T @ X) * (S.T @ S)
    if printed:
        R, eye = printed_R(v, Z), np.eye(len(Z))
        H = G + R @ np.kron(G, eye) @ R.T + R @ np.kron(X.T @ X, eye) @ R.T
    (m, n), size = Z.shape, squared(gradient(v, Z))
    smallest, lambda_0 = (float(np.linalg.eigvalsh(A)[0]) for A in (H, G))
    bare = not v["a"].any()
    by_h, by_gram = smallest * float(r @ r), lambda_0 * float(r @ r) if m >= n else 0.0
    equal = bare and n == 1
    found = {
        UNIQUE: ONE,
        NO_KINK: kink_margin(v, Z),
        "identity": told(size, "==", float(r @ H @ r)),
        **({"equal_h": told(size, "==", by_h)} if n == 1 else {"by_h": told(size, ">=", by_h)}),
        "equal_gram" if equal else "by_gram": told(size, "==" if equal else ">=", by_gram),
    }
    if m >= n:
        relation = "==" if bare else ">="
        found["equal" if bare else "ordered"] = told(smallest, relation, lambda_0)
    if not printed:
        rest = float(np.linalg.eigvalsh(G + X.T @ X)[0]) * min(np.sum(S**2, axis=0))
        # Where H = G both sides are the same number, which is 0 if m < n.
        open_ = n == 1 or (bare and m >= n)
        sides = told(smallest, ">=", (lambda_0 if m >= n else 0.0) + rest)
        found["schur"] = (
            replace(sides, decision=IF_EXACT if n == 1 else "undecided") if open_ else sides
        )
    return found


def printed_gradient(v: Arrays, Z: np.ndarray) -> Arrays:
    """(3) with the R of Lemma 2 as printed."""
    back, eye = printed_R(v, Z).T @ residual(v, Z), np.eye(len(Z))
    vectors = {"W": np.kron(Z, eye) @ back, "U": np.kron(v["X"], eye) @ back}
    return {
        **{name: vector.reshape(v[name].shape, order="F") for name, vector in vectors.items()},
        "a": Z @ residual(v, Z),
    }


def along_directions(v: Arrays, g: Arrays, seed: int = 0) -> np.ndarray:
    """g in the four directions of the streams ling2022/lem2.0, ... of this seed."""
    found = []
    for i in range(4):
        stream, total = rng(seed, f"ling2022/lem2.{i}"), 0.0
        for name in ("W", "U", "a"):
            scale = max(1.0, float(np.abs(v[name]).max()))
            total += float(np.sum(g[name] * scale * stream.standard_normal(v[name].shape)))
        found.append(total)
    return np.array(found)


def smallest_J(v: Arrays) -> float:
    """1 - |W| where that is positive; of a triangular W with zeros on the diagonal (I - |W|)^-1 is
    the largest of all (I - D W)^-1, entry by entry."""
    q = norm_w(v)
    if q < 1:
        return 1 - q
    inverse = np.linalg.inv(np.eye(len(v["W"])) - np.abs(v["W"]))
    return 1 / (float(np.linalg.svd(inverse, compute_uv=False)[0]) * (1 + 1e-6))


def lem2(v: Arrays, printed: bool = False) -> Expected:
    """(3): the formula in some direction, and the derivative in it; error bars and rounding say
    which of the directions is the worst."""
    Z = equilibrium(v)
    true = gradient(v, Z)
    formula = printed_gradient(v, Z) if printed else true
    left, right = (along_directions(v, g) for g in (formula, true))
    edition = "printed" if printed else "corrected"
    shown = dq.judge("ling2022/lem2", problem(v), edition=edition).conclusions[0].left.value
    i = int(np.argmin(np.abs(left - shown)))
    return {
        UNIQUE: ONE,
        "invertible": told(smallest_J(v), ">", 0.0),
        NO_KINK: kink_margin(v, Z),
        "derivative": told(left[i], "==", right[i]),
    }


def lem4(v: Arrays, s2: float | None, edition: str = "corrected") -> Expected:
    """Lemma 4: G^(l+1)_ij again, h.h' and the columns of M; error bars and rounding say which layer
    and pair is the worst."""
    if not s2:
        return {} if s2 is None else {"positive": told(s2, ">", 0.0)}
    printed = edition == "printed"
    places = usable(v, printed)
    layer, (d, m) = min(places)[0], (len(v["X"]), len(v["W"]))
    Z, xi = features(v, 4), v["X"].T @ v["X"] / d
    true = {(k, i, j): float(Z[k + 1][:, i] @ Z[k + 1][:, j]) for k, i, j in places}
    formula = {at: printed_G(v, s2, *at) for at in places} if printed else true
    product = [s2 / m * float(Z[k][:, i] @ Z[k][:, j]) + xi[i, j] for k, i, j in places]
    shown = dq.judge("ling2022/lem4", problem(v, sigma_w2=s2), edition=edition).conclusions
    at = min(places, key=lambda at: abs(formula[at] - shown[0].left.value))
    value = min(product, key=lambda h: abs(h - shown[1].left.value))
    columns, claimed = 2 * layer + d, 2 * layer + d + (2 if printed else 0)
    return {
        "positive": told(s2, ">", 0.0),
        "independent": Sides(len(places), ">=", 1),
        "reproduced": told(formula[at], "==", true[at]),
        "product": Sides(value, "==", value),
        "columns_printed" if printed else "columns": told(columns, "==", claimed),
    }


def usable(v: Arrays, printed: bool) -> list[tuple[int, int, int]]:
    """Layers up to 3 and the first 20 pairs whose features are 2 l independent vectors; as printed
    each of the last two only has to be independent of the earlier ones."""

    def rank(vectors: np.ndarray) -> int:
        return int(np.linalg.matrix_rank(vectors, tol=1e-9)) if vectors.size else 0

    Z, found = features(v, 3), []
    for layer in (1, 2, 3):
        for i, j in list(combinations(range(Z[1].shape[1]), 2))[:20]:
            vectors = np.hstack([Z[k][:, [i, j]] for k in range(1, layer + 1)])
            before = rank(vectors[:, :-2])
            new = [rank(vectors[:, [*range(2 * layer - 2), k]]) > before for k in (-2, -1)]
            if rank(vectors) == 2 * layer or (printed and all(new)):
                found.append((layer, i, j))
    return found


def printed_G(v: Arrays, s2: float, layer: int, i: int, j: int) -> float:
    """relu(M h).relu(M h') with the M_3 = W q/|q| and h'_3 = |q| of the printed proof."""
    W, U, X, sigma = v["W"], v["U"], v["X"], np.sqrt(s2)
    (m, d), Z = U.shape, features(v, layer)
    before = [Z[k][:, s] for s in (i, j) for k in range(1, layer)]
    V = np.linalg.qr(np.stack(before, axis=1))[0] if before else np.zeros((m, 0))
    p, q = (Z[layer][:, s] - V @ (V.T @ Z[layer][:, s]) for s in (i, j))
    length_p, length_q = np.linalg.norm(p), np.linalg.norm(q)
    M = np.column_stack(
        [
            np.sqrt(m) / sigma * (W @ V),
            np.sqrt(m) / sigma * (W @ p) / length_p,
            np.sqrt(m) / sigma * (W @ q) / length_q,
            np.sqrt(d) * U,
        ]
    )
    scale = sigma / np.sqrt(m)
    h = np.concatenate(
        [scale * V.T @ Z[layer][:, i], [scale * length_p, 0.0], X[:, i] / np.sqrt(d)]
    )
    third = [scale * (p @ q) / length_p, scale * length_q]
    h2 = np.concatenate([scale * V.T @ Z[layer][:, j], third, X[:, j] / np.sqrt(d)])
    return float(relu(M @ h) @ relu(M @ h2))


def thm4(v: Arrays) -> Expected:
    """The layer l <= 12 whose Gram matrix is nearest to its bound."""
    q = norm_w(v)
    if q >= 1:
        return {CONTRACTS: contracts(v)}
    Z, layers = equilibrium(v), features(v, 12)
    distances = [(1 - q) ** 2 * float(np.linalg.norm(Z.T @ Z - L.T @ L)) for L in layers]
    first = np.linalg.norm(relu(v["U"] @ v["X"])) ** 2
    bounds = [q**k * (2 - q**k) * first for k in range(13)]
    worst = max(range(1, 13), key=lambda k: distances[k] / bounds[k] if q else 0.0)
    return {
        CONTRACTS: contracts(v),
        "deterministic": told(distances[worst], "<=", bounds[worst]),
    }


def slow() -> Arrays:
    """The Gram matrix of layer 1 is near to the limit by chance, later ones are not: the first unit
    is slow, and the third sinks as the second rises."""
    W = np.array([[0.7, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, -0.4, 0.0]])
    U, X = np.array([[0.5], [0.8], [5.0]]), np.array([[1.0, 1.3]])
    return {"W": W, "U": U, "a": np.ones(3), "X": X, "y": np.ones(2)}


def editions(name: str) -> str:
    return "printed" if name.startswith("printed") else "corrected"


def _pl(label: str, v: Arrays, outcome: str = "confirmed") -> Instance:
    edition = editions(label)
    return Instance(
        "ling2022/pl",
        lambda: problem(v),
        lambda: pl(v, edition == "printed"),
        edition=edition,
        outcome=outcome,
        label=label.removeprefix("printed").lstrip(", "),
    )


def _lem2(label: str, v: Arrays, outcome: str = "confirmed") -> Instance:
    edition = editions(label)
    return Instance(
        "ling2022/lem2",
        lambda: problem(v),
        lambda: lem2(v, edition == "printed"),
        edition=edition,
        outcome=outcome,
        label=label.removeprefix("printed").lstrip(", "),
    )


def _lem4(label: str, v: Arrays, s2: float | None, outcome: str = "confirmed") -> Instance:
    edition = editions(label)
    return Instance(
        "ling2022/lem4",
        lambda: problem(v, sigma_w2=s2),
        lambda: lem4(v, s2, edition),
        edition=edition,
        outcome=outcome,
        label=label.removeprefix("printed").lstrip(", "),
    )


def _thm4(label: str, v: Arrays, outcome: str = "confirmed") -> Instance:
    return Instance(
        "ling2022/thm4", lambda: problem(v), lambda: thm4(v), outcome=outcome, label=label
    )


INSTANCES = [
    _pl("", arrays()),
    _pl("wide", arrays(seed=3, m=6, n=2, d=5, q=0.7)),
    _pl("a is 0", {**arrays(), "a": np.zeros(8)}),
    _pl("one sample", arrays(n=1)),
    _pl("one sample, a is 0", {**arrays(n=1), "a": np.zeros(8)}),
    _pl("narrow, a is 0", {**arrays(m=2), "a": np.zeros(2)}),
    _pl("no contraction", nilpotent()),
    _pl("printed", arrays(), "refuted"),
    _pl("printed and (4) fails", arrays(seed=12, m=3, n=2, d=3), "refuted"),
    _pl("printed, one sample", arrays(n=1)),
    _lem2("", arrays()),
    _lem2("few", arrays(seed=3, m=3, n=2, d=5, q=0.7)),
    _lem2("no contraction", nilpotent()),
    _lem2("printed", arrays(seed=1, m=5), "refuted"),
    _lem2("printed, last direction", arrays(seed=10, m=5), "refuted"),
    _lem2("printed, one sample", arrays(n=1)),
    _lem4("", arrays(seed=3, m=9, n=7), 0.07),
    _lem4("narrow", arrays(seed=5, m=5, n=3), 0.03),
    _lem4("without sigma_w", arrays(), None, "not checked"),
    _lem4("sigma_w is 0", arrays(), 0.0, "not applicable"),
    _lem4("printed", arrays(seed=0, m=3, n=2), 0.05, "refuted"),
    _lem4("printed, worst of three", arrays(seed=20, m=3, n=3), 0.11, "refuted"),
    _thm4("", arrays(seed=3, m=6, q=0.45)),
    _thm4("tightest at 2", sphere(arrays(seed=1, m=6, q=0.45))),
    _thm4("tightest at 12", slow()),
    _thm4("no memory", arrays(seed=3, m=6, q=0.0)),
    _thm4("no contraction", nilpotent(), outcome="not applicable"),
    *ling2022_kernel.INSTANCES,
    *ling2022_draws.INSTANCES,
    *ling2022_condition.INSTANCES,
    *ling2022_steps.INSTANCES,
    *ling2022_orders.INSTANCES,
]
EXEMPT: dict[str, dict[str, str]] = ling2022_orders.EXEMPT
