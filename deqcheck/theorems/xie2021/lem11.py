"""Lemma 11: the gradient in Kronecker form."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.models.opteq import oracle
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import CORRECTED, PRINTED, Check
from deqcheck.theorems.xie2021.common import Pointwise, cite, tolerance
from deqcheck.theorems.xie2021.setting import Problem

# Entries of the largest dense matrix that is formed.
DENSE_LIMIT = 1_000_000
# The dense products round more than reverse mode does.
DENSE_LOSS = 100.0


class Lemma11(Pointwise):
    """The gradient of the loss through K iterations and L layers, as products of dense Jacobians
    with a commutation matrix, against reverse mode. The corrected form has the factor 1 - beta_k
    and the input Z^(k,l-1) of layer l.
    """

    id = "xie2021/lem11"
    title = "The gradient in Kronecker form"
    cite = cite("Lemma 11", "(16), (17)")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "(16)-(17) lack the factor 1 - beta_k (for K = L = N = 1 the derivative is "
        "(1 - beta) a w s', printed a w s'), take the output of layer l for its input, and write "
        "1_N where 1_N kron I is meant."
    )

    agrees = Check("dense form equals reverse mode", "deviation <= noise", "(16), (17)")

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        start = p.start
        if start.Z.size * max(start.Z.size, max(a.size for a in p.theta0.values())) > DENSE_LIMIT:
            return
        dense = oracle.gradient(start, printed=self.printed)
        for name, norm in start.gradient_norms.items():
            off = float(np.linalg.norm(dense[name] - start.gradient[name]))
            noise = tolerance(DENSE_LOSS * norm.error, norm.value)
            yield self.agrees(name, deviation=Measured(off), noise=noise)
