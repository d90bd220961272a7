"""The enclosure of the smallest eigenvalue of a block pencil against the dense pencil."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deqcheck.linalg import block_pencil
from deqcheck.linalg.block_pencil import Enclosure, Frame, enclose, fresh_frame
from deqcheck.linalg.kron import block_diagonal

RADIUS = 1e-15
# Any width: what is proved must be true, however little it is.
ANY = np.inf


def pencil(m: int, my: int, seed: int, spread: float = 0.01) -> tuple[np.ndarray, np.ndarray]:
    r = np.random.default_rng(seed)
    N = r.normal(size=(m, my, my)) * np.sqrt(spread / my)
    U = np.eye(m) + 0.3 * r.normal(size=(m, m)) / np.sqrt(m)
    return np.eye(my) + N @ N.transpose(0, 2, 1), U


def dense(M: np.ndarray, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All eigenvalues, ascending, and vectors: the largest of the inverse pencil are accurate."""
    F = np.kron(U, np.eye(M.shape[1])) @ np.linalg.inv(np.linalg.cholesky(block_diagonal(M))).T
    _, s, vt = np.linalg.svd(F)
    x = np.linalg.inv(np.linalg.cholesky(block_diagonal(M))).T @ vt.T
    return 1 / s**2, x


def assert_contains(found: Enclosure | None, truth: float) -> None:
    assert found is not None
    # The twin's own rounding.
    room = 1e-13 * truth
    assert found.low <= truth + room
    assert found.high >= truth - room


@pytest.mark.parametrize(("m", "my"), [(2, 2), (8, 3), (20, 6), (5, 9)])
@pytest.mark.parametrize("spread", [0.0, 1e-8, 1e-3, 0.1, 10.0])
def test_contains_the_dense_eigenvalue(m: int, my: int, spread: float) -> None:
    for seed in range(5):
        M, U = pencil(m, my, seed, spread)
        assert_contains(enclose(M, U, RADIUS, RADIUS, ANY), dense(M, U)[0][0])


@pytest.mark.parametrize("spread", [1e-8, 1e-3, 0.02])
def test_is_sharp_where_the_blocks_are_alike(spread: float) -> None:
    for seed in range(5):
        found = enclose(*pencil(20, 6, seed, spread), RADIUS, RADIUS, ANY)
        assert found is not None
        assert found.width < 1e-11


def test_an_earlier_frame_is_valid_for_any_pencil() -> None:
    """Drifting pencils, and at the end one that has nothing to do with the frame."""
    M, U = pencil(15, 4, 0)
    other_M, other_U = pencil(15, 4, 99, spread=0.5)
    frame, kept = None, 0
    for t in (0.0, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 1.0):
        Mt, Ut = (1 - t) * M + t * other_M, (1 - t) * U + t * other_U
        truth = dense(Mt, Ut)[0][0]
        if frame is not None:
            assert_contains(block_pencil._Pencil(Mt, Ut, RADIUS, RADIUS, frame).enclosed(), truth)
        found = enclose(Mt, Ut, RADIUS, RADIUS, 1e-9, frame)
        if found is not None:
            assert_contains(found, truth)
            kept += frame is not None and found.frame.V is frame.V
            frame = found.frame
    assert kept >= 2


def crossing(t: float) -> tuple[np.ndarray, np.ndarray]:
    """Two smallest eigenvalues that cross at t = 0: their eigenvectors are orthogonal."""
    M, U = np.repeat(np.eye(4)[None], 30, axis=0), np.eye(30)
    U[0, 0] = 1.2
    M[0] = np.diag([1.01 + t, 1.01 - t, 1.02, 1.02])
    M[1] = np.diag([1.0, 1.01, 1.03, 1.2])
    return M, U


@pytest.mark.parametrize("t", [1e-3, 1e-6, 1e-12, 0.0])
def test_a_crossing_is_not_missed(t: float) -> None:
    frame = None
    for s in np.linspace(-1, 1, 9):
        M, U = crossing(t * s)
        found = enclose(M, U, RADIUS, RADIUS, 1e-9, frame)
        assert_contains(found, (1.01 - t * abs(s)) / 1.44)
        assert found is not None
        frame = found.frame


def misled(M: np.ndarray, U: np.ndarray, columns: slice) -> Frame:
    """A frame whose X is spanned by other eigenvectors than the wanted ones."""
    frame = fresh_frame(M, U)
    assert frame is not None
    x = dense(M, U)[1][:, columns].reshape(*M.shape[:2], -1)
    local = np.einsum("ki,kac->iac", frame.V, x)
    X = np.einsum("ba,iac->ibc", np.linalg.inv(frame.R), local)
    return replace(frame, X=np.ascontiguousarray(X))


@pytest.mark.parametrize("solves", [1, 4])
def test_a_start_without_the_wanted_eigenvector(
    solves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X orthogonal to the smallest eigenvector, and made of exact eigenvectors: their residuals are
    zero, which proves nothing of the smallest one."""
    monkeypatch.setattr(block_pencil, "SOLVES", solves)
    for seed in range(5):
        M, U = pencil(12, 3, seed)
        fresh = fresh_frame(M, U)
        assert fresh is not None
        truth, columns = dense(M, U)[0], fresh.X.shape[2]
        assert truth[0] < truth[1] * (1 - 1e-6)
        frame = misled(M, U, slice(1, columns + 1))
        found = block_pencil._Pencil(M, U, RADIUS, RADIUS, frame).enclosed()
        # Corrections may make the columns dependent: then nothing is claimed.
        if found is not None or solves == 1:
            assert_contains(found, truth[0])


def test_without_the_residual_it_would_be_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check above can fail: a bound that forgets P A X is too high."""
    M, U = pencil(12, 3, 0)
    frame, truth = fresh_frame(M, U), dense(M, U)[0][0]
    assert frame is not None
    monkeypatch.setattr(block_pencil, "SOLVES", 1)

    def forgetful(self: block_pencil._Trial, lam: float) -> float:
        return float(np.linalg.eigvalsh(self.XMX - lam * self.XKX)[0]) + 1e-14

    monkeypatch.setattr(block_pencil._Trial, "_margin", forgetful)
    found = block_pencil._Pencil(M, U, RADIUS, RADIUS, frame).enclosed()
    assert found is not None
    assert found.low > truth * (1 + 1e-8)


def test_the_radii_are_covered() -> None:
    """Every pencil within the radii has its eigenvalue in the enclosure."""
    r = np.random.default_rng(0)
    M, U = pencil(10, 4, 3)
    radius = 1e-6
    found = enclose(M, U, radius, radius, ANY)
    for _ in range(20):
        E, F = r.normal(size=M.shape), r.normal(size=U.shape)
        E += E.transpose(0, 2, 1)
        E *= radius / np.linalg.norm(E, 2, axis=(1, 2))[:, None, None]
        F *= radius / np.linalg.norm(F, 2)
        assert_contains(found, dense(M + E, U + F)[0][0])
    # All of M up and U down, and the reverse, move the eigenvalue as far as possible.
    for sign in (-1, 1):
        p, s, vt = np.linalg.svd(U)
        assert_contains(
            found, dense(M + sign * radius * np.eye(4), (p * (s - sign * radius)) @ vt)[0][0]
        )


def test_what_is_not_finite_proves_nothing() -> None:
    M, U = pencil(6, 2, 0)
    assert enclose(M * np.nan, U, RADIUS, RADIUS, ANY) is None
    assert enclose(M, U * np.inf, RADIUS, RADIUS, ANY) is None
