"""lambda_min(D) along gradient descent, against the dense matrix at every step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import numpy as np
import pytest

from deqcheck.linalg import largest, smallest
from deqcheck.models.delm import oracle, spectrum
from deqcheck.models.delm.state import DelmState
from deqcheck.models.memory import Memory
from deqcheck.models.problem import Problem
from deqcheck.records.tower import flint
from deqcheck.records.tower.balls import Balls

Builder = Callable[..., Problem]


def path(p: Problem, step: float, steps: int, memory: Memory) -> Iterator[DelmState]:
    theta = p.theta0
    for _ in range(steps):
        yield p.model.at(theta, memory)
        gradient = p.model.objective(theta).gradient
        theta = {name: a - step * gradient[name] for name, a in theta.items()}


@pytest.mark.parametrize("step", [1e-6, 1e-4, 1e-3])
@pytest.mark.parametrize("scale", [0.02, 0.3])
def test_contains_the_dense_value_along_a_path(delm: Builder, step: float, scale: float) -> None:
    reused = 0
    p = delm(20, 40, 6, 0.7, scale=scale)
    memory = Memory()
    for state in path(p, step, 25, memory):
        before = memory.frame
        found = spectrum.enclosed(state)
        reused += before is not None and memory.frame is not None and before.V is memory.frame.V
        dense = np.linalg.eigvalsh(oracle.dense_D(state))
        # eigvalsh is accurate relative to the largest eigenvalue.
        oracle_error = 50 * len(dense) * np.finfo(float).eps * dense[-1]
        assert found is not None
        assert abs(found.value - dense[0]) <= found.error + oracle_error
        assert found.error <= 1e-8 * found.value
        assert spectrum.block_factorised(state).high >= found.low
    # Small steps stay in the frame of the first one.
    assert step > 1e-5 or reused == 24


def test_a_frame_from_elsewhere_changes_nothing(delm: Builder) -> None:
    """One run, at unrelated parameters: an earlier frame may not mislead."""
    p, memory = delm(15, 30, 8, 0.8), Memory()
    for seed in range(12):
        scale = (0.05, 0.3, 1.0, 3.0)[seed % 4]
        state = p.model.at(delm(15, 30, 8, scale=scale, seed=seed).theta0, memory)
        dense, found = spectrum.block_factorised(state), state.lambda_min_D
        assert found.low <= dense.high
        assert dense.low <= found.high
        assert found.error <= 1e-7 * found.value


@pytest.mark.parametrize("scale", [0.05, 1.0, 3.0])
def test_cholesky_below_the_ritz_value(delm: Builder, scale: float) -> None:
    for seed in range(3):
        state = delm(20, 30, 8, 0.8, scale=scale, seed=seed).start
        dense, found = spectrum.block_factorised(state), spectrum.iterated(state)
        assert found.how == "Lanczos above Cholesky"
        assert found.low <= dense.low
        assert dense.high <= found.high
        assert found.error <= 1e-6 * found.value


def test_cholesky_says_no_above_the_smallest_eigenvalue(delm: Builder) -> None:
    state = delm(12, 30, 5, 0.8).start
    grams, _ = spectrum._grams(state)
    M, K = np.eye(5) + 0.8**2 * grams, state.U.T @ state.U
    smallest = spectrum.block_factorised(state).value
    assert spectrum._positive(M, smallest * (1 - 1e-10) * K, 0.0)
    assert not spectrum._positive(M, smallest * (1 + 1e-10) * K, 0.0)


def test_a_ritz_value_of_another_eigenvalue_is_not_believed(
    delm: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lanczos that converges to the second eigenvalue: the floor is what remains."""
    import scipy.sparse.linalg as sparse

    right = sparse.eigsh

    def second(*args: object, **options: object) -> np.ndarray:
        del options["v0"]
        return np.sort(right(*args, **{**options, "k": 2}))[:1]

    monkeypatch.setattr(sparse, "eigsh", second)
    state = delm(20, 30, 8, 0.8, scale=1.0).start
    dense, found = spectrum.block_factorised(state), spectrum.iterated(state)
    assert found.value > dense.high
    assert found.how == "Lanczos above a certified floor"
    assert found.low <= dense.low
    grams, _ = spectrum._grams(state)
    floor = (1 + 0.8**2 * np.linalg.eigvalsh(grams).min()) / np.linalg.norm(state.U, 2) ** 2
    assert found.low == pytest.approx(floor, rel=1e-9)


