"""Of several samples or entries the one is shown whose bound is tightest, and each bound is claimed
only where it holds: by tables that are counted by hand."""

from __future__ import annotations

import re
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.records.measured import Measured
from deqcheck.theorems.elghaoui2021.perron import Error, entrywise
from deqcheck.theorems.hieu2022.contraction import Spectra
from deqcheck.theorems.robust.radius import attack

from .equilibrium_model import (
    I6,
    arrays,
    drawn,
    equilibrium,
    fro,
    gradients,
    modulus,
    norm2,
    problem,
)
from .equilibrium_moves import ROUNDED, TANH

# Distances and bounds of the entries (rows) of the samples (columns); what is shown.
TABLES = [
    # The shares are 10/11, 1/4; 1/5, 1/4.
    ([[1.0, 4.0], [3.0, 2.0]], [[1.1, 20.0], [12.0, 8.0]], (0, 0)),
    # 1/2, 1/4; 1/5, 3/4.
    ([[1.0, 4.0], [3.0, 6.0]], [[2.0, 20.0], [12.0, 8.0]], (1, 1)),
    # A bound of 0 is met by a distance of 0, and by no other.
    ([[0.0, 0.0], [3.0, 1.0]], [[0.0, 0.0], [12.0, 8.0]], (1, 0)),
    ([[0.5, 0.0], [3.0, 7.0]], [[0.0, 0.0], [12.0, 8.0]], (0, 0)),
]


def at_zero(samples: int) -> Any:
    """Two units, whose equilibrium is 0 without an error."""
    equilibrium = SimpleNamespace(errors=np.zeros(samples))
    return SimpleNamespace(Z=np.zeros((2, samples)), n=2, N=samples, equilibrium=equilibrium)


@pytest.mark.parametrize(("apart", "bounds", "shown"), TABLES)
def test_the_entry_with_the_tightest_bound_is_shown(
    apart: Any, bounds: Any, shown: tuple[int, int]
) -> None:
    i, j = shown
    distances, limits = np.array(apart), list(np.array(bounds).T)
    (claim,) = entrywise(Error.entry, at_zero(2), distances, limits)
    assert (claim.left.value, claim.right.value) == (apart[i][j], bounds[i][j])
    assert claim.note == f"entry {i} of sample {j}"
    (alone,) = entrywise(Error.entry, at_zero(1), distances[:, [j]], [limits[j]])
    assert alone.note == f"entry {i}"
    assert not list(entrywise(Error.entry, at_zero(2), distances, [None, None]))


@pytest.mark.parametrize(
    ("W", "claimed"),
    [
        # The norms are 0.85 and 1.2, 1.27 and 0.9, 0.6 and 0.6.
        ([[0.6, 0.6], [0.0, 0.0]], {"Euclidean distance"}),
        ([[0.9, 0.0], [0.9, 0.0]], {"largest entry"}),
        ([[0.6, 0.0], [0.0, 0.6]], {"Euclidean distance", "largest entry"}),
    ],
)
def test_a_norm_bounds_the_error_where_the_map_contracts_in_it(
    W: list[list[float]], claimed: set[str]
) -> None:
    v = arrays(W, np.eye(2), np.eye(2), [[1.0], [0.5]], [[0.0], [0.0]], z=[[1.0], [1.0]])
    assert {each.name for each in dq.judge("banach/error", problem(v)).conclusions} == claimed


def test_the_distance_from_the_exact_equilibrium() -> None:
    """z = relu(w z + u x) = u x/(1 - w) in rationals."""
    for w in (0.3, 0.1, -0.7):
        v = arrays([[w]], [[0.7]], [[1.0]], [[0.9]], [[0.0]])
        p = problem(v)
        exact = Fraction(0.7) * Fraction(0.9) / (1 - Fraction(w))
        off = abs(Fraction(float(p.start.Z[0, 0])) - exact)
        (near,) = (c for c in dq.judge("exact/pattern", p).conclusions if "bar" in c.name)
        assert near.left.value == pytest.approx(float(off), rel=1e-9, abs=0.0)
        assert off > 0


