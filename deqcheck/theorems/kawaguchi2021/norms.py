"""Norm lemmas: the tightness remark of appendix A.1, and A.1.7."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from deqcheck.models.delm.state import DelmState
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS
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
        found, g = state.matrices, state.matrices.gamma
        norm_U, min_S = found.U.norm1(), found.S.diagonal().smallest()
        yield self.inverse(norm1_U_inverse=found.inverse.norm1(), gamma=g)
        yield self.sums(smallest_sum_U=(found.ones @ found.U).smallest(), gamma=g)
        yield self.resolvent(norm1_U=norm_U, gamma=g, min_S=min_S)
        plain = self.below(norm1_U=norm_U, gamma=g)
        if plain.left.low <= plain.right.high and plain.right.low < plain.left.high:
            # Each entry of S is known relatively to itself; the exponent rounds once.
            spread = float(np.ptp(state.A, axis=0).max())
            error = (16 + p.model.m + spread) * EPS * min_S.value
            plain = self.saturated(gamma=g, min_S=replace(min_S, error=error))
        yield plain
        # Then Z = B/(1 - gamma), as 1^T U = (1 - gamma) 1^T.
        equal = bool((np.ptp(state.B, axis=1) == 0).all())
        yield (self.attained if equal else self.effective)(
            norm1_Z=state.measure("norm1.Z"), norm1_B=state.measure("norm1.B"), gamma=g
        )

    def remarks(self, p: Problem, run: Trajectory | None) -> Iterable[Claim]:
        """The bound of A.1 is attained by every column."""
        found = p.start.matrices
        yield self.equal(smallest_sum=(found.ones @ found.inverse).smallest(), gamma=found.gamma)
