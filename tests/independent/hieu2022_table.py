"""The table of kernel eigenvalues at random initialisation, from its own draws, with Jacobians."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.stats import t

from deqcheck.seeds import rng

from .harness import Expected, Instance, Sides
from .hieu2022_model import Arrays, active_solution, arrays, problem, weight

ID, SEEDS = "hieu2022/kernel-table", 2
PARTS = {
    "AB": (1.665, 0.588),
    "A": (0.551, 0.210),
    "B": (1.112, 0.378),
    "U": (0.925, 0.335),
    "u": (0.254, 0.075),
    "ABUu": (2.893, 1.042),
}
# The order of the table.
ORDER = ("ABUu", "AB", "A", "B", "U", "u")
# Twelve comparisons share 0.1 %.
RISK = 0.001 / 12


def draw(number: int) -> Arrays:
    """A = B, U, u ~ N(0, 1/500); the rows of X have norm 1."""
    streams = {name: rng(0, f"{ID}.{number}.{name}") for name in "AUuX"}
    shapes = {"A": (500, 500), "U": (500, 20), "u": (500,)}
    v: Arrays = {n: streams[n].standard_normal(s) / 500**0.5 for n, s in shapes.items()}
    X = streams["X"].random((20, 5))
    return {**v, "B": v["A"], "X": X / np.sqrt(np.sum(X * X, axis=1))[:, None], "m": 0.1}


def smallest(number: int) -> list[float]:
    """By rows of the Jacobian: dW = -A^T dA - dA^T A + dB - dB^T, and dyhat = v^T dW z."""
    v = draw(number)
    W, C = weight(v), v["U"] @ v["X"]
    rows: dict[str, list[np.ndarray]] = {name: [] for name in "ABUu"}
    for c, x in zip(C.T, v["X"].T, strict=True):
        z = active_solution(W, c)
        on = z > 0
        w = np.zeros(500)
        w[on] = np.linalg.solve((np.eye(500) - W)[np.ix_(on, on)].T, v["u"][on])
        outer = np.outer(w, z)
        rows["A"].append(-(v["A"] @ (outer + outer.T)).ravel())
        rows["B"].append((outer - outer.T).ravel())
        rows["U"].append(np.outer(w, x).ravel())
        rows["u"].append(z)
    J = {name: np.stack(each) for name, each in rows.items()}
    K = {name: j @ j.T for name, j in J.items()}
    return [float(np.linalg.eigvalsh(sum(K[n] for n in part))[0]) for part in ORDER]


@cache
def table() -> np.ndarray:
    return np.array([smallest(i) for i in range(SEEDS)])


def judged() -> Expected:
    sizes = {"units": (500, 500), "inputs": (20, 20), "samples": (5, 5), "monotone": (1.0, 1.0)}
    found = {name: Sides(left, "==", right) for name, (left, right) in sizes.items()}
    quantile = t.ppf(1 - RISK / 2, SEEDS - 1)
    means, least = [], []
    for part, values in zip(ORDER, table().T, strict=True):
        mean, smallest = PARTS[part]
        spread = np.sqrt(np.sum((values - values.mean()) ** 2) / (SEEDS - 1))
        allowed = quantile * spread * (1 / SEEDS + 1 / 1000) ** 0.5 + 0.0005
        # The bars are those of eigenvalues, some thousand times as large as the difference.
        means.append(Sides(abs(values.mean() - mean), "<=", allowed, bar=0.1))
        assert values.min() > smallest
        least.append(Sides(1.0, ">=", RISK))
    return {**found, "means": means, "least": least}


def other() -> Expected:
    return {
        "units": Sides(4, "==", 500, decision="violated"),
        "inputs": Sides(20, "==", 20),
        "samples": Sides(5, "==", 5),
        "monotone": Sides(2.0, "==", 1.0, decision="violated"),
    }


INSTANCES = [
    Instance(
        ID,
        lambda: problem(arrays(1, 500, 20, 5, 0.1, weights=0.04)),
        judged,
        constants={"seeds": SEEDS},
        outcome="consistent",
    ),
    Instance(
        ID,
        lambda: problem(arrays(1, 4, 20, 5, 0.2)),
        other,
        outcome="not applicable",
        label="another size",
    ),
]
EXEMPT = {ID: {"agrees": "a table is no probability: `means` and `least` are in its place"}}
