"""Lemmas 12, 14, 15, 17 and 18: bounds on the state and its derivatives."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import errors
from deqcheck.models.opteq import oracle
from deqcheck.models.opteq.network import Pass
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import CORRECTED, PRINTED, Check
from deqcheck.theorems.xie2021.bounds import Bounds
from deqcheck.theorems.xie2021.common import Pointwise, cite, nonexpansive
from deqcheck.theorems.xie2021.setting import Problem

# Entries of the largest dense matrix that is taken apart.
DENSE_LIMIT = 1_000_000


class StateBound(Pointwise):
    """Common setting: K iterations of nonexpansive layers, a SAM step that keeps 0."""

    unrolled = Check("the state is Z^K", "implicit == 0", "setting")
    centred = Check("the SAM step keeps 0 at 0", "offset == 0", "setting")
    gentle = Check("the SAM step is nonexpansive", "gamma*(L_z + lambda_1) <= 2", "setting")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield nonexpansive(p)
        yield self.unrolled(implicit=p.model.implicit)
        sam = p.start.sam
        if sam is not None:
            yield self.centred(offset=float(np.abs(sam.R.c).max()))
            yield self.gentle(gamma=sam.gamma, L_z=sam.R.smoothness, lambda_1=sam.lambda_)

    def passes(self, p: Problem) -> Iterable[Pass]:
        return (seen for step in p.start.steps for seen in step.passes)


class Lemma12(StateBound):
    """Every state stays bounded: |Z^(k,l)|_F <= |Z^0|_F + a K L (sqrt(n N) |s(0)|
    + B_Ub (|X|_F + sqrt N)), an explicit form of the lemma that needs no Assumption 4.
    """

    id = "xie2021/lem12"
    title = "The states stay bounded"
    cite = cite("Lemma 12")

    bound = Check("every state is bounded", "Z_norm <= B_z", "Lemma 12")

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        sizes = [errors.frobenius(seen.Zin, seen.Zin_error) for seen in self.passes(p)]
        sizes.append(errors.frobenius(p.start.Z, p.start.Z_radius))
        yield self.bound(Z_norm=_largest(sizes), B_z=Bounds(p).B_z)


class Lemma14(StateBound):
    """|s(W Z + U X + b 1^T)|_F <= sqrt(N n) |s(0)| + B_z + B_Ub (|X|_F + sqrt N)."""

    id = "xie2021/lem14"
    title = "The activations stay bounded"
    cite = cite("Lemma 14")
    soundness = "typo"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "sqrt(m n) s(0) is printed for sqrt(N n) |s(0)|: softplus, m = n = 1, N = 100, W = X = 0 "
        "has an activation of norm 6.93 against 0.693."
    )

    printed_bound = Check(
        "every activation is bounded",
        "G_norm <= sqrt(m*n)*s_0 + B_z + B_Ub*(X_norm + sqrt(N))",
        "Lemma 14, printed",
    )
    bound = Check(
        "every activation is bounded",
        "G_norm <= sqrt(N*n)*abs(s_0) + B_z + B_Ub*(X_norm + sqrt(N))",
        "Lemma 14",
    )

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        bounds = Bounds(p)
        values = {
            "G_norm": _largest(errors.frobenius(seen.G, seen.A_error) for seen in self.passes(p)),
            "n": max(len(layer.W) for layer in p.start.network.layers),
            "s_0": p.start.network.s.at_zero,
            "N": p.model.N,
            "B_z": bounds.B_z,
            "B_Ub": bounds.B_Ub,
            "X_norm": bounds.X_fro,
        }
        if self.printed:
            yield self.printed_bound(**values, m=p.model.m)
        else:
            yield self.bound(**values)


class Lemma15(StateBound):
    """The derivative of one layer by its own parameters: at most a (C + B_z) for W, a |X|_F for U
    and a sqrt(N) for b.
    """

    id = "xie2021/lem15"
    title = "Derivatives of one layer by its parameters"
    cite = cite("Lemma 15")

    weights = Check("derivative by W", "norm_W <= alpha*(C + B_z)", "Lemma 15")
    inputs = Check("derivative by U", "norm_U <= alpha*X_norm", "Lemma 15")
    biases = Check("derivative by b", "norm_b <= alpha*sqrt(N) + 1e-12", "Lemma 15")

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        if p.start.Z.size * max(a.size for a in p.theta0.values()) > DENSE_LIMIT:
            return
        largest = {"W": 0.0, "U": 0.0, "b": 0.0}
        noise = 0.0
        for step in p.start.steps:
            for layer, seen in zip(p.start.network.layers, step.passes, strict=True):
                for name, local in oracle.local_jacobians(layer, seen).items():
                    largest[name] = max(largest[name], float(np.linalg.norm(local, 2)))
                bent = layer.s.curvature if layer.s.smooth else 0.0
                scale = 1 + float(np.linalg.norm(seen.Zin) + np.linalg.norm(seen.G))
                noise = max(noise, seen.A_error * (1 + bent * scale))
                noise = max(noise, errors.rounding(sum(layer.W.shape), scale))
        bounds = Bounds(p)
        common = {"alpha": p.model.alpha}
        yield self.weights(
            norm_W=Measured(largest["W"], noise), C=bounds.C, B_z=bounds.B_z, **common
        )
        yield self.inputs(norm_U=Measured(largest["U"], noise), X_norm=bounds.X_fro, **common)
        yield self.biases(norm_b=Measured(largest["b"], noise), N=p.model.N, **common)


class Lemma17(StateBound):
    """||dZ^K/d(W, U, b)||_2 <= a K sqrt(L) (C + sqrt(B_z^2 + ||X||^2 + N))."""

    id = "xie2021/lem17"
    title = "Derivative of the state by the layers"
    cite = cite("Lemma 17")
    soundness = "typo"
    erratum = (
        "The formula for the derivative needs A(k, l+1) and the factor 1 - beta_k; the bound holds."
    )

    bound = Check("derivative of the state", "norm_dZ <= alpha*K*sqrt(L)*(C + c_A)", "Lemma 17")

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        if p.start.Z.size * p.start.count > DENSE_LIMIT:
            return
        derivative, radius = p.start.dZ
        layers = derivative[:, : -p.start.Wo.size]
        bounds = Bounds(p)
        yield self.bound(
            norm_dZ=errors.norm2(layers, radius),
            alpha=p.model.alpha,
            K=p.model.iterations,
            L=p.model.depth,
            C=bounds.C,
            c_A=bounds.c_A,
        )


class Lemma18(StateBound):
    """For R = |W_o z|^2/2 and g B_L^2 <= 1: ||dZ^K/dW_o||_2 <= 2 g B_L B_z sum_k beta_k."""

    id = "xie2021/lem18"
    title = "Derivative of the state by the output weights"
    cite = cite("Lemma 18")

    output = Check("R is |W_o z|^2/2", "given == 1", "Lemma 18")
    small = Check("g B_L^2 at most 1", "gamma*B_L^2 <= 1", "Lemma 18")
    bound = Check("derivative of the state", "norm_dZ <= 2*gamma*B_L*B_z*sum_beta", "Lemma 18")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from super().hypotheses(p)
        sam = p.start.sam
        yield self.output(given=sam is not None and sam.uses_output)
        if sam is not None:
            yield self.small(gamma=sam.gamma, B_L=Bounds(p).B_L)

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        sam = p.start.sam
        if sam is None or not sam.uses_output or p.start.Z.size * p.start.count > DENSE_LIMIT:
            return
        derivative, radius = p.start.dZ
        bounds = Bounds(p)
        total = sum(w.beta for w in sam.weights)
        yield self.bound(
            norm_dZ=errors.norm2(derivative[:, -p.start.Wo.size :], radius),
            gamma=sam.gamma,
            B_L=bounds.B_L,
            B_z=bounds.B_z,
            sum_beta=Measured(total, errors.rounding(len(sam.weights), total)),
        )


def _largest(values: Iterable[Measured]) -> Measured:
    return max(values, key=lambda value: value.high)
