"""Parts of OptEq networks, held by numbers that are known or counted."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest

from deqcheck.linalg import smallest
from deqcheck.models.opteq import many, model
from deqcheck.models.opteq.activations import Mix, Softplus
from deqcheck.models.opteq.equilibrium import NONEXPANSIVE, FixedPoint
from deqcheck.models.opteq.exact_states import _falling
from deqcheck.models.opteq.regularizers import Euclidean
from deqcheck.records.tower import flint
from deqcheck.records.tower.rationals import Rationals
from tests.opteq_instances import arrays, problem


@pytest.mark.parametrize("weight", [0.25, 3.0])
def test_the_prox_of_a_norm_turns_by_what_both_factors_do(weight: float) -> None:
    """I - w/|z| (I - u u^T) next to |z| = w: the quotient falls by 1/w along z, and the tangent
    turns by 1/w across it."""
    R, h = Euclidean(weight=weight), 1e-6 * weight
    z = np.array([weight * (1 + 1e-6), 0.0])

    def turned(way: np.ndarray) -> float:
        there, here = (R.prox_slopes(at[:, None])[0] for at in (z + h * way, z))
        return float(np.linalg.norm(there - here, 2)) / h

    both = turned(np.array([1.0, 0.0])) + turned(np.array([0.0, 1.0]))
    assert R.bend == pytest.approx(both, rel=1e-4)


@pytest.mark.parametrize(("lipschitz", "shortest"), [(0.9, False), (1.0, True), (3.0, True)])
def test_of_a_singular_system_the_shortest_solution_is_taken(
    lipschitz: float, shortest: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I - M = diag(1, 2^-53), which is singular up to rounding; a contraction is believed."""
    gap = 1e-10
    monkeypatch.setattr(FixedPoint, "lipschitz", lipschitz)
    monkeypatch.setattr(FixedPoint, "jacobians", lambda *_: np.diag([0.0, 1 - 2.0**-53])[None])
    rest = FixedPoint(SimpleNamespace())  # type: ignore[arg-type]
    found = rest._direction(np.zeros((2, 1)), np.full((2, 1), gap))
    wanted = [gap, 0.0 if shortest else gap * 2.0**53]
    assert found[:, 0] == pytest.approx(wanted, rel=1e-9, abs=1e-20)


def test_a_composition_bends_as_the_chain_rule_says() -> None:
    """f = x^2/2 + x after g = x^2/4 on [0, 2]: (f o g)'' = f'(g) g'' + f''(g) g'^2 is at most the
    same with the suprema f' = 2, f'' = 1, g' = 1 and g'' = 1/2, which it attains at x = 2."""
    inner: Any = SimpleNamespace(lipschitz=1.0, bend=0.5)
    found = FixedPoint(inner, SimpleNamespace(lipschitz=2.0, bend=1.0)).bend
    x = np.linspace(0, 2, 2001)
    second = np.gradient(np.gradient((x**2 / 4) ** 2 / 2 + x**2 / 4, x), x)
    assert found == pytest.approx(second[:-2].max(), rel=1e-2)
    assert FixedPoint(inner).bend == 0.5


@pytest.mark.parametrize(("above", "known"), [(1.9, True), (2.1, False)])
def test_each_layer_may_round_a_map_that_does_not_expand(
    above: float, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two layers."""
    monkeypatch.setattr(FixedPoint, "lipschitz", 1 + above * NONEXPANSIVE)
    rest = FixedPoint(SimpleNamespace(layers=[0, 0]))  # type: ignore[arg-type]
    assert rest._nonexpansive is known


def test_a_mixture_is_strictly_bent_unless_it_is_the_identity() -> None:
    t = np.array([-1.0, 0.5, 2.0])
    for k in (0.2, 0.7, 1.0):
        assert Mix(k=k).strict is bool(np.ptp(Mix(k=k).slope(t)) > 0)


def test_weights_fall_from_their_first_value() -> None:
    """x k^-power is rational for k = 1 and for whole powers."""
    pytest.importorskip("flint")
    with flint().ctx.workprec(128):
        for k, power, wanted in ((1, 0.5, Fraction(0.3)), (4, 2.0, Fraction(0.3) / 16)):
            found = _falling(Rationals(1e12), 0.3, k, power)
            assert Fraction(int(found.p), int(found.q)) == wanted


def test_models_that_are_not_lean_are_measured_one_by_one() -> None:
    given = arrays(1, 2, 3, 2, 1, 1, 2)
    assert problem(*given, solver="implicit").model.states_at_once == 1
    assert problem(*given, iterations=2).model.states_at_once == model.AT_ONCE > 1


@pytest.mark.parametrize("samples", [2, 3])
def test_large_states_are_looked_at_alone(samples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From 3 samples on, here."""
    monkeypatch.setattr(smallest, "LARGE", 3)
    asked: list[str] = []
    right = many.one_by_one

    def alone(states: Any, name: str) -> Any:
        asked.append(name)
        return right(states, name)

    monkeypatch.setattr(many, "one_by_one", alone)
    p = problem(*arrays(1, 4, 3, 2, 1, 1, samples), iterations=2)
    thetas = [{n: c * a for n, a in p.theta0.items()} for c in (1.0, 1.1)]
    states = [p.model.at(theta) for theta in thetas]
    found = p.model.quantities(states, ["sigma_min_Z"])
    assert bool(asked) is (samples == 3)
    for each, state in zip(found, states, strict=True):
        least = np.linalg.svd(state.Z, compute_uv=False)[samples - 1]
        assert each["sigma_min_Z"].value == pytest.approx(least, rel=1e-9)


def test_the_integral_of_softplus_has_all_its_digits_up_to_1() -> None:
    """-Li2(-e^t) - pi^2/12, of which the constants cancel for t < 0."""
    t = np.linspace(-0.99, -0.51, 25)
    found = Softplus().primitive(t)
    with mpmath.workdps(40):
        wanted = [-mpmath.polylog(2, -mpmath.exp(float(x))) - mpmath.pi**2 / 12 for x in t]
        off = [abs((float(x) - y) / y) for x, y in zip(found, wanted, strict=True)]
    assert max(off) < 3 * 2.0**-52
