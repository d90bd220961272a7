"""Proposition 1: the fixed-point iteration converges for every A."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.models.delm.state import DelmState
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.kawaguchi2021.bounds import cite
from deqcheck.theorems.kawaguchi2021.setting import Problem, Statement

# Iterates are compared while gamma^l is above this: below it rounding hides the difference.
SMALLEST_FACTOR = 1e-5
MOST_ITERATES = 200


class Proposition1(Statement):
    """z_l = gamma softmax(A) z_(l-1) + phi converges to z* for every A. From z_0 = phi:
    |z_l - z*|_1 <= gamma^(l+1) |phi|_1/(1 - gamma), an equality when phi has one sign.
    """

    id = "kawaguchi2021/prop1"
    title = "The equilibrium exists, and iterates approach it"
    cite = cite("Proposition 1", "Section 2")
    models = ("delm",)
    dynamics = (STATIC,)
    soundness = "typo"
    erratum = (
        "The unrolled series needs z_0 = phi(x), while the text says z_0 = x, and the Cauchy step "
        "swaps l and l'. The map contracts in the 1-norm only: for S = [[1,1],[0,0]] and "
        "gamma = 0.9, ||gamma S||_2 = 1.27."
    )

    rate = Check(
        "worst iterate, features of both signs",
        "distance <= gamma^(l+1)*norm1_phi/(1-gamma)",
        "Proposition 1",
    )
    equality = Check(
        "worst iterate, features of one sign",
        "distance == gamma^(l+1)*norm1_phi/(1-gamma)",
        "Proposition 1",
    )

    def claims(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        Phi, g = p.model.outer.Phi, p.model.gamma
        one_sign = (Phi >= 0).all(axis=0) | (Phi <= 0).all(axis=0)
        if (~one_sign).any():
            yield self._worst(self.rate, state, Phi[:, ~one_sign], g)
        if one_sign.any():
            yield self._worst(self.equality, state, Phi[:, one_sign], g)

    def _worst(self, check: Check, state: DelmState, Phi: np.ndarray, g: float) -> Claim:
        limit = np.linalg.solve(state.U, Phi)
        size = np.abs(Phi).sum(axis=0)
        z, found = Phi, []
        for count in range(MOST_ITERATES):
            off = np.abs(z - limit).sum(axis=0)
            relative = off * (1 - g) / (g ** (count + 1) * size)
            wrong = np.abs(relative - 1) if check is self.equality else relative
            worst = int(np.argmax(np.where(size > 0, wrong, -np.inf)))
            found.append((float(wrong[worst]), count, float(off[worst]), float(size[worst])))
            if g ** (count + 1) < SMALLEST_FACTOR:
                break
            z = g * (state.S @ z) + Phi
        _, count, distance, norm = max(found)
        noise = 16 * EPS * len(Phi) * norm * (1 + g) / (1 - g) ** 2
        return check(
            f"l = {count}",
            distance=Measured(distance, noise),
            gamma=g,
            l=count,
            norm1_phi=Measured(norm, 4 * EPS * norm),
        )
