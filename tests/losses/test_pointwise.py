"""Losses of one's own: the square loss written anew, and one that is not convex."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from deqcheck.judging import judge
from deqcheck.losses.outer import PL
from deqcheck.losses.pointwise import Pointwise
from deqcheck.losses.square import LinearSquare
from deqcheck.models.delm.model import DelmModel
from deqcheck.models.delm.trust import TrustRegion, stationarity
from deqcheck.models.problem import Problem
from deqcheck.records.measured import Measured
from deqcheck.records.verdict import Outcome

R = np.random.default_rng(3)
PHI, TARGETS = R.normal(size=(4, 3)), R.normal(size=(2, 3))


class Again(Pointwise):
    bend = 2.0

    def values(self, q: np.ndarray) -> np.ndarray:
        return np.asarray(((q - self.Y) ** 2).sum(axis=0))

    def first(self, q: np.ndarray) -> np.ndarray:
        return np.asarray(2 * (q - self.Y))

    def second(self, q: np.ndarray) -> np.ndarray:
        return np.full(q.shape, 2.0)


class Wavy(Pointwise):
    """d^2 + 3 sin(d)^2: PL with constant 1/32 (Karimi, Nutini and Schmidt), not convex."""

    bend = 8.0

    def values(self, q: np.ndarray) -> np.ndarray:
        d = q - self.Y
        return np.asarray((d**2 + 3 * np.sin(d) ** 2).sum(axis=0))

    def first(self, q: np.ndarray) -> np.ndarray:
        d = q - self.Y
        return np.asarray(2 * d + 3 * np.sin(2 * d))

    def second(self, q: np.ndarray) -> np.ndarray:
        return np.asarray(2 + 6 * np.cos(2 * (q - self.Y)))


class Proven(Wavy):
    @property
    def pl(self) -> PL:
        return PL(Measured(1 / 32), "Karimi, Nutini and Schmidt 2016")


def test_the_square_loss_again() -> None:
    """More features than samples: the infimum is 0, and is found."""
    ours, given = Again(PHI, TARGETS), LinearSquare(PHI, TARGETS)
    assert ours.infimum.high < 1e-20
    for scale in (0.1, 1.0, 30.0):
        W = scale * R.normal(size=(2, 4))
        size = float(np.linalg.norm(W))
        here, there = ours.evaluate(W, size, 1e-9), given.evaluate(W, size, 1e-9)
        assert abs(here.gap - there.gap) <= here.error + there.error
        assert np.linalg.norm(here.gradient - there.gradient) <= here.gradient_error
        # The bars are those of a careful reader, not a multiple of them.
        assert here.error < 30 * there.error and here.gradient_error < 30 * there.gradient_error
        moved = W + 1e-9 * R.normal(size=W.shape) / math.sqrt(8)
        assert abs(given.evaluate(moved, size, 0.0).gap - here.gap) <= here.error


def test_an_infimum_that_is_not_reached_is_known_up_to_its_lower_bound() -> None:
    Phi = PHI[:2]
    ours, given = Again(Phi, TARGETS), LinearSquare(Phi, TARGETS)
    assert ours.infimum.low <= 0 and ours.infimum.high >= given.infimum.value
    assert ours.minimiser() is None
    small = Again(PHI, TARGETS, 0.1)
    assert small.infimum.high >= LinearSquare(PHI, TARGETS, 0.1).infimum.value
    assert small.of_radius(math.inf).infimum.high < 1e-20 < small.infimum.high
    assert np.abs(small._lowest_point).sum(axis=0).max() <= 0.1 * (1 + 1e-12)


def problem(loss: Pointwise, B: float) -> Problem:
    return Problem(
        DelmModel(0.5, loss, "wavy"), {"A": np.zeros((1, 1)), "B": np.array([[B]])}, seed=0
    )


ONE = np.ones((1, 1))


@pytest.mark.parametrize(
    ("loss", "kappa", "outcome"),
    [
        (Proven, None, Outcome.MET),
        (Proven, 1 / 33, Outcome.MET),
        (Proven, 0.1, Outcome.UNDECIDED),
        (Wavy, None, Outcome.UNDECIDED),
        (Wavy, 1 / 33, Outcome.UNDECIDED),
        (Wavy, 0.2, Outcome.NOT_MET),
    ],
)
def test_definition_1_of_a_loss_that_is_not_convex(
    loss: type[Wavy], kappa: float | None, outcome: Outcome
) -> None:
    """|l'|^2/(2 l) is smallest near d = 2.15, where it is 0.1758."""
    d = np.linspace(0.01, 20, 200_001)
    quotient = (2 * d + 3 * np.sin(2 * d)) ** 2 / (2 * (d**2 + 3 * np.sin(d) ** 2))
    assert 0.1 < quotient.min() < 0.18
    fixed = {} if kappa is None else {"kappa": kappa}
    p = problem(loss(ONE, 0 * ONE), 1.07)
    assert judge("kawaguchi2021/def1", p, constants=fixed).outcome is outcome


@pytest.mark.parametrize("B", [0.1, 0.8, 1.5])
def test_theorem_2_needs_no_convexity(B: float) -> None:
    """2 + 6 cos(2 d) is negative at d = 1.6: every delta serves there."""
    p = problem(Wavy(ONE, 0 * ONE), B)
    verdict = judge("kawaguchi2021/thm2", p)
    assert verdict.outcome is Outcome.CONFIRMED
    bar = p.start.measure("delta_bar").value
    curvature = 2 + 6 * np.cos(4 * B)
    # S = 1 for one feature, and F = curvature/(1 - gamma)^2.
    assert bar == pytest.approx(0.25 / curvature if curvature > 0 else math.inf)


