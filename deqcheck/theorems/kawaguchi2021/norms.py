"""Norm lemmas: the tightness remark of appendix A.1, and A.1.7."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import scipy

from deqcheck.linalg.errors import norm1
from deqcheck.models.delm.state import DelmState
from deqcheck.records.claim import Claim
from deqcheck.records.comparison import Decision
from deqcheck.records.measured import EPS, Measured
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.kawaguchi2021.bounds import cite
from deqcheck.theorems.kawaguchi2021.setting import Problem, Statement


class Norms(Statement):
    """Column sums of softmax(A) are 1, so U is diagonally dominant by 1 - gamma in every column,
    and ||U^-1||_1 = 1/(1 - gamma), ||U||_1 <= 1 + gamma, ||Z||_1 <= ||B||_1/(1 - gamma), whatever A
    is. The last one is an equality where the columns of B are equal, and is judged as one there.
    """

    id = "kawaguchi2021/norms"
    title = "Norms of U and of its inverse"
    cite = cite("Appendices A.1 and A.1.7")
    models = ("delm",)
    dynamics = (STATIC,)

    inverse = Check("norm of the inverse", "norm1_U_inverse == 1/(1-gamma)", "A.1")
    equal = Check("equal column sums of the inverse", "smallest_sum == 1/(1-gamma)", "A.1")
    sums = Check("column sums of U", "smallest_sum_U == 1-gamma", "A.1")
    resolvent = Check("norm of U", "norm1_U == 1 + gamma*(1 - 2*min_S)", "A.1.7")
    below = Check("norm of U at most 1 + gamma", "norm1_U <= 1 + gamma", "A.1.7")
    # Of a saturated softmax: the difference of the two sides, with nothing to cancel.
    saturated = Check("norm of U at most 1 + gamma", "2*gamma*min_S >= 0", "A.1.7")
    effective = Check("norm of Z", "(1-gamma)*norm1_Z <= norm1_B", "A.1.7")
    attained = Check("norm of Z, columns of B equal", "(1-gamma)*norm1_Z == norm1_B", "A.1.7")

    def claims(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        g, m = p.model.gamma, p.model.m
        inverse = scipy.linalg.lu_solve(state.lu, np.eye(m))
        relative = 8 * EPS * m * (1 + g) / (1 - g)
        U_sums = state.U.sum(axis=0)
        # Columns of S are nonnegative and add up to 1; the denominators of softmax are sums of m.
        softmax = (8 + m) * EPS
        norm_U = norm1(state.U, softmax)
        yield self.inverse(norm1_U_inverse=norm1(inverse, relative / (1 - g)), gamma=g)
        yield self.sums(smallest_sum_U=Measured(float(U_sums.min()), 8 * EPS * m), gamma=g)
        share = float(np.diag(state.S).min())
        yield self.resolvent(norm1_U=norm_U, gamma=g, min_S=Measured(share, softmax))
        plain = self.below(norm1_U=norm_U, gamma=g)
        if plain.judge().decision is Decision.UNDECIDED:
            # Each entry of S is known relatively to itself; the exponent rounds once.
            spread = float(np.ptp(state.A, axis=0).max())
            min_S = Measured(share, (16 + m + spread) * EPS * share)
            plain = self.saturated(gamma=g, min_S=min_S)
        yield plain
        # Then Z = B/(1 - gamma), as 1^T U = (1 - gamma) 1^T.
        equal = bool((np.ptp(state.B, axis=1) == 0).all())
        yield (self.attained if equal else self.effective)(
            norm1_Z=state.measure("norm1.Z"), norm1_B=state.measure("norm1.B"), gamma=g
        )

    def remarks(self, p: Problem, run: Trajectory | None) -> Iterable[Claim]:
        """The bound of A.1 is attained by every column."""
        g, m = p.model.gamma, p.model.m
        sums = scipy.linalg.lu_solve(p.start.lu, np.eye(m)).sum(axis=0)
        error = 8 * EPS * m * (1 + g) / (1 - g) * float(sums.max())
        yield self.equal(smallest_sum=Measured(float(sums.min()), error), gamma=g)
