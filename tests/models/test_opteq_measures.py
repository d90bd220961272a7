"""What OptEq networks measure, against numbers made without them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.opteq_instances import arrays, problem


@pytest.mark.parametrize("norm", [0.5, 0.9, 1.1])
def test_an_iterated_state_knows_how_far_it_is_from_rest_where_its_map_contracts(
    norm: float,
) -> None:
    """z -> (1 - a) z + a W^T tanh(W z + U x + b) has the Lipschitz constant 1 - a + a |W|^2. The
    distance from the equilibrium, here from many sweeps, is at most the move over what is left."""
    a, count = 0.7, 4
    data, theta = arrays(5, 3, 4, 2, 1, 1, 3, s=norm)
    W, c = theta["W1"], theta["U1"] @ data["X"] + theta["b1"][:, None]
    states = [np.zeros((3, 3))]
    for _ in range(3000):
        states.append((1 - a) * states[-1] + a * W.T @ np.tanh(W @ states[-1] + c))
    start = problem(data, theta, alpha=a, iterations=count).start
    if norm > 1:
        assert "equilibrium.error" not in start.measures
        return
    found, left = start.measure("equilibrium.error"), a * (1 - norm**2)
    move = np.linalg.norm(states[count + 1] - states[count])
    assert found.value == pytest.approx(move / left, rel=1e-9)
    assert np.linalg.norm(states[-1] - states[count]) <= found.high
