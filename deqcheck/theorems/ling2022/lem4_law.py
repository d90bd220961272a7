"""Lemma 4 (ii): the law of M over draws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from deqcheck.linalg.late import scipy
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.frequency import MISSED, SEEDS
from deqcheck.theorems.ling2022.assumptions import DRAWN, drawn
from deqcheck.theorems.ling2022.common import MODELS, cite
from deqcheck.theorems.ling2022.draws import draw
from deqcheck.theorems.ling2022.lem4 import Lemma4, layers_of, representation
from deqcheck.theorems.ling2022.setting import Draws, Problem

MOST_LAYERS = 20
# What is looked at of M: its size, its mean, one entry, and two of its columns together.
STATISTICS = ("|M|_F^2/2", "sum of the entries", "first entry of M_2", "cosine of M_2 and M_3")


class Lemma4Law(Draws):
    """The entries of M, which Lemma 4 makes of W, U and the features of samples 1 and 2 up to layer
    l, are independent N(0, 2). Of each draw |M|_F^2/2 is then chi-squared with one degree for each
    entry, the sum of the entries over the root of twice their number and the first entry of M_2
    over sqrt2 are standard normal, and the cosine c of the columns M_2 and M_3 has (1 + c)/2 of the
    law Beta((m - 1)/2, (m - 1)/2). The distribution function of the draws is within
    sqrt(log(2/r)/(2 N)) of the true one with probability 1 - r (Dvoretzky, Kiefer, Wolfowitz,
    Massart). Where p or q_perp is 0, any direction orthogonal to the others serves in its place,
    since its entry of h is 0. Printed is M_3 = W q/|q| sqrt(m)/sigma_w with q in place of q_perp:
    its columns M_2 and M_3 are correlated.
    """

    id = "ling2022/lem4-law"
    title = "The law of the Gaussian matrix"
    cite = cite("Lemma 4 (ii)")
    models = MODELS
    dynamics = (STATIC,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "Given p and q, the columns W p/|p| and W q/|q| have the covariance p.q/(|p| |q|) times "
        "that of one of them, and features of a ReLU have p.q > 0 as a rule: for l = 1 it tends to "
        "Q(x) >= 0 for samples of cosine x. Independent are W p/|p| and W q_perp/|q_perp|. And no "
        "law of M conditional on the previous layers is N(0, 2): they fix M_1, a multiple of W V, "
        "and tell the signs of M h."
    )
    uses = ("ling2022/lem4",)
    defaults = {"l": 1.0}
    constants = {**SEEDS, "l": "number of layers (default 1)"}

    positive = Lemma4.positive
    pair = Check("there are two samples", "n >= 2", "Lemma 4")
    room = Check("the features may be independent", "m >= columns", "V has 2 l columns")
    near = Check(
        f"distance of the distribution functions (worst of {len(STATISTICS)} statistics)",
        "distance <= radius",
        "Lemma 4 (ii)",
    )

    @property
    def layers(self) -> int:
        return int(self.fixed.get("l", self.defaults["l"]))

    def faults(self) -> Iterable[str]:
        yield from super().faults()
        layers = self.fixed.get("l", 1)
        if not (1 <= layers <= MOST_LAYERS and float(layers).is_integer()):
            yield f"{self.id} has l = {layers:g}; expected an integer from 1 to {MOST_LAYERS}"

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        if p.model.sigma_w2 is not None:
            yield self.positive(sigma_w2=p.model.sigma_w2)
        yield from drawn(p, DRAWN, "W", "U")
        yield self.pair(n=p.model.n)
        yield self.room(m=len(p.theta0["W"]), columns=2 * self.layers)

    def trial(self, p: Problem, seed: int) -> Any:
        """The distribution functions of the statistics at this draw: uniform on [0, 1]."""
        at = replace(p, theta0=draw(p, seed, self.id))
        M = printed_M(at, self.layers) if self.printed else corrected_M(at, self.layers)
        return None if M is None else uniform(M, 2 * self.layers - 2)

    def tallied(self, p: Problem, results: Sequence[Any]) -> Claim:
        """A draw without M may have had any."""
        known, total = np.array([r for r in results if r is not None]), len(results)
        lost = (total - len(known)) / total
        apart = [_distance(known[:, i]) for i in range(len(STATISTICS))] if len(known) else [0.0]
        worst = int(np.argmax(apart))
        radius = float(np.sqrt(np.log(2 * len(STATISTICS) / MISSED) / (2 * total)))
        note = f"{STATISTICS[worst]}, {len(known)} of {total} draws"
        return self.near(note, distance=Measured(apart[worst], lost), radius=radius)


def corrected_M(p: Problem, layers: int) -> np.ndarray:
    """Gram and Schmidt's vectors of all features: each depends on those before it alone."""
    W, U, sigma = p.theta0["W"], p.theta0["U"], np.sqrt(p.model.sigma_w2 or 0.0)
    features = [Z[:, k] for Z in layers_of(p, layers) for k in (0, 1)]
    V, R = np.linalg.qr(np.stack(features, axis=1))
    V *= np.where(np.diag(R) < 0, -1.0, 1.0)
    return np.column_stack([np.sqrt(len(W)) / sigma * (W @ V), np.sqrt(p.model.d) * U])


def printed_M(p: Problem, layers: int) -> np.ndarray | None:
    found = representation(p, layers, 0, 1, True)
    return None if found is None else found.M


def uniform(M: np.ndarray, at: int) -> list[float]:
    """`at` is the column M_2."""
    m, total = len(M), float(np.sum(M)) / np.sqrt(2 * M.size)
    u, v = M[:, at], M[:, at + 1]
    cosine = float(u @ v / (np.linalg.norm(u) * np.linalg.norm(v)))
    half = (m - 1) / 2
    return [
        float(scipy.special.chdtr(M.size, float(np.sum(M * M)) / 2)),
        float(scipy.special.ndtr(total)),
        float(scipy.special.ndtr(u[0] / np.sqrt(2))),
        float(scipy.special.betainc(half, half, (1 + cosine) / 2)),
    ]


def _distance(values: np.ndarray) -> float:
    """sup |F_N(x) - x| over all x."""
    steps, count = np.sort(values), len(values)
    above, below = np.arange(1, count + 1) / count - steps, steps - np.arange(count) / count
    return float(max(above.max(), below.max()))
