"""Existence and uniqueness of the equilibrium of one layer."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg.entries import euclidean
from deqcheck.models.opteq.network import Layer, Network
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured
from deqcheck.theorems.base import CORRECTED, PRINTED, Check, Space
from deqcheck.theorems.xie2021.common import (
    DRAWS,
    EXISTS,
    UNKNOWN,
    Pointwise,
    cite,
    found,
    largest_norm,
    matrix_norm,
    nonexpansive,
    plain,
    points,
)
from deqcheck.theorems.xie2021.hidden import Hidden
from deqcheck.theorems.xie2021.setting import Problem


class WellPosed(Pointwise):
    """Printed: where the hidden objective is strictly convex, the equilibrium of a single layer
    exists and is unique. Corrected: strict convexity gives at most one; L_s ||W||^2 < 1 gives
    exactly one, and the map contracts by that factor.
    """

    id = "xie2021/well-posed"
    title = "Existence and uniqueness of the equilibrium"
    cite = cite("Section 2.2", "remark after Theorem 1")
    uses = ("xie2021/thm1",)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "Strict convexity does not give existence: for softplus, W = 1, c = 0 the hidden objective "
        "has phi'(u) = log(1 - exp(-u)) < 0 on u > 0, strictly convex without a minimiser, and "
        "z = softplus(z) has no solution."
    )

    space = Space(fields={"depth": (1,), "prox": (None,)})

    single = Check("one layer", "L == 1", "Theorem 1")
    strict = Check("strictly convex hidden objective", "strict == 1", "section 2.2")
    exists = EXISTS
    contracts = Check("the layer contracts (L_s = 1)", "norm_W < 1", "corrected")
    factor = Check(
        f"contraction factor on {DRAWS} random pairs",
        "ratio <= slope*norm_W^2 + 1e-12",
        "corrected",
    )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        network = p.start.network
        yield self.single(L=p.model.depth)
        yield plain(p)
        if not self.printed:
            yield self.contracts(norm_W=largest_norm(network))
            return
        yield nonexpansive(p)
        yield self.strict(strict=strictly_convex(network))

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        layer = p.start.network.layers[0]
        yield found(p)
        if not self.printed:
            drawn = points(p, "xie2021/well-posed.points", 2 * DRAWS)
            pairs = list(zip(drawn[::2], drawn[1::2], strict=True))
            f = Hidden(layer).f
            ratios = [np.linalg.norm(f(a) - f(b)) / np.linalg.norm(a - b) for a, b in pairs]
            worst = Measured(float(np.max(ratios)), max(_lost(layer, a, b) for a, b in pairs))
            yield self.factor(
                ratio=worst,
                slope=layer.s.slopes[1],
                norm_W=largest_norm(p.start.network),
            )


def strictly_convex(network: Network) -> float | Measured:
    """Whether phi is: so it is for ||W|| < 1 and for slopes that are 1 at isolated points only;
    for a single weight 1 and a linear piece of slope 1 it is not. Else it is not known."""
    W = network.layers[0].W
    if network.layers[0].norm < 1 or network.s.strict:
        return 1.0
    return 0.0 if W.size == 1 and matrix_norm(W).low >= 1 else UNKNOWN


def _lost(layer: Layer, a: np.ndarray, b: np.ndarray) -> float:
    """What rounding does to |f(a) - f(b)|/|a - b|: f(a) = W^T s(W a + drive) (with a share of a)
    is off by a few eps times the size of its terms, and s is nonexpansive."""
    norm = euclidean(layer.W)
    inputs = euclidean(a) + euclidean(b)
    drive = 2 * euclidean(layer.drive) + 2 * abs(float(layer.s.at_zero))
    size = norm * (norm * inputs + drive) + inputs
    return float(8 * sum(layer.W.shape) * EPS * size / np.linalg.norm(a - b))