def test_a_network_that_contracts_descends_by_its_contraction_alone() -> None:
    """The cosine of the cheap gradient of a tanh network, against sqrt(1 - k^2)."""
    Z, k = equilibrium(TANH, np.tanh), norm2(TANH["W"])
    p, q = gradients(TANH, TANH["C"].T @ (TANH["C"] @ Z - TANH["Y"]), Z, np.tanh)
    (smooth,) = dq.judge("jfb/one", problem(TANH, activation="tanh")).conclusions
    assert smooth.left.value == pytest.approx((p * q).sum() / fro(p) / fro(q), rel=1e-9)
    assert smooth.right.value == pytest.approx(np.sqrt(1 - k**2), rel=1e-9)


def test_two_equilibria_are_told_with_their_input() -> None:
    (note,) = dq.judge("lcp/ill-posed", problem(I6)).notes
    told = [np.array(each.split(", "), dtype=float) for each in re.findall(r"\(([^)]*)\)", note)]
    c, first, second = told
    assert note == f"for c = {shown(c)} both {shown(first)} and {shown(second)} are equilibria"
    for z in (first, second):
        np.testing.assert_allclose(np.maximum(I6["W"] @ z + c, 0), z, rtol=1e-5)
    assert not np.allclose(first, second)


def shown(z: np.ndarray) -> str:
    return "(" + ", ".join(format(x, ".6g") for x in z) + ")"


@pytest.mark.parametrize(
    ("affordable", "inverse", "minor", "count"),
    [(False, None, 1.0, 1), (True, None, 1.0, 1), (True, None, -1.0, 0), (True, 2.0, 1.0, 0)],
)
def test_patterns_that_cannot_be_tried_are_told_of_p_matrices(
    affordable: bool, inverse: float | None, minor: float, count: int
) -> None:
    """Without a positive minor the hypothesis fails, whatever the inverses are."""
    minors = SimpleNamespace(smallest=Measured(minor))
    w = SimpleNamespace(affordable=affordable, worst_inverse=inverse, minors=minors)
    p: Any = SimpleNamespace(start=SimpleNamespace(weights=w))
    assert len(list(dq.statements()["lcp/error"]().unchecked(p))) == count


@pytest.mark.parametrize(("dW", "equal"), [(0.25, True), (-0.25, False), (0.0, True)])
def test_the_modulus_of_one_unit_falls_by_a_positive_change(dW: float, equal: bool) -> None:
    """1 - w - dW = (1 - w) - |dW| for dW >= 0."""
    v = arrays([[0.5]], [[1]], [[1]], [[1]], [[0]], dW=[[dW]], dU=[[0]], db=[0])
    (claim,) = dq.judge("li2026/thm2", problem(v)).conclusions
    assert (claim.left.value, claim.right.value) == pytest.approx((0.5 - dW, 0.5 - abs(dW)))
    assert bool(claim.note) == equal


def test_changes_of_several_units_count_by_their_operator_norm() -> None:
    dW = 0.05 * np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 0.0, 1.0]])
    v = {**ROUNDED, "dW": dW}
    other, m = {**v, "W": v["W"] + dW}, modulus(v)
    Z, there = equilibrium(v), equilibrium(other)
    (first,) = dq.judge("li2026/thm2", problem(v)).conclusions
    assert first.left.value == pytest.approx(modulus(other), rel=1e-9)
    assert first.right.value == pytest.approx(m - norm2(dW), rel=1e-9)
    assert not first.note
    (second,) = dq.judge("li2026/thm4", problem(v)).conclusions
    assert second.left.value == pytest.approx(fro(Z - there) / fro(there), rel=1e-8)
    assert second.right.value == pytest.approx(norm2(dW) / m, rel=1e-9)
    third = dq.judge("li2026/thm3", problem(v)).conclusions[0]
    assert third.right.value == pytest.approx(norm2(dW) * fro(there) / m, rel=1e-9)


def test_outputs_move_by_the_constant_times_the_step() -> None:
    """It is tried with a step of 1, which does not show the factor."""
    claim = dq.statements()["revay2020/lipschitz"].moved(moved=3.0, g=2.0, step=5.0)
    assert (claim.left.value, claim.relation, claim.right.value) == (3.0, "<=", 10.0)


