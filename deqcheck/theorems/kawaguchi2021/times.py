"""Equations (9)-(12): the time after which an accuracy is guaranteed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import Measured
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import CORRECTED, FLOW, PRINTED, Check
from deqcheck.theorems.kawaguchi2021.bounds import ExponentialBounds, cite
from deqcheck.theorems.kawaguchi2021.setting import Problem

# Accuracies, relative to the first gap.
ACCURACIES = (0.5, 0.1, 1e-2, 1e-4, 1e-8)


class Times(ExponentialBounds):
    """An accuracy eps is reached by the time m (1 + gamma)^2/(2 kappa) log(gap(0)/eps). The paper
    calls it a number of iterations; it is a time of the flow.
    """

    id = "kawaguchi2021/times"
    title = "Time to reach an accuracy"
    cite = cite("Section 3.3", "(9)-(12)")
    dynamics = (FLOW,)
    soundness = "typo"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "Printed as numbers of iterations; they are times of the flow. (9) and (12) silently need "
        "the ball of Theorem 1 until that time."
    )

    reached = Check(
        "accuracy reached in time", "t_eps <= m*(1+gamma)^2/(2*kappa)*log(1/eps)", "(9)-(12)"
    )

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        kappa = self.kappa(p)
        for eps in ACCURACIES:
            t = _time_until(run, eps)
            claim = self.reached(
                f"eps = {eps:g} of the first gap",
                t_eps=t,
                m=p.model.m,
                gamma=p.model.gamma,
                kappa=kappa,
                eps=Measured(eps),
            )
            # Not reached on the run, and not promised there either: nothing to judge.
            if t.high < run.t[-1] or claim.right.low < run.t[-1]:
                yield claim


def _time_until(run: Trajectory, eps: float) -> Measured:
    """When the gap falls below eps gap(0): between the last recorded time at which it is certainly
    above and the first at which it is certainly below; the gap of a flow never rises."""
    below = run.gap.high <= eps * run.gap.low[0]
    above = run.gap.low > eps * run.gap.high[0]
    earliest = float(run.t[np.flatnonzero(above)[-1]]) if above.any() else 0.0
    if not below.any():
        # Reached after the run, if ever: only the lower end is known.
        return Measured(earliest, 0.0 if earliest == run.t[-1] else np.inf)
    latest = float(run.t[int(np.argmax(below))])
    return Measured((earliest + latest) / 2, (latest - earliest) / 2)
