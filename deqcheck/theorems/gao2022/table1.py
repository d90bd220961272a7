"""Table 1: the average number of sweeps of the forward iteration over a run."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import EPS, Measured
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import DESCENT, Check
from deqcheck.theorems.gao2022.bounds import cite
from deqcheck.theorems.gao2022.setting import Problem, Statement

RIGHT = "2 + max(0, log(0.01/Phi_fro)/log(gamma0))"


class AverageSweeps(Statement):
    """The forward iteration of Section 7 stops at |Z^(l+1) - Z^l| <= 1e-2 in the operator norm, or
    after 100 sweeps. By A.1 no difference exceeds gamma0^l |Phi|_F with gamma0 = gamma |A(k)|, so
    at step k it takes fewer than 2 + log(0.01/|Phi|_F)/log(gamma0) sweeps: more for a larger gamma
    and as |A(k)| grows, which is what the paper observes. Judged at every recorded step, and for
    the average over the run, which is what Table 1 tells (6, 9, 15 and 47.5 for gamma = 0.1, 0.3,
    0.5 and 0.8 on MNIST).
    """

    id = "gao2022/table1"
    title = "Sweeps of the forward iteration"
    cite = cite("Section 7.2", "Table 1")
    dynamics = (DESCENT,)
    uses = ("gao2022/lem3.1",)
    until_broken = True
    tracks = ("sweeps", "Phi_fro", "gamma0")

    contracts = Check("well-posed so far", "gamma0 < 1", "Section 3")
    moving = Check("A is not zero", "gamma0 > 0", "setting")
    sweeps = Check("sweeps at each step", f"sweeps < {RIGHT}", "A.1")
    average = Check("sweeps on the average", "mean_sweeps < mean_bound", "Table 1")

    def path_hypotheses(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        s = run.series["gamma0"]
        for check in (self.contracts, self.moving):
            yield check.sampled(s.k, s.t, gamma0=s.value)

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        s = run.series["sweeps"]
        values = {name: run.series[name].value for name in ("Phi_fro", "gamma0")}
        yield self.sweeps.sampled(s.k, s.t, sweeps=s.value, **values)
        yield self.average(mean_sweeps=_mean(s.value), mean_bound=_mean(self.sweeps.right(values)))


def _mean(values: Measured) -> Measured:
    value = float(np.mean(values.value))
    rounding = len(np.atleast_1d(values.value)) * EPS * float(np.mean(np.abs(values.value)))
    return Measured(value, float(np.mean(values.error)) + rounding)
