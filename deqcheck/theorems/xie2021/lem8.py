"""Lemma 8: a recursion with vanishing weights tends to zero."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured, given
from deqcheck.theorems.base import Check, Constant
from deqcheck.theorems.xie2021.common import Pointwise, cite, tolerance
from deqcheck.theorems.xie2021.setting import Problem

STEPS = 1 << 16
SPLITS = (16, 256, 4096, 16384)


class Lemma8(Pointwise):
    """a_{k+1} <= (1 - r1/(k+1)^t1) a_k + r1 r2/((k+1)^t1 k^t2) with a_k >= 0, 0 < r1 < 1, r2 > 0, 0
    < t1 <= 1, t2 > 0 tends to 0 and so is bounded. (The recursion is blotted; these are the b_k and
    c_k of the proof.) Judged where it is an equality, by an explicit form: from any k0 on the
    second term mixes in at most r2/k0^t2, so a_n <= a_k0 exp(-sum_{k0 <= k < n} r1/(k+1)^t1) +
    r2/k0^t2. The bound B is not written down: a_{k+1} lies between a_k and r2/k^t2, so max(a_1, r2)
    is one. A sequence that only satisfies the inequality stays below the one of the equality, whose
    weights 1 - r1/(k+1)^t1 are positive.
    """

    id = "xie2021/lem8"
    title = "A recursion with vanishing weights tends to zero"
    cite = cite("Lemma 8")
    soundness = "typo"
    erratum = "The proof prints exp(+sum b_k) where exp(-sum b_k) is meant; the lemma holds."
    constants = {
        "r1": Constant("weight of the recursion; default: 0.5", for_all=True),
        "t1": Constant("exponent of the weights; default: 0.5", for_all=True),
        "r2": Constant("size of the disturbance; default: 1", for_all=True),
        "t2": Constant("exponent of the disturbance; default: 0.5", for_all=True),
        "a1": Constant("first term; default: 1", for_all=True),
    }

    r1_low = Check("r1 is positive", "r1 > 0", "Lemma 8")
    r1_high = Check("r1 below 1", "r1 < 1", "Lemma 8")
    t1_low = Check("t1 is positive", "t1 > 0", "Lemma 8")
    t1_high = Check("t1 at most 1", "t1 <= 1", "Lemma 8")
    t2_low = Check("t2 is positive", "t2 > 0", "Lemma 8")
    r2_low = Check("r2 is positive", "r2 > 0", "Lemma 8")
    a1_low = Check("the first term is not negative", "a1 >= 0", "Lemma 8")
    bound = Check("the recursion itself", "a_n <= a_0*exp(-weight) + r2/k_0^t2", "Lemma 8")
    bounded = Check("every term is bounded", "largest <= max(a1, r2) + noise", "Lemma 8")

    def constants_used(self, p: Problem) -> dict[str, float]:
        return {"r1": 0.5, "t1": 0.5, "r2": 1.0, "t2": 0.5, "a1": 1.0, **self.fixed}

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        c = self.constants_used(p)
        yield self.r1_low(r1=given(c["r1"]))
        yield self.r1_high(r1=given(c["r1"]))
        yield self.t1_low(t1=given(c["t1"]))
        yield self.t1_high(t1=given(c["t1"]))
        yield self.t2_low(t2=given(c["t2"]))
        yield self.r2_low(r2=given(c["r2"]))
        yield self.a1_low(a1=given(c["a1"]))

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        c = self.constants_used(p)
        k = np.arange(1, STEPS, dtype=float)
        weights = c["r1"] / (k + 1) ** c["t1"]
        a = recursion(c["a1"], weights, c["r2"] / k ** c["t2"])
        top = float(np.abs(a).max())
        room = tolerance(8 * EPS * STEPS * top, top)
        yield self.bounded(largest=Measured(top), a1=given(c["a1"]), r2=given(c["r2"]), noise=room)
        for first, last in zip(SPLITS, (*SPLITS[1:], STEPS), strict=True):
            total = float(weights[first - 1 : last - 1].sum())
            # Every step rounds once; the weights in between are at most 1.
            noise = 8 * EPS * last * float(np.abs(a[:last]).max())
            yield self.bound(
                f"k0 = {first}, n = {last}",
                a_n=Measured(float(a[last - 1]), noise),
                a_0=Measured(float(a[first - 1]), noise),
                weight=Measured(total, 8 * EPS * last * total),
                r2=given(c["r2"]),
                k_0=first,
                t2=given(c["t2"]),
            )


def recursion(first: float, weights: np.ndarray, disturbance: np.ndarray) -> np.ndarray:
    """a_1, a_2, ... of a_{k+1} = (1 - w_k) a_k + w_k e_k."""
    out = np.empty(len(weights) + 1)
    out[0] = value = first
    for i, (w, e) in enumerate(zip(weights.tolist(), disturbance.tolist(), strict=True)):
        value = (1 - w) * value + w * e
        out[i + 1] = value
    return out
