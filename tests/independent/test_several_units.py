"""Changes of full rank, several samples and one unit: norms that agree elsewhere differ here."""

from __future__ import annotations

import numpy as np
import pytest

import deqcheck as dq

from .equilibrium_model import drawn, equilibrium, fro, inputs, modulus, norm2, problem
from .equilibrium_moves import ROUNDED


def test_changes_of_full_rank_move_the_equilibrium_by_their_operator_norm() -> None:
    """Pabbaraju's Theorem 2, with |dW|_F = sqrt(5)/20 and |dW| = sqrt(2)/20."""
    v = {
        **ROUNDED,
        "dW": 0.05 * np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 0.0, 1.0]]),
        "dU": 0.01 * np.ones_like(ROUNDED["U"]),
        "db": np.array([0.02, -0.01, 0.03]),
    }
    there = {**v, "W": v["W"] + v["dW"], "U": v["U"] + v["dU"], "b": v["db"]}
    assert "b" not in ROUNDED or not np.any(ROUNDED["b"])
    Z, moved = equilibrium(v), equilibrium(there)
    (claim,) = dq.judge("pabbaraju2021/thm2", problem(v)).conclusions
    assert claim.left.value == pytest.approx(fro(moved - Z), rel=1e-9)
    N = v["X"].shape[1]
    by_inputs = fro(v["dU"] @ v["X"]) + np.sqrt(N) * fro(v["db"])
    m, m_bar = modulus(v), modulus(there)
    bound = np.sqrt(2) / 20 * fro(inputs(v)) / (m * m_bar) + by_inputs / m_bar
    assert claim.right.value == pytest.approx(bound, rel=1e-9)
    assert norm2(v["dW"]) < 0.7 * fro(v["dW"])


@pytest.mark.parametrize("units", [1, 2])
def test_the_size_of_the_equilibrium_of_one_unit_is_known(units: int) -> None:
    """relu(c)/(1 - W) of one unit, in both sides; of two units it is less."""
    v = drawn(5, n=units, d=2, q=1, scale=0.3)
    p = problem(v)
    found = list(dq.statements()["pabbaraju2021/prop2"]().claims(p, p.start))
    (limit,) = (c for c in found if c.name == "size of the equilibrium")
    bound = fro(np.maximum(inputs(v), 0)) / modulus(v)
    assert limit.right.value == pytest.approx(bound, rel=1e-12)
    assert (limit.equal is None) is (units > 1)
    assert (limit.left.value < bound * (1 - 1e-6)) is (units > 1)
