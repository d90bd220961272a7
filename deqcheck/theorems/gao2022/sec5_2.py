"""Section 5.2: the norm of a random nonnegative A."""

from __future__ import annotations

from collections.abc import Iterable

from deqcheck.linalg import errors
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, sqrt
from deqcheck.theorems.base import CORRECTED, PRINTED, Check
from deqcheck.theorems.gao2022.bounds import cite
from deqcheck.theorems.gao2022.setting import Problem, State
from deqcheck.theorems.gao2022.static import Pointwise

MEAN = "sqrt(2/3.141592653589793)"


class RandomStart(Pointwise):
    """A with half-normal entries, recognised by its sign and its mean.

    Printed: |A| = O(sqrt m), from a theorem for entries of mean zero, which gives |A| <= 3 sqrt m
    except with probability 2 exp(-m/2).
    Corrected: the mean sqrt(2/pi) of the entries makes |A| = sqrt(2/pi) m up to |A - E A|, which is
    below 2 sqrt m. So gamma must be of order 1/m, not 1/sqrt m; the width of order N^2/lambda_*^2
    that the section asks for is not harmed, since lambda2 enters through gamma0 = gamma lambda2
    alone.
    """

    id = "gao2022/sec5.2"
    title = "The norm of a random nonnegative A"
    cite = cite("Section 5.2")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "|A|/sqrt m grows from 5.7 at m = 50 to 31.9 at m = 1600, while |A|/m stays at 0.80: the "
        "cited theorem needs entries of mean zero, and these have mean sqrt(2/pi) = 0.798."
    )

    nonnegative = Check("no entry of A is negative", "smallest_A >= 0", "Section 5.2")
    half_normal = Check(
        "the entries have the half-normal mean", f"abs(mean_A - {MEAN}) <= 5*0.603/m", "Section 5.2"
    )
    root = Check("|A| is of order sqrt m", "norm_A <= 3*sqrt(m)", "Section 5.2")
    at_least = Check(
        "|A| is of order m, from below", f"norm_A >= {MEAN}*m - 2*sqrt(m)", "corrected"
    )
    at_most = Check("|A| is of order m, from above", f"norm_A <= {MEAN}*m + 2*sqrt(m)", "corrected")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        A = p.start.A
        mean = Measured(float(A.mean()), errors.summed(A.size, float(abs(A).mean())))
        yield self.nonnegative(smallest_A=float(A.min()))
        yield self.half_normal(mean_A=mean, m=p.start.m)

    def quantities(self, p: Problem) -> dict[str, Measured]:
        s = p.start
        Z = errors.frobenius(s.Z, s.equilibrium.error)
        return {
            "norm_A_over_m": s.norm_A / s.m,
            "norm_A_over_sqrt_m": s.norm_A / sqrt(s.m),
            "Z_fro_over_sqrt_m_X_fro": Z / (sqrt(s.m) * s.X_fro),
        }

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        for check in (self.root,) if self.printed else (self.at_least, self.at_most):
            yield check(norm_A=state.norm_A, m=state.m)
