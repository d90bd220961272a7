"""The OptEq network against its slow twins, 50-digit arithmetic and the audit's numbers."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest

from deqcheck.fields import Refusal
from deqcheck.gradcheck import gradcheck
from deqcheck.models.memory import Memory
from deqcheck.models.opteq import oracle
from deqcheck.models.opteq.equilibrium import Existence, FixedPoint
from deqcheck.models.opteq.network import Network
from deqcheck.models.problem import NoEquilibrium, Params, Problem, pack
from tests.opteq_instances import arrays, parameters, problem

MIX = {"kind": "mix", "k": 0.5}
SAM = {"beta": 0.4, "lambda": 0.2, "gamma": 0.3, "rho": 0.5, "c": 0.2}
SETTINGS: list[dict[str, Any]] = [
    {"iterations": 3},
    {"solver": "implicit"},
    {"solver": "implicit", "prox": {"kind": "distance", "weight": 0.3}},
    {"solver": "implicit", "prox": {"kind": "l1", "weight": 0.1}},
    {"solver": "implicit", "prox": {"kind": "euclidean", "weight": 0.2}},
    {"solver": "implicit", "prox": {"kind": "box", "low": -0.2, "high": 0.1}},
    {"solver": "implicit", "prox": {"kind": "distance", "weight": 3}, "explicit_step": 0.6},
    {"iterations": 3, "sam": {**SAM, "regularizer": "output"}},
    {"iterations": 3, "sam": {**SAM, "regularizer": {"kind": "distance", "center": [1, 2]}}},
    {"iterations": 3, "sam": {**SAM, "regularizer": {"kind": "potential", "center": [1, 2]}}},
    {"iterations": 3, "extractor": "tanh", "sam": {**SAM, "regularizer": "output"}},
    {"solver": "implicit", "extractor": "softplus", "prox": {"kind": "distance"}},
]


def small(seed: int = 1, depth: int = 2, **fields: Any) -> Problem:
    data, theta = arrays(seed, 2, 3, 1, 1, depth, 2)
    if "extractor" in fields:
        r = np.random.default_rng(seed)
        theta = {"W0": r.normal(size=(1, 3)), **theta}
        data["X"] = r.normal(size=(3, 2))
    return problem(data, theta, **{"alpha": 0.6, "depth": depth, **fields})


# Those with a kink in few settings: their derivatives go the same way.
@pytest.mark.parametrize(
    ("activation", "fields"),
    [*((MIX, fields) for fields in SETTINGS), *(("relu", fields) for fields in SETTINGS[::3])],
    ids=str,
)
def test_gradients_agree_three_ways(activation: Any, fields: dict[str, Any]) -> None:
    for agreement in gradcheck(small(activation=activation, **fields)):
        assert agreement.agrees, agreement


@pytest.mark.parametrize("activation", ["tanh", "hardtanh", "identity"])
def test_gradients_of_the_other_activations(activation: str) -> None:
    for depth, K in ((1, 1), (3, 2)):
        p = small(depth=depth, iterations=K, activation=activation, Z0=[[1.0, 0.5], [-1.0, 2.0]])
        explicit = p.model.explicit_gradient(p.theta0)
        for name, norm in p.start.gradient_norms.items():
            off = np.linalg.norm(explicit[name] - p.start.gradient[name])
            assert off <= 100 * norm.error and norm.error < 1e-10 * (1 + norm.value), name


@pytest.mark.parametrize("fields", SETTINGS, ids=lambda f: "-".join(f))
def test_loss_and_gradient_alone_are_those_beside_their_radii(fields: dict[str, Any]) -> None:
    p = small(**fields)
    beside, alone = p.start.objective, p.model.at(p.theta0).plain
    assert alone.gap == pytest.approx(beside.gap, rel=1e-14)
    for name, array in beside.gradient.items():
        np.testing.assert_allclose(alone.gradient[name], array, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("fields", SETTINGS, ids=lambda f: "-".join(f))
def test_the_jacobian_is_that_of_lemma_11(fields: dict[str, Any]) -> None:
    """J = (I kron W_o) dZ/dtheta plus the read-out, with dZ/dtheta from Kronecker products."""
    start = small(activation=MIX, **fields).start
    dense = oracle.state_jacobian(start)
    # The oracle stacks columns, the sweeps rows: compare parameter by parameter.
    blocks = []
    for name, D in dense.items():
        shape = start.theta[name].shape
        order = (
            np.arange(D.shape[1]).reshape(shape[::-1]).T.ravel() if len(shape) == 2 else slice(None)
        )
        blocks.append(D[:, order])
    whole = np.concatenate(blocks, axis=1)
    dZ, radius = start.dZ
    assert np.linalg.norm(whole - dZ) <= 100 * radius
    J, radius = start.J
    expected = np.kron(np.eye(2), start.Wo) @ whole
    expected[:, -start.Wo.size :] += start.Z.T
    assert np.linalg.norm(expected - J) <= 100 * radius
    assert np.allclose(J.T @ start.r.ravel(order="F"), pack(start.gradient), atol=1e-13)


def test_unrolled_gradients_tend_to_the_implicit_one() -> None:
    """Table of the audit (a = 0.5, L = 3, tanh): geometric in K."""
    data, theta = arrays(5, 4, 4, 3, 2, 3, 3)
    exact = pack(problem(data, theta, alpha=0.5, solver="implicit").start.gradient)
    off = [
        np.linalg.norm(pack(problem(data, theta, alpha=0.5, iterations=K).start.gradient) - exact)
        / np.linalg.norm(exact)
        for K in (5, 10, 20, 40)
    ]
    assert off[0] < 0.1 and off[1] < off[0] / 10 and off[2] < off[1] / 100 and off[3] < 1e-13


def mp_forward(p: Problem, theta: dict[str, mp.matrix]) -> mp.matrix:
    """Z^K in 50 digits for s = (t + tanh t)/2."""
    X, Z = mp.matrix(p.model.X.tolist()), mp.matrix(p.model.Z0.tolist())
    a = mp.mpf(p.model.alpha)
    sam = p.start.sam
    for k in range(p.model.iterations):
        moved = Z
        for i in range(1, p.model.depth + 1):
            A = theta[f"W{i}"] * moved + theta[f"U{i}"] * X
            for row in range(A.rows):
                for column in range(A.cols):
                    t = A[row, column] + theta[f"b{i}"][row]
                    A[row, column] = (t + mp.tanh(t)) / 2
            moved = a * (theta[f"W{i}"].T * A) + (1 - a) * moved
        if sam is not None:
            w = sam.weights[k]
            R = mp.matrix(sam.R.A.tolist())
            slope = R.T * (R * Z)
            pulled = (1 - mp.mpf(sam.gamma) * w.lambda_) * Z - sam.gamma * slope
            moved = mp.mpf(w.beta) * pulled + (1 - mp.mpf(w.beta)) * moved
        Z = moved
    return Z


def mp_reference(p: Problem) -> dict[str, mp.mpf]:
    theta = {name: mp.matrix(a.tolist()) for name, a in p.theta0.items()}
    Y = mp.matrix(p.model.Y.tolist())
    h = mp.mpf(10) ** -18
    outputs = lambda: theta["Wo"] * mp_forward(p, theta)  # noqa: E731
    columns, owners = [], []
    for name, a in theta.items():
        for i in range(a.rows):
            for j in range(a.cols):
                kept = a[i, j]
                a[i, j] = kept + h
                up = outputs()
                a[i, j] = kept - h
                down = outputs()
                a[i, j] = kept
                columns.append((up - down) / (2 * h))
                owners.append(name)
    Z = mp_forward(p, theta)
    r = theta["Wo"] * Z - Y
    J = mp.matrix(len(r), len(columns))
    for c, column in enumerate(columns):
        for i, entry in enumerate(column):
            J[i, c] = entry
    gradient = [mp.fsum(column[i] * r[i] for i in range(len(r))) for column in columns]
    out = {
        "loss": mp.fsum(x**2 for x in r) / 2,
        "residual": mp.sqrt(mp.fsum(x**2 for x in r)),
        "gradient": mp.sqrt(mp.fsum(g**2 for g in gradient)),
        "Z_fro": mp.sqrt(mp.fsum(x**2 for x in Z)),
        "sigma_min_Z": min(mp.svd_r(Z, compute_uv=False)),
        "norm2_J": max(mp.svd_r(J, compute_uv=False)),
        "lambda_min_JJt": min(mp.eigsy(J * J.T, eigvals_only=True)),
    }
    for name, a in theta.items():
        out[f"norm2.{name}"] = max(mp.svd_r(a, compute_uv=False))
        own = [g for g, owner in zip(gradient, owners, strict=True) if owner == name]
        out[f"gradient.{name}"] = mp.sqrt(mp.fsum(g**2 for g in own))
    return out


@pytest.mark.parametrize("sam", [None, SAM], ids=["plain", "sam"])
def test_every_quantity_lies_inside_its_error_bar(sam: Any) -> None:
    extra = {} if sam is None else {"sam": sam}
    p = small(activation=MIX, iterations=2, **extra)
    with mp.workdps(50):
        truth = mp_reference(p)
        left = set(p.start.names) - set(truth)
        assert left <= {"equilibrium.residual", "equilibrium.error", "jacobian_norm"}
        for name, value in truth.items():
            got = p.start.measure(name)
            assert abs(got.value - value) <= got.error, name
            assert got.error <= 1e-10 * max(abs(value), mp.mpf(1)), name


@pytest.mark.parametrize("norm", [0.9, 1.0])
def test_the_certified_equilibrium_error_covers_the_truth(norm: float) -> None:
    """At norm 1 the map is only nonexpansive: the certificate is Newton-Kantorovich's."""
    data, theta = arrays(3, 2, 2, 1, 1, 2, 2, s=norm)
    p = problem(data, theta, alpha=0.7, activation="tanh", solver="implicit")
    solved = p.start.solved
    assert solved.existence is Existence.UNIQUE and solved.error < 1e-12
    with mp.workdps(50):
        names = {name: mp.matrix(a.tolist()) for name, a in theta.items()}
        for j in range(2):

            def rest(*z: mp.mpf, j: int = j) -> list[mp.mpf]:
                state = mp.matrix(z)
                for i in (1, 2):
                    pre = names[f"W{i}"] * state + names[f"U{i}"] * float(data["X"][0, j])
                    pre = pre + names[f"b{i}"]
                    active = pre.apply(mp.tanh)
                    a = mp.mpf(0.7)
                    state = a * (names[f"W{i}"].T * active) + (1 - a) * state
                return [state[k] - z[k] for k in range(2)]

            exact = mp.findroot(rest, [mp.mpf(x) for x in solved.Z[:, j]])
            off = mp.norm(exact - mp.matrix(solved.Z[:, j].tolist()))
            assert off <= solved.error


