"""D_t, equations (8), (26)-(33): the metric in which Z follows the gradient of L0."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from deqcheck.linalg.kron import unvec, vec
from deqcheck.models.delm.oracle import dense_D
from deqcheck.models.delm.spectrum import star_map_infimum
from deqcheck.models.delm.state import DelmState
from deqcheck.models.problem import gradient_norm
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.kawaguchi2021.bounds import cite
from deqcheck.theorems.kawaguchi2021.gradient import DENSE_ORDER
from deqcheck.theorems.kawaguchi2021.setting import Problem, Statement

# The star map is proved to be the worst for widths up to this.
PROVED_WIDTH = 6
DIFFERENCE_STEP = 1e-4


class Metric(Statement):
    """d/dt vec Z = -D vec(grad L0(Z)) along the flow, and lambda_min(D) >= 1/(m (1 + gamma)^2) for
    every A and B; sharper floors hold as well.
    """

    id = "kawaguchi2021/D"
    title = "The metric D and its smallest eigenvalue"
    cite = cite("Appendix A.1.5", "(8), (26), (33)")
    models = ("delm",)
    dynamics = (STATIC,)

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
        m, g, smallest = p.model.m, p.model.gamma, state.lambda_min_D
        if m * p.model.my <= DENSE_ORDER:
            D = dense_D(state)
            spectrum = np.linalg.eigvalsh(D)
            oracle = 64 * EPS * m * p.model.my * float(spectrum[-1]) * (1 + g) / (1 - g)
            dense = Measured(float(spectrum[0]), oracle)
            claimed = -unvec(D @ vec(state.Q), state.Z.shape)
            moved, radius = velocity(p, state)
            # D times what Q, a difference of nearly equal numbers near a fit, may be off.
            off = float(spectrum[-1]) * state.outer.gradient_error
            off += oracle / float(spectrum[-1]) * float(np.linalg.norm(claimed))
            yield self.velocity(
                deviation=float(np.linalg.norm(moved - claimed)), noise=radius + off
            )
            yield self.dense(lambda_min_D=smallest, lambda_min_dense=dense)
        yield self.printed_floor(lambda_min_D=smallest, m=m, gamma=g)
        yield self.sharp_floor(lambda_min_D=smallest, m=m, gamma=g)
        if m > 1:
            note = "" if m <= PROVED_WIDTH else f"a conjecture for m > {PROVED_WIDTH}"
            yield self.star_floor(note, lambda_min_D=smallest, star=star_map_infimum(m, g))


def velocity(p: Problem, state: DelmState) -> tuple[np.ndarray, float]:
    """d/dt Z along -grad L by central differences, and the radius of their error.

    D(2h) - D(h) is three times the truncation of D(h).
    """
    size = gradient_norm(state.gradient) or 1.0

    def slope(h: float) -> np.ndarray:
        ahead, behind = (
            p.model.at({n: a - sign * h * state.gradient[n] for n, a in state.theta.items()}).Z
            for sign in (1, -1)
        )
        return np.asarray((ahead - behind) / (2 * h))

    near, far = slope(DIFFERENCE_STEP / size), slope(2 * DIFFERENCE_STEP / size)
    truncation = 4 * float(np.linalg.norm(far - near)) / 3
    # The direction is a computed gradient, and the two ends are rounded to doubles.
    ends = EPS * gradient_norm(state.theta) * size / DIFFERENCE_STEP
    turned = steepest(state) * (state.gradient_radius + ends)
    return near, truncation + 2 * state.Z_radius * size / DIFFERENCE_STEP + turned


def steepest(state: DelmState) -> float:
    """|dZ| <= |U^-1| (|dB| + gamma |Z| |dA|/2): dZ = (dB + gamma Z dS) U^-1, and the Jacobians of
    softmax have norm at most 1/2."""
    inverse = float(1 / state.U_singular.low[-1])
    return inverse * math.hypot(1.0, state.gamma * float(np.linalg.norm(state.Z)) / 2)
