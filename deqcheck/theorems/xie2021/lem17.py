"""Lemma 17: derivatives by the input and by the weights of the extractor."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import errors
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, given, maximum
from deqcheck.theorems.base import Check
from deqcheck.theorems.xie2021.bounds import Bounds
from deqcheck.theorems.xie2021.common import cite, too_large
from deqcheck.theorems.xie2021.lem12 import StateBound
from deqcheck.theorems.xie2021.setting import Problem


class Lemma17(StateBound):
    """The derivative of Z^K by the input is at most a K L B_Ub: every layer of every iteration adds
    a W^T D U at most, and nothing enlarges it. Where the input is x = g(x_0, W_0) with an
    L_g-Lipschitz g, the gradient by W_0 is at most a K L B_Ub B_L L_g |r|; for g = s(W_0 x_0), L_g
    is ||X_0||_2. Without an extractor (25) speaks of nothing, and (24) alone is judged.
    """

    id = "xie2021/lem17"
    title = "Derivatives by the input and by the extractor"
    cite = cite("Lemma 17", "(24), (25)")
    uses = ("xie2021/lem11", "xie2021/eq20")
    soundness = "typo"
    erratum = (
        "The sum in the proof has A(k, L, l), the product of layers l..L, where layer l itself "
        "must not be counted again, and lacks the factor 1 - beta_k; the bounds hold."
    )

    inputs = Check("state by the input", "norm_dx <= growth*alpha*K*L*B_Ub", "(24)")
    extractor = Check("gradient by W_0", "slope <= growth*alpha*K*L*B_Ub*B_L*L_g*residual", "(25)")

    def unchecked(self, p: Problem) -> Iterable[str]:
        return too_large(p.model.m * p.model.N * len(p.start.network.X))

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        if p.model.implicit or list(self.unchecked(p)):
            return
        start, bounds = p.start, Bounds(p)
        common = {
            "growth": self.growth(p),
            "alpha": given(p.model.alpha),
            "K": p.model.iterations,
            "L": p.model.depth,
            "B_Ub": bounds.B_Ub,
        }
        yield self.inputs(norm_dx=_largest_block(*start.by_input), **common)
        g = start.network.extractor
        if g is not None:
            yield self.extractor(
                slope=start.gradient_norms["W0"],
                **common,
                B_L=bounds.B_L,
                L_g=g.lipschitz,
                residual=start.residual,
            )


def _largest_block(blocks: np.ndarray, radius: float) -> Measured:
    """Samples do not mix: the norm of the whole is that of its largest block."""
    return maximum(*(errors.norm2(block, radius) for block in blocks))
