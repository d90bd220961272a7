"""What a model measures, computed again: the exact number lies within the error bar."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.linalg import errors, exact
from deqcheck.linalg.exact import array
from deqcheck.models.delm.exact import ExactDelm
from deqcheck.models.delm.oracle import dense_D
from deqcheck.models.delm.spectrum import block_scalars, star_map_infimum
from deqcheck.models.implicit_relu.iterates import Iterates
from deqcheck.models.monotone_deq import exact_oracle, oracle
from deqcheck.models.problem import State
from deqcheck.records.measured import Measured
from deqcheck.records.tower import Again, Untold, compared, rational
from tests.conftest import delm_problem, implicit_problem, monotone_problem

pytest.importorskip("flint")


OUTPUT = {"beta": 0.5, "gamma": 0.5, "lambda": 0.25, "c": 1.0, "regularizer": "output"}


def relu_deq(r: np.random.Generator, m: int, n: int, d: int) -> State:
    W = r.normal(size=(m, m))
    theta = {"W": 0.7 * W / np.linalg.norm(W, 2), "U": r.normal(size=(m, d)), "a": r.normal(size=m)}
    return started("relu-deq", r, n, d, theta, {})


def implicit_relu(r: np.random.Generator, m: int, n: int, d: int) -> State:
    return implicit_problem(N=n, d=d, m=m, seed=int(r.integers(1000))).start


def monotone_deq(r: np.random.Generator, m: int, n: int, d: int) -> State:
    theta = {name: r.normal(size=(m, m)) for name in "AB"}
    theta |= {"U": r.normal(size=(m, d)), "u": r.normal(size=m)}
    return started("monotone-deq", r, n, d, theta, {"m": 0.5})


def delm(r: np.random.Generator, m: int, n: int, d: int) -> State:
    return delm_problem(m=m, n=n, my=d, seed=int(r.integers(1000))).start


def opteq(way: int, r: np.random.Generator, m: int, n: int, d: int) -> State:
    fields: dict[str, Any] = dict(OPTEQ[way])
    depth = fields.setdefault("depth", 1)
    theta = {} if "extractor" not in fields else {"W0": r.normal(size=(2, d))}
    for i in range(1, depth + 1):
        W = r.normal(size=(m + 1, m))
        theta[f"W{i}"] = 0.9 * W / np.linalg.norm(W, 2)
        theta[f"U{i}"] = r.normal(size=(m + 1, len(theta.get("W0", np.zeros(d)))))
        theta[f"b{i}"] = r.normal(size=m + 1)
    theta["Wo"] = r.normal(size=(2, m))
    if fields.get("prox") == "least-squares":
        A, c = r.normal(size=(2, m)).tolist(), r.normal(size=2).tolist()
        fields["prox"] = {"kind": "least-squares", "A": A, "c": c}
    data = {"X": r.normal(size=(d, n)), "Y": r.normal(size=(2, n))}
    start: State = dq.problem("opteq", data, theta, **fields).start
    return start


# Activations, depths and ways to the state.
OPTEQ: list[dict[str, Any]] = [
    {"activation": "relu", "solver": "implicit", "depth": 2},
    {"activation": "tanh", "solver": "implicit", "alpha": 0.5},
    {"activation": {"kind": "mix", "k": 0.3}, "iterations": 2, "extractor": "tanh", "depth": 2},
    {"activation": "hardtanh", "solver": "implicit", "prox": {"kind": "l1", "weight": 0.1}},
    {"activation": "softplus", "solver": "implicit", "prox": {"kind": "euclidean", "weight": 0.2}},
    {"activation": "identity", "solver": "implicit", "prox": "distance", "explicit_step": 0.3},
    {"activation": "tanh", "solver": "implicit", "prox": {"kind": "box", "low": -0.2}},
    {"activation": "relu", "iterations": 3, "sam": {"beta": 0.5, "gamma": 0.5, "rho": 0.5}},
    {"activation": "tanh", "iterations": 2, "depth": 2, "sam": OUTPUT},
    {"activation": "softplus", "iterations": 2, "sam": {**OUTPUT, "regularizer": "potential"}},
    {"activation": "relu", "solver": "implicit", "prox": "least-squares"},
]


def started(
    kind: str, r: np.random.Generator, n: int, d: int, theta: dict[str, Any], fields: dict[str, Any]
) -> State:
    data = {"X": r.normal(size=(d, n)), "y": r.normal(size=n)}
    start: State = dq.problem(kind, data, theta, **fields).start
    return start


MODELS: dict[str, Callable[..., State]] = {
    "relu-deq": relu_deq,
    "implicit-relu": implicit_relu,
    "monotone-deq": monotone_deq,
    "delm": delm,
    **{f"opteq {i}": partial(opteq, i) for i in range(len(OPTEQ))},
}
SIZES = [(1, 1, 1), (2, 3, 1), (4, 3, 2), (7, 5, 4)]


def within(x: Measured) -> bool:
    assert x.again is not None
    low, high = (compared(x.again, rational(float(end))) for end in (x.low, x.high))
    return low.sign in (0, 1) and high.sign in (-1, 0)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_the_exact_number_lies_within_the_bar(model: str, sizes: tuple[int, int, int]) -> None:
    for seed in range(1 if "opteq" in model else 3):
        state: Any = MODELS[model](np.random.default_rng(seed), *sizes)
        exact = {name: x for name in state.names if (x := state.measure(name)).again}
        spectral = "lambda_min_D" if model == "delm" else "sigma_min_Z"
        assert {"loss", "residual", "gradient", spectral} <= set(exact)
        assert not [name for name, x in exact.items() if not within(x)]


DIAGONAL = np.diag([0.75, -0.5, 0.0, 0.25])
# Equal, proportional and opposite samples, in columns.
ALIKE = np.outer([1.0, -0.5, 0.25], [1, 1, 2, -1])
# Where ways of their own are taken: of each model, arrays that are not drawn.
SPECIAL: dict[str, list[dict[str, Any]]] = {
    "relu-deq": [
        {"W": DIAGONAL}, {"W": 0 * DIAGONAL}, {"X": ALIKE}, {"X": ALIKE, "W": DIAGONAL},
        {"U": -np.ones((4, 3)), "X": np.abs(ALIKE)}, {"a": np.zeros(4)},
    ],
    "implicit-relu": [
        {"A": DIAGONAL}, {"A": 0 * DIAGONAL}, {"X": ALIKE.T}, {"X": ALIKE.T, "A": DIAGONAL},
        {"W": -np.ones((3, 4)), "X": np.abs(ALIKE.T)}, {"b": np.zeros(4)},
    ],
    "monotone-deq": [
        {"A": DIAGONAL}, {"A": 0 * DIAGONAL}, {"B": 0 * DIAGONAL}, {"X": ALIKE},
        {"A": DIAGONAL, "B": 0 * DIAGONAL, "X": ALIKE}, {"u": np.zeros(4)},
    ],
    "delm": [
        {"A": 0 * DIAGONAL}, {"A": 20 * DIAGONAL}, {"B": np.zeros((2, 4))},
        {"B": np.ones((2, 4))}, {"Phi": np.vstack([ALIKE, ALIKE[0]])},
    ],
}  # fmt: skip


def special(model: str, arrays: dict[str, Any]) -> State:
    if model == "delm":
        return delm_problem(4, 4, 2, **arrays).start
    if model == "implicit-relu":
        return implicit_problem(4, 3, 4, **arrays).start
    if model == "monotone-deq":
        return monotone_problem(4, 3, 4, m=0.5, **arrays).start
    r = np.random.default_rng(0)
    drawn = {"W": 0.4 * DIAGONAL + 0.1, "U": r.normal(size=(4, 3)), "a": r.normal(size=4)}
    data = {"X": arrays.get("X", r.normal(size=(3, 4))), "y": r.normal(size=4)}
    theta = {name: arrays.get(name, array) for name, array in drawn.items()}
    start: State = dq.problem("relu-deq", data, theta).start
    return start


@pytest.mark.parametrize(
    ("model", "arrays"), [(model, each) for model, every in SPECIAL.items() for each in every]
)
def test_the_exact_number_lies_within_the_bar_of_special_arrays(
    model: str, arrays: dict[str, Any]
) -> None:
    state: Any = special(model, arrays)
    # The kernel of parallel samples has no exact form.
    names = [name for name in state.names if name != "lambda_star_G"]
    exact = {name: x for name in names if (x := state.measure(name)).again}
    assert {"loss", "residual", "gradient"} <= set(exact)
    assert not [name for name, x in exact.items() if not within(x)]


@pytest.mark.parametrize("A", [DIAGONAL, 0 * DIAGONAL])
def test_the_norm_of_a_diagonal_is_told_as_a_norm(A: np.ndarray) -> None:
    """It is a rational number, and the words of it are those of |A|."""
    state: Any = special("implicit-relu", {"A": A})
    found = state.norm_A
    assert (found.value, found.error) == (np.abs(A).max(), 0)
    assert compared(found.again.spoken, rational(found.value)).sign == 0


@pytest.mark.parametrize("arrays", [{}, {"A": DIAGONAL}])
def test_sweeps_of_an_implicit_model_again(arrays: dict[str, Any]) -> None:
    """Z^1 = Phi and Z^(l+1) = relu(gamma Z^l A + Phi): the numbers, and these in the tower."""
    p = implicit_problem(4, 3, 4, **arrays)
    s = p.start
    Phi = np.maximum(p.model.X @ p.theta0["W"], 0)
    Z, seen = Phi, 0
    for sweep, size, away in Iterates(s).norms():
        assert sweep == seen + 1
        assert size.value == pytest.approx(np.linalg.norm(Z), rel=1e-12)
        assert away.value == pytest.approx(np.linalg.norm(s.Z.T - Z), rel=1e-5)
        assert within(size) and within(away)
        Z, seen = np.maximum(p.model.gamma * Z @ p.theta0["A"] + Phi, 0), sweep
    assert seen > 3


@pytest.mark.parametrize("m", [1, 2, 5])
def test_softmax_of_equal_entries_is_rational(m: int) -> None:
    """1/m, so that Z = B/(1 - gamma) for equal columns of B: no balls tell equal numbers."""
    found = ExactDelm(np.full((m, m), 0.25), np.full((2, m), 3.0), 0.5)
    for matrix, count, value in ((found.S, m * m, Fraction(1, m)), (found.Z, 2 * m, 6)):
        entries = Again(exact.vec, matrix)
        for i in range(count):
            assert compared(exact.entry(entries, i), rational(value)).sign == 0


def test_matrices_of_a_linear_model_again() -> None:
    """1 + gamma^2 |J_k Z^T|^2 of one output, and D of several."""
    one, several = (delm_problem(3, 5, my, seed=my).start for my in (1, 2))
    assert is_near(one.again.block_scalars, block_scalars(one)[:, None])
    assert is_near(several.again.D, dense_D(several))


@pytest.mark.parametrize("m", range(1, 8))
def test_the_star_maps_exact_infimum_lies_within_its_bar(m: int) -> None:
    for gamma in (0.1, 0.5, 0.9):
        assert within(star_map_infimum(m, gamma))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_slopes_of_the_weights_are_those_with_commutation_matrices(n: int) -> None:
    """P_A = -(I + K)(I kron A^T) and P_B = I - K, against the sparse ones."""
    A = np.random.default_rng(n).normal(size=(n, n))
    for found, node in (
        (oracle.P_A(A), exact_oracle.P_A(array(A), n)),
        (oracle.P_B(n), exact_oracle.P_B(n)),
    ):
        dense = found.toarray()
        off = errors.rounding(2, float(np.linalg.norm(dense)))
        assert within(errors.norm2(dense, off, node))
        assert within(errors.frobenius(dense, off, node))


def is_near(node: Again, dense: np.ndarray) -> bool:
    """The matrix that is computed again, entry by entry."""
    apart = exact.frobenius(exact.minus(node, array(dense)))
    return compared(apart, rational(1e-10 * (1 + float(np.abs(dense).max())))).sign == -1


class Sampled:
    """The monotone model one sample after the other, without vec and Kronecker products."""

    def __init__(self, state: Any):
        self.s, self.on = state, state.equilibrium.mask.astype(float)

    def map(self, name: str, way: np.ndarray) -> np.ndarray:
        """g = Z - relu(W Z + U X) along a change."""
        s, A = self.s, self.s.A
        if name == "Z":
            return way - self.on * (s.W @ way)
        if name == "U":
            return -self.on * (way @ s.X)
        moved = {"W": way, "A": -(way.T @ A + A.T @ way), "B": way - way.T}[name]
        return -self.on * (moved @ s.Z)

    def state(self, name: str, way: np.ndarray) -> np.ndarray:
        right = -self.map(name, way)
        systems = [np.eye(self.s.n) - on[:, None] * self.s.W for on in self.on.T]
        return np.stack([np.linalg.solve(M, b) for M, b in zip(systems, right.T, strict=True)], 1)

    def read(self, dZ: np.ndarray, printed: bool) -> np.ndarray:
        """(I_N kron u^T) vec(dZ), or (u^T kron I_N) vec(dZ)."""
        n, N = dZ.shape
        rows = dZ.ravel(order="F").reshape(N, n, order="F") if printed else dZ.T
        found: np.ndarray = rows @ self.s.u
        return found

    def jacobian(self, printed: bool) -> np.ndarray:
        """Of the predictions by A, B, U and u."""
        columns = []
        for name in "ABU":
            for at in np.ndindex(self.s.theta[name].shape):
                way = np.zeros(self.s.theta[name].shape)
                way[at] = 1.0
                columns.append(self.read(self.state(name, way), printed))
        return np.column_stack([*columns, self.s.Z.T])


@pytest.mark.parametrize("sizes", [(3, 2, 2), (2, 3, 1)], ids=str)
def test_derivatives_in_kronecker_form_are_those_sample_by_sample(
    sizes: tuple[int, int, int],
) -> None:
    """Lemmas 3.2.1 to 3.2.3, Proposition 4, Lemmas 3.3.2 and C.0.2 of Hieu 2022."""
    n, N, d = sizes
    r = np.random.default_rng(4)
    state: Any = monotone_deq(r, n, N, d)
    assert state.equilibrium.mask.any() and not state.equilibrium.mask.all()
    other = Sampled(state)
    for name, shape in {"Z": (n, N), "W": (n, n), "A": (n, n), "B": (n, n), "U": (n, d)}.items():
        way = r.normal(size=shape)
        assert is_near(exact_oracle.map_slope(state, name, way), other.map(name, way))
        if name == "Z":
            continue
        moved = other.state(name, way)
        assert is_near(exact_oracle.state_slope(state, name, way), moved)
        for printed in (False, True):
            slope = np.array([[state.r @ other.read(moved, printed)]])
            assert is_near(exact_oracle.loss_slope(state, name, way, printed), slope)
        if name in "WU":
            turned = array(way.T.ravel(order="F"))
            for printed, sign in ((False, 1), (True, -1)):
                found = exact_oracle.row_slope(state, turned, name == "U", printed)
                assert is_near(found, sign * moved.T)
    for printed in (False, True):
        J = other.jacobian(printed)
        product = exact_oracle.kernel_product(state, printed)
        assert is_near(product, -(J @ (J.T @ state.r))[:, None])
        wanted = np.zeros((N, n * N))
        for j in range(N):
            on = state.equilibrium.mask[:, j]
            inverse = np.linalg.inv(np.eye(n) - on[:, None] * state.W)
            for k in range(n):
                dZ = np.zeros((n, N))
                dZ[:, j] = inverse[:, k] * (1 if printed else on[k])
                wanted[:, j * n + k] = other.read(dZ, printed)
        assert is_near(exact_oracle.sensitivity_operator(state, printed), wanted)


def further(state: Any) -> None:
    """What theorems ask of an OptEq state beyond what it measures."""
    again = state.again
    again.visited(again.Z)
    assert again.J and again.dZ and again.jacobian_of(0) and again.at_rest
    if state.model.fields.solver != "implicit":
        again.seen(0, 0)
        again.largest_factors()
        again.columns((2, 1))


@pytest.mark.parametrize(
    ("model", "sizes", "least"),
    [
        ("delm", (2, 2, 1), 4),
        ("delm", (2, 3, 2), 4),
        *((f"opteq {i}", (2, 2, 1), n) for i, n in enumerate((15, 12, 19, 5, 5, 5, 5, 6, 8, 6))),
    ],
    ids=str,
)
def test_what_is_told_is_what_is_computed(
    model: str, sizes: tuple[int, int, int], least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A certificate says in words what a node is: the words give the same matrix. SAM and proximal
    layers have words for a part of it."""
    nodes: list[Again] = []
    told = Again.told

    def noted(self: Again, make: Callable[[], Again]) -> Again:
        nodes.append(self)
        return told(self, make)

    monkeypatch.setattr(Again, "told", noted)
    state: Any = MODELS[model](np.random.default_rng(0), *sizes)
    for name in state.names:
        state.measure(name)
    if "opteq" in model:
        further(state)
    checked = 0
    for node in nodes:
        with suppress(Untold):
            apart = exact.frobenius(exact.minus(node, node.spoken))
            assert compared(apart, rational(1e-10)).sign == -1
            checked += 1
    assert checked >= least


def test_dependent_samples_that_share_their_units_have_exact_zeros() -> None:
    X = np.array([[1.0, 0.3], [2.0, 0.6]])
    relu = {"W": [[0.1, 0.2], [0.05, -0.1]], "U": [[1.0, 0.4], [0.7, 0.2]], "a": [1.0, -1.0]}
    H = dq.problem("relu-deq", {"X": X.T, "y": [1.0, 2.0]}, relu).start.lambda_min_H
    gao = {"W": [[0.1, 0.2], [0.05, 0.1]], "A": [[1.0, 0.4], [0.7, 0.2]], "b": [1.0, -1.0]}
    p = dq.problem("implicit-relu", {"X": X, "y": [1.0, 2.0]}, gao, gamma=0.1)
    for found in (H, p.start.sigma_min_Phi):
        assert (found.value, found.error) == (0.0, 0.0)
