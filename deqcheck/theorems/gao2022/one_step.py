"""A.6: one step of gradient descent, (43), Q1, Q2 and what they make of the loss."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from deqcheck.linalg import errors
from deqcheck.models.memory import Memory
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.comparison import Decision
from deqcheck.records.measured import EPS, Measured, stack
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import DESCENT, Check
from deqcheck.theorems.gao2022.bounds import C, StaysInside, cite
from deqcheck.theorems.gao2022.setting import Problem, State
from deqcheck.theorems.gao2022.thm4_4 import SMALL_STEP, DescentConditions

# Steps that are taken once more.
REPLAYED = 20
Q1 = f"(({C}*lambda3^2 + lambda1^2)*X_fro^2/(1-gamma0)^2)"
Q2 = f"({C}*lambda3^2*X_fro^2/(1-gamma0)^2)"


class OneStep(StaysInside, DescentConditions):
    """If the parameters before and after a step are within (i) |W| <= lambda1, |A| <= lambda2,
    |b| <= lambda3, and (ii) sigma_N(Z(k)) >= alpha0/2, then with r = yhat(k) - y,
    g = Z(k) b(k+1) and c = 1 + (gamma lambda1/(1 - gamma0))^2
    (43) |Z(k+1) - Z(k)|_F <= step c lambda3 |X|_F^2 |r|/(1 - gamma0)^2,
    |yhat(k+1) - yhat(k)| <= step Q1 |r| with Q1 = (c lambda3^2 + lambda1^2) |X|_F^2/(1 - gamma0)^2,
    <yhat(k+1) - g, r> <= step Q2 |r|^2 with Q2 = c lambda3^2 |X|_F^2/(1 - gamma0)^2,
    <g - yhat(k), r> <= -step alpha0^2 |r|^2/4, and so
    L(k+1) <= (1 - step alpha0^2/2 + step^2 Q1^2 + 2 step Q2) L(k). Under (20) this is at most
    (1 - step (alpha0^2/2 - 4 Q2)) L(k), and under (19) at most (1 - step alpha0^2/4) L(k).

    The braces that name Q1 and Q2 end too early in print, and Q1's takes the step in; these are the
    readings that the line with L(k+1) needs. All of it holds of one step from any parameters, so
    each of the first 20 computed points is taken for a start of its own.
    """

    id = "gao2022/one-step"
    title = "One step of gradient descent"
    cite = cite("A.6", "(43), Q1, Q2")
    dynamics = (DESCENT,)
    uses = ("gao2022/lem3.1", "gao2022/lem3.2", "gao2022/gradient", "gao2022/lem4.3")
    until_broken = True
    searches = ()
    infima = ()

    features = Check(
        "Z moves little", f"norm_dZ <= step*{C}*lambda3*X_fro^2*residual/(1-gamma0)^2", "(43)"
    )
    predictions = Check("yhat moves little", f"norm_dyhat <= step*{Q1}*residual", "A.6, Q1")
    by_features = Check("what Z does to the loss", f"inner_Z <= step*{Q2}*residual^2", "A.6, Q2")
    by_weights = Check(
        "what b does to the loss", "-inner_b >= step*alpha0^2/4*residual^2", "A.6, by (ii)"
    )
    loss = Check(
        "the loss after the step",
        f"L_next/L <= 1 - step*alpha0^2/2 + step^2*{Q1}^2 + 2*step*{Q2}",
        "A.6",
    )
    loss_20 = Check("with (20)", f"L_next/L <= 1 - step*(alpha0^2/2 - 4*{Q2})", "A.6, (20)")
    loss_19 = Check("with (19) and (20)", "L_next/L <= 1 - step*alpha0^2/4", "A.6, (19)")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        return self.posed(p)

    def path_hypotheses(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        return self.stays_close(p, run)

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        if p.start.residual.low <= 0:
            return
        steps = replayed(p, min(int(run.k[-1]), REPLAYED))
        known = {**self.values(p), "step": p.step}
        parts = {name: stack([each[name] for each in steps]) for name in steps[0]}
        k = np.arange(len(steps))
        for check in self._checks(known):
            yield check.sampled(k, k * p.step, _counted(len(k)), **parts, **known)

    def _checks(self, known: dict[str, Any]) -> Iterable[Check]:
        yield from (self.features, self.predictions, self.by_features, self.by_weights, self.loss)
        if _holds(SMALL_STEP(**known)):
            yield self.loss_20
            if _holds(self.third(**known)):
                yield self.loss_19

    def notes(self, p: Problem) -> Iterable[str]:
        if p.start.residual.high == 0:
            yield "the start is already optimal (r0 = 0): nothing moves"


def _holds(claim: Claim) -> bool:
    return claim.judge().decision is Decision.HOLDS


def _counted(steps: int) -> str:
    return f"the first {steps} steps" if steps > 1 else "the first step"


class Point(NamedTuple):
    """A state, and how far its Z and b may be from those of an exact step to it."""

    state: State
    features_off: float
    weights_off: float


def replayed(p: Problem, count: int) -> list[dict[str, Measured]]:
    """The first steps, each from where the one before was computed to end."""
    memory, theta, points = Memory(), p.theta0, list[Point]()
    slip = dict.fromkeys(theta, 0.0)
    for _ in range(count + 1):
        state = p.model.at(theta, memory)
        points.append(Point(state, _slip_of_Z(state, slip), slip["b"]))
        moved = {name: p.step * g for name, g in state.gradient.items()}
        theta = {name: a - moved[name] for name, a in theta.items()}
        radii = state.gradient_radii()
        slip = {
            name: p.step * radii[name] + 2 * EPS * (errors.length(a) + errors.length(moved[name]))
            for name, a in theta.items()
        }
    return [parts(before, after) for before, after in pairwise(points)]


def _slip_of_Z(state: State, slip: dict[str, float]) -> float:
    """Lemma 4.3 for the parameters' own uncertainty, and the error of the equilibrium."""
    away = state.gamma * errors.length(state.Z) * slip["A"] + state.model.X_size * slip["W"]
    return state.equilibrium.error + away * state.equilibrium.certificate.inverse


