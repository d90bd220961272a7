"""(11): the expectation of a product of two ReLUs."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg.arccos import Q
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.ling2022.common import MODELS, cite
from deqcheck.theorems.ling2022.definition import NODES, expectation
from deqcheck.theorems.ling2022.kernel import Q_ULPS, samples
from deqcheck.theorems.ling2022.setting import Problem, State, Statement

# Smaller expectations are not shown: their identity has few digits.
LEAST = 1e-6


class Expectation(Statement):
    """For (u, v) ~ N(0, [[1, x], [x, 1]]) with |x| <= 1, E[relu(u) relu(v)] = Q(x)/2 with Q(x) =
    (sqrt(1 - x^2) + (pi - arccos x) x)/pi. The left side is computed by quadrature, for the x that
    are cosines of two samples, and for x = 1. The matrix is printed as positive definite, which
    leaves out x = 1 and x = -1; the formula holds there, too.
    """

    id = "ling2022/eq11"
    title = "Expectation of a product of two ReLUs"
    cite = cite("Section 4.1", "(11)")
    models = MODELS
    dynamics = (STATIC,)

    formula = Check("the formula is the expectation", "expectation == Q/2", "(11)")

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        """At the x that is furthest off; where all agree, at the smallest that leaves digits."""
        x = samples(p.model).cosines
        half, integral = Q(x) / 2, expectation(np.arccos(x))
        # Each node adds a rounded product of at most 1.
        radius = len(NODES) * Q_ULPS * EPS
        apart = np.abs(half - integral)
        score = apart if apart.max() > radius else -np.where(half > LEAST, half, 1.0)
        i, j = np.unravel_index(int(np.argmax(score)), score.shape)
        yield self.formula(
            f"x = {x[i, j]:.6g}, samples {i + 1} and {j + 1}",
            expectation=Measured(float(integral[i, j]), radius),
            Q=Measured(2 * float(half[i, j]), 2 * Q_ULPS * EPS),
        )
