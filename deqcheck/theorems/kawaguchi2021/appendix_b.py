"""Appendix B: what dominates the step as gamma tends to 1."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import scipy

from deqcheck.models.delm.spectrum import block_scalars
from deqcheck.models.delm.state import DelmState
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.kawaguchi2021.bounds import cite
from deqcheck.theorems.kawaguchi2021.setting import Problem, Statement
from deqcheck.theorems.kawaguchi2021.thm2 import TrustRegion

# The remainder at the second value of gamma is compared with that at the first.
GAMMAS = (1 - 1e-3, 1 - 1e-5)


class AppendixB(Statement):
    """The step is V = -r^T U^-1. As gamma -> 1, U^-T r splits into a multiple of 1 that grows like
    1/(1 - gamma) and a bounded rest. Printed: the multiple is the mean of r. Corrected: it is
    pi . r with S pi = pi, sum(pi) = 1, an oblique projection.
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
        "at gamma = .9, .99, .999. The oblique projection pi . r, S pi = pi, is the right one."
    )

    one_output = Check("one output", "my == 1", "Appendix B")
    step = Check("the step is -r^T U^-1", "deviation <= noise", "(37)")
    rest = Check("the rest stays bounded as gamma -> 1", "rest_nearer <= 2*rest", "Appendix B")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.one_output(my=p.model.my)

    def claims(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        if p.model.my != 1:
            return
        region = TrustRegion.at(state)
        r = region.delta * block_scalars(state) * scipy.linalg.lu_solve(state.lu, region.q)
        off = region.v + scipy.linalg.lu_solve(state.lu, r, trans=1)
        relative = 64 * EPS * p.model.m * state.measure("cond1_U").value
        yield self.step(
            deviation=float(np.linalg.norm(off)),
            noise=relative * float(np.linalg.norm(region.v)),
        )
        r = r / float(np.linalg.norm(r))
        far, near = (_rest(state.S, r, g, self.printed) for g in GAMMAS)
        yield self.rest(rest=far, rest_nearer=near)


def stationary(S: np.ndarray) -> np.ndarray:
    """pi with S pi = pi and sum(pi) = 1 (S has positive entries, so it is unique)."""
    m = len(S)
    system = np.vstack([S - np.eye(m), np.ones(m)])
    pi = np.linalg.lstsq(system, np.append(np.zeros(m), 1.0), rcond=None)[0]
    return np.asarray(pi / pi.sum())


def _rest(S: np.ndarray, r: np.ndarray, gamma: float, printed: bool) -> Measured:
    """|U^-T r - c 1/(1 - gamma)| as |U^-T (r - c 1)|, since U^-T 1 = 1/(1 - gamma)."""
    share = float(r.mean()) if printed else float(stationary(S) @ r)
    rest = np.linalg.solve((np.eye(len(S)) - gamma * S).T, r - share)
    noise = 64 * EPS * len(S) / (1 - gamma)
    return Measured(float(np.linalg.norm(rest)), noise * (1 + float(np.linalg.norm(rest))))
