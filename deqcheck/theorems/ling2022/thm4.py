"""Theorem 4: the Gram matrix of finitely many layers against that of the equilibrium."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.coarse import norm_below, tail
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.relu_equilibrium import relu
from deqcheck.models.problem import NoEquilibrium, Params
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, exp, measured
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.frequency import SEEDS, happened
from deqcheck.theorems.ling2022.assumptions import assumption_1, assumption_2
from deqcheck.theorems.ling2022.common import MODELS, cite, contractive
from deqcheck.theorems.ling2022.draws import draw
from deqcheck.theorems.ling2022.kernel import given_kernel, samples
from deqcheck.theorems.ling2022.setting import Draws, Problem, State

LAYERS = 12
# Layers are judged while the bound is this much larger than the rounding of the Gram matrices.
RESOLVED = 1e3
MOST_LAYERS = 1000
# Of a product of a few doubles.
MARGIN = 1e-12


class Theorem4(Draws):
    """Under Assumptions 1 and 2, |G - G^(l)|_F/m = O(n (2 sqrt2 sigma_w)^l) with probability at
    least 1 - n^2 exp(-Omega(m)); a does not occur in it, so its law is not asked. It is judged over
    draws as C n (2 sqrt2 sigma_w)^l and 1 - n^2 exp(-c m): a verdict is one for these C and c,
    which the paper does not give. Whether one event serves every l or each l has its own is not
    said; the weaker reading is judged, one l at a time. The corrected edition is deterministic: for
    any |W| < 1 and Z^(0) = 0, |G - G^(l)|_F <= |W|^l (2 - |W|^l)/(1 - |W|)^2 |relu(U X)|_F^2,
    because |z - z^(l)| <= |W|^l |z^(1)|/(1 - |W|) and |z^(l)| <= (1 - |W|^l) |z^(1)|/(1 - |W|).
    """

    id = "ling2022/thm4"
    uses = ("ling2022/lem1", "ling2022/sec2.2", "ling2022/thm5-fixed")
    title = "Gram matrix of l layers against that of the equilibrium"
    cite = cite("Theorem 4")
    models = MODELS
    dynamics = (STATIC,)
    soundness = "unproven"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The proof takes |W| <= 2 sqrt2 sigma_w from Lemma 1, whose printed probability is wrong: "
        "it fails in about one draw of seven. The draws agree with the theorem all the same, for "
        "widths beyond a few dozen. The corrected edition needs no probability."
    )
    defaults = {"l": 2.0, "c": 0.05, "C": 1.0}
    above_0 = ("c", "C")
    constants = {
        **SEEDS,
        "l": "printed: number of layers (default 2)",
        "c": "printed: constant of Omega(m) (default 0.05)",
        "C": "printed: constant of O(n (2 sqrt2 sigma_w)^l) (default 1)",
    }

    deterministic = Check(
        "distance of the Gram matrices",
        "distance*(1 - norm_W)^2 <= norm_W^l*(2 - norm_W^l)*first^2",
        "Theorem 4, replaced",
    )

    @property
    def counted(self) -> bool:
        return self.printed

    @property
    def layers(self) -> int:
        return int(self.fixed.get("l", self.defaults["l"]))

    def faults(self) -> Iterable[str]:
        yield from super().faults()
        layers = self.fixed.get("l", 1)
        if not (1 <= layers <= MOST_LAYERS and float(layers).is_integer()):
            yield f"{self.id} has l = {layers:g}; expected an integer from 1 to {MOST_LAYERS}"

    def constants_used(self, p: Problem) -> dict[str, float]:
        return dict(super().constants_used(p)) if self.printed else {}

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        if not self.printed:
            yield from contractive(p)
            return
        yield from assumption_1(p)
        yield from assumption_2(p)

    def probability(self, p: Problem) -> Measured:
        m, n, c = len(p.theta0["W"]), p.model.n, measured(self.constants_used(p)["c"])
        found: Measured = 1 - n**2 * exp(-c * m)
        return found

    def trial(self, p: Problem, seed: int) -> bool | None:
        """Without a certified equilibrium nothing is known of G."""
        theta = draw(p, seed, self.id)
        if self._surely(p, theta):
            return True
        state = p.model.at(theta)
        try:
            *_, distance = _distances(state, self.layers)
        except NoEquilibrium:
            return None
        # Of the samples scaled to the norm sqrt(d): each z_i is scaled with its x_i.
        distance = distance.widened(3 * samples(p.model).deviation.high * distance.value)
        bound = self.constants_used(p)["C"] * measured(p.model.n) * len(state.Z)
        # Squares: the root of sigma_w^2 = 0 would be rounded.
        return happened(
            distance**2, "<=", bound**2 * (8 * measured(p.model.sigma_w2)) ** self.layers
        )

    def _surely(self, p: Problem, theta: Params) -> bool:
        """Whether the event happens by |G - G^(l)|_F <= |Z - Z^(l)|_F (|Z|_F + |Z^(l)|_F), without
        an equilibrium: for wide models and the usual constants most draws."""
        edge = math.sqrt(8 * given_kernel(p.model).s2)
        q = edge + (1 - edge) / 8
        m, n = len(theta["W"]), p.model.n
        bound = self.constants_used(p)["C"] * n * m * edge**self.layers
        if not norm_below(theta["W"], q):
            return False
        away, at = tail(theta["W"], theta["U"], p.model.X, self.layers, q)
        room = 1 + 3 * float(samples(p.model).deviation.high)
        return bool(room * away * (2 * at + away) < bound * (1 - MARGIN))

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if self.printed or not state.q.high < 1:
            return
        found = enumerate(_distances(state, LAYERS), 1)
        claims = [self._claim(p, state, layer, distance) for layer, distance in found]
        if len(state.Z) == 1 and state.theta["W"][0, 0] >= 0:
            # Z^(l) = relu(U x) (1 + w + ... + w^(l-1)); the first one has the most digits.
            yield claims[0].known_equal("a single unit with w >= 0")
            return
        known = [c for c in claims if c.right.value > RESOLVED * (c.left.error + c.right.error)]
        yield max(known, key=lambda c: c.left.value / c.right.value) if known else claims[0]

    def _claim(self, p: Problem, state: State, layer: int, distance: Measured) -> Claim:
        note = f"tightest at l = {layer}"
        noise = 0.0 if _dead(state) else errors.rounding(p.model.d, _product(state))
        first = errors.frobenius(relu(state.equilibrium.C), noise)
        return self.deterministic(note, distance=distance, norm_W=state.q, l=layer, first=first)


def _product(state: State) -> float:
    """Scale of the rounding of U X."""
    return euclidean(state.theta["U"]) * euclidean(state.model.X)


def _dead(state: State) -> bool:
    """Whether every entry of U X is surely negative: then Z = 0 = Z^(l)."""
    found = state.equilibrium
    return bool((found.C + found.C_radius < 0).all())


def _distances(state: State, last: int) -> Iterable[Measured]:
    """|G - G^(l)|_F for l = 1, ..., by Z^(l) = relu(W Z^(l-1) + U X)."""
    W, C, Z = state.theta["W"], state.equilibrium.C, state.Z
    layer, dZ, m = np.zeros_like(C), state.equilibrium.error, len(W)
    size = float(np.vdot(Z, Z)) + float(np.vdot(C, C))
    for count in range(1, last + 1):
        if not W.any() or _dead(state):
            # Z = relu(U X) = Z^(1), the same function of the same numbers.
            yield Measured(0.0)
            continue
        layer = relu(W @ layer + C)
        radius = (2 * euclidean(Z) + dZ) * dZ + errors.rounding(m, (count + 2) * size)
        yield errors.frobenius(Z.T @ Z - layer.T @ layer, radius)
