"""What statements of the thesis are made of, held by numbers that are counted or known."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.judging import judge
from deqcheck.models.problem import Problem
from deqcheck.records.comparison import Decision
from deqcheck.records.measured import Measured, sqrt
from deqcheck.theorems.hieu2022 import lemmas33
from deqcheck.theorems.hieu2022.contraction import Contraction, exact_patterns
from deqcheck.theorems.hieu2022.pl import PolyakLojasiewicz
from deqcheck.theorems.hieu2022.prop5 import ParametersStay
from deqcheck.theorems.hieu2022.regression import LinearRegression
from deqcheck.theorems.hieu2022.smooth import Quadratic, steps_until
from deqcheck.theorems.hieu2022.tangents import conditioning

Make = Callable[..., Problem]


@pytest.mark.parametrize("unsure", [0.0, 0.02, 0.3])
def test_the_first_step_with_a_small_gradient_lies_between_those_of_both_ends(
    unsure: float,
) -> None:
    f = Quadratic(np.array([1.0, 0.3, 0.01]), np.array([1.0, -2.0, 3.0]))
    eps = Measured(0.05, 0.05 * unsure)

    def first(limit: float) -> int:
        k = 1
        while np.sum(f.kappa * f.c**2 * (1 - f.kappa) ** (2 * k)) > limit**2:
            k += 1
        return k

    assert float(sqrt(f.moment(1)).low) > eps.high
    found = steps_until(f, eps)
    assert (found.low, found.high) == (first(float(eps.high)), first(float(eps.low)))
    assert (found.high > found.low) == (unsure > 0)


@pytest.mark.parametrize(
    ("m", "X", "told"),
    [
        # One unit, active in one sample alone: |u|/m there, |u| where it is not.
        (0.8, [[1.0, -1.0]], lemmas33._SCALAR),
        (1.0, [[1.0, -1.0]], lemmas33._SCALAR),
        (1.5, [[1.0, -1.0]], ""),
        (1.5, [[1.0, 2.0]], lemmas33._SCALAR),
        (1.0, [[-1.0, -2.0]], "no unit is active, and m = 1"),
        (0.8, [[-1.0, -2.0]], ""),
    ],
)
def test_where_the_printed_norm_is_known(
    m: float, X: list[list[float]], told: str, monotone: Make
) -> None:
    p = monotone(1, 1, 2, m, A=[[0]], B=[[0]], U=[[1]], u=[2], X=X, y=[1, 1])
    assert lemmas33._without_D(p.start) == told
    largest = lemmas33._operator_norm(p.start, True)
    assert (largest.value == pytest.approx(2 / m, rel=1e-12)) == bool(told)


def test_of_two_units_some_may_be_idle_where_others_are_not(monotone: Make) -> None:
    """Then Q is neither I nor m I."""
    p = monotone(
        2, 1, 2, 0.8, A=0 * np.eye(2), B=0 * np.eye(2), U=[[1], [1]], u=[2, 1], X=[[1, -1]]
    )
    assert lemmas33._attained(p.start) and not lemmas33._without_D(p.start)


def test_patterns_are_those_of_positive_pre_activations() -> None:
    flint = pytest.importorskip("flint")
    H = flint.fmpq_mat(3, 2, [1, 1, 0, 2, -3, 5])
    wanted = [[True, False, False], [True, True, True]]
    assert exact_patterns(H) == {np.array(each).tobytes() for each in wanted}


@pytest.mark.parametrize("size", [0.5, 1.2, 3.0])
def test_without_a_contraction_nothing_is_claimed_of_its_spectrum(
    size: float, monotone: Make
) -> None:
    """W = (1 - m) I with every unit active."""
    p = monotone(2, 1, 2, 1 + size, A=0 * np.eye(2), B=0 * np.eye(2), U=[[1], [2]], X=[[1, 3]])
    found = judge(Contraction, p)
    assert len(found.conclusions) == (4 if size < 1 else 1)


@pytest.mark.parametrize("N", [1, 2])
def test_the_gradient_of_one_sample_is_known(N: int, monotone: Make) -> None:
    p = monotone(6, 4, N, 1.0, 0)
    claims = PolyakLojasiewicz().claims(p, p.start)
    (claim,) = (c for c in claims if c.name == PolyakLojasiewicz.gradient.name)
    assert ("K is a number" in claim.note) == (N == 1)


@pytest.mark.parametrize(
    ("W", "m"),
    [
        (np.zeros((2, 2)), 1.0),
        (np.array([[0.0, 10.0], [-10.0, 0.0]]), 1.0),
        (np.array([[0.0, 1e-3], [-1e-3, 0.0]]), 1.0),
        (np.diag([0.999, 0.0]), 1e-3),
        (np.array([[-5.0, 3.0], [-3.0, 0.5]]), 0.5),
    ],
)
def test_no_pattern_is_conditioned_worse_than_is_granted(W: np.ndarray, m: float) -> None:
    """I - W >= m I. With idle units, with little left to 1, and with W = 0, where nothing is
    granted beyond 1."""
    assert np.linalg.eigvalsh(np.eye(2) - (W + W.T) / 2)[0] >= m * (1 - 1e-12)
    every = [np.linalg.cond(np.eye(2) - np.diag(D) @ W) for D in product([0, 1], repeat=2)]
    granted = conditioning(cast(Any, SimpleNamespace(W=W, m=m)))
    assert max(every) <= granted
    assert W.any() or granted == max(every)


@pytest.mark.parametrize("edition", ["printed", "corrected"])
@pytest.mark.parametrize("share", [1e-9, 0.01])
def test_features_that_are_off_move_the_residual_of_a_regression_by_their_bar(
    share: float, edition: str, monotone: Make
) -> None:
    """Equal features z in both of two samples and y = (1, 1): with (1 + share) z in their place,
    which the bar allows, the first residual -(I - step K) y is off by all of it."""
    p = monotone(2, 1, 2, 1.0, A=0 * np.eye(2), B=0 * np.eye(2), U=[[3], [4]], X=[[1, 1]], y=[1, 1])
    Z = p.start.Z
    assert Z.tolist() == [[3, 3], [4, 4]]
    p.start.equilibrium.__dict__["error"] = share * math.sqrt(50)
    claim = next(iter(LinearRegression(edition).claims(p, p.start)))
    K, step = 25 * np.ones((2, 2)), 0.5 / 50
    moved = step * ((1 + share) ** 2 - 1) * K / (1 if edition == "printed" else 2) @ [1, 1]
    assert claim.shared == pytest.approx(float(np.linalg.norm(moved)), rel=1e-6, abs=0)


@pytest.mark.parametrize(("n", "N"), [(1, 1), (2, 1), (1, 2)])
def test_a_weight_that_is_zero_up_to_rounding_may_be_negative(n: int, N: int) -> None:
    """W = (1 - m - a^2) I = -2e-17 I, and 0 in doubles: det(I - J) is above (1 - |J|)^d."""
    a, m = 0.7901445455786062, 0.37567159709237785
    assert 1 - m - a * a == 0 > 1 - Fraction(m) - Fraction(a) ** 2
    init = {"A": a * np.eye(n), "B": np.zeros((n, n)), "U": np.ones((n, 1)), "u": np.ones(n)}
    p = dq.problem("monotone-deq", {"X": np.ones((1, N)), "y": np.zeros(N)}, init, m=m)
    assert dq.judge("hieu2022/eq2.8", p).outcome == "confirmed"


def test_the_step_that_is_admissible_is_the_largest_that_a_hypothesis_allows(
    monotone: Make,
) -> None:
    """Proposition 5: 4 over the square of the smallest singular value of Z."""
    p, statement = monotone(), ParametersStay()
    largest = statement.admissible_step(p)
    Z = p.start.Z
    assert largest.value == pytest.approx(4 / np.linalg.eigvalsh(Z.T @ Z)[0], rel=1e-9)
    for share, holds in ((1 - 1e-6, True), (1 + 1e-6, False)):
        there = p.trained_by(GradientDescent(step=share * float(largest.value), steps=1))
        (claim,) = statement.step_hypotheses(there)
        assert (claim.judge().decision is Decision.HOLDS) is holds
