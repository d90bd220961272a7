"""Small instances of the ReLU equilibrium model."""

from __future__ import annotations

from typing import Any

import numpy as np

from deqcheck.losses.half_square import HalfSquare
from deqcheck.models.problem import Problem
from deqcheck.models.relu_deq.model import ReluDeq
from deqcheck.records.law import Law

# The instance on which Condition 1 holds for delta in [0.18170835, 0.18892263].
F1 = {
    "W": np.array([[1.0, 1.0], [-1.0, 1.0]]) / 16,
    "U": 32 * np.eye(2),
    "a": np.zeros(2),
    "X": np.sqrt(2) * np.eye(2),
    "y": np.array([1.0, -0.5]),
}


def relu_deq(
    m: int = 5,
    n: int = 3,
    d: int = 4,
    q: float = 0.6,
    *,
    seed: int = 0,
    scale: tuple[float, float] = (1.0, 1.0),
    sigma_w2: float | None = None,
    train: Any = None,
    sphere: bool = False,
    by_law: bool = False,
    **arrays: Any,
) -> Problem:
    """Normal arrays, W scaled to norm q; `scale` multiplies U and the labels (a is then 0). With
    `by_law` they are said to come from the law of Assumption 1."""
    r = np.random.default_rng(seed)
    given = {name: np.asarray(a, dtype=float) for name, a in arrays.items()}
    W = r.normal(size=(m, m))
    drawn = {
        "W": q * W / np.linalg.norm(W, 2),
        "U": scale[0] * r.normal(size=(m, d)),
        "a": r.normal(size=m) if scale == (1.0, 1.0) else np.zeros(m),
        "X": r.normal(size=(d, n)),
        "y": scale[1] * r.normal(size=n),
    }
    if sphere:
        drawn["X"] *= np.sqrt(d) / np.linalg.norm(drawn["X"], axis=0)
    arrays = {name: given.get(name, a) for name, a in drawn.items()}
    model = ReluDeq(sigma_w2=sigma_w2).build({n: arrays.pop(n) for n in ("X", "y")}, HalfSquare())
    scales = {"W": (2 * (sigma_w2 or 0) / m) ** 0.5, "U": (2 / d) ** 0.5, "a": m**-0.5}
    laws = {name: Law("gaussian", each) for name, each in scales.items()} if by_law else {}
    return Problem(model, arrays, train, laws=laws)
