"""Appendix B: what dominates the step as gamma tends to 1."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg import exact
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.late import scipy
from deqcheck.models.delm import oracle
from deqcheck.models.delm.spectrum import block_scalars
from deqcheck.models.delm.state import DelmState
from deqcheck.models.delm.trust import TrustRegion
from deqcheck.records.claim import Claim
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured, given, vanishing
from deqcheck.records.tower import Again, Level
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.kawaguchi2021 import chains
from deqcheck.theorems.kawaguchi2021.bounds import cite
from deqcheck.theorems.kawaguchi2021.exact_split import ExactSplit
from deqcheck.theorems.kawaguchi2021.setting import Problem, Statement


@dataclass(frozen=True, eq=False)
class Split:
    """r of (37) at one state, and the limits of the parts of U^-T r as gamma -> 1, r and S held."""

    state: DelmState

    @cached_property
    def region(self) -> TrustRegion:
        return TrustRegion.at(self.state)

    @cached_property
    def r(self) -> np.ndarray:
        """delta S_t U^-1 q: D = U^-T S_t U^-1 for one output."""
        weighted = block_scalars(self.state) * scipy.linalg.lu_solve(self.state.lu, self.region.q)
        found: np.ndarray = self.region.delta * weighted
        return found

    @cached_property
    def r_error(self) -> float:
        """Of every entry of r: rounding, amplified by cond_1(U), and the error of q."""
        model, S = self.state.model, self.region.delta * block_scalars(self.state)
        amplified = 64 * EPS * model.m * self.state.measure("cond1_U").value
        amplified *= self.state.curved.cancelled
        moved = float(S.max()) * self.state.outer.gradient_error / (1 - model.gamma)
        return float(amplified * np.abs(self.r).max() + math.sqrt(model.m) * moved)

    @cached_property
    def again(self) -> ExactSplit | None:
        """Where the loss can be computed again."""
        Q = self.state.exact_Q
        return ExactSplit(self.state.again, Q, self.region.delta) if Q else None

    @cached_property
    def pi(self) -> np.ndarray:
        return chains.stationary(self.state.S)

    @cached_property
    def relative(self) -> float:
        return chains.relative_error(self.state.A)

    def growth(self) -> Measured:
        """|pi . q| for q = (I - P_1) r: U^-T q is that times 1/(1 - gamma), and bounded terms."""
        if chains.doubly_stochastic(self.state.A):
            return given(0)
        q = self.r - self.r.mean()
        error = self.relative * float(self.pi @ np.abs(q)) + 2 * self.r_error
        return Measured(
            abs(float(self.pi @ q)), error, again=self.again.growth if self.again else None
        )

    def uneven(self) -> Measured:
        """max_k |pi_k - 1/m|: 0 where every q in the range of I - P_1 has a bounded U^-T q."""
        if chains.doubly_stochastic(self.state.A):
            return given(0)
        off = float(np.abs(self.pi - 1 / len(self.pi)).max())
        error = self.relative * float(self.pi.max()) + EPS
        return Measured(off, error, again=chains.exact_unevenness(self.state.again.S))

    @cached_property
    def multiple(self) -> Measured:
        """|pi . r|: U^-T r is that times 1/(1 - gamma) in every entry, and a bounded rest."""
        error = self.relative * float(self.pi @ np.abs(self.r)) + self.r_error
        node = self.again.multiple if self.again else None
        return Measured(abs(float(self.pi @ self.r)), error, again=node)

    @cached_property
    def q(self) -> np.ndarray:
        """r - (pi . r) 1."""
        found: np.ndarray = self.r - float(self.pi @ self.r)
        return found

    @cached_property
    def q_error(self) -> float:
        return 2 * self.r_error + self.relative * float(self.pi @ np.abs(self.r))

    @cached_property
    def limit(self) -> Measured:
        """|(I - S)^#T q|_inf."""
        if len(self.q) == 1:
            # I - P_1 = 0: there is no rest.
            return given(0)
        first = int(np.argmax(self.pi))
        x = chains.settled(self.state.S, self.q, first)
        reach = self.relative * np.abs(self.q) + self.q_error
        error = 2 * float(chains.settled(self.state.S, reach, first).max())
        node = self.again.limit if self.again else None
        return Measured(float(np.abs(x - float(self.pi @ x)).max()), error, again=node)

    def rest(self) -> dict[str, Measured]:
        """|U^-T q|_inf, its limit as gamma -> 1, and rounding."""
        if len(self.q) == 1:
            return dict.fromkeys(("rest", "limit", "noise"), given(0))
        gamma = self.state.gamma
        here = float(np.abs(scipy.linalg.lu_solve(self.state.lu, self.q, trans=1)).max())
        lost = 16 * EPS * len(self.q) * (1 + gamma) / (1 - gamma) * here
        lost += self.q_error / (1 - gamma) + 2 * float(self.limit.error)
        return {
            "rest": Measured(here, again=self.again.rest if self.again else None),
            "limit": Measured(self.limit.value, again=self.limit.again),
            "noise": vanishing(lost),
        }


