"""What verification costs: `run` against a bare NumPy loop that makes the same trajectory.

    python -m tests.bench.overhead [--models delm,opteq] [--sizes 8,100,500] [--flows] [--wide]

Told is CPU time on one core: of the bare loop, and as multiples of it that of a run whose
quantities are recorded at few points or at every step, with companion, error bars and verdicts
(gradient descent), or of both integrations, 20 recorded points and the verdicts against one by
DOP853 at rtol 1e-12 (gradient flow), whose absolute tolerance is that of the tighter of the two, or
1e-12. The loops solve their equilibria as exactly as doubles allow, warm from step to step; that
they end where the run ends is checked. The search for an entry is not counted.

Flows last until the bare loop has taken 0.15 s (from t = 0.5 on, doubled), so that it is not the
constant cost of a verdict that is told. The bare loop knows of no kinks: the labels of ReLU models
are within 1/100 of the first predictions, or nearer (NEAR), so that no kink is met on the way,
which is checked; an absolute tolerance of 1e-12 is made as much smaller. As in the run, tolerances
are of the displacement from the start.

With --wide: a descent of a wide ReLU model beside no loop, in CPU seconds.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from scipy.integrate import solve_ivp

import deqcheck as dq
from deqcheck.dynamics.flow import Pair
from deqcheck.linalg import remembered
from deqcheck.models.problem import pack, unpack

Arrays = dict[str, np.ndarray]
Gradient = Callable[[Arrays], Arrays]
SWEEPS = 10_000
# Moves below it, of the size of the state, are rounding once they do not shrink.
ROUNDING = 1e-14
# Relative difference of the last losses, above which the two did not do the same.
SAME = 1e-6
N, DIM = 10, 10


@dataclass(frozen=True)
class Bare:
    """An instance as `dq.problem` takes it, its gradient in plain NumPy, and what is judged."""

    data: Arrays
    theta: Arrays
    fields: dict[str, Any]
    gradient: Gradient
    descent: str
    flow: str


def _settled(step: Callable[[np.ndarray], np.ndarray], z: np.ndarray) -> np.ndarray:
    """Until rounding is all that moves."""
    before = np.inf
    for _ in range(SWEEPS):
        new = step(z)
        size, moved = max(np.abs(new).max(), 1e-300), np.abs(new - z).max()
        if moved <= 4e-16 * size or before <= moved <= ROUNDING * size:
            return new
        z, before = new, moved
    return z


class _Warm:
    """z = relu(W z + C) and its adjoints by fixed-point iterations."""

    def __init__(self, m: int):
        self.Z, self.V = np.zeros((m, N)), np.zeros((m, N))

    def solved(self, W: np.ndarray, C: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.Z = _settled(lambda z: np.maximum(W @ z + C, 0.0), self.Z)
        on = self.Z > 0
        self.V = _settled(lambda v: np.where(on, W.T @ v + a[:, None], 0.0), self.V)
        return self.Z, self.V


def delm(m: int, r: np.random.Generator) -> Bare:
    Phi, Y, gamma = r.normal(size=(m, N)), r.normal(size=(1, N)), 0.5
    theta = {"A": r.normal(size=(m, m)) / np.sqrt(m), "B": r.normal(size=(1, m)) / np.sqrt(m)}

    def gradient(t: Arrays) -> Arrays:
        E = np.exp(t["A"])
        S = gamma * E / E.sum(axis=0)
        U = np.eye(m) - S
        Z = np.linalg.solve(U.T, t["B"].T).T
        G = np.linalg.solve(U, (2 * (Z @ Phi - Y) @ Phi.T).T).T
        P = Z.T @ G
        return {"A": S * (P - (S * P).sum(axis=0) / gamma), "B": G}

    return Bare(
        {"Phi": Phi, "Y": Y},
        theta,
        {"gamma": gamma},
        gradient,
        "kawaguchi2021/gd",
        "kawaguchi2021/thm1",
    )


def relu_deq(m: int, r: np.random.Generator) -> Bare:
    X, y, warm = r.normal(size=(DIM, N)), r.normal(size=N), _Warm(m)
    theta = {
        "W": 0.25 * r.normal(size=(m, m)) / np.sqrt(m),
        "U": r.normal(size=(m, DIM)) / np.sqrt(DIM),
        "a": r.normal(size=m) / np.sqrt(m),
    }

    def gradient(t: Arrays) -> Arrays:
        Z, V = warm.solved(t["W"], t["U"] @ X, t["a"])
        e = Z.T @ t["a"] - y
        E = V * e
        return {"W": E @ Z.T, "U": E @ X.T, "a": Z @ e}

    return Bare({"X": X, "y": y}, theta, {}, gradient, "ling2022/thm1", "ling2022/thm1-flow")


def implicit_relu(m: int, r: np.random.Generator) -> Bare:
    X, y, gamma, warm = r.normal(size=(N, DIM)), r.normal(size=N), 0.2, _Warm(m)
    theta = {
        "W": r.normal(size=(DIM, m)) / np.sqrt(DIM),
        "A": r.normal(size=(m, m)) / np.sqrt(m),
        "b": r.normal(size=m) / np.sqrt(m),
    }

    def gradient(t: Arrays) -> Arrays:
        H = X @ t["W"]
        Z, V = warm.solved(gamma * t["A"].T, np.maximum(H, 0.0).T, t["b"])
        e = Z.T @ t["b"] - y
        E = V * e
        return {"W": X.T @ (E.T * (H > 0)), "A": gamma * Z @ E.T, "b": Z @ e}

    fields = {"gamma": gamma}
    return Bare({"X": X, "y": y}, theta, fields, gradient, "gao2022/thm4.4", "gao2022/thm4.2")


def monotone_deq(m: int, r: np.random.Generator) -> Bare:
    """Newton's method on the activation pattern of each sample: W need not contract."""
    X, y, modulus = r.normal(size=(DIM, N)), r.normal(size=N), 1.0
    last = np.zeros((m, N))
    theta = {
        "A": 0.3 * r.normal(size=(m, m)) / np.sqrt(m),
        "B": 0.3 * r.normal(size=(m, m)) / np.sqrt(m),
        "U": r.normal(size=(m, DIM)) / np.sqrt(DIM),
        "u": r.normal(size=m) / np.sqrt(m),
    }

    def gradient(t: Arrays) -> Arrays:
        nonlocal last
        A, B = t["A"], t["B"]
        F = modulus * np.eye(m) + A.T @ A - B + B.T
        C, Z, V = t["U"] @ X, np.zeros((m, N)), np.zeros((m, N))
        for j in range(N):
            z = last[:, j]
            for _ in range(SWEEPS):
                on = z - F @ z + C[:, j] > 0
                new = np.zeros(m)
                block = F[np.ix_(on, on)]
                new[on] = np.linalg.solve(block, C[on, j])
                same = np.array_equal(on, new - F @ new + C[:, j] > 0)
                z = new
                if same:
                    break
            Z[:, j] = z
            V[on, j] = np.linalg.solve(block.T, t["u"][on])
        last = Z
        e = Z.T @ t["u"] - y
        E = V * e
        G = E @ Z.T
        return {"A": -A @ (G + G.T), "B": G - G.T, "U": E @ X.T, "u": Z @ e}

    return Bare(
        {"X": X, "y": y},
        theta,
        {"m": modulus},
        gradient,
        "hieu2022/thm3.3.5",
        "hieu2022/thm3.3.1",
    )


