"""Coarse bounds are bounds, near enough to decide, and silent where they cannot be had."""

from __future__ import annotations

import numpy as np
import pytest

from deqcheck.linalg.coarse import iterate, norm_below, tail


def iterates(W: np.ndarray, C: np.ndarray, count: int) -> list[np.ndarray]:
    """In doubles, from Z^(0) = 0."""
    found = [np.zeros_like(C)]
    for _ in range(count):
        found.append(np.maximum(W @ found[-1] + C, 0))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_a_bound_on_the_tail(seed: int) -> None:
    r = np.random.default_rng(seed)
    m, d, n, layers = (int(k) for k in r.integers(1, (40, 20, 30, 6)))
    W = r.normal(size=(m, m))
    q = r.uniform(0.1, 0.95)
    W *= q / np.linalg.norm(W, 2)
    U, X = 10 ** r.uniform(-6, 6) * r.normal(size=(m, d)), r.normal(size=(d, n))
    Z = iterates(W, U @ X, 900)
    found = tail(W, U, X, layers, q + 1e-9)
    away, at = np.linalg.norm(Z[-1] - Z[layers]), np.linalg.norm(Z[layers])
    assert away <= found.away <= 40 * away / (1 - q) + 1e-3 * at / (1 - q)
    assert at <= found.at <= at * 1.02 + 1e-30


@pytest.mark.parametrize("seed", range(8))
def test_an_iterate_is_within_its_bound(seed: int) -> None:
    r = np.random.default_rng(seed)
    m, d, n, layers = (int(k) for k in r.integers(1, (40, 20, 30, 6)))
    W, X = r.normal(size=(m, m)), r.normal(size=(d, n))
    U = 10 ** r.uniform(-6, 6) * r.normal(size=(m, d))
    Z, e = iterate(W, U, X, layers)
    off = np.linalg.norm(Z - iterates(W, U @ X, layers)[-1])
    assert off <= e <= 1e-3 * np.linalg.norm(U @ X) * (1 + np.linalg.norm(W)) ** layers * m * d


def test_what_float32_cannot_hold_is_not_bounded() -> None:
    one = np.ones((1, 1))
    assert tail(0.5 * one, 1e200 * one, one, 1, 0.6) == (np.inf, np.inf)
    assert iterate(0.5 * one, 1e200 * one, one, 2)[1] == np.inf
    tiny = tail(0.5 * one, 1e-60 * one, one, 1, 0.6)
    assert tiny.away >= 1e-60 and tiny.at >= 1e-60


def test_norms_are_told_from_bounds() -> None:
    W = np.random.default_rng(0).normal(size=(60, 60))
    norm = float(np.linalg.norm(W, 2))
    assert norm_below(W, norm * (1 + 1e-8)) and not norm_below(W, norm * (1 - 1e-12))
    assert not norm_below(W, norm) and norm_below(np.zeros((3, 3)), 1e-3)
    assert not norm_below(np.full((2, 2), np.nan), 1.0)
    assert not norm_below(np.full((2, 2), 1e300), 1.0)
