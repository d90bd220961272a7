"""Matrices with radii that are computed again, against the same in fractions and many digits."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest

from deqcheck.linalg import exact, exact_eigen
from deqcheck.linalg.matrix import Matrix, identity, instance, stacked
from deqcheck.records.measured import Measured, given, sqrt
from deqcheck.records.tower import (
    Again,
    Level,
    NoExactForm,
    compared,
    flint,
    integer,
    rational,
    recorder,
)
from deqcheck.records.tower.balls import Balls
from deqcheck.records.tower.rationals import Rationals

Rows = list[list[Fraction]]
Pair = tuple[Matrix, Rows]
SIZES = [1.0, 1e-3, 1e5, 1e-160, 1e150]


def fractions(a: np.ndarray) -> Rows:
    return [[Fraction(float(x)) for x in row] for row in a]


def drawn(r: np.random.Generator, m: int, n: int, size: float = 1.0) -> Pair:
    """A matrix of the instance, or one that is known up to a radius, and the true one."""
    a = size * r.normal(size=(m, n))
    if r.random() < 0.3:
        a = np.round(a / size) * size
    if r.random() < 0.4:
        return instance(a), fractions(a)
    off = size * 1e-9 * r.normal(size=(m, n))
    true = [[x + y for x, y in zip(*rows, strict=True)]
            for rows in zip(fractions(a), fractions(off), strict=True)]  # fmt: skip
    node = exact.plus(exact.array(a), exact.array(off))
    return Matrix(a, size * float(np.linalg.norm(off / size)) * (1 + 1e-12), node), true


def times(a: Rows, b: Rows) -> Rows:
    return [
        [
            sum((x * y for x, y in zip(row, column, strict=True)), Fraction(0))
            for column in turned(b)
        ]
        for row in a
    ]


def each(f: Callable[..., Fraction], *matrices: Rows) -> Rows:
    return [
        [f(*entries) for entries in zip(*rows, strict=True)] for rows in zip(*matrices, strict=True)
    ]


def turned(a: Rows) -> Rows:
    return [list(column) for column in zip(*a, strict=True)]


def kronecker(a: Rows, b: Rows) -> Rows:
    return [[x * y for x in top for y in low] for top in a for low in b]


def columnwise(a: Rows, b: Rows) -> Rows:
    return [[x * y for x, y in zip(top, low, strict=True)] for top in a for low in b]


def agree(found: Matrix, true: Rows) -> None:
    """The radius holds the true matrix, and the node is the true matrix."""
    assert found.shape == (len(true), len(true[0]))
    off = each(lambda x, y: x - y, fractions(found.array), true)
    assert sum(x * x for row in off for x in row) <= Fraction(found.radius) ** 2
    if flint() is None:
        return
    assert found.exact is not None
    for i, j in product(range(len(true)), range(len(true[0]))):
        assert compared(exact.entry(found.exact, i, j), rational(true[i][j])).sign == 0


def holds(found: Measured, true: Fraction | mpmath.mpf) -> None:
    if not isinstance(true, Fraction):
        # To 60 digits, which is beyond doubt here.
        man, power = true.man_exp
        true = Fraction(int(man)) * Fraction(2) ** int(power)
    assert Fraction(found.low) <= true <= Fraction(found.high)
    if flint() is None:
        return
    assert found.again is not None
    little = abs(true) / 10**40 + Fraction(1, 10**400)
    assert compared(found.again, rational(true - little)).sign == 1
    assert compared(found.again, rational(true + little)).sign == -1


@pytest.mark.parametrize("seed", range(12))
def test_sums_and_products(seed: int) -> None:
    r = np.random.default_rng(seed)
    size = SIZES[seed % len(SIZES)]
    m, n, k = (int(x) for x in r.integers(1, 5, size=3))
    (a, A), (b, B), (c, C) = drawn(r, m, n, size), drawn(r, m, n, size), drawn(r, n, k)
    agree(a + b, each(lambda x, y: x + y, A, B))
    agree(a - b, each(lambda x, y: x - y, A, B))
    agree(a - a, each(lambda x, y: x - y, A, A))
    agree(-a, each(lambda x: -x, A))
    agree(a @ c, times(A, C))
    agree(a.T, turned(A))
    agree(c.T.hadamard(c.T), turned(each(lambda x, y: x * y, C, C)))
    agree(a.kronecker(c), kronecker(A, C))
    (d, D) = drawn(r, k, n)
    agree(a.khatri_rao(d), columnwise(A, D))
    agree(a.diagonal(), [[A[i][i]] for i in range(min(m, n))])
    agree(stacked([a, b]), A + B)
    agree(3 * a, each(lambda x: 3 * x, A))
    third = given(Fraction(1, 3))
    agree(a * third, each(lambda x: x / 3, A))
    agree(a / given(0.7), each(lambda x: x / Fraction(0.7), A))


@pytest.mark.parametrize("seed", range(8))
def test_solutions(seed: int) -> None:
    r = np.random.default_rng(100 + seed)
    n = int(r.integers(1, 6))
    (a, A), (b, B) = drawn(r, n, n), drawn(r, n, int(r.integers(1, 4)))
    # Away from singular matrices.
    shift = given([1e7, 10.0, 1e-3][seed % 3])
    a, A = a + identity(n) * shift, _shifted(A, Fraction(shift.value))
    found = a.solve(b)
    assert np.isfinite(found.radius)
    X = [[_solved(A, B, j)[i] for j in range(len(B[0]))] for i in range(n)]
    agree(found, X)


def _shifted(A: Rows, c: Fraction) -> Rows:
    return [[x + c * (i == j) for j, x in enumerate(row)] for i, row in enumerate(A)]


def _solved(A: Rows, B: Rows, j: int) -> list[Fraction]:
    """Gauss and Jordan."""
    rows = [[*row, B[i][j]] for i, row in enumerate(A)]
    for k in range(len(rows)):
        at = next(i for i in range(k, len(rows)) if rows[i][k])
        rows[k], rows[at] = rows[at], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        rows = [
            row if i == k else [x - row[k] * y for x, y in zip(row, rows[k], strict=True)]
            for i, row in enumerate(rows)
        ]
    return [row[-1] for row in rows]


def test_a_singular_matrix_has_no_solutions_of_known_error() -> None:
    a = instance(np.array([[1.0, 2.0], [2.0, 4.0]]))
    assert a.solve(identity(2)).radius == np.inf
    near = Matrix(np.eye(2), 1.0)
    assert near.solve(identity(2)).radius == np.inf


@pytest.mark.parametrize("seed", range(10))
def test_numbers(seed: int) -> None:
    r = np.random.default_rng(200 + seed)
    m, n = (int(x) for x in r.integers(1, 6, size=2))
    (a, A), (b, B) = drawn(r, m, n), drawn(r, m, n)
    every = [x for row in A for x in row]
    holds(a[m - 1, 0], A[m - 1][0])
    holds(a.smallest(), min(every))
    holds(a.largest(), max(every))
    agree(a.column(n - 1), [[row[-1]] for row in A])
    holds(a.sum(), sum(every, Fraction(0)))
    holds(a.sum_of_squares(), sum((x * x for x in every), Fraction(0)))
    inner = sum((x * y for row in zip(A, B, strict=True) for x, y in zip(*row, strict=True)),
                Fraction(0))  # fmt: skip
    holds(a.inner(b), inner)
    holds(a.norm1(), max(sum((abs(x) for x in column), Fraction(0)) for column in turned(A)))
    holds(a.norm_inf(), max(sum((abs(x) for x in row), Fraction(0)) for row in A))
    holds((a @ a.T).trace(), sum((x * x for x in every), Fraction(0)))
    with mpmath.workdps(60):
        true = mpmath.matrix([[mpmath.mpf(x.numerator) / x.denominator for x in row] for row in A])
        s = mpmath.svd_r(true, compute_uv=False)
        holds(a.frobenius(), mpmath.sqrt(mpmath.fsum(x * x for x in true)))
        holds(a.norm2(), s[0])
        for i in range(min(m, n)):
            holds(a.nth_singular_value(i + 1), s[i])
        gram = true * true.T
        w = sorted(mpmath.eigsy(gram, eigvals_only=True))
        if m <= n:
            for k in (0, m - 1, -1):
                holds((a @ a.T).eigenvalue(k), w[k])


def test_an_array_that_rounding_made_asymmetric_has_the_eigenvalues_of_the_symmetric_one() -> None:
    true = np.array([[2.0, 1.0], [1.0, 2.0]])
    off = np.array([[0.0, 1e-3], [0.0, 0.0]])
    found = Matrix(true + off, 1e-3, exact.array(true))
    holds(found.eigenvalue(0), Fraction(1))
    holds(found.eigenvalue(-1), Fraction(3))
    assert found.eigenvalue(0).error < 1.1e-3


def test_ranks() -> None:
    a = np.array([[1.0, 2.0], [2.0, 4.0]])
    found = instance(a).rank()
    assert found.low <= 1 <= found.high < 3 and found.error == 0.5
    assert instance(np.eye(3)).rank().exact
    if flint() is not None:
        assert found.again is not None
        assert compared(found.again, integer(1)).sign == 0
        # A rank is compared with what is not rational, too.
        assert compared(found.again, Again("exp", integer(1))).sign == -1


def test_what_is_unknown_stays_unknown() -> None:
    assert Matrix(np.array([[np.nan]])).radius == np.inf
    assert Matrix(np.eye(2), np.nan).radius == np.inf
    assert (Matrix(np.full((2, 2), 1e300)) @ Matrix(np.full((2, 2), 1e300))).radius == np.inf
    unknown = Matrix(np.ones((2, 2)), np.inf)
    assert (unknown @ identity(2)).frobenius().error == np.inf
    # What is multiplied by 0 does not matter.
    assert (unknown * 0).radius == 0
    assert (Matrix(np.ones((2, 2))) + identity(2)).exact is None
    estimated = Matrix(np.eye(2), 0.0, how="two integrations")
    assert (estimated @ identity(2)).frobenius().how == "two integrations"
    with pytest.raises(ValueError, match="entries"):
        identity(2) + identity(3)


def test_an_irrational_factor_leaves_the_rationals() -> None:
    pytest.importorskip("flint")
    a = identity(2) * sqrt(given(2.0))
    assert compared((a @ a).trace().again, integer(5)).by == "ball 128"
    # Neither balls nor polynomials know that the square of such a matrix is rational.
    assert compared((a @ a).trace().again, integer(4)).sign is None


@pytest.mark.parametrize("n", [12, 30])
def test_the_smallest_eigenvalue_of_a_large_matrix(n: int) -> None:
    """Alone, against all of them."""
    found = pytest.importorskip("flint")
    r = np.random.default_rng(n)
    B = r.normal(size=(n, n))
    for a in (B @ B.T, B + B.T, np.diag(np.arange(n)) - np.eye(n), np.eye(n)):
        a = (a + a.T) / 2
        level = Balls(128, 1e12)
        with found.ctx.workprec(128):
            balls = exact.array(a).at(level)
            alone = exact_eigen.smallest_eigenvalue(level, balls)
            all_ = sorted(x.real for x in balls.eig(multiple=True))[0]
            assert alone.contains(all_) or alone.overlaps(all_)
            assert alone.rad() < 1e-20


def test_a_cluster_of_eigenvalues_is_left_to_the_others() -> None:
    found = pytest.importorskip("flint")
    B = np.random.default_rng(3).normal(size=(14, 7))
    a = (B @ B.T + (B @ B.T).T) / 2
    level: Level = Balls(256, 1e12)
    with found.ctx.workprec(256):
        node = exact.array(a)
        w = exact_eigen.in_balls(
            level, node.at(level), 0, lambda: exact_eigen.spectrum(level, node)
        )
        assert w.rel_accuracy_bits() > 64 and abs(w) < 1e-13


def test_eigenvalues_with_exponents_beyond_any_memory_are_ordered() -> None:
    """As a rational 2^-(10^12) would take 10^12 bits."""
    found = pytest.importorskip("flint")
    tiny = found.arb((1, -(10**12)))
    values = [found.acb(x) for x in (1, tiny, -tiny)]
    a = found.arb_mat(3, 3)
    for k, wanted in enumerate((-tiny, tiny, found.arb(1))):
        assert exact_eigen.in_balls(Balls(128, 1e12), a, k, lambda: values) == wanted


def test_a_ball_with_such_an_exponent_is_not_written_in_a_certificate() -> None:
    found = pytest.importorskip("flint")
    for x in (found.arb((1, -(10**12))), found.arb(1, found.arb((1, -(10**12))))):
        assert recorder._ends(x, squared=False) is None
    assert recorder._ends(found.arb(3), squared=True) == (9, 9)


def test_a_polynomial_with_enormous_coefficients_is_not_asked_for_its_roots() -> None:
    """Eigenvalues 1 and 2^-12000: their product is a coefficient."""
    found = pytest.importorskip("flint")
    small = found.fmpq(1, 2**6000)
    a = Again(lambda level: found.fmpq_mat([[1, small], [small, small * small * 2]]))
    with pytest.raises(NoExactForm):
        exact_eigen.polynomial(Rationals(), a)


def test_equal_eigenvalues_are_told_by_a_polynomial() -> None:
    """Balls do not isolate the double singular value 1 of I - u v^T."""
    pytest.importorskip("flint")
    rows = np.array([0.25, -0.5, 0.0, 0.75])
    a = np.eye(4)
    a[1] -= rows
    s = np.linalg.svd(a)[1]
    for k in range(4):
        node = exact.singular_value(exact.array(a), k + 1)
        assert compared(node, rational(float(s[k]) - 1e-9)).sign == 1
        assert compared(node, rational(float(s[k]) + 1e-9)).sign == -1
    assert compared(exact.singular_value(exact.array(a), 2), integer(1)).sign == 0
    assert compared(exact.smallest_modulus(exact.array(a)), rational(1 - 1e-9)).sign == 1
    twice = exact.array(np.array([[1.0, 1.0], [0.0, 1.0]]))
    assert compared(exact.spectral_radius(twice), rational(1 + 1e-9)).sign == -1
    assert compared(exact.largest_real_part(twice), rational(1 - 1e-9)).sign == 1
