"""Section 5.2: the norm of a random nonnegative A."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import errors
from deqcheck.models.implicit_relu.model import ImplicitReluModel
from deqcheck.models.implicit_relu.state import ImplicitReluState
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, sqrt
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.gao2022.bounds import MODEL, cite
from deqcheck.theorems.gao2022.setting import Problem
from deqcheck.theorems.orders import Order

# The smallest width tried. An order does not depend on the width of the case.
SMALLEST = 32


class RandomStart(Order[ImplicitReluModel, ImplicitReluState]):
    """A with independent half-normal entries, |N(0, 1)|, as (27) draws them. The claim is about its
    norm alone, so the laws of W and b are not asked for.

    Printed: with high probability |A| = O(sqrt m), from a theorem for entries of mean zero.
    Corrected: |A| is of order m, from above and from below. The mean sqrt(2/pi) of the entries
    makes |A| = sqrt(2/pi) m up to |A - E A|, which is of order sqrt m. So gamma must be of order
    1/m, not 1/sqrt m; the width of order N^2/lambda_*^2 that the section asks for is not harmed,
    since lambda2 enters through gamma0 = gamma lambda2 alone.

    An order says nothing about one matrix: A is drawn at growing widths, whatever that of the case.
    """

    id = "gao2022/sec5.2"
    title = "The norm of a random nonnegative A"
    cite = cite("Section 5.2", "(27)")
    models = (MODEL,)
    dynamics = (STATIC,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "|A|/sqrt m grows from 5.7 at m = 50 to 31.9 at m = 1600, while |A|/m stays at 0.80: the "
        "cited theorem needs entries of mean zero, and these have mean sqrt(2/pi) = 0.798."
    )

    half_normal = Check("A is drawn with half-normal entries", "half_normal == 1", "(27)")
    standard = Check("the normal variables have variance 1", "scale_A == 1", "(27)")

    @property
    def two_sided(self) -> bool:
        return not self.printed

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        law = p.laws.get("A")
        given = "the A of this case was given, or drawn from another law"
        drawn = law is not None and law.kind == "half-normal"
        yield self.half_normal("" if drawn else given, half_normal=float(drawn))
        if law is not None and drawn:
            yield self.standard(scale_A=law.scale)

    def exponent(self, p: Problem) -> float:
        return 0.5 if self.printed else 1.0

    def base_size(self, p: Problem) -> int:
        return SMALLEST

    def value(self, p: Problem, size: int, seed: int) -> float:
        A = np.abs(rng(seed, f"gao2022/sec5.2.A.{size}").standard_normal((size, size)))
        return float(np.linalg.norm(A, 2))

    def quantities(self, p: Problem) -> dict[str, Measured]:
        s = p.start
        Z = errors.frobenius(s.Z, s.equilibrium.error)
        return {
            "norm_A_over_m": s.norm_A / s.m,
            "norm_A_over_sqrt_m": s.norm_A / sqrt(s.m),
            "Z_fro_over_sqrt_m_X_fro": Z / (sqrt(s.m) * s.X_fro),
        }
