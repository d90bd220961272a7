"""OptEq computed again, against twins: every linear piece in fractions, Newton to 60 digits."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest

import deqcheck as dq
from deqcheck.linalg import exact
from deqcheck.models.opteq import exact_rest
from deqcheck.records.tower import Again, NoExactForm, compared, flint, rational
from deqcheck.records.tower.balls import Balls
from deqcheck.records.tower.rationals import Rationals
from tests.opteq_instances import arrays
from tests.opteq_instances import problem as unrolled

pytest.importorskip("flint")
mp = mpmath.mp.clone()
mp.dps = 60


def problem(activation: str, seed: int, m: int = 2, n: int = 3, **fields: Any) -> Any:
    r = np.random.default_rng(seed)
    W = r.normal(size=(n, m))
    theta = {"W1": 0.9 * W / np.linalg.norm(W, 2), "U1": r.normal(size=(n, 2))}
    theta |= {"b1": r.normal(size=n), "Wo": r.normal(size=(1, m))}
    data = {"X": r.normal(size=(2, 2)), "Y": r.normal(size=(1, 2))}
    settings = {"activation": activation, "alpha": 0.5, "solver": "implicit", **fields}
    return dq.problem("opteq", data, theta, **settings)


def fractions(a: np.ndarray) -> list[list[Fraction]]:
    return [[Fraction(float(x)) for x in row] for row in a.reshape(len(a), -1)]


def solved(A: list[list[Fraction]], b: list[Fraction]) -> list[Fraction]:
    """Gauss and Jordan."""
    rows = [[*row, x] for row, x in zip(A, b, strict=True)]
    for i in range(len(rows)):
        k = next(k for k in range(i, len(rows)) if rows[k][i])
        rows[i], rows[k] = rows[k], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j, row in enumerate(rows):
            if j != i:
                rows[j] = [x - row[i] * y for x, y in zip(row, rows[i], strict=True)]
    return [row[-1] for row in rows]


def on_a_piece(p: Any, j: int, ends: tuple[Fraction | None, ...]) -> list[Fraction]:
    """z = a W^T s(W z + c) + (1 - a) z: each unit is below, between or above the ends of s."""
    layer = p.start.network.layers[0]
    W, U, b, X = (fractions(x) for x in (layer.W, layer.U, layer.b, layer.X))
    n, m = layer.W.shape
    c = [sum(U[i][k] * X[k][j] for k in range(len(X))) + b[i][0] for i in range(n)]
    low, high = ends
    for sides in product(*[[0] + ([-1] if low is not None else []) + ([1] if high else [])] * n):
        inside = [i for i in range(n) if sides[i] == 0]
        held = {i: low if sides[i] < 0 else high for i in range(n) if sides[i]}
        system = [
            [Fraction(k == q) - sum(W[i][k] * W[i][q] for i in inside) for q in range(m)]
            for k in range(m)
        ]
        right = [
            sum(W[i][k] * c[i] for i in inside) + sum(W[i][k] * v for i, v in held.items())
            for k in range(m)
        ]
        z = solved(system, right)
        t = [sum(W[i][k] * z[k] for k in range(m)) + c[i] for i in range(n)]
        fits = [
            (low is None or t[i] >= low) and (high is None or t[i] <= high)
            if sides[i] == 0
            else (t[i] <= low if sides[i] < 0 else t[i] >= high)
            for i in range(n)
        ]
        if all(fits):
            return z
    raise AssertionError("no piece fits")


@pytest.mark.parametrize(("activation", "ends"), [("relu", (0, None)), ("hardtanh", (-1, 1))])
def test_rational_equilibria_are_those_of_the_piece_that_fits(
    activation: str, ends: tuple[int | None, ...]
) -> None:
    limits = tuple(None if end is None else Fraction(end) for end in ends)
    for seed in range(6):
        p = problem(activation, seed)
        Z = p.start.again.Z.at(Rationals())
        for j in range(2):
            z = on_a_piece(p, j, limits)
            assert [Fraction(int(Z[i, j].p), int(Z[i, j].q)) for i in range(2)] == z


FUNCTIONS = {"tanh": mp.tanh, "softplus": lambda t: mp.log(1 + mp.exp(t))}


@pytest.mark.parametrize("activation", FUNCTIONS)
def test_balls_hold_the_equilibrium_to_60_digits(activation: str) -> None:
    s = FUNCTIONS[activation]
    for seed in range(3):
        p = problem(activation, seed)
        layer = p.start.network.layers[0]
        W, U, b, X = (mp.matrix(fractions_to_mp(x)) for x in (layer.W, layer.U, layer.b, layer.X))
        z = mp.matrix(p.start.Z[:, 0].tolist())
        for _ in range(400):
            z = W.T * (W * z + U * X[:, 0] + b).apply(s)
        level = Balls(256)
        with level.flint.ctx.workprec(256):
            Z = p.start.again.Z.at(level)
            for i in range(2):
                assert float(Z[i, 0].rad()) < 1e-60
                assert abs(Z[i, 0] - level.flint.arb(mp.nstr(z[i], 60))) < 1e-25


def fractions_to_mp(a: np.ndarray) -> list[list[Any]]:
    return [[mp.mpf(float(x)) for x in row] for row in a.reshape(len(a), -1)]


SAM = {"beta": 0.5, "gamma": 0.5, "lambda": 0.25, "rho": 0.5, "c": 1.0}
UNROLLED: list[dict[str, Any]] = [
    {"activation": "softplus", "depth": 2},
    {"activation": "relu", "depth": 2, "sam": SAM},
    {"activation": "tanh", "depth": 2, "sam": {**SAM, "regularizer": "output"}},
    {"activation": "softplus", "sam": {**SAM, "regularizer": "potential"}},
]


@pytest.mark.parametrize("fields", UNROLLED, ids=str)
def test_products_of_iterations_are_the_derivative_by_where_they_began(
    fields: dict[str, Any],
) -> None:
    """dZ^K/dZ^0 of every sample, by differences. Weights beyond 1: products grow, and the largest
    ones are not among the first."""
    m, N, h = 2, 2, 1e-5
    data, theta = arrays(1, m, 3, 2, 1, fields.get("depth", 1), N, s=1.8)
    Z0 = np.array([[0.3, -0.7], [0.4, 0.2]])
    state: Any = unrolled(data, theta, Z0=Z0, iterations=3, alpha=0.7, **fields).start
    level = Balls(128)
    with level.flint.ctx.workprec(128):
        layers, iterations = state.again.factors.at(level)
        assert len(layers) == 3 * N * state.model.depth and len(iterations) == 3 * N
        for every, node in zip((layers, iterations), state.again.largest_factors(), strict=True):
            norms = [np.linalg.norm(told(each), 2) for each in every]
            assert float(node.at(level)) == pytest.approx(max(norms), rel=1e-14)
        for i in range(m):
            moved = np.zeros((m, N))
            moved[i] = h
            ends = [
                unrolled(data, theta, Z0=Z0 + way, iterations=3, alpha=0.7, **fields).start.Z
                for way in (moved, -moved)
            ]
            slopes = (ends[0] - ends[1]) / (2 * h)
            for j in range(N):
                # h^2 times a third derivative of a composition of curves.
                found = told(iterations[2 * N + j])[:, i]
                assert found == pytest.approx(slopes[:, j], abs=1e-8)


def told(a: Any) -> np.ndarray:
    return np.array([[float(a[i, j]) for j in range(a.ncols())] for i in range(a.nrows())])


def test_a_unit_on_its_kink_is_rational_and_its_derivative_that_of_the_left() -> None:
    """w = 1/2, c = 0: the equilibrium of relu is 0, on the kink, where balls know nothing."""
    one = np.ones((1, 1))
    theta = {"W1": one / 2, "U1": one, "b1": np.zeros(1), "Wo": one}
    data = {"X": np.zeros((1, 1)), "Y": one}
    start = dq.problem("opteq", data, theta, activation="relu", solver="implicit").start
    assert start.measure("Z_fro").again.at(Rationals()) == 0
    assert start.measure("gradient.b1").again.at(Rationals()) == 0


def test_of_a_map_that_does_not_contract_only_the_root_within_the_bar_is_meant() -> None:
    start = problem("hardtanh", 1).start
    start.again._near = start.again._near._replace(Z=start.Z + 1e-3, reach=1e-12)
    with pytest.raises(NoExactForm):
        start.again.Z.at(Rationals())


def test_chosen_slopes_have_no_exact_form() -> None:
    start = problem("relu", 0).start
    slid = start.with_slopes(np.full(start.kinks.above.shape, 0.5))
    with pytest.raises(NoExactForm):
        slid.gradient_norms["b1"].again.at(Rationals())


@pytest.mark.parametrize("n", [2, 5])
def test_an_eigenvalue_among_equal_ones(n: int) -> None:
    """1 + 4 of a projection: 1 many times, which no precision tells apart."""
    v = np.arange(1.0, n + 1)
    a = exact.array(np.eye(n) * 4 + np.outer(v, v))
    level = Balls(256)
    with level.flint.ctx.workprec(256):
        for k, value in ((0, 4), (n - 2, 4), (n - 1, 4 + int(v @ v))):
            found = exact.eigenvalue(a, k).at(level)
            assert found.contains(value)
            assert float(found.rad()) < 1e-60


def test_the_rank_of_a_large_rational_matrix_is_known() -> None:
    r = np.random.default_rng(0)
    a = r.normal(size=(6, 2)) @ np.round(4 * r.normal(size=(2, 6)))
    full, deficient = r.normal(size=(6, 6)), np.vstack([a[:3], a[:3]])
    assert compared(exact.singular_value(exact.array(full), 6), rational(0)).sign == 1
    assert compared(exact.singular_value(exact.array(deficient), 4), rational(0)).sign == 0


def test_a_node_of_another_level_is_not_mixed_in() -> None:
    """Balls at two precisions are computed apart."""
    p = problem("tanh", 0)
    radii = []
    for bits in (128, 256):
        level = Balls(bits)
        with level.flint.ctx.workprec(bits):
            found: Again = p.start.measure("loss").again
            radii.append(float(found.at(level).rad()))
    assert radii[1] < 1e-30 * radii[0]


@pytest.mark.parametrize("prox", [None, "distance", "l1", "euclidean"])
def test_jacobians_in_many_digits_are_those_of_doubles(prox: str | None) -> None:
    given = {} if prox is None else {"prox": {"kind": prox, "weight": 0.2}}
    start = problem("tanh", 1, **given).start
    wanted, level = start.map.jacobians(start.Z), Balls(256, 1e12)
    with flint().ctx.workprec(256):
        for j in range(2):
            found = start.again.slopes(level, exact.array(start.Z[:, j]).at(level), j)
            rows = [[float(found[i, k]) for k in range(2)] for i in range(2)]
            assert np.array(rows) == pytest.approx(wanted[j], rel=1e-13, abs=1e-13)


class Root:
    """z -> z - (z^2 - 2), which rests at the square root of 2."""

    def mapped(self, level: Any, z: Any, j: int) -> Any:
        return z - z * z + 2 * exact.identity(level, 1)

    def slopes(self, level: Any, z: Any, j: int) -> Any:
        return exact.identity(level, 1) - 2 * z


@pytest.mark.parametrize("off", ["0.1", "1e-3", "1e-20"])
def test_a_box_that_is_proven_holds_the_root(off: str) -> None:
    """Of x^2 = 2, from beside it: what Newton's step leaves is in the box, and little more."""

    level, arb = Balls(256, 1e12), flint().arb
    with flint().ctx.workprec(256):
        root = arb(2).sqrt()
        start = exact.matrix(level, 1, 1, [(root + arb(off)).mid()])
        found = exact_rest._krawczyk(level, Root(), start, 0)[0, 0]
        assert found.contains(root) and float(found.rad()) < 4 * float(off) ** 2 + 1e-60


def test_newtons_steps_fill_the_digits_of_a_level() -> None:
    """Of sqrt(2) + 1e-4: four right digits, then 8, 16, 32, 64, and twice as many in the box."""
    level, arb = Balls(256, 1e12), flint().arb
    with flint().ctx.workprec(256):
        start = exact.matrix(level, 1, 1, [(arb(2).sqrt() + arb("1e-4")).mid()])
        found = exact_rest._in_a_box(level, Root(), start, 0)[0, 0]
        assert found.contains(arb(2).sqrt()) and float(found.rad()) < 2.0**-250


def test_the_columns_by_the_layers_are_neither_those_of_the_extractor_nor_of_the_output() -> None:
    data, theta = arrays(1, 2, 3, 2, 1, 2, 2)
    size = sum(a.size for name, a in theta.items() if name != "Wo")
    for more in ({}, {"W0": np.eye(2)}):
        fields = {"depth": 2, **({"extractor": "tanh"} if more else {})}
        start = unrolled(data, {**more, **theta}, iterations=2, **fields).start
        with flint().ctx.workprec(128):
            found = start.again.by_layers.at(Balls(128, 1e12))
        assert (found.nrows(), found.ncols()) == (2 * 2, size)
