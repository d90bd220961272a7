"""Theorem 5: the Gram matrix of finitely many layers against the population kernel."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from deqcheck.linalg import coarse, errors
from deqcheck.linalg.relu_equilibrium import relu
from deqcheck.models.problem import Params
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, exp, measured
from deqcheck.theorems.base import STATIC
from deqcheck.theorems.frequency import SEEDS, happened
from deqcheck.theorems.ling2022.assumptions import assumption_1, assumption_2
from deqcheck.theorems.ling2022.common import MODELS, cite
from deqcheck.theorems.ling2022.draws import draw
from deqcheck.theorems.ling2022.kernel import given_kernel, samples
from deqcheck.theorems.ling2022.setting import Draws, Problem

DEFAULTS = {"l": 2.0, "c": 0.1, "C": 0.0}
MOST_LAYERS = 1000


class Theorem5(Draws):
    """||G^(l)/m - K^(l)||_F <= n (2 sqrt2 sigma_w)^l with probability at least 1 - n^2 exp(-Omega(m
    (8 sigma_w^2)^l) + O(l^2)) under Assumptions 1 and 2; a does not occur in it, so its law is not
    asked. It is judged as 1 - n^2 exp(-c m (8 sigma_w^2)^l + C l^2): a verdict is one for these c
    and C, which the paper does not give.
    """

    id = "ling2022/thm5"
    title = "Gram matrix of l layers against the population kernel"
    cite = cite("Theorem 5")
    models = MODELS
    dynamics = (STATIC,)
    uses: ClassVar[tuple[str, ...]] = ("ling2022/thm5-recursion",)
    constants = {
        **SEEDS,
        "l": "number of layers (default 2)",
        "c": "constant of Omega(m (8 sigma_w^2)^l) (default 0.1)",
        "C": "constant of O(l^2) (default 0)",
    }

    defaults = DEFAULTS
    above_0: ClassVar[tuple[str, ...]] = ("c",)

    def faults(self) -> Iterable[str]:
        yield from super().faults()
        if self.fixed.get("C", 0.0) < 0:
            yield f"{self.id}: C = {self.fixed['C']:g} is negative; expected a number >= 0"
        layers = self.fixed.get("l", DEFAULTS["l"])
        if not (1 <= layers <= MOST_LAYERS and float(layers).is_integer()):
            yield f"{self.id} has l = {layers:g}; expected an integer from 1 to {MOST_LAYERS}"

    @property
    def layers(self) -> int:
        return int(self.fixed.get("l", DEFAULTS["l"]))

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from assumption_1(p)
        yield from assumption_2(p)

    def probability(self, p: Problem) -> Measured:
        m, n, s2, v = (
            len(p.theta0["W"]),
            p.model.n,
            measured(p.model.sigma_w2),
            self.constants_used(p),
        )
        exponent = -measured(v["c"]) * m * (8 * s2) ** v["l"] + measured(v["C"]) * v["l"] ** 2
        found: Measured = 1 - n**2 * exp(exponent)
        return found

    def trial(self, p: Problem, seed: int) -> bool | None:
        theta = draw(p, seed, self.id)
        if self._in_single(p, theta):
            return True
        W, C = theta["W"], theta["U"] @ p.model.X
        # Z^(0) = 0.
        Z = relu(C)
        for _ in range(self.layers - 1):
            Z = relu(W @ Z + C)
        # Each layer rounds once, and q < 1 passes it on; ||Z||^2/m is the trace of G/m.
        m, size = len(Z), float(np.vdot(Z, Z)) / len(Z)
        return self._near(p, Z.T @ Z / m, size, errors.rounding(m, size * (self.layers + 1)))

    def _near(self, p: Problem, G: np.ndarray, size: float, radius: float) -> bool | None:
        """The event for G/m, which is known to a radius; its trace is the size."""
        kernel, n = given_kernel(p.model), p.model.n
        error = G - kernel.layer(self.layers)
        # Of the samples scaled to the norm sqrt(d).
        radius += n * kernel.entry_radius + 3 * float(samples(p.model).deviation.high) * size
        bound = n**2 * (8 * measured(p.model.sigma_w2)) ** self.layers
        return happened(errors.frobenius(error, radius) ** 2, "<=", bound)

    def _in_single(self, p: Problem, theta: Params) -> bool:
        """Whether float32 with its errors is enough to know that the event happens: for wide models
        and few layers it is, in less time."""
        Z, e = coarse.iterate(theta["W"], theta["U"], p.model.X, self.layers)
        m, length = len(Z), coarse.length(Z)
        if not e * length < math.inf:
            return False
        # |Z + d|^2 - |Z|^2, and the m + 2 roundings of each entry of the product.
        radius = (2 * length + e) * e / m + 1.01 * (m + 2) * coarse.UNIT * length**2 / m
        G = (Z.T @ Z).astype(float) / m
        return self._near(p, G, length**2 / m, radius) is True
