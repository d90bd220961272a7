"""Activations and regularisers of OptEq in exact numbers: their doubles, up to rounding."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deqcheck.linalg import exact
from deqcheck.models.opteq.activations import Activation
from deqcheck.models.opteq.convex import ExplicitStep
from deqcheck.records.tower import Level, NoExactForm, flint
from deqcheck.records.tower.balls import Balls
from deqcheck.records.tower.rationals import Rationals
from tests.models.test_activations import ACTIVATIONS, names
from tests.models.test_opteq_regularizers import PROXIMAL, SMOOTH, Z

pytest.importorskip("flint")
# A few roundings of numbers of size 1 to 100.
SAME = {"rel": 1e-13, "abs": 1e-13}
# On both sides of every kink, on the kinks, and far away.
T = np.array([-7.0, -1.25, -1.0, -0.5, 0.0, 0.25, 0.75, 1.0, 1.5, 30.0])


def double(x: Any) -> float:
    exactly = hasattr(x, "p") and hasattr(x, "q")
    return float(Fraction(int(x.p), int(x.q))) if exactly else float(x)


def told(compute: Callable[[Level], Any]) -> list[Any]:
    """On every level that has a form for it, at least one."""
    found = []
    with flint().ctx.workprec(256):
        for level in (Balls(256, 1e12), Rationals(1e12)):
            with suppress(NoExactForm):
                found.append(compute(level))
    return found


def entries(a: Any) -> np.ndarray:
    rows, columns = range(a.nrows()), range(a.ncols())
    return np.array([[double(a[i, j]) for j in columns] for i in rows])


@pytest.mark.parametrize("s", ACTIVATIONS, ids=names)
@pytest.mark.parametrize("what", ["value", "slope", "primitive"])
def test_activations(s: Activation, what: str) -> None:
    on = getattr(s, f"{what}_on")
    for t in T:
        found = told(lambda level, t=t: on(level, exact.raw(level, Fraction(t))))
        wanted = float(getattr(s, what)(np.array([t]))[0])
        # The primitive of softplus is a dilogarithm.
        missing = (what == "slope" and t in s.kinks) or (what, s.kind) == ("primitive", "softplus")
        assert found or missing, t
        for each in found:
            assert double(each) == pytest.approx(wanted, **SAME), t


@pytest.mark.parametrize("kind", [*PROXIMAL, "explicit"])
def test_proximal_maps(kind: str) -> None:
    R = ExplicitStep(PROXIMAL["quadratic"], 0.3) if kind == "explicit" else PROXIMAL[kind]
    wanted, slopes = R.prox(Z), R.prox_slopes(Z)
    for j in range(Z.shape[1]):
        z = exact.array(Z[:, j])
        found = told(lambda level, z=z: R.prox_on(level, z.at(level)))
        turned = told(lambda level, z=z: R.prox_slopes_on(level, z.at(level)))
        assert found and turned
        for each in found:
            assert entries(each)[:, 0] == pytest.approx(wanted[:, j], **SAME)
        for each in turned:
            assert entries(each) == pytest.approx(slopes[j], **SAME)


@pytest.mark.parametrize("R", SMOOTH.values(), ids=SMOOTH)
def test_gradients_and_hessians(R: Any) -> None:
    Q = np.random.default_rng(3).normal(size=Z.shape)
    at, along = exact.array(Z), exact.array(Q)
    gradients = told(lambda level: R.gradient_on(level, at.at(level)))
    pulls = told(lambda level: R.pull_on(level, at.at(level), along.at(level)))
    assert gradients and pulls
    for each in gradients:
        assert entries(each) == pytest.approx(R.gradient(Z), **SAME)
    for each in pulls:
        assert entries(each) == pytest.approx(R.pull(Z, Q), **SAME)
