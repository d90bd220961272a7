"""D_t, equations (8), (26)-(33): the metric in which Z follows the gradient of L0."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from deqcheck.gradcheck import truncation
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.errors import length
from deqcheck.models.delm.oracle import dense_D, times_D
from deqcheck.models.delm.spectrum import star_map_infimum
from deqcheck.models.delm.state import DelmState
from deqcheck.models.problem import gradient_norm
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured, given
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.kawaguchi2021.bounds import cite
from deqcheck.theorems.kawaguchi2021.setting import Problem, Statement

# The star map is proved to be the worst for widths up to this.
PROVED_WIDTH = 6
# Up to this order the dense form of D is built.
DENSE_ORDER = 400
DIFFERENCE_STEP = 1e-4


class Metric(Statement):
    """d/dt vec Z = -D vec(grad L0(Z)) along the flow, and lambda_min(D) >= 1/(m (1 + gamma)^2) for
    every A and B. Sharper floors, which the paper does not have, are remarks; the last one is a
    conjecture for m > 6.
    """

    id = "kawaguchi2021/D"
    title = "The metric D and its smallest eigenvalue"
    cite = cite("Appendices A.1.5 to A.1.7", "(8), (26), (33)")
    models = ("delm",)
    dynamics = (STATIC,)
    uses = ("kawaguchi2021/gradient", "kawaguchi2021/expansion", "kawaguchi2021/norms")

    velocity = Check("velocity of Z along the flow", "deviation <= noise", "(26)")
    dense = Check("factorised against dense", "lambda_min_D == lambda_min_dense", "(8)")
    printed_floor = Check("printed floor", "lambda_min_D >= 1/(m*(1+gamma)^2)", "(33)")
    sharp_floor = Check(
        "sharper floor",
        "lambda_min_D >= 1/min(m*(1+gamma^2), (1+gamma*sqrt(m))^2)",
        "(33), sharper",
    )
    star_floor = Check("star-map infimum", "lambda_min_D >= star", "(33), exact")

    def claims(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        m, g = p.model.m, p.model.gamma
        claimed = -times_D(state, state.Q)
        moved, radius = velocity(p, state)
        # |D| <= steepest^2; Q is a difference of nearly equal numbers near a fit.
        relative = 64 * EPS * m * p.model.my * (1 + g) / (1 - g)
        off = state.outer.gradient_error + relative * length(state.Q)
        yield self.velocity(
            deviation=length(moved - claimed),
            noise=radius + steepest(state) ** 2 * off,
        )
        yield self.printed_floor(lambda_min_D=state.lambda_min_D, m=m, gamma=given(g))

    def remarks(self, p: Problem, run: Trajectory | None) -> Iterable[Claim]:
        m, g, smallest = p.model.m, p.model.gamma, p.start.lambda_min_D
        if m * p.model.my <= DENSE_ORDER:
            spectrum = np.linalg.eigvalsh(dense_D(p.start))
            error = 64 * EPS * m * p.model.my * float(spectrum[-1]) * (1 + g) / (1 - g)
            dense = Measured(float(spectrum[0]), error)
            yield self.dense(lambda_min_D=smallest, lambda_min_dense=dense)
        yield self.sharp_floor(lambda_min_D=smallest, m=m, gamma=given(g))
        if m > 1:
            note = "" if m <= PROVED_WIDTH else f"a conjecture for m > {PROVED_WIDTH}"
            yield self.star_floor(note, lambda_min_D=smallest, star=star_map_infimum(m, g))


def velocity(p: Problem, state: DelmState) -> tuple[np.ndarray, float]:
    """d/dt Z along -grad L by central differences, and the radius of their error."""
    size = gradient_norm(state.gradient) or 1.0

    def slope(h: float) -> np.ndarray:
        ahead, behind = (
            p.model.at({n: a - sign * h * state.gradient[n] for n, a in state.theta.items()}).Z
            for sign in (1, -1)
        )
        return np.asarray((ahead - behind) / (2 * h))

    near, far, farther = (slope(k * DIFFERENCE_STEP / size) for k in (1, 2, 4))
    lost = euclidean(truncation(near, far, farther))
    # The direction is a computed gradient, and the two ends are rounded to doubles.
    ends = EPS * gradient_norm(state.theta) * size / DIFFERENCE_STEP
    turned = steepest(state) * (state.gradient_radius + ends)
    return near, lost + 2 * state.Z_radius * size / DIFFERENCE_STEP + turned


def steepest(state: DelmState) -> float:
    """|dZ| <= |U^-1| (|dB| + gamma |Z| |dA|/2): dZ = (dB + gamma Z dS) U^-1, and the Jacobians of
    softmax have norm at most 1/2."""
    inverse = float(1 / state.U_singular.low[-1])
    return inverse * math.hypot(1.0, state.gamma * euclidean(state.Z) / 2)
