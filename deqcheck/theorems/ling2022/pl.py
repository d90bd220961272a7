"""Section 2.3: the Polyak-Lojasiewicz inequalities."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import errors
from deqcheck.models.relu_deq import oracle
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.ling2022.common import MODELS, NO_KINK, cite, contractive
from deqcheck.theorems.ling2022.setting import Problem, State, Statement


class PolyakLojasiewicz(Statement):
    """|grad Phi|^2 = r^T H r >= 2 lambda_min(H) Phi with H = G + (G + X^T X) o S^T S, and
    lambda_min(H) >= lambda_min(G). By Schur's product theorem even lambda_min(H) >= lambda_min(G) +
    lambda_min(G + X^T X) min_j |s_j|^2. The printed edition has H with the R of Lemma 2 as printed.
    """

    id = "ling2022/pl"
    title = "Polyak-Lojasiewicz inequalities"
    cite = cite("Section 2.3", "(4), (5)")
    models = MODELS
    dynamics = (STATIC,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "With the R of Lemma 2 as printed (read as (a^T kron I_n) J^-1 D), (4) fails: m = n = d = "
        "2, W = 0, U = I, X = [[2, 1], [1, 2]], a = (1, 1), y = (2, 4) has Phi = 1, |grad|^2 = 10 "
        "and 2 lambda_min(H) Phi = 74. With R = (I_n kron a^T) J^-1 D both sides are 10."
    )

    identity = Check("gradient as a quadratic form", "gradient^2 == quadratic_form", "(4)")
    by_h = Check("PL inequality with H", "gradient^2 >= 2*lambda_min_H*loss", "(4)")
    ordered = Check("H above G", "lambda_min_H >= sigma_min_Z^2", "(5)")
    by_gram = Check("PL inequality with G", "gradient^2 >= 2*sigma_min_Z^2*loss", "(5)")
    schur = Check(
        "Schur's sharpening",
        "lambda_min_H >= sigma_min_Z^2 + lambda_min_sum*shortest^2",
        "Schur product",
    )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from contractive(p)
        yield NO_KINK(kink_margin=p.start.equilibrium.kink_margin)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        H = oracle.dense_H(state, printed=True) if self.printed else state.H
        H_radius = state.H_radius
        smallest = errors.symmetric_eigenvalues(H, H_radius)[0]
        r, dr = float(np.linalg.norm(state.r)), state.r_radius
        size = float(np.linalg.norm(H))
        form = Measured(
            float(state.r @ H @ state.r),
            (2 * r + dr) * dr * (size + H_radius)
            + r**2 * (H_radius + errors.rounding(len(H), size)),
        )
        gradient, sigma = state.measure("gradient"), state.sigma_min_Z
        yield self.identity(gradient=gradient, quadratic_form=form)
        yield self.by_h(gradient=gradient, lambda_min_H=smallest, loss=state.loss)
        yield self.ordered(lambda_min_H=smallest, sigma_min_Z=sigma)
        yield self.by_gram(gradient=gradient, sigma_min_Z=sigma, loss=state.loss)
        if not self.printed:
            yield self.schur(
                lambda_min_H=smallest,
                sigma_min_Z=sigma,
                lambda_min_sum=state.lambda_min_sum,
                shortest=state.shortest_sensitivity,
            )
