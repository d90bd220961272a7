"""Uniqueness tests against the enumeration of all activation patterns."""

from __future__ import annotations

import numpy as np
import pytest

from deqcheck.linalg import remembered, well_posed
from deqcheck.linalg.certificates import Bounded, Contraction, Monotone
from deqcheck.linalg.relu_equilibrium import Equilibrium, relu
from deqcheck.linalg.well_posed import certificate, equilibria, fits, proof, solutions


def matrices(count: int, m: int, scale: float) -> list[np.ndarray]:
    r = np.random.default_rng(m)
    return [scale * r.normal(size=(m, m)) for _ in range(count)]


@pytest.mark.parametrize("m", [1, 2, 3])
def test_certified_matrices_have_exactly_one_solution_for_every_input(m: int) -> None:
    r = np.random.default_rng(0)
    kinds = set()
    for W in matrices(80, m, 0.6):
        found = certificate(W)
        counts = {len(solutions(W, c)) for c in r.normal(size=(12, m))}
        if found is not None:
            kinds.add(type(found))
            assert counts == {1}
    assert Contraction in kinds
    assert len(kinds) > 1


def test_matrices_without_certificate_fail_for_some_input() -> None:
    r = np.random.default_rng(1)
    seen = total = 0
    for W in matrices(80, 2, 1.5):
        if certificate(W) is None:
            total += 1
            seen += {len(solutions(W, c)) for c in r.normal(size=(40, 2))} != {1}
    # Not every bad input is met by forty random ones.
    assert total > 20
    assert seen > 0.8 * total


def test_of_a_large_matrix_it_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    original = well_posed._proof
    monkeypatch.setattr(well_posed, "_proof", lambda W: asked.append(1) or original(W))
    monkeypatch.setattr(remembered, "_found", type(remembered._found)())
    W = np.triu(np.random.default_rng(0).normal(size=(70, 70)), 1)
    kinds = (Bounded, Contraction, Monotone, type(None))
    for each, kind in zip((W / 10, W / 80, W - W.T, 9 * np.eye(70)), kinds, strict=True):
        assert proof(each) == proof(each) == original(each)
        assert isinstance(proof(each)[1], kind)
    assert len(asked) == 4


def test_one_unit_of_modulus_1_is_not_certified_by_its_modulus() -> None:
    """I - |W| is singular."""
    assert well_posed._absolute(np.eye(3)) is None
    assert well_posed._absolute(np.array([[0.0, 1.0], [1.0, 0.0]])) is None


@pytest.mark.parametrize(
    ("W", "c", "count"),
    [(2.0, 1.0, 0), (2.0, -1.0, 2), (-2.0, 1.0, 1), (1.0, -1.0, 1), (1.0, 1.0, 0)],
)
def test_one_unit(W: float, c: float, count: int) -> None:
    assert len(solutions(np.array([[W]]), np.array([c]))) == count


def test_a_line_of_solutions_counts_as_several() -> None:
    assert len(solutions(np.array([[1.0]]), np.array([0.0]))) > 1


def test_each_certificate_is_the_first_that_applies() -> None:
    assert certificate(np.array([[0.5]])) == Contraction(0.5)
    # Hardly a contraction, but nilpotent; hardly one, and nothing is better.
    assert isinstance(certificate(np.array([[0.0, 1 - 1e-13], [0.0, 0.0]])), Bounded)
    assert isinstance(certificate(np.array([[1 - 1e-13]])), Contraction)
    # Norm 2, but nilpotent: the spectral radius of |W| is 0.
    assert isinstance(certificate(np.array([[0.0, 2.0], [0.0, 0.0]])), Bounded)
    # Skew: |W| has spectral radius 2, the symmetric part vanishes.
    assert isinstance(certificate(np.array([[0.0, 2.0], [-2.0, 0.0]])), Monotone)
    # A P-matrix that none of the cheap tests sees.
    W = np.array([[0.0, -3.0, 0.0], [0.0, 0.0, -3.0], [-3.0, 0.0, 0.0]])
    assert isinstance(certificate(W), Bounded)
    assert certificate(np.array([[2.0]])) is None
    assert certificate(1.5 * np.eye(30)) is None


@pytest.mark.parametrize("m", [2, 3, 4])
def test_the_bound_covers_the_error_of_any_state(m: int) -> None:
    r = np.random.default_rng(2)
    checked = 0
    for W in matrices(300, m, 0.9):
        found = certificate(W)
        if not isinstance(found, Bounded):
            continue
        C = r.normal(size=(m, 2))
        exact = np.stack([each[0] for each in equilibria(W, C)], axis=1)
        for scale in (1e-6, 1e-2, 1.0):
            near = relu(exact + scale * r.normal(size=exact.shape))
            assert np.linalg.norm(near - exact) <= Equilibrium(W, C, near, found).error
        checked += 1
    assert checked > 5


def test_what_fits_is_a_solution() -> None:
    W, c = np.array([[-2.0]]), np.array([1.0])
    assert fits(W, c, np.array([1 / 3]))
    assert not fits(W, c, np.array([0.34]))
