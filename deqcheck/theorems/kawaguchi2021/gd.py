"""The flow's bound used for gradient descent (Figures 2c and 3), and what holds instead."""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

import numpy as np

from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import EPS, Measured, measured, sqrt
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import CORRECTED, DESCENT, PRINTED, Check
from deqcheck.theorems.kawaguchi2021.bounds import (
    ONE_FEATURE,
    ExponentialBounds,
    cite,
    has_one_feature,
)
from deqcheck.theorems.kawaguchi2021.setting import Problem

SMOOTHNESS = ("norm2.Z", "norm2.U_inverse", "norm.Q")


class GradientDescentRate(ExponentialBounds):
    """The paper has no theorem about gradient descent; its figures draw descent and the flow's
    bound at t = step * k in one picture. Printed: descent stays below that bound, as in the
    pictures. Corrected: while step < 2/beta, beta a bound on the curvature of the loss on the
    segment of that step, gap(k+1) <= gap(k) (1 - 2 step (1 - step beta/2) kappa lambda_min(D_k)).
    Where the step is so long that U may become singular on the way, beta is infinite.
    """

    id = "kawaguchi2021/gd"
    title = "Gradient descent beside the flow's bound"
    cite = cite("Figures 2(c) and 3", "(7) at t = step k")
    dynamics = (DESCENT,)
    soundness = "unproven"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "Theorem 1 is about the flow, and the paper claims nothing of gradient descent beyond the "
        "runs that it draws. Descent can exceed the flow's bound although it converges: "
        "m = n = my = 1, phi = y = 1, A = B = 0, gamma = 1/2, step 0.1875 gives "
        "gap(1)/gap(0) = 0.25 > exp(-3) = 0.0498. The corrected edition follows from the descent "
        "lemma and the PL inequality of the whole loss."
    )
    uses = ("kawaguchi2021/pl", "kawaguchi2021/thm1")
    tracks = tuple(dict.fromkeys((*ExponentialBounds.tracks, *SMOOTHNESS)))

    stable = Check("step below 2/beta", "step < 2/beta", "descent lemma")
    contraction = Check(
        "each step contracts the gap",
        "gap_next/gap <= 1 - 2*step*(1 - step*beta/2)*kappa*lambda_min_D",
        "descent lemma",
        contracts=True,
    )

    def guaranteed_rate(self, p: Problem) -> Measured | None:
        return super().guaranteed_rate(p) if self.printed else None

    def path_hypotheses(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        yield from super().path_hypotheses(p, run)
        if self.printed:
            return
        at = _steps_with_successor(run)
        beta = curvature(p, run)
        # One that is certainly too large, if there is any, else what may be the largest.
        certain = beta.low >= 2 / p.step
        worst = int(np.argmax(certain if certain.any() else beta.high))
        note = f"largest at k = {run.k[at[worst]]}"
        yield self.stable(note, step=p.step, beta=beta[worst])

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        if self.printed:
            yield from super().conclusions(p, run)
            return
        at = _steps_with_successor(run)
        gap, stepped = run.one_step
        claim = self.contraction.sampled(
            run.k[at],
            run.t[at],
            gap_next=stepped[at],
            gap=gap[at],
            step=p.step,
            beta=curvature(p, run),
            kappa=self.kappa(p),
            lambda_min_D=run.series["lambda_min_D"].value[: len(at)],
        )
        yield claim.known_equal(ONE_FEATURE) if has_one_feature(p) else claim

    def remarks(self, p: Problem, run: Trajectory | None) -> Iterable[Claim | Curve]:
        """The integral of lambda_min(D_t) belongs to the flow."""
        return ()


def _steps_with_successor(run: Trajectory) -> np.ndarray:
    """Indices of the sampled steps whose next step was recorded."""
    k = run.series["lambda_min_D"].k
    found: np.ndarray = k[k < run.k[-1]]
    return found


# Along a run as long as it lives, with the problem that it is a run of.
_known: WeakKeyDictionary[Trajectory, tuple[Problem, Measured]] = WeakKeyDictionary()


def curvature(p: Problem, run: Trajectory) -> Measured:
    """The same for hypotheses and claims."""
    if run not in _known or _known[run][0] is not p:
        _known[run] = p, _curvature(p, run)
    return _known[run][1]


def _curvature(p: Problem, run: Trajectory) -> Measured:
    """beta >= |second derivative of the loss| on the segment of each sampled step.

    Along a unit direction (A', B'): Z' = B' V + g Z S' V, Z'' = 2 g B' V S' V + 2 g^2 Z S' V S' V
    + g Z S'' V with V = U^-1, |S'| <= |A'|/2 and |S''| <= |A'|^2 (both 0 when m = 1), and
    L'' = <Z', L0'' Z'> + <grad L0, Z''>. Each norm is carried from the start over the segment.
    """
    at = _steps_with_successor(run)
    z, v, q = (run.series[name].value[: len(at)] for name in SMOOTHNESS)
    g = measured(p.model.gamma)
    first, second = (0.0, 0.0) if p.model.m == 1 else (0.5, 1.0)
    length = Measured(p.step * run.gradient[at] * (1 + 4 * EPS))
    h = p.model.outer.smoothness()
    v_end = v / (1 - g * first * v * length)
    z_end = z + length * v_end * (1 + g * first * z)
    moved = v_end * sqrt(1 + (g * first * z_end) ** 2)
    bent = g * first * v_end**2 + g * second * z_end * v_end
    bent = bent + 2 * (g * first) ** 2 * z_end * v_end**2
    beta = h * moved**2 + (q + h * moved * length) * bent
    # Where 1 - g v |step| / 2 is not positive, U may become singular on the segment.
    lost = np.asarray((g * first * v * length).high) >= 1
    return Measured(np.where(lost, np.inf, beta.value), np.where(lost, 0.0, beta.error))