def opteq(m: int, r: np.random.Generator) -> Bare:
    X, Y, alpha, K = r.normal(size=(DIM, N)), r.normal(size=(1, N)), 0.3, 3
    theta = {
        "W1": 0.3 * r.normal(size=(m, m)) / np.sqrt(m),
        "U1": r.normal(size=(m, DIM)) / np.sqrt(DIM),
        "b1": 0.1 * r.normal(size=m),
        "Wo": r.normal(size=(1, m)) / np.sqrt(m),
    }

    def gradient(t: Arrays) -> Arrays:
        W, Z, seen = t["W1"], np.zeros((m, N)), []
        drive = t["U1"] @ X + t["b1"][:, None]
        for _ in range(K):
            s = np.tanh(W @ Z + drive)
            seen.append((Z, s))
            Z = alpha * W.T @ s + (1 - alpha) * Z
        e = t["Wo"] @ Z - Y
        out = {name: np.zeros_like(a) for name, a in t.items()}
        out["Wo"], G = e @ Z.T, t["Wo"].T @ e
        for before, s in reversed(seen):
            back = alpha * (W @ G) * (1 - s * s)
            out["W1"] += alpha * s @ G.T + back @ before.T
            out["U1"] += back @ X.T
            out["b1"] += back.sum(axis=1)
            G = W.T @ back + (1 - alpha) * G
        return out

    fields = {"alpha": alpha, "activation": "tanh", "iterations": K}
    both = "xie2021/thm5-repaired"
    return Bare({"X": X, "Y": Y}, theta, fields, gradient, both, both)


