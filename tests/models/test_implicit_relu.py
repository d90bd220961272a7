"""The ReLU implicit network against its slow twins and 50-digit arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest

from deqcheck import judging
from deqcheck.case import build_problem
from deqcheck.case.errors import CaseError
from deqcheck.case.read import read_text
from deqcheck.dynamics.flow import GradientFlow
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.gradcheck import gradcheck
from deqcheck.judging import Question
from deqcheck.linalg.wide import WIDE
from deqcheck.models.implicit_relu import iterates, oracle, spectrum
from deqcheck.models.implicit_relu.iterates import CAP, Iterates
from deqcheck.models.memory import Memory
from deqcheck.models.problem import NotCertified, Problem
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Outcome, Status

Builder = Callable[..., Problem]
SHAPES = [(1, 1, 1), (1, 3, 2), (3, 2, 5), (4, 6, 3), (3, 4, 8)]


@pytest.mark.parametrize(("N", "d", "m"), SHAPES)
@pytest.mark.parametrize("q", [0.1, 0.8, 0.99])
def test_gradients_agree_three_ways(implicit: Builder, N: int, d: int, m: int, q: float) -> None:
    for agreement in gradcheck(implicit(N, d, m, q)):
        assert agreement.agrees, agreement


def test_gradcheck_catches_a_wrong_gradient(
    implicit: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = implicit()
    right = p.model.objective

    def wrong(theta: dict[str, np.ndarray]) -> object:
        o = right(theta)
        return o._replace(gradient={**o.gradient, "A": o.gradient["A"] * (1 + 1e-5)})

    monkeypatch.setattr(p.model, "objective", wrong)
    assert [a.agrees for a in gradcheck(p)] == [True, False, True]


def exact_equilibrium(p: Problem) -> mp.matrix:
    """Z (N x m) in 50 digits: Newton on the computed pattern, checked to be a fixed point."""
    s = p.start
    N, m, gamma = s.N, s.m, mp.mpf(s.gamma)
    XW = mp.matrix(s.X.tolist()) * mp.matrix(s.W.tolist())
    A = mp.matrix(s.A.tolist())
    Z = mp.zeros(N, m)
    for i in range(N):
        on = [j for j in range(m) if s.equilibrium.mask[j, i]]
        phi = mp.matrix([max(XW[i, j], mp.mpf(0)) for j in range(m)])
        if on:
            block = mp.matrix(len(on), len(on))
            for k, j in enumerate(on):
                for h, g in enumerate(on):
                    block[k, h] = (k == h) - gamma * A[g, j]
            z = mp.lu_solve(block, mp.matrix([phi[j] for j in on]))
            for k, j in enumerate(on):
                Z[i, j] = z[k]
        for j in range(m):
            u = gamma * sum(Z[i, g] * A[g, j] for g in range(m)) + phi[j]
            assert abs(max(u, mp.mpf(0)) - Z[i, j]) < mp.mpf(10) ** -40
    return Z


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("q", [0.3, 0.9, 0.999])
def test_fifty_digits_lie_inside_the_error_bars(implicit: Builder, seed: int, q: float) -> None:
    with mp.workdps(50):
        p = implicit(3, 3, 5, q, seed)
        Z = exact_equilibrium(p)
        s = p.start
        away = mp.sqrt(sum((Z[i, j] - mp.mpf(s.Z[j, i])) ** 2 for i in range(3) for j in range(5)))
        assert away <= s.equilibrium.error < 1e-9
        r = Z * mp.matrix(s.b.tolist()) - mp.matrix(s.y.tolist())
        truth = {
            "loss": sum(x**2 for x in r) / 2,
            "residual": mp.sqrt(sum(x**2 for x in r)),
            "sigma_min_Z": min(mp.svd_r(Z, compute_uv=False)),
            "gamma0": mp.mpf(s.gamma) * max(mp.svd_r(mp.matrix(s.A.tolist()), compute_uv=False)),
            "gradient.b": mp.sqrt(sum(x**2 for x in Z.T * r)),
        }
        for name, value in truth.items():
            found = s.measure(name)
            # The 50 digits round, too: some of these are exactly 0.
            assert abs(value - mp.mpf(found.value)) <= found.error + mp.mpf(10) ** -45, name


@pytest.mark.parametrize(("N", "d", "m"), SHAPES)
def test_structured_forms_agree_with_the_dense_ones(
    implicit: Builder, N: int, d: int, m: int
) -> None:
    for seed in range(4):
        s = implicit(N, d, m, seed=seed).start
        dense = oracle.dense(s)
        H, radius = s.H_with_radius
        assert np.linalg.norm(dense.H - H) <= 100 * radius
        M = s.gamma * np.einsum("ij,ik->ijk", s.Z.T, s.P).reshape(N, -1)
        Pi = np.einsum("ij,ik->ijk", s.X, s.on * s.P).reshape(N, -1)
        # kron orders the columns by unit first.
        swap = np.arange(m * m).reshape(m, m).T.ravel()
        assert np.allclose(M[:, swap], dense.M, atol=1e-13)
        assert np.allclose(Pi[:, np.arange(d * m).reshape(d, m).T.ravel()], dense.Pi, atol=1e-13)
        sigma = np.linalg.svd(dense.Q, compute_uv=False)[-1]
        found = s.measure("sigma_min_Q")
        assert abs(found.value - sigma) <= found.error + 1e-14 * N * m


def test_a_costly_spectrum_is_not_told_unasked(
    implicit: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = implicit(8, 4, 6).start
    every = s.names
    assert "sigma_min_Q" in every
    monkeypatch.setattr(spectrum, "CUBES", 8 * 6**3 - 1)
    assert s.names == tuple(name for name in every if name != "sigma_min_Q")
    assert s.measure("sigma_min_Q").value > 0


def test_an_unaffordable_spectrum_is_bracketed(
    implicit: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = implicit(8, 4, 6).start
    exact = s.measure("sigma_min_Q").value
    monkeypatch.setattr(spectrum, "BUDGET", 0.0)
    bracket = s.measure("sigma_min_Q")
    assert bracket.low <= exact <= bracket.high and bracket.error > 0.01
    # From 1 - gamma |A| to the smallest singular value of the first block.
    gamma, A = s.gamma, s.theta["A"]
    D = np.unique(s.Z > 0, axis=1)[:, 0]
    first = np.linalg.svd(np.eye(6) - gamma * D[:, None] * A.T, compute_uv=False)[-1]
    ends = (1 - gamma * np.linalg.norm(A, 2), first)
    assert (bracket.low, bracket.high) == pytest.approx(ends, rel=1e-12)


def test_a_bound_that_does_not_tell_is_not_believed(implicit: Builder) -> None:
    """From |A| = 0.9/gamma one entry moves by 0.2/gamma: |A| stays, Weyl's bound is above 1."""
    m, memory = WIDE, Memory()
    p = implicit(2, 3, m, gamma=0.5, A=1.8 * np.eye(m))
    first = p.model.at(p.theta0, memory)
    A = p.theta0["A"].copy()
    A[0, 0] = 1.4
    then, alone = (p.model.at({**p.theta0, "A": A}, known) for known in (memory, None))
    assert first.equilibrium.error < 1e-9
    assert np.linalg.norm(then.Z - alone.Z) <= then.equilibrium.error + alone.equilibrium.error


