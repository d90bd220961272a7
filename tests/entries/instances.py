"""Over-parameterised instances with Gaussian data and the works' initialisations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# Units and samples; inputs have as many entries as there are samples.
M, N = 40, 5


def _gauss(r: np.random.Generator, *shape: int, var: float = 1.0) -> np.ndarray:
    return np.sqrt(var) * r.normal(size=shape)


def relu_deq(r: np.random.Generator) -> dict[str, Any]:
    X, sigma_w2 = _gauss(r, N, N), 0.02
    return {
        "data": {"X": np.sqrt(N) * X / np.linalg.norm(X, axis=0), "y": _gauss(r, N)},
        "init": {
            "W": _gauss(r, M, M, var=2 * sigma_w2 / M),
            "U": _gauss(r, M, N, var=2 / N),
            "a": _gauss(r, M, var=1 / M),
        },
        "sigma_w2": sigma_w2,
    }


def implicit_relu(r: np.random.Generator) -> dict[str, Any]:
    X, A = _gauss(r, N, N), _gauss(r, M, M)
    return {
        "data": {"X": X / np.linalg.norm(X, axis=1, keepdims=True), "y": _gauss(r, N)},
        "init": {"W": _gauss(r, N, M), "A": A, "b": r.choice([-1.0, 1.0], size=M)},
        "gamma": 0.5 / float(np.linalg.norm(A, 2)),
    }


def monotone_deq(r: np.random.Generator) -> dict[str, Any]:
    return {
        "data": {"X": _gauss(r, N, N), "y": _gauss(r, N)},
        "init": {
            "A": _gauss(r, M, M, var=1 / M),
            "B": _gauss(r, M, M, var=1 / M),
            "U": _gauss(r, M, N, var=1 / N),
            "u": _gauss(r, M, var=1 / M),
        },
        "m": 1.0,
    }


def opteq(r: np.random.Generator) -> dict[str, Any]:
    W = _gauss(r, M, M)
    return {
        "data": {"X": _gauss(r, N, N), "Y": _gauss(r, 1, N)},
        "init": {
            "W1": 0.8 * W / np.linalg.norm(W, 2),
            "U1": _gauss(r, M, N, var=1 / N),
            "b1": np.zeros(M),
            "Wo": _gauss(r, 1, M, var=1 / M),
        },
        "activation": "tanh",
        "alpha": 0.5,
        "iterations": 3,
    }


MODELS: dict[str, Callable[[np.random.Generator], dict[str, Any]]] = {
    "relu-deq": relu_deq,
    "implicit-relu": implicit_relu,
    "monotone-deq": monotone_deq,
    "opteq": opteq,
}
