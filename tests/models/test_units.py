"""A bar has the unit of its number: measured in other units, both change alike.

Units are powers of two, so that nothing is rounded otherwise. What is left out of a bar, or enters
it once too often, has another unit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import deqcheck as dq

# Of the inputs, the state, the outputs, and of what A and gamma share.
X, Z, Y, A = 2.0**20, 2.0**-15, 2.0**12, 2.0**9
RELU_OPTEQ = {"X": X, "U1": Z / X, "b1": Z, "Wo": Y / Z, "Y": Y}
TANH_OPTEQ = {"X": X, "U1": 1 / X, "Wo": Y, "Y": Y}
L1: dict[str, Any] = {"kind": "l1", "weight": 0.1}
AT_REST = {"solver": "implicit", "alpha": 0.5}
SAM = {"beta": 0.5, "gamma": 0.5, "lambda": 0.25}
KINDS: dict[str, tuple[dict[str, Any], dict[str, float]]] = {
    "relu-deq": ({}, {"X": X, "U": Z / X, "a": Y / Z, "y": Y}),
    "monotone-deq": ({"m": 0.5}, {"X": X, "U": Z / X, "u": Y / Z, "y": Y}),
    "implicit-relu": (
        {"gamma": 0.8}, {"X": X, "W": Z / X, "b": Y / Z, "y": Y, "A": A, "gamma": 1 / A}
    ),
    "delm": ({"gamma": 0.6}, {"B": Z, "Phi": Y / Z, "Y": Y}),
    "delm, the same state": ({"gamma": 0.6}, {"Phi": Y, "Y": Y}),
    "equilibrium": (
        {"activation": "relu"},
        {"X": X, "U": Z / X, "b": Z, "C": Y / Z, "D": Y / X, "c0": Y, "Y": Y},
    ),
    "equilibrium, tanh": (
        {"activation": "tanh"}, {"X": X, "U": 1 / X, "C": Y, "D": Y / X, "c0": Y, "Y": Y}
    ),
    "opteq": ({"activation": "relu", "solver": "implicit"}, RELU_OPTEQ),
    "opteq, iterated": ({"activation": "relu", "iterations": 3, "alpha": 0.5}, RELU_OPTEQ),
    "opteq, SAM": ({"activation": "relu", "iterations": 2, "sam": SAM}, RELU_OPTEQ),
    "opteq, l1": ({"activation": "relu", **AT_REST, "prox": L1}, {**RELU_OPTEQ, "weight": Z}),
    "opteq, euclidean": (
        {"activation": "relu", **AT_REST, "prox": {**L1, "kind": "euclidean"}},
        {**RELU_OPTEQ, "weight": Z},
    ),
    "opteq, identity": ({"activation": "identity", "solver": "implicit"}, RELU_OPTEQ),
    "opteq, tanh": ({"activation": "tanh", "iterations": 2}, TANH_OPTEQ),
    "opteq, tanh at rest": ({"activation": "tanh", "solver": "implicit"}, TANH_OPTEQ),
}  # fmt: skip
# Made of parts with several units, and a number of sweeps.
MIXED = {
    "gradient", "lambda_min_H", "lambda_min_K", "lambda_max_K", "Z_speed", "sweeps",
    "lambda_min_JJt", "norm2_J",
}  # fmt: skip


def arrays(kind: str) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Data and parameters: 4 units, 3 samples, 2 inputs, and 2 outputs where there may be."""
    r = np.random.default_rng(3)
    W, V = r.normal(size=(4, 4)), r.normal(size=(5, 4))
    W, V = 0.7 * W / np.linalg.norm(W, 2), 0.9 * V / np.linalg.norm(V, 2)
    given = {"W": W, "W1": V} if kind != "implicit-relu" else {"A": W}
    shapes: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "relu-deq": ({"X": (2, 3), "y": 3}, {"W": (4, 4), "U": (4, 2), "a": 4}),
        "monotone-deq": (
            {"X": (2, 3), "y": 3}, {"A": (4, 4), "B": (4, 4), "U": (4, 2), "u": 4}
        ),
        "implicit-relu": ({"X": (3, 2), "y": 3}, {"W": (2, 4), "A": (4, 4), "b": 4}),
        "delm": ({"Phi": (4, 3), "Y": (2, 3)}, {"A": (4, 4), "B": (2, 4)}),
        "equilibrium": (
            {"X": (2, 3), "Y": (2, 3)},
            {"W": (4, 4), "U": (4, 2), "b": 4, "C": (2, 4), "D": (2, 2), "c0": 2},
        ),
        "opteq": (
            {"X": (2, 3), "Y": (2, 3)}, {"W1": (5, 4), "U1": (5, 2), "b1": 5, "Wo": (2, 4)}
        ),
    }  # fmt: skip
    data, theta = (
        {name: r.normal(size=size) for name, size in part.items()} for part in shapes[kind]
    )
    return data, {name: given.get(name, array) for name, array in theta.items()}


def started(kind: str, fields: dict[str, Any], units: dict[str, float]) -> Any:
    data, theta = (
        {name: units.get(name, 1.0) * array for name, array in part.items()}
        for part in arrays(kind)
    )
    return dq.problem(kind, data, theta, **scaled(fields, units)).start


def scaled(fields: dict[str, Any], units: dict[str, float]) -> dict[str, Any]:
    return {
        name: scaled(value, units) if isinstance(value, dict) else
        value * units[name] if name in units else value
        for name, value in fields.items()
    }  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_bars_change_as_their_numbers_do(name: str) -> None:
    kind, _, same = name.partition(", ")
    fields, units = KINDS[name]
    one, other = started(kind, fields, {}), started(kind, fields, units)
    mixed = MIXED | ({"lambda_min_D"} if kind == "delm" and not same else set())
    compared = 0
    for quantity in sorted(set(one.names) - mixed):
        here, there = one.measure(quantity), other.measure(quantity)
        value = float(np.max(np.abs(here.value)))
        if value == 0:
            assert not np.any(there.value)
            continue
        unit = float(np.max(np.abs(there.value))) / value
        assert np.log2(unit) == pytest.approx(round(np.log2(unit)), abs=1e-9), quantity
        assert there.error == pytest.approx(unit * here.error, rel=1e-9, abs=0.0), quantity
        compared += bool(np.any(here.error))
    assert compared >= 10