MODELS: dict[str, Callable[[int, np.random.Generator], Bare]] = {
    "delm": delm,
    "relu-deq": relu_deq,
    "implicit-relu": implicit_relu,
    "monotone-deq": monotone_deq,
    "opteq": opteq,
}
STEP, STEPS = 1e-3, {8: 400, 30: 300, 100: 150, 500: 20}
# Of flows: the first horizon that is tried, what the bare loop has to take (CPU seconds), and how
# many points are recorded.
HORIZON, ENOUGH, POINTS = 0.5, 0.15, 20
# How near the predictions the labels of models with kinks are: the first that meets none of these.
NEAR = (1e-2, 1e-3, 1e-4)
# Velocities of a bare flow that goes on; one that chatters on a kink needs more.
EVALUATIONS = 20_000
# Of the wide descent: its sizes, steps, and how many CPU seconds it may take.
WIDE, SAMPLES, WIDE_STEP, WIDE_STEPS, WIDE_AIM = 1000, 200, 1e-6, 50, 25.0


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    # No run finds the decompositions of the last one.
    remembered._found.clear()
    started = time.process_time()
    found = work()
    return time.process_time() - started, found


def _side_by_side(budget: float, *works: Callable[[], Any]) -> list[tuple[float, Any]]:
    """Medians over turns, for about so many seconds after one to warm up: what else the machine
    does meets all alike."""
    found = [_timed(work)[1] for work in works]
    turns: list[list[float]] = []
    begun = time.process_time()
    while not turns or time.process_time() - begun < budget - sum(turns[-1]):
        turns.append([_timed(work)[0] for work in works])
    return list(zip(np.median(turns, axis=0).tolist(), found, strict=True))


def _descended(bare: Bare, steps: int) -> Arrays:
    theta = {name: a.copy() for name, a in bare.theta.items()}
    for _ in range(steps):
        for name, g in bare.gradient(theta).items():
            theta[name] -= STEP * g
    return theta


class Kinked(Exception):
    """The flow meets a kink, or so many evaluations that it must have."""


def _flown(bare: Bare, horizon: float, atol: float | np.ndarray) -> Arrays:
    shapes, start = {name: a.shape for name, a in bare.theta.items()}, pack(bare.theta)
    left = iter(range(EVALUATIONS))

    def velocity(_: float, y: np.ndarray) -> np.ndarray:
        if next(left, None) is None:
            raise Kinked
        return -pack(bare.gradient(unpack(start + y, shapes)))

    done = solve_ivp(
        velocity,
        (0.0, horizon),
        np.zeros_like(start),
        method="DOP853",
        rtol=1e-12,
        atol=atol,
    )
    return unpack(start + done.y[:, -1], shapes)


def _problem(kind: str, bare: Bare, train: dict[str, Any]) -> Any:
    return dq.problem(kind, data=bare.data, init=bare.theta, train=train, **bare.fields)


def _compare(kind: str, end: Arrays, report: Any, p: Any) -> None:
    there = p.model.at(end).objective.gap
    off = abs(there - report.trajectory.gap.value[-1])
    assert off <= SAME * p.start.objective.gap, f"{kind}: the bare loop ends elsewhere"


def descent(kind: str, m: int, budget: float = 6.0) -> tuple[float, float, float]:
    """CPU seconds a step: bare, with few points recorded, with every step recorded."""
    make, steps = MODELS[kind], STEPS[m]
    bare = make(m, np.random.default_rng(m))
    p = _problem(kind, bare, {"kind": "gd", "step": STEP, "steps": steps})

    def run(points: int) -> Any:
        return dq.run(replace(p, record_points=points), only=[bare.descent], entry=False)

    (alone, end), *runs = _side_by_side(
        budget,
        lambda: _descended(make(m, np.random.default_rng(m)), steps),
        lambda: run(5),
        lambda: run(steps + 1),
    )
    for _, report in runs:
        _compare(kind, end, report, p)
    (few, _), (every, _) = runs
    return alone / steps, few / steps, every / steps


def descents(kind: str, m: int) -> str:
    alone, few, every = descent(kind, m)
    return f"{alone * 1e3:9.3f} ms a step {few / alone:6.1f} {every / alone:6.1f}"


