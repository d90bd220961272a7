"""Writes the arrays of the seeded instances F2, F3 and F4 of cases/gao2022.

`numpy.random.default_rng(seed)` draws X (rows then scaled to length 1), W and A, all normal; A is
divided by its 2-norm, after taking the modulus of its entries in F2 and F3; b = 0 and y alternates
between 1 and -1. F4 draws as the reference numbers of the theory do; theirs for F2 and F3 are not
known, so these are instances of the same sizes with numbers of their own.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[1] / "cases" / "gao2022"
# seed, N, d, m, nonnegative A
INSTANCES = {"f2": (11, 3, 4, 8, True), "f3": (12, 4, 5, 12, True), "f4": (13, 2, 3, 6, False)}


def arrays(seed: int, N: int, d: int, m: int, nonnegative: bool) -> dict[str, np.ndarray]:
    r = np.random.default_rng(seed)
    X, W, A = r.normal(size=(N, d)), r.normal(size=(d, m)), r.normal(size=(m, m))
    A = np.abs(A) if nonnegative else A
    return {
        "X": X / np.linalg.norm(X, axis=1, keepdims=True),
        "y": (-1.0) ** np.arange(N),
        "W": W,
        "A": A / np.linalg.norm(A, 2),
        "b": np.zeros(m),
    }


def main() -> None:
    for name, instance in INSTANCES.items():
        every = arrays(*instance)
        np.savez(FOLDER / f"{name}-data.npz", X=every["X"], y=every["y"])
        np.savez(FOLDER / f"{name}-init.npz", W=every["W"], A=every["A"], b=every["b"])


if __name__ == "__main__":
    main()
