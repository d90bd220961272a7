"""The skip connection as a proximal operator."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg.entries import euclidean
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, given
from deqcheck.theorems.base import CORRECTED, PRINTED, Check
from deqcheck.theorems.xie2021.blocks import inner_prox
from deqcheck.theorems.xie2021.common import Pointwise, cite, nonexpansive, points, tolerance
from deqcheck.theorems.xie2021.hidden import Hidden
from deqcheck.theorems.xie2021.setting import Problem

SAMPLES = 8


class Skip(Pointwise):
    """a f + (1 - a) I is the proximal operator of a M_phi^(1-a), the Moreau envelope of the hidden
    objective with parameter 1 - a. The printed text lacks the factor a.
    """

    id = "xie2021/skip"
    title = "A skip connection is the proximal operator of a Moreau envelope"
    cite = cite("Section 2.2", "skip connection")
    uses = ("xie2021/thm1",)
    soundness = "typo"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "Section 2.2 writes M_phi^(1-a) where a M_phi^(1-a) is meant: on a scalar layer the two "
        "proximal points are 1.3847 and 1.514, and the layer gives 1.514."
    )

    proper = Check("a real skip connection", "alpha < 1", "section 2.2")
    proximal = Check(
        f"optimality of the proximal point at {SAMPLES} random states",
        "gradient <= noise",
        "section 2.2",
    )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.proper(alpha=given(p.model.alpha))
        yield nonexpansive(p)

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        a = p.model.alpha
        if a == 1:
            return
        factor = 1.0 if self.printed else a
        for i, layer in enumerate(p.start.network.layers, start=1):
            worst = noise = 0.0
            size = 1.0
            for Z in points(p, "xie2021/skip.points", SAMPLES):
                Y = layer.f(Z)
                inner, error = inner_prox(Hidden(layer), Y, a)
                # Gradient of factor M^(1-a)(y) + |y - z|^2/2 at y = a f(z) + (1 - a) z.
                off = float(np.linalg.norm(factor * (Y - inner) / (1 - a) + Y - Z))
                size = max(size, euclidean(Z))
                worst = float(np.maximum(worst, off))
                noise = max(noise, error / (1 - a))
            yield self.proximal(
                f"layer {i}", gradient=Measured(worst), noise=tolerance(noise, size)
            )
