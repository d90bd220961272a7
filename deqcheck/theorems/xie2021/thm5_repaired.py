"""A repaired Theorem 5: linear rate while the state keeps full rank."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import errors
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import EPS, Measured, given
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import DESCENT, FLOW, Check, Search
from deqcheck.theorems.xie2021.bounds import Bounds
from deqcheck.theorems.xie2021.common import cite, largest_norm
from deqcheck.theorems.xie2021.setting import Problem, Statement


class RepairedRate(Statement):
    """Unrolled OptEq without SAM, N <= m samples. If the residual is small against the smallest
    singular value s0 of the initial state, the loss falls linearly with mu = s0^2/4, because
    |gradient|^2 >= 2 sigma_min(Z)^2 loss and the path is too short for sigma_min(Z) to halve. The
    path that is left at step k is at most 4 |r_k|/s0 (flow: 2 |r|/s0), so that the parameters
    converge with rho (1 - step mu)^(k/2), rho = 4 |r_0|/s0 (flow: rho exp(-mu t), rho = 2
    |r_0|/s0).
    """

    models = ("opteq",)
    dynamics = (DESCENT, FLOW)
    tracks = ("sigma_min_Z",)

    unrolled = Check("the state is Z^K of plain iterations", "other == 0", "setting")
    given = Check("the input is given, not extracted", "extracted == 0", "setting")
    smooth = Check("smooth activation", "kinks == 0", "setting")
    full_rank = Check("the state has independent columns", "sigma_min_Z > 0", "5R")
    small_descent = Check("small residual", "8*B_J*residual <= sigma_min_Z^2", "5R")
    small_flow = Check("small residual for the flow", "4*B_J*residual <= sigma_min_Z^2", "5R")
    nonexpansive = Check("weights stay nonexpansive", "norm_W + rho <= 1", "5R")
    short_step = Check("step at most 1/Q1", "step*Q1 <= 1", "5R")
    rate = Check("linear rate", "gap/gap_0 <= (1 - step*mu)^k", "5R", decays=True)
    flow_rate = Check(
        "exponential rate of the flow", "gap/gap_0 <= exp(-2*mu*t)", "5R", decays=True
    )
    near = Check("parameters stay near", "distance <= rho", "5R")
    limit = Check(
        "parameters near their limit: theta_k against the end",
        "apart <= rho*((1 - step*mu)^(k/2) + (1 - step*mu)^(k_end/2))",
        "5R",
    )
    flow_limit = Check(
        "parameters near their limit: theta(t) against the end",
        "apart <= rho*(exp(-mu*t) + exp(-mu*t_end))",
        "5R",
    )
    kept = Check("the state keeps its rank", "sigma_min_Z >= sigma_0/2", "5R")

    searches = (Search("scale of the output weights and labels", ("Wo", "Y"), True),)

    def _flow(self, p: Problem) -> bool:
        return p.train is not None and p.step == 0

    def _radius(self, p: Problem) -> Measured:
        factor = 2 if self._flow(p) else 4
        rho: Measured = factor * p.start.residual / p.start.sigma_min_Z
        return rho

    def _mu(self, p: Problem) -> Measured:
        mu: Measured = p.start.sigma_min_Z**2 / 4
        return mu

    def _bounds(self, p: Problem) -> Bounds:
        return Bounds(p, self._radius(p))

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        s0 = p.start.sigma_min_Z
        yield self.unrolled(other=p.model.implicit or p.model.fields.sam is not None)
        yield self.given(extracted=p.start.network.extractor is not None)
        yield self.smooth(kinks=len(p.start.network.s.kinks))
        yield self.full_rank(sigma_min_Z=s0)
        small = self.small_flow if self._flow(p) else self.small_descent
        yield small(B_J=self._bounds(p).B_J, residual=p.start.residual, sigma_min_Z=s0)
        yield self.nonexpansive(norm_W=largest_norm(p.start.network), rho=self._radius(p))

    def step_hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.short_step(step=given(p.step), Q1=self._bounds(p).Q1(p.start.residual))

    def admissible_step(self, p: Problem) -> Measured | None:
        return 1 / self._bounds(p).Q1(p.start.residual)

    def quantities(self, p: Problem) -> dict[str, Measured]:
        bounds = self._bounds(p)
        return {
            "mu": self._mu(p),
            "rho": self._radius(p),
            "B_J": bounds.B_J,
            "C_J": bounds.C_J,
            "Q1": bounds.Q1(p.start.residual),
        }

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        common = {"gap": run.gap, "gap_0": run.gap[0], "mu": self._mu(p)}
        if self._flow(p):
            yield self.flow_rate.along(run, **common)
        else:
            yield self.rate.along(run, **common, step=p.step)
        moved = moved_distance(run)
        yield self.near(distance=moved, rho=self._radius(p))
        yield self._limit(p, run)
        series = run.series["sigma_min_Z"]
        yield self.kept.sampled(
            series.k, series.t, sigma_min_Z=series.value, sigma_0=p.start.sigma_min_Z
        )

    def _limit(self, p: Problem, run: Trajectory) -> Curve:
        k, t, apart = apart_from_end(run)
        common = {"apart": apart, "rho": self._radius(p), "mu": self._mu(p)}
        if self._flow(p):
            return self.flow_limit.sampled(k, t, **common, t_end=float(t[-1]))
        return self.limit.sampled(k, t, **common, step=p.step, k_end=float(k[-1]))


def apart_from_end(run: Trajectory) -> tuple[np.ndarray, np.ndarray, Measured]:
    """Steps, times, and a lower bound of |theta_k - theta_end|: what the distances from the start
    differ by, of all parameters together."""
    series = list(run.distance.values())
    values = [abs(one.value - one.value[-1]) for one in series]
    # End by end: a large parameter that is known to few digits must not hide the others.
    low = np.linalg.norm([np.maximum(v.low, 0.0) for v in values], axis=0)
    high = np.linalg.norm([v.high for v in values], axis=0)
    room = 8 * EPS * high
    return series[0].k, series[0].t, Measured((low + high) / 2, (high - low) / 2 + room)


def moved_distance(run: Trajectory) -> Measured:
    """The largest recorded |theta - theta_0|, all parameters together."""
    parts = [series.value for series in run.distance.values()]
    largest = int(np.argmax(np.linalg.norm([part.value for part in parts], axis=0)))
    return errors.together([part[largest] for part in parts])


class Theorem5Repaired(RepairedRate):
    __doc__ = RepairedRate.__doc__

    id = "xie2021/thm5-repaired"
    title = "Linear rate for a state of full rank and a small residual"
    cite = cite("Theorem 5", "repaired (5R)")
    uses = ("xie2021/lem12", "xie2021/jacobian", "xie2021/lem19")
