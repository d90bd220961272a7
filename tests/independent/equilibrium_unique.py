"""One equilibrium, and how far a point is from it: the sides of each check from outside."""

from __future__ import annotations

import numpy as np

from .equilibrium_model import (
    I1,
    I3,
    I4,
    I5,
    I6,
    Arrays,
    F,
    drawn,
    equilibrium,
    flag,
    fro,
    inputs,
    inverses,
    lowest,
    metzler,
    minors,
    modulus,
    norm2,
    problem,
    residual,
    told,
    top,
)
from .harness import Expected, Instance, Noise, Sides

SMALL = drawn(7, 3, 2, 2, 0.2)
STEPS = np.arange(21)


def one(v: Arrays) -> Sides:
    return told(minors(v), ">", 0.0)


def norm_inf(v: Arrays) -> float:
    return float(np.abs(v["W"]).sum(axis=1).max())


def apart(v: Arrays) -> np.ndarray:
    return np.abs(v["z"] - equilibrium(v))


def banach_error(v: Arrays) -> Expected:
    k, K, r = norm2(v["W"]), norm_inf(v), residual(v)
    return {
        "contracts": told(min(k, K), "<", 1.0),
        "euclidean": told(fro(apart(v)), "<=", fro(r) / (1 - k)),
        "largest": told(float(apart(v).max()), "<=", float(np.abs(r).max()) / (1 - K)),
    }


def entry(v: Arrays, bound: np.ndarray) -> Sides:
    """The entry whose distance is the largest share of its bound."""
    i = int(np.argmax(apart(v)[:, 0] / bound))
    return told(float(apart(v)[i, 0]), "<=", float(bound[i]))


def pf_error(v: Arrays) -> Expected:
    A = np.abs(v["W"])
    bound = np.linalg.inv(np.eye(len(A)) - A) @ np.abs(residual(v))[:, 0]
    return {"radius": told(top(A), "<", 1.0), "entry": entry(v, bound)}


def mu_error(v: Arrays) -> Expected:
    M, W = metzler(v["W"]), v["W"]
    h = np.maximum(1, 1 - np.diag(W)) * np.abs(residual(v))[:, 0]
    bound = np.linalg.inv(np.eye(len(M)) - M) @ h
    return {"abscissa": told(top(M), "<", 1.0), "entry": entry(v, bound)}


def box(v: Arrays) -> Expected:
    found: dict[str, Sides] = {"stable": told(top(metzler(v["W"])), "<", 1.0)}
    here = v["C"] @ equilibrium(v)
    for name, M in (("absolute", np.abs(v["W"])), ("metzler", metzler(v["W"]))):
        if top(M) >= 1:
            continue
        gains = np.abs(v["C"]) @ np.linalg.inv(np.eye(len(M)) - M) @ np.abs(v["U"])
        pairs = []
        for k in range(len(v["X"])):
            X = v["X"].copy()
            X[k] += 1
            moved = np.abs(v["C"] @ equilibrium({**v, "X": X}) - here)[:, 0]
            pairs += list(zip(moved, gains[:, k], strict=True))
        found[name] = told(*_nearest(pairs))
    return found


def _nearest(pairs: list[tuple[float, float]]) -> tuple[float, str, float]:
    left, right = max(pairs, key=lambda pair: pair[0] / pair[1])
    return float(left), "<=", float(right)


def damped(v: Arrays) -> Expected:
    W, M = v["W"], metzler(v["W"])
    eta = np.linalg.solve(np.eye(len(W)) - M, np.ones(len(W)))
    mu = float(((M @ eta) / eta).max())
    a = 1 / (1 - min(float(np.diag(W).min()), 0.0))
    z, star, far = np.zeros(len(W)), equilibrium(v)[:, 0], []
    for _ in STEPS:
        far.append(float((np.abs(z - star) / eta).max()))
        z = (1 - a) * z + a * np.maximum(W @ z + inputs(v)[:, 0], 0)
    factor = 1 - a * (1 - max(mu, 0))
    return {
        "abscissa": told(top(M), "<", 1.0),
        "factor": told(factor, "<", 1.0),
        "path": Sides(np.array(far), "<=", lambda k, t: ((1 + factor) / 2) ** k * far[0]),
    }


def root(G: np.ndarray, m: float, r: np.ndarray) -> float:
    """The smaller of |r| + |W r|/m and the larger root of m t^2 - |(I + G)^T r| t + |r|^2."""
    a = fro(r + G.T @ r)
    larger = np.roots([m, -a, fro(r) ** 2]).real.max()
    return min(fro(r) + fro(r - G @ r) / m, float(larger))


def winston_error(v: Arrays) -> Expected:
    m, r, d = modulus(v), residual(v), fro(apart(v))
    return {
        "modulus": told(m, ">", 0.0),
        "length": told(d, "<=", root(F(v), m, r)),
        "pang": told(d, "<=", (1 + norm2(F(v))) * fro(r) / m),
    }