@pytest.mark.parametrize(("seed", "weight"), [(37, 1e6), (3, 1e-2)])
def test_the_certified_error_covers_an_ill_conditioned_prox(seed: int, weight: float) -> None:
    """Z = prox_R(T(Z)) in 50 digits, R = |A z - c|^2/2."""
    r = np.random.default_rng(seed)
    data, theta = arrays(seed, 2, 2, 1, 1, 1, 1, s=0.9)
    A, c = np.sqrt(weight) * r.normal(size=(2, 2)), r.normal(size=2)
    R = {"kind": "least-squares", "A": A.tolist(), "c": c.tolist()}
    p = problem(data, theta, alpha=0.7, activation="relu", solver="implicit", prox=R)
    with mp.workdps(50):
        W, U, b, X, M, shift = (
            mp.matrix(a.tolist())
            for a in (*(theta[n] for n in ("W1", "U1", "b1")), data["X"], A, c)
        )
        inverse, share = (mp.eye(2) + M.T * M) ** -1, mp.mpf(0.7)
        z = mp.matrix(p.start.Z.tolist())
        for _ in range(1200):
            active = (W * z + U * X + b).apply(lambda t: max(t, mp.mpf(0)))
            z = inverse * (share * (W.T * active) + (1 - share) * z + M.T * shift)
        off = mp.norm(z - mp.matrix(p.start.Z.tolist()))
        assert off <= p.start.Z_radius <= 1e-6 * (1 + mp.norm(z))


