"""Lemma 1: the operator norm of a Gaussian W."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import errors
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, exp, measured, sqrt
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC
from deqcheck.theorems.frequency import SEEDS, happened
from deqcheck.theorems.ling2022.assumptions import DRAWN_W, drawn
from deqcheck.theorems.ling2022.common import MODELS, cite
from deqcheck.theorems.ling2022.draws import draw
from deqcheck.theorems.ling2022.setting import Draws, Problem

OMEGA = 0.05
# The default excess makes the corrected bound on the exceedance this much.
EXCEEDANCE = 0.25


class Lemma1(Draws):
    """W with independent entries N(0, 2 sigma_w^2/m) has ||W||_2 <= 2 sqrt2 sigma_w with
    probability at least 1 - exp(-Omega(m)), judged as 1 - exp(-c m). Corrected: ||W||_2 <=
    2 sqrt2 sigma_w (1 + eps) with probability at least 1 - exp(-2 m eps^2). The lemma asks nothing
    else: neither sigma_w^2 < 1/8 nor anything of U, a or the samples.
    """

    id = "ling2022/lem1"
    title = "Operator norm of a Gaussian weight matrix"
    cite = cite("Lemma 1")
    models = MODELS
    dynamics = (STATIC,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "2 sqrt2 sigma_w is the edge of the spectrum, and the largest singular value fluctuates "
        "around it: the probability of exceeding it grows with m to 1 - F_1(0) = 0.168 "
        "(Tracy-Widom) instead of decaying. It is 0.046 for m = 1 and about 0.13 for m = 100. With "
        "a margin the tail bound of Davidson and Szarek gives the corrected edition, and "
        "P(||W|| >= 1) <= exp(-(m/2)(1/(sqrt2 sigma_w) - 2)^2) for sigma_w^2 < 1/8."
    )
    constants = {
        **SEEDS,
        "c": f"printed: the constant of Omega(m) (default {OMEGA})",
        "eps": "corrected: relative excess (default: where the bound on exceeding is 1/4)",
    }

    above_0 = ("c", "eps")

    def width(self, p: Problem) -> int:
        return len(p.theta0["W"])

    def constants_used(self, p: Problem) -> dict[str, float]:
        if self.printed:
            return {"c": self.fixed.get("c", OMEGA)}
        default = float(np.sqrt(-np.log(EXCEEDANCE) / (2 * self.width(p))))
        return {"eps": self.fixed.get("eps", default)}

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        return drawn(p, DRAWN_W, "W")

    def limit(self, p: Problem) -> Measured:
        """The square of the bound: of sigma_w = 0 it is 0, without a root that rounds."""
        edge = 8 * measured(p.model.sigma_w2)
        return edge if self.printed else edge * (1 + measured(self.constants_used(p)["eps"])) ** 2

    def probability(self, p: Problem) -> Measured:
        m, values = self.width(p), self.constants_used(p)
        if self.printed:
            return 1 - exp(-measured(values["c"]) * m)
        return 1 - exp(-2 * m * measured(values["eps"]) ** 2)

    def trial(self, p: Problem, seed: int) -> bool | None:
        norm = errors.norm2(draw(p, seed, self.id)["W"])
        return happened(norm**2, "<=", self.limit(p))

    def quantities(self, p: Problem) -> dict[str, Measured]:
        """The consequence that the theory needs: P(||W|| >= 1) is at most this."""
        s2 = p.model.sigma_w2
        if not s2 or s2 >= 1 / 8:
            return {}
        excess = 1 / sqrt(2 * measured(s2)) - 2
        return {"not_contractive": exp(-(measured(self.width(p)) / 2) * excess**2)}
