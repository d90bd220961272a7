"""Writes the arrays of cases/ling2022/f2*.yaml: one Gaussian draw of every array from seed 0.

Run `python tests/make_ling2022_arrays.py`; the test of this script keeps the files as they are.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[1] / "cases" / "ling2022"
M, N, D, SIGMA_W2 = 60, 3, 10, 0.005


def arrays() -> dict[str, dict[str, np.ndarray]]:
    """Drawn in the order W, U, a, X, y; the samples have norm sqrt(d), a is then set to zero."""
    r = np.random.default_rng(0)
    W = np.sqrt(2 * SIGMA_W2 / M) * r.standard_normal((M, M))
    U = np.sqrt(2 / D) * r.standard_normal((M, D))
    r.standard_normal(M)
    X = r.standard_normal((D, N))
    y = r.standard_normal(N)
    return {
        "f2-init": {"W": W, "U": 200 * U, "a": np.zeros(M)},
        "f2-data": {"X": np.sqrt(D) * X / np.linalg.norm(X, axis=0), "y": y},
    }


if __name__ == "__main__":
    for name, content in arrays().items():
        np.savez(FOLDER / f"{name}.npz", **content)
