"""Lemmas 3.3.8 to 3.3.10: the three parts of the loss's change in one step of descent."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from deqcheck.linalg import errors
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.comparison import compare
from deqcheck.records.measured import EPS, Measured, stack
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import CORRECTED, DESCENT, PRINTED, Check
from deqcheck.theorems.hieu2022.balls import Balls, clocks, counted
from deqcheck.theorems.hieu2022.common import cite
from deqcheck.theorems.hieu2022.induction import Induction, Point
from deqcheck.theorems.hieu2022.setting import Problem

C11 = "(X^2*(lu^2 + 4*lU^2*lu^2 + 4*lU^2*lu^2*lA^2 + lU^2))"
C12 = "(X^2*lU^2*lu^2*lA^2/4)"
# With the powers of m: C' of the two terms that come from Z, and the whole C.
FROM_Z = "X^2*(lu^2/m^2 + 4*lu^2*lU^2*(1+lA^2)/m^4)"
WHOLE = "X^2*(lu^2/m^2 + 4*lu^2*lU^2*(1+lA^2)/m^4 + lU^2/m^2)"


class OneStep(Induction, Balls):
    """L(k+1) - L(k) = I1 + I2 + I3 with I1 = |yhat(k+1) - yhat(k)|^2/2,
    I2 = <r, (Z(k+1) - Z(k))^T u(k+1)> and I3 = <r, Z(k)^T (u(k+1) - u(k))>, r = yhat(k) - y. If
    every parameter is within its ball (Hypothesis 1) and the loss has fallen at its rate
    (Hypothesis 3) for k' = 1, ..., k, then, as printed,
    I1 <= L(k) (step^2 C11^2 + 2 step^3 lambda0^2 C11 C12 + step^4 lambda0 C12^2),
    I2 <= 2 L(k) (step (C11 - lU^2 |X|^2) + step^2 lambda0^2 C12), and, if n >= N and
    sigma_min(Z(k')) >= lambda0/2 as well (Hypothesis 2), I3 <= -step lambda0^2 L(k)/2, with
    C11 = |X|^2 (lu^2 + 4 lU^2 lu^2 + 4 lU^2 lu^2 lA^2 + lU^2), C12 = |X|^2 lU^2 lu^2 lA^2/4,
    lA = |A(0)| + R_A, lU = |U(0)| + R_U, lu = |u(0)| + R_u.

    Which radii? The text fixes none. Read word for word Hypothesis 1 for k' <= k allows balls that
    step k + 1 leaves (for k = 0 any), and the bounds are false even where powers of m play no
    part. Here the balls hold the steps 0, ..., k + 1, as the proofs use them, in the Frobenius
    norm, and unless the case gives radii they are the smallest such: the bounds grow with the
    radii, so this is the weakest reading, and what refutes it refutes the others. The lemmas stand
    in a proof under Condition 2, which they do not name and which is not asked. Corrected, without
    C12: I1 <= (step C)^2 L(k) and I2 <= 2 step C' L(k) with
    C' = |X|^2 (lu^2/m^2 + 4 lu^2 lU^2 (1 + lA^2)/m^4) and C = C' + |X|^2 lU^2/m^2.
    Judged on the first 100 steps (of large models 20), as far as the hypotheses are known to hold.
    """

    id = "hieu2022/lem3.3.8-3.3.10"
    title = "One step of gradient descent, in three parts"
    cite = cite("Lemmas 3.3.8, 3.3.9, 3.3.10")
    uses = ("hieu2022/lem3.3.4", "hieu2022/lem3.3.7", "hieu2022/prop5")
    dynamics = (DESCENT,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    ahead = 1
    erratum = (
        "C_11 and C_12 have lost their powers of m, so that 3.3.8 and 3.3.9 fail for m < 1: "
        "n = N = d = 1, m = 0.1, A = B = 0, U = x = 1, u = 0, y = 0.05, radii 0.1, step 0.03 "
        "satisfy all of Condition 2 and give I1 = 0.01125 where 1.8e-6 is claimed. eta^4 lambda_0 "
        "in 3.3.8 must be eta^4 lambda_0^4; a line of the proof of 3.3.9 lacks squares; Z Z^T in "
        "3.3.10 must be Z^T Z, and the proof sketch counts I_3 twice."
    )

    first_printed = Check(
        "I1 as printed",
        f"I1 <= (step^2*{C11}^2 + 2*step^3*lambda0^2*{C11}*{C12} + step^4*lambda0*{C12}^2)*L",
        "Lemma 3.3.8",
    )
    first = Check("I1", f"I1 <= (step*{WHOLE})^2*L", "Lemma 3.3.8")
    second_printed = Check(
        "I2 as printed",
        f"I2 <= 2*(step*({C11} - lU^2*X^2) + step^2*lambda0^2*{C12})*L",
        "Lemma 3.3.9",
    )
    second = Check("I2", f"I2 <= 2*step*{FROM_Z}*L", "Lemma 3.3.9")
    third = Check("I3", "-I3 >= step*lambda0^2/2*L", "Lemma 3.3.10")

    def lambda0(self, p: Problem) -> Measured:
        """For n < N the last of the n singular values: the weaker claim."""
        s = p.start
        if s.n >= s.N:
            return s.sigma_min_Z
        return errors.nth_singular_value(s.Z, s.n, s.equilibrium.error)

    def path_hypotheses(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        yield from self.hypothesis_3(p, run)
        yield from self.hypothesis_1(p, run)

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        points = self.judged(p, run)
        if len(points) < 2:
            return
        values, note = self.along(p, points), counted(len(points) - 1)
        k, t = clocks(p, points[:-1])
        printed = (self.first_printed, self.second_printed)
        for check in printed if self.printed else (self.first, self.second):
            yield check.sampled(k, t, note, **values)
        kept = self.kept(p, points[:-1])
        if p.start.n >= p.start.N:
            short = {name: _cut(value, kept) for name, value in values.items()}
            yield self.third.sampled(k[:kept], t[:kept], counted(kept), **short)

    def kept(self, p: Problem, points: list[Point]) -> int:
        """How many of the points come before the first that is not known to keep Hypothesis 2; the
        start keeps it."""
        if self.lambda0(p).high <= 0:
            return len(points)
        for point in points[1:]:
            slip = point.slip_of_Z() - point.state.equilibrium.error
            sigma = point.state.sigma_min_Z.widened(slip)
            if not compare(sigma, ">=", self.lambda0(p) / 2)[0]:
                return point.k
        return len(points)

    def along(self, p: Problem, points: list[Point]) -> dict[str, Any]:
        """The parts and what bounds them, for every step between the points."""
        steps = [parts(before, after) for before, after in pairwise(points)]
        reached = {f"l{name}": self.reached(p, points, name) for name in ("A", "U", "u")}
        return {
            **{name: stack([each[name] for each in steps]) for name in steps[0]},
            **reached,
            "X": errors.frobenius(p.start.X),
            "m": p.start.m,
            "step": p.step,
            "lambda0": self.lambda0(p),
        }


def _cut(value: Any, count: int) -> Any:
    return value[:count] if isinstance(value, Measured) and np.ndim(value.value) else value


def parts(before: Point, after: Point) -> dict[str, Measured]:
    """I1, I2, I3 and L of one step."""
    s, e = before.state, after.state
    dZ, du = e.Z - s.Z, e.u - s.u
    Z_off, slip = before.slip_of_Z(), after.slip["u"]
    dZ_off, du_off = Z_off + after.slip_of_Z(), before.slip["u"] + slip
    u, Z, r = errors.length(e.u), errors.length(s.Z), errors.length(s.r)
    moved, pushed = dZ.T @ e.u, s.Z.T @ du
    moved_off = (u + slip) * dZ_off + errors.length(dZ) * slip
    moved_off += errors.rounding(s.n, u * errors.length(dZ)) + 4 * EPS * u * Z
    pushed_off = (Z + Z_off) * du_off + Z_off * errors.length(du)
    pushed_off += errors.rounding(s.n, Z * errors.length(du))
    gathered = Z_off - s.equilibrium.error
    r_off = s.r_radius + (errors.length(s.u) + before.slip["u"]) * gathered
    r_off += Z * before.slip["u"]

    def along(v: np.ndarray, off: float) -> Measured:
        noise = errors.rounding(s.N, r * errors.length(v))
        return Measured(float(s.r @ v), r * off + r_off * (errors.length(v) + off) + noise)

    return {
        "I1": errors.sum_of_squares(moved + pushed, moved_off + pushed_off) / 2,
        "I2": along(moved, moved_off),
        "I3": along(pushed, pushed_off),
        "L": errors.sum_of_squares(s.r, r_off) / 2,
    }
