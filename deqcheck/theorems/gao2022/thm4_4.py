"""Theorem 4.4: gradient descent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deqcheck.records.claim import Claim
from deqcheck.records.comparison import Decision
from deqcheck.records.measured import Measured, log, log1p
from deqcheck.theorems.base import DESCENT, Check
from deqcheck.theorems.gao2022.bounds import LAMBDA0, C, StaysClose, TrainedNetwork, cite
from deqcheck.theorems.gao2022.constants import NAMES, Chosen, Program
from deqcheck.theorems.gao2022.setting import Problem

STEP = f"2*(1-gamma0)^2*{C}*lambda3^2/(({C}*lambda3^2 + lambda1^2)^2*X_fro^2)"


SMALL_STEP = Check("the step is small enough", f"step < min(4/alpha0^2, {STEP})", "(20)")
ETA2 = Check("the second entry of the minimum", f"step < {STEP}", "(20)")


class DescentConditions(TrainedNetwork):
    """(17)-(19), and the supremum of the steps that (20) allows under them."""

    first = Check(
        "alpha0 against the residual", f"alpha0^2 >= 8*{LAMBDA0}*X_fro*r0/(1-gamma0)", "(17)"
    )
    second = Check(
        "alpha0 against its drift", f"alpha0^3 >= 16*{C}*lambda3*X_fro^2*r0/(1-gamma0)^2", "(18)"
    )
    third = Check(
        "alpha0 against one step", f"alpha0^2 >= 16*{C}*lambda3^2*X_fro^2/(1-gamma0)^2", "(19)"
    )

    def conditions(self) -> Sequence[Check]:
        return self.first, self.second, self.third

    def largest_step(self, p: Problem) -> Measured:
        """eta2, the second entry of the minimum in (20)."""
        return ETA2.right(self.values(p))

    def any_step(self, p: Problem) -> Measured:
        """The supremum of eta2 over all constants that meet (17)-(19): between its value for those
        at hand and what (19) leaves of it.

        (19) says c lambda3^2 <= alpha0^2 (1 - gamma0)^2/(16 X^2), and eta2 is at most
        2 (1 - gamma0)^2 c lambda3^2/(lambda1^4 X^2); lambda1 > |W| and gamma0 > gamma |A|.
        """
        s = p.start
        shrunk = (1 - s.gamma0) ** 4 / s.measure("norm2.W") ** 4
        high = s.sigma_min_Z**2 * shrunk / (8 * s.X_fro**4)
        return between(self.largest_step(p), high)


def between(low: Measured, high: Measured) -> Measured:
    """A number of which only these two bounds are known."""
    ends = float(low.low), max(float(high.high), float(low.high))
    return Measured((ends[0] + ends[1]) / 2, (ends[1] - ends[0]) / 2, "bracket")


class Theorem44(DescentConditions, StaysClose):
    """If alpha0 is large against lambda0, |X|_F, r0 and lambda3, and the step is small enough,
    gradient descent stays where the network is well-posed, and the loss falls at least like
    (1 - step alpha0^2/4)^k. No differentiability is needed: any derivative of the ReLU at 0 serves.

    lambda1 = |W(0)| + C1, lambda2 = |A(0)| + C2, lambda3 = |b(0)| + C3 with free C1, C2, C3;
    gamma0 = gamma lambda2; alpha0 is the N-th singular value of Z(0); r0 = |yhat(0) - y|.
    """

    id = "gao2022/thm4.4"
    title = "Linear rate of gradient descent"
    cite = cite("Theorem 4.4", "(17)-(20)")
    uses = ("gao2022/proof4.4", "gao2022/one-step")
    dynamics = (DESCENT,)
    erratum = (
        "Slips of the proof, A.6: (38), |relu(X W)| <= lambda1 |X| in the operator norm, is false: "
        "X = I, W = [[1, 1], [1, -1]] gives 1.618 against 1.414; with |X|_F it is true, and that "
        "is used. The brace that names Q2 leaves out |X|_F^2, which the next lines need, and the "
        "brace of Q1 its factor; |X| stands for |X|_F in the drifts of A and Z; W(k) - W(0) for "
        "W(k+1) - W(0)."
    )

    small_step = SMALL_STEP
    some_step = Check(
        "the step is small enough for some constants", "step < eta_sup", "(20), any C1, C2, C3"
    )
    rate = Check("the loss decays", "gap/gap_0 <= (1 - step*alpha0^2/4)^k", "(iii)", decays=True)

    def choose(self, p: Problem, program: Program) -> Chosen:
        """The best for (17)-(19), unless only others leave room for the step of the case."""
        best = super().choose(p, program)
        every = (*self.conditions(), self.small_step)
        if p.step and best.worst <= 0 < max(program.log_ratios(every, best.C, p.step)):
            with_step = program.best(every, p.step)
            if with_step.worst <= 0:
                return with_step
        return best

    def step_hypotheses(self, p: Problem) -> Iterable[Claim]:
        claim = self.small_step(step=p.step, **self.values(p))
        feasible = self.choice(p).worst <= 0
        searched = len(self.fixed) < len(NAMES)
        if feasible and searched and claim.judge().decision is not Decision.HOLDS:
            # These constants meet (17)-(19), and others that do might allow the step.
            claim = self.some_step(step=p.step, eta_sup=self.any_step(p))
        yield claim

    def admissible_step(self, p: Problem) -> Measured:
        # In (20) 4/alpha0^2 is never the least: x/(x + y)^2 <= 1/(4 y) gives eta2 <=
        # (1 - gamma0)^2/(2 lambda1^2 X^2), and alpha0 <= |Z| <= lambda1 X/(1 - gamma0).
        return self.largest_step(p)

    def quantities(self, p: Problem) -> dict[str, Measured]:
        largest = self.admissible_step(p)
        rate = (p.step or largest) * p.start.sigma_min_Z**2 / 4
        return {
            **super().quantities(p),
            "largest_step": largest,
            "rate_per_step": rate,
            "steps_to_1e-6": log(1e6) / -log1p(-rate),
        }
