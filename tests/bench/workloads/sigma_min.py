"""sigma_min(Z) of a step against the full singular value decomposition."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from deqcheck.linalg import errors
from deqcheck.records.measured import EPS
from tests.bench import growth as fit
from tests.bench.harness import Contest, Extent, Task

SVD = "singular value decomposition"
AIM = 3.0


def contests(extent: Extent, seeds: int) -> Iterator[list[Contest]]:
    sizes = [(300, 300)] if extent.quick else [(300, 300), (1000, 1000), (2000, 500)]
    for m, n in sizes:
        for smallest in (1e-2, 1e-8) if extent.quick else (1e-2, 1e-4, 1e-6, 1e-8):
            yield [contest(m, n, smallest, seed) for seed in range(seeds if n < 1000 else 1)]


def growth(extent: Extent) -> Iterator[str]:
    sizes = (200, 400) if extent.quick else (200, 500, 1000, 2000)
    yield fit.line("sigma_min, m = n", "n", sizes, lambda n: _ours(with_smallest(n, n, 1e-3, 0)), 3)


def with_smallest(m: int, n: int, smallest: float, seed: int) -> np.ndarray:
    """Singular values from 1 to 0.1, and the last one as given."""
    r = np.random.default_rng(seed)
    left, right = np.linalg.qr(r.normal(size=(m, n)))[0], np.linalg.qr(r.normal(size=(n, n)))[0]
    s = np.append(np.linspace(1.0, 0.1, n - 1), smallest)
    return np.asarray((left * s) @ right)


def _ours(Z: np.ndarray) -> Task:
    return lambda: errors.nth_singular_value(Z, Z.shape[1])


def contest(m: int, n: int, smallest: float, seed: int) -> Contest:
    Z = with_smallest(m, n, smallest, seed)
    ours = _ours(Z)

    def agree() -> None:
        """As exact as the decomposition, and with a bar of at most ten times its own."""
        found = ours()
        value = np.linalg.svd(Z, compute_uv=False)[-1]
        assert abs(found.value - value) <= 10 * n * EPS, (found, value)  # type: ignore[attr-defined]
        assert found.error <= 10 * errors.lapack(Z.shape, 1.0), found  # type: ignore[attr-defined]

    return Contest(
        "sigma-min", f"{m} x {n}, sigma/norm = {smallest:g}", ours,
        {SVD: lambda: np.linalg.svd(Z, compute_uv=False)}, agree=agree,
        aims={SVD: AIM} if n >= 1000 else {},
    )  # fmt: skip