class OneOutput(Statement):
    """The setting of Theorem 2, and weights whose powers can be followed."""

    one_output = Check("one output", "my == 1", "Appendix B")
    smooth = Check("twice differentiable at the outputs", "kink_distance > 0", "Theorem 2")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.one_output(my=p.model.my)
        if p.model.my == 1 and not self.printed:
            distance = p.model.outer.kink_distance(p.start.Z)
            if math.isfinite(distance.value):
                yield self.smooth(kink_distance=distance)

    @staticmethod
    def looked_at(p: Problem) -> bool:
        return p.model.my == 1 and bool(p.start.S.min() >= chains.SMALLEST_ENTRY)

    def unchecked(self, p: Problem) -> Iterable[str]:
        if p.model.my == 1 and not self.looked_at(p):
            yield (
                f"softmax(A) has an entry of {float(p.start.S.min()):.1g}, below "
                f"{chains.SMALLEST_ENTRY:g}: what its powers tend to is out of the range of "
                "numbers. Smaller differences within the columns of A would help"
            )


class AppendixB(OneOutput):
    """For one output the step of Theorem 2 is V = -r^T U^-1, r = delta S_t U^-1 q. With r and S
    held fixed, U^-T r is a multiple of 1 that grows like 1/(1 - gamma) and a rest that stays
    bounded as gamma -> 1.

    Printed, for the square loss: the multiple is the mean of r, and |g_gamma(q)| < c for the rest
    q = (I - P_1) r and all gamma. U^-T q grows like (pi . q)/(1 - gamma), S pi = pi, so this asks
    for pi . q = 0. "For any q in its domain" can be read of this q alone or of every q with mean 0;
    judged is this q, because a claim that fails for it fails in both readings. A remark tells of
    the other: there pi must be uniform, S doubly stochastic.

    Corrected, for any loss with a second derivative at the outputs: the multiple is pi . r, and
    for every gamma in (0, 1) the rest is at most c = 2 |(I - S)^#T q|_inf, q = r - (pi . r) 1, with
    the group inverse of I - S: U^-T q = x - (1 - gamma) U^-T S^T x for its x, and
    |U^-T|_inf = 1/(1 - gamma).
    """

    id = "kawaguchi2021/appB"
    title = "The step's direction as gamma tends to 1"
    cite = cite("Appendix B", "(37)")
    models = ("delm",)
    dynamics = (STATIC,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The orthogonal projection on 1 is right only for doubly stochastic S. For "
        "S = [[.9,.9],[.1,.1]] and r = (1,-1) the mean of r is 0, yet |U^-T r| = 10.3, 112, 1130 "
        "at gamma = .9, .99, .999. The oblique projection pi . r, S pi = pi, is the right one. The "
        "printed decomposition of vec V also loses the sign of (37), taken here as a misprint, and "
        "r itself depends on gamma, which the text holds fixed."
    )
    uses = ("kawaguchi2021/thm2", "kawaguchi2021/norms")

    square = Check("square loss", "is_square == 1", "Appendix B")
    step = Check("the step is -r^T U^-1", "deviation <= noise", "(37)")
    perron = Check("every other eigenvalue of S is at most 1 - common", "common > 0", "Appendix B")
    orthogonal = Check("the rest stays bounded as gamma -> 1", "growth == 0", "Appendix B, this q")
    oblique = Check(
        "the rest stays bounded as gamma -> 1", "rest <= 2*limit + noise", "Appendix B, corrected"
    )
    uniform = Check("the rest of every r stays bounded", "uneven == 0", "Appendix B, every q")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from super().hypotheses(p)
        if self.printed:
            yield self.square(is_square=int(p.loss == "square"))

    def claims(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        if p.model.my != 1:
            return
        split = Split(state)
        yield self.step(**_step(split))
        if not self.looked_at(p):
            return
        if p.model.m > 1:
            # |lambda_k| <= 1 - sum_i min_j S_ij for every eigenvalue but one (Doeblin).
            common = float(state.S.min(axis=1).sum())
            node = Again(_common, state.again.S)
            yield self.perron(common=Measured(common, split.relative * common, again=node))
        if self.printed:
            yield self.orthogonal(growth=split.growth())
        else:
            yield self.oblique(**split.rest())

    def remarks(self, p: Problem, run: Trajectory | None) -> Iterable[Claim]:
        if self.printed and self.looked_at(p):
            yield self.uniform(uneven=Split(p.start).uneven())


def _common(level: Level, S: Any) -> Any:
    """sum_i min_j S_ij."""
    rows = (exact.column(level, S.transpose(), i) for i in range(S.nrows()))
    found = level.rational(Fraction(0))
    for row in rows:
        found = level.plus(found, exact.smallest(level, row))
    return found


def _step(split: Split) -> dict[str, float]:
    """delta dZ/dt by the chain rule, from (22), against -r^T U^-1."""
    state, delta = split.state, split.region.delta
    slopes = oracle.columns(state, state.Q)
    V = -delta * oracle.tangent(state, slopes)[0]
    claimed = -scipy.linalg.lu_solve(state.lu, split.r, trans=1)
    relative = 64 * EPS * state.m * state.measure("cond1_U").value ** 2 * state.curved.cancelled
    return {
        "deviation": euclidean(V - claimed),
        "noise": relative * euclidean(claimed),
    }
