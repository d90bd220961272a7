"""The largest singular value of large matrices against known ones and the full decomposition."""

from __future__ import annotations

import numpy as np
import pytest
from known_spectra import ORDER, exactly

from deqcheck.linalg import errors, largest, remembered
from deqcheck.linalg.largest import largest_singular_value

WANTED = errors.lapack((ORDER,), 1.0)


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(largest, "LARGE", 150)
    monkeypatch.setattr(remembered, "_found", type(remembered._found)())


def spread(*first: float) -> np.ndarray:
    """The first ones as given, and dyadic numbers from 0.75 to 0."""
    return np.append(first, np.round(np.linspace(0.75, 0, ORDER - len(first)) * 2**9) / 2**9)


@pytest.mark.parametrize("apart", [1.0, 2.0**-2, 2.0**-4, 2.0**-6])
@pytest.mark.parametrize("rows", [ORDER, 4 * ORDER])
def test_it_contains_the_true_value(apart: float, rows: int) -> None:
    most = 0.75 + apart
    found = largest_singular_value(exactly(spread(most), rows), errors.lapack((rows,), 1.0))
    assert found is not None
    assert abs(found.value - most) <= found.error <= errors.lapack((rows,), most)


@pytest.mark.parametrize("first", [(1.0, 1.0), (1.0,) * 5, (1.0, 1 - 2.0**-30), (0.75,)])
def test_what_has_close_neighbours_is_left_to_the_decomposition(first: tuple[float, ...]) -> None:
    Z = exactly(spread(*first))
    assert largest_singular_value(Z, WANTED) is None
    found = errors.norm2(Z)
    assert found.how == "Weyl" and abs(found.value - first[0]) <= found.error


@pytest.mark.parametrize("power", [-400, -240, -150, -60, 60, 150, 240, 400])
def test_every_scale(power: int) -> None:
    """Scaling by a power of two scales the answer; where squares overflow there is none."""
    with np.errstate(over="ignore"):
        found = errors.norm2(np.ldexp(exactly(spread(1.25)), power))
    assert abs(np.ldexp(found.value, -power) - 1.25) <= np.ldexp(found.error, -power)
    assert np.ldexp(found.error, -power) <= errors.lapack((ORDER,), 1.25)


@pytest.mark.parametrize("shape", [(160, 160), (260, 220), (400, 160), (160, 260)])
@pytest.mark.parametrize("seed", range(3))
def test_drawn_weights(shape: tuple[int, int], seed: int) -> None:
    W = np.random.default_rng(seed).normal(size=shape) / 16
    s = np.linalg.svd(W, compute_uv=False)
    found, bar = errors.norm2(W), errors.lapack(shape, s[0])
    assert found.how == "Kato-Temple"
    assert abs(found.value - s[0]) <= found.error + bar and found.error <= bar


def test_the_first_singular_value_is_the_norm() -> None:
    Z = np.random.default_rng(5).normal(size=(200, 160))
    first, norm = errors.nth_singular_value(Z, 1), errors.norm2(Z)
    assert (first.value, first.error, first.how) == (norm.value, norm.error, "Kato-Temple")


def test_radii_of_the_matrix_count() -> None:
    bare, wide = (errors.norm2(exactly(spread(1.25)), radius) for radius in (0.0, 1e-3))
    assert bare.how == wide.how == "Kato-Temple"
    assert wide.error == pytest.approx(bare.error + 1e-3, rel=1e-12)


def test_an_iteration_that_misses_the_largest_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vector of the second largest has no residual either; only the other values tell."""
    Z = exactly(spread(1.25, 1.0))
    _, s, vt = np.linalg.svd(Z)
    blind = largest._Ritz(vt[1], float(s[1] ** 2 + s[2] ** 2) / 2)
    monkeypatch.setattr(largest, "uppermost", lambda G, wanted: blind)
    assert largest_singular_value(Z, WANTED) is None


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_has_no_largest_value(bad: float) -> None:
    Z = np.eye(ORDER)
    Z[3, 5] = bad
    with np.errstate(all="ignore"):
        assert largest_singular_value(Z, WANTED) is None
        assert errors.norm2(Z).error == np.inf


@pytest.mark.parametrize("Z", [np.zeros((ORDER, ORDER)), np.eye(ORDER), np.ones((ORDER, ORDER))])
def test_of_one_value_or_one_vector(Z: np.ndarray) -> None:
    found = errors.norm2(Z)
    assert abs(found.value - np.linalg.norm(Z, 2)) <= found.error


@pytest.mark.parametrize("shape", [(60, 60), (90, 50), (50, 90)])
@pytest.mark.parametrize("power", [0, -200, 200])
def test_bounds_of_norms(shape: tuple[int, int], power: int) -> None:
    """Never below the norm, whatever lies beside it, and not much above."""
    r = np.random.default_rng(0)
    drawn = [r.normal(size=shape) * r.uniform(size=shape[1]) ** k for k in range(12)]
    drawn.append(np.eye(*shape))
    found = [(W, largest.bound(np.ldexp(W, power))) for W in drawn]
    known = [(errors.norm2(W), np.ldexp(bound, -power)) for W, bound in found if bound is not None]
    assert len(known) > len(drawn) / 2
    for norm, bound in known:
        assert norm.low < bound <= norm.high * (1 + largest.ABOVE / 2)


def test_powers_that_come_near_another_singular_value_bound_nothing() -> None:
    """They start from the longest column, and never leave its eigenspace."""
    W = np.diag([1.2] + [0.9] * 99)
    # Its norm is 2, its columns are shorter than 1.
    W[60:, 60:] = 0.05
    assert largest.bound(W) is None


@pytest.mark.parametrize("W", [np.full((50, 50), np.nan), np.full((50, 50), 1e200)])
def test_what_has_no_square_has_no_bound(W: np.ndarray) -> None:
    assert largest.bound(W) is None
