"""The model of Ling et al. 2022 in plain NumPy: z = relu(W z + U x), yhat = a.z, Phi = |r|^2/2."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import deqcheck as dq
from deqcheck.records.law import Law

from .harness import Sides

Arrays = dict[str, np.ndarray]
PARAMETERS = ("W", "U", "a")
CONTRACTS = "the equilibrium map contracts"
NO_KINK = "no pre-activation is zero"
UNIQUE = "every sample has one equilibrium"


def arrays(seed: int = 1, m: int = 8, n: int = 3, d: int = 4, q: float = 0.3) -> Arrays:
    """Normal arrays with |W| = q."""
    r = np.random.default_rng(seed)
    W = r.normal(size=(m, m))
    return {
        "X": r.normal(size=(d, n)),
        "y": r.normal(size=n),
        "W": q * W / np.linalg.norm(W, 2),
        "U": r.normal(size=(m, d)),
        "a": r.normal(size=m),
    }


def sphere(v: Arrays) -> Arrays:
    """Assumption 2: every sample has the norm sqrt(d)."""
    X = v["X"]
    return {**v, "X": X * np.sqrt(len(X)) / np.linalg.norm(X, axis=0)}


def problem(v: Arrays, **fields: Any) -> Any:
    parts = ({name: v[name] for name in names} for names in (("X", "y"), PARAMETERS))
    data, init = parts
    return dq.problem("relu-deq", data=data, init=init, **fields)


def drawn(v: Arrays, sigma_w2: float, **fields: Any) -> Any:
    """The same, said to be drawn by Assumption 1."""
    m, d = v["U"].shape
    scales = {"W": np.sqrt(2 * sigma_w2 / m), "U": np.sqrt(2 / d), "a": m**-0.5}
    laws = {name: Law("gaussian", float(scale)) for name, scale in scales.items()}
    return replace(problem(v, sigma_w2=sigma_w2, **fields), laws=laws)


def told(left: float, relation: str, right: float) -> Sides:
    """With the decision that these two numbers make."""
    holds = {
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
        "==": abs(left - right) <= 1e-9 * abs(right),
    }[relation]
    return Sides(left, relation, right, decision="holds" if holds else "violated")


ONE = Sides(1.0, "==", 1.0)


def relu(A: np.ndarray) -> np.ndarray:
    return np.maximum(A, 0)


def equilibrium(v: Arrays) -> np.ndarray:
    """(2), by sweeps of a contraction until they change nothing."""
    Z, C = np.zeros((len(v["W"]), v["X"].shape[1])), v["U"] @ v["X"]
    for _ in range(400):
        last, Z = Z, relu(v["W"] @ Z + C)
        if (last == Z).all():
            break
    return Z


def features(v: Arrays, last: int) -> list[np.ndarray]:
    """(1): Z^(0) = 0, Z^(1), ..., Z^(last)."""
    found = [np.zeros((len(v["W"]), v["X"].shape[1]))]
    for _ in range(last):
        found.append(relu(v["W"] @ found[-1] + v["U"] @ v["X"]))
    return found


def norm_w(v: Arrays) -> float:
    return float(np.linalg.svd(v["W"], compute_uv=False)[0])


def contracts(v: Arrays) -> Sides:
    """Section 2.2: |W| < 1."""
    return told(norm_w(v), "<", 1.0)


def kink_margin(v: Arrays, Z: np.ndarray) -> Sides:
    return Sides(float(np.abs(v["W"] @ Z + v["U"] @ v["X"]).min()), ">", 0.0)


def residual(v: Arrays, Z: np.ndarray) -> np.ndarray:
    return Z.T @ v["a"] - v["y"]


def sensitivities(v: Arrays, Z: np.ndarray) -> np.ndarray:
    """Column i is (I - J_i W^T)^-1 J_i a."""
    eye = np.eye(len(Z))
    columns = [
        np.linalg.solve(eye - np.diag(on) @ v["W"].T, on * v["a"]) for on in (Z > 0).T.astype(float)
    ]
    return np.stack(columns, axis=1)


def gradient(v: Arrays, Z: np.ndarray) -> Arrays:
    """Of Phi in W, U, a."""
    r = residual(v, Z)
    E = sensitivities(v, Z) * r
    return {"W": E @ Z.T, "U": E @ v["X"].T, "a": Z @ r}


def squared(g: Arrays) -> float:
    return sum(float(np.sum(part**2)) for part in g.values())


def lambda_min(v: Arrays) -> float:
    """lambda_min(Z^T Z) at the equilibrium."""
    Z = equilibrium(v)
    return float(np.linalg.eigvalsh(Z.T @ Z)[0])


def printed_R(v: Arrays, Z: np.ndarray) -> np.ndarray:
    """Lemma 2 with (a kron I_n) read as (a^T kron I_n), times J^-1 D, all mn x mn."""
    m, n = Z.shape
    D = np.diag((Z > 0).T.ravel().astype(float))
    J = np.eye(m * n) - D @ np.kron(np.eye(n), v["W"])
    return np.kron(v["a"][None, :], np.eye(n)) @ np.linalg.inv(J) @ D