def weights(v: Arrays) -> np.ndarray:
    """1 where that will do, else u/v of the M-matrix; trace n."""
    n = len(v["W"])
    if modulus(v) > 0:
        return np.ones(n)
    M = np.eye(n) - metzler(v["W"])
    found = np.linalg.solve(M.T, np.ones(n)) / np.linalg.solve(M, np.ones(n))
    return n * found / found.sum()


def least(v: Arrays) -> float:
    return 2 * lowest(np.diag(weights(v)) @ F(v))


def weighted_error(v: Arrays) -> Expected:
    T = np.diag(np.sqrt(weights(v)))
    G = T @ F(v) @ np.linalg.inv(T)
    bound = root(G, lowest(G), T @ residual(v)) / T.diagonal().min()
    return {"lowest": told(least(v), ">", 0.0), "length": told(fro(apart(v)), "<=", bound)}


def worst(v: Arrays) -> float:
    return max(norm2(inverse) for _, inverse in inverses(v))


def lcp_error(v: Arrays) -> Expected:
    bound = worst(v) * fro(residual(v))
    return {"minors": one(v), "length": told(fro(apart(v)), "<=", bound)}


FAR = {**SMALL, "W": 4 * SMALL["W"]}
AT_4 = {**I4, "z": np.zeros((3, 1))}


def instances() -> list[Instance]:
    def on(
        id_: str, v: Arrays, expected: object, label: str, outcome: str = "confirmed"
    ) -> Instance:
        made = expected if callable(expected) else lambda: expected
        return Instance(id_, lambda: problem(v), made, label=label, outcome=outcome)  # type: ignore[arg-type]

    found = []
    for label, v in (("I1", I1), ("drawn", SMALL)):
        found += [
            on(
                "banach/norm2",
                v,
                {"contracts": told(norm2(v["W"]), "<", 1.0), "one": one(v)},
                label,
            ),
            on(
                "banach/norminf",
                v,
                {"contracts": told(norm_inf(v), "<", 1.0), "one": one(v)},
                label,
            ),
            on("banach/error", v, lambda v=v: banach_error(v), label),
            on("elghaoui2021/error", v, lambda v=v: pf_error(v), label),
            on("elghaoui2021/box", v, lambda v=v: box(v), label),
            on("jafarpour2021/error", v, lambda v=v: mu_error(v), label),
            on("winston2020/error", v, lambda v=v: winston_error(v), label),
            on("revay2020/error", v, lambda v=v: weighted_error(v), label),
            on("lcp/error", v, lambda v=v: lcp_error(v), label),
        ]
    for label, v in (("I1", I1), ("I3", I3), ("drawn", SMALL)):
        rho = {"radius": told(top(np.abs(v["W"])), "<", 1.0), "one": one(v)}
        if label != "I3":
            found.append(on("elghaoui2021/pf", v, rho, label))
        found.append(
            on("revay2020/lmi", v, {"lowest": told(least(v), ">", 0.0), "one": one(v)}, label)
        )
    for label, v in (("I5", I5), ("drawn", SMALL)):
        mu = {"abscissa": told(top(metzler(v["W"])), "<", 1.0), "one": one(v)}
        found += [
            on("jafarpour2021/unique", v, mu, label),
            on("jafarpour2021/damped", v, lambda v=v: damped(v), label),
        ]
    star = equilibrium(SMALL)[:, 0]
    H = SMALL["W"] @ star + inputs(SMALL)[:, 0]
    pattern = {
        "relu": flag(True),
        "active": told(float(star[star > 0].min()), ">=", 0.0),
        "silent": told(float(H[star == 0].max()), "<=", 0.0),
        "solves": Sides(0.0, "==", 0.0),
        "near": Noise(0.0, fro(star)),
    }
    found.append(on("exact/pattern", SMALL, pattern, ""))
    monotone = {"modulus": told(modulus(SMALL), ">", 0.0), "one": one(SMALL)}
    found += [
        on("winston2020/unique", SMALL, monotone, ""),
        on("lcp/p-matrix", I4, {"minors": one(I4), "inverse": told(1 / worst(I4), ">", 0)}, "I4"),
        on("lcp/error", AT_4, lambda: lcp_error(AT_4), "I4"),
        # det = 1 - 4; x = (2, 1) is the last column of the adjugate of [[1, -2], [-2, 1]].
        on(
            "lcp/ill-posed",
            I6,
            {
                "relu": flag(True),
                "minor": Sides(-3.0, "<=", 0.0),
                "first": Sides(0.0, "==", 0.0),
                "second": Sides(0.0, "==", 0.0),
                "apart": Sides(2.0, ">", 0.0),
            },
            "I6",
        ),
    ]
    return found


INSTANCES = instances()
