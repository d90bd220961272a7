"""Ends of spectra that are followed, against matrices whose singular values are known."""

from __future__ import annotations

import numpy as np
import pytest
from known_spectra import ORDER, exactly

from deqcheck.linalg.errors import lapack
from deqcheck.linalg.followed import End, Ends, beside, decomposed, followed, measured


def known(end: float, upper: bool) -> np.ndarray:
    """One value at an end, and dyadic numbers from 1/2 to 1."""
    rest = np.round(np.linspace(1, 0.5, ORDER - 1) * 2**9) / 2**9
    return exactly(np.append(end, rest) if upper else np.append(rest, end))


def turned(end: End, by: float) -> End:
    """With a vector that is off by about so much."""
    return end._replace(v=end.v + by * np.random.default_rng(0).normal(size=ORDER) / np.sqrt(ORDER))


ENDS = [(1.5, True), (1 + 2.0**-4, True), (1 + 2.0**-9, True), (0.25, False), (2.0**-6, False)]


@pytest.mark.parametrize(("value", "upper"), ENDS)
@pytest.mark.parametrize("by", [0.0, 1e-9, 1e-3, 3e-2])
@pytest.mark.parametrize("power", [0, -150, 150])
def test_it_contains_the_true_value(value: float, upper: bool, by: float, power: int) -> None:
    Z = np.ldexp(known(value, upper), power)
    found = followed(Z, Z.T @ Z, turned(decomposed(Z, upper), by), upper)
    true = np.ldexp(value, power)
    if found is None:
        # Where the proof or the accuracy is out of reach the decomposition serves.
        assert value < 2.0**-5 or by > 1e-2
        found = decomposed(Z, upper)
    assert abs(found.value - true) <= found.error <= lapack(Z.shape, np.ldexp(1.5, power))


@pytest.mark.parametrize(("value", "upper"), ENDS)
def test_another_vector_is_no_end(value: float, upper: bool) -> None:
    """A vector of the next value has no residual either; only the others tell."""
    Z = known(value, upper)
    _, s, vt = np.linalg.svd(Z)
    at = 1 if upper else -2
    wrong = End(float(s[at]), 0.0, vt[at], abs(float(s[at] ** 2 - s[2 * at] ** 2)))
    found = followed(Z, Z.T @ Z, wrong, upper)
    assert found is None or abs(found.value - value) <= found.error


@pytest.mark.parametrize("upper", [True, False])
def test_a_double_end_is_not_followed(upper: bool) -> None:
    Z = exactly(np.append((1.5, 1.5, 0.25, 0.25), np.ones(ORDER - 4)))
    assert followed(Z, Z.T @ Z, decomposed(Z, upper), upper) is None


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_has_no_ends(bad: float) -> None:
    ends, Z = Ends(), known(1.5, True)
    ends.of("Z", Z, Z.T @ Z, upper=True)
    Z[3, 5] = bad
    with np.errstate(all="ignore"):
        assert ends.of("Z", Z, Z.T @ Z, upper=True).error == np.inf


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("order", [60, 420])
def test_along_a_path(upper: bool, order: int) -> None:
    """Against the full decomposition: in small steps, across a jump, and in another shape."""
    r, ends, hows = np.random.default_rng(1), Ends(), []
    start, move = np.eye(order) - np.ones((order, order)) / (2 * order), 0.1 / order
    start += move * r.normal(size=(order, order))
    for t in (0.0, 1e-4, 2e-4, 1.0, 1.0001):
        Z = start + t * np.random.default_rng(2).normal(size=(order, order)) / order
        s = np.linalg.svd(Z, compute_uv=False)
        true, bar = s[0 if upper else -1], lapack(Z.shape, s[0])
        found = ends.of("Z", Z, Z.T @ Z, upper)
        assert abs(found.value - true) <= found.error + bar and found.error <= 1.001 * bar
        hows.append(found)
    assert "Kato-Temple" in {end.how for end in hows}
    assert measured(hows).value.shape == (5,)
    other = ends.of("Z", np.diag([1.0, 2.0, 4.0]), np.diag([1.0, 4.0, 16.0]), upper)
    assert abs(other.value - (4 if upper else 1)) <= other.error


def test_matrices_beside() -> None:
    """Of second order where little differs, unknown where much does."""
    Z = known(1.5, True)
    end = decomposed(Z, True)
    D = np.random.default_rng(3).normal(size=Z.shape)
    near, far = beside(np.array([Z + 1e-9 * D, Z + 1e-3 * D]), [end, end])
    assert abs(near - np.linalg.norm(Z + 1e-9 * D, 2)) <= 2 * lapack(Z.shape, 1.5)
    assert np.isnan(far)