@pytest.mark.parametrize("activation", ["tanh", "relu", "hardtanh"])
@pytest.mark.parametrize("regularizer", ["output", {"kind": "distance", "center": [1e3, 1e3]}])
def test_sam_gradients_lie_inside_their_radii(activation: str, regularizer: Any) -> None:
    """The gradient by Wo and b1 in 50 digits, two outputs."""
    data, theta = arrays(5, 2, 2, 1, 2, 1, 2, s=3.0)
    sam = {"beta": 0.5, "gamma": 0.1, "regularizer": regularizer}
    p = problem(data, theta, alpha=0.7, activation=activation, iterations=3, sam=sam)
    with mp.workdps(50):
        exact = {name: mp.matrix(a.tolist()) for name, a in theta.items()}
        for name in ("Wo", "b1"):
            off = mp_slopes(p, exact, name, activation) - pack({name: p.start.gradient[name]})
            assert mp.sqrt(mp.fsum(x**2 for x in off)) <= p.start._gradient.radii[name]


def mp_slopes(p: Problem, theta: dict[str, mp.matrix], name: str, activation: str) -> np.ndarray:
    """Central differences of the loss of one layer with SAM, in the order of pack."""
    s = {
        "tanh": mp.tanh,
        "relu": lambda t: max(t, mp.mpf(0)),
        "hardtanh": lambda t: min(max(t, mp.mpf(-1)), mp.mpf(1)),
    }[activation]
    X, Y, Z0 = (mp.matrix(a.tolist()) for a in (p.model.X, p.model.Y, p.model.Z0))
    sam, a, ones = p.start.sam, mp.mpf(p.model.alpha), mp.ones(1, X.cols)

    def loss() -> mp.mpf:
        Z = Z0
        R = theta["Wo"] if sam.uses_output else mp.matrix(sam.R.A.tolist())
        for w in sam.weights:
            active = (theta["W1"] * Z + theta["U1"] * X + theta["b1"] * ones).apply(s)
            moved = a * (theta["W1"].T * active) + (1 - a) * Z
            pull = R.T * (R * Z - mp.matrix(sam.R.c.tolist()) * ones)
            pulled = (1 - mp.mpf(sam.gamma) * w.lambda_) * Z - mp.mpf(sam.gamma) * pull
            Z = mp.mpf(w.beta) * pulled + (1 - mp.mpf(w.beta)) * moved
        return mp.fsum(x**2 for x in theta["Wo"] * Z - Y) / 2

    matrix, h, out = theta[name], mp.mpf(10) ** -20, []
    for i in range(matrix.rows):
        for j in range(matrix.cols):
            kept, ends = matrix[i, j], []
            for sign in (1, -1):
                matrix[i, j] = kept + sign * h
                ends.append(loss())
            matrix[i, j] = kept
            out.append((ends[0] - ends[1]) / (2 * h))
    return np.array(out)


