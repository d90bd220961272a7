"""Condition 1: for which delta it holds, and why it cannot under Assumption 1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from deqcheck.records.claim import Claim
from deqcheck.records.comparison import Decision
from deqcheck.records.measured import Measured, measured
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.ling2022.common import EDGE, cite, contractive, feasibility
from deqcheck.theorems.ling2022.condition import EQ7, EQ8, EQ9, Condition, condition
from deqcheck.theorems.ling2022.draws import draw
from deqcheck.theorems.ling2022.setting import Problem, State
from deqcheck.theorems.ling2022.thm2 import RISK, WideEnough

# The cap is checked at this number of delta, and at the best one.
GRID = 40
POSITIVE = Check("the Gram matrix is positive", "lambda_0 > 0", "(9)")


class Condition1(WideEnough):
    """Condition 1: (7), (8) and (9) hold for some delta > 0 with |W(0)| + delta < 1. The corrected
    edition is the condition itself, at these parameters: met or not met by the delta that comes
    nearest to it. The printed one is the claim of section 3.2 that under Assumptions 1 and 2, for
    widths of the order (n/lambda_star)^2 log(n/(lambda_star t)) with a constant C, it is met with
    probability 1 - t. It is not (Proposition F): for any parameters and any delta, lambda_0 /
    (right side of (9)) is at most c_a^2/(4 n c_u^2 (1 + c_a^2)), so (9) needs |a(0)| < (1 -
    |W(0)|)/(2 sqrt n), while |a(0)| tends to 1.
    """

    id = "ling2022/condition1"
    uses = (
        "ling2022/thm2",
        "ling2022/sec3.2-c",
        "ling2022/sec3.2-a",
        "ling2022/sec3.2-phi",
        "ling2022/sec3.2-eq8",
    )
    title = "Condition 1 and its feasibility"
    cite = cite("Condition 1 and section 3.2", "(7)-(9)")
    dynamics = (STATIC,)
    soundness = "vacuous"
    editions = (PRINTED, CORRECTED)
    condition_in = (CORRECTED,)
    with_a = True
    # No constant makes it true: the default is one at which it is easily seen.
    defaults = {"t": RISK, "C": 1.0}
    constants = {**WideEnough.constants, "C": "constant of the order of the width (default 1)"}
    erratum = (
        "In (9) the width cancels: lambda_0 grows like m lambda_star with lambda_star < 8/7, and "
        "4 c_w^2 |X|_F^2 like 8 m n/(1 - rho_w)^4. Since lambda_0 <= c_a^2 |X|_F^2/n, (9) needs "
        "|a(0)| < 1/(2 sqrt n), which under Assumption 1 has probability at most 0.7275^m. For n = "
        "5, d = 10, sigma_w^2 = 0.02 the best ratio of (9) is 1.1e-3 at m = 1600 and at m = 3200. "
        "(8) contradicts the width, too: its ratio grows like sqrt(m) (lambda_star/n)^1.5, so that "
        "it needs m of the order (n/lambda_star)^3. "
        "Starting from a(0) = 0 with small labels or a large U repairs it."
    )

    eq7, eq8, eq9 = EQ7, EQ8, EQ9
    # Because lambda_0 <= ||Z||_F^2/n <= c_a^2 F^2/n.
    cap = Check(
        f"the ratio of (9) is capped (worst of {GRID + 1} delta)",
        "lambda_0/(4*(c_w^2 + c_u^2)*F^2) <= c_a^2/(4*n*c_u^2*(1 + c_a^2))",
        "Proposition F",
    )

    @property
    def counted(self) -> bool:
        return self.printed

    def constants_used(self, p: Problem) -> Mapping[str, float]:
        if self.printed:
            return super().constants_used(p)
        return {"delta": condition(p.start).best} if p.start.q.high < 1 else {}

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        return self.width_hypotheses(p) if self.printed else contractive(p)

    def trial(self, p: Problem, seed: int) -> bool | None:
        state = p.model.at(draw(p, seed, self.id))
        if not state.q.high < 1:
            return False
        best = condition(state).worst(condition(state).best)
        return None if abs(best) < EDGE else best > 0

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if self.printed or not state.q.high < 1:
            return
        found = condition(state)
        claims = self._claims(found, found.best)
        if any(claim.decided().decision is not Decision.HOLDS for claim in claims):
            claims = self._claims(found, _hardest(found))
        yield from claims

    def _claims(self, at: Condition, delta: float | Measured) -> list[Claim]:
        told = f"at the best delta, {measured(delta).value:.4g}"
        return [check(told, **at.values(delta)) for check in (self.eq7, self.eq8, self.eq9)]

    def remarks(self, p: Problem, run: Trajectory | None) -> Iterable[Claim]:
        """Proposition F, on a grid."""
        if self.printed or not p.start.q.high < 1:
            return
        found = condition(p.start)
        room = 1 - float(p.start.q.high)
        grid = [found.best, *np.geomspace(1e-12 * room, room * (1 - 1e-6), GRID)]
        claims = [self._cap(p, found, float(delta)) for delta in grid]
        # With U = 0 both sides are 0.
        yield max(claims, key=lambda c: c.left.value / c.right.value if c.right.value else np.inf)

    def _cap(self, p: Problem, at: Condition, delta: float) -> Claim:
        return self.cap(f"at delta = {delta:.4g}", n=p.model.n, **at.values(delta))

    def quantities(self, p: Problem) -> dict[str, Measured]:
        if self.printed or not p.start.q.high < 1:
            return {}
        at = condition(p.start)
        found = {f"ratio_{7 + i}": r for i, r in enumerate(at.ratios(at.measured_best()))}
        window = at.measured_window()
        if window is not None:
            found |= {"delta_low": window[0], "delta_high": window[1]}
        return found

    def notes(self, p: Problem) -> Iterable[str]:
        if self.printed or not p.start.q.high < 1:
            return
        at = condition(p.start)
        yield feasibility(at)
        n = p.model.n
        limit = (1 - at.q.value) / (2 * np.sqrt(n))
        if at.norm_a.value >= limit:
            tiny = 1e-12 * (1 - at.q.value)
            ratio = np.exp(at.log_ratios(tiny)[2])
            cap = self.cap.right({"n": n, **at.at(tiny)})
            yield (
                f"by Proposition F (9) needs |a(0)| < {limit:.4g}, and it is "
                f"{at.norm_a.value:.4g}: lambda_0 is {ratio:.3g} times the right side of "
                f"(9) at most, and no width makes that more than {cap.value:.3g}"
            )


def _hardest(at: Condition) -> float | Measured:
    """Every delta that may be the best one if lambda_0 is at the upper end of its bar: if one of
    the inequalities fails at all of them, the condition holds for no delta. With lambda_0 = 0 (9)
    fails for each."""
    if POSITIVE(lambda_0=at.lambda_0).decided().decision is Decision.VIOLATED:
        return at.best
    return replace(at, lambda_0=Measured(float(at.lambda_0.high))).measured_best()
