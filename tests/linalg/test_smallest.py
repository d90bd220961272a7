"""The smallest singular value of large matrices against the full decomposition."""

from __future__ import annotations

import numpy as np
import pytest

from deqcheck.linalg import errors, smallest
from deqcheck.linalg.smallest import smallest_singular_value
from deqcheck.records.measured import EPS


def with_values(m: int, s: np.ndarray, seed: int = 0) -> np.ndarray:
    r = np.random.default_rng(seed)
    left = np.linalg.qr(r.normal(size=(m, len(s))))[0]
    right = np.linalg.qr(r.normal(size=(len(s), len(s))))[0]
    return np.asarray((left * s) @ right)


@pytest.mark.parametrize("least", [1e-1, 1e-2, 1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("m", [200, 350])
def test_it_is_as_accurate_as_the_decomposition(least: float, m: int) -> None:
    Z = with_values(m, np.append(np.linspace(1, 0.2, 199), least))
    found = smallest_singular_value(Z)
    assert found is not None
    assert abs(found.value - least) <= found.error <= 10 * m * EPS
    assert abs(found.value - least) <= 10 * len(Z.T) * EPS


def test_relu_states() -> None:
    for seed in range(5):
        Z = np.maximum(np.random.default_rng(seed).normal(size=(260, 220)), 0)
        truth = np.linalg.svd(Z, compute_uv=False)[-1]
        found = errors.nth_singular_value(Z, 220)
        assert (
            abs(found.value - truth) <= found.error <= errors.lapack(Z.shape, np.linalg.norm(Z, 2))
        )


@pytest.mark.parametrize("second", [1.0, 1 + 1e-9])
def test_neighbours_that_it_cannot_tell_apart_are_left_to_the_decomposition(second: float) -> None:
    Z = with_values(200, np.append(np.linspace(1, 0.2, 198), [second * 1e-2, 1e-2]))
    assert smallest_singular_value(Z) is None
    found = errors.nth_singular_value(Z, 200)
    assert abs(found.value - 1e-2) <= found.error


def test_an_iteration_that_misses_the_smallest_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vector of the second smallest has no residual either; only the other values tell."""
    s = np.append(np.linspace(1, 0.5, 198), [1e-1, 1e-2])
    Z = with_values(200, s)
    _, _, vt = np.linalg.svd(Z)
    blind = np.delete(vt, -1, axis=0)[-smallest.BLOCK :].T
    exact = smallest._ritz
    monkeypatch.setattr(smallest, "_ritz", lambda Z, Q: exact(Z, blind))
    assert smallest_singular_value(Z) is None


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
def test_no_answer_for_what_has_none(bad: float) -> None:
    with np.errstate(all="ignore"):
        assert smallest_singular_value(np.full((200, 200), bad)) is None


def test_rank_deficient_is_never_positive() -> None:
    Z = with_values(200, np.append(np.linspace(1, 0.2, 199), 0.0))
    assert errors.nth_singular_value(Z, 200).low <= 0
