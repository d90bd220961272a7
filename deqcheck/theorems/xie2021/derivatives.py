"""Derivatives of a layer (20) and of the state by the parameters of the layers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import errors
from deqcheck.models.opteq import oracle
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import Check
from deqcheck.theorems.xie2021.bounds import Bounds
from deqcheck.theorems.xie2021.common import cite, too_large
from deqcheck.theorems.xie2021.lem12 import StateBound
from deqcheck.theorems.xie2021.setting import Problem


class Equation20(StateBound):
    """The derivative of one layer by its own parameters: at most a (C + B_z) for W, a |X|_F for U
    and a sqrt(N) for b, where C = sqrt(n N) |s(0)| + B_z + B_Ub (|X|_F + sqrt N). (20) has
    sqrt(m n) s(0) + 6 B* + 2 B_Ub B_x for C + B_z; see xie2021/lem14 for the difference.
    """

    id = "xie2021/eq20"
    aliases = ("xie2021/lem15",)
    title = "Derivatives of one layer by its parameters"
    cite = cite("Lemma 14", "(20)")

    weights = Check("derivative by W", "norm_W <= growth*alpha*(C + B_z)", "(20)")
    inputs = Check("derivative by U", "norm_U <= growth*alpha*X_norm", "(20)")
    biases = Check("derivative by b", "norm_b <= growth*alpha*sqrt(N)", "(20)")

    def unchecked(self, p: Problem) -> Iterable[str]:
        return too_large(_entries(p))

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        if list(too_large(_entries(p))):
            return
        largest = {"W": 0.0, "U": 0.0, "b": 0.0}
        noise, slip = 0.0, 0.0
        for step in p.start.steps:
            for layer, seen in zip(p.start.network.layers, step.passes, strict=True):
                for name, local in oracle.local_jacobians(layer, seen).items():
                    largest[name] = max(largest[name], float(np.linalg.norm(local, 2)))
                bent = layer.s.curvature if layer.s.smooth else 0.0
                turned = bent * seen.A_error + errors.rounding(sum(layer.W.shape), 1.0)
                size = float(np.linalg.norm(seen.Zin) + np.linalg.norm(seen.G))
                noise = max(noise, turned * size + seen.A_error + seen.Zin_error)
                slip = max(slip, turned)
        bounds = Bounds(p)
        common = {"alpha": p.model.alpha, "growth": self.growth(p)}
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
    aliases = ("xie2021/lem17",)
    title = "Derivative of the state by the layers"
    cite = cite("Lemma 19", "proof, from (21)")

    bound = Check(
        "derivative of the state", "norm_dZ <= growth*alpha*K*sqrt(L)*(C + c_A)", "Lemma 19"
    )

    def unchecked(self, p: Problem) -> Iterable[str]:
        return too_large(p.model.m * p.model.N * p.start.count)

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        if list(self.unchecked(p)):
            return
        derivative, radius = p.start.dZ
        layers = derivative[:, : -p.start.Wo.size]
        bounds = Bounds(p)
        yield self.bound(
            norm_dZ=errors.norm2(layers, radius),
            growth=self.growth(p),
            alpha=p.model.alpha,
            K=p.model.iterations,
            L=p.model.depth,
            C=bounds.C,
            c_A=bounds.c_A,
        )


def _entries(p: Problem) -> int:
    """Of the largest dense derivative of a layer."""
    return p.model.m * p.model.N * max(a.size for a in p.theta0.values())
