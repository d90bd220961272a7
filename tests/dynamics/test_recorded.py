"""Runs that were made elsewhere: are their steps gradient steps, and what is judged of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.dynamics import read_train
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.models.problem import Problem
from deqcheck.records.verdict import Status
from tests import make_recorded_arrays

Builder = Callable[..., Problem]
Arrays = dict[str, np.ndarray]
GAMMA, STEP = 0.6, 2e-3


def descent(p: Problem, step: Any, steps: int, dtype: type = np.float64) -> Arrays:
    """A run of the DELM in plain NumPy, all of it in one precision; `step` may be a list."""
    Phi, Y = (a.astype(dtype) for a in (p.model.outer.Phi, p.model.outer.Y))
    A, B = (p.theta0[name].astype(dtype) for name in "AB")
    states = [(A, B)]
    for h in np.broadcast_to(np.asarray(step, dtype), steps):
        S = np.exp(A) / np.exp(A).sum(axis=0)
        inverse = np.linalg.inv(np.eye(len(A), dtype=dtype) - dtype(GAMMA) * S)
        Z = B @ inverse
        G = 2 * (Z @ Phi - Y) @ Phi.T @ inverse.T
        P = Z.T @ G
        A = A - h * dtype(GAMMA) * S * (P - (S * P).sum(axis=0))
        B = B - h * G
        states.append((A, B))
    found = {name: np.stack([state[i] for state in states]) for i, name in enumerate("AB")}
    assert all(a.dtype == dtype for a in found.values())
    return {**found, "step": np.asarray(step)}


@pytest.fixture
def saved(tmp_path: Path) -> Callable[[Problem, Arrays], Problem]:
    """The problem, trained as the arrays were."""

    def save(p: Problem, arrays: Arrays) -> Problem:
        np.savez(tmp_path / "run.npz", **arrays)
        start = {name: arrays[name][0].astype(np.float64) for name in p.theta0}
        at = Problem(p.model, start, record_points=p.record_points)
        return at.trained_by(read_train(recorded(tmp_path)))

    return save


def recorded(folder: Path) -> dict[str, str]:
    return {"kind": "recorded", "path": str(folder / "run.npz")}


Saved = Callable[[Problem, Arrays], Problem]


def test_descent_is_recognised_and_judged_as_such(delm: Builder, saved: Saved) -> None:
    p = delm(3, 6, 1, gamma=GAMMA, seed=2)
    own = GradientDescent(step=STEP, steps=25).run(p)
    foreign = saved(p, descent(p, STEP, 25))
    run = foreign.train.run(foreign)
    assert run.verified is not None and run.verified.holds and not run.notes
    assert (np.abs(run.gap.value - own.gap.value) <= run.gap.error + own.gap.error).all()
    assert (run.gap.error <= 1e-9 * run.gap.value).all()
    assert np.array_equal(run.t, STEP * np.arange(26)) or np.allclose(run.t, own.t)
    found = dq.judge("kawaguchi2021/gd", foreign)
    train = {"kind": "gd", "step": STEP, "steps": 25}
    assert found.outcome == dq.judge("kawaguchi2021/gd", p, train=train).outcome == "confirmed"


# Harmless steps, and some at which errors grow: in float32 they soon decide the run.
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("step", [2e-3, 2e-2])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_bars_of_a_run_in_float32_hold_that_in_exact_arithmetic(
    delm: Builder, saved: Saved, step: float, seed: int
) -> None:
    p = delm(3, 5, 1, gamma=GAMMA, seed=seed)
    arrays = descent(p, step, 60, np.float32)
    # Two of them leave the range of floats.
    last = min(int(np.isfinite(arrays[n]).all(axis=(1, 2)).argmin() or 61) for n in "AB")
    foreign = saved(p, {**arrays, **{name: arrays[name][:last] for name in "AB"}})
    run = foreign.train.run(foreign)
    assert run.verified is not None and run.verified.holds
    assert run.notes[-1] == "the states are float32: each number is known to 6e-8 of its size"
    exact = GradientDescent(step=step, steps=last - 1).run(foreign)
    # Either may come out of the range of floats before the other.
    both = slice(0, min(len(run.k), len(exact.k)))
    bars = run.gap.error[both] + exact.gap.error[both]
    assert (np.abs(run.gap.value[both] - exact.gap.value[both]) <= bars).all()
    assert run.gap.error[1] > 1e-9 * run.gap.value[1]


def test_a_step_that_is_none_is_found_with_its_size(delm: Builder, saved: Saved) -> None:
    p = delm(3, 6, 1, gamma=GAMMA, seed=2)
    arrays = descent(p, STEP, 20)
    arrays["B"][8:] += 1e-9
    foreign = saved(p, arrays)
    run = foreign.train.run(foreign)
    assert run.verified is not None
    wrong = run.verified.defect > run.verified.tolerance
    assert run.verified.k[wrong][0] == 8
    off = 1e-9 * np.sqrt(arrays["B"][0].size)
    assert run.verified.defect[7] == pytest.approx(off, rel=1e-3)
    assert "first that to k = 8, by 1.73e-09 where float64 allows" in run.notes[-1]
    # The states are what they are: no error but that of evaluating the loss there.
    assert np.array_equal(run.gap.error, run.local_error)
    found = dq.judge("kawaguchi2021/gd", foreign)
    assert found.outcome == "not applicable" and found.conclusions
    (steps,) = (c for c in found.hypotheses if c.name == "each step is a gradient step")
    assert steps.curve is not None and steps.curve.first_violation.k == 8


def test_the_tolerance_is_no_wider_than_the_precision(delm: Builder, saved: Saved) -> None:
    """A gradient that is wrong in its tenth digit (float64) or fifth (float32) is noticed."""
    p = delm(3, 6, 1, gamma=GAMMA, seed=2)
    for dtype, error in ((np.float64, 1e-10), (np.float32, 1e-2)):
        arrays = descent(p, STEP, 3, dtype)
        foreign = saved(p, {**arrays, "step": np.asarray(STEP * (1 + error))})
        assert not foreign.train.run(foreign).verified.holds
        foreign = saved(p, {**arrays, "step": np.asarray(STEP * (1 + 1e-6 * error))})
        assert foreign.train.run(foreign).verified.holds


def test_steps_of_several_lengths_are_compared_and_no_theorem_applies(
    delm: Builder, saved: Saved
) -> None:
    p = delm(3, 6, 1, gamma=GAMMA, seed=2)
    lengths = STEP * np.array([1, 2, 1, 3, 1])
    foreign = saved(p, descent(p, lengths, 5))
    run = foreign.train.run(foreign)
    assert run.verified is not None and run.verified.holds
    assert run.t.tolist() == pytest.approx([0, *np.cumsum(lengths)])
    found = dq.judge("kawaguchi2021/gd", foreign)
    wrong = [c.name for c in found.hypotheses if c.decision == "violated"]
    assert found.outcome == "not applicable" and wrong[0] == "a constant step"


def test_what_happened_between_states_is_not_checked(delm: Builder, saved: Saved) -> None:
    p = delm(3, 6, 1, gamma=GAMMA, seed=2)
    arrays = descent(p, STEP, 20)
    kept = np.r_[0:5, 5:21:5]
    few = {name: arrays[name][kept] for name in "AB"}
    foreign = saved(p, {**few, "step": arrays["step"], "k": kept})
    run = foreign.train.run(foreign)
    assert run.k.tolist() == kept.tolist() and run.t == pytest.approx(STEP * kept)
    assert run.verified is not None and run.verified.k.tolist() == [1, 2, 3, 4, 5]
    found = dq.judge("kawaguchi2021/gd", foreign)
    assert found.outcome == "not checked" and not found.conclusions
    assert "first between k = 5 and k = 10" in found.unchecked[0]


def test_a_run_without_equilibrium_ends_there(relu_run: Callable[[float], Problem]) -> None:
    p = relu_run(3.0)
    run = p.train.run(p)
    assert run.status is Status.NO_EQUILIBRIUM and run.k.tolist() == [0, 1]
    assert dq.judge("ling2022/thm1", p).outcome in ("undecided", "not applicable")
    assert "judged at 2 states, 0 <= k <= 1" in dq.judge("ling2022/lem2", p).notes[-1]


@pytest.fixture
def relu_run(tmp_path: Path) -> Callable[[float], Problem]:
    """Three states, of which the last has a W of this norm."""

    def make(norm: float) -> Problem:
        start = make_recorded_arrays.START
        W = np.stack([start["W"], start["W"], norm * np.ones((2, 2)) / 2])
        rest = {name: np.stack(3 * [start[name]]) for name in ("U", "a")}
        np.savez(tmp_path / "run.npz", W=W, **rest, step=np.array(1e-5))
        data = {"X": make_recorded_arrays.X, "y": make_recorded_arrays.y}
        return dq.problem("relu-deq", data, start, train=recorded(tmp_path))

    return make


class Small(dq.Statement[Any, Any]):
    """W is small."""

    id, title, cite = "doe2031/lem1", "W is small", dq.Cite("Doe 2031", "Lemma 1")
    models, dynamics = ("relu-deq",), ("static",)
    small = dq.Check("W is small", "norm2_W <= 1/2", "(1)")

    def claims(self, p: Any, state: Any) -> Any:
        yield self.small(norm2_W=state.measure("norm2.W"))


@pytest.mark.parametrize(("norm", "outcome"), [(0.4, "confirmed"), (0.6, "refuted")])
def test_a_statement_about_any_parameters_is_judged_at_every_state(
    relu_run: Callable[[float], Problem], norm: float, outcome: str
) -> None:
    found = dq.judge(Small, relu_run(norm))
    assert found.outcome == outcome
    tally = {
        "confirmed": "confirmed at 3",
        "refuted": "confirmed at 2, refuted at 1, shown is k = 2",
    }
    assert found.notes[-1] == f"judged at 3 states, 0 <= k <= 2: {tally[outcome]}"
    assert found.conclusions[0].left.value == pytest.approx(norm if norm > 0.5 else np.sqrt(2) / 16)


def test_the_shipped_runs_are_those_of_their_script() -> None:
    for name, content in make_recorded_arrays.arrays().items():
        with np.load(make_recorded_arrays.FOLDER / f"{name}.npz") as shipped:
            assert set(shipped.files) == set(content)
            for key, array in content.items():
                assert shipped[key].dtype == array.dtype
                near = 1e-5 if array.dtype == np.float32 else 1e-13
                assert np.allclose(shipped[key], array, rtol=near, atol=near), (name, key)
