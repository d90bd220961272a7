"""Existence and uniqueness of the equilibrium of one layer."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import CORRECTED, PRINTED, Check
from deqcheck.theorems.xie2021.common import (
    DRAWS,
    FOUND,
    INFINITY,
    UNKNOWN,
    Pointwise,
    cite,
    largest_norm,
    nonexpansive,
    plain,
    points,
)
from deqcheck.theorems.xie2021.hidden import Hidden
from deqcheck.theorems.xie2021.setting import Problem

# Rows are orthonormal up to this.
ORTHONORMAL = 1e-12


class WellPosed(Pointwise):
    """Printed: where the hidden objective is strictly convex, the equilibrium of a single layer
    exists and is unique. Corrected: strict convexity gives at most one; L_s ||W||^2 < 1 gives
    exactly one, and the map contracts by that factor.
    """

    id = "xie2021/well-posed"
    title = "Existence and uniqueness of the equilibrium"
    cite = cite("Section 2.2", "remark after Theorem 1")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "Strict convexity does not give existence: for softplus, W = 1, c = 0 the hidden objective "
        "has phi'(u) = log(1 - exp(-u)) < 0 on u > 0, strictly convex without a minimiser, and "
        "z = softplus(z) has no solution."
    )

    single = Check("one layer", "L == 1", "Theorem 1")
    strict = Check("strictly convex hidden objective", "strict == 1", "section 2.2")
    exists = Check("t = s(t + c) has a solution in every coordinate", "-c > lift", "section 2.2")
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
        inside = network.layers[0].norm ** 2 * network.s.slopes[1] < 1
        yield self.strict(strict=inside or network.s.strict)

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        layer = p.start.network.layers[0]
        if self.printed and not p.start.solved.found:
            W = layer.W
            aligned = np.abs(W @ W.T - np.eye(len(W))).max() <= ORTHONORMAL
            if aligned and layer.s.lift > -np.inf:
                # With t = W z the coordinates separate: s(u) - u = -c, and s(u) - u > lift.
                yield self.exists(c=Measured(float(layer.drive.max())), lift=layer.s.lift)
            else:
                yield FOUND(
                    "not decided by the solver", equilibrium_error=UNKNOWN, infinity=INFINITY
                )
            return
        solved = p.start.solved
        # A solver that fails refutes nothing.
        yield FOUND(
            solved.existence.value,
            equilibrium_error=solved.error if solved.found else UNKNOWN,
            infinity=INFINITY,
        )
        if not self.printed:
            drawn = points(p, "xie2021/well-posed.points", 2 * DRAWS)
            pairs = list(zip(drawn[::2], drawn[1::2], strict=True))
            f = Hidden(layer).f
            worst = np.max([np.linalg.norm(f(a) - f(b)) / np.linalg.norm(a - b) for a, b in pairs])
            yield self.factor(
                ratio=Measured(float(worst)),
                slope=layer.s.slopes[1],
                norm_W=largest_norm(p.start.network),
            )
