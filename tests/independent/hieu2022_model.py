"""The monotone model of the thesis in plain NumPy: Z = relu(W Z + U X), yhat = Z^T u."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import deqcheck as dq

from .harness import Sides

Arrays = dict[str, Any]
NAMES = ("A", "B", "U", "u")


def arrays(
    seed: int,
    n: int,
    d: int,
    N: int,
    m: float,
    labels: float = 1.0,
    outputs: float = 1.0,
    weights: float = 0.4,
) -> Arrays:
    """Gaussian parameters and data; the labels and the read-out with a scale."""
    r = np.random.default_rng(seed)
    return {
        "A": weights * r.normal(size=(n, n)),
        "B": weights * r.normal(size=(n, n)),
        "U": r.normal(size=(n, d)),
        "u": outputs * r.normal(size=n),
        "X": r.normal(size=(d, N)),
        "y": labels * r.normal(size=N),
        "m": m,
    }


def gentle(seed: int, labels: float, outputs: float, m: float = 0.8) -> Arrays:
    """Nearly orthonormal features (n = 4, d = 3, N = 2), for which the conditions can be met."""
    v = arrays(seed, 4, 3, 2, m, labels, outputs, 0.3)
    return {
        **v,
        "X": np.eye(3)[:, :2] + 0.1 * v["X"],
        "U": 5 * (np.eye(4)[:, :3] + 0.1 * v["U"]),
    }


def single(m: float, A: float, U: float, u: float, x: float, y: float) -> Arrays:
    """One unit, one sample."""
    matrices = {name: np.array([[a]]) for name, a in (("A", A), ("B", 0.0), ("U", U), ("X", x))}
    return {**matrices, "u": np.array([u]), "y": np.array([y]), "m": m}


def problem(v: Arrays, **more: Any) -> Any:
    return dq.problem(
        "monotone-deq",
        data={name: v[name] for name in ("X", "y")},
        init={name: v[name] for name in NAMES},
        m=v["m"],
        **more,
    )


def norm2(a: np.ndarray) -> float:
    """From the largest eigenvalue of a^T a."""
    a = np.asarray(a, dtype=float).reshape(len(a), -1)
    return float(np.sqrt(np.linalg.eigvalsh(a.T @ a)[-1]))


def fro(a: np.ndarray) -> float:
    return float(np.sqrt(np.sum(np.square(a))))


def weight(v: Arrays) -> np.ndarray:
    """(3.3)."""
    A, B = v["A"], v["B"]
    return (1 - v["m"]) * np.eye(len(A)) - A.T @ A + B - B.T


def active_solution(W: np.ndarray, c: np.ndarray) -> np.ndarray:
    """z = relu(W z + c) by Newton's method on the activation pattern."""
    z = np.zeros_like(c)
    for _ in range(100):
        on = W @ z + c > 0
        new = np.zeros_like(c)
        new[on] = np.linalg.solve((np.eye(len(c)) - W)[np.ix_(on, on)], c[on])
        if np.array_equal(new, z):
            break
        z = new
    assert np.abs(z - np.maximum(W @ z + c, 0)).max() <= 1e-12 * (1 + np.abs(z).max())
    return z


def equilibrium(v: Arrays) -> np.ndarray:
    """(3.2), column by column; it is the only one."""
    W, C = weight(v), v["U"] @ v["X"]
    return np.stack([active_solution(W, c) for c in C.T], axis=1)


def masks(v: Arrays, Z: np.ndarray) -> np.ndarray:
    return (weight(v) @ Z + v["U"] @ v["X"] > 0).astype(float)


def sensitivities(v: Arrays, Z: np.ndarray) -> np.ndarray:
    """Column i is J_i (I - W^T J_i)^-1 u."""
    W, eye = weight(v), np.eye(len(Z))
    columns = [on * np.linalg.solve(eye - W.T * on, v["u"]) for on in masks(v, Z).T]
    return np.stack(columns, axis=1)


def residual(v: Arrays, Z: np.ndarray) -> np.ndarray:
    return Z.T @ v["u"] - v["y"]


def loss(v: Arrays) -> float:
    """(3.4)."""
    return float(np.sum(residual(v, equilibrium(v)) ** 2)) / 2


def gradient(v: Arrays) -> Arrays:
    """By the chain rule from dL/dW = G and dW = -(dA^T A + A^T dA) + dB - dB^T."""
    Z = equilibrium(v)
    e = residual(v, Z)
    E = sensitivities(v, Z) * e
    G = E @ Z.T
    return {"A": -v["A"] @ (G + G.T), "B": G - G.T, "U": E @ v["X"].T, "u": Z @ e}


def vec(a: np.ndarray) -> np.ndarray:
    return a.reshape(-1, order="F")


def commutation(n: int) -> np.ndarray:
    """K vec(M) = vec(M^T)."""
    K = np.zeros((n * n, n * n))
    for i in range(n):
        for j in range(n):
            K[j + n * i, i + n * j] = 1
    return K


def P_A(A: np.ndarray) -> np.ndarray:
    """Lemma 3.2.1, with the identity of size n^2."""
    n = len(A)
    return -(np.eye(n * n) + commutation(n)) @ np.kron(np.eye(n), A.T)