def scalar(w: float, c: float, **fields: Any) -> Problem:
    data = {"X": np.zeros((1, 1)), "Y": np.zeros((1, 1))}
    return problem(data, parameters([[[w]]], [[[0.0]]], [[c]], [[1.0]]), **fields)


@pytest.mark.parametrize(
    ("w", "c", "activation", "existence"),
    [
        (0.5, 1.0, "relu", Existence.UNIQUE),
        # On its kink.
        (0.9, 0.0, "relu", Existence.UNIQUE),
        (1.0, 0.5, "tanh", Existence.UNIQUE),
        (2.0, 0.0, "tanh", Existence.ISOLATED),
        # Expands a little: |s'| |w|^2 = 1.44.
        (1.2, 0.0, "tanh", Existence.ISOLATED),
        (1.0, 0.0, "relu", Existence.NOT_UNIQUE),
        (1.0, 0.0, "identity", Existence.NOT_UNIQUE),
        (1.0, 1.0, "identity", Existence.NONE_FOUND),
        (1.0, 1.0, "relu", Existence.NONE_FOUND),
        (1.0, 0.1, "softplus", Existence.NONE_FOUND),
        (1.5, 1.0, "relu", Existence.NONE_FOUND),
    ],
)  # fmt: skip
def test_what_is_known_of_the_equilibrium(
    w: float, c: float, activation: str, existence: Existence
) -> None:
    p = scalar(w, c, activation=activation, solver="implicit", Z0=[[1.0]])
    assert p.start.solved.existence is existence
    if existence in (Existence.NOT_UNIQUE, Existence.NONE_FOUND):
        with pytest.raises(NoEquilibrium, match=existence.value[:10]):
            p.start.measure("loss")
    else:
        assert p.start.measure("equilibrium.error").value < 1e-9


