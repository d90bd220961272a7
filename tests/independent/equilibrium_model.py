"""z = s(W z + U x + b), y = C z, in plain NumPy: what the trained networks' statements speak of."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import deqcheck as dq

from .harness import IF_EXACT, Sides

Arrays = dict[str, Any]
OPPOSITE = {"<=": np.less_equal, "<": np.less, ">": np.greater, ">=": np.greater_equal}


def arrays(W: Any, U: Any, C: Any, X: Any, Y: Any, **more: Any) -> Arrays:
    found = {"W": W, "U": U, "C": C, "X": X, "Y": Y, **more}
    return {k: np.asarray(a, dtype=float) for k, a in found.items()}


def problem(v: Arrays, **fields: Any) -> Any:
    data = {name: v[name] for name in ("X", "Y")}
    init = {name: a for name, a in v.items() if name not in data}
    return dq.problem("equilibrium", data=data, init=init, **fields)


def drawn(seed: int, n: int, d: int, q: int, scale: float, N: int = 1, **more: Any) -> Arrays:
    r = np.random.default_rng(seed)
    sizes = {"W": (n, n), "U": (n, d), "C": (q, n), "X": (d, N), "Y": (q, N)}
    v = {name: r.normal(size=size) for name, size in sizes.items()}
    v["W"] *= scale
    v["z"] = r.normal(size=(n, N))
    return {**v, **{k: np.asarray(a, dtype=float) for k, a in more.items()}}


I1 = arrays(
    np.array([[3, -4], [4, 3]]) / 10, [[1], [-0.5]], np.eye(2), [[1]], [[0], [0]], z=[[1], [0]]
)
I2 = arrays([[0, -3], [3, 0]], np.eye(2), np.diag([2, 1]), [[1], [-0.5]], [[0], [1]])
I3 = arrays([[0, 10], [0, 0]], [[1], [1]], np.eye(2), [[1]], [[10], [10]], z=[[8], [0]])
I4 = arrays([[0, -3, 0], [0, 0, -3], [-3, 0, 0]], [[1]] * 3, [[1, 1, 1]], [[1]], [[0]])
I5 = arrays([[-9, 9], [0, 0.5]], [[1], [1]], np.eye(2), [[1]], [[0], [0]])
I6 = arrays([[0, 2], [2, 0]], [[-1], [-1]], np.eye(2), [[1]], [[0], [0]])


def norm2(a: np.ndarray) -> float:
    a = np.asarray(a, dtype=float).reshape(len(a), -1)
    return float(np.sqrt(np.linalg.eigvalsh(a.T @ a)[-1]))


def fro(a: np.ndarray) -> float:
    return float(np.sqrt(np.sum(np.square(a))))


def F(v: Arrays) -> np.ndarray:
    return np.eye(len(v["W"])) - v["W"]


def lowest(a: np.ndarray) -> float:
    """The smallest eigenvalue of the symmetric part."""
    return float(np.linalg.eigvalsh(a + a.T)[0]) / 2


def modulus(v: Arrays) -> float:
    return lowest(F(v))


def metzler(W: np.ndarray) -> np.ndarray:
    return np.where(np.eye(len(W)) > 0, W, np.abs(W))


def top(a: np.ndarray) -> float:
    """The largest real part of an eigenvalue."""
    return float(np.linalg.eigvals(a).real.max())


def patterns(n: int) -> list[np.ndarray]:
    return [np.diag(on).astype(float) for on in product([0, 1], repeat=n)]


def minors(v: Arrays) -> float:
    """The smallest determinant of I - D W."""
    n = len(v["W"])
    return min(float(np.linalg.det(np.eye(n) - D @ v["W"])) for D in patterns(n))


def inverses(v: Arrays) -> list[tuple[np.ndarray, np.ndarray]]:
    n = len(v["W"])
    return [(D, np.linalg.inv(np.eye(n) - D @ v["W"])) for D in patterns(n)]


def inputs(v: Arrays) -> np.ndarray:
    return v["U"] @ v["X"] + v.get("b", np.zeros(len(v["W"])))[:, None]


def equilibrium(v: Arrays, s: Any = None) -> np.ndarray:
    """For relu the pattern that fits; for others many damped steps."""
    return np.stack([_one(v["W"], c, s) for c in inputs(v).T], axis=1)


def _one(W: np.ndarray, c: np.ndarray, s: Any) -> np.ndarray:
    if s is not None:
        z = np.zeros_like(c)
        for _ in range(4000):
            z = z + 0.2 * (s(W @ z + c) - z)
        return z
    for D in patterns(len(c)):
        z = np.linalg.solve(np.eye(len(c)) - D @ W, D @ c)
        if (z >= -1e-14).all() and ((W @ z + c)[np.diag(D) == 0] <= 1e-12).all():
            return np.maximum(z, 0)
    raise AssertionError("no pattern fits")


def slopes(v: Arrays, Z: np.ndarray, s: Any = None) -> np.ndarray:
    H = v["W"] @ Z + inputs(v)
    return (H > 0) * 1.0 if s is None else 1 - np.tanh(H) ** 2


def residual(v: Arrays, s: Any = None) -> np.ndarray:
    """Of the point z."""
    H = v["W"] @ v["z"] + inputs(v)
    return v["z"] - (np.maximum(H, 0) if s is None else s(H))


def told(left: float, relation: str, right: float) -> Sides:
    """Decided by the numbers; equal sides are open without exact numbers."""
    if np.isclose(left, right, rtol=1e-12, atol=0):
        return Sides(left, relation, right, decision=IF_EXACT)
    holds = bool(OPPOSITE[relation](left, right))
    return Sides(left, relation, right, decision="holds" if holds else "violated")


def flag(x: bool) -> Sides:
    return Sides(float(x), "==", 1.0, decision="holds" if x else "violated")


def forward(v: Arrays, a: float, steps: int, s: Any = None) -> list[np.ndarray]:
    """Forward-backward splitting from 0."""
    C, found = inputs(v), [np.zeros_like(inputs(v))]
    for _ in range(steps):
        Z = found[-1]
        H = Z - a * (F(v) @ Z - C)
        found.append(np.maximum(H, 0) if s is None else s(H))
    return found


def gradients(v: Arrays, g: np.ndarray, Z: np.ndarray, s: Any = None) -> tuple[np.ndarray, ...]:
    """p and q for the columns g of d loss/d z."""
    D, n = slopes(v, Z, s), len(v["W"])
    columns = [
        D[:, j] * np.linalg.solve(np.eye(n) - v["W"].T @ np.diag(D[:, j]), g[:, j])
        for j in range(g.shape[1])
    ]
    return np.stack(columns, axis=1), D * g