def _flow(kind: str, bare: Bare, horizon: float) -> Any:
    return replace(_problem(kind, bare, {"kind": "flow", "horizon": horizon}), record_points=POINTS)


def _nearby(kind: str, m: int, near: float) -> tuple[Bare, float]:
    """The instance, with labels so near the predictions where there are kinks, and how near."""
    bare = MODELS[kind](m, np.random.default_rng(m))
    start = _flow(kind, bare, HORIZON).start
    if start.kinks is None:
        return bare, 1.0
    y = bare.data["y"]
    # In place: the gradient reads the same array.
    y[:] = start.predictions + near * (y - start.predictions)
    return bare, near


class Flown(NamedTuple):
    """CPU seconds of a bare loop that is as exact as the run, of one at 1e-12, and of the run."""

    horizon: float
    alone: float
    loosely: float
    run: float


def flow(kind: str, m: int, budget: float = 6.0) -> Flown:
    for near in NEAR:
        try:
            return _flow_at(*_nearby(kind, m, near), kind, m, budget)
        except Kinked:
            continue
    raise Kinked(f"{kind}, m={m}: however near the labels are")


def _flow_at(bare: Bare, near: float, kind: str, m: int, budget: float) -> Flown:
    def alone(atol: float | np.ndarray) -> Arrays:
        # Afresh: no loop starts from the equilibria of the last one.
        fresh = MODELS[kind](m, np.random.default_rng(m))
        for name, array in bare.data.items():
            fresh.data[name][:] = array
        return _flown(fresh, horizon, atol)

    horizon, loose = HORIZON, 1e-12 * near
    while _timed(lambda: alone(loose))[0] < ENOUGH:
        horizon *= 2
    p = _flow(kind, bare, horizon)
    tight = Pair(p.train, p, ()).tight.atol
    (taken, end), (loosely, _), (spent, report) = _side_by_side(
        budget,
        lambda: alone(tight),
        lambda: alone(loose),
        lambda: dq.run(p, only=[bare.flow], entry=False),
    )
    if report.trajectory.events:
        raise Kinked
    _compare(kind, end, report, p)
    return Flown(horizon, taken, loosely, spent)


def flows(kind: str, m: int) -> str:
    horizon, alone, loosely, run = flow(kind, m)
    return f"{alone:9.3f} s until t = {horizon:<8.2g} {run / alone:6.1f} {run / loosely:8.1f}"


def wide() -> str:
    """The whole run, with few points recorded."""
    r = np.random.default_rng(0)
    theta = {
        "W": 0.25 * r.normal(size=(WIDE, WIDE)) / np.sqrt(WIDE),
        "U": r.normal(size=(WIDE, DIM)) / np.sqrt(DIM),
        "a": r.normal(size=WIDE) / np.sqrt(WIDE),
    }
    data = {"X": r.normal(size=(DIM, SAMPLES)), "y": r.normal(size=SAMPLES)}
    train = {"kind": "gd", "step": WIDE_STEP, "steps": WIDE_STEPS}
    p = replace(dq.problem("relu-deq", data=data, init=theta, train=train), record_points=5)
    spent, report = _timed(lambda: dq.run(p, only=["ling2022/thm1"], entry=False))
    assert len(report.trajectory.gap.value) == WIDE_STEPS + 1, "the descent stops early"
    told = f"relu-deq, m={WIDE} n={SAMPLES}, {WIDE_STEPS} steps"
    return f"{told}: {spent:.1f} s (aim {WIDE_AIM:g})"


def lines(kinds: list[str], sizes: list[int], flowing: bool) -> Iterator[str]:
    told = (
        f"{'bare':>9} {'':19} {'few':>6} {'at 1e-12':>8}"
        if flowing
        else f"{'bare':>19} {'few':>6} every step recorded"
    )
    yield f"{'':14} {'m':>4} {told}"
    for kind in kinds:
        for m in sizes:
            yield f"{kind:14} {m:4} {(flows if flowing else descents)(kind, m)}"


def main() -> None:
    read = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    read.add_argument("--models", default=",".join(MODELS))
    read.add_argument("--sizes", default="8,100,500")
    read.add_argument("--flows", action="store_true")
    read.add_argument("--wide", action="store_true")
    asked = read.parse_args()
    if asked.wide:
        print(wide(), flush=True)
        return
    sizes = [int(m) for m in asked.sizes.split(",")]
    for line in lines(asked.models.split(","), sizes, asked.flows):
        print(line, flush=True)


if __name__ == "__main__":
    main()
