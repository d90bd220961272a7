"""Sections 5 and 7: "Theorem 4.4 allows the step 1/N", and what it allows at most."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from deqcheck.linalg.matrix import instance
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check, Constant
from deqcheck.theorems.gao2022.bounds import C, cite
from deqcheck.theorems.gao2022.constants import MOVES, Chosen, Program
from deqcheck.theorems.gao2022.setting import Problem, State
from deqcheck.theorems.gao2022.thm4_4 import SMALL_STEP, DescentConditions

# Doubles have no unit vectors but few: samples that were divided by their lengths are this near.
UNIT = 1e-12


class StepClaim(DescentConditions):
    """Printed: for unit samples that meet the conditions of Theorem 4.4 the step may be as large as
    1/N. The paper says both "eta = O(1/N) is enough" (Section 7.3) and "eta = 1/N, i.e. 1e-3"
    (Section 7); judged is the second, with the constant 1, and a refutation speaks of it alone.
    That the step in the paper's runs is "tight" is an observation, and is not judged.
    Corrected: the conditions themselves force the largest admissible step eta2 of (20) to be tiny,
    by sigma_N(Z)^2 <= |Z|_F^2/N and Lemma 3.1: of order N^-3.5 for unit samples whose residual is
    of order sqrt N, which no constant makes O(1/N).
    """

    id = "gao2022/eta-claim"
    title = "How large a step Theorem 4.4 allows"
    cite = cite("Section 7", "step = 1/N, (20)")
    uses = ("gao2022/thm4.4", "gao2022/lem3.1")
    dynamics = (STATIC,)
    searches = ()
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    # Claimed is that some constants will do.
    constants = {name: Constant(doc, above=0) for name, doc in MOVES.items()}
    erratum = (
        "(17) and (19) force eta2 <= (1 - gamma0)/(256 sqrt(c) N^2.5 |X|_F r0): for N = 1000 unit "
        "samples, labels +-1 and b = 0, every admissible step is below 1.3e-13, not 1e-3."
    )

    unit = Check("every sample has length 1", f"deviation <= {UNIT:g}", "Section 7")
    one_over_n = Check(
        "some constants admit the step 1/N", "1/N < eta_sup", "Section 7, any C1, C2, C3"
    )
    F1 = Check(
        "alpha0 is at most its share of |Z|_F",
        "alpha0 <= lambda1*X_fro/((1-gamma0)*sqrt(N))",
        "Lemma 3.1, (35)",
    )
    F2 = Check("the first entry of (20) never counts", "eta2 <= 4/alpha0^2/(8*N)", "(20)")
    F3_balance = Check("lambda1 dominates", f"lambda1 >= 4*sqrt({C}*N)*lambda3", "(19)")
    F3_rate = Check("no step gains much", "eta2*alpha0^2/4 <= 1/(32*N^2)", "(19), (20)")
    F4 = Check(
        "the largest step",
        f"eta2*256*sqrt({C})*N^2.5*X_fro*r0 <= 1-gamma0",
        "(17), (19), (20)",
    )

    def values(self, p: Problem) -> dict[str, Any]:
        return {**super().values(p), "N": p.model.N}

    def choose(self, p: Problem, program: Program) -> Chosen:
        """Printed: the claim is about some constants, so those that suit the step 1/N best."""
        best = super().choose(p, program)
        if not self.printed or best.worst > 0:
            return best
        suited = program.best((*self.conditions(), SMALL_STEP), 1 / p.model.N)
        return suited if suited.worst <= 0 else best

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        if self.printed:
            lengths = np.linalg.norm(p.model.X, axis=1)
            farthest = p.model.X[int(np.argmax(np.abs(lengths - 1)))]
            yield self.unit(deviation=abs(instance(farthest).frobenius() - 1))
        yield from super().hypotheses(p)

    def quantities(self, p: Problem) -> dict[str, Measured]:
        return {**super().quantities(p), "largest_step": self.largest_step(p)}

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if self.printed:
            yield self.one_over_n(N=p.model.N, eta_sup=self.any_step(p))
            return
        values = {**self.values(p), "eta2": self.largest_step(p)}
        for check in (self.F1, self.F2, self.F3_balance, self.F3_rate, self.F4):
            yield check(**values)
