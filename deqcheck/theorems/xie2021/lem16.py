"""Lemma 16: the gradient by the biases alone bounds the residual."""

from __future__ import annotations

from collections.abc import Iterable

from deqcheck.linalg import errors, exact
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, given, maximum, measured
from deqcheck.theorems.base import CORRECTED, PRINTED, Check
from deqcheck.theorems.xie2021.averaged import smoothness
from deqcheck.theorems.xie2021.bounds import sigma_output, smallest_weight
from deqcheck.theorems.xie2021.common import (
    UNROLLED,
    Pointwise,
    cite,
    largest_norm,
    matrix_norm,
    nonexpansive,
)
from deqcheck.theorems.xie2021.setting import Problem


class Lemma16(Pointwise):
    """Printed: if s' >= kappa > 0 and sigma_min(W_l) >= sigma_m under Assumption 3, the gradient by
    the biases is at least K sqrt(L) a kappa sigma_m sqrt(N) sigma_min(W_o) |r|. The proof also uses
    a K L < 1 and the appendix g < 1/(2 L_z + 1), which are asked. Corrected: for every N,
    |gradient|^2 >= 2 lambda_min(J J^T) loss; for N = 1, n_l >= m >= d_y and ||W_l|| <= 1, the
    biases alone give sigma_min(W_o)^2 sum_l c_l^2 |r|^2 with c_l = a max(0, sum_k (1 - beta_k)
    (kappa sigma_min(W_l) - ||W_l|| e_kl)), e_kl = a (L - l) + sum_{q > k} (beta_q v + (1 - beta_q)
    a L).
    """

    id = "xie2021/lem16"
    title = "Lower bound on the gradient by the biases"
    cite = cite("Lemma 16", "(23)")
    uses = ("xie2021/lem9", "xie2021/lem11")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "False even for one sample: all sizes 1, K = 2, a = 1/4, w = 1/2, s = id gives 0.0307 < "
        "0.0374, since |J_b| = a w (2 - a (1 - w^2)) < 2 a w. For two samples with the same input "
        "and residuals -1 and 1 the gradient by b is 0 and the bound 0.0625."
    )

    slopes = Check("slopes bounded below", "kappa > 0", "Lemma 16")
    weights = Check("weights bounded below", "sigma_m > 0", "Lemma 16")
    short = Check("a K L below 1", "alpha*K*L < 1", "Lemma 16, proof")
    gentle = Check("g below 1/(2 L_z + 1)", "gamma*(2*L_z + 1) < 1", "appendix G")
    unrolled = UNROLLED
    printed_bound = Check(
        "gradient by the biases",
        "gradient_b^2 >= K^2*L*alpha^2*kappa^2*sigma_m^2*N*sigma_o^2*residual^2",
        "Lemma 16",
    )
    polyak = Check("PL inequality", "gradient^2 >= 2*lambda_min_JJt*loss", "corrected")
    features = Check(
        "features bound the Gram matrix", "lambda_min_JJt >= sigma_min_Z^2", "corrected"
    )
    biases = Check(
        "gradient by the biases, one sample",
        "gradient_b^2 >= sigma_o^2*sum_c^2*residual^2",
        "corrected",
    )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        if not self.printed:
            return
        network = p.start.network
        yield self.slopes(kappa=given(network.s.slopes[0]))
        yield self.weights(sigma_m=smallest_weight(network))
        yield self.short(alpha=given(p.model.alpha), K=p.model.iterations, L=p.model.depth)
        yield nonexpansive(p)
        yield self.unrolled(implicit=p.model.implicit)
        if p.start.sam is not None:
            yield self.gentle(gamma=given(p.start.sam.gamma), L_z=smoothness(p.start.sam))

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        start, model = p.start, p.model
        by_biases = errors.together(
            norm for name, norm in start.gradient_norms.items() if name.startswith("b")
        )
        sigma_o = sigma_output(start.Wo)
        if self.printed:
            yield self.printed_bound(
                gradient_b=by_biases,
                K=model.iterations,
                L=model.depth,
                alpha=given(model.alpha),
                kappa=given(start.network.s.slopes[0]),
                sigma_m=smallest_weight(start.network),
                N=model.N,
                sigma_o=sigma_o,
                residual=start.residual,
            )
            return
        whole = errors.together(start.gradient_norms.values())
        mu = start.lambda_min_JJt
        if start.outputs > 1:
            # For a single output both sides are the same number.
            yield self.polyak(gradient=whole, lambda_min_JJt=mu, loss=start.loss)
        if model.m >= model.N and not (start.sam and start.sam.uses_output):
            claim = self.features(lambda_min_JJt=mu, sigma_min_Z=start.sigma_min_Z)
            # J J^T = Z^T Z kron I + (...): what W_o^T maps to 0 sees the first part only.
            yield claim.known_equal("d_y > m") if len(start.Wo) > model.m else claim
        wide = all(len(layer.W) >= model.m for layer in start.network.layers)
        inside = largest_norm(start.network).high <= 1
        if model.N == 1 and wide and inside and not model.implicit:
            yield self.biases(
                gradient_b=by_biases,
                sigma_o=sigma_o,
                sum_c=errors.together(bias_factors(p)),
                residual=start.residual,
            )


def bias_factors(p: Problem) -> list[Measured]:
    """c_l, l = 1..L: telescoping the products of factors of norm at most 1 that are near I."""
    start, a, L = p.start, given(p.model.alpha), p.model.depth
    kappa, out = given(p.start.network.s.slopes[0]), []
    weights = [step.weights for step in start.steps]
    sam, fields = start.sam, p.model.fields.sam
    # k^-rho and k^-c are rounded.
    number = given if fields is None or fields.rho == fields.c == 0 else measured
    betas = [number(w.beta) for w in weights]
    pulled = [
        given(0) if sam is None else given(sam.gamma) * (sam.R.L_z + number(w.lambda_))
        for w in weights
    ]
    for i, layer in enumerate(start.network.layers, start=1):
        smallest = errors.nth_singular_value(layer.W, p.model.m, exact=exact.array(layer.W))
        total = later = given(0)
        for beta, v in zip(reversed(betas), reversed(pulled), strict=True):
            off = a * (L - i) + later
            total = total + (1 - beta) * (kappa * smallest - matrix_norm(layer.W) * off)
            later = later + beta * v + (1 - beta) * a * L
        out.append(a * maximum(given(0), total))
    return out
