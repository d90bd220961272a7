"""Lemma 3.3.7: how far one step of gradient descent moves every parameter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from deqcheck.linalg import errors
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import EPS, Measured, stack
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import CORRECTED, DESCENT, PRINTED, Check
from deqcheck.theorems.hieu2022.balls import Balls, clocks, counted
from deqcheck.theorems.hieu2022.common import WORDS, cite
from deqcheck.theorems.hieu2022.setting import Problem, State


class StepSizes(Balls):
    """If every parameter is within its ball for k' = 1, ..., k (Hypothesis 1), then a step moves A
    by at most 2 step |X| r lU lu lA/m^2, B by 2 step |X| r lU lu/m^2, U by step |X| r lu/m, u by
    step |X| r lU/m, where r = |yhat(k) - y|, and
    |W(k+1) - W(k)| <= 4 step |X| r lU lu (lA^2 + step |X| r lU lu lA^2/m^2 + 1)/m^2, the sum of
    2 lA |dA| + |dA|^2 + 2 |dB| (Lemma 3.3.6).

    As printed the middle term is step lambda0^2 lA^2/16: that needs
    |X| r lU lu/m^2 <= lambda0^2/16, which the row of R_A in (3.16) gives, not
    Hypothesis 1. And as printed the operator norm of
    each step is the Frobenius norm of the gradient. The balls are those of the case, or else the
    smallest that hold the steps 0, ..., k. Judged on the first 100 steps (of large models 20).
    """

    id = "hieu2022/lem3.3.7"
    title = "Size of one step of gradient descent"
    cite = cite("Lemma 3.3.7")
    dynamics = (DESCENT,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    ahead = 0
    uses = ("hieu2022/lem3.2.3", "hieu2022/gradients", "hieu2022/lem3.3.6")
    erratum = (
        "|P(k+1) - P(k)| = |grad| has lost the factor of the step, and the two norms differ. "
        "The bound on W needs more than Hypothesis 1: n = N = d = 1, m = A = U = u = x = 1, "
        "B = 0, y = -15/2 and step 8 have z = 1/2, r = 8, |W(1) - W(0)| = 1088 and a bound of 544."
    )

    equal_symmetric = Check("step in A is the gradient", "moved == gradient", "Lemma 3.3.7")
    equal_skew = Check("step in B is the gradient", "moved == gradient", "Lemma 3.3.7")
    equal_inputs = Check("step in U is the gradient", "moved == gradient", "Lemma 3.3.7")
    equal_outputs = Check("step in u is the gradient", "moved == gradient", "Lemma 3.3.7")
    of_symmetric = Check("step in A", "moved <= step*X*r*2*lU*lu*lA/m^2", "Lemma 3.3.7")
    of_skew = Check("step in B", "moved <= step*X*r*2*lU*lu/m^2", "Lemma 3.3.7")
    of_inputs = Check("step in U", "moved <= step*X*r*lu/m", "Lemma 3.3.7")
    of_outputs = Check("step in u", "moved <= step*X*r*lU/m", "Lemma 3.3.7")
    weights_printed = Check(
        "step in W, printed",
        "moved <= step*X*r*4*lU*lu*(lA^2 + step*lambda0^2*lA^2/16 + 1)/m^2",
        "Lemma 3.3.7",
    )
    weights = Check(
        "step in W",
        "moved <= step*X*r*4*lU*lu*(lA^2 + step*X*r*lU*lu*lA^2/m^2 + 1)/m^2",
        "Lemma 3.3.7, corrected",
    )

    def reach(self, p: Problem, run: Trajectory) -> int:
        """Nothing is asked of the loss."""
        return len(run.k) - 1

    def path_hypotheses(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        yield from self.hypothesis_1(p, run)

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        points = self.judged(p, run)
        if len(points) < 2:
            return
        states, note = [point.state for point in points[:-1]], counted(len(points) - 1)
        k, t = clocks(p, points[:-1])
        values: dict[str, Any] = {
            **{f"l{name}": self.reached(p, points, name) for name in ("A", "U", "u")},
            "X": errors.frobenius(p.start.X),
            "m": p.start.m,
            "step": p.step,
            "lambda0": p.start.sigma_min_Z,
            "r": stack([state.residual for state in states]),
        }
        for name, word in WORDS.items():
            moved = stack([step_in(state, name, p.step) for state in states])
            if self.printed:
                equal: Check = getattr(self, f"equal_{word}")
                gradient = stack([state.gradient_norms[name] for state in states])
                yield equal.sampled(k, t, note, moved=moved, gradient=gradient)
            check: Check = getattr(self, f"of_{word}")
            yield check.sampled(k, t, note, moved=moved, **values)
        check = self.weights_printed if self.printed else self.weights
        moved = stack([step_in_weights(state, p.step) for state in states])
        yield check.sampled(k, t, note, moved=moved, **values)


def step_in(state: State, name: str, step: float) -> Measured:
    """|P(k+1) - P(k)| (operator norm) of an exact step from the computed parameters."""
    g, radius = state.gradient[name], state.gradient_radii()[name]
    return errors.norm2(step * g, step * (radius + EPS * errors.length(g)))


def step_in_weights(state: State, step: float) -> Measured:
    """W(k+1) - W(k) = -(A^T dA + dA^T A + dA^T dA) + dB - dB^T, without the difference of two W."""
    dA, dB = (-step * state.gradient[name] for name in ("A", "B"))
    product = state.A.T @ dA
    dW = dB - dB.T - product - product.T - dA.T @ dA
    A, a, b = (errors.length(x) for x in (state.A, dA, dB))
    radii = state.gradient_radii()
    off = 2 * (A + a + step * radii["A"]) * step * radii["A"] + 2 * step * radii["B"]
    return errors.norm2(dW, off + errors.rounding(state.n, 2 * A * a + a * a + 2 * b))
