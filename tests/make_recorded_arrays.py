"""Writes the runs of cases/ling2022/recorded*.yaml, made in plain NumPy on the instance of f1.

Run `python tests/make_recorded_arrays.py`; the test of this script keeps the files as they are.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[1] / "cases" / "ling2022"
X, y = np.sqrt(2) * np.eye(2), np.array([1, -0.5])
START = {
    "W": np.array([[0.0625, 0.0625], [-0.0625, 0.0625]]),
    "U": 32 * np.eye(2),
    "a": np.zeros(2),
}
# 0.999 of the largest step that (10) allows.
STEP = 1.489e-5
Arrays = dict[str, np.ndarray]


def gradient(theta: Arrays) -> Arrays:
    """In the precision of theta: sweeps to the equilibrium, one linear system for each sample."""
    W, U, a = theta["W"], theta["U"], theta["a"]
    C, targets = U @ X.astype(W.dtype), y.astype(W.dtype)
    Z = np.zeros_like(C)
    for _ in range(30):
        Z = np.maximum(W @ Z + C, 0)
    on, r = W @ Z + C > 0, Z.T @ a - targets
    eye = np.eye(len(W), dtype=W.dtype)
    V = np.stack([on[:, i] * np.linalg.solve(eye - W.T * on[:, i], a) for i in range(len(r))], 1)
    return {"W": (V * r) @ Z.T, "U": (V * r) @ X.astype(W.dtype).T, "a": Z @ r}


def descent(steps: int, dtype: type = np.float64) -> Arrays:
    theta = {name: array.astype(dtype) for name, array in START.items()}
    states = [theta]
    for _ in range(steps):
        g = gradient(theta)
        theta = {name: theta[name] - dtype(STEP) * g[name] for name in theta}
        states.append(theta)
    return {name: np.stack([state[name] for state in states]) for name in theta}


def adam(steps: int) -> Arrays:
    """Kingma and Ba's, with its usual constants."""
    theta = START
    states, m, v = [theta], dict.fromkeys(theta, 0.0), dict.fromkeys(theta, 0.0)
    for k in range(1, steps + 1):
        g = gradient(theta)
        m = {name: 0.9 * m[name] + 0.1 * g[name] for name in g}
        v = {name: 0.999 * v[name] + 0.001 * g[name] ** 2 for name in g}
        scale = np.sqrt(1 - 0.999**k) / (1 - 0.9**k)
        theta = {n: theta[n] - 1e-3 * scale * m[n] / (np.sqrt(v[n]) + 1e-8) for n in theta}
        states.append(theta)
    return {name: np.stack([state[name] for state in states]) for name in theta}


def arrays() -> dict[str, Arrays]:
    every_tenth = {name: states[::10] for name, states in descent(60).items()}
    return {
        "recorded": {**descent(60), "step": np.array(STEP)},
        "recorded-float32": {**descent(60, np.float32), "step": np.array(STEP)},
        "recorded-adam": {**adam(30), "step": np.full(30, 1e-3)},
        "recorded-tenth": {**every_tenth, "step": np.array(STEP), "k": np.arange(0, 61, 10)},
    }


if __name__ == "__main__":
    for name, content in arrays().items():
        np.savez(FOLDER / f"{name}.npz", **content)
