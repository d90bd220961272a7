"""Lemmas 12, 14 and 18: bounds on the state and its derivatives.

What is granted to ||W_l|| <= 1 is granted to the bounds: `growth` is (1 + 1e-12)^(2 K L + 2).
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from deqcheck.linalg import errors, exact
from deqcheck.linalg.matrix import count
from deqcheck.models.opteq.exact_states import Seen
from deqcheck.models.opteq.network import Pass
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, chosen, given, maximum
from deqcheck.theorems.base import CORRECTED, PRINTED, Check, Space
from deqcheck.theorems.xie2021.bounds import Bounds
from deqcheck.theorems.xie2021.common import (
    TOLERANCE,
    UNROLLED,
    Pointwise,
    cite,
    nonexpansive,
    too_large,
)
from deqcheck.theorems.xie2021.setting import Problem


class StateBound(Pointwise):
    """Common setting: K iterations of nonexpansive layers, a SAM step that keeps 0."""

    unrolled = UNROLLED
    centred = Check("the SAM step keeps 0 at 0", "offset == 0", "setting")
    gentle = Check("the SAM step is nonexpansive", "gamma*(L_z + lambda_1) <= 2", "setting")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield nonexpansive(p)
        yield self.unrolled(implicit=p.model.implicit)
        sam = p.start.sam
        if sam is not None:
            yield self.centred(offset=given(sam.R.offset))
            given_ = {"gamma": given(sam.gamma), "lambda_1": given(sam.lambda_)}
            yield self.gentle(**given_, L_z=sam.R.L_z)

    def passes(self, p: Problem) -> Iterable[tuple[Pass, Seen]]:
        """What the layers saw, and the same computed again."""
        for k, step in enumerate(p.start.steps):
            for i, seen in enumerate(step.passes):
                yield seen, p.start.again.seen(k, i)

    def growth(self, p: Problem) -> Measured:
        """A layer stretches by at most 1 + TOLERANCE where Assumption 2 is granted, and so does
        every norm of a W_l in a bound on states of K L layers and on products of their factors."""
        return chosen(1 + Fraction(repr(TOLERANCE))) ** (2 * p.model.iterations * p.model.depth + 2)


class Lemma12(StateBound):
    """Every state stays bounded: |Z^(k,l)|_F <= B_z = |Z^0|_F + a K L (sqrt(n N) |s(0)| + B_Ub
    (|X|_F + sqrt N)). The paper claims B* for z^k and 3 B* within a sweep, of the order of B_x,
    B_Ub and the bound B_1* of Assumption 4, for a <= ln 2/(2 L) (the bound on a is blotted, and
    read off exp(2 a L) <= 2 in the proof); this explicit form needs neither. How B* depends on
    these is not said; that 3 B* bounds the states within a sweep is judged with the B* of the
    proof, the larger of the |z^k| and the |f_l o ... o f_1 (0)|.
    """

    id = "xie2021/lem12"
    title = "The states stay bounded"
    cite = cite("Lemma 12")
    uses = ("xie2021/thm4",)

    bound = Check("every state is bounded", "Z_norm <= growth*B_z", "Lemma 12")
    inner = Check("states within a sweep", "Z_norm <= growth*3*B_star", "Lemma 12")

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        start, growth = p.start, self.growth(p)
        sizes = [
            errors.frobenius(seen.Zin, seen.Zin_error, again.Zin) for seen, again in self.passes(p)
        ]
        sizes.append(start.measure("Z_fro"))
        yield self.bound(Z_norm=maximum(*sizes), growth=growth, B_z=Bounds(p).B_z)
        star = self._star(p)
        # One layer has no states within a sweep, and of states that are 0 nothing is claimed.
        if p.model.depth > 1 and star.low > 0:
            yield self.inner(Z_norm=maximum(*sizes), growth=growth, B_star=star)

    def _star(self, p: Problem) -> Measured:
        """The largest |z^k| and |f_l o ... o f_1 (0)|, l < L: z^(k,L) is the next state, or goes
        into it."""
        start = p.start
        zero = np.zeros_like(start.Z)
        passes, _, _ = start.network.visit(zero, 0.0)
        again = start.again.visited(exact.array(zero))
        seen = [(step.passes[0], start.again.seen(k, 0)) for k, step in enumerate(start.steps)]
        seen += list(zip(passes[1:], again[1:], strict=True))
        states = [errors.frobenius(one.Zin, one.Zin_error, node.Zin) for one, node in seen]
        return maximum(*states, start.measure("Z_fro"))


class Lemma14(StateBound):
    """|s(W Z + U X + b 1^T)|_F <= sqrt(N n) |s(0)| + B_z + B_Ub (|X|_F + sqrt N), from the proof of
    Lemma 14. In place of 3 B* and 2 B_Ub B_x it has B_z, the bound on the states that is known here
    (xie2021/lem12), and what 2 B_Ub B_x bounds for sqrt(N) <= B_x; so has the printed edition,
    whose refutation says no more than that sqrt(m n) s(0) is too small there. The bounds (20) that
    the lemma claims are in xie2021/eq20.
    """

    id = "xie2021/lem14"
    title = "The activations stay bounded"
    cite = cite("Lemma 14", "proof")
    uses = ("xie2021/lem12",)
    soundness = "typo"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "sqrt(m n) s(0) is printed for sqrt(N n) |s(0)|: softplus, m = n = 1, N = 100, W = X = 0 "
        "has an activation of norm 6.93 against 0.693."
    )

    printed_bound = Check(
        "every activation is bounded",
        "G_norm <= growth*(sqrt(m*n)*s_0 + B_z + B_Ub*(X_norm + sqrt(N)))",
        "Lemma 14, printed",
    )
    bound = Check(
        "every activation is bounded",
        "G_norm <= growth*(sqrt(N*n)*abs(s_0) + B_z + B_Ub*(X_norm + sqrt(N)))",
        "Lemma 14",
    )

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        bounds = Bounds(p)
        values = {
            "G_norm": maximum(
                *(errors.frobenius(seen.G, seen.A_error, node.G) for seen, node in self.passes(p))
            ),
            "growth": self.growth(p),
            "n": maximum(*(count(layer.W, 0) for layer in p.start.network.layers)),
            "s_0": p.start.network.s.origin,
            "N": p.model.N,
            "B_z": bounds.B_z,
            "B_Ub": bounds.B_Ub,
            "X_norm": bounds.X_fro,
        }
        if self.printed:
            yield self.printed_bound(**values, m=p.model.m)
        else:
            yield self.bound(**values)


class Lemma18(StateBound):
    """For R = |W_o z|^2/2 and g B_L^2 <= 1: ||dZ^K/dW_o||_2 <= 2 g B_L B_z sum_k beta_k, which is
    no more than the 2 K g B* B_L of (26) where B* bounds the states as B_z does. The gradient by
    W_o has that part, times B_L |r|, and the part r Z^T of the read-out: together at most (2 g
    B_L^2 sum_k beta_k + 1) B_z |r|, no more than the 3 K B* |r| of (27).
    """

    id = "xie2021/lem18"
    title = "Derivatives of the state and the loss by the output weights"
    cite = cite("Lemma 18", "(26), (27)")
    uses = ("xie2021/lem12", "xie2021/eq20")
    soundness = "typo"
    erratum = (
        "On the way to (27) the proof has 3 K g B* B_L^2 |r|, too small where K g B_L^2 is small: "
        "w = 0, a = 1/2, z^0 = W_o = K = 1, beta = 0, g = 1/8 gives |r|/2 against 3 |r|/8. (27) "
        "itself holds."
    )

    space = Space(
        fields={
            "sam": tuple(
                {"beta": beta, "gamma": gamma, "regularizer": "output"}
                for beta, gamma in ((0.5, 0.5), (0.1, 1.0), (1.0, 0.1))
            )
        }
    )

    output = Check("R is |W_o z|^2/2", "of_output == 1", "Lemma 18")
    small = Check("g B_L^2 at most 1", "gamma*B_L^2 <= 1", "Lemma 18")
    bound = Check("derivative of the state", "norm_dZ <= growth*2*gamma*B_L*B_z*sum_beta", "(26)")
    sharper = Check(
        "gradient by W_o, with its two parts",
        "slope <= growth*(2*gamma*B_L^2*sum_beta + 1)*B_z*residual",
        "(27), proof",
    )
    gradient = Check("gradient by W_o", "slope <= growth*3*K*B_z*residual", "(27)")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from super().hypotheses(p)
        sam = p.start.sam
        yield self.output(of_output=sam is not None and sam.uses_output)
        if sam is not None:
            yield self.small(gamma=given(sam.gamma), B_L=Bounds(p).B_L)

    def unchecked(self, p: Problem) -> Iterable[str]:
        return too_large(p.model.m * p.model.N * p.start.count)

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        sam = p.start.sam
        if sam is None or not sam.uses_output or list(self.unchecked(p)):
            return
        derivative, radius = p.start.dZ
        bounds = Bounds(p)
        total = sum(w.beta for w in sam.weights)
        common = {"growth": self.growth(p), "B_z": bounds.B_z}
        pulled = {
            "gamma": given(sam.gamma),
            "B_L": bounds.B_L,
            "sum_beta": Measured(total, errors.rounding(len(sam.weights), total)),
        }
        again = p.start.again.columns()["Wo"]
        norm = errors.norm2(derivative[:, -p.start.Wo.size :], radius, again)
        yield self.bound(norm_dZ=norm, **common, **pulled)
        seen = {"slope": p.start.gradient_norms["Wo"], "residual": p.start.residual}
        yield self.sharper(**seen, **common, **pulled)
        yield self.gradient(**seen, **common, K=p.model.iterations)
