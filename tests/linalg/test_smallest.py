"""The smallest singular value of large matrices against known ones and the full decomposition."""

from __future__ import annotations

import numpy as np
import pytest
from known_spectra import ORDER, exactly

from deqcheck.linalg import errors, smallest
from deqcheck.linalg.smallest import smallest_singular_value


def spread(*last: float) -> np.ndarray:
    """Dyadic numbers from 1 to 0.25, and the last ones as given."""
    return np.append(np.round(np.linspace(1, 0.25, ORDER - len(last)) * 2**9) / 2**9, last)


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smallest, "LARGE", 150)


@pytest.mark.parametrize("bits", [3, 7, 13, 20, 27])
@pytest.mark.parametrize("rows", [ORDER, 4 * ORDER])
def test_it_contains_the_true_value(bits: int, rows: int) -> None:
    least = 2.0**-bits
    found = smallest_singular_value(exactly(spread(least), rows))
    assert found is not None
    assert abs(found.value - least) <= found.error <= errors.lapack((rows,), 4.0)


@pytest.mark.parametrize("bits", [30, 34, 40])
def test_what_is_too_small_for_it_is_left_to_the_decomposition(bits: int) -> None:
    """2^-40 is about 1e-12."""
    Z = exactly(spread(2.0**-bits))
    direct = smallest_singular_value(Z)
    for found in (errors.nth_singular_value(Z, ORDER), *([] if direct is None else [direct])):
        assert abs(found.value - 2.0**-bits) <= found.error <= errors.lapack(Z.shape, 4.0)


@pytest.mark.parametrize("times", [2, 5])
def test_a_multiple_value_is_left_to_the_decomposition(times: int) -> None:
    Z = exactly(spread(*[2.0**-6] * times))
    assert smallest_singular_value(Z) is None
    found = errors.nth_singular_value(Z, ORDER)
    assert abs(found.value - 2.0**-6) <= found.error


@pytest.mark.parametrize("apart", [2.0**-3, 2.0**-6, 2.0**-9, 2.0**-20])
def test_close_neighbours(apart: float) -> None:
    least = 2.0**-5
    found = errors.nth_singular_value(exactly(spread(least * (1 + apart), least)), ORDER)
    assert abs(found.value - least) <= found.error


def test_all_equal() -> None:
    Z = np.eye(ORDER)
    assert smallest_singular_value(Z) is None
    found = errors.nth_singular_value(Z, ORDER)
    assert abs(found.value - 1) <= found.error


@pytest.mark.parametrize("power", [-400, -300, -240, -150, -60, 60, 150, 240, 300, 400])
def test_every_scale(power: int) -> None:
    """Scaling by a power of two scales the answer; where squares overflow there is none."""
    least = 2.0**-7
    Z = np.ldexp(exactly(spread(least)), power)
    with np.errstate(over="ignore"):
        found = errors.nth_singular_value(Z, ORDER)
    assert abs(np.ldexp(found.value, -power) - least) <= np.ldexp(found.error, -power)
    assert np.ldexp(found.error, -power) <= errors.lapack(Z.shape, 4.0)


@pytest.mark.parametrize("shape", [(160, 160), (260, 220), (400, 160), (160, 260)])
@pytest.mark.parametrize("inputs", [None, 10])
def test_relu_states(shape: tuple[int, int], inputs: int | None) -> None:
    for seed in range(3):
        r = np.random.default_rng(seed)
        H = r.normal(size=shape)
        if inputs is not None:
            H = r.normal(size=(shape[0], inputs)) @ r.normal(size=(inputs, shape[1]))
        Z = np.maximum(H, 0)
        s = np.linalg.svd(Z, compute_uv=False)
        bar = errors.lapack(Z.shape, s[0])
        found = errors.nth_singular_value(Z, min(shape))
        assert abs(found.value - s[-1]) <= found.error + bar
        assert found.error <= bar


def test_radii_of_the_matrix_count() -> None:
    Z = exactly(spread(2.0**-5))
    bare, wide = (errors.nth_singular_value(Z, ORDER, radius) for radius in (0.0, 1e-3))
    assert bare.how == wide.how == "Kato-Temple"
    assert wide.error == pytest.approx(bare.error + 1e-3, rel=1e-12)


def test_an_iteration_that_misses_the_smallest_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vector of the second smallest has no residual either; only the other values tell."""
    Z = exactly(spread(0.125, 2.0**-6))
    _, _, vt = np.linalg.svd(Z)
    blind = np.delete(vt, -1, axis=0)[-smallest.BLOCK :].T
    exact = smallest._ritz
    monkeypatch.setattr(smallest, "_ritz", lambda Z, _: exact(Z, blind))
    assert smallest_singular_value(Z) is None


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_has_no_smallest_value(bad: float) -> None:
    Z = np.eye(ORDER)
    Z[3, 5] = bad
    with np.errstate(all="ignore"):
        assert smallest_singular_value(Z) is None
        assert errors.nth_singular_value(Z, ORDER).error == np.inf


@pytest.mark.parametrize("kind", ["zero", "zero column", "equal columns", "one zero value"])
def test_rank_deficient_is_never_positive(kind: str) -> None:
    Z = exactly(spread(0.0)) if kind == "one zero value" else exactly(spread(0.125))
    if kind == "zero":
        Z = np.zeros_like(Z)
    if kind == "zero column":
        Z[:, 7] = 0.0
    if kind == "equal columns":
        Z[:, 7] = Z[:, 9]
    found = errors.nth_singular_value(Z, ORDER)
    assert found.low <= 0 <= found.value
