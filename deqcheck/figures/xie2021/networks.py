"""OptEq networks at random weights on images: what Tables 1 and 3 show of them without training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from deqcheck.figures.base import Setup
from deqcheck.figures.images import rows
from deqcheck.figures.runs import problem
from deqcheck.models.problem import AnyProblem

K = 20
# The step of SAM on the regulariser, and its share.
SAM = {"beta": 0.5, "gamma": 0.5}
# Small weights, and inputs that make features of about the size of 1.
WEIGHT: Mapping[str, Any] = {"kind": "gaussian", "scale": 0.45, "fan": "in"}
INPUT: Mapping[str, Any] = {"kind": "gaussian", "scale": 20.0, "fan": "in"}


def network(s: Setup, seed: int, alpha: float, **fields: Any) -> AnyProblem:
    """Five layers on so many images, with weights whose norms are below 1 and another draw for each
    seed; the equilibrium unless iterations are named."""
    images = s.shelf.take("cifar10", "train", s["n"], 0)
    X = rows(images, s["side"]).T
    unrolled = "iterations" in fields
    model: Mapping[str, Any] = {
        "kind": "opteq",
        "alpha": alpha,
        "depth": s["depth"],
        "activation": "relu",
        "solver": "unrolled" if unrolled else "implicit",
        "m": s["m"],
        "n": s["m"],
        **fields,
    }
    data = {"X": X, "Y": np.zeros((1, s["n"]))}
    init: dict[str, Any] = {"kind": "each", "Wo": WEIGHT}
    for i in range(1, s["depth"] + 1):
        init |= {f"W{i}": WEIGHT, f"U{i}": INPUT, f"b{i}": "zero"}
    return problem(model, data, init, seed=seed)


def features(p: AnyProblem) -> np.ndarray:
    found: np.ndarray = p.start.Z
    return found
