"""Proposition 1: the fixed-point iteration converges for every A."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import exact
from deqcheck.linalg.matrix import instance
from deqcheck.models.delm.state import DelmState
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured, chosen, given, vanishing
from deqcheck.records.tower import Again
from deqcheck.seeds import rng
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.kawaguchi2021.bounds import cite
from deqcheck.theorems.kawaguchi2021.setting import Problem, Statement

# Iterates are compared while gamma^l is above this: below it rounding hides the difference.
SMALLEST_FACTOR = 1e-5
MOST_ITERATES = 200
# Relative room within which rounding would choose the tightest sample.
TIE = 1e-6
# At most so many iterates are taken from another start.
AWAY = 3


class Proposition1(Statement):
    """z_l = gamma softmax(A) z_(l-1) + phi converges to z* for every A. The proof's geometric
    series tells how fast from z_0 = phi: |z_l - z*|_1 <= gamma^(l+1) |phi|_1/(1 - gamma), an
    equality when phi has one sign, and judged as one there. The text has z_0 = x in (1) and
    z_0 = phi(x) in (36). The proof uses the latter; from any other z_0 the contraction tells
    |z_l - z*|_1 <= gamma^l |z_0 - z*|_1, an equality where z_0 - z* has one sign: judged up to
    rounding, with a drawn z_0 for every sample.
    """

    id = "kawaguchi2021/prop1"
    title = "The equilibrium exists, and iterates approach it"
    cite = cite("Proposition 1", "(36)")
    models = ("delm",)
    dynamics = (STATIC,)
    soundness = "typo"
    erratum = (
        "The unrolled series needs z_0 = phi(x), while the text says z_0 = x, and the Cauchy step "
        "swaps l and l'. The map contracts in the 1-norm only: for S = [[1,1],[0,0]] and "
        "gamma = 0.9, ||gamma S||_2 = 1.27."
    )

    rate = Check(
        "distance of an iterate, features of both signs",
        "distance <= gamma^(l+1)*norm1_phi/(1-gamma)",
        "Proposition 1",
    )
    equality = Check(
        "distance of an iterate, features of one sign",
        "distance == gamma^(l+1)*norm1_phi/(1-gamma)",
        "Proposition 1",
    )

    elsewhere = Check(
        "distance of an iterate from another start",
        "distance - gamma^l*distance_0 <= noise",
        "Proposition 1, z_0 = x",
    )

    def claims(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        yield from self._from_phi(p, state)
        yield self._from_elsewhere(p, state)

    def _from_elsewhere(self, p: Problem, state: DelmState) -> Claim:
        """The tightest sample. As many iterates as leave a distance to be seen."""
        g, limit, Phi = p.model.gamma, state.equilibrium, p.model.outer.Phi
        scale = 1 + np.abs(limit).max()
        z = start = scale * rng(p.seed, "kawaguchi2021/prop1").normal(size=limit.shape)
        first = np.abs(z - limit).sum(axis=0)
        count = max(1, sum(g**k >= SMALLEST_FACTOR for k in range(1, AWAY + 1)))
        for _ in range(count):
            z = g * (state.S @ z) + Phi
        off = np.abs(z - limit).sum(axis=0)
        # Of the limit, and of each iterate.
        total = np.abs(limit).sum(axis=0) + first + np.abs(Phi).sum(axis=0)
        noise = 16 * EPS * len(limit) * total * (1 + g) / (1 - g)
        i = int(np.argmax((off - g**count * first) / total))
        apart = _apart(state, start[:, i], Phi[:, i])
        left = exact.product(exact.power(state.again.weights, count), apart)
        return self.elsewhere(
            f"l = {count}",
            distance=Measured(float(off[i]), again=exact.norm1(left)),
            gamma=given(g),
            l=chosen(count),
            distance_0=Measured(float(first[i]), again=exact.norm1(apart)),
            noise=vanishing(float(noise[i])),
        )

    def _from_phi(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        Phi, g = p.model.outer.Phi, p.model.gamma
        # For phi = 0 every iterate is 0.
        Phi = Phi[:, Phi.any(axis=0)]
        one_sign = (Phi >= 0).all(axis=0) | (Phi <= 0).all(axis=0)
        if (~one_sign).any():
            yield from self._iterated(self.rate, state, Phi[:, ~one_sign], g)
        if one_sign.any():
            yield from self._iterated(self.equality, state, Phi[:, one_sign], g)

    def _iterated(
        self, check: Check, state: DelmState, Phi: np.ndarray, g: float
    ) -> Iterable[Claim]:
        """The first of all iterates and samples that fails; else the first and the last iterate, of
        the samples that rounding cannot tell from the tightest one the first."""
        size = np.abs(Phi).sum(axis=0)
        noise = 16 * EPS * len(Phi) * size * (1 + g) / (1 - g) ** 2
        off = _distances(state, Phi, g)
        bound = g ** np.arange(1, len(off) + 1)[:, None] * size / (1 - g)
        excess = off - bound
        wrong = (np.abs(excess) if check is self.equality else excess) - noise
        room = excess / bound
        shown = [
            (at, int(np.argmax(room[at] >= room[at].max() - TIE)))
            for at in dict.fromkeys((0, len(off) - 1))
        ]
        if (wrong > 0).any():
            shown = [divmod(int(np.argmax(wrong > 0)), len(size))]
        for count, i in shown:
            again = _exact_distance(state, Phi[:, i], count)
            yield check(
                f"l = {count}",
                distance=Measured(float(off[count, i]), float(noise[i]), again=again),
                gamma=given(g),
                l=chosen(count),
                norm1_phi=instance(Phi[:, i]).norm1(),
            )


def _exact_distance(state: DelmState, phi: np.ndarray, count: int) -> Again:
    """From z_0 = phi: z* - z_l = (gamma S)^(l+1) z*."""
    limit = exact.product(state.again.inverse, exact.array(phi))
    return exact.norm1(exact.product(exact.power(state.again.weights, count + 1), limit))


def _apart(state: DelmState, z: np.ndarray, phi: np.ndarray) -> Again:
    """z - z*."""
    limit = exact.product(state.again.inverse, exact.array(phi))
    return exact.minus(exact.array(z), limit)


def _distances(state: DelmState, Phi: np.ndarray, g: float) -> np.ndarray:
    """|z_l - z*|_1 for every iterate (from z_0 = phi) and sample."""
    limit, z, found = np.linalg.solve(state.U, Phi), Phi, []
    for count in range(MOST_ITERATES):
        found.append(np.abs(z - limit).sum(axis=0))
        if g ** (count + 1) < SMALLEST_FACTOR:
            break
        z = g * (state.S @ z) + Phi
    return np.stack(found)
