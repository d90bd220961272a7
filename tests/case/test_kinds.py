"""What the kinds of data, targets and initialisations draw, and from which streams."""

from __future__ import annotations

import numpy as np
import pytest

from deqcheck.case import build_problem
from deqcheck.fields import specs
from deqcheck.registry import kinds
from deqcheck.seeds import rng
from tests.families import ROOMS


def kind(room, word, **fields):
    return kinds(ROOMS[room])[word](**fields)


def test_streams_are_named():
    first = rng(0, "init.A").standard_normal(4)
    assert (first == rng(0, "init.A").standard_normal(4)).all()
    others = [rng(0, "init.B"), rng(1, "init.A"), rng(2**40, "init.A")]
    assert not any(np.isin(first, other.standard_normal(4)).any() for other in others)
    # Reports are compared across versions: the streams must stay what they are.
    assert rng(7, "init.A").integers(1000, size=3).tolist() == [911, 4, 321]


def test_draws_do_not_shift_each_other(read):
    plain = build_problem(read()).theta0
    other = build_problem(read("data.target.noise=0", "init={kind: each, A: zero, B: gaussian}"))
    assert np.allclose(0.3 * other.theta0["B"], plain["B"])


def test_inputs():
    target = kind("targets", "negated-input")
    size = {"n": 2000, "dim": 3, "target": target}
    gaussian = kind("data", "gaussian", scale=2.0, **size).inputs(0)
    assert gaussian.shape == (3, 2000) and gaussian.std() == pytest.approx(2, rel=0.05)
    uniform = kind("data", "uniform", low=1.0, high=3.0, **size).inputs(0)
    assert 1 <= uniform.min() < 1.01 and 2.99 < uniform.max() <= 3
    sphere = kind("data", "sphere", radius=2.0, **size).inputs(0)
    assert np.allclose(np.linalg.norm(sphere, axis=0), 2) and abs(sphere.mean()) < 0.05
    inputs, targets = kind("data", "gaussian", **size).samples(0)
    assert (targets == -inputs).all()


def test_targets():
    inputs = rng(0, "inputs").standard_normal((4, 3000))
    exact = kind("targets", "teacher", outputs=2, scale=3.0).targets(inputs, 0)
    noisy = kind("targets", "teacher", outputs=2, scale=3.0, noise=0.1).targets(inputs, 0)
    assert np.linalg.matrix_rank(np.vstack([inputs, exact])) == 4
    assert (noisy - exact).std() == pytest.approx(0.1, rel=0.05)
    gaussian = kind("targets", "gaussian", outputs=2, scale=3.0).targets(inputs, 0)
    assert gaussian.shape == (2, 3000) and gaussian.std() == pytest.approx(3, rel=0.05)
    negated = kind("targets", "negated-input", noise=0.1).targets(inputs, 0)
    assert (negated + inputs).std() == pytest.approx(0.1, rel=0.05)


def test_inits():
    normal = kind("inits", "gaussian", scale=2.0).draw("A", (50, 100), 0)
    fan = kind("inits", "gaussian", scale=2.0, fan="in").draw("A", (50, 100), 0)
    assert normal.std() == pytest.approx(2, rel=0.05) and np.allclose(normal, 10 * fan)
    identity = kind("inits", "identity", scale=2.0)
    assert identity.draw("A", (2, 3), 0).tolist() == [[2, 0, 0], [0, 2, 0]]
    assert identity.draw("a", (2,), 0).tolist() == [2, 2]
    assert not kind("inits", "zero", scale=2.0).draw("A", (2, 3), 0).any()


@pytest.mark.parametrize("room", ["data", "targets", "inits", "models", "losses", "dynamics"])
def test_every_kind_is_documented(room):
    for word, cls in kinds(ROOMS[room]).items():
        assert cls.__doc__, word
        assert all(spec.doc for spec in specs(cls).values()), word
