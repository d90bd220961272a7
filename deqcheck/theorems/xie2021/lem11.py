"""Lemma 11: the gradient in Kronecker form."""

from __future__ import annotations

from collections.abc import Iterable

from deqcheck.linalg.entries import euclidean
from deqcheck.models.opteq import oracle
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import CORRECTED, PRINTED, Check
from deqcheck.theorems.xie2021.common import (
    UNROLLED,
    Pointwise,
    cite,
    layer_entries,
    tolerance,
    too_large,
)
from deqcheck.theorems.xie2021.setting import Problem

# The dense products round more than reverse mode does.
DENSE_LOSS = 100.0


class Lemma11(Pointwise):
    """The derivative of Z^K by W_l, U_l and b_l through K iterations and L layers, as products of
    dense Jacobians with a commutation matrix: what it makes of the residual, against reverse mode.
    The corrected form has the factor 1 - beta_k before A(k, l+1), which (16) lacks. (17) is written
    at Z^(k,l), while (16) asks for the derivative at Z^(k,l-1), the input of layer l: it is read at
    the input, so that for beta = 0 the printed form holds. Read literally, with the output of layer
    l in place of its input, it would fail for beta = 0, too.
    """

    id = "xie2021/lem11"
    title = "The gradient in Kronecker form"
    cite = cite("Lemma 11", "(16), (17)")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "(16) lacks the factor 1 - beta_k: for K = L = N = 1 the derivative by b is "
        "(1 - beta) a w s', printed a w s'. (17) writes Z^(k,l), the output of layer l, for its "
        "input Z^(k,l-1), and 1_N where 1_N kron I is meant."
    )

    unrolled = UNROLLED
    agrees = Check("dense form equals reverse mode", "deviation <= noise", "(16), (17)")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.unrolled(implicit=p.model.implicit)

    def unchecked(self, p: Problem) -> Iterable[str]:
        return too_large(layer_entries(p))

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        start = p.start
        if p.model.implicit or list(too_large(layer_entries(p))):
            return
        dense = oracle.gradient(start, printed=self.printed)
        for name, norm in start.gradient_norms.items():
            if name == "Wo":
                continue
            off = euclidean(dense[name] - start.gradient[name])
            noise = tolerance(DENSE_LOSS * norm.error, norm.value)
            yield self.agrees(name, deviation=Measured(off), noise=noise)