@pytest.mark.parametrize(("c", "zeros"), [(0.0, 1), (0.25, 0), (-0.25, 0)])
def test_units_on_their_kink_are_counted(c: float, zeros: int) -> None:
    kinks = scalar(0.5, c, activation="relu", iterations=1).start.kinks
    assert kinks is not None
    assert (kinks.zeros, kinks.above.tolist()) == (zeros, [c > 0])


def test_the_alpha_sweep_of_the_audit() -> None:
    """Spectral radius of dT/dz, |z^20 - z*|/|z*| and the shrinking by SAM (section 6.1)."""
    data, theta = arrays(41, 8, 8, 3, 1, 5, 6, s=0.9)
    radii, distances, shrunk = [], [], []
    sam = {"beta": 0.5, "lambda": 0.5, "gamma": 0.5, "rho": 0.3, "c": 0.2}
    for alpha in (0.01, 0.1, 0.4, 0.8, 1.0):
        star = problem(data, theta, alpha=alpha, solver="implicit").start
        jacobians = star.network.jacobians(star.Z)
        radii.append(np.abs(np.linalg.eigvals(jacobians)).max())
        plain = problem(data, theta, alpha=alpha, iterations=20).start.Z
        pulled = problem(data, theta, alpha=alpha, iterations=20, sam=sam).start.Z
        distances.append(np.linalg.norm(plain - star.Z) / np.linalg.norm(star.Z))
        shrunk.append(np.linalg.norm(pulled) / np.linalg.norm(plain))
    assert radii == pytest.approx([0.972, 0.748, 0.269, 0.036, 0.007], abs=1e-3)
    assert distances[:2] == pytest.approx([0.44, 6e-4], rel=0.1) and max(distances[2:]) < 1e-11
    assert shrunk == pytest.approx([0.317, 0.674, 0.840, 0.859, 0.860], abs=1e-3)