def test_an_attack_goes_along_the_gradient_of_each_margin() -> None:
    """Of three outputs with a way past the equilibrium; gradients by differences of a network that
    is linear nearby."""
    v = {**drawn(7, 3, 2, 3, 0.3), "D": np.array([[0.3, -0.2], [0.1, 0.5], [-0.4, 0.2]])}

    def outputs(x: np.ndarray) -> np.ndarray:
        return np.asarray(v["C"] @ equilibrium({**v, "X": x[:, None]})[:, 0] + v["D"] @ x)

    x, share = v["X"][:, 0], 0.01
    y = outputs(x)
    k = int(np.argmax(y))
    slopes = np.stack([(outputs(x + e) - outputs(x - e)) / 2e-4 for e in 1e-4 * np.eye(2)], axis=1)
    margins = []
    for i in {0, 1, 2} - {k}:
        way = slopes[k] - slopes[i]
        there = outputs(x - 0.999 * share * way / fro(way))
        margins += [there[k] - there[j] for j in {0, 1, 2} - {k}]
    found: Any = SimpleNamespace(predicted=k, radius=share)
    assert attack(problem(v).start, 0, found).value == pytest.approx(min(margins), rel=1e-7)


def claims_of(id_: str, v: Any) -> list[Any]:
    p = problem(v)
    return list(dq.statements()[id_]().claims(p, p.start))


@pytest.mark.parametrize("outputs", [1, 2, 3])
def test_a_radius_is_attacked_from_two_outputs_on(outputs: int) -> None:
    v = drawn(3, n=2, d=2, q=outputs, scale=0.1)
    asked = dq.statements()["robust/radius"]()
    decided = {c.name: c.judge().decision.name for c in asked.hypotheses(problem(v))}
    assert decided["at least two outputs"] == ("HOLDS" if outputs > 1 else "VIOLATED")
    assert bool(claims_of("robust/radius", v)) is (outputs > 1)


@pytest.mark.parametrize("units", [1, 2])
def test_the_gain_of_one_unit_alone_is_known(units: int) -> None:
    """|U|/(1 - W) of the pattern that is on; of two units it is less than |U|/m."""
    v = drawn(5, n=units, d=2, q=1, scale=0.3)
    (gain,) = (c for c in claims_of("pabbaraju2021/thm1", v) if c.name.startswith("no pattern"))
    bound = norm2(v["U"]) / modulus(v)
    assert gain.right.value == pytest.approx(bound, rel=1e-12)
    assert (gain.equal is None) is (units > 1)
    assert (gain.left.value < bound * (1 - 1e-6)) is (units > 1)


@pytest.mark.parametrize("seed", range(4))
def test_the_sample_whose_iterates_are_furthest_for_their_bound_is_shown(seed: int) -> None:
    """|z* - z_l|_1 <= g^(l+1)/(1 - g) |phi|_1 (Kawaguchi's Proposition 1) from z_0 = phi."""
    r, g = np.random.default_rng(seed), 0.6
    Phi, A = r.normal(size=(4, 5)), 2 * r.normal(size=(4, 4))
    Phi[0], Phi[1] = 0.1 + np.abs(Phi[0]), -0.1 - np.abs(Phi[1])
    S = np.exp(A) / np.exp(A).sum(axis=0)
    rest = np.linalg.solve(np.eye(4) - g * S, Phi)
    data, init = {"Phi": Phi, "Y": np.zeros((1, 5))}, {"A": A, "B": np.ones((1, 4))}
    p = dq.problem("delm", data=data, init=init, gamma=g)
    found = dq.statements()["kawaguchi2021/prop1"]().claims(p, p.start)
    (first,) = (c for c in found if re.match(r"l = 0\b", c.note) and c.relation == "<=")
    share = np.abs(rest - Phi).sum(axis=0) / (g / (1 - g) * np.abs(Phi).sum(axis=0))
    shown = int(np.argmax(share))
    assert share[shown] > share.min() * 1.01
    assert first.left.value == pytest.approx(np.abs(rest - Phi)[:, shown].sum(), rel=1e-10)
    assert first.right.value == pytest.approx(g / (1 - g) * np.abs(Phi[:, shown]).sum(), rel=1e-10)


DENSE = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize(
    ("A", "B", "normal"),
    [(np.eye(3), DENSE + DENSE.T, True), (np.eye(3), DENSE, False), (DENSE, np.eye(3), False)],
)
def test_a_part_of_the_units_has_a_normal_block_if_the_weights_are_diagonal(
    A: np.ndarray, B: np.ndarray, normal: bool
) -> None:
    """I - W = m I + A^T A - B + B^T; two of three units are active."""
    active = SimpleNamespace(mask=np.array([[True], [True], [False]]))
    state: Any = SimpleNamespace(A=A, B=B, n=3, equilibrium=active)
    assert Spectra(state).normal is normal
