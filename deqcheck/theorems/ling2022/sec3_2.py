"""Section 3.2: the orders of the numbers that Condition 1 is made of, at a random start."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from deqcheck.models.relu_deq.model import ReluDeqModel
from deqcheck.models.relu_deq.state import ReluDeqState
from deqcheck.records.claim import Claim
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC
from deqcheck.theorems.ling2022.assumptions import assumption_1
from deqcheck.theorems.ling2022.common import MODELS, cite
from deqcheck.theorems.ling2022.draws import draw_of
from deqcheck.theorems.ling2022.setting import Problem, without_sigma
from deqcheck.theorems.orders import Order

# The smallest width tried, and the dimension at which widths grow.
SMALLEST, DIMENSION = 16, 2
# The width at which other sizes grow.
NARROW = 8


class StartOrder(Order[ReluDeqModel, ReluDeqState]):
    """An order under Assumption 1. It does not depend on the sizes of the case, and no claim of
    order is about one start: W, U and a are drawn at growing sizes."""

    models = MODELS
    dynamics = (STATIC,)
    power: ClassVar[float]

    def unchecked(self, p: Problem) -> Iterable[str]:
        return without_sigma(p)

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        return assumption_1(p, with_a=True)

    def exponent(self, p: Problem) -> float:
        return self.power

    def base_size(self, p: Problem) -> int:
        return SMALLEST


class NormW(StartOrder):
    """With probability at least 1 - exp(-Omega(m)), |W(0)| = O(1), and so rho_w = |W(0)| + delta =
    O(1): the exponent of m is 0. Lemma 1, corrected, has the constant and the probability.
    """

    id = "ling2022/sec3.2-w"
    title = "The order of the norm of W"
    cite = cite("Section 3.2", "rho_w")
    uses = ("ling2022/lem1",)
    power = 0.0

    def value(self, p: Problem, size: int, seed: int) -> float:
        return _norm(draw_of(p, seed, self.id, size, 1, "W")["W"])


class NormU(StartOrder):
    """With probability at least 1 - exp(-Omega(m)), |U(0)| = O(sqrt(m/d)), and so rho_u = |U(0)| +
    delta = O(sqrt(m/d)). Of the width m, which grows here at the dimension 2, the exponent is 1/2
    indeed; of the dimension it is not -1/2, see ling2022/sec3.2-u-dimension.
    """

    id = "ling2022/sec3.2-u"
    title = "The order of the norm of U in the width"
    cite = cite("Section 3.2", "rho_u")
    power = 0.5

    def value(self, p: Problem, size: int, seed: int) -> float:
        return _norm(draw_of(p, seed, self.id, size, DIMENSION, "U")["U"])


class NormUDimension(StartOrder):
    """The same order |U(0)| = O(sqrt(m/d)) in the dimension d, which grows beyond the width: |U(0)|
    sqrt(d/m) would have to be O(1). Corrected: |U(0)| = O(1 + sqrt(m/d)), since |U(0)| is near
    sqrt2 (1 + sqrt(m/d)); it exceeds sqrt2 (1 + sqrt(m/d)) (1 + eps) with probability at most
    exp(-eps^2 (sqrt m + sqrt d)^2/2) (Davidson and Szarek).
    """

    id = "ling2022/sec3.2-u-dimension"
    title = "The order of the norm of U in the dimension"
    cite = cite("Section 3.2", "rho_u")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "Each row of U has d entries of variance 2/d, so |U|^2 >= |u_1|^2 has the mean 2 at least, "
        "whatever m and d: for m = 1 it is 2 chi^2_d/d, and |U| sqrt(d/m) grows like sqrt(2 d). "
        "The order sqrt(m/d) is that of widths m >= d; so it is for rho_u and for max(c_w, c_u, "
        "c_a)."
    )
    power = 0.0

    def base_size(self, p: Problem) -> int:
        return 4 * NARROW

    def value(self, p: Problem, size: int, seed: int) -> float:
        root = np.sqrt(NARROW / size)
        norm = _norm(draw_of(p, seed, self.id, NARROW, size, "U")["U"])
        return float(norm / (root if self.printed else 1 + root))


class Constants(StartOrder):
    """With probability at least 1 - exp(-Omega(m)), max(c_w, c_u, c_a) = O(sqrt(m/d)): the
    exponent of m is 1/2, at the dimension 2 and for delta half the distance of |W(0)| from 1.
    """

    id = "ling2022/sec3.2-c"
    title = "The order of the constants of Condition 1"
    cite = cite("Section 3.2", "c_w, c_u, c_a")
    uses = ("ling2022/sec3.2-w", "ling2022/sec3.2-u")
    power = 0.5

    def value(self, p: Problem, size: int, seed: int) -> float:
        theta = draw_of(p, seed, self.id, size, DIMENSION)
        q, u, a = (_norm(theta[name]) for name in ("W", "U", "a"))
        if q >= 1:
            return np.nan
        delta = (1 - q) / 2
        rho_u, rho_a, room = u + delta, a + delta, 1 - q - delta
        return float(max(rho_u * rho_a / room**2, rho_a / room, rho_u / room))


class InverseNormA(StartOrder):
    """With probability at least 1 - exp(-Omega(m)), 1/rho_a = O(1): the exponent of m is 0. What is
    drawn is 1/|a(0)|, which is the supremum over delta.
    """

    id = "ling2022/sec3.2-a"
    title = "The order of 1/rho_a"
    cite = cite("Section 3.2", "rho_a")
    power = 0.0

    def value(self, p: Problem, size: int, seed: int) -> float:
        return 1 / _norm(draw_of(p, seed, self.id, size, 1, "a")["a"])


class InitialLoss(StartOrder):
    """With probability at least 1 - t, Phi(0) = O(n): the exponent of n is 1. The samples are drawn
    uniformly from the sphere of radius sqrt(d), d that of the case, with labels 1; the width is 8.
    """

    id = "ling2022/sec3.2-phi"
    title = "The order of the initial loss"
    cite = cite("Section 3.2", "Phi(0)")
    uses = ("ling2022/sec2.2", "ling2022/sec3.2-w")
    power = 1.0

    def base_size(self, p: Problem) -> int:
        return NARROW

    def value(self, p: Problem, size: int, seed: int) -> float:
        d = p.model.d
        theta = draw_of(p, seed, self.id, NARROW, d)
        X = rng(p.seed, f"{self.id}.{seed}.X").standard_normal((d, size))
        X *= np.sqrt(d) / np.linalg.norm(X, axis=0)
        if _norm(theta["W"]) >= 1:
            return np.nan
        return float(ReluDeqModel(X, np.ones(size)).at(theta).loss.value)


def _norm(a: np.ndarray) -> float:
    return float(np.linalg.norm(a, 2))