def parts(before: Point, after: Point) -> dict[str, Measured]:
    """What (43) and the lines after it speak of, for one step."""
    s, e = before.state, after.state
    dZ, db = e.Z - s.Z, e.b - s.b
    # The state before is where this step starts: its Z is known up to the equilibrium's error.
    Z_off = s.equilibrium.error
    dZ_off = Z_off + after.features_off + 2 * EPS * errors.length(s.Z)
    db_off = after.weights_off + EPS * errors.length(s.b)
    b, Z, r = errors.length(e.b), errors.length(s.Z), errors.length(s.r)
    pushed, weighed = dZ.T @ e.b, s.Z.T @ db
    pushed_off = (b + after.weights_off) * dZ_off + errors.length(dZ) * after.weights_off
    pushed_off += errors.product(s.m, b * errors.length(dZ))
    weighed_off = (Z + Z_off) * db_off + Z_off * errors.length(db)
    weighed_off += errors.product(s.m, Z * errors.length(db))
    r_next = (
        e.r_radius
        + (b + after.weights_off) * after.features_off
        + errors.length(e.Z) * after.weights_off
    )

    def inner(v: np.ndarray, off: float) -> Measured:
        noise = errors.rounding(s.N, r * errors.length(v))
        radius = r * off + s.r_radius * (errors.length(v) + off)
        return Measured(float(s.r @ v), radius + noise)

    return {
        "norm_dZ": errors.frobenius(dZ, dZ_off),
        "norm_dyhat": errors.frobenius(pushed + weighed, pushed_off + weighed_off),
        "inner_Z": inner(pushed, pushed_off),
        "inner_b": inner(weighed, weighed_off),
        "residual": s.residual,
        "L": s.loss,
        "L_next": errors.sum_of_squares(e.r, r_next) / 2,
    }
