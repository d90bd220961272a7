"""Section 3.2: the width that (8) needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.frequency import happened
from deqcheck.theorems.ling2022.common import cite, contractive
from deqcheck.theorems.ling2022.condition import EQ8, Condition, condition
from deqcheck.theorems.ling2022.draws import draw
from deqcheck.theorems.ling2022.setting import Problem, State
from deqcheck.theorems.ling2022.thm2 import RISK, WideEnough


class WidthOf8(WideEnough):
    """Printed: under Assumptions 1 and 2, for widths of the order (n/lambda_star)^2
    log(n/(lambda_star t)) with a constant C, (8) holds with probability 1 - t for some delta. It is
    the easier the smaller delta is, so what is drawn is (8) for delta = 0. Corrected: for any
    |W(0)| < 1 and any delta, the left side of (8) over its right side is at most sqrt(lambda_0)
    (1 - rho_w)^2/(4 (2 + sqrt2) n rho_a r_0), because lambda_0 <= c_a^2 |X|_F^2/n and c_w^2 + c_u^2
    = c_u^2 (1 + c_a^2); r_0 and the numbers cancel. So (8) needs lambda_0 >= (4 (2 + sqrt2) n rho_a
    r_0/(1 - rho_w)^2)^2 > 186 n^2 rho_a^2 r_0^2.
    """

    id = "ling2022/sec3.2-eq8"
    title = "The width that (8) needs"
    cite = cite("Section 3.2", "(8)")
    dynamics = (STATIC,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    uses = ("ling2022/thm2", "ling2022/sec3.2-c", "ling2022/sec3.2-a", "ling2022/sec3.2-phi")
    with_a = True
    # No constant makes it true: the default is one at which it is easily seen.
    defaults = {"t": RISK, "C": 1.0}
    constants = {**WideEnough.constants, "C": "constant of the order of the width (default 1)"}
    erratum = (
        "(8) needs lambda_0 > 186 n^2 rho_a^2 r_0^2, and lambda_0 is at most the mean of the "
        "|z_i|^2, about m/(1 - sigma_w^2) < 8 m/7. With r_0^2 = 2 Phi(0) of order n and rho_a near "
        "1 that is a width of the order n^3 at least, whatever lambda_star: no constant C makes "
        "(n/lambda_star)^2 log(n/(lambda_star t)) enough for orthogonal samples, whose lambda_star "
        "does not depend on n."
    )

    cap = Check(
        "the ratio of (8) is capped",
        "lambda_0*n*rho_a^2 <= (1 - rho_w)^2*(c_w^2 + c_u^2)*F^2",
        "(8), simplified",
    )

    @property
    def counted(self) -> bool:
        return self.printed

    def constants_used(self, p: Problem) -> Mapping[str, float]:
        return super().constants_used(p) if self.printed else {}

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        return self.width_hypotheses(p) if self.printed else contractive(p)

    def trial(self, p: Problem, seed: int) -> bool | None:
        state = p.model.at(draw(p, seed, self.id))
        if not state.q.high < 1:
            return False
        left, right = EQ8.formula.sides(condition(state).values(0.0))
        return happened(left, ">=", right)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        """Over rho_a^2 the right side is (1 + c_a^2) F^2: the cap is tightest for delta = 0."""
        if not self.printed and state.q.high < 1:
            yield self.cap(n=p.model.n, **condition(state).values(0.0))

    def quantities(self, p: Problem) -> dict[str, Measured]:
        """lambda_0 must be this large at least."""
        if self.printed or not p.start.q.high < 1:
            return {}
        return {"lambda_0_needed": needed(condition(p.start), p.model.n)}


def needed(at: Condition, n: int) -> Measured:
    """(4 (2 + sqrt2) n rho_a r_0/(1 - rho_w)^2)^2 for delta = 0."""
    least = Check("", "0 <= 4*(2 + sqrt(2))*n*rho_a*r_0/(1 - rho_w)^2")
    return least.right({"n": n, **at.values(0.0)}) ** 2
