"""Descents advanced together: what is recorded of each is, within the error bars, what its own run
records step by step, and to the last digit the same whoever is beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from side import alike, step_by_step

from deqcheck.dynamics import recorder, together
from deqcheck.dynamics.flow import GradientFlow
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.dynamics.together import run_one, run_together
from deqcheck.models.problem import Params, Problem
from deqcheck.models.relu_deq.model import ReluDeqModel
from deqcheck.records.measured import Measured
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Status

EVERY = (
    "loss",
    "residual",
    "gradient",
    "gradient.W",
    "gradient.U",
    "gradient.a",
    "norm2.W",
    "norm2.U",
    "norm2.a",
    "sigma_min_Z",
    "lambda_0",
    "lambda_min_H",
)


# Seeds of which every sample has a unit, and no kink is near.
PLAIN = (1, 3, 4, 5, 6, 7, 9)


def problem(seed: int, m: int = 6, n: int = 3, d: int = 2, **train: Any) -> Problem:
    r = np.random.default_rng(seed)
    W = r.normal(size=(m, m))
    theta = {
        "W": 0.6 * W / np.linalg.norm(W, 2),
        "U": r.normal(size=(m, d)),
        "a": r.normal(size=m),
    }
    model = ReluDeqModel(np.asfortranarray(r.normal(size=(d, n))), r.normal(size=n))
    how = {"step": 1e-3 * (1 + seed % 3), "steps": 12, **train}
    return Problem(model, theta, train=GradientDescent(**how), seed=seed)


def changed(p: Problem, **theta: np.ndarray) -> Problem:
    return replace(p, theta0={**p.theta0, **theta})


def numbers(run: Trajectory) -> dict[str, Any]:
    """All that a run tells, to the last bit."""

    def of(m: Measured) -> tuple[Any, ...]:
        return np.asarray(m.value).tobytes(), np.asarray(m.error).tobytes(), m.how

    arrays = {
        name: getattr(run, name).tobytes()
        for name in ("k", "t", "gradient", "local_error", "step_error")
    }
    series = {
        (kind, name): (each.k.tobytes(), each.t.tobytes(), *of(each.value))
        for kind in ("series", "distance")
        for name, each in getattr(run, kind).items()
    }
    final = {name: array.tobytes() for name, array in run.final.items()}
    states = {(i, name): a.tobytes() for i, each in run.states.items() for name, a in each.items()}
    rest = (run.status, run.notes, run.evaluations, of(run.gap), of(run.infimum), run.train)
    return {**arrays, **series, "final": final, "states": states, "rest": rest}


@pytest.mark.parametrize("shape", [(2, 1, 1), (6, 3, 2), (3, 5, 4), (20, 4, 3)])
def test_each_run_is_what_it_is_alone(shape: tuple[int, int, int]) -> None:
    m, n, d = shape
    tracks = tuple(name for name in EVERY if m >= n or not name.startswith(("sigma", "lambda")))
    problems = [problem(seed, m, n, d) for seed in range(12)]
    found = run_together(problems, [tracks] * len(problems))
    made = [i for i, run in enumerate(found) if run is not None]
    assert len(made) >= 3
    for i in made[:4]:
        alike(found[i], step_by_step(problems[i], tracks))


def test_samples_that_no_unit_sees_or_that_are_lost_on_the_way() -> None:
    count = lost = 0
    for seed in (*range(8), 21):
        p = problem(seed, m=4 + seed % 3, step=0.04, steps=12)
        if seed % 2:
            X, U = p.model.X.copy(), p.theta0["U"].copy()
            X[:, 0], U[:, 0] = (-1, 0), np.abs(U[:, 0]) + 0.2
            p = changed(replace(p, model=ReluDeqModel(X, p.model.y)), U=U)
        run = run_one(p, EVERY, recorder.silent)
        if run is not None:
            before, after = (s.silent_samples for s in (p.start, p.model.at(run.final)))
            count, lost = count + before.any(), lost + bool((before != after).any())
            alike(run, step_by_step(p, EVERY))
    assert count >= 4 and lost >= 1


def test_who_is_beside_a_run_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = [problem(seed) for seed in PLAIN]
    first = [numbers(run) for run in run_together(problems, [EVERY] * 7)]
    order = [4, 0, 6]
    again = run_together([problems[i] for i in order], [EVERY] * 3)
    assert [numbers(run) for run in again] == [first[i] for i in order]
    monkeypatch.setattr(together, "MOST", 3)
    # The seventh is by itself.
    assert [numbers(run) for run in run_together(problems, [EVERY] * 7)] == first


def swept(seed: int, **theta: Any) -> Problem:
    """So wide that equilibria are swept, and singular values come from those of other steps; units
    switch on the way."""
    p = problem(seed, m=20, n=10, d=8, step=3e-4, steps=40)
    return changed(p, **{name: factor * p.theta0[name] for name, factor in theta.items()})


def test_wider_runs_whoever_is_beside_them() -> None:
    """Two of them contract too slowly for sweeps."""
    problems = [swept(0), swept(1), swept(6, W=1.6), swept(7, W=1.6), swept(2, W=0.2)]
    found = run_together(problems, [EVERY] * 5)
    for p, run in zip(problems, found, strict=True):
        one = run_one(p, EVERY, recorder.silent)
        assert run is not None and one is not None and numbers(run) == numbers(one)
        alike(run, step_by_step(p, EVERY))
        assert run.series["norm2.W"].value.how == "Kato-Temple"
        before, after = p.start.equilibrium.mask, p.model.at(run.final).equilibrium.mask
        assert (before != after).any()


def monotone(seed: int, scale: float) -> Problem:
    """I - W is monotone, and W far from a contraction."""
    p = swept(seed)
    W = p.theta0["W"]
    return changed(p, W=scale * (W - W.T) - 0.3 * W @ W.T)


def test_runs_that_do_not_contract() -> None:
    problems = [monotone(seed, scale) for seed, scale in ((0, 1.3), (3, 4.0), (5, 20.0))]
    problems.append(swept(6, W=1.66))
    found = run_together(problems, [EVERY] * 4)
    for p, run in zip(problems, found, strict=True):
        assert run is not None and run.series["norm2.W"].value.value[-1] > 1
        one = run_one(p, EVERY, recorder.silent)
        assert one is not None and numbers(run) == numbers(one)
        alike(run, step_by_step(p, EVERY))
    # It begins as a contraction.
    assert found[3] is not None and found[3].series["norm2.W"].value.value[0] < 1


DRAWN = ("equal", "opposite", "tiny", "tinier", "zero", "dead", "kink", "diverges", "large")


@pytest.mark.parametrize("odd", DRAWN)
@pytest.mark.parametrize("seed", range(3))
def test_hard_instances(odd: str, seed: int) -> None:
    """A run by itself, made together or step by step, is what it is step by step."""
    p = swept(seed)
    X, W, U = p.model.X.copy(), p.theta0["W"].copy(), p.theta0["U"].copy()
    if odd in ("equal", "opposite"):
        X[:, 1] = X[:, 0] if odd == "equal" else -X[:, 0]
    elif odd in ("tiny", "tinier", "zero"):
        X[:, 0] *= {"tiny": 1e-9, "tinier": 1e-160, "zero": 0.0}[odd]
    elif odd == "large":
        X *= 1e3
    elif odd == "dead":
        W[0], U[0] = 0.0, 0.0
    elif odd == "kink":
        W[1], U[1], X[1, 0] = 0.0, np.eye(8)[1], 0.0
    step = {"diverges": 30.0, "large": 1e-10}.get(odd, 3e-4)
    model = ReluDeqModel(X, p.model.y)
    p = replace(changed(p, W=W, U=U), model=model, train=GradientDescent(step=step, steps=20))
    tracks = ("loss", "gradient", "norm2.W", "sigma_min_Z")
    alike(p.train.run(p, tracks), step_by_step(p, tracks))


def test_what_leaves_the_plain_way_drops_out_and_nobody_else() -> None:
    plain = problem(PLAIN[0])
    X, W, on = plain.model.X, plain.theta0["W"], np.array([[0], *[[1]] * 5])
    odd = {
        "diverges": replace(plain, train=GradientDescent(step=50.0, steps=12)),
        "expands": changed(plain, W=3 * np.abs(W)),
        "never seen": changed(plain, U=-np.linalg.pinv(X).sum(axis=0) * np.ones((6, 1))),
        "on a kink": changed(plain, W=W * on, U=plain.theta0["U"] * on),
        "not finite": changed(plain, W=np.full_like(W, np.nan)),
        "tiny": changed(plain, U=1e-120 * plain.theta0["U"]),
    }
    others = [problem(seed) for seed in PLAIN[1:4]]
    found = run_together([*odd.values(), *others], [("loss",)] * 9)
    assert [name for name, run in zip(odd, found, strict=False) if run is not None] == []
    for p, run in zip(others, found[6:], strict=True):
        alike(run, step_by_step(p, ("loss",)))


def test_a_norm_of_which_rational_numbers_tell_the_side_of_1_drops_out() -> None:
    """Alone, |U| beside 1 has a narrower bar than an SVD gives."""
    plain = [problem(seed) for seed in PLAIN[:3]]
    U = plain[0].theta0["U"]
    at_one = changed(plain[0], U=U / np.linalg.norm(U, 2))
    found = run_together([at_one, *plain[1:]], [("norm2.U",)] * 3)
    assert [run is None for run in found] == [True, False, False]
    assert run_together([at_one, *plain[1:]], [("norm2.a",)] * 3)[0] is not None


def test_a_dead_read_out_learns_as_it_does_alone() -> None:
    problems = [changed(problem(seed), a=np.zeros(6)) for seed in PLAIN[:4]]
    for p, run in zip(problems, run_together(problems, [EVERY] * 4), strict=True):
        alike(run, step_by_step(p, EVERY))


def test_flows_wide_models_and_other_quantities_are_left_out() -> None:
    wide: Params = problem(0, m=33).theta0
    problems = [
        problem(PLAIN[0]),
        problem(1, steps=11),
        problem(2, n=2),
        replace(problem(3), record_states=True),
        replace(problem(4), train=GradientFlow(horizon=0.1)),
        replace(problem(5), train=None),
        problem(PLAIN[1]),
        problem(7),
        replace(problem(8, m=33), theta0=wide),
        replace(problem(9, m=33), theta0=wide),
    ]
    tracks = [("loss",)] * len(problems)
    tracks[7] = ("kink_margin",)
    found = run_together(problems, tracks)
    assert [i for i, run in enumerate(found) if run is not None] == [0, 1, 2, 3, 6]
    assert run_together([problem(7), problem(8)], [("kink_margin",)] * 2) == [None, None]
    assert run_together([], []) == []


def test_quantities_of_longer_runs_are_looked_at_on_a_schedule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recorder, "EVERY_STEP", 10)
    problems = [replace(problem(seed), record_points=6) for seed in PLAIN[:2]]
    found = run_together(problems, [("loss",)] * 2)
    for p, run in zip(problems, found, strict=True):
        assert run is not None and len(run.series["loss"].k) == 6 and len(run.k) == 13
        alike(run, step_by_step(p, ("loss",)))


def test_a_run_by_itself_is_what_it_is_step_by_step() -> None:
    p = replace(problem(PLAIN[0]), record_points=5, record_states=True)
    told: dict[str, list[recorder.Progress]] = {"one": [], "steps": []}
    one = run_one(p, EVERY, told["one"].append)
    assert one is not None and len(one.states) == 5
    alike(one, step_by_step(p, EVERY, told["steps"].append))
    for mine, theirs in zip(told["one"], told["steps"], strict=True):
        assert mine._replace(gap=0.0) == theirs._replace(gap=0.0)
        assert mine.gap == pytest.approx(theirs.gap, rel=1e-12)
    assert numbers(p.train.run(p, EVERY)) == numbers(one)


def test_an_interrupted_run_by_itself_keeps_what_is_known() -> None:
    p = replace(problem(PLAIN[0]), record_points=4, record_states=True)

    def interrupt(at: recorder.Progress) -> None:
        if at.k > 1:
            raise KeyboardInterrupt

    run = run_one(p, EVERY, interrupt)
    assert run is not None and run.status is Status.INTERRUPTED and 1 < len(run.k) < 13
    alike(run, step_by_step(p, EVERY, interrupt))
    # Before anything is known.
    first = run_one(p, (), lambda _: interrupt(recorder.Progress("", 2, 0.0, 0.0, 0.0)))
    assert first is not None and first.status is Status.INTERRUPTED


def test_a_run_that_leaves_the_plain_way_is_made_step_by_step() -> None:
    p = replace(problem(PLAIN[0]), train=GradientDescent(step=50.0, steps=12))
    assert run_one(p, (), recorder.silent) is None
    assert p.train.run(p).status is Status.NO_EQUILIBRIUM