def test_the_regulariser_shrinks_the_features() -> None:
    """Table 1's trend at alpha = 0.8 (section 6.2): mean norms fall with the weight."""
    data, theta = arrays(41, 8, 8, 3, 1, 5, 6, s=0.9)

    def features(prox: Any) -> np.ndarray:
        extra = {} if prox is None else {"prox": prox}
        return problem(data, theta, alpha=0.8, solver="implicit", **extra).start.Z

    zeros, sums = [], []
    for weight in (0, 0.01, 0.15, 0.5, 1):
        Z = features({"kind": "l1", "weight": weight} if weight else None)
        zeros.append(int((Z == 0).sum()))
        sums.append(np.abs(Z).sum(axis=0).mean())
    assert zeros == [0, 2, 24, 45, 48]
    assert sums == pytest.approx([1.568, 1.488, 0.680, 0.102, 0], abs=1e-3)
    # lam |z|^2 is the squared distance with weight 2 lam.
    squares = [
        (features({"kind": "distance", "weight": 2 * lam} if lam else None) ** 2).sum(axis=0).mean()
        for lam in (0, 0.01, 0.15, 0.5, 1, 10)
    ]
    assert (np.diff(squares) < 0).all() and (np.diff(sums) < 0).all()


def test_deep_and_wide_share_an_equilibrium_without_a_skip_connection() -> None:
    """The equilibrium of one layer does not depend on alpha; that of several does."""
    data, theta = arrays(7, 3, 3, 2, 1, 1, 2)
    one = [problem(data, theta, alpha=a, solver="implicit").start.Z for a in (0.1, 1.0)]
    assert np.allclose(*one, atol=1e-13)


def test_permuting_samples_and_units_changes_nothing() -> None:
    data, theta = arrays(2, 3, 4, 2, 2, 2, 3)
    r = np.random.default_rng(0)
    samples, units, states = r.permutation(3), r.permutation(4), r.permutation(3)
    other: Params = {"Wo": theta["Wo"][:, states]}
    for i in (1, 2):
        other[f"W{i}"] = theta[f"W{i}"][units][:, states]
        other[f"U{i}"], other[f"b{i}"] = theta[f"U{i}"][units], theta[f"b{i}"][units]
    moved = {name: a[:, samples] for name, a in data.items()}
    a = problem(data, theta, alpha=0.4, iterations=3).start
    b = problem(moved, {name: other[name] for name in theta}, alpha=0.4, iterations=3).start
    for name in a.names:
        one, two = a.measure(name), b.measure(name)
        assert abs(one.value - two.value) <= one.error + two.error, name


def test_the_map_is_solved_without_its_start() -> None:
    data, theta = arrays(4, 3, 3, 2, 1, 2, 2)
    network = Network(0.5, problem(data, theta, iterations=1).model.s, data["X"], theta, 2)
    starts = [np.zeros((3, 2)), 50 * np.ones((3, 2))]
    a, b = (FixedPoint(network).solve(start) for start in starts)
    assert np.linalg.norm(a.Z - b.Z) <= a.error + b.error


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"iterations": None}, "iterations: missing; expected an integer >= 1, or"),
        ({"solver": "implicit"}, "iterations: an equilibrium has none; leave it out"),
        ({"iterations": None, "solver": "implicit", "sam": SAM}, "sam: SAM is an iteration"),
        ({"prox": "l1"}, "prox: applies to equilibria; expected solver: implicit"),
        ({"sam": {**SAM, "regularizer": "l1"}}, "sam.regularizer: 'l1' has no gradient"),
        ({"sam": {**SAM, "beta": 1.5}}, "sam.beta: 1.5 is out of range; expected a number >= 0"),
        ({"sam": {**SAM, "lambda": -1}}, "sam.lambda: -1 is out of range"),
        ({"sam": {**SAM, "gamma": 0}}, "sam.gamma: 0 is out of range; expected a number > 0"),
        ({"alpha": 0}, "alpha: 0 is out of range; expected a number > 0 and <= 1"),
        ({"alpha": 1.5}, "alpha: 1.5 is out of range"),
        ({"depth": 0}, "depth: 0 is out of range; expected an integer >= 1"),
        ({"iterations": 0}, "iterations: 0 is out of range; expected an integer >= 1"),
        ({"activation": {"kind": "mix", "k": 0}}, "activation.k: 0 is out of range"),
        ({"activation": "sigmoid"}, "activation: unknown kind 'sigmoid'"),
        ({"sam": {**SAM, "regularizer": {"kind": "distance", "center": [1]}}},
         "model.sam.regularizer.center: has shape (1,); expected the state width 2 on axis 0"),
        ({"sam": {**SAM, "regularizer": {"kind": "least-squares", "A": [[1, 2, 3]], "c": [1]}}},
         "model.sam.regularizer.A: has shape (1, 3); expected the state width 2 on axis 1"),
        ({"sam": {**SAM, "regularizer": {"kind": "least-squares", "A": [[1, 2]], "c": [1, 2]}}},
         "sam.regularizer.c: has shape (2,); expected one number for each row of A"),
        ({"iterations": None, "solver": "implicit", "prox": "output"},
         "prox: 'output' moves with the output weights"),
    ],
)  # fmt: skip
def test_bad_fields_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(Refusal) as caught:
        small(**{"iterations": 2, **fields})
    key, sentence = caught.value.problems[0]
    assert f"{key}: {sentence}".startswith(message)


