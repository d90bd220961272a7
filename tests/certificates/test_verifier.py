"""The verifier alone: its numbers, and what it proves of matrices and equilibria."""

from __future__ import annotations

import ast
import io
import itertools
import math
import random
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from deqcheck import verifier as v
from deqcheck.models.opteq import activations

F = Fraction


@pytest.fixture(autouse=True, params=[64, 256])
def bits(request: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(v.Limits, "bits", request.param)
    monkeypatch.setattr(v.Limits, "left", 10**9)
    return


def matrix(a: Any) -> Any:
    return [[v.Number(F(x)) for x in row] for row in np.atleast_2d(a).tolist()]


def test_it_imports_nothing_but_the_standard_library() -> None:
    tree = ast.parse(Path(v.__file__).read_text())
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
    names = {a.name for n in nodes if isinstance(n, ast.Import) for a in n.names}
    names |= {n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.module}
    assert names <= sys.stdlib_module_names


def _holds(found: v.Number, true: mpmath.mpf, digits: float) -> bool:
    low, high = (mpmath.mpf(x.numerator) / x.denominator for x in (found.lo, found.hi))
    return bool(low <= true <= high and high - low <= mpmath.mpf(10) ** -digits * abs(true))


def test_functions_enclose_their_values_narrowly() -> None:
    r = random.Random(1)
    with mpmath.workdps(120):
        for _ in range(40):
            x = F(r.gauss(0, 1)) * F(10) ** r.randint(-12, 2)
            near, size = mpmath.mpf(x.numerator) / x.denominator, abs(x)
            positive = mpmath.mpf(size.numerator) / size.denominator
            assert _holds(v.exp(v.Number(x)), mpmath.exp(near), 14)
            assert _holds(v.root(v.Number(size)), mpmath.sqrt(positive), 17)
            assert _holds(v.log(v.Number(size)), mpmath.log(positive), 12)


def test_operations_enclose_their_values() -> None:
    r = random.Random(2)
    for _ in range(150):
        a, b = (F(r.gauss(0, 1)) / F(r.gauss(0, 1)) for _ in range(2))
        wide = v.Number(a - F(1, 7), a + F(1, 5))
        for x in (a - F(1, 7), a, a + F(1, 5)):
            for found, true in (
                (wide + v.Number(b), x + b),
                (wide * v.Number(b), x * b),
                (wide - v.Number(b), x - b),
                (wide / v.Number(b), x / b),
                (abs(wide), abs(x)),
            ):
                assert found.lo <= true <= found.hi


def test_short_numbers_stay_exact_and_long_ones_do_not() -> None:
    third = v.Number(F(1, 3))
    assert (third + third + third).exact and v.root(v.Number(F(4, 9))).lo == F(2, 3)
    assert not v.root(v.Number(F(2))).exact
    long = v.Number(F(3) ** 400, F(3) ** 400)
    assert not long.exact and long.lo < F(3) ** 400 < long.hi


def test_where_an_interval_leaves_a_sign_open() -> None:
    with pytest.raises(v.Imprecise):
        v.Number(F(-1), F(1)).sign()
    with pytest.raises(v.Imprecise):
        v.UNIT / v.Number(F(-1), F(1))
    with pytest.raises(v.Unchecked):
        v.UNIT / v.NONE
    with pytest.raises(v.Unchecked):
        v.root(v.Number(F(-1)))


@pytest.mark.parametrize("relation", v.RELATIONS)
def test_a_relation_is_that_of_the_numbers(relation: str) -> None:
    truth = {"<=": F.__le__, ">=": F.__ge__, "==": F.__eq__, "<": F.__lt__, ">": F.__gt__}
    ends = [F(n) for n in range(4)]
    for a, b, c, d in itertools.product(ends, repeat=4):
        if a > b or c > d:
            continue
        known = {truth[relation](x, y) for x in (a, (a + b) / 2, b) for y in (c, (c + d) / 2, d)}
        left, right = v.Number(a, b), v.Number(c, d)
        try:
            assert known == {v.holds(left, relation, right)}
        except v.Imprecise:
            # Two intervals that meet in one point alone may be one number.
            assert len(known) == 2 or (relation == "==" and max(a, c) <= min(b, d))


def test_eigenvalues_lie_where_they_are_said_to_be() -> None:
    r = np.random.default_rng(3)
    for n in (1, 2, 5):
        B = r.integers(-4, 5, size=(n, n))
        A = B + B.T
        for k, x in enumerate(np.linalg.eigvalsh(A)):
            around = [str(F(x) - F(1, 10**6)), str(F(x) + F(1, 10**6))]
            found = v.eigenvalue(matrix(A), k, around)
            assert found.lo <= F(x) <= found.hi
            off = [str(F(x) + F(1, 10**6)), str(F(x) + F(2, 10**6))]
            with pytest.raises(v.Wrong):
                v.eigenvalue(matrix(A), k, off)


def test_an_exact_eigenvalue_is_one() -> None:
    A = matrix(np.diag([1, 2, 2, 5]))
    assert v.eigenvalue(A, 1, ["2", "2"]).lo == 2 and v.eigenvalue(A, 2, ["2", "2"]).exact
    for wrong in ("3", "1"):
        with pytest.raises(v.Wrong):
            v.eigenvalue(A, 1, [wrong, wrong])
    # An eigenvalue is near, and none is there.
    with pytest.raises(v.Imprecise):
        v.eigenvalue(matrix(np.diag([1, 2])), 1, [str(F(2) + F(1, 10**25))] * 2)
    with pytest.raises(v.Unchecked):
        v.eigenvalue(matrix([[1, 1], [0, 2]]), 1, ["2", "2"])


def test_singular_values_and_ranks() -> None:
    a = [[1, 2, 3], [2, 4, 6]]
    assert v.rank(matrix(a)) == 1
    assert v.singular_value(matrix(a), 2, ["0", "0"]).lo == 0
    assert v.singular_value(matrix(a), 1, ["69", "71"]).lo == v.root(v.Number(F(69))).lo
    with pytest.raises(v.Wrong):
        v.singular_value(matrix([[1, 2, 3], [2, 4, 7]]), 2, ["0", "0"])
    assert v.singular_value(matrix(a), 3, ["0", "0"]).exact
    with pytest.raises(v.Wrong):
        v.singular_value(matrix(a), 3, ["1", "1"])


def test_solutions_inverses_and_determinants_are_exact() -> None:
    r = np.random.default_rng(4)
    a = r.integers(-5, 6, size=(4, 4)) + 9 * np.eye(4, dtype=int)
    x = v.solution(matrix(a), v.eye(4))
    back = v.product(matrix(a), x)
    assert all(e.lo <= F(i == j) <= e.hi for i, row in enumerate(back) for j, e in enumerate(row))
    assert v.determinant(matrix(a)).lo == round(np.linalg.det(a))
    with pytest.raises(v.Unchecked):
        v.solution(matrix([[1, 2], [2, 4]]), v.eye(2))


@pytest.mark.parametrize(
    ("W", "known"),
    [
        ([[0.5, 0.2], [0.1, 0.3]], True),
        # |W| x < x for x = (100, 1), though the norm is 10.
        ([[0.5, 10], [0.001, 0.5]], True),
        # I - W is monotone, though W is large.
        ([[-8, 5], [-5, -8]], True),
        ([[1.5, 0], [0, 0.2]], False),
        # z = relu(z + c) has none or many.
        ([[1.0]], False),
    ],
)
def test_uniqueness_needs_a_reason(W: Any, known: bool) -> None:
    if known:
        v.unique(matrix(W))
    else:
        with pytest.raises((v.Unchecked, v.Imprecise)):
            v.unique(matrix(W))


def test_an_equilibrium_is_one_and_its_pattern_is_checked() -> None:
    W, C = matrix([[0.5, -1], [0.25, 0.125]]), matrix([[1, -1], [-2, 1]])
    Z, words = v.equilibrium(W, C, ["10", "01"])
    assert words == ["10", "01"]
    assert [[x.lo for x in row] for row in Z] == [[2, 0], [0, F(8, 7)]] or not Z[1][1].exact
    for wrong in (["11", "01"], ["00", "01"], ["10", "11"]):
        with pytest.raises(v.Wrong):
            v.equilibrium(W, C, wrong)
        assert v.equilibrium(W, C, wrong, moved=True)[1] == words
    with pytest.raises(ValueError):
        v.equilibrium(W, C, ["10"])


def test_the_softmax_is_that_of_numpy() -> None:
    A = np.random.default_rng(5).normal(size=(3, 2))
    S = v.softmax(matrix(A))
    want = np.exp(A) / np.exp(A).sum(axis=0)
    for i, j in np.ndindex(A.shape):
        assert math.isclose(float(S[i][j].lo), want[i, j], rel_tol=1e-13)
        assert S[i][j].lo <= S[i][j].hi


@pytest.mark.parametrize(
    ("outcome", "hypotheses", "conclusions", "answer"),
    [
        ("confirmed", [("holds", True)], [("holds", True)], True),
        ("confirmed", [("holds", False)], [("holds", True)], None),
        ("confirmed", [("violated", True)], [("holds", True)], False),
        ("confirmed", [], [("undecided", False)], False),
        ("confirmed", [], [], False),
        ("refuted", [("holds", True)], [("violated", True), ("holds", False)], True),
        ("refuted", [("holds", False)], [("violated", True)], None),
        ("refuted", [("holds", True)], [("violated", False)], None),
        ("refuted", [("undecided", False)], [("violated", True)], False),
        ("refuted", [("holds", True)], [("holds", True)], False),
        ("not applicable", [("holds", False), ("violated", True)], [], True),
        ("not applicable", [("violated", False)], [], None),
        ("not applicable", [("holds", True)], [("violated", True)], False),
        ("not met", [], [("violated", True)], True),
        ("undecided", [("holds", True)], [("violated", True)], None),
    ],
)
def test_an_outcome_follows_from_its_claims(
    outcome: str, hypotheses: Any, conclusions: Any, answer: bool | None
) -> None:
    assert v.follows(outcome, hypotheses, conclusions) is answer


def test_the_square_of_a_root_is_exact() -> None:
    """And decides what intervals leave open."""
    two, eight = v.root(v.Number(F(2))), v.root(v.Number(F(8)))
    assert (two * two).lo == 2 and v.raised(two, v.Number(F(2))).exact
    twice = v.Number(F(2)) * two
    assert v.holds(twice, "==", eight) and not v.holds(twice, "<", eight)
    assert v.holds(v.UNIT / two * eight, "==", v.TWO)
    # Of a negative number the square says nothing.
    with pytest.raises(v.Imprecise):
        v.holds(v.Number(F(-1)) * two, "==", v.Number(F(-1)) * two)
    assert v.holds(v.Number(F(-1)) * two, "<", two)
    # No square of an interval.
    assert v.root(v.Number(F(2), F(3))).square is None


def test_products_of_intervals_have_the_ends_of_their_corners() -> None:
    ends = [F(n) for n in (-2, -1, 0, 1, 2)]
    for a, b, c, d in itertools.product(ends, repeat=4):
        if a <= b and c <= d:
            found = v.Number(a, b) * v.Number(c, d)
            corners = [x * y for x in (a, b) for y in (c, d)]
            assert (found.lo, found.hi) == (min(corners), max(corners))


@pytest.mark.parametrize(
    ("kind", "k"), [(kind, None) for kind in v.ACTIVATIONS] + [("tanh", "1/4")]
)
def test_activations_are_those_of_the_model(kind: str, k: str | None) -> None:
    s = getattr(activations, "HardTanh" if kind == "hardtanh" else kind.title())()
    s = activations.Mix(k=0.25) if k else s
    value, slope, kinks, lowest = v.activation(kind, k)
    assert kinks.lo == len(s.kinks) and lowest.lo == s.slopes[0] and s.slopes[1] == 1
    for t in (-3.0, -1.0, -0.3, 0.0, 0.7, 1.0, 2.5):
        for found, near in ((value, s.value), (slope, s.slope)):
            x = found(v.Number(F(t)))
            assert x.hi - x.lo < F(1, 10**15)
            assert math.isclose(float(x.lo), float(near(np.array([t]))[0]), abs_tol=1e-13)
    with pytest.raises(v.Unchecked):
        v.activation("sine")


def test_an_equilibrium_of_layers_lies_where_it_is_said_to_be() -> None:
    """By the residual of a state and a Lipschitz constant below 1."""
    W, C = np.array([[0.5, 0.25], [-0.25, 0.5]]), np.array([[0.5], [-2.0]])
    how = {"alpha": "1/2", "kind": "tanh"}
    z = np.zeros((2, 1))
    for _ in range(200):
        z = 0.5 * W.T @ np.tanh(W @ z + C) + 0.5 * z
    # Far from the digits of a double: Newton's steps are in the tower.
    exact = [[F(x)] for (x,) in z.tolist()]
    with pytest.raises(v.Wrong, match="no equilibrium next to"):
        v.opteq_equilibrium(matrix(W), matrix(C), near=[["1"], ["1"]], **how)
    with pytest.raises(v.Unchecked, match="without a state"):
        v.opteq_equilibrium(matrix(W), matrix(C), **how)
    with pytest.raises(v.Unchecked, match="the only one"):
        v.opteq_equilibrium(matrix(2 * np.eye(2)), matrix(C), near=[["0"], ["0"]], **how)
    for _ in range(60):
        exact = _swept(W, C, exact)
    near = [[str(x)] for (x,) in exact]
    found = v.opteq_equilibrium(matrix(W), matrix(C), near=near, **how)
    for (x,), (y,) in zip(found, z.tolist(), strict=True):
        assert x.lo < F(y) + F(1, 10**14) and x.hi > F(y) - F(1, 10**14) and x.lo < x.hi
    linear = v.opteq_equilibrium(
        matrix([[0.5]]), matrix([[1]]), alpha="1", kind="relu", near=[["2/3"]]
    )
    assert linear[0][0].exact and linear[0][0].lo == F(2, 3)


def _swept(W: np.ndarray, C: np.ndarray, Z: list[list[F]]) -> list[list[F]]:
    """One application of the layer, rounded to 100 bits."""
    A = v.plus(v.product(matrix(W), [[v.Number(x)] for (x,) in Z]), matrix(C))
    G = v.product(v.turned(matrix(W)), v.mapped(v.tanh, A))
    half = F(1, 2)
    return [
        [F(round((half * g.lo + half * z) * 2**100), 2**100)]
        for (g,), (z,) in zip(G, Z, strict=True)
    ]


def _table(*rows: dict[str, Any]) -> v.Table:
    return v.Table(list(rows), {"X": matrix([[1, 2], [3, 4]])})


X: dict[str, Any] = {"op": "array", "name": "X"}


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"op": "transpose", "of": [-1]}, "later"),
        ({"op": "transpose", "of": [1]}, "later"),
        ({"op": "transpose", "of": [7]}, "later"),
        ({"op": "eigenvalue", "of": [0], "k": 0, "within": ["2", "1"]}, "symmetric"),
        ({"op": "singular_value", "of": [0], "k": 0, "within": ["1", "40"]}, "from 1"),
        ({"op": "singular_value", "of": [0], "k": 3, "within": ["1", "40"]}, "is 0"),
        ({"op": "equilibria", "of": [0]}, "none"),
        ({"op": "number", "value": True}, "p/q"),
        ({"op": "number", "value": 0.5}, "p/q"),
        ({"op": "column", "of": [0], "j": 2}, "range"),
        ({"op": "anything", "of": [0]}, "vocabulary"),
        ({"op": "identity", "n": 10**9}, "too large"),
        ({"op": "constant", "rows": 10**6, "columns": 10**6, "value": "1"}, "too large"),
        ({"op": "relu_equilibrium", "of": [0, 0], "pattern": ["2", "0"]}, "only one"),
        ({"op": "relu_equilibrium", "of": [0, 0]}, "without a pattern"),
        ({"op": "activation", "of": [0], "kind": "sine"}, "sine"),
        ({"op": "activation", "of": [0], "kind": "tanh", "k": "2"}, "share"),
        (
            {
                "op": "opteq_equilibrium",
                "of": [0, 0],
                "alpha": "2",
                "kind": "relu",
                "near": [["0"]],
            },
            "share",
        ),
    ],
)
def test_a_row_that_cannot_be(row: dict[str, Any], told: str) -> None:
    with pytest.raises((v.Wrong, v.Unchecked, LookupError, TypeError), match=told):
        _table(X, row).at(1)


