"""Section 3.2: the orders of the numbers that Condition 1 is made of, at a random start.

The paper gives orders and no constants. Here are constants that are proven, for all sizes, by the
tail bounds of Davidson and Szarek (for the norm of a Gaussian matrix) and of Chernoff (for chi-
squared variables), with r = 1 - 2 sqrt2 sigma_w, which is positive for sigma_w^2 < 1/8.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from deqcheck.linalg import errors
from deqcheck.models.problem import NoEquilibrium, Params
from deqcheck.models.relu_deq.model import ReluDeqModel
from deqcheck.models.relu_deq.state import ReluDeqState
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, exp, log, maximum, measured, sqrt
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC
from deqcheck.theorems.frequency import SEEDS, Frequency, happened
from deqcheck.theorems.ling2022.assumptions import assumption_1, norms
from deqcheck.theorems.ling2022.common import MODELS, cite
from deqcheck.theorems.ling2022.condition import Condition
from deqcheck.theorems.ling2022.draws import draw, draw_of
from deqcheck.theorems.ling2022.setting import Draws, Problem, without_sigma
from deqcheck.theorems.ling2022.thm2 import RISK
from deqcheck.theorems.orders import Order

# The width at which dimensions grow, from four times as much on.
NARROW = 8


def room(p: Problem) -> Measured:
    """r = 1 - 2 sqrt2 sigma_w."""
    return 1 - sqrt(8 * measured(p.model.sigma_w2))


def has_room(p: Problem) -> bool:
    return p.model.sigma_w2 is not None and p.model.sigma_w2 < 1 / 8


def excess(p: Problem, share: float) -> Measured:
    """A bound on the probability that |W| > 1 - (1 - share) r: with 2 sqrt2 sigma_w (1 + eps) on
    the right it is exp(-2 m eps^2), and eps = share r/(2 sqrt2 sigma_w)."""
    if not p.model.sigma_w2:
        return Measured(0.0)
    m = len(p.theta0["W"])
    return exp(-m * (share * room(p)) ** 2 / (4 * measured(p.model.sigma_w2)))


def large_u(p: Problem) -> Measured:
    """A bound on the probability that |U| > 2 sqrt2 (1 + sqrt(m/d))."""
    m, d = p.shapes["U"]
    return exp(-((sqrt(m) + sqrt(d)) ** 2) / 2)


def chi_squared(p: Problem, share: float) -> Measured:
    """A bound on the probability that |a|^2 <= share, or >= share if that is above 1."""
    m = len(p.theta0["W"])
    return exp(-measured(m) / 2 * (share - 1 - log(share)))


class NormW(Draws):
    """With probability at least 1 - exp(-Omega(m)), |W(0)| = O(1), and so rho_w = |W(0)| + delta =
    O(1). The constant is 1: |W(0)| < 1 has the probability 1 - exp(-m r^2/(4 sigma_w^2)) at least.
    """

    id = "ling2022/sec3.2-w"
    title = "The order of the norm of W"
    cite = cite("Section 3.2", "rho_w")
    models = MODELS
    dynamics = (STATIC,)
    uses = ("ling2022/lem1",)

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        return assumption_1(p)

    def probability(self, p: Problem) -> Measured:
        return 1 - excess(p, 1.0)

    def trial(self, p: Problem, seed: int) -> bool | None:
        return happened(errors.norm2(draw(p, seed, self.id)["W"]), "<", measured(1))


class DimensionOrder(Order[ReluDeqModel, ReluDeqState]):
    """Printed as O(sqrt(m/d)), whatever m and d: the quotient, for 8 units and growing dimensions,
    would have to be O(1)."""

    models = MODELS
    dynamics = (STATIC,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)

    def unchecked(self, p: Problem) -> Iterable[str]:
        return without_sigma(p)

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        return assumption_1(p, with_a=True)

    def exponent(self, p: Problem) -> float:
        return 0.0

    def base_size(self, p: Problem) -> int:
        return 4 * NARROW

    def value(self, p: Problem, size: int, seed: int) -> float:
        found = self.number(p, draw_of(p, seed, self.id, NARROW, size))
        return np.nan if found is None else float(found.value) * float(np.sqrt(size / NARROW))

    def number(self, p: Problem, theta: Params) -> Measured | None:
        """What the order is about; None where it is not defined."""
        raise NotImplementedError

    def bound(self, p: Problem) -> Measured:
        """Of the corrected edition."""
        raise NotImplementedError

    def quantities(self, p: Problem) -> dict[str, Measured]:
        return {"bound": self.bound(p)} if not self.printed and has_room(p) else {}

    def trial(self, p: Problem, seed: int) -> Any:
        if self.printed:
            return super().trial(p, seed)
        found = self.number(p, draw(p, seed, self.id))
        return False if found is None else happened(found, "<=", self.bound(p))

    def tallied(self, p: Problem, results: Sequence[Any]) -> Claim:
        if self.printed:
            return super().tallied(p, results)
        return Frequency.tallied(self, p, results)


class NormU(DimensionOrder):
    """With probability at least 1 - exp(-Omega(m)), |U(0)| = O(sqrt(m/d)), and so rho_u = |U(0)| +
    delta = O(sqrt(m/d)). Corrected: |U(0)| <= 2 sqrt2 (1 + sqrt(m/d)) with probability at least
    1 - exp(-(sqrt m + sqrt d)^2/2): the order sqrt(m/d) is that of widths m >= d.
    """

    id = "ling2022/sec3.2-u"
    title = "The order of the norm of U"
    cite = cite("Section 3.2", "rho_u")
    erratum = (
        "Each row of U has d entries of variance 2/d, so |U|^2 is at least |u_1|^2, of mean 2, "
        "whatever m and d: for m = 1 it is 2 chi^2_d/d, and |U| sqrt(d/m) grows like sqrt(2 d)."
    )

    def number(self, p: Problem, theta: Params) -> Measured:
        return errors.norm2(theta["U"])

    def bound(self, p: Problem) -> Measured:
        m, d = p.shapes["U"]
        return sqrt(8) * (1 + sqrt(measured(m) / d))

    def probability(self, p: Problem) -> Measured:
        return 1 - large_u(p)


class Constants(DimensionOrder):
    """With probability at least 1 - exp(-Omega(m)), max(c_w, c_u, c_a) = O(sqrt(m/d)), judged for
    delta = r/4. Corrected: it is at most 16 (2 sqrt2 (1 + sqrt(m/d)) + r/4) (2 + r/4)/r^2 with
    probability at least 1 - exp(-m r^2/(16 sigma_w^2)) - exp(-(sqrt m + sqrt d)^2/2) -
    (4 exp(-3))^(m/2): then |W| <= 1 - r/2, |U| <= 2 sqrt2 (1 + sqrt(m/d)) and |a| <= 2.
    """

    id = "ling2022/sec3.2-c"
    title = "The order of the constants of Condition 1"
    cite = cite("Section 3.2", "c_w, c_u, c_a")
    uses = ("ling2022/sec3.2-w", "ling2022/sec3.2-u")
    erratum = "c_a > |U(0)|, which is not O(sqrt(m/d)) where the dimension exceeds the width."

    def number(self, p: Problem, theta: Params) -> Measured | None:
        delta = float(room(p).value) / 4
        q, u, a = (errors.norm2(theta[name]) for name in ("W", "U", "a"))
        if not (q + delta).high < 1:
            return None
        found = Condition(q, u, a, q, q, q).at(delta)
        return maximum(found["c_w"], found["c_u"], found["c_a"])

    def bound(self, p: Problem) -> Measured:
        (m, d), r = p.shapes["U"], room(p)
        return 16 * (sqrt(8) * (1 + sqrt(measured(m) / d)) + r / 4) * (2 + r / 4) / r**2

    def probability(self, p: Problem) -> Measured:
        return 1 - excess(p, 0.5) - large_u(p) - chi_squared(p, 4.0)


class InverseNormA(Draws):
    """With probability at least 1 - exp(-Omega(m)), 1/rho_a = O(1). The constant is 2, for any
    delta: |a(0)| >= 1/2 has the probability 1 - (exp(3/4)/4)^(m/2) at least.
    """

    id = "ling2022/sec3.2-a"
    title = "The order of 1/rho_a"
    cite = cite("Section 3.2", "rho_a")
    models = MODELS
    dynamics = (STATIC,)

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        return assumption_1(p, with_a=True)

    def probability(self, p: Problem) -> Measured:
        return 1 - chi_squared(p, 0.25)

    def trial(self, p: Problem, seed: int) -> bool | None:
        return happened(errors.norm2(draw(p, seed, self.id)["a"]), ">=", measured(0.5))


class InitialLoss(Draws):
    """With probability at least 1 - t, Phi(0) = O(n). It is at most (4 n/r^2 + |y|^2)/t with
    probability at least 1 - t - exp(-m r^2/(16 sigma_w^2)), for samples of norm sqrt(d): where
    |W| <= 1 - r/2, |z_i|^2 <= 4 |relu(U x_i)|^2/r^2, whose mean is 4 m/r^2; a.z_i has the variance
    |z_i|^2/m, and (yhat - y)^2/2 <= yhat^2 + y^2. The rest is Markov's inequality.
    """

    id = "ling2022/sec3.2-phi"
    title = "The order of the initial loss"
    cite = cite("Section 3.2", "Phi(0)")
    models = MODELS
    dynamics = (STATIC,)
    uses = ("ling2022/sec2.2", "ling2022/sec3.2-w")
    defaults = {"t": RISK}
    above_0 = ("t",)
    constants = {**SEEDS, "t": f"allowed probability of failure (default {RISK})"}

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from assumption_1(p, with_a=True)
        yield from norms(p)

    def probability(self, p: Problem) -> Measured:
        return 1 - measured(self.constants_used(p)["t"]) - excess(p, 0.5)

    def bound(self, p: Problem) -> Measured:
        squares = errors.sum_of_squares(p.model.y)
        found: Measured = (4 * p.model.n / room(p) ** 2 + squares) / self.constants_used(p)["t"]
        return found

    def quantities(self, p: Problem) -> dict[str, Measured]:
        return {"bound": self.bound(p)} if has_room(p) else {}

    def trial(self, p: Problem, seed: int) -> bool | None:
        """Without a certified equilibrium nothing is known of Phi."""
        try:
            loss = p.model.at(draw(p, seed, self.id)).loss
        except NoEquilibrium:
            return None
        return happened(loss, "<=", self.bound(p))
