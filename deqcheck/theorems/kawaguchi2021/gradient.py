"""Gradients, equations (17), (21), (22), (24)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.gradcheck import EXPLICIT_LOSS, STEP, gradcheck, truncation
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.errors import length
from deqcheck.models.delm import oracle
from deqcheck.models.delm.state import DelmState
from deqcheck.models.problem import Params, gradient_norm
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured
from deqcheck.seeds import rng
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.kawaguchi2021.bounds import cite
from deqcheck.theorems.kawaguchi2021.metric import steepest
from deqcheck.theorems.kawaguchi2021.setting import Problem, Statement

# Up to this order every entry is compared with a difference and with the Kronecker form; beyond it
# the columns of (22), and derivatives along some directions.
DENSE_ORDER = 400
DIRECTIONS = 4
# Softmax changes on the scale 1, and so does every loss but the square one with the outputs:
# differences over longer steps say nothing about a derivative.
LONGEST_STEP = 2.0**-4


class Gradient(Statement):
    """grad_B L = Q U^-T and column k of grad_A L = gamma J_k Z^T Q U^-T e_k, Q = grad L0(Z); the
    squared norm of both together, by which the loss falls along the flow, is vec(Q)^T D vec(Q).
    """

    id = "kawaguchi2021/gradient"
    title = "Gradients of the loss"
    cite = cite("Appendices A.1.1 to A.1.3", "(17), (21), (22), (24)")
    models = ("delm",)
    dynamics = (STATIC,)
    soundness = "typo"
    erratum = (
        "The line after (17) equates a 1 x m^2 row with an m x m matrix (the row is the transposed "
        "vec of the matrix), and A.1.4 writes n x n for a matrix that is m x m."
    )
    uses = ("kawaguchi2021/prop1", "kawaguchi2021/expansion")

    explicit = Check("against the Kronecker form", "deviation <= noise", "(17), (21), (22)")
    columns = Check("column by column", "deviation <= noise", "(22), (24)")
    differences = Check("against central differences", "deviation <= noise", "(21), (22)")
    directions = Check("along a direction", "deviation <= noise", "(21), (22)")
    energy = Check("squared norm of the gradient", "gradient^2 == q_D_q", "A.1.7")

    def unchecked(self, p: Problem) -> Iterable[str]:
        for names in [["A"], ["B"]] if _dense(p) else [list(p.theta0)]:
            if not _short(p, names):
                yield (
                    f"no step for a difference in {' and '.join(names)} is both seen and short: "
                    "smaller parameters or features would help"
                )

    def claims(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        yield from self._entries(p) if _dense(p) else self._parts(p, state)
        DQ, off = oracle.times_D(state, state.Q), state.outer.gradient_error
        form = float(np.sum(state.Q * DQ))
        relative = 32 * EPS * p.model.m * ((1 + p.model.gamma) / (1 - p.model.gamma)) ** 2
        # Near a fit Q is a difference of nearly equal numbers.
        error = relative * form + (2 * length(DQ) + steepest(state) ** 2 * off) * off
        node = state.exact_Q and state.again.quadratic_form(state.exact_Q)
        q_D_q = Measured(form, error, again=node)
        yield self.energy(gradient=state.measure("gradient"), q_D_q=q_D_q)

    def _entries(self, p: Problem) -> Iterable[Claim]:
        for agreement in gradcheck(p):
            name = agreement.parameter
            yield self.explicit(
                name, deviation=agreement.explicit, noise=agreement.tolerance_explicit
            )
            if _short(p, [name]):
                yield self.differences(
                    name, deviation=agreement.differences, noise=agreement.tolerance_differences
                )

    def _parts(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        """Relative to the whole gradient, as for every entry."""
        whole = gradient_norm(state.gradient) or 1.0
        slow = oracle.columns(state, oracle.outer_gradient(state))
        for name, fast in state.gradient.items():
            bar = EXPLICIT_LOSS * float(state.measure(f"gradient.{name}").error)
            off = euclidean(fast - slow[name])
            yield self.columns(name, deviation=off / whole, noise=bar / whole)
        if not _short(p, p.theta0):
            return
        bar = float(state.measure("gradient").error)
        for name, direction in _directions(p, state):
            slope, radius = _slope(p, direction)
            claimed = sum(float(np.vdot(g, direction[n])) for n, g in state.gradient.items())
            yield self.directions(
                name, deviation=abs(slope - claimed) / whole, noise=(radius + bar) / whole
            )


def _dense(p: Problem) -> bool:
    return bool(p.model.m * max(p.model.m, p.model.my) <= DENSE_ORDER)


def _step(p: Problem, names: Iterable[str]) -> float:
    largest = max(float(np.abs(p.theta0[n]).max()) for n in names)
    return float(STEP) * max(1.0, largest)


def _short(p: Problem, names: Iterable[str]) -> bool:
    """Whether a step that these parameters can see moves no exponent of softmax and, unless the
    loss is a quadratic function, no output by much: B' z, and at most gamma |Z| |A'| |z|/2 for A'.
    """
    names = list(names)
    h = _step(p, names)
    if "A" in names and h > LONGEST_STEP:
        return False
    if p.loss == "square":
        return True
    z = float(np.linalg.norm(p.start.equilibrium, axis=0).max())
    by = {"A": p.model.gamma * length(p.start.Z) / 2, "B": 1.0}
    return sum(by[n] for n in names) * h * z <= LONGEST_STEP


def _directions(p: Problem, state: DelmState) -> Iterable[tuple[str, Params]]:
    """Unit directions: the gradient, and drawn ones."""
    stream = rng(p.seed, "kawaguchi2021/gradient")
    if gradient_norm(state.gradient) > 0:
        yield "the gradient", _unit(state.gradient)
    for i in range(DIRECTIONS):
        drawn = {n: stream.normal(size=a.shape) for n, a in state.theta.items()}
        yield f"draw {i + 1}", _unit(drawn)


def _unit(direction: Params) -> Params:
    size = gradient_norm(direction)
    return {n: a / size for n, a in direction.items()}


def _slope(p: Problem, direction: Params) -> tuple[float, float]:
    """The central difference of the loss, and its radius: the loss has its own error."""
    h = _step(p, p.theta0)

    def slope(h: float) -> tuple[float, float]:
        ahead, behind = (
            p.model.objective({n: a + sign * h * direction[n] for n, a in p.theta0.items()})
            for sign in (1, -1)
        )
        return (ahead.gap - behind.gap) / (2 * h), (ahead.error + behind.error) / (2 * h)

    (near, noise), (far, _), (farther, _) = (slope(k * h) for k in (1, 2, 4))
    return near, float(truncation(near, far, farther)) + noise
