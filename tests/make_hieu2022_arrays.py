"""Writes the arrays of cases/hieu2022: `python tests/make_hieu2022_arrays.py`.

inst(seed, n, d, N, m) of the verified instances: from default_rng(seed), in this order, A and B
(n x n, times 0.5/sqrt n), U (n x d, over sqrt d), u (n, over sqrt n), X (d x N, unit columns), y.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[1] / "cases" / "hieu2022"
INSTANCES = {
    "inst0": (0, 8, 5, 3),
    "inst1": (1, 6, 4, 4),
    "inst2": (2, 10, 6, 5),
    "inst3": (3, 4, 2, 2),
    "inst4": (4, 3, 3, 7),
}


def instance(seed: int, n: int, d: int, N: int) -> dict[str, np.ndarray]:
    r = np.random.default_rng(seed)
    A = r.normal(size=(n, n)) * 0.5 / np.sqrt(n)
    B = r.normal(size=(n, n)) * 0.5 / np.sqrt(n)
    U = r.normal(size=(n, d)) / np.sqrt(d)
    u = r.normal(size=n) / np.sqrt(n)
    X = r.normal(size=(d, N))
    X /= np.linalg.norm(X, axis=0)
    return {"A": A, "B": B, "U": U, "u": u, "X": X, "y": r.normal(size=N)}


def main() -> None:
    for name, sizes in INSTANCES.items():
        arrays = instance(*sizes)
        np.savez(FOLDER / f"{name}-data.npz", **{n: arrays[n] for n in ("X", "y")})
        np.savez(FOLDER / f"{name}-init.npz", **{n: arrays[n] for n in ("A", "B", "U", "u")})


if __name__ == "__main__":
    main()
