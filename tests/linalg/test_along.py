"""Equilibria along a path of weights, held against the systems of their patterns."""

from __future__ import annotations

import numpy as np
import pytest

from deqcheck.linalg import along, errors
from deqcheck.linalg.along import Along
from deqcheck.linalg.stacked import Places, follow, norms

M, N, RUNS = 20, 6, 5
# How much the weights of each run contract: the last ones too slowly to be swept.
SIZES = np.array([0.2, 0.4, 0.5, 0.97, 0.999])


def path(seed: int, steps: int = 12) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """W, C and read-outs of runs and of perturbed ones; entries of C go to and fro, so that units
    switch at every step."""
    r = np.random.default_rng(seed)
    W, C, a = r.normal(size=(RUNS, M, M)), r.normal(size=(RUNS, M, N)), r.normal(size=(RUNS, M))
    W *= (SIZES / np.linalg.norm(W, 2, axis=(1, 2)))[:, None, None]
    dW, dC, da = 3e-4 * r.normal(size=W.shape), 3e-2 * r.normal(size=C.shape), 0.01 * a
    found = []
    for k in range(steps):
        at = W - abs(k - 6) * dW * (SIZES < 0.9)[:, None, None], C + k % 2 * dC, a + k * da
        off = [x * (1 + 1e-13 * r.normal(size=x.shape)) for x in at]
        found.append(tuple(np.concatenate(pair) for pair in zip(at, off, strict=True)))
    return found


def walked(
    steps: list[tuple[np.ndarray, np.ndarray, np.ndarray]], runs: np.ndarray
) -> list[tuple[np.ndarray, ...]]:
    both, found = np.concatenate([runs, runs + RUNS]), []
    way = Along(steps[0][1][runs] > 0)
    for W, C, a in ((x[both] for x in step) for step in steps):
        bound = way.bound(W, 1.0, along.norms2)
        Z, H, good = way.solve(W, C)
        assert good.all()
        found.append((bound, Z, H, *way.adjoint(W, a)))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_states_and_adjoints_are_those_of_the_patterns(seed: int) -> None:
    steps = path(seed)
    switched = 0
    for (W, C, a), (bound, Z, H, V, incoming) in zip(
        steps, walked(steps, np.arange(RUNS)), strict=True
    ):
        twin = follow(W, C, Places(H > 0))
        assert twin.fits.all() and np.array_equal(H > 0, twin.H > 0)
        room, size = 1 - np.linalg.norm(W, 2, axis=(1, 2)), norms(W)
        # Both are off by their defects and the rounding of these, over the room.
        noise = errors.product(M, size * norms(twin.Z) + norms(C))
        assert (norms(Z - twin.Z) <= 2.5 * noise / room).all()
        assert (norms(Z - np.maximum(H, 0.0)) <= noise / 2).all()
        assert (norms(H - (W @ Z + C)) <= noise).all()
        noise = errors.product(M, (1 + size) * norms(V))
        assert (norms(V - twin.systems.adjoint(a)) <= 2.5 * noise / room).all()
        assert (norms(V - (H > 0) * incoming) <= noise / 2).all()
        norm = 1 - room
        assert (bound >= norm).all() and (1 - bound >= 0.94 * room - 1e-12).all()
        switched += int(((H > 0) != (C > 0)).sum())
    assert switched > 0


def test_bounds_on_symmetric_parts_hold_along_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The norms of all but the first are above 1, some on the way only."""
    r = np.random.default_rng(5)
    sizes = np.array([0.5, 0.9999, 1.2, 3.0])
    W = r.normal(size=(4, M, M))
    W *= (sizes / np.linalg.norm(W, 2, axis=(1, 2)))[:, None, None]
    W[3] -= W[3].T
    moves = 1e-3 * r.normal(size=W.shape) / M
    way, looked = Along(np.ones((4, M, N), dtype=bool)), list[int]()

    def counted(some: np.ndarray) -> np.ndarray:
        looked.append(len(some))
        return along.abscissae(some)

    for k in range(40):
        here = W + k * moves
        both = np.concatenate([here, here * (1 + 1e-13)])
        bound = way.bound(both, 1.0, counted)
        largest = np.linalg.eigvalsh((both + both.transpose(0, 2, 1)) / 2)[:, -1]
        norm = np.linalg.norm(both, 2, axis=(1, 2))
        known = np.where(norm < along.NEXT_TO_ONE, norm, largest)
        assert (bound >= largest).all() and (1 - bound >= 0.94 * (1 - known) - 1e-6).all()
    assert looked[0] == 4 and sum(looked) < 4 * 20


def test_digits_depend_on_no_other_run() -> None:
    steps = path(7)
    every = walked(steps, np.arange(RUNS))
    for runs in (np.array([0]), np.array([1, 3]), np.array([2, 4])):
        both = np.concatenate([runs, runs + RUNS])
        for whole, alone in zip(every, walked(steps, runs), strict=True):
            for mine, theirs in zip(whole, alone, strict=True):
                assert np.array_equal(mine[both], theirs)


def test_those_that_stay_are_not_changed_by_those_that_leave() -> None:
    steps, kept = path(3), np.array([True, False, True, True, False])
    both, every = np.concatenate([kept, kept]), walked(steps, np.arange(RUNS))
    way = Along(steps[0][1][:RUNS] > 0)
    for k, (W, C, a) in enumerate(steps):
        if k == 5:
            way.keep(kept)
        W, C, a = (x if k < 5 else x[both] for x in (W, C, a))
        way.bound(W, 1.0, along.norms2)
        Z, _, _ = way.solve(W, C)
        V, _ = way.adjoint(W, a)
        if k >= 5:
            _, Z_whole, _, V_whole, _ = every[k]
            assert np.array_equal(Z, Z_whole[both]) and np.array_equal(V, V_whole[both])


def test_what_contracts_slowly_is_left_to_its_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    solved: list[int] = []
    plain = along.follow

    def counted(W: np.ndarray, C: np.ndarray, near: Places) -> object:
        solved.append(len(W))
        return plain(W, C, near)

    monkeypatch.setattr(along, "follow", counted)
    walked(path(1), np.arange(RUNS))
    # The last two with their perturbed runs, at every step.
    assert solved == [4] * 12
    solved.clear()
    walked(path(1), np.arange(3))
    assert solved == []