def test_both_signs_of_curvature() -> None:
    """F indefinite: delta_bar is 1/lambda_max(S^1/2 F S^1/2) by a dense eigenvalue."""
    Phi, Y = np.array([[1.0, 0.4], [-0.3, 1.2]]), np.array([[1.6, 0.1]])
    theta = {"A": np.array([[0.3, -0.2], [0.5, 0.1]]), "B": np.array([[0.1, 0.05]])}
    p = Problem(DelmModel(0.4, Wavy(Phi, Y), "wavy"), theta, seed=0)
    state = p.start
    second = 2 + 6 * np.cos(2 * (state.Z @ Phi - Y))[0]
    assert second.min() < 0 < second.max()
    E = np.linalg.solve(state.U, Phi)
    S = np.eye(2)
    for k, s in enumerate(state.S.T):
        J = np.diag(s) - np.outer(s, s)
        S[k, k] += 0.16 * float(np.sum((J @ state.Z[0]) ** 2))
    largest = np.linalg.eigvals(S @ (E * second) @ E.T).real.max()
    assert state.measure("delta_bar").value == pytest.approx(1 / largest, rel=1e-10)
    assert judge("kawaguchi2021/thm2", p).outcome is Outcome.CONFIRMED
    assert judge("kawaguchi2021/gradient", p).outcome is Outcome.CONFIRMED


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_the_trust_region_of_a_loss_that_bends_both_ways(share: float) -> None:
    """Every part of it, from dense matrices: G = U (S^-1 - delta U^-1 H U^-T) U^T, and its step
    solves (H + G/delta) v = -q."""
    m, gamma = 3, 0.6
    r = np.random.default_rng(8)
    Phi, Y = r.normal(size=(m, 5)), r.normal(size=(1, 5))
    loss = Wavy(Phi, Y)
    A, B = r.normal(size=(m, m)), r.normal(size=(1, m))
    state = Problem(DelmModel(gamma, loss, "wavy"), {"A": A, "B": B}, seed=0).start
    S = np.exp(A) / np.exp(A).sum(axis=0)
    U = np.eye(m) - gamma * S
    Z = B @ np.linalg.inv(U)
    seconds = loss.second(Z @ Phi)[0]
    assert seconds.min() < 0 < seconds.max()
    H, q = Phi * seconds @ Phi.T, Phi @ loss.first(Z @ Phi)[0]
    J = [np.diag(s) - np.outer(s, s) for s in S.T]
    M = np.array([1 + gamma**2 * float(np.sum((Z @ J_k) ** 2)) for J_k in J])
    F = np.linalg.inv(U) @ H @ np.linalg.inv(U).T
    root = np.sqrt(M)
    delta = share / np.linalg.eigvalsh(root[:, None] * F * root)[-1]
    G = U @ (np.diag(1 / M) - delta * F) @ U.T
    found = TrustRegion.at(state, share)
    assert found.delta == pytest.approx(delta, rel=1e-11)
    near = {"rel": 1e-9, "abs": 1e-11}
    assert pytest.approx(H, **near) == found.H
    assert pytest.approx(G, **near) == found.G
    assert found.q == pytest.approx(q, **near)
    assert found.v == pytest.approx(-np.linalg.solve(H + G / delta, q), **near)
    assert pytest.approx(np.eye(m) - delta * root[:, None] * F * root, **near) == found.K
    other = r.normal(size=m)
    assert found.value(other) == pytest.approx(q @ other + other @ H @ other / 2, rel=1e-11)
    assert found.residual <= 1e-12 * found.scale


def test_what_is_left_of_the_trust_region_is_relative_to_what_rounding_may_do() -> None:
    """A step that is too long by 1e-3 leaves 1e-3 |q|, beside |q| + |H v| + |G v|/delta; and with
    entries of Z that are large and nearly equal J_k Z^T has lost digits."""
    m, gamma, eps = 3, 0.6, np.finfo(float).eps
    r = np.random.default_rng(8)
    Phi, A = r.normal(size=(m, 5)), r.normal(size=(m, m))
    S = np.exp(A) / np.exp(A).sum(axis=0)
    U, Z = np.eye(m) - gamma * S, 1e4 + r.normal(size=(1, m))
    loss = Wavy(Phi, Z @ Phi + r.normal(size=(1, 5)))
    state = Problem(DelmModel(gamma, loss, "wavy"), {"A": A, "B": Z @ U}, seed=0).start
    size = np.array([np.linalg.norm(s * (Z[0] - Z[0] @ s)) for s in S.T])
    off = (m + 8) * eps * np.linalg.norm(Z) + state.Z_radius
    lost = (gamma**2 * off * (2 * size + off) / (1 + gamma**2 * size**2)).max()
    assert state.curved.cancelled == pytest.approx(1 + lost / (64 * m * eps), rel=1e-6)
    assert state.curved.cancelled > 100
    state.__dict__["curved"] = replace(state.curved, velocity=1.001 * state.curved.velocity)
    left = []
    for share in (0.01, 0.5, 0.99):
        found = TrustRegion.at(state, share)
        terms = (found.q, found.H @ found.v, found.G @ found.v / found.delta)
        left.append(1e-3 * np.linalg.norm(found.q) / sum(np.linalg.norm(t) for t in terms))
    expected = max(left) / state.curved.cancelled
    assert stationarity(state).value == pytest.approx(expected, rel=1e-5)
