"""Activations and regularisers by their definitions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize, minimize_scalar

from deqcheck.models.equilibrium.activations import NAMES, activation
from deqcheck.models.opteq.activations import Activation, Mix
from deqcheck.models.opteq.convex import Quadratic
from deqcheck.registry import kinds
from tests.families import ROOMS

ACTIVATIONS = [
    cls(k=0.3) if kind == "mix" else cls() for kind, cls in kinds(ROOMS["activations"]).items()
]
T = np.concatenate([np.linspace(-6, 6, 241), [-800.0, -40.0, 40.0, 800.0]])


def names(each: Activation) -> str:
    return each.kind


def test_the_registry_has_every_activation() -> None:
    found = {each.kind for each in ACTIVATIONS}
    assert found == {"relu", "tanh", "softplus", "hardtanh", "identity", "mix"}


@pytest.mark.parametrize("s", ACTIVATIONS, ids=names)
def test_slopes_and_curvature(s: Activation) -> None:
    slope = s.slope(T)
    low, high = s.slopes
    assert (slope >= low - 1e-15).all() and (slope <= high + 1e-15).all()
    assert slope.max() == pytest.approx(high, abs=1e-3) and slope.min() == pytest.approx(
        low, abs=1e-3
    )
    away = np.array([t for t in T if abs(t) < 10 and all(abs(t - k) > 1e-3 for k in s.kinks)])
    h = 1e-6
    numeric = (s.value(away + h) - s.value(away - h)) / (2 * h)
    assert np.allclose(numeric, s.slope(away), atol=1e-9)
    if s.smooth:
        bend = np.abs(np.diff(s.slope(np.linspace(-4, 4, 80_001)))) / 1e-4
        assert bend.max() == pytest.approx(s.curvature, abs=1e-6)
    else:
        assert s.curvature == np.inf
    assert np.abs(s.value(T)).max() <= s.bound


def test_at_a_kink_the_slope_is_that_to_its_left() -> None:
    """So relu'(0) = 0, and hardtanh' is 0 at -1 and 1 at 1."""
    assert {s.kind: s.kinks for s in ACTIVATIONS if s.kinks} == {
        "relu": (0.0,),
        "hardtanh": (-1.0, 1.0),
    }
    for s in ACTIVATIONS:
        for kink in s.kinks:
            before, at, after = s.slope(kink + np.array([-1e-6, 0.0, 1e-6]))
            assert at == before != after
    for kind, left in (("relu", 0.0), ("leaky-relu", 0.1)):
        slope = activation(kind, 0.1).slope(np.array([-1e-6, 0.0, 1e-6]))
        assert slope.tolist() == [left, left, 1.0]


@pytest.mark.parametrize("s", [*ACTIVATIONS, Mix(k=1.0)], ids=names)
def test_where_an_activation_rests_and_whether_it_is_strict(s: Activation) -> None:
    t = np.linspace(-6, 6, 241)
    low, high = s.resting
    assert np.array_equal(s.value(t) == t, (low <= t) & (t <= high))
    # But at isolated points, here at 0.
    slope = s.slope(t[t != 0])
    assert s.strict == bool(((slope > 0) & (slope < 1)).all())


DEFINED: dict[str, Callable[[Any], Any]] = {
    "relu": lambda t: max(t, mp.mpf(0)),
    "tanh": mp.tanh,
    "sigmoid": lambda t: 1 / (1 + mp.exp(-t)),
    "softplus": lambda t: mp.log1p(mp.exp(t)),
    "leaky-relu": lambda t: max(t, mp.mpf(0.1) * t),
}


@pytest.mark.parametrize("kind", NAMES)
def test_activations_of_an_equilibrium_and_their_rounding(kind: str) -> None:
    s, eps = activation(kind, 0.1), np.finfo(float).eps
    t = np.array([-800.0, -40.0, -6.1, -1.3, -0.2, 0.3, 1.1, 5.9, 40.0, 800.0])
    bars = s.radius(t, np.zeros_like(t))
    assert (bars <= 16 * eps * (1 + np.abs(t)) * np.abs(s.value(t)) + 1e-300).all()
    assert s.radius(t, np.full_like(t, 0.5)) == pytest.approx(0.5 + bars, rel=1e-15)
    with mp.workdps(60):
        exact = [DEFINED[kind](mp.mpf(x)) for x in t]
        assert all(abs(a - b) <= e for a, b, e in zip(s.value(t), exact, bars, strict=True))
        slopes = [float(mp.diff(DEFINED[kind], mp.mpf(x))) for x in t]
    assert s.slope(t) == pytest.approx(slopes, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("s", ACTIVATIONS, ids=names)
def test_primitive_is_the_integral(s: Activation) -> None:
    for t in (-5.0, -1.5, -0.3, 0.0, 0.7, 2.0, 8.0):
        breaks = [k for k in s.kinks if min(0, t) < k < max(0, t)] or None
        integral = quad(lambda x: float(s.value(np.array(x))), 0, t, points=breaks)[0]
        assert float(s.primitive(np.array([t]))[0]) == pytest.approx(integral, rel=1e-12, abs=1e-13)
    assert np.isfinite(s.primitive(T)).all()


INTEGRATED: dict[str, Callable[[Any], Any]] = {
    "tanh": lambda t: mp.log(mp.cosh(t)),
    "softplus": lambda t: mp.polylog(2, mp.mpf(-1)) - mp.polylog(2, -mp.exp(t)),
}


@pytest.mark.parametrize("kind", INTEGRATED)
def test_primitives_and_conjugates_keep_their_digits_near_zero(kind: str) -> None:
    """Statements count their rounding relative to their size, and to t s(t)."""
    s, eps = kinds(ROOMS["activations"])[kind](), np.finfo(float).eps
    t = np.concatenate([sign * np.geomspace(1e-9, 30, 60) for sign in (1, -1)])
    u = s.value(t)
    with mp.workdps(50):
        primitives = [INTEGRATED[kind](mp.mpf(x)).real for x in t]
        # The supremum is reached next to t, since u is s(t) up to rounding.
        conjugates = [b * mp.mpf(x) - a for b, x, a in zip(u, t, primitives, strict=True)]
        off = [float(abs(a - b)) for a, b in zip(s.primitive(t), primitives, strict=True)]
        off_conjugate = [float(abs(a - b)) for a, b in zip(s.conjugate(u), conjugates, strict=True)]
    size = np.abs(np.array(primitives, dtype=float))
    assert (off <= 8 * eps * size).all()
    assert (off_conjugate <= 16 * eps * (size + np.abs(t * u))).all()


@pytest.mark.parametrize("s", ACTIVATIONS, ids=names)
def test_conjugate_is_the_supremum(s: Activation) -> None:
    for t in (-2.0, -0.4, 0.0, 0.3, 1.7):
        u = float(s.value(np.array([t]))[0])
        best = minimize_scalar(
            lambda x, u=u: float(s.primitive(np.array([x]))[0]) - u * x,
            bracket=(t - 1, t + 1.1), tol=1e-12,
        )  # fmt: skip
        assert float(s.conjugate(np.array([u]))[0]) == pytest.approx(-best.fun, abs=1e-10)
    outside = {"relu": -0.1, "softplus": -0.1, "tanh": 1.1, "hardtanh": -1.1}.get(s.kind)
    if outside is not None:
        assert s.conjugate(np.array([outside]))[0] == np.inf


def test_conjugates_at_the_edge_of_their_domain() -> None:
    edge = {"relu": (0.0, 0.0), "softplus": (0.0, np.pi**2 / 12), "tanh": (1.0, np.log(2))}
    for kind, (u, value) in edge.items():
        s = kinds(ROOMS["activations"])[kind]()
        assert s.conjugate(np.array([u]))[0] == pytest.approx(value, abs=1e-14)


def test_mix_inverts_itself() -> None:
    s = Mix(k=0.01)
    assert np.allclose(s.value(s.inverse(T)), T, rtol=1e-13)


REGULARIZERS: list[tuple[str, dict[str, Any]]] = [
    ("distance", {"weight": 0.7, "center": np.array([1.0, -2.0, 0.5])}),
    ("least-squares", {"A": np.array([[1.0, 2.0, 0.0]]), "c": np.array([0.5])}),
    ("output", {}),
    ("l1", {"weight": 0.4}),
]


@pytest.mark.parametrize(("kind", "fields"), REGULARIZERS)
def test_regularizers(kind: str, fields: dict[str, Any]) -> None:
    r = np.random.default_rng(0)
    R = kinds(ROOMS["regularizers"])[kind](**fields).on(3, r.normal(size=(2, 3)))
    z = r.normal(size=(3, 1))
    found = minimize(
        lambda u: R.value(u[:, None]) + ((u - z[:, 0]) ** 2).sum() / 2,
        z[:, 0], method="Nelder-Mead", options={"xatol": 1e-11, "fatol": 1e-14, "maxfev": 9999},
    )  # fmt: skip
    assert np.allclose(R.prox(z)[:, 0], found.x, atol=1e-6)
    h = 1e-6
    numeric = np.stack([(R.prox(z + h * e[:, None]) - R.prox(z - h * e[:, None]))[:, 0] / (2 * h)
                        for e in np.eye(3)], axis=1)  # fmt: skip
    assert np.allclose(R.prox_slopes(z)[0], numeric, atol=1e-8)
    if isinstance(R, Quadratic):
        gradient = [(R.value(z + h * e[:, None]) - R.value(z - h * e[:, None])) / (2 * h)
                    for e in np.eye(3)]  # fmt: skip
        assert np.allclose(R.gradient(z)[:, 0], gradient, atol=1e-8)
        assert R.smoothness == pytest.approx(np.linalg.eigvalsh(R.hessian)[-1])


def test_cases_spell_activations_both_ways(tmp_path: Path) -> None:
    from deqcheck.fields import Part

    spec = Part(family=ROOMS["activations"])
    assert spec.read("tanh", tmp_path).kind == "tanh"
    assert spec.read({"kind": "mix", "k": 0.5}, tmp_path) == Mix(k=0.5)
