"""Equations (9)-(12): the time after which an accuracy is guaranteed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import Measured
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import CORRECTED, FLOW, PRINTED, Check
from deqcheck.theorems.kawaguchi2021.bounds import ExponentialBounds, cite
from deqcheck.theorems.kawaguchi2021.cor1 import Corollary1
from deqcheck.theorems.kawaguchi2021.cor2 import Corollary2
from deqcheck.theorems.kawaguchi2021.setting import Problem

# Accuracies, relative to the first gap.
ACCURACIES = (0.5, 0.1, 1e-2, 1e-4, 1e-8)
COROLLARIES = {loss: cls for cls in (Corollary1, Corollary2) for loss in cls.losses}


class Times(ExponentialBounds):
    """An accuracy eps is reached by the time m (1 + gamma)^2/(2 kappa) log(gap(0)/eps) of the flow:
    (10) for the square loss and (11), (12) for the logistic loss, with the hypotheses and the kappa
    of the corollary in the same edition; (9) for any other loss with a PL constant.
    """

    id = "kawaguchi2021/times"
    title = "Time to reach an accuracy"
    cite = cite("Sections 3.1.2 and 3.1.3", "(9)-(12)")
    dynamics = (FLOW,)
    editions = (PRINTED, CORRECTED)
    erratum = (
        "Sound; (9) and (12) are stated for any T beyond that time, but rest on the ball of "
        "Theorem 1 until T."
    )
    uses = ("kawaguchi2021/thm1", "kawaguchi2021/cor1", "kawaguchi2021/cor2")

    reached = Check(
        "accuracy reached in time", "t_eps <= m*(1+gamma)^2/(2*kappa)*log(1/eps)", "(9)-(12)"
    )

    def _corollary(self, p: Problem) -> ExponentialBounds | None:
        cls = COROLLARIES.get(p.loss)
        return cls(self.edition) if cls else None

    def kappa(self, p: Problem) -> Measured:
        corollary = self._corollary(p)
        return corollary.kappa(p) if corollary else super().kappa(p)

    def reason(self, p: Problem) -> str:
        corollary = self._corollary(p)
        return corollary.reason(p) if corollary else super().reason(p)

    def gap(self, p: Problem, run: Trajectory) -> Measured:
        corollary = self._corollary(p)
        return corollary.gap(p, run) if corollary else super().gap(p, run)

    def first_gap(self, p: Problem) -> Measured:
        corollary = self._corollary(p)
        return corollary.first_gap(p) if corollary else super().first_gap(p)

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from super().hypotheses(p)
        corollary = self._corollary(p)
        if corollary:
            yield from corollary.hypotheses(p)

    def path_hypotheses(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        corollary = self._corollary(p)
        return corollary.path_hypotheses(p, run) if corollary else super().path_hypotheses(p, run)

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        kappa, gap = self.kappa(p), self.gap(p, run)
        for eps in ACCURACIES:
            t = _time_until(run.t, gap, eps)
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

    def remarks(self, p: Problem, run: Trajectory | None) -> Iterable[Claim | Curve]:
        return ()


def _time_until(times: np.ndarray, gap: Measured, eps: float) -> Measured:
    """When the gap falls below eps gap(0): between the last recorded time at which it is certainly
    above and the first at which it is certainly below; the gap of a flow never rises."""
    below = gap.high <= eps * gap.low[0]
    above = gap.low > eps * gap.high[0]
    earliest = float(times[np.flatnonzero(above)[-1]]) if above.any() else 0.0
    if not below.any():
        # Reached after the run, if ever: only the lower end is known.
        return Measured(earliest, 0.0 if earliest == times[-1] else np.inf)
    latest = float(times[int(np.argmax(below))])
    return Measured((earliest + latest) / 2, (latest - earliest) / 2)