def test_gram_matrices_of_the_blocks(delm: Builder) -> None:
    for scale in (0.1, 1.0, 5.0):
        state = delm(9, 20, 4, 0.8, scale=scale).start
        N = spectrum.block_factors(state)
        grams, radius = spectrum._grams(state)
        off = np.linalg.norm(grams - N @ N.transpose(0, 2, 1), 2, axis=(1, 2)).max()
        assert off <= radius
        assert radius <= 1e-9 * max(1.0, float(np.linalg.norm(state.Z)) ** 2)


@pytest.mark.parametrize(("m", "my"), [(4, 2), (20, 8)])
@pytest.mark.parametrize("size", [1e100, 1e200])
def test_overflow_is_told_by_the_radius(delm: Builder, m: int, my: int, size: float) -> None:
    with np.errstate(all="ignore"):
        state = delm(m, 30, my, B=np.full((my, m), size)).start
        assert spectrum.lambda_min(state).error == np.inf


def test_the_bracket_closes_where_all_blocks_are_alike(delm: Builder) -> None:
    """A = 0: every s_k is uniform, so that M_k is the same for all k and both ends meet."""
    state = delm(6, 9, 2, 0.7, A=np.zeros((6, 6))).start
    found = spectrum.bracket(state)
    assert found.error <= 1e-12 * found.value
    assert abs(found.value - np.linalg.eigvalsh(oracle.dense_D(state))[0]) <= 1e-12


@pytest.mark.parametrize("gamma", [0.25, 0.5, 0.75])
def test_with_one_feature_the_infimum_is_the_value(gamma: float, delm: Builder) -> None:
    """S = gamma whatever A is: D = (1 - gamma)^-2."""
    found, state = spectrum.star_map_infimum(1, gamma), delm(m=1, my=1, gamma=gamma).start
    dense = np.linalg.eigvalsh(oracle.dense_D(state))[0]
    assert abs(found.value - dense) <= found.error + 1e-14 * dense


def test_ends_of_the_spectrum_of_a_large_U_need_no_decomposition(
    delm: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = delm(m=200, my=1).start
    every = state.U_singular
    del state.U_singular
    monkeypatch.setattr(largest, "LARGE", 150)
    monkeypatch.setattr(smallest, "LARGE", 150)
    for found, known in ((state.U_largest, every[0]), (state.U_smallest, every[-1])):
        assert found.how == "Kato-Temple" and found.error <= 1.01 * known.error
        assert abs(found.value - known.value) <= found.error + known.error
    assert "U_singular" not in vars(state)


@pytest.mark.parametrize(("limit", "how"), [(24, "Cholesky"), (23, "a certified floor")])
def test_a_matrix_is_factorised_up_to_an_order(
    delm: Builder, monkeypatch: pytest.MonkeyPatch, limit: int, how: str
) -> None:
    """6 features and 4 outputs make 24 rows."""
    monkeypatch.setattr(spectrum, "CHOLESKY_LIMIT", limit)
    assert spectrum.iterated(delm(6, 9, 4).start).how == f"Lanczos above {how}"


@pytest.mark.parametrize("my", [1, 2])
def test_of_one_output_the_blocks_are_numbers(
    delm: Builder, monkeypatch: pytest.MonkeyPatch, my: int
) -> None:
    asked, right = [], spectrum._scalar_output
    monkeypatch.setattr(spectrum, "_scalar_output", lambda s: asked.append(my) or right(s))
    state = delm(4, 9, my).start
    dense = np.linalg.eigvalsh(oracle.dense_D(state))[0]
    assert spectrum.lambda_min(state).value == pytest.approx(dense, rel=1e-9)
    assert bool(asked) is (my == 1)


def test_what_all_columns_share_is_taken_off_first() -> None:
    """Columns of 1e6 + O(1): uncentred squares would lose 12 of 16 digits."""
    r = np.random.default_rng(0)
    Z, S = r.normal(size=(2, 5)), r.dirichlet(np.ones(5), size=5).T
    plain, shifted = (
        spectrum._grams(SimpleNamespace(S=S, my=2, m=5, Z=Z + off, Z_radius=0.0))[0]  # type: ignore[arg-type]
        for off in (0.0, 1e6)
    )
    assert shifted == pytest.approx(plain, abs=1e-7)


def test_the_norm_of_U_in_many_digits_is_that_of_its_doubles(delm: Builder) -> None:
    pytest.importorskip("flint")
    found, U = delm(4, 9, 2).start.U_largest, delm(4, 9, 2).start.U
    assert found.again is not None
    with flint().ctx.workprec(128):
        number = float(found.again.at(Balls(128, 1e12)))
    assert number == pytest.approx(np.linalg.norm(U, 2), rel=1e-12)
    assert number < np.linalg.norm(U) / 1.1
