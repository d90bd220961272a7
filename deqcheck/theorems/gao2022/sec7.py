"""Section 7: theta(0) times a large beta, with gamma fixed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from deqcheck.linalg.matrix import instance
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, between, given, maximum
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.gao2022.bounds import cite, worst
from deqcheck.theorems.gao2022.constants import Program, at_start, with_constants
from deqcheck.theorems.gao2022.setting import Problem, State
from deqcheck.theorems.gao2022.thm4_4 import DescentConditions

# The scales that are tried, as shares of the largest, 1/(gamma |A|), that leaves gamma |A| < 1.
SHARES = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)
# C1 and C2 that are tried, as shares of |W| and of the room for |A|.
PARTS = (0.001, 0.01, 0.1, 0.5)
FLOOR = "(32*gamma^2*norm_A*norm_W^2*X_fro^2*norm_y/a1^3)^(2/3)"


class FixedGamma(DescentConditions):
    """A = a I with a > 0, b = 0, sigma_N(Phi) > 0 and a fixed gamma, as in the experiments.

    Printed: where theta(0) does not meet (17)-(19), beta theta(0) does for a large beta. Judged is
    whether any beta does, with any C1, C2, C3.
    Corrected: gamma beta |A| < 1 bounds beta, and whatever beta and the constants, the worst
    right/left of (17) and (19) is at least
    (32 gamma^2 |A| |W|^2 |X|_F^2 |y|/sigma_N(Phi)^3)^(2/3). For alpha0 = beta sigma_N(Phi)/(1 -
    gamma beta a) <= beta u sigma_N(Phi) and lambda3 = C3; the square of the ratio of (17) times
    that of (19) does not depend on C3, sqrt c >= gamma u lambda1, lambda1 >= beta |W|, and
    beta < 1/(gamma a). Judged at scales up to the largest, each with the best of some constants.
    """

    id = "gao2022/sec7-scale"
    title = "A large multiple of the start, with gamma fixed"
    cite = cite("Section 7", "beta theta(0)")
    dynamics = (STATIC,)
    constants = {}
    searches = ()
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    uses = ("gao2022/thm4.4", "gao2022/lem5.1")
    erratum = (
        "With gamma fixed gamma (beta |A| + C2) < 1 must hold, so that beta < 1/gamma for A = I: "
        "10, 3.3, 2, 1.25 for gamma = 0.1, 0.3, 0.5, 0.8. X = I, W = [[2, 1], [1, 2]], y = (1, -1) "
        "and gamma = 0.1 allow no beta; Section 5.1 lets gamma shrink as beta grows."
    )

    b_zero = Check("b = 0", "norm_b == 0", "Section 7")
    multiple = Check("A is a positive multiple of I", "multiple_of_I == 1", "Section 7")
    features = Check("Phi has full row rank", "a1 > 0", "Section 5.1")
    some = Check("some beta and constants meet the conditions", "worst_ratio <= 1", "(17)-(19)")
    floor = Check(
        f"no scale does better (worst of {len(SHARES)})", f"worst_ratio >= {FLOOR}", "(17), (19)"
    )

    def _start(self, p: Problem) -> dict[str, Any]:
        s = p.start
        a = s.diagonal_A
        alike = a is not None and a[0] > 0 and bool((a == a[0]).all())
        return {
            "gamma": given(s.gamma),
            "norm_W": s.measure("norm2.W"),
            "norm_A": s.norm_A,
            "norm_b": s.measure("norm2.b"),
            "norm_y": instance(p.model.y).frobenius(),
            "X_fro": s.X_fro,
            "a1": s.sigma_min_Phi,
            "multiple_of_I": given(int(alike)),
        }

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        values = self._start(p)
        for check in (self.b_zero, self.multiple, self.features, self.starts_well):
            yield check(**values)

    def constants_used(self, p: Problem) -> dict[str, float]:
        return {}

    def quantities(self, p: Problem) -> dict[str, Measured]:
        return {"largest_scale": 1 / p.start.gamma0}

    def ratios(self, p: Problem) -> Iterable[tuple[float, Measured]]:
        """Scales, and the worst right/left of (17)-(19) with the best of some constants."""
        largest = float((1 / p.start.gamma0).low)
        for share in SHARES:
            beta = share * largest
            theta = {name: beta * array for name, array in p.theta0.items()}
            there = replace(p, theta0=theta, train=None, origin=None)
            program = Program(there, {})
            tried = [_constants(program.start, *parts) for parts in product(PARTS, PARTS)]
            best = min(tried, key=lambda C: max(program.log_ratios(self.conditions(), C)))
            values = with_constants(at_start(there), {n: given(c) for n, c in best.items()})
            sides = (check.formula.sides(values) for check in self.conditions())
            yield beta, maximum(*(right / left for left, right in sides))

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        values = self._start(p)
        if not values["multiple_of_I"].value or not state.sigma_min_Phi.low > 0:
            return
        tried = list(self.ratios(p))
        if self.printed:
            beta, least = min(tried, key=lambda pair: float(pair[1].high))
            floor = min(float(self.floor.right(values).low), float(least.high))
            known = between(floor, float(least.high), "smallest over the free constants")
            yield self.some(f"the best found is at beta = {beta:.4g}", worst_ratio=known)
            return
        yield from worst(
            self.floor(f"beta = {beta:.4g}", worst_ratio=ratio, **values) for beta, ratio in tried
        )


def _constants(start: Mapping[str, float], first: float, second: float) -> dict[str, float]:
    """C1 and C2 as these parts of |W| and of the room for |A|, and the C3 that makes (17) and (19)
    equally hard where the first entry of lambda0 is the largest."""
    C1, C2 = first * start["norm_W"], second * (1 / start["gamma"] - start["norm_A"])
    lambda1, u = start["norm_W"] + C1, 1 / (1 - start["gamma"] * (start["norm_A"] + C2))
    c = 1 + (start["gamma"] * lambda1 * u) ** 2
    C3 = (lambda1 * start["r0"] / (2 * c * u * start["X_fro"])) ** (1 / 3)
    return {"C1": C1, "C2": C2, "C3": C3}
