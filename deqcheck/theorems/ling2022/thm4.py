"""Theorem 4: the Gram matrix of finitely many layers against that of the equilibrium."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.relu_equilibrium import relu
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.ling2022.common import GIVEN, MODELS, cite, contractive
from deqcheck.theorems.ling2022.setting import Problem, State, Statement

LAYERS = 12
# Layers are judged while the bound is this much larger than the rounding of the Gram matrices.
RESOLVED = 1e3


class Theorem4(Statement):
    """|G - G^(l)|_F/m = O(n (2 sqrt2 sigma_w)^l) with probability at least 1 - n^2 exp(-Omega(m)).
    The corrected edition is deterministic: for any |W| < 1 and Z^(0) = 0, |G - G^(l)|_F <= |W|^l (2
    - |W|^l)/(1 - |W|)^2 |relu(U X)|_F^2, because |z - z^(l)| <= |W|^l |z^(1)|/(1 - |W|) and
    |z^(l)| <= (1 - |W|^l) |z^(1)|/(1 - |W|).
    """

    id = "ling2022/thm4"
    title = "Gram matrix of l layers against that of the equilibrium"
    cite = cite("Theorem 4")
    models = MODELS
    dynamics = (STATIC,)
    soundness = "unproven"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The proof takes |W| <= 2 sqrt2 sigma_w from Lemma 1, whose printed probability is wrong: "
        "it fails in about one draw of seven. The corrected edition needs no probability."
    )
    constants = {"C": "printed: constant of O(n (2 sqrt2 sigma_w)^l) (default 1)"}

    event = Check("the event of Lemma 1", "norm_W <= 2*sqrt(2*sigma_w2)", "Lemma 1")
    printed_bound = Check(
        "distance of the Gram matrices", "distance/m <= C*n*(2*sqrt(2*sigma_w2))^l", "Theorem 4"
    )
    deterministic = Check(
        "distance of the Gram matrices",
        "distance <= norm_W^l*(2 - norm_W^l)/(1 - norm_W)^2*first^2",
        "Theorem 4, replaced",
    )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from contractive(p)
        if self.printed:
            yield GIVEN(given=float(p.model.sigma_w2 is not None))
            if p.model.sigma_w2 is not None:
                yield self.event(norm_W=p.start.q, sigma_w2=p.model.sigma_w2)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if not state.q.high < 1 or (self.printed and p.model.sigma_w2 is None):
            return
        claims = [self._claim(p, state, layer, d) for layer, d in enumerate(_distances(state), 1)]
        known = [c for c in claims if c.right.value > RESOLVED * (c.left.error + c.right.error)]
        yield max(known, key=lambda c: c.left.value / c.right.value) if known else claims[0]

    def _claim(self, p: Problem, state: State, layer: int, distance: Measured) -> Claim:
        note = f"tightest at l = {layer}"
        if self.printed:
            sizes = {"m": len(state.Z), "n": p.model.n, "C": self.fixed.get("C", 1.0)}
            s2 = p.model.sigma_w2
            return self.printed_bound(note, distance=distance, sigma_w2=s2, l=layer, **sizes)
        C = state.equilibrium.C
        first = errors.frobenius(relu(C), errors.rounding(p.model.d, _product(state)))
        return self.deterministic(note, distance=distance, norm_W=state.q, l=layer, first=first)


def _product(state: State) -> float:
    """Scale of the rounding of U X."""
    return float(np.linalg.norm(state.theta["U"]) * np.linalg.norm(state.model.X))


def _distances(state: State) -> Iterable[Measured]:
    """|G - G^(l)|_F for l = 1, ..., by Z^(l) = relu(W Z^(l-1) + U X)."""
    W, C, Z = state.theta["W"], state.equilibrium.C, state.Z
    layer, dZ, m = np.zeros_like(C), state.equilibrium.error, len(W)
    size = float(np.vdot(Z, Z)) + float(np.vdot(C, C))
    for count in range(1, LAYERS + 1):
        layer = relu(W @ layer + C)
        radius = (2 * float(np.linalg.norm(Z)) + dZ) * dZ + errors.rounding(m, (count + 2) * size)
        yield errors.frobenius(Z.T @ Z - layer.T @ layer, radius)