def test_newton_and_kantorovich_ask_for_the_square_of_the_inverse() -> None:
    """One unit, T(z) = a w tanh(w z + c) + (1 - a) z: with beta = 1/(1 - T'), a residual r and
    bend = a w^3 sup |tanh''| there is a root within 2 beta r if beta^2 r bend <= 1/2."""
    a, w, c, z = 0.6, 0.97, 0.05, 0.1
    data = {"X": np.ones((1, 1)), "Y": np.zeros((1, 1))}
    theta = {"W1": [[w]], "U1": [[c]], "b1": [0.0], "Wo": [[1.0]]}
    theta = {name: np.array(x) for name, x in theta.items()}
    p = problem(data, theta, activation="tanh", solver="implicit", alpha=a)
    slope = a * w**2 * (1 - np.tanh(w * z + c) ** 2) + 1 - a
    beta, bend = 1 / (1 - slope), a * w**3 * 4 / (3 * np.sqrt(3))
    assert beta > 5
    edge, at = 1 / (2 * beta**2 * bend), np.array([[z]])
    inside = p.start.map._local_radius(at, 0.999 * edge)
    assert inside == pytest.approx(2 * beta * 0.999 * edge, rel=1e-6)
    assert p.start.map._local_radius(at, 1.001 * edge) == np.inf


@pytest.mark.parametrize("activation", ["tanh", "hardtanh"])
@pytest.mark.parametrize("seed", range(4))
def test_a_state_whose_squares_are_no_floats_is_off_by_no_more_than_told(
    activation: str, seed: int
) -> None:
    """Without inputs the equilibrium is 0, which Newton's method comes near to from elsewhere."""
    p = small(seed, activation=activation, solver="implicit")
    theta = {n: np.zeros_like(a) if n[0] in "Ub" else 0.5 * a for n, a in p.theta0.items()}
    memory = Memory()
    memory.state = np.random.default_rng(seed).normal(size=p.start.Z.shape)
    found = p.model.at(theta, memory).solved
    assert np.abs(found.Z).max() <= found.error


@pytest.mark.parametrize("sizes", [(0.5, 2.0, 1.5), (2.0, 0.5, 0.25), (1.5, 1.0, 3.0)])
def test_how_far_a_deep_network_bends(sizes: tuple[float, float, float]) -> None:
    """d^2 T/dz^2 of three layers of one unit, z -> w tanh(w z + c): with slopes of at most w^2 and
    second derivatives of at most w^3 sup |tanh''|, and no smaller than what differences show."""
    w = np.array(sizes)
    c = np.array([0.3, -0.2, 0.1])
    data = {"X": np.zeros((1, 1)), "Y": np.zeros((1, 1))}
    theta = parameters([[[x]] for x in w], [[[0.0]] for _ in w], [[x] for x in c], [[1.0]])
    network = problem(data, theta, iterations=1, depth=3, alpha=1.0).start.network
    slope, bent = w**2, w**3 * 4 / (3 * np.sqrt(3))
    chain = slope[1] * slope[2] * bent[0] + slope[2] * bent[1] * slope[0] ** 2
    bound = chain + bent[2] * (slope[0] * slope[1]) ** 2
    assert network.bend == pytest.approx(bound, rel=1e-9)
    z = np.linspace(-3, 3, 2001)
    first = z
    for each, shift in zip(w, c, strict=True):
        first = each * np.tanh(each * first + shift)
    seen = np.abs(np.diff(first, 2)).max() / (z[1] - z[0]) ** 2
    assert 0.05 * bound < seen <= network.bend


