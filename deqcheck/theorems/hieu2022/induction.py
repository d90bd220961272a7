"""The induction of Section 3.3.3: Hypotheses 1 and 3 along a run of gradient descent, and the
states of its first steps."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from functools import partial
from weakref import WeakKeyDictionary

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg import errors
from deqcheck.models.memory import Memory
from deqcheck.models.problem import Params
from deqcheck.records.claim import Curve
from deqcheck.records.comparison import compare
from deqcheck.records.measured import EPS, Measured, stack
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import Check
from deqcheck.theorems.hieu2022.common import PARAMETERS, MonotoneStatement
from deqcheck.theorems.hieu2022.setting import Problem, State

# Steps whose states are made once more, and those of models with more than so many flops for each.
REPLAYED, FEW, LARGE = 100, 20, 1e6


@dataclass(frozen=True)
class Point:
    """A state of the run, and how far each parameter may be from that of the true run."""

    k: int
    state: State
    slip: Mapping[str, float]

    def slip_of_W(self) -> float:
        A = errors.length(self.state.A)
        return 2 * (A + self.slip["A"]) * self.slip["A"] + 2 * self.slip["B"]

    def slip_of_Z(self) -> float:
        """Lemma 3.3.4 for the parameters' own uncertainty, and the error of the equilibrium."""
        s = self.state
        X, U = errors.length(s.X), errors.length(s.U)
        moved = self.slip["U"] / s.m + self.slip_of_W() * (U + self.slip["U"]) / s.m**2
        return s.equilibrium.error + X * moved

    def moved(self, name: str, start: Params) -> Measured:
        """|P(k) - P(0)|_F."""
        return errors.frobenius(self.state.theta[name] - start[name], self.slip[name])


class Induction(MonotoneStatement):
    """Hypothesis 3 is asked for k' = 1, ..., k, and what is claimed is about k + 1: k = 0 asks for
    nothing. Judged is the first part of the run, as far as the hypothesis is known to hold."""

    so_far = Check(
        "Hypothesis 3, the loss so far",
        "gap <= (1 - step*lambda0^2/4)^k*gap_0",
        "(3.20)",
        starts_equal=True,
    )

    def lambda0(self, p: Problem) -> Measured:
        return p.start.sigma_min_Z

    def reach(self, p: Problem, run: Trajectory) -> int:
        """k + 1 for the largest k <= last - 1 such that Hypothesis 3 holds for k' = 1, ..., k."""
        factor = 1 - p.step * self.lambda0(p) ** 2 / 4
        if not factor.low > 0:
            return 1
        bound = factor ** Measured(run.k.astype(float)) * run.gap[0]
        holds = compare(run.gap, "<=", bound)[0]
        holds[0] = True
        known = len(holds) if holds.all() else int(np.argmin(holds))
        return min(known, len(run.k) - 1)

    def hypothesis_3(self, p: Problem, run: Trajectory) -> Iterable[Curve]:
        """On the part that is judged, where it holds; k = 0 asks for nothing."""
        part = slice(0, self.reach(p, run))
        if part.stop > 1:
            values = {"gap": run.gap[part], "gap_0": run.gap[0], "lambda0": self.lambda0(p)}
            yield self.so_far.sampled(run.k[part], run.t[part], step=p.step, **values)


class Replay:
    """The states of the first steps of a run, made once for all statements that ask for them."""

    def __init__(self, p: Problem, run: Trajectory):
        self._memory, self._theta, self._found = Memory(), p.theta0, list[Point]()
        self._problem, self._slips = p, partial(_slips, weakref.proxy(run))

    def until(self, last: int) -> list[Point]:
        """Those of the steps 0, ..., last, as far as the parameters are known."""
        while len(self._found) <= last:
            k, theta = len(self._found), self._theta
            slip = self._slips(k, theta)
            if not all(np.isfinite(list(slip.values()))):
                break
            state = self._problem.model.at(theta, self._memory)
            self._found.append(Point(k, state, slip))
            step, g = self._problem.step, state.gradient
            self._theta = {name: theta[name] - step * g[name] for name in theta}
        return self._found[: last + 1]


_REPLAYS: WeakKeyDictionary[Trajectory, Replay] = WeakKeyDictionary()


def replay(p: Problem, run: Trajectory, last: int) -> list[Point]:
    """The states of the steps 0, ..., last, of at most REPLAYED (or FEW) steps, as far as the
    parameters are known; and that of the end of the run, if `last` is its last step."""
    s = p.start
    most = REPLAYED if s.n**2 * (s.n + s.N) <= LARGE else FEW
    known = _REPLAYS.setdefault(run, Replay(p, run))
    found = known.until(min(last, most))
    if last > most and last == run.k[-1] and len(found) > most:
        slip = _slips(run, last, run.final)
        if all(np.isfinite(list(slip.values()))):
            found.append(Point(last, p.model.at(run.final), slip))
    return found


def _slips(run: Trajectory, k: int, theta: Params) -> dict[str, float]:
    """The errors that the run gathered until the next recorded distances; none at the start."""
    if k == 0:
        return dict.fromkeys(PARAMETERS, 0.0)
    found = {}
    for name in PARAMETERS:
        series = run.distance[name]
        at = min(int(np.searchsorted(series.k, k)), len(series.k) - 1)
        own = 4 * EPS * errors.length(theta[name])
        found[name] = float(series.value.error[at]) + own
    return found


def largest_so_far(values: list[Measured]) -> Measured:
    """Of numbers along a run: the largest until each, ends apart."""
    every = stack(values)
    high = np.maximum.accumulate(every.high)
    low = np.maximum.accumulate(every.low)
    value = np.maximum.accumulate(every.value)
    return Measured(value, np.maximum(high - value, value - low))
