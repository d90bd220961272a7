"""Lemmas 3.3.8 to 3.3.10: the three parts of the loss's change in one step of descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from deqcheck.linalg import errors
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured, maximum, measured
from deqcheck.theorems.base import CORRECTED, DESCENT, PRINTED, Check
from deqcheck.theorems.hieu2022.common import MonotoneStatement, cite
from deqcheck.theorems.hieu2022.setting import Problem, State


class OneStep(MonotoneStatement):
    """L(k+1) - L(k) = I1 + I2 + I3 with I1 = |yhat+ - yhat|^2/2, I2 = <r, (Z+ - Z)^T u+> and
    I3 = <r, Z^T (u+ - u)>. With lA, lU, lu the larger norms of the two ends,
    C' = |X|^2 (lu^2/m^2 + 4 lu^2 lU^2 (1 + lA^2)/m^4) and C = C' + |X|^2 lU^2/m^2:
    I1 <= (step C)^2 L, I2 <= 2 step C' L and -I3 >= step sigma_min(Z)^2 L/2.
    Judged on the first step of the case. As printed, C and C' have no m.
    """

    id = "hieu2022/lem3.3.8-3.3.10"
    title = "One step of gradient descent, in three parts"
    cite = cite("Lemmas 3.3.8, 3.3.9, 3.3.10")
    dynamics = (DESCENT,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "C_11 and C_12 have lost their powers of m, so that 3.3.8 and 3.3.9 fail for m < 1: "
        "n = N = d = 1, m = 0.1, A = B = 0, U = x = 1, u = 0.005, r = 1, step 0.001 gives "
        "I2 = 2.5e-6 where 1.25e-7 is claimed. Z Z^T in 3.3.10 must be Z^T Z."
    )

    total = Check("the three parts add up", "I1 + I2 + I3 == change", "proof of Theorem 3.3.5")
    first_printed = Check(
        "I1 as printed",
        "I1 <= (step*X^2*(lu^2 + 4*lu^2*lU^2*(1+lA^2) + lU^2))^2*L",
        "Lemma 3.3.8",
    )
    first = Check(
        "I1",
        "I1 <= (step*X^2*(lu^2/m^2 + 4*lu^2*lU^2*(1+lA^2)/m^4 + lU^2/m^2))^2*L",
        "Lemma 3.3.8",
    )
    second_printed = Check(
        "I2 as printed",
        "I2 <= 2*step*X^2*(lu^2 + 4*lu^2*lU^2*(1+lA^2))*L",
        "Lemma 3.3.9",
    )
    second = Check("I2", "I2 <= 2*step*X^2*(lu^2/m^2 + 4*lu^2*lU^2*(1+lA^2)/m^4)*L", "Lemma 3.3.9")
    third = Check("I3", "-I3 >= step*sigma^2*L/2", "Lemma 3.3.10")

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if not p.step:
            return
        parts = first_step(p)
        values = {
            **parts,
            "step": p.step,
            "X": errors.frobenius(state.X),
            "L": state.loss,
            "m": state.m,
            "sigma": state.sigma_min_Z,
        }
        printed = (self.first_printed, self.second_printed)
        for check in (*(printed if self.printed else (self.first, self.second)), self.third):
            yield check(**values)
        if not self.printed:
            yield self.total(**parts)


def first_step(p: Problem) -> dict[str, Measured]:
    """I1, I2, I3 and the norms that cover both ends of the first step."""
    s = p.start
    g, radii = s.gradient, s.gradient_radii()
    after = p.model.at({name: s.theta[name] - p.step * g[name] for name in s.theta})
    # The computed step differs from the true one by its rounding and the gradient's radius.
    slip = {n: p.step * radii[n] + 2 * EPS * float(np.linalg.norm(a)) for n, a in s.theta.items()}
    dZ = after.Z - s.Z
    Z_off = s.equilibrium.error + after.equilibrium.error + _slip_of_Z(after, slip)
    u, du = after.u, after.u - s.u
    Z, r = float(np.linalg.norm(s.Z)), s.r
    moved, pushed = dZ.T @ u, s.Z.T @ du
    moved_off = float(np.linalg.norm(u)) * Z_off + float(np.linalg.norm(dZ)) * slip["u"]
    moved_off += 4 * EPS * float(np.linalg.norm(moved))
    pushed_off = Z * slip["u"] + s.equilibrium.error * float(np.linalg.norm(du))
    pushed_off += errors.rounding(s.n, Z * float(np.linalg.norm(du)))
    size = float(np.linalg.norm(r))

    def along(v: np.ndarray, off: float) -> Measured:
        noise = errors.rounding(s.N, size * float(np.linalg.norm(v)))
        return Measured(
            float(r @ v), size * off + s.r_radius * (float(np.linalg.norm(v)) + off) + noise
        )

    ends = {
        f"l{n}": maximum(errors.norm2(s.theta[n]), errors.norm2(after.theta[n], slip[n]))
        for n in ("A", "U", "u")
    }
    slope = float(np.linalg.norm(after.r)) * (float(np.linalg.norm(u)) * Z_off + Z * slip["u"])
    return {
        **ends,
        "I1": errors.sum_of_squares(moved + pushed, moved_off + pushed_off) / 2,
        "I2": along(moved, moved_off),
        "I3": along(pushed, pushed_off),
        "change": (after.loss - s.loss).widened(slope),
    }


def _slip_of_Z(after: Any, slip: dict[str, float]) -> float:
    """Lemma 3.3.4 for the parameters' own uncertainty."""
    X, U, A = (float(np.linalg.norm(a)) for a in (after.X, after.U, after.A))
    dW = 2 * (A + slip["A"]) * slip["A"] + 2 * slip["B"]
    bound = measured(X) * (slip["U"] / after.m + dW * U / after.m**2)
    return float(bound.high)
