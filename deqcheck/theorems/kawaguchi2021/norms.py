"""Norm lemmas of appendix A.1 and the tightness remark A.1.7."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import scipy

from deqcheck.linalg.errors import norm1
from deqcheck.models.delm.state import DelmState
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.kawaguchi2021.bounds import cite
from deqcheck.theorems.kawaguchi2021.setting import Problem, Statement


class Norms(Statement):
    """Column sums of softmax(A) are 1, so 1^T U = (1 - gamma) 1^T and U^-1 >= 0 has all column sums
    equal to 1/(1 - gamma), whatever A is.
    """

    id = "kawaguchi2021/norms"
    title = "Norms of U and of its inverse"
    cite = cite("Appendix A.1", "A.1.7")
    models = ("delm",)
    dynamics = (STATIC,)

    inverse = Check("norm of the inverse", "norm1_U_inverse == 1/(1-gamma)", "A.1")
    equal = Check("equal column sums of the inverse", "smallest_sum == 1/(1-gamma)", "A.1")
    sums = Check("column sums of U", "smallest_sum_U == 1-gamma", "A.1")
    resolvent = Check("norm of U", "norm1_U == 1 + gamma*(1 - 2*min_S)", "A.1.7")
    below = Check("norm of U below 1 + gamma", "norm1_U < 1 + gamma", "A.1.7")
    effective = Check("norm of Z", "norm1_Z <= norm1_B/(1-gamma)", "A.1")

    def claims(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        g, m = p.model.gamma, p.model.m
        inverse = scipy.linalg.lu_solve(state.lu, np.eye(m))
        relative = 8 * EPS * m * (1 + g) / (1 - g)
        sums = inverse.sum(axis=0)
        U_sums = state.U.sum(axis=0)
        # Columns of S are nonnegative and add up to 1; the denominators of softmax are sums of m.
        softmax = (8 + m) * EPS
        norm_U = norm1(state.U, softmax)
        yield self.inverse(norm1_U_inverse=norm1(inverse, relative / (1 - g)), gamma=g)
        yield self.equal(
            smallest_sum=Measured(float(sums.min()), relative * float(sums.max())), gamma=g
        )
        yield self.sums(smallest_sum_U=Measured(float(U_sums.min()), 8 * EPS * m), gamma=g)
        smallest = Measured(float(np.diag(state.S).min()), softmax)
        yield self.resolvent(norm1_U=norm_U, gamma=g, min_S=smallest)
        yield self.below(norm1_U=norm_U, gamma=g)
        yield self.effective(
            norm1_Z=state.measure("norm1.Z"), norm1_B=state.measure("norm1.B"), gamma=g
        )
