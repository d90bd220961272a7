"""Section 5.1: the scaled initialisation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from deqcheck.linalg.matrix import instance
from deqcheck.models.implicit_relu.model import ImplicitReluModel
from deqcheck.models.implicit_relu.scaled import half, smallest_scale
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, given, maximum, measured
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.gao2022.bounds import cite, worst
from deqcheck.theorems.gao2022.constants import NAMES, Chosen, Program
from deqcheck.theorems.gao2022.setting import Problem, State
from deqcheck.theorems.gao2022.thm4_4 import DescentConditions

# The scales at which the claim is judged, over the smallest one that (24)-(26) allow.
BEYOND = (1.001, 10.0, 1000.0)


class ScaledStart(DescentConditions):
    """With b = 0, a nonnegative A, a1 = sigma_N(Phi) > 0 and C1 = C2 = C3 = 1, all conditions of
    Theorem 4.4 hold at beta theta(0) for every large enough beta: (24)-(26), which hold from some
    beta on, imply them. Judged at three scales beyond this smallest beta.

    The section assumes |A| = |W| "for simplicity", which no A = |W| I in floating point meets
    exactly. Its proof serves for every A with s = max(|W|, |A|) in place of |W| in gamma and (24):
    lambda = beta s + 1 is at least lambda1 and lambda2, gamma = 1/(2 lambda) makes gamma0 <= 1/2,
    so that 1/(1 - gamma0) <= 2, c <= 2 and lambda0 <= lambda. For |A| = |W| nothing changes.

    gamma follows beta, whatever that of the case. With gamma fixed, as Section 7 multiplies
    theta(0), the conditions need not hold for any beta, since gamma (beta |A| + 1) < 1 must stay
    true.
    """

    id = "gao2022/sec5.1"
    title = "The scaled initialisation meets Theorem 4.4"
    cite = cite("Section 5.1", "(21)-(26)")
    uses = ("gao2022/thm4.4", "gao2022/lem5.1")
    dynamics = (STATIC,)
    constants = {}
    searches = ()

    b_zero = Check("b = 0", "norm_b == 0", "Section 5.1")
    nonnegative = Check("no entry of A is negative", "smallest_A >= 0", "Section 5.1")
    features = Check("Phi has full row rank", "a1 > 0", "Section 5.1")
    scale_24 = Check(
        "beta against the labels",
        "(2*beta*a1/3)^2 >= 16*(beta*max(norm_W,norm_A)+1)*X_fro*norm_y",
        "(24)",
    )
    scale_25 = Check("beta against the drift", "(2*beta*a1/3)^3 >= 128*X_fro^2*norm_y", "(25)")
    scale_26 = Check("beta against one step", "(2*beta*a1/3)^2 >= 128*X_fro^2", "(26)")
    regular = Check("alpha0 from Phi", "alpha0 >= 2*beta*a1/3", "Lemma 5.1")

    def choose(self, p: Problem, program: Program) -> Chosen:
        C = dict.fromkeys(NAMES, 1.0)
        return Chosen(C, max(program.log_ratios(self.conditions(), C)))

    def constants_used(self, p: Problem) -> dict[str, float]:
        return dict.fromkeys(NAMES, 1.0)

    def _start(self, p: Problem) -> dict[str, Any]:
        """What needs no equilibrium: that of the case is not asked for."""
        s = p.start
        return {
            "norm_W": s.measure("norm2.W"),
            "norm_A": s.norm_A,
            "norm_b": s.measure("norm2.b"),
            "X_fro": s.X_fro,
            "a1": s.sigma_min_Phi,
            "norm_y": instance(p.model.y).frobenius(),
            "smallest_A": instance(s.A).smallest(),
        }

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        values = self._start(p)
        for check in (self.b_zero, self.nonnegative, self.features):
            yield check(**values)

    def _larger(self, values: dict[str, Any]) -> Measured:
        return maximum(values["norm_W"], values["norm_A"])

    def smallest_scale(self, p: Problem) -> Measured:
        """The smallest factor on W and A for (24)-(26)."""
        v = self._start(p)
        return smallest_scale(v["a1"], v["X_fro"], v["norm_y"], self._larger(v))

    def scaled(self, p: Problem, beyond: float) -> tuple[float, Problem]:
        """beta, and the network at beta theta(0) with gamma = 1/(2 (beta s + 1))."""
        beta = beyond * float(self.smallest_scale(p).high)
        size = beta * float(self._larger(self._start(p)).high)
        model = ImplicitReluModel(half(size), p.model.X, p.model.y)
        theta = {name: beta * a for name, a in p.theta0.items()}
        return beta, replace(p, model=model, theta0=theta, train=None, origin=None)

    def quantities(self, p: Problem) -> dict[str, Measured]:
        smallest = self.smallest_scale(p)
        if not np.isfinite(smallest.high):
            return {}
        _, there = self.scaled(p, BEYOND[0])
        return {
            "smallest_scale": smallest,
            "gamma_there": measured(there.model.gamma),
            "largest_step_there": self.largest_step(there),
        }

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if not np.isfinite(self.smallest_scale(p).high):
            return
        checks = (
            self.scale_24, self.scale_25, self.scale_26,
            self.well_posed, self.regular, self.first, self.second, self.third,
        )  # fmt: skip
        values = []
        for beyond in BEYOND:
            beta, there = self.scaled(p, beyond)
            values.append({**self._start(p), **self.values(there), "beta": given(beta)})
            # The names of the unscaled start, which (24)-(26) speak of.
            values[-1] |= {name: self._start(p)[name] for name in ("norm_W", "norm_A")}
        for check in checks:
            yield from worst(check(f"beta = {v['beta'].value:.4g}", **v) for v in values)
