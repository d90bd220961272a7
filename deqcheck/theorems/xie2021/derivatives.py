"""Derivatives of a layer (20) and of the state by the parameters of the layers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.remembered import spectral_norm
from deqcheck.models.opteq import oracle
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, given, maximum
from deqcheck.theorems.base import Check
from deqcheck.theorems.xie2021.bounds import Bounds
from deqcheck.theorems.xie2021.common import cite, layer_entries, too_large
from deqcheck.theorems.xie2021.lem12 import StateBound
from deqcheck.theorems.xie2021.pairs import suffix_products
from deqcheck.theorems.xie2021.setting import Problem


class Equation20(StateBound):
    """A(k,l), the product of the Jacobians of layers l..L in iteration k, and every product of the
    beta_q V + (1 - beta_q) A(q,1) of later iterations has norm at most 1. The derivative of one
    layer by its own parameters is at most a (C + B_z) for W, a |X|_F for U and a sqrt(N) for b,
    where C = sqrt(n N) |s(0)| + B_z + B_Ub (|X|_F + sqrt N). (20) has sqrt(m n) s(0) + 6 B* + 2
    B_Ub B_x for C + B_z; see xie2021/lem14 for the difference.
    """

    id = "xie2021/eq20"
    title = "Derivatives of one layer by its parameters, and products of layers"
    cite = cite("Lemma 14", "(20)")
    uses = ("xie2021/lem9", "xie2021/lem12", "xie2021/lem14")

    factors = Check("products of layers", "norm_A <= growth", "(20)")
    products = Check("products of iterations", "norm_product <= growth", "(20)")
    weights = Check("derivative by W", "norm_W <= growth*alpha*(C + B_z)", "(20)")
    inputs = Check("derivative by U", "norm_U <= growth*alpha*X_norm", "(20)")
    biases = Check("derivative by b", "norm_b <= growth*alpha*sqrt(N)", "(20)")

    def unchecked(self, p: Problem) -> Iterable[str]:
        return too_large(layer_entries(p))

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        if list(too_large(layer_entries(p))):
            return
        largest = {"W": 0.0, "U": 0.0, "b": 0.0}
        noise, slip = 0.0, 0.0
        for step in p.start.steps:
            for layer, seen in zip(p.start.network.layers, step.passes, strict=True):
                for name, local in oracle.local_jacobians(layer, seen).items():
                    largest[name] = max(largest[name], spectral_norm(local))
                bent = layer.s.curvature if layer.s.smooth else 0.0
                turned = bent * seen.A_error + errors.rounding(sum(layer.W.shape), 1.0)
                size = euclidean(seen.Zin) + euclidean(seen.G)
                noise = max(noise, turned * size + seen.A_error + seen.Zin_error)
                slip = max(slip, turned)
        bounds = Bounds(p)
        layers, iterations = products(p)
        yield self.factors(norm_A=layers, growth=self.growth(p))
        yield self.products(norm_product=iterations, growth=self.growth(p))
        common = {"alpha": given(p.model.alpha), "growth": self.growth(p)}
        yield self.weights(
            norm_W=Measured(largest["W"], noise), C=bounds.C, B_z=bounds.B_z, **common
        )
        by_inputs = Measured(largest["U"], slip * bounds.X_fro.high)
        yield self.inputs(norm_U=by_inputs, X_norm=bounds.X_fro, **common)
        by_biases = Measured(largest["b"], slip * float(np.sqrt(p.model.N)))
        yield self.biases(norm_b=by_biases, N=p.model.N, **common)


class Jacobian(StateBound):
    """The derivative of the state by all layers together: ||dZ^K/d(W, U, b)||_2 <= a K sqrt(L) (C +
    c_A), c_A = sqrt(B_z^2 + ||X||^2 + N), where the proof of Lemma 19 has 2 a K sqrt(L) C_z for it
    (from the bounds (21) on its parts, Lemma 15).
    """

    id = "xie2021/jacobian"
    title = "Derivative of the state by the layers"
    cite = cite("Lemma 19", "proof, from (21)")
    uses = ("xie2021/lem15", "xie2021/lem17", "xie2021/lem18")

    bound = Check(
        "derivative of the state", "norm_dZ <= growth*alpha*K*sqrt(L)*(C + c_A)", "Lemma 19"
    )

    def unchecked(self, p: Problem) -> Iterable[str]:
        return too_large(p.model.m * p.model.N * p.start.count)

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        if list(self.unchecked(p)):
            return
        derivative, radius = p.start.dZ
        layers = derivative[:, p.start.layer_columns]
        bounds = Bounds(p)
        yield self.bound(
            norm_dZ=errors.norm2(layers, radius, p.start.again.by_layers),
            growth=self.growth(p),
            alpha=given(p.model.alpha),
            K=p.model.iterations,
            L=p.model.depth,
            C=bounds.C,
            c_A=bounds.c_A,
        )


def products(p: Problem) -> tuple[Measured, Measured]:
    """The largest ||A(k,l)||, and the largest norm of a product over all later iterations; of both
    the samples are blocks. Every factor has norm at most about 1, so that radii add up."""
    start, sam = p.start, p.start.sam
    layers, iterations = [], []
    after, later = np.eye(p.model.m), 0.0
    for step in reversed(start.steps):
        A, radii = suffix_products(start.network, step)
        layers += [_largest_norm(a, radius) for a, radius in zip(A, radii.tolist(), strict=True)]
        beta = step.weights.beta
        factor, bent = A[-1], 0.0
        if sam is not None:
            factor = beta * sam.jacobians(step.Z, step.weights) + (1 - beta) * factor
            bent = sam.gamma * sam.R.hessian_bend * step.passes[0].Zin_error
        after = after @ factor
        later += float(radii[-1]) + bent + errors.rounding(4 * p.model.m, float(np.sqrt(p.model.m)))
        iterations.append(_largest_norm(after, later))
    again = start.again.largest_factors()
    return (
        replace(maximum(*layers), again=again[0]),
        replace(maximum(*iterations), again=again[1]),
    )


def _largest_norm(blocks: np.ndarray, radius: float) -> Measured:
    norms = np.linalg.norm(blocks, 2, axis=(-2, -1))
    top = float(np.max(norms))
    return Measured(top, radius + errors.rounding(blocks.shape[-1], max(top, 1.0)))
