"""Small instances, random and structured, and ordinary ones, each from its own seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MODELS = ("delm", "relu-deq", "implicit-relu", "monotone-deq", "opteq")
TRAININGS = ("static", "gd", "flow")
ACTIVATIONS = ("tanh", "relu", "softplus", "hardtanh", "identity")

Arrays = dict[str, np.ndarray]
Drawn = tuple[Arrays, Arrays, dict[str, Any]]


@dataclass(frozen=True)
class Instance:
    """The arguments of `dq.problem`, and how it is trained."""

    model: str
    data: Arrays
    init: Arrays
    fields: Mapping[str, Any] = field(default_factory=dict)
    train: Mapping[str, Any] | None = None


# ---- small ones -------------------------------------------------------------------------------


def _sparse(r: np.random.Generator, a: np.ndarray) -> np.ndarray:
    return a * (r.random(a.shape) < 0.4)


def _rank_one(r: np.random.Generator, a: np.ndarray) -> np.ndarray:
    return np.outer(a[:, 0], a[0]) if a.ndim == 2 else a


def _diagonal(r: np.random.Generator, a: np.ndarray) -> np.ndarray:
    scale = float(r.choice([-2, -1, 0.5, 1, 2]))
    return scale * np.eye(*a.shape) if a.ndim == 2 else np.full(a.shape, scale)


# Half of the arrays are Gaussian.
STRUCTURES: tuple[Callable[[np.random.Generator, np.ndarray], np.ndarray], ...] = (
    *[lambda r, a: a] * 8,
    lambda r, a: np.round(2 * a),
    lambda r, a: np.round(4 * a) / 4,
    lambda r, a: np.zeros(a.shape),
    lambda r, a: np.ones(a.shape),
    lambda r, a: np.abs(a),
    _sparse,
    _rank_one,
    _diagonal,
)


class _Sizes:
    """Of one instance: mostly 1 to 3, now and then up to 6."""

    def __init__(self, r: np.random.Generator):
        self._r, self._end = r, 4 if r.random() < 0.6 else 7

    def __call__(self) -> int:
        return int(self._r.integers(1, self._end))


def _array(r: np.random.Generator, *shape: int) -> np.ndarray:
    return STRUCTURES[int(r.integers(len(STRUCTURES)))](r, r.normal(size=shape))


def _samples(r: np.random.Generator, dim: int, n: int) -> np.ndarray:
    """One column for each sample; some are equal, some are zero."""
    X = _array(r, dim, n)
    if n > 1 and r.random() < 0.15:
        X[:, 1] = X[:, 0]
    if r.random() < 0.05:
        X[:, 0] = 0.0
    return X


def _with_norm(r: np.random.Generator, a: np.ndarray, norms: list[float]) -> np.ndarray:
    norm = float(np.linalg.norm(a, 2))
    return a * (float(r.choice(norms)) / norm) if norm else a


def _small_delm(r: np.random.Generator) -> Drawn:
    size = _Sizes(r)
    m, n, outputs = size(), size(), 1 if r.random() < 0.6 else size()
    data = {"Phi": _samples(r, m, n), "Y": _array(r, outputs, n)}
    return data, {"A": _array(r, m, m), "B": _array(r, outputs, m)}, {"gamma": _gamma(r)}


def _gamma(r: np.random.Generator) -> float:
    return float(r.choice([0.1, 0.5, 0.9, 0.99, 0.01 + 0.98 * r.random()]))


def _small_relu_deq(r: np.random.Generator) -> Drawn:
    size = _Sizes(r)
    m, n, dim = size(), size(), size()
    X, fields = _samples(r, dim, n), {}
    if r.random() < 0.3:
        # The sphere of Theorems 2 to 5.
        norms = np.linalg.norm(X, axis=0)
        X = np.sqrt(dim) * X / np.where(norms > 0, norms, 1.0)
        fields = {"sigma_w2": float(r.choice([0.02, 0.08, 0.12]))}
    W = _with_norm(r, _array(r, m, m), [0.1, 0.5, 0.9, 0.99])
    init = {"W": W, "U": _array(r, m, dim), "a": _array(r, m)}
    return {"X": X, "y": _array(r, n)}, init, fields


def _small_implicit_relu(r: np.random.Generator) -> Drawn:
    size = _Sizes(r)
    n, dim, m = size(), size(), size()
    A = _array(r, m, m)
    norm, share = float(np.linalg.norm(A, 2)), float(r.choice([0.1, 0.3, 0.5, 0.9]))
    init = {"W": _array(r, dim, m), "A": A, "b": _array(r, m)}
    data = {"X": _samples(r, dim, n).T.copy(), "y": _array(r, n)}
    return data, init, {"gamma": share / norm if norm else share}


def _small_monotone_deq(r: np.random.Generator) -> Drawn:
    size = _Sizes(r)
    n, samples, dim = size(), size(), size()
    init = {"A": _array(r, n, n), "B": _array(r, n, n), "U": _array(r, n, dim), "u": _array(r, n)}
    data = {"X": _samples(r, dim, samples), "y": _array(r, samples)}
    return data, init, {"m": float(r.choice([0.1, 0.5, 1, 2]))}


def _small_opteq(r: np.random.Generator) -> Drawn:
    size = _Sizes(r)
    m, n, dim, outputs, inner = size(), size(), size(), size(), size()
    depth = int(r.integers(1, 4))
    init = {"Wo": _array(r, outputs, m)}
    for i in range(1, depth + 1):
        init[f"W{i}"] = _with_norm(r, _array(r, inner, m), [0.3, 0.9, 0.999, 1.0])
        init[f"U{i}"], init[f"b{i}"] = _array(r, inner, dim), _array(r, inner)
    data = {"X": _samples(r, dim, n), "Y": _array(r, outputs, n)}
    alpha = float(r.choice([0.1, 0.5, 0.9, 1.0]))
    return data, init, _opteq_fields(r, depth, ACTIVATIONS, alpha)


def _opteq_fields(
    r: np.random.Generator, depth: int, activations: tuple[str, ...], alpha: float
) -> dict[str, Any]:
    """Half of them read out the equilibrium, half a few iterations, of T or of SAM."""
    fields = {"depth": depth, "activation": str(r.choice(activations)), "alpha": alpha}
    if r.random() < 0.5:
        return {**fields, "solver": "implicit"}
    fields["iterations"] = int(r.integers(1, 6))
    return fields if r.random() < 0.7 else {**fields, "sam": {"beta": 0.5, "gamma": 0.5}}


# ---- ordinary ones: Gaussian data, the initialisations of the papers --------------------------


def _gauss(r: np.random.Generator, *shape: int, var: float = 1.0) -> np.ndarray:
    return np.sqrt(var) * r.normal(size=shape)


def _ordinary_delm(r: np.random.Generator) -> Drawn:
    m, n, outputs = (int(x) for x in r.integers([3, 4, 1], [9, 13, 3]))
    data = {"Phi": _gauss(r, m, n), "Y": _gauss(r, outputs, n)}
    init = {"A": _gauss(r, m, m, var=1 / m), "B": _gauss(r, outputs, m, var=1 / m)}
    return data, init, {"gamma": float(r.choice([0.1, 0.5, 0.9]))}


def _ordinary_relu_deq(r: np.random.Generator) -> Drawn:
    m, n, dim = (int(x) for x in r.integers([10, 3, 3], [31, 7, 7]))
    X, sigma_w2 = _gauss(r, dim, n), float(r.choice([0.02, 0.08, 0.12]))
    init = {"W": _gauss(r, m, m, var=2 * sigma_w2 / m), "U": _gauss(r, m, dim, var=2 / dim)}
    data = {"X": np.sqrt(dim) * X / np.linalg.norm(X, axis=0), "y": _gauss(r, n)}
    return data, {**init, "a": _gauss(r, m, var=1 / m)}, {"sigma_w2": sigma_w2}


def _ordinary_implicit_relu(r: np.random.Generator) -> Drawn:
    m, n, dim = (int(x) for x in r.integers([10, 3, 3], [31, 7, 7]))
    X = _gauss(r, n, dim)
    A = _gauss(r, m, m)
    init = {"W": _gauss(r, dim, m), "A": A, "b": r.choice([-1.0, 1.0], size=m)}
    data = {"X": X / np.linalg.norm(X, axis=1, keepdims=True), "y": _gauss(r, n)}
    return data, init, {"gamma": 0.5 / float(np.linalg.norm(A, 2))}


def _ordinary_monotone_deq(r: np.random.Generator) -> Drawn:
    n, samples, dim = (int(x) for x in r.integers([5, 3, 3], [16, 7, 7]))
    init = {"A": _gauss(r, n, n, var=1 / n), "B": _gauss(r, n, n, var=1 / n)}
    init |= {"U": _gauss(r, n, dim, var=1 / dim), "u": _gauss(r, n, var=1 / n)}
    data = {"X": _gauss(r, dim, samples), "y": _gauss(r, samples)}
    return data, init, {"m": float(r.choice([0.5, 1.0]))}


def _ordinary_opteq(r: np.random.Generator) -> Drawn:
    m, n, dim = (int(x) for x in r.integers([4, 3, 3], [11, 7, 7]))
    outputs, depth = (int(x) for x in r.integers([1, 1], [4, 4]))
    init = {"Wo": _gauss(r, outputs, m, var=1 / m)}
    for i in range(1, depth + 1):
        W = _gauss(r, 2 * m, m)
        init[f"W{i}"] = W / max(1.0, float(np.linalg.norm(W, 2)))
        init[f"U{i}"], init[f"b{i}"] = _gauss(r, 2 * m, dim, var=1 / dim), np.zeros(2 * m)
    data = {"X": _gauss(r, dim, n), "Y": _gauss(r, outputs, n)}
    return data, init, _opteq_fields(r, depth, ACTIVATIONS[:3], 0.5)


SMALL = dict(
    zip(
        MODELS,
        (_small_delm, _small_relu_deq, _small_implicit_relu, _small_monotone_deq, _small_opteq),
        strict=True,
    )
)
ORDINARY = dict(
    zip(
        MODELS,
        (
            _ordinary_delm,
            _ordinary_relu_deq,
            _ordinary_implicit_relu,
            _ordinary_monotone_deq,
            _ordinary_opteq,
        ),
        strict=True,
    )
)


def _training(r: np.random.Generator, kind: str, small: bool) -> dict[str, Any] | None:
    if kind == "gd":
        step = float(10.0 ** -r.integers(1 if small else 2, 5))
        return {"kind": "gd", "step": step, "steps": int(r.integers(2, 30) if small else 50)}
    if kind == "flow":
        return {"kind": "flow", "horizon": float(10.0 ** r.integers(-2, 2)) if small else 0.5}
    return None


def small(model: str, seed: int, attempt: int) -> Instance:
    """Half of them are not trained."""
    r = np.random.default_rng([seed, MODELS.index(model), 0, attempt])
    drawn = SMALL[model](r)
    kind = str(r.choice(TRAININGS, p=[0.5, 0.35, 0.15]))
    return Instance(model, *drawn, _training(r, kind, True))


def ordinary(model: str, training: str, seed: int, attempt: int) -> Instance:
    r = np.random.default_rng([seed, MODELS.index(model), 1, attempt])
    drawn = ORDINARY[model](r)
    return Instance(model, *drawn, _training(r, training, False))
