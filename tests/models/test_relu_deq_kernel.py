"""The population kernel against integrals in 50 digits, Monte-Carlo free."""

from __future__ import annotations

import tracemalloc

import mpmath as mp
import numpy as np
import pytest

from deqcheck.theorems.ling2022.kernel import PopulationKernel
from deqcheck.theorems.ling2022.samples import Samples


def sphere(d: int, n: int, seed: int = 0) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(d, n))
    return np.sqrt(d) * X / np.linalg.norm(X, axis=0)


def expectation(vi: mp.mpf, vj: mp.mpf, c: mp.mpf) -> mp.mpf:
    """2 E[relu(u) relu(v)]: with polar coordinates the radius integrates to 1/pi sqrt(vi vj) times
    an integral over the angles at which both are positive."""
    theta = mp.acos(c / mp.sqrt(vi * vj))
    inner = mp.quad(lambda t: mp.cos(t) * mp.cos(t - theta), [theta - mp.pi / 2, mp.pi / 2])
    return 2 * mp.sqrt(vi * vj) * inner / mp.pi


@pytest.mark.parametrize("equal_norms", [True, False])
def test_layers_are_the_expectations_of_the_definition(equal_norms: bool) -> None:
    X = sphere(4, 3)
    if not equal_norms:
        X = X * np.array([0.5, 1.0, 2.0])
    kernel = PopulationKernel(X, 0.11)
    with mp.workdps(50):
        s2, x = mp.mpf(0.11), mp.matrix(X.tolist())
        xi, K = x.T * x / 4, mp.zeros(3)
        for layer in range(1, 4):
            L = s2 * K + xi
            K = mp.matrix(3, 3)
            for i in range(3):
                for j in range(3):
                    K[i, j] = L[i, i] if i == j else expectation(L[i, i], L[j, j], L[i, j])
            found = kernel.layers(layer)[-1]
            off = max(abs(found[i, j] - K[i, j]) for i in range(3) for j in range(3))
            assert off <= kernel.entry_radius


def test_the_limit_in_50_digits() -> None:
    X = sphere(5, 4, 1)
    kernel = PopulationKernel(X, 0.12)
    with mp.workdps(50):
        s2, x = mp.mpf(0.12), mp.matrix(X.tolist())
        xi = x.T * x / 5
        K = mp.matrix(4, 4)
        for i in range(4):
            for j in range(4):
                scale = mp.sqrt(xi[i, i] * xi[j, j])
                cosine = min(xi[i, j] / scale, mp.mpf(1)) if i != j else mp.mpf(1)
                c = cosine
                for _ in range(80):
                    Q = (mp.sqrt(1 - c**2) + (mp.pi - mp.acos(c)) * c) / mp.pi
                    c = s2 * Q + (1 - s2) * cosine
                K[i, j] = scale * Q / (1 - s2)
        worst = max(abs(kernel.K[i, j] - K[i, j]) for i in range(4) for j in range(4))
        assert worst <= kernel.entry_radius
        lowest = min(mp.eigsy(K, eigvals_only=True))
        assert abs(kernel.lambda_star.value - lowest) <= kernel.lambda_star.error
        size = mp.sqrt(mp.fsum(v**2 for v in K))
        assert abs(kernel.K_fro.value - size) <= kernel.K_fro.error


@pytest.mark.parametrize("s2", [0.0, 0.08, 0.1249, 0.9])
def test_newton_and_the_layers_meet(s2: float) -> None:
    kernel = PopulationKernel(sphere(5, 8), s2)
    layers = int(np.log(1e-17) / np.log(s2)) if s2 else 1
    assert np.abs(kernel.layers(layers)[-1] - kernel.K).max() <= 4 * kernel.entry_radius


def test_published_numbers_on_orthogonal_samples() -> None:
    kernel = PopulationKernel(np.sqrt(3) * np.eye(3), 0.08)
    assert kernel.layers(2)[-1][0, 1] == pytest.approx(0.3566026370558, abs=5e-14)


def test_antipodal_samples_are_harmless_with_memory() -> None:
    angles = np.array([0.1, 1.2, 2.3])
    points = np.sqrt(2) * np.array([np.cos(angles), np.sin(angles)])
    X = np.hstack([points, -points])
    assert PopulationKernel(X, 0.1).lambda_star.low > 0.01
    without = PopulationKernel(X, 0.0).lambda_star
    assert abs(without.value) <= without.error


def test_duplicate_samples_are_found() -> None:
    X = sphere(3, 5)
    X[:, 4] = X[:, 1]
    kernel = PopulationKernel(X, 0.05)
    apart, *pair = Samples(X).nearest(lines=False)
    assert (apart.value, apart.error, *pair) == (0.0, 0.0, 1, 4)
    assert kernel.lambda_star.low <= 0 <= kernel.lambda_star.high
    X[:, 4] *= -1
    apart, *pair = Samples(X).nearest(lines=True)
    assert (apart.value, apart.error, *pair) == (0.0, 0.0, 1, 4)
    assert Samples(X).nearest(lines=False)[0].low > 0.1


@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("first", [1.0, -1.0])
def test_zeros_of_either_sign_do_not_tell_samples_apart(
    first: float, sign: float, zero: float
) -> None:
    """x and sign x are on one line, whichever of them begins with a negative entry."""
    X = np.array([[first, 2.0, sign * first], [0.0, 1.0, zero], [-3.0, 0.0, -3.0 * sign]])
    apart, *pair = Samples(X).nearest(lines=True)
    assert (apart.value, apart.error, *pair) == (0.0, 0.0, 0, 2)
    same = Samples(X).nearest(lines=False)[0].value == 0
    assert same == (sign > 0)


@pytest.mark.parametrize("angle", [1e-3, 1e-7, 1e-10, 1e-13])
@pytest.mark.parametrize("sign", [1, -1])
def test_small_angles_are_told_from_none(angle: float, sign: int) -> None:
    X = np.sqrt(2) * np.array([[1, 0, sign * np.cos(angle)], [0, 1, sign * np.sin(angle)]])
    apart, *pair = Samples(X).nearest(lines=True)
    assert pair == [0, 2]
    assert apart.value == pytest.approx(2 * np.sin(angle / 2), abs=apart.error)
    assert apart.low > 0


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e200])
def test_samples_of_any_size_have_their_norms(scale: float) -> None:
    samples = Samples(scale * sphere(5, 4))
    assert samples.lengths == pytest.approx(np.full(4, scale), rel=1e-14)
    assert samples.cosines == pytest.approx(Samples(sphere(5, 4)).cosines, abs=1e-14)


def test_the_nearest_pair_needs_no_array_of_all_differences() -> None:
    samples = Samples(np.random.default_rng(0).normal(size=(300, 300)))
    tracemalloc.start()
    assert samples.nearest(lines=True)[0].low > 0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # All differences would take 216 MB.
    assert peak < 2e7