def P_B(n: int) -> np.ndarray:
    return np.eye(n * n) - commutation(n)


def dense(v: Arrays) -> dict[str, np.ndarray]:
    """D, Q and the rows D (Z^T kron I_n), D (X^T kron I_n) of Lemma 3.2.1."""
    Z = equilibrium(v)
    n, N = Z.shape
    D = np.diag(vec(masks(v, Z)))
    return {
        "D": D,
        "Q": np.eye(n * N) - D @ np.kron(np.eye(N), weight(v)),
        "Z": D @ np.kron(Z.T, np.eye(n)),
        "X": D @ np.kron(v["X"].T, np.eye(n)),
    }


def map_jacobians(v: Arrays) -> dict[str, np.ndarray]:
    """Lemma 3.2.1."""
    at = dense(v)
    rows = -at["Z"]
    return {"A": rows @ P_A(v["A"]), "B": rows @ P_B(len(v["A"])), "U": -at["X"]}


def state_jacobians(v: Arrays) -> dict[str, np.ndarray]:
    """Lemma 3.2.2."""
    inverse = np.linalg.inv(dense(v)["Q"])
    return {name: -inverse @ J for name, J in map_jacobians(v).items()}


def read_out(v: Arrays, printed: bool) -> np.ndarray:
    """u^T kron I_N as Lemma 3.2.3 prints it, or I_N kron u^T."""
    u, eye = v["u"][None, :], np.eye(v["X"].shape[1])
    return np.kron(u, eye) if printed else np.kron(eye, u)


def jacobians(v: Arrays, printed: bool = False) -> dict[str, np.ndarray]:
    """J_A, J_B, J_U of Proposition 4, and that of u."""
    outer = read_out(v, printed)
    found = {name: outer @ J for name, J in state_jacobians(v).items()}
    return {**found, "u": equilibrium(v).T}


def kernel(v: Arrays, printed: bool = False) -> np.ndarray:
    """Proposition 4 with J J^T."""
    return sum(J @ J.T for J in jacobians(v, printed).values())


def state_slope(v: Arrays, way: Arrays) -> np.ndarray:
    """dZ along a direction of the parameters, by one linear system for each sample."""
    Z, A = equilibrium(v), v["A"]
    dW = -(way["A"].T @ A + A.T @ way["A"]) + way["B"] - way["B"].T
    return forced(v, dW @ Z + way["U"] @ v["X"])


def forced(v: Arrays, forcing: np.ndarray) -> np.ndarray:
    """dZ = relu'(H) (W dZ + forcing)."""
    Z, W = equilibrium(v), weight(v)
    eye = np.eye(len(Z))
    columns = [
        np.linalg.solve(eye - on[:, None] * W, on * f)
        for on, f in zip(masks(v, Z).T, forcing.T, strict=True)
    ]
    return np.stack(columns, axis=1)


def at_start(v: Arrays) -> dict[str, float]:
    """lambda_0 (0 for n < N), r0, |X|_F, m, and the operator norms of A, U, u."""
    Z = equilibrium(v)
    smallest = float(np.linalg.eigvalsh(Z.T @ Z)[0]) if len(Z) >= Z.shape[1] else 0.0
    return {
        "lambda0": float(np.sqrt(max(smallest, 0.0))),
        "r0": fro(residual(v, Z)),
        "X": fro(v["X"]),
        "m": v["m"],
        **{name: norm2(v[name]) for name in ("A", "U", "u")},
    }


def moved(v: Arrays, way: Arrays, by: float) -> Arrays:
    return {**v, **{name: v[name] + by * way[name] for name in NAMES}}


def descent(v: Arrays, step: float, steps: int) -> list[Arrays]:
    found = [v]
    for _ in range(steps):
        found.append(moved(found[-1], gradient(found[-1]), -step))
    return found


def flow(v: Arrays, horizon: float) -> Callable[[float], Arrays]:
    """The parameters of the gradient flow at any time, and the `length` of the path until then."""
    shapes = [np.shape(v[name]) for name in NAMES]
    cuts = np.cumsum([int(np.prod(shape)) for shape in shapes])

    def unpacked(x: np.ndarray) -> Arrays:
        parts = np.split(x, cuts)
        named = zip(NAMES, parts[:-1], shapes, strict=True)
        return {**v, **{name: p.reshape(s) for name, p, s in named}, "length": float(parts[-1][0])}

    def velocity(_: float, x: np.ndarray) -> np.ndarray:
        g = gradient(unpacked(x))
        flat = np.concatenate([g[name].ravel() for name in NAMES])
        return np.append(-flat, fro(flat))

    start = np.append(np.concatenate([v[name].ravel() for name in NAMES]), 0.0)
    run = solve_ivp(
        velocity, (0, horizon), start, "DOP853", dense_output=True, rtol=1e-12, atol=1e-15
    )
    return lambda t: unpacked(run.sol(t))


def told(left: float, relation: str, right: float) -> Sides:
    """The sides, and what follows from them."""
    holds = {"<=": left <= right, "<": left < right, ">=": left >= right, ">": left > right}
    return Sides(left, relation, right, decision="holds" if holds[relation] else "violated")
