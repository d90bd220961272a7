"""Writes the arrays of cases/xie2021: the seeded instances of the audit.

python -m tests.make_xie2021_arrays, from the root of the repository.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.opteq_instances import arrays, parameters, problem

FOLDER = Path(__file__).parents[1] / "cases" / "xie2021"
MIX = {"kind": "mix", "k": 0.5}


def save(name: str, data: dict[str, np.ndarray], theta: dict[str, np.ndarray]) -> None:
    np.savez(FOLDER / f"{name}-data.npz", **data)
    np.savez(FOLDER / f"{name}-init.npz", **theta)


def small_residual() -> None:
    """instance(9, 4, 4, 3, 2, 2, 3, s = 0.75) with labels near the outputs, and far from them."""
    data, theta = arrays(9, 4, 4, 3, 2, 2, 3, s=0.75)
    start = problem(data, theta, alpha=0.15, iterations=3, activation=MIX).start
    outputs = start.Wo @ start.Z
    normal = np.random.default_rng(9).normal(size=outputs.shape)
    save("near", {**data, "Y": outputs + 3.89e-5 * normal / np.linalg.norm(normal)}, theta)
    np.savez(FOLDER / "far-data.npz", **{**data, "Y": outputs + 0.5 * normal})


def feasible() -> None:
    """instance(8, 2, 2, 2, 1, 2, 1) with W_l = 0.75 times an orthogonal matrix, label + 2e-8."""
    data, theta = arrays(8, 2, 2, 2, 1, 2, 1)
    for name in ("W1", "W2"):
        U, _, Vt = np.linalg.svd(theta[name])
        theta[name] = 0.75 * U @ Vt
    start = problem(data, theta, alpha=0.1, iterations=3, activation=MIX).start
    save("feasible", {**data, "Y": start.Wo @ start.Z + 2e-8}, theta)


def scalar_theta() -> dict[str, np.ndarray]:
    return parameters([[[0.75]]], [[[0.5]]], [[0.25]], [[1.0]])


def no_descent() -> None:
    """Six inputs, four parameters: a residual in the kernel of J^T."""
    data = {"X": np.linspace(-1, 1, 6)[None], "Y": np.zeros((1, 6))}
    theta = scalar_theta()
    start = problem(data, theta, alpha=0.25, iterations=2, activation=MIX).start
    kernel = np.linalg.svd(start.J[0].T)[2][-1]
    save("six", {**data, "Y": start.Wo @ start.Z - 1e-6 * kernel[None]}, theta)


def long_step() -> None:
    """a = 0.01, W_o = 0.1, z0 = 3 and a label 1e-11 above the output."""
    data = {"X": np.ones((1, 1)), "Y": np.zeros((1, 1))}
    theta = {**scalar_theta(), "Wo": np.array([[0.1]])}
    start = problem(data, theta, Z0=[[3.0]], alpha=0.01, iterations=1, activation=MIX).start
    np.savez(FOLDER / "step-data.npz", **{**data, "Y": start.Wo @ start.Z + 1e-11})


def main() -> None:
    long_step()
    small_residual()
    feasible()
    no_descent()
    save("deep", *arrays(1, 3, 3, 2, 2, 2, 3))
    save("network", *arrays(3, 3, 3, 2, 2, 3, 4))
    save("sweep", *arrays(41, 8, 8, 3, 1, 5, 6, s=0.9))
    save("layer", *arrays(2, 4, 4, 2, 1, 1, 5))
    np.savez(FOLDER / "zeros-data.npz", X=np.zeros((1, 100)), Y=np.zeros((1, 100)))


if __name__ == "__main__":
    main()