def test_sweeps_are_counted_up_to_the_cap_and_not_beyond(
    implicit: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first l with |Z^(l+1) - Z^l| <= 1/100, in plain sweeps."""
    s = implicit(q=0.8).start
    last, Z, wanted = np.zeros_like(s.Phi), s.Phi, 1
    while np.linalg.norm(Z - last) > 0.01:
        last, Z, wanted = Z, np.maximum(s.gamma * Z @ s.A + s.Phi, 0.0), wanted + 1
    for cap, found in ((wanted, wanted), (wanted - 1, None)):
        monkeypatch.setattr(iterates, "CAP", cap)
        assert Iterates(s).count() == found


def test_a_count_of_sweeps_that_is_not_certain_is_any(
    implicit: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Iterates, "count", lambda *_: None)
    found = implicit().start.measure("sweeps")
    assert (found.low, found.high) == (1, CAP)


@pytest.mark.parametrize(
    ("a", "real"), [([[0.0, -3.0], [3.0, 1.0]], 0.5), ([[-5.0, 0.0], [0.0, 1.0]], 1.0)]
)
def test_the_largest_real_part_is_no_modulus(a: list[list[float]], real: float) -> None:
    """Of (1 +- i sqrt 35)/2, and of -5 and 1."""
    found = spectrum.largest_real_part(np.array(a))
    assert abs(found.value - real) <= found.error + 1e-15 and found.error < 1e-12


@pytest.mark.parametrize("q", [0.99, 1e-6])
def test_every_sweep_rounds_at_the_size_it_has_by_then(implicit: Builder, q: float) -> None:
    """With gamma |A| = 0.99 iterates grow far beyond Phi, and m products lose half an eps each;
    with next to nothing Phi is added all the same."""
    s = implicit(X=np.ones((3, 4)), W=np.ones((4, 6)), A=np.full((6, 6), q / 6), gamma=1.0).start
    factor, eps = s.gamma0.high, np.finfo(float).eps
    before, radius_before = s.Phi, s.Phi_radius
    for sweep, Z, radius in Iterates(s)._sweeps():
        if sweep > 1:
            own = radius - factor * radius_before - s.Phi_radius
            assert own >= 3 * eps * np.linalg.norm(s.A) * np.linalg.norm(before)
            assert own >= eps / 2 * np.linalg.norm(s.Phi)
        before, radius_before = Z, radius
    assert q < 0.5 or np.linalg.norm(before) > 50 * np.linalg.norm(s.Phi)


@pytest.mark.parametrize("names", ["W", "A", "b", "WAb"])
def test_a_tangent_is_a_derivative_and_known_to_many_digits(implicit: Builder, names: str) -> None:
    p, h = implicit(), 1e-6
    r = np.random.default_rng(5)
    d = {name: r.normal(size=p.theta0[name].shape) for name in names}
    ends = [
        p.model.at({n: a + side * d.get(n, 0.0) for n, a in p.theta0.items()}) for side in (h, -h)
    ]
    dZ, Z_off = p.start.tangent_of_Z(d)
    moved, off = p.start.tangent(d)
    outputs = [each.Z.T @ each.b for each in ends]
    assert dZ == pytest.approx((ends[0].Z - ends[1].Z) / (2 * h), abs=1e-6)
    assert moved == pytest.approx((outputs[0] - outputs[1]) / (2 * h), abs=1e-6)
    assert Z_off <= 1e-11 and off <= 1e-11
    assert off > 0 and (Z_off > 0) == (names != "b")


# The second unit hears x W = 0 and the first unit, x W < 0 alone, or x W = 0 alone.
@pytest.mark.parametrize(("W", "A", "zeros"), [(0.0, 1.0, 1), (-1.0, 0.0, 1), (0.0, 0.0, 2)])
def test_zeros_of_both_layers_are_counted(
    implicit: Builder, W: float, A: float, zeros: int
) -> None:
    s = implicit(
        gamma=0.5, X=[[1.0]], y=[1.0], W=[[1.0, W]], A=[[0.0, A], [0.0, 0.0]], b=[1.0, 1.0]
    ).start
    assert s.kinks.zeros == zeros
    assert (s.kink_count.value, s.kink_count.error) == (zeros, 0)


def test_a_real_part_lies_between_its_moved_ends_and_the_symmetric_part() -> None:
    """Of a matrix that is far from normal, by Bauer and Fike."""
    a = np.array([[1.0, 1e6], [0.0, -1.0]])
    radius, found = spectrum.eigenvalue_radius(a), spectrum.largest_real_part(a)
    _, V = np.linalg.eig(a)
    rounding = 8 * np.finfo(float).eps * np.linalg.norm(a)
    assert radius == pytest.approx(np.linalg.cond(V) * rounding, rel=1e-6)
    assert radius + spectrum.eigenvalue_radius(a, 1.0) == pytest.approx(
        2 * radius + np.linalg.cond(V), rel=1e-6
    )
    assert (found.low, found.high) == pytest.approx((1 - radius, 1 + radius), abs=1e-9)


def test_alpha0_is_zero_with_fewer_units_than_samples(implicit: Builder) -> None:
    s = implicit(5, 6, 4).start
    alpha0 = s.measure("sigma_min_Z")
    assert (alpha0.value, alpha0.error) == (0.0, 0.0)


def test_a_map_that_need_not_contract_is_not_iterated(implicit: Builder) -> None:
    p = implicit(q=1.0)
    with pytest.raises(NotCertified, match="is not below 1"):
        p.start.measure("loss")
    with pytest.raises(NotCertified, match="is not below 1"):
        assert implicit(q=1.5).start.system
    report = judging.run(implicit(q=1.5))
    assert report.status is Status.NOT_CERTIFIED and "gamma |A| = 1.5" in report.notes[0]
    verdicts = {v.id: v.outcome for v in report.verdicts}
    assert verdicts["gao2022/thm4.2"] is verdicts["gao2022/lem3.1"] is Outcome.NOT_APPLICABLE
    assert Outcome.CONFIRMED not in verdicts.values()


IDENTITY_START = {"W": [[1.0, -1.0]], "A": np.eye(2), "X": [[1.0]], "y": [1.0], "b": [0.0, 1.0]}


def short_flow(p: Problem) -> Trajectory:
    return GradientFlow(horizon=0.1, rtol=1e-6).run(Problem(p.model, p.theta0, record_points=4))


def test_kinks_are_counted_and_a_flow_from_them_may_fork(implicit: Builder) -> None:
    """Off, the second unit stays on its kink; on, b_2 > 0 lifts it: both are flows."""
    p = implicit(gamma=0.5, **IDENTITY_START)
    assert p.start.measure("kink_count").value == 1
    run = short_flow(p)
    assert run.status is Status.COMPLETED and [e.kind for e in run.events] == ["fork"]
    descent = implicit(gamma=0.5, train=GradientDescent(step=0.1, steps=5), **IDENTITY_START)
    assert judging.run(descent, Question(("gao2022/thm4.4",))).status is Status.COMPLETED


def test_a_kink_on_which_nothing_pulls_is_no_event(implicit: Builder) -> None:
    """With b = 0 the second unit is not heard, whatever its slope: z_2 = 0 and b_2 = 0 stay."""
    run = short_flow(implicit(gamma=0.5, **{**IDENTITY_START, "b": [0.0, 0.0]}))
    assert run.status is Status.COMPLETED and not run.events
    assert run.final["b"][1] == 0 and run.final["b"][0] > 0.1


def test_zeros_of_a_dead_sample_are_no_kinks(implicit: Builder) -> None:
    """The first sample activates nothing, so z = 0 and U = 0 whatever A does."""
    arrays = {"X": [[-1.0, -1.0], [1.0, 1.0]], "W": [[1.0, 2.0], [1.0, 1.0]], "y": [1.0, 1.0]}
    p = implicit(2, 2, 2, **arrays)
    assert (p.start.measure("kink_count").value, p.start.kinks.zeros) == (2, 0)
    assert all(agreement.agrees for agreement in gradcheck(p))


def test_pattern_changes_along_a_flow_are_told(implicit: Builder) -> None:
    p = implicit(3, 3, 5, q=0.5, train=GradientFlow(horizon=0.5, rtol=1e-6))
    short = Problem(p.model, p.theta0, p.train, record_points=20)
    report = judging.run(short, Question(("gao2022/thm4.2",)))
    assert any("the flow crosses" in note for note in report.notes)


def test_one_sided_slopes_at_a_kink(implicit: Builder) -> None:
    """dL/dA_12 is -2 from the right and 0 from the left."""
    p = implicit(gamma=0.5, **IDENTITY_START)

    def loss(h: float) -> float:
        A = np.array([[1.0, h], [0.0, 1.0]])
        return float(p.model.objective({**p.theta0, "A": A}).gap)

    assert (loss(1e-6) - loss(0)) / 1e-6 == pytest.approx(-2, rel=1e-4)
    assert loss(-1e-6) == loss(0)


def test_lambda_star_against_sampling_and_a_known_value(implicit: Builder) -> None:
    X = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    known = implicit(4, 2, 3, X=X).start.measure("lambda_star_G")
    assert known.value == pytest.approx(0.18169, abs=1e-5)
    p = implicit(3, 4, 5)
    Phi = np.maximum(p.model.X @ np.random.default_rng(1).normal(size=(4, 400_000)), 0)
    sampled = np.linalg.eigvalsh(Phi @ Phi.T / 400_000)[0]
    assert p.start.measure("lambda_star_G").value == pytest.approx(sampled, abs=0.02)
    zero = implicit(2, 2, 3, X=[[1.0, 2.0], [0.0, 0.0]]).start.measure("lambda_star_G")
    assert (zero.value, zero.error) == (0.0, 0.0)


def test_quantities_do_not_depend_on_the_order_of_samples_and_units(implicit: Builder) -> None:
    p = implicit(4, 3, 6)
    r = np.random.default_rng(1)
    samples, units = r.permutation(4), r.permutation(6)
    q = implicit(
        4, 3, 6,
        X=p.model.X[samples], y=p.model.y[samples], W=p.theta0["W"][:, units],
        A=p.theta0["A"][np.ix_(units, units)], b=p.theta0["b"][units],
    )  # fmt: skip
    for name in set(p.start.names) - {"equilibrium.error", "equilibrium.residual"}:
        one, other = p.start.measure(name), q.start.measure(name)
        assert abs(one.value - other.value) <= one.error + other.error, name


CASE = """
deqcheck: 1
data: {kind: values, X: [[1, 0], [0, 1]], y: [1, -1]}
model: {kind: implicit-relu, gamma: 0.1, width: 2}
init: {kind: each, W: gaussian, A: identity, b: zero}
"""


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("model.gamma=0", "model.gamma: 0 is out of range; expected a number > 0"),
        ("model.width=0", "model.width: 0 is out of range; expected an integer >= 1"),
        ("data.X=[[0, 0], [0, 0]]", "every sample is zero (X = 0); expected a non-zero X"),
        ("data.y=[1, 2, 3]", "y has shape (3,); expected (N,) = (2,)"),
        ("init.W={kind: values, W: [[1, 2, 3], [4, 5, 6]]}", "W has shape (2, 3); expected (d, m)"),
        (
            "data={kind: gaussian, n: 3, dim: 2, target: {kind: gaussian, outputs: 2}}",
            "2 outputs for each sample; the model has one",
        ),
    ],
)
def test_bad_input_gets_its_sentence(override: str, sentence: str) -> None:
    with pytest.raises(CaseError) as error:
        build_problem(read_text(CASE, "case", Path(), [override]))
    assert sentence in str(error.value)


def test_the_width_may_come_from_the_arrays() -> None:
    A = [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
    given = f"init={{kind: values, W: [[1, 2, 3], [4, 5, 6]], A: {A}, b: [0, 0, 0]}}"
    p = build_problem(read_text(CASE.replace(", width: 2", ""), "case", Path(), [given]))
    assert p.theta0["b"].shape == (3,)
