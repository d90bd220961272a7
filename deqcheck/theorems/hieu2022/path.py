"""A condition without radii for the gradient flow, from the PL inequality and the path length."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import Measured
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import FLOW, Check, Search
from deqcheck.theorems.hieu2022.common import Training, at_start, cite
from deqcheck.theorems.hieu2022.setting import Problem


def path_length(run: Trajectory) -> Measured:
    """The integral of |gradient| over [0, t] at every recorded time of a flow."""
    return Measured(np.zeros(len(run.t)), np.inf) if run.path is None else run.path


class PathCondition(Training):
    """With R = 2 r0/lambda0 and the norms at the start, the flow cannot leave the ball of radius R
    in which sigma_min(Z) >= lambda0/2: the loss falls at least like exp(-lambda0^2 t/2), and the
    path is shorter than R. From the path length under a PL inequality (Sections 2.5, 2.6) and
    |Z - Z'| <= |X| (|U - U'|/m + |W - W'| |U'|/m^2). It rests on the gradient in u alone, which is
    Z r at kinks, too.
    """

    id = "hieu2022/path"
    title = "Linear rate of the gradient flow, a condition without radii"
    cite = cite("Sections 2.5, 2.6 and Lemma 3.3.4", "our corollary")
    uses = ("hieu2022/pl", "hieu2022/lem3.3.4", "hieu2022/lem3.3.6")
    dynamics = (FLOW,)
    searches = (Search("largest scale of the labels", ("y",), smaller_is_easier=True),)

    room = Check(
        "room for Z",
        "X*(R/m + norm_U*(2*norm_A + 2 + R)*R/m^2) <= lambda0/2",
        "path condition",
    )
    rate = Check(
        "loss below its exponential",
        "gap/gap_0 <= exp(-lambda0^2*t/2)",
        "path condition",
        decays=True,
    )
    short = Check("the path is short", "length < R", "path condition")

    def radius(self, p: Problem) -> Measured:
        return 2 * p.start.residual / p.start.sigma_min_Z

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from self.independence(p)
        if p.start.sigma_min_Z.high <= 0:
            return
        yield self.room(**{**at_start(p), "R": self.radius(p)})

    def quantities(self, p: Problem) -> dict[str, Measured]:
        return {"R": self.radius(p), "rate": p.start.sigma_min_Z**2 / 2}

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        yield self.decay(self.rate, run, lambda0=p.start.sigma_min_Z)
        yield self.features(p, run)
        if np.any(run.gradient):
            yield self.short.along(run, length=path_length(run), R=self.radius(p))