def test_an_eigenvalue_is_counted_within_its_matrix() -> None:
    A = matrix(np.diag([1, 2]))
    for k in (2, -3, 7):
        with pytest.raises(IndexError):
            v.eigenvalue(A, k, ["0", "3"])
    with pytest.raises(TypeError):
        v.eigenvalue(A, 0.5, ["0", "3"])


@pytest.mark.parametrize(
    "formula",
    [
        "max(1, key=2) > 0",
        "1 if 1 else 2 > 0",
        "x.y > 0",
        "lambda: 1 > 0",
        "1 // 2 > 0",
        "'1' > 0",
        "True > 0",
        "1j > 0",
        "1 != 2",
        "0 < 1 < 2",
        "min() > 0",
    ],
)
def test_what_is_no_formula(formula: str) -> None:
    with pytest.raises((v.Wrong, ValueError, AttributeError, TypeError)):
        left, _, right = v.split(formula)
        for side in (left, right):
            v.evaluated(side, lambda name: v.UNIT)


def test_a_small_number_of_a_formula_is_not_0() -> None:
    assert v.evaluated("1e-400", lambda name: v.UNIT).lo > 0


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "a": 2}', '{"a": NaN}', '{"a": Infinity}', '{"a": {"b": 0, "b": 0}}', "{"],
)
def test_json_that_can_be_read_in_two_ways(text: str) -> None:
    with pytest.raises(ValueError):
        v.read(io.StringIO(text))


@pytest.mark.parametrize("on", ["1", "0"])
def test_a_unit_at_0_has_one_word(on: str) -> None:
    """Its side has no effect on the state; what the file says is still that it is not active."""
    W, C = matrix([[0.5, 0], [0, 0.25]]), matrix([[0], [1]])
    if on == "0":
        Z, _ = v.equilibrium(W, C, ["01"])
        assert Z[0][0].exact and Z[0][0].lo == 0
    else:
        with pytest.raises(v.Wrong, match="pattern"):
            v.equilibrium(W, C, ["11"])


def test_a_number_that_would_fill_the_memory_is_refused() -> None:
    with pytest.raises(v.Wrong, match="out of range"):
        v.number("1e999999999")
    with pytest.raises(v.Unchecked, match="out of range"):
        v.number("1e99999")
    with pytest.raises(v.Unchecked, match="out of range"):
        v.exp(v.Number(F(10**9)))
    small = v.number("1e-300")
    assert small.lo <= Fraction(1, 10**300) <= small.hi
