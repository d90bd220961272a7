"""Lemma 15 and (19): derivatives of the states by the parameters of one layer at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from deqcheck.linalg import errors
from deqcheck.models.opteq import oracle
from deqcheck.models.opteq.state import Block, OpteqState
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, chosen, given, maximum, sqrt
from deqcheck.records.tower import Again
from deqcheck.theorems.base import CORRECTED, PRINTED, Check
from deqcheck.theorems.xie2021.bounds import Bounds
from deqcheck.theorems.xie2021.common import (
    UNROLLED,
    Pointwise,
    cite,
    layer_entries,
    tolerance,
    too_large,
)
from deqcheck.theorems.xie2021.lem11 import DENSE_LOSS
from deqcheck.theorems.xie2021.lem12 import StateBound
from deqcheck.theorems.xie2021.setting import Problem

# Beyond it the derivatives within all sweeps take minutes.
MOST_PASSES = 100_000


class Lemma15(StateBound):
    """The derivative of Z^K by W_l, U_l or b_l is at most K a C, K a |X|_F or K a sqrt(N), and the
    gradient at most that times B_L |r| (22): each iteration adds one term of (20), and nothing
    enlarges it. Within sweep k, Z^(k,l') has k - 1 iterations behind it and one more term if l' >=
    l. The paper counts the start as z^1, so that its z^k has k - 1 iterations; in that count Z^k is
    where sweep k starts. Printed for C: sqrt(m n) s(0) + 6 B* + 2 B_Ub B_x, where 3 B* bounds the
    states within a sweep, as B_z does here (xie2021/lem12), and B_x is the larger of |X|_F and
    sqrt(N). Corrected: sqrt(N n) |s(0)| + 2 B_z + B_Ub (|X|_F + sqrt N).
    """

    id = "xie2021/lem15"
    title = "Derivatives of the states and the gradient, layer by layer"
    cite = cite("Lemma 15", "(21), (22)")
    uses = ("xie2021/lem11", "xie2021/eq19", "xie2021/eq20")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "Within a sweep (21) counts one iteration too few: 1 + k - 2 for l' >= l is 0 at k = 1, "
        "while f_1 depends on b_1: w = 1/2, a = 1/2, s = id gives the derivative 1/4. It comes "
        "from (19), which prints the derivative of z^(k-1) for that of z^k; both would be right if "
        "sweep k started from z^(k-1), but Z^(k,l) is defined from z^k. sqrt(m n) s(0) is printed "
        "for sqrt(N n) |s(0)|, see xie2021/lem14."
    )

    weights = Check("state by W_l", "norm_W <= growth*K*alpha*C", "(21)")
    inputs = Check("state by U_l", "norm_U <= growth*K*alpha*B_x", "(21)")
    biases = Check("state by b_l", "norm_b <= growth*K*alpha*sqrt(N)", "(21)")
    inner_weights = Check("within a sweep, by W_l", "norm_W <= growth*count*alpha*C", "(21)")
    inner_inputs = Check("within a sweep, by U_l", "norm_U <= growth*count*alpha*B_x", "(21)")
    inner_biases = Check("within a sweep, by b_l", "norm_b <= growth*count*alpha*sqrt(N)", "(21)")
    slope_weights = Check("gradient by W_l", "slope <= growth*K*alpha*C*B_L*residual", "(22)")
    slope_inputs = Check("gradient by U_l", "slope <= growth*K*alpha*B_x*B_L*residual", "(22)")
    slope_biases = Check("gradient by b_l", "slope <= growth*K*alpha*sqrt(N)*B_L*residual", "(22)")

    def unchecked(self, p: Problem) -> Iterable[str]:
        return _too_much(p)

    def _constants(self, p: Problem) -> dict[str, Measured]:
        """C and the bound on the input that the edition has."""
        b, N = Bounds(p), p.model.N
        if not self.printed:
            return {"C": b.C + b.B_z, "B_x": b.X_fro}
        B_x = maximum(b.X_fro, sqrt(N))
        width = max(len(layer.W) for layer in p.start.network.layers)
        zero = sqrt(p.model.m * width) * p.start.network.s.origin
        return {"C": zero + 2 * b.B_z + 2 * b.B_Ub * B_x, "B_x": B_x}

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        if p.model.implicit or list(self.unchecked(p)):
            return
        start, depth = p.start, p.model.depth
        constants = self._constants(p)
        common = {"growth": self.growth(p), "alpha": given(p.model.alpha)}
        whole = _norms(start.dZ_by_name, start.again.columns())
        largest = {x: maximum(*_parts(whole, x, depth)) for x in "WUb"}
        K, C, B_x = p.model.iterations, constants["C"], constants["B_x"]
        by_W, by_U = {**common, "C": C}, {**common, "B_x": B_x}
        by_b = {**common, "N": p.model.N}
        yield self.weights(norm_W=largest["W"], K=K, **by_W)
        yield self.inputs(norm_U=largest["U"], K=K, **by_U)
        yield self.biases(norm_b=largest["b"], K=K, **by_b)
        inner = {
            place: _norms(start.dZ_within(*place), start.again.columns(place))
            for place in _places(p)
        }
        W, U, b = (self._inner(p, inner, x) for x in "WUb")
        yield self.inner_weights(W.where, norm_W=W.norm, count=chosen(W.times), **by_W)
        yield self.inner_inputs(U.where, norm_U=U.norm, count=chosen(U.times), **by_U)
        yield self.inner_biases(b.where, norm_b=b.norm, count=chosen(b.times), **by_b)
        seen = {"K": K, "B_L": Bounds(p).B_L, "residual": start.residual}
        slopes = {
            x: maximum(*(start.gradient_norms[f"{x}{i + 1}"] for i in range(depth))) for x in "WUb"
        }
        yield self.slope_weights(slope=slopes["W"], **by_W, **seen)
        yield self.slope_inputs(slope=slopes["U"], **by_U, **seen)
        yield self.slope_biases(slope=slopes["b"], **by_b, **seen)

    def _inner(self, p: Problem, inner: Within, letter: str) -> Inner:
        """The derivative within a sweep that is largest against its count."""
        missing = 2 if self.printed else 1
        return max(
            (
                Inner(f"k = {k}, l' = {depth}, l = {i}", norm, (depth >= i) + k - missing)
                for (k, depth), norms in inner.items()
                for i, norm in enumerate(_parts(norms, letter, p.model.depth), start=1)
                # Later layers have no part in the first sweep: nothing is claimed of nothing.
                if depth >= i or k > 1
            ),
            key=lambda each: each.norm.value / max(each.times, 1e-300),
        )


Within: TypeAlias = Mapping[tuple[int, int], Mapping[str, Measured]]


class Inner(NamedTuple):
    where: str
    norm: Measured
    times: int


def _places(p: Problem) -> Iterator[tuple[int, int]]:
    """Every (k, l')."""
    for k in range(1, p.model.iterations + 1):
        for depth in range(1, p.model.depth + 1):
            yield k, depth


def _norms(blocks: Mapping[str, Block], again: Mapping[str, Again]) -> dict[str, Measured]:
    return {name: errors.norm2(*block, again[name]) for name, block in blocks.items()}


def _parts(norms: Mapping[str, Measured], letter: str, depth: int) -> list[Measured]:
    """||d/dW_l|| for l = 1..L, or of U_l, b_l."""
    return [norms[f"{letter}{i}"] for i in range(1, depth + 1)]


class Equation19(Pointwise):
    """The derivative of Z^(k,l') by the parameters of layer l: A(k, l', l+1) times that of the
    layer itself, if l' >= l, plus A(k, l', 1) times that of the state before the sweep; in dense
    form, against reverse mode. Printed: the derivative of z^(k-1) stands where that of z^k, from
    which sweep k starts, belongs.
    """

    id = "xie2021/eq19"
    title = "Derivatives within a sweep"
    cite = cite("Appendix G.1", "(19)")
    uses = ("xie2021/lem11",)
    soundness = "typo"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "(19) has the derivative of z^(k-1) in place of z^k: all sizes 1, w = 1/2, a = 1/2, s = "
        "id, beta = 0 gives d z^(2,1)/db = (1 + 5/8)/4, printed 1/4."
    )

    unrolled = UNROLLED
    agrees = Check("dense form equals reverse mode", "deviation <= noise", "(19)")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.unrolled(implicit=p.model.implicit)

    def unchecked(self, p: Problem) -> Iterable[str]:
        return _too_much(p)

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        if p.model.implicit or list(self.unchecked(p)):
            return
        start = p.start
        nothing = {name: np.zeros((start.Z.size, a.size)) for name, a in start.theta.items()}
        before = [nothing]
        for k in range(1, p.model.iterations):
            before.append(oracle.state_jacobian(start.after(k)))
        for k, depth in _places(p):
            base = before[max(k - 2, 0)] if self.printed else before[k - 1]
            dense = oracle.jacobian_within(start, (k, depth), base)
            inner = start.dZ_within(k, depth)
            off = size = radius = 0.0
            for name, block in dense.items():
                here, own = inner[name]
                radius = float(np.hypot(radius, own))
                off = float(np.hypot(off, np.linalg.norm(_by_rows(block, start, name) - here)))
                size = float(np.hypot(size, np.linalg.norm(here)))
            noise = tolerance(DENSE_LOSS * radius, size)
            yield self.agrees(f"k = {k}, l' = {depth}", deviation=Measured(off), noise=noise)


def _by_rows(block: np.ndarray, state: OpteqState, name: str) -> np.ndarray:
    """From the columns of a parameter, one below the other, to its rows."""
    shape = state.theta[name].shape
    if len(shape) == 1:
        return block
    order = np.arange(block.shape[1]).reshape(shape[::-1]).T.ravel()
    return block[:, order]


def _too_much(p: Problem) -> Iterable[str]:
    """Each of the K sweeps is derived through all that come before it."""
    yield from too_large(_entries(p))
    K, depth = p.model.iterations, p.model.depth
    passes = K * K * depth * depth * p.model.m // 2
    if passes > MOST_PASSES and not p.model.implicit:
        yield (
            f"the derivatives within {K} sweeps take {passes} passes through a layer, and the "
            f"limit is {MOST_PASSES}: fewer iterations"
        )


def _entries(p: Problem) -> int:
    """Of all derivatives together, and of the largest dense matrix."""
    size = p.model.m * p.model.N
    together = size * p.start.count * p.model.iterations * p.model.depth
    return max(layer_entries(p), together)