@pytest.mark.parametrize("activation", ["identity", "tanh"])
def test_how_far_a_map_with_a_last_proximal_layer_bends(activation: str) -> None:
    """w^2 = 1/4 of the slopes of the layer, which enter twice; and no smaller than what is seen."""
    prox = {"kind": "euclidean", "weight": 0.2}
    data = {"X": np.zeros((1, 1)), "Y": np.zeros((1, 1))}
    theta = parameters([0.5 * np.eye(2)], [np.zeros((2, 1))], [[0.3, 0.0]], [[1.0, 0.0]])
    p = problem(data, theta, activation=activation, solver="implicit", prox=prox, alpha=1.0)
    found, bent = p.start.map, 0.125 * 4 / (3 * np.sqrt(3)) * (activation == "tanh")
    assert found.lipschitz == pytest.approx(0.25, rel=1e-9)
    assert found.bend == pytest.approx(bent + found.prox.bend / 16, rel=1e-9)
    Z = np.array([[0.9], [0.1]])
    ways = 1e-6 * np.random.default_rng(0).normal(size=(20, 2, 1))
    for way in ways:
        turned = np.linalg.norm((found.jacobians(Z + way) - found.jacobians(Z))[0], 2)
        assert turned <= found.bend * np.linalg.norm(way) * (1 + 1e-6)


@pytest.mark.parametrize("activation", ["relu", "tanh", "softplus"])
def test_phi_is_an_integral_of_the_activation(activation: str) -> None:
    """|z|^2/2 - sum S(W z + c) with S' = s, S(0) = 0, by quadrature."""
    p = small(depth=1, activation=activation, solver="implicit", alpha=1.0)
    s = {
        "relu": lambda t: np.maximum(t, 0.0),
        "tanh": np.tanh,
        "softplus": lambda t: np.logaddexp(0.0, t),
    }[activation]
    found, Z = p.start.measure("phi"), p.start.Z
    A = p.theta0["W1"] @ Z + p.theta0["U1"] @ p.model.X + p.theta0["b1"][:, None]
    nodes, weights = np.polynomial.legendre.leggauss(60)
    S = A / 2 * (s(A[..., None] * (nodes + 1) / 2) @ weights)
    assert found.value == pytest.approx((Z**2).sum(axis=0) / 2 - S.sum(axis=0), rel=1e-10)


def test_the_rank_that_the_widths_allow() -> None:
    """A sweep ends in W_L^T s(.) where a = 1; for a < 1 it keeps a part of what each layer adds."""
    r = np.random.default_rng(3)
    theta = {"W1": r.normal(size=(2, 6)), "W2": r.normal(size=(3, 6)), "Wo": np.ones((1, 6))}
    for i, width in ((1, 2), (2, 3)):
        theta |= {f"U{i}": r.normal(size=(width, 1)), f"b{i}": r.normal(size=width)}
    data = {"X": r.normal(size=(1, 6)), "Y": r.normal(size=(1, 6))}
    for alpha, rank in ((1.0, 3), (0.5, 5)):
        state = problem(data, theta, alpha=alpha, iterations=3).start
        assert state._inner_rank == rank == np.linalg.matrix_rank(state.Z, tol=1e-9)
